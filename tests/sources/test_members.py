"""Whole modules and objects as toolboxes; descriptions from docstrings; injected resources."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest

from tests.named_tools import load_tools
from toolplan import Effects, Tool, Toolbox, ToolObjectError, compile_plan, tool, toolbox_of
from toolplan.plan.path import Json

TEXT = '''
from dataclasses import dataclass
from pathlib import Path

import toolplan


@dataclass
class Book:
    title: str
    pages: int


def find(title: str, limit: int = 3) -> list[Book]:
    """Finds books.

    Args:
        title: words of the title,
            in any order.
        limit: the most that are wanted.
    """
    return [Book(title, n) for n in range(limit)]


@toolplan.tool(effects="write", name="shelve")
def put_away(title: str) -> bool:
    """Puts a book away."""
    return True


def _hidden(x: int) -> int:
    return x


class Desk:
    """A desk."""

    def __init__(self) -> None:
        self.lent = []

    def lend(self, title: str) -> int:
        """Lends a book.

        :param title: what it is called.
        """
        self.lent.append(title)
        return len(self.lent)

    def _secret(self) -> None: ...


desk = Desk()
'''


@pytest.fixture
def library(tmp_path: Path) -> Iterator[ModuleType]:
    (tmp_path / "library_of_books.py").write_text(TEXT, "utf-8")
    load_tools("library_of_books:*", tmp_path)
    yield sys.modules["library_of_books"]
    del sys.modules["library_of_books"]
    sys.path.remove(str(tmp_path))


def called(tool: Tool, **arguments: Json) -> Json:
    assert tool.call is not None
    return anyio.run(tool.call, arguments)


def described(tool: Tool, argument: str) -> Json:
    match tool.raw_input:
        case {"properties": dict() as properties}:
            found = properties[argument]
            return found.get("description") if isinstance(found, dict) else None
        case _:
            return None


def test_a_module_is_a_toolbox(library: ModuleType) -> None:
    tools = toolbox_of(library, effects={"find": "read"})
    assert list(tools) == ["find", "shelve"]
    assert tools["find"].effects is Effects.READ
    assert tools["shelve"].effects is Effects.WRITE
    assert called(tools["find"], title="x", limit=1) == [{"title": "x", "pages": 0}]


def test_what_a_module_names_as_public_is(library: ModuleType) -> None:
    vars(library)["__all__"] = ["put_away", "Path"]
    assert list(toolbox_of(library)) == ["shelve"]


def test_an_object_offers_its_methods(library: ModuleType) -> None:
    tools = toolbox_of(library.desk, prefix="desk_", effects="write")
    assert list(tools) == ["desk_lend"]
    assert called(tools["desk_lend"], title="a") == 1
    assert called(tools["desk_lend"], title="b") == 2
    assert described(tools["desk_lend"], "title") == "what it is called."
    with pytest.raises(ToolObjectError, match="give one of it"):
        toolbox_of(library.Desk)


def test_names_that_are_not_there_are_reported(library: ModuleType) -> None:
    with pytest.raises(ToolObjectError, match="'zebra'"):
        toolbox_of(library, effects={"zebra": "read"})
    with pytest.raises(ToolObjectError, match="'_hidden'"):
        toolbox_of(library, only=["_hidden"])
    with pytest.raises(ToolObjectError, match="no public function"):
        toolbox_of(ModuleType("empty"))
    assert list(toolbox_of(library, only=["find"])) == ["find"]


def test_the_command_line_names_modules_and_objects(library: ModuleType, tmp_path: Path) -> None:
    assert list(load_tools("library_of_books:*", tmp_path)) == ["shelve"]
    assert list(load_tools("library_of_books:desk.*", tmp_path)) == ["lend"]
    assert list(load_tools("library_of_books:Desk.*", tmp_path)) == ["lend"]
    with pytest.raises(ToolObjectError, match="no 'dest'"):
        load_tools("library_of_books:dest.*", tmp_path)


def test_docstrings_describe_arguments(library: ModuleType) -> None:
    find = toolbox_of(library, only=["find"])["find"]
    assert described(find, "title") == "words of the title, in any order."
    assert described(find, "limit") == "the most that are wanted."
    assert find.description == "Finds books."


def test_injected_resources_are_no_arguments() -> None:
    given: list[str] = []

    def connection() -> str:
        given.append("opened")
        return "connection"

    @tool(effects="read", inject={"db": connection})
    def count(table: str, db: object) -> str:
        """Counts."""
        return f"{table} by {db}"

    assert isinstance(count.raw_input, dict)
    assert count.raw_input["properties"] == {"table": {"type": "string"}}
    assert given == []
    assert called(count, table="t") == "t by connection"
    assert given == ["opened"]
    refused = compile_plan(
        '{"toolplan": 1, "steps": [{"id": "c", "tool": "count",'
        ' "args": {"table": "t", "db": "mine"}}]}',
        tools=[count],
    )
    assert [each.code for each in refused.diagnostics] == ["unknown-argument"]
    with pytest.raises(ToolObjectError, match="no parameter 'other' to inject"):
        tool(name="other", inject={"other": connection})(lambda: None)


def test_toolboxes_grow_at_run_time() -> None:
    """F000-11: a tool that is added is there to be planned with."""

    @tool(effects="read")
    def custom_analytics() -> int:
        return 1

    before = Toolbox([])
    after = before.with_tools(custom_analytics)
    text = '{"toolplan": 1, "steps": [{"id": "c", "tool": "custom_analytics"}]}'
    assert compile_plan(text, tools=before).plan is None
    assert compile_plan(text, tools=after).plan is not None


MIXED = """
import toolplan

