"""Published data sets as plan tests: a question with its own tools and its plan in each line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from toolplan.base.errors import ToolplanError
from toolplan.compiler import parse
from toolplan.dialects import dialect_of
from toolplan.plan.exact_json import read_json
from toolplan.plan.model import Literal, Plan, Step
from toolplan.plan.path import Json
from toolplan.schema.tool import Tool, Toolbox
from toolplan.testing.plans.cases import Case, CaseError, CaseFile, Expectation, read_text

_NO_CALL: Final = "no_call"
_LITERAL: Final = ("bfcl", "literal", "workbench")
"""Names in rows for steps whose arguments refer to no other step."""


def read_data(path: Path, rows: int, today: str, on_note: Callable[[str], None]) -> list[CaseFile]:
    """Read `rows` rows of a data set, spread evenly over its file; each has tools of its own.

    A row is a JSON object: `query`; `tools`, a list of tool objects, or `toolset`, the key of such
    a list in `NAME.tools.json` beside the file; and what is expected: `plan` in any dialect,
    `accept` (BFCL: the values that each argument may have), `steps` of `tool` and `arguments`
    without references, or `"expect": "no_call"`. A row without one of these, or with two tools of
    one name, is skipped. `on_note` gets a sentence where not all rows are asked.

    Raises:
        CaseError: the file cannot be read, or a row is none of a data set.
    """
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    shelf = path.with_name(f"{path.stem}.tools.json")
    toolsets = _object(shelf, read_text(shelf)) if shelf.exists() else {}
    read = [_row(path, at, line, toolsets, today) for at, line in enumerate(lines, 1)]
    usable = [each for each in read if each is not None]
    if not usable:
        raise CaseError(f"{path}: no row says what is expected.", "Give each row a `plan`.")
    step = max(1, len(usable) / rows)
    chosen = [usable[int(at * step)] for at in range(min(rows, len(usable)))]
    if len(chosen) < len(read):
        left = len(read) - len(usable)
        message = f"{left} have no plan to compare with, or two tools of one name"
        on_note(f"{path}: {len(chosen)} of {len(read)} rows are asked; {message}.")
    return chosen


def _row(
    path: Path, at: int, line: str, toolsets: Mapping[str, Json], today: str
) -> CaseFile | None:
    place = f"{path}:{at}"
    row = _object(place, line)
    question, day = row.get("query", row.get("question")), row.get("today")
    listed = row.get("tools", toolsets.get(str(row.get("toolset"))))
    if not isinstance(question, str) or not isinstance(listed, list):
        raise CaseError(f"{place}: it has no `query`, or no `tools`.")
    try:
        tools = [Tool.from_json(each) for at, each in enumerate(listed) if each not in listed[:at]]
    except ToolplanError as error:
        raise CaseError(f"{place}: {error}") from None
    if len({tool.name for tool in tools}) < len(tools):
        return None
    box = Toolbox(tools)
    expect = _expected(row, box)
    if expect is None:
        return None
    return CaseFile(
        path, (Case(question, day if isinstance(day, str) and day else today, expect),), tools=box
    )


def _expected(row: Mapping[str, Json], tools: Toolbox) -> Expectation | None:
    if row.get("expect") == _NO_CALL:
        return Expectation(no_plan=True)
    if (written := row.get("plan")) is not None:
        text = written if isinstance(written, str) else json.dumps(written)
        parsed = parse(text, dialect_of(text, "toolplan"), tools).plan
        return None if parsed is None else Expectation(plan=parsed)
    calls = row.get("steps")
    if not isinstance(calls, list) or not calls or row.get("dialect") not in _LITERAL:
        return None
    steps: list[Step] = []
    for at, each in enumerate(calls):
        match each:
            case {"tool": str(tool), "arguments": dict(given)}:
                args = {name: Literal(value) for name, value in given.items()}
                steps.append(Step(f"s{at}", tool, {**args}))
            case _:
                return None
    accepted = row.get("accept")
    values = tuple(
        each.get("accept") if isinstance(each, dict) else None
        for each in (accepted if isinstance(accepted, list) else ())
    )
    return Expectation(Plan(tuple(steps)), accept=values)


def _object(place: Path | str, text: str) -> dict[str, Json]:
    try:
        value = read_json(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise CaseError(f"{place}: no JSON object.")
    return value
