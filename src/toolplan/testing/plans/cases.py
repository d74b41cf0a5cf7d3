"""Files of plan tests: questions with expectations, data sets, recorded plans."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from toolplan.app.settings import file_fault
from toolplan.base.errors import ToolplanError
from toolplan.compiler import parse
from toolplan.dialects import dialect_of
from toolplan.plan.canonical import dump, load
from toolplan.plan.exact_json import read_json
from toolplan.plan.model import Literal, Plan, Step
from toolplan.plan.path import Json
from toolplan.plan.yaml_text import YamlError, read_yaml
from toolplan.schema.tool import Tool, Toolbox
from toolplan.storage.shared_file import write_whole

MOST_BYTES: Final = 20_000_000
_DEPTH: Final = 100
_EXAMPLE: Final = "`toolplan init` writes an example."


class CaseError(ToolplanError):
    """A file of plan tests cannot be read; the code is `bad-plan-test`."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__("bad-plan-test", message, help)


class Expectation(Struct, frozen=True):
    """Expectations of a plan; None or empty: anything.

    Attributes:
        plan: exactly these calls, whatever the steps are called.
        includes: these calls, with at least these arguments.
        tools: exactly these tools are called, each at least once.
        forbidden: none of these tools is called.
        max_calls: maximum number of calls of the plan.
        no_plan: the planner asks back or refuses.
        accept: for each step of `plan`, the values that each argument may have, as BFCL writes
            them: `""` among them says that it may be missing.
    """

    plan: Plan | None = None
    includes: Plan | None = None
    tools: frozenset[str] | None = None
    forbidden: frozenset[str] = frozenset()
    max_calls: int | None = None
    no_plan: bool = False
    accept: tuple[Json, ...] = ()


class Case(Struct, frozen=True):
    """A question; without `expect` its plan is compared with the recorded one."""

    question: str
    today: str | None
    expect: Expectation | None


class CaseFile(Struct, frozen=True):
    """A file of plan tests, and its settings, None where the file has none."""

    path: Path
    cases: tuple[Case, ...]
    tools: str | tuple[str, ...] | Toolbox | None = None
    planner: str | None = None
    model: str | None = None


class _Expect(Struct, frozen=True, forbid_unknown_fields=True):
    plan: Any = UNSET
    includes: Any = UNSET
    tools: frozenset[str] | UnsetType = UNSET
    forbidden: frozenset[str] | UnsetType = UNSET
    max_calls: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    no_plan: bool | UnsetType = UNSET


class _Question(Struct, frozen=True, forbid_unknown_fields=True):
    question: Annotated[str, Meta(min_length=1)]
    today: date | None = None
    expect: _Expect | UnsetType = UNSET


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    tests: Annotated[list[Annotated[str, Meta(min_length=1)] | _Question], Meta(min_length=1)]
    tools: str | Annotated[tuple[str, ...], Meta(min_length=1)] | None = None
    planner: str | None = None
    model: str | None = None
    today: date | None = None


def read_cases(path: Path) -> CaseFile:
    """Read a file of plan tests, in YAML or JSON.

    Raises:
        CaseError: it cannot be read, or a field is wrong; the message names the place.
    """
    try:
        read = msgspec.convert(read_yaml(read_text(path), max_depth=_DEPTH).value, _File)
    except YamlError as error:
        raise CaseError(f"{path}:{error.line}: {error}", "Fix the file there.") from None
    except msgspec.ValidationError as error:
        raise CaseError(f"{path}: {error}.", _EXAMPLE) from None
    cases: list[Case] = []
    for at, each in enumerate(read.tests):
        test = _Question(each) if isinstance(each, str) else each
        expect, place = None, f"{path}: tests[{at}].expect"
        if test.expect is not UNSET:
            given = {name: v for name, v in asdict(test.expect).items() if v is not UNSET}
            if not given:
                raise CaseError(f"{place} expects nothing.", _EXAMPLE)
            if given.get("no_plan") and len(given) > 1:
                message = "must be alone: without a plan nothing else can be expected."
                raise CaseError(f"{place}.no_plan {message}", _EXAMPLE)
            for name in given.keys() & {"plan", "includes"}:
                given[name] = _plan(f"{place}.{name}", given[name])
            expect = Expectation(**given)
        day = test.today or read.today
        cases.append(Case(test.question, None if day is None else day.isoformat(), expect))
    return CaseFile(path, tuple(cases), read.tools, read.planner, read.model)


def _plan(place: str, written: Json) -> Plan:
    parsed = load(written)
    first = next((each for each in parsed.diagnostics if each.blocks), None)
    if parsed.plan is None or first is not None:
        reason = "" if first is None else f" {first.pointer}: {first.message}"
        raise CaseError(f"{place} is not a plan.{reason}")
    return parsed.plan


def read_text(path: Path) -> str:
    """Return the text of a file of questions.

    Raises:
        CaseError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            message = f"{path}: it is larger than {MOST_BYTES:,} bytes."
            raise CaseError(message, "Write the questions into several files.")
        return raw.decode("utf-8")
    except OSError as error:
        raise CaseError(f"{path}: {file_fault(error)}.", "Name a file of plan tests.") from None
    except UnicodeDecodeError as error:
        raise CaseError(f"{path}: {file_fault(error)}.", "Save it as UTF-8.") from None


class Recorded:
    """The plans recorded for the questions of one file; None: the planner made no plan."""

    def __init__(self, path: Path) -> None:
        """Read the plans recorded for the file of tests at `path`, if there are any.

        Raises:
            CaseError: the file of plans cannot be read.
        """
        self.path = path.with_name(f"{path.name}.plans.json")
        self._plans: dict[tuple[str, str | None], Plan | None] = {}
        try:
            document = read_json(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError):
            raise self._unreadable() from None
        listed = document.get("plans") if isinstance(document, dict) else None
        for each in listed if isinstance(listed, list) else [None]:
            match each:
                case {"question": str(question), "today": None | str() as today, "plan": plan}:
                    parsed = None if plan is None else load(plan).plan
                    if plan is not None and parsed is None:
                        raise self._unreadable()
                    self._plans[question, today] = parsed
                case _:
                    raise self._unreadable()

    def __contains__(self, case: Case) -> bool:
        return (case.question, case.today) in self._plans

    def __getitem__(self, case: Case) -> Plan | None:
        return self._plans[case.question, case.today]

    def __setitem__(self, case: Case, plan: Plan | None) -> None:
        self._plans[case.question, case.today] = plan

    def save(self) -> None:
        """Write the plans to their file: all of them, or the file stays as it was.

        Raises:
            CaseError: it cannot be written.
        """
        plans: Json = [
            {"question": question, "today": today, "plan": None if plan is None else dump(plan)}
            for (question, today), plan in self._plans.items()
        ]
        text = json.dumps({"plans": plans}, indent=2, ensure_ascii=False) + "\n"
        try:
            write_whole(self.path, text, mode=0o644)
        except OSError as error:
            raise CaseError(f"{self.path}: {file_fault(error)}.") from None

    def _unreadable(self) -> CaseError:
        return CaseError(
            f"{self.path}: it is not a file of recorded plans.",
            "Delete it, and record again: toolplan test --record.",
        )


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
    except (ValueError, RecursionError) as error:
        raise CaseError(f"{place}: no JSON object that can be read: {error}.") from None
    if not isinstance(value, dict):
        raise CaseError(f"{place}: no JSON object.")
    return value