@toolplan.tool(effects="read")
def find(title: str) -> str: return title

def helper(title: str) -> str: return title

def untyped(title): return title
"""


def test_only_decorated_functions_are_tools_where_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A10: a helper beside them is no tool, and one without type hints breaks nothing."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "mixed_shelf.py").write_text(MIXED, "utf-8")
    (tmp_path / "listed_shelf.py").write_text(MIXED + '\n__all__ = ["find", "helper"]\n', "utf-8")
    assert list(load_tools("mixed_shelf:*", tmp_path)) == ["find"]
    assert list(load_tools("listed_shelf:*", tmp_path)) == ["find"]
    module = sys.modules["mixed_shelf"]
    assert list(toolbox_of(module, effects="read")) == ["find"]
    assert list(toolbox_of(module, only=["helper"])) == ["helper"]
    assert list(toolbox_of(module, effects={"helper": "read"})) == ["find", "helper"]


def test_only_decorated_methods_are_tools_where_there_are_any() -> None:
    class Desk:
        @property
        def open(self) -> bool:
            return True

        def helper(self, *rest: str) -> tuple[str, ...]:
            return rest

    desk = Desk()
    desk_tool = tool(effects="read")(lending)
    Desk.lending = desk_tool  # type: ignore[attr-defined]
    assert list(toolbox_of(desk)) == ["lending"]


def lending(title: str) -> str:
    return title


@pytest.mark.parametrize(
    ("source", "message", "help_"),
    [
        ("def f(a): return a", "'a' has no type hint", "`a: str`"),
        ("def f(a: str, *rest: str) -> str: return a", "'rest'", "named parameters"),
        ("def f(a: 'Nowhere') -> str: return a", "signature cannot be read", "pydantic knows"),
        ("def f(a: str) -> 'Nowhere': return a", "signature cannot be read", "pydantic knows"),
        ("_x = 1", "has no public function", "@toolplan.tool"),
        ("import no_such_library", "needs 'no_such_library'", "Install it beside toolplan"),
        ("x = 1\n1 / 0", "ZeroDivisionError", "broken_shelf.py:2; --debug"),
        ("def f(:", "SyntaxError", "broken_shelf.py:1; --debug"),
        ("raise SystemExit(2)", "SystemExit", "broken_shelf.py:1; --debug"),
    ],
)
def test_each_error_of_a_module_has_a_help_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str, help_: str
) -> None:
    """A10: no help about another thing."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "broken_shelf", raising=False)
    (tmp_path / "broken_shelf.py").write_text(source, "utf-8")
    with pytest.raises(ToolObjectError) as raised:
        load_tools("broken_shelf:*", tmp_path)
    assert message in str(raised.value)
    assert help_ in (raised.value.help or "")
    assert "toolplan_demo" not in (raised.value.help or "")
    sys.modules.pop("broken_shelf", None)


@pytest.mark.parametrize("value", [3, "toolplan_demo", [max], {}, None])
def test_a_plain_value_has_no_tools(value: object) -> None:
    with pytest.raises(ToolObjectError, match="has no functions that can be tools") as caught:
        toolbox_of(value)
    assert caught.value.help == "Give a module, or an object of a class of yours."


@pytest.mark.parametrize(
    ("stated", "effects"),
    [
        ({"shelve": "destructive"}, "destructive"),  # by its name: it comes before its own word
        ({"find": "read"}, "write"),
        ("read", "write"),
        ({}, "write"),
    ],
)
def test_effects_and_a_prefix_count_for_decorated_functions_too(
    stated: Any, effects: str, library: ModuleType
) -> None:
    tools = toolbox_of(library, prefix="shop_", effects=stated)
    assert tools["shop_shelve"].effects.value == effects
    assert called(tools["shop_shelve"], title="x") == called(
        toolbox_of(library)["shelve"], title="x"
    )


def test_a_wrong_word_for_a_decorated_function_is_refused(library: ModuleType) -> None:
    wrong: Any = {"shelve": "reads"}
    with pytest.raises(ToolObjectError, match="effects='reads' is not a label"):
        toolbox_of(library, effects=wrong)
