"""Files of questions with expectations of their plans."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from toolplan.base.errors import ToolplanError
from toolplan.plan.canonical import load
from toolplan.plan.model import Plan
from toolplan.plan.path import Json
from toolplan.plan.yaml_text import YamlError, read_yaml
from toolplan.schema.tool import Toolbox

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
        read = msgspec.convert(_read(path), _File)
    except msgspec.ValidationError as error:
        raise CaseError(f"{path}: {error}.", _EXAMPLE) from None
    cases: list[Case] = []
    for at, each in enumerate(read.tests):
        test = _Question(each) if isinstance(each, str) else each
        place = f"{path}: tests[{at}].expect"
        expect = None if test.expect is UNSET else _expectation(place, test.expect)
        day = test.today or read.today
        cases.append(Case(test.question, None if day is None else day.isoformat(), expect))
    return CaseFile(path, tuple(cases), read.tools, read.planner, read.model)


def _expectation(place: str, expect: _Expect) -> Expectation:
    given = {name: each for name, each in asdict(expect).items() if each is not UNSET}
    if not given:
        raise CaseError(f"{place} expects nothing.", _EXAMPLE)
    if given.get("no_plan") and len(given) > 1:
        said = f"{place}.no_plan must be alone: without a plan nothing else can be expected."
        raise CaseError(said, _EXAMPLE)
    for name in given.keys() & {"plan", "includes"}:
        given[name] = _plan(f"{place}.{name}", given[name])
    return Expectation(**given)


def _plan(place: str, written: Json) -> Plan:
    parsed = load(written)
    first = next((each for each in parsed.diagnostics if each.blocks), None)
    if parsed.plan is None or first is not None:
        reason = "" if first is None else f" {first.pointer}: {first.message}"
        raise CaseError(f"{place} is not a plan.{reason}")
    return parsed.plan


def _read(path: Path) -> Json:
    try:
        return read_yaml(read_text(path), max_depth=_DEPTH).value
    except YamlError as error:
        raise CaseError(f"{path}:{error.line}: {error}", "Fix the file there.") from None


def read_text(path: Path) -> str:
    """Return the text of a file of questions.

    Raises:
        CaseError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            said = f"{path}: it is larger than {MOST_BYTES:,} bytes."
            raise CaseError(said, "Write the questions into several files.")
        return raw.decode("utf-8")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CaseError(f"{path}: {reason}.", "Name a file of plan tests.") from None
    except UnicodeDecodeError as error:
        said = f"{path}: not UTF-8 text (byte {error.start})."
        raise CaseError(said, "Save it as UTF-8.") from None
