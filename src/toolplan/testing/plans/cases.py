"""Files of questions with expectations of their plans."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from toolplan.app.settings import file_fault
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
