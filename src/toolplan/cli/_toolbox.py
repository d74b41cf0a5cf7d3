"""The tools that a command works with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date
from pathlib import PurePath
from typing import Final, NamedTuple, TypeAlias, cast

from toolplan.answer import FactFunction
from toolplan.cli._terminal import CommandError, note
from toolplan.sources.named import load_tools
from toolplan.tools import Tool, Toolbox, ToolObjectError

DEMO: Final = "toolplan.demo:TOOLS"
SQL: Final = "toolplan.sources.sql:sql_tool"

Facts: TypeAlias = Sequence[FactFunction]


class Toolset(NamedTuple):
    """Tools, and the functions that find facts in what they give."""

    tools: Toolbox
    facts: Facts


def open_tools(spec: str | None, today: date, rows: int | None = None) -> Toolset:
    """Give the tools that `--tools` names; the demo's, and a word about it, where it names none.

    The built-in tool `sql` is there besides, where its extra is installed.

    Raises:
        CommandError: there are no such tools.
    """
    name = DEMO if spec is None else spec
    if spec is None:
        note("Tools: the demo (waste management, made-up data). Your own: --tools.")
    try:
        tools = load_tools(name).on_day(today, rows)
    except ToolObjectError as error:
        raise CommandError("bad-tools", str(error), _way_out(name)) from None
    more = _sql()
    if more is not None and more.name not in tools:
        tools = tools.with_tools(more)
    return Toolset(tools, _facts(name))


def _way_out(spec: str) -> str:
    if spec.endswith(".py") or ".py:" in spec:
        return f"Name the module without its ending: {PurePath(spec).stem}:ATTRIBUTE."
    return "Give a JSON file of tool objects, or MODULE:ATTRIBUTE, as in toolplan.demo:TOOLS."


def _facts(spec: str) -> Facts:
    """Give the `FACTS` that stand in the module of MODULE:ATTRIBUTE, if there are any."""
    found: object = getattr(sys.modules.get(spec.partition(":")[0]), "FACTS", ())
    return cast("Facts", found) if isinstance(found, tuple) else ()


def _sql() -> Tool | None:
    try:
        return load_tools(SQL)["sql"]
    except (ToolObjectError, KeyError):
        return None  # its extra is not installed; the planner says so where it matters
