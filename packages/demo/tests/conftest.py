"""One toolbox and one database of the same day, seed and size, for the tests that only read."""

import asyncio
import datetime
import sqlite3
from collections.abc import Iterator
from typing import Protocol

import pytest

from toolplan.plan.path import Json
from toolplan.schema.tool import Call, Toolbox
from toolplan_demo import demo_tools, open_database

TODAY = datetime.date(2025, 10, 12)


class Ask(Protocol):
    """Calls a tool by name and gives the `data` of its answer."""

    def __call__(self, name: str, /, **arguments: Json) -> Json: ...


class Rows(Protocol):
    """Calls a tool by name and gives the rows of its answer."""

    def __call__(self, name: str, /, **arguments: Json) -> list[dict[str, Json]]: ...


@pytest.fixture(scope="session")
def today() -> datetime.date:
    return TODAY


@pytest.fixture(scope="session")
def tools() -> Toolbox:
    return demo_tools(TODAY)


@pytest.fixture
def writable() -> Toolbox:
    """A toolbox of its own, small, for a test that writes."""
    return demo_tools(TODAY, rows=731)


@pytest.fixture(scope="session")
def database() -> Iterator[sqlite3.Connection]:
    connection = open_database(TODAY)
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def ask(tools: Toolbox) -> Ask:
    return asking(tools)


@pytest.fixture
def ask_writable(writable: Toolbox) -> Ask:
    return asking(writable)


@pytest.fixture(scope="session")
def rows(ask: Ask) -> Rows:
    def rows(name: str, /, **arguments: Json) -> list[dict[str, Json]]:
        return [node(row) for row in listed(ask(name, **arguments))]

    return rows


def node(value: Json) -> dict[str, Json]:
    assert isinstance(value, dict)
    return value


def listed(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value


def function(toolbox: Toolbox, name: str) -> Call:
    found = toolbox[name].call
    assert found is not None
    return found


def call(toolbox: Toolbox, name: str, arguments: dict[str, Json]) -> dict[str, Json]:
    """Call a tool, and give the whole answer."""

    async def answer() -> Json:
        return await function(toolbox, name)(arguments)

    return node(asyncio.run(answer()))


def asking(toolbox: Toolbox) -> Ask:
    def ask(name: str, /, **arguments: Json) -> Json:
        result = call(toolbox, name, arguments)
        output = toolbox[name].output
        assert output is not None
        assert output.violations(result) == []
        if isinstance(result["data"], list):
            assert result["count"] == len(result["data"])
        return result["data"]

    return ask
