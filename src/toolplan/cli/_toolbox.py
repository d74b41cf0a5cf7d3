"""The tools that a command works with."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from pathlib import PurePath
from typing import Final, NamedTuple, TypeAlias, cast

from toolplan.answer import FactFunction
from toolplan.cli._home import labels_of, settings_labels
from toolplan.cli._terminal import CommandError, note
from toolplan.path import Json
from toolplan.sources.named import load_tools
from toolplan.tools import Effects, Tool, Toolbox, ToolObjectError

DEMO: Final = "toolplan.demo:TOOLS"
SQL: Final = "toolplan.sources.sql:sql_tool"

Facts: TypeAlias = Sequence[FactFunction]


ADVICE: Final = "run_with"
"""The metadata of a plan that has run: what its tools were opened with."""


class Toolset(NamedTuple):
    """Tools, and the functions that find facts in what they give.

    `advice` says what they were opened with, so that the same tools can be opened again.
    """

    tools: Toolbox
    facts: Facts
    advice: Mapping[str, Json]


def open_tools(
    spec: str | None,
    today: date,
    rows: int | None = None,
    effects: Sequence[str] = (),
) -> Toolset:
    """Give the tools that `--tools` names; the demo's, and a word about it, where it names none.

    The built-in tool `sql` is there besides, where its extra is installed. `effects` are labels of
    `--effects`; they come before those of the user's settings, and these before the source's.

    Raises:
        CommandError: there are no such tools.
    """
    if spec is None:
        note("Tools: the demo (waste management, made-up data). Your own: --tools.")
    asked = labels_of(effects)
    labels = {**settings_labels(), **asked}
    return _opened(DEMO if spec is None else spec, today, rows, labels, asked)


def reopen_tools(plan: Json, spec: str | None, effects: Sequence[str]) -> Toolset:
    """Give the tools that the journal's `plan` has run with; what is given says otherwise.

    Raises:
        CommandError: there are no such tools, or the plan does not name them.
    """
    metadata = plan.get("metadata") if isinstance(plan, dict) else None
    advice = metadata.get(ADVICE) if isinstance(metadata, dict) else None
    match advice:
        case {"tools": str(name), "today": str(today), "rows": None | int() as rows, **more}:
            kept = more.get("effects")
            texts = [f"{tool}={label}" for tool, label in _items(kept)]
            labels = {**labels_of(texts), **labels_of(effects)}
            return _opened(spec or name, date.fromisoformat(today), rows, labels, ())
        case _ if spec is not None:
            return open_tools(spec, date.today(), None, effects)
        case _:
            raise CommandError(
                "usage", "--tools is missing: the run does not tell where its tools came from."
            )


def _items(labels: Json) -> list[tuple[str, Json]]:
    return list(labels.items()) if isinstance(labels, dict) else []


def _opened(
    name: str,
    today: date,
    rows: int | None,
    labels: Mapping[str, Effects],
    asked: Collection[str],
) -> Toolset:
    try:
        tools = load_tools(name).on_day(today, rows)
    except ToolObjectError as error:
        raise CommandError("bad-tools", str(error), _way_out(name)) from None
    more = _sql()
    if more is not None and more.name not in tools:
        tools = tools.with_tools(more)
    if absent := [tool for tool in asked if tool not in tools]:
        raise CommandError(
            "bad-effects",
            f"--effects: there is no tool {absent[0]!r}.",
            "`toolplan tools` lists the tools that there are.",
        )
    known = {tool: label for tool, label in labels.items() if tool in tools}
    advice: dict[str, Json] = {"tools": name, "today": today.isoformat(), "rows": rows}
    if known:
        tools = tools.labelled(known)
        advice["effects"] = {tool: label.value for tool, label in known.items()}
    return Toolset(tools, _facts(name), {ADVICE: advice})


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
