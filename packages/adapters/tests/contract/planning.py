"""What the tests of contracts share: a planner over the demo's agents, and states with intents."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from toolplan.plan.path import Json
from toolplan_adapters.contract import ContractPlanner, KnowledgeMode
from toolplan_adapters.network import NETWORK_CONTRACTS

TODAY = "2026-11-01"


class Row(NamedTuple):
    """A task as it is planned: who does it, and after which others."""

    id: str
    owner: str
    depends_on: tuple[str, ...]


def state(intent_class: str, *entities: tuple[str, str], **more: Json) -> dict[str, Json]:
    """Return a STATE whose intent has `entities` and the fields `more`."""
    named: list[Json] = [{"type": kind, "value": value} for kind, value in entities]
    return {"intent": {"intent_class": intent_class, "entities": named, **more}}


@cache
def planner(knowledge: KnowledgeMode = "auto", *, parallel: bool = False) -> ContractPlanner:
    """Return a planner over the demo's contracts."""
    return ContractPlanner(NETWORK_CONTRACTS, knowledge=knowledge, parallel_knowledge=parallel)


def tasks(planned: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the tasks of a STATE that is planned."""
    plan = planned["plan"]
    assert isinstance(plan, dict)
    found = plan["tasks"]
    assert isinstance(found, list)
    return [each for each in found if isinstance(each, dict)]


def rows(planned: Mapping[str, Json]) -> list[Row]:
    """Return who does what after what."""
    return [Row(str(t["id"]), str(t["owner"]), _texts(t["depends_on"])) for t in tasks(planned)]


def owners(planned: Mapping[str, Json]) -> list[str]:
    """Return the owners of the tasks in order."""
    return [row.owner for row in rows(planned)]


def required(task: Mapping[str, Json]) -> list[tuple[Json, Json, Json, Json]]:
    """Return what a task needs: path, skill, count, priority."""
    items = task["required_data"]
    assert isinstance(items, list)
    return [
        (each["data_path"], each["skill"], each["min_count"], each["priority"])
        for each in items
        if isinstance(each, dict)
    ]


def _texts(value: Json) -> tuple[str, ...]:
    assert isinstance(value, Sequence)
    return tuple(str(each) for each in value)
