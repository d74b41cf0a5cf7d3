"""Files of questions with what is expected of their plans."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Final

from msgspec import Struct

from toolplan.diagnostics import did_you_mean, near
from toolplan.errors import ToolplanError
from toolplan.path import Json
from toolplan.plan import Plan
from toolplan.plan_json import load
from toolplan.tools import Toolbox
from toolplan.yaml_text import YamlError, read_yaml

MOST_BYTES: Final = 20_000_000
_DEPTH: Final = 100
_FILE_FIELDS: Final = ("tools", "planner", "model", "today", "tests")
_CASE_FIELDS: Final = ("question", "today", "expect")
_EXPECT_FIELDS: Final = ("plan", "includes", "tools", "forbidden", "max_calls", "no_plan")


class CaseError(ToolplanError):
    """A file of plan tests cannot be read; the code is `bad-plan-test`."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__("bad-plan-test", message, help)


class Expectation(Struct, frozen=True):
    """What is expected of a plan; None or empty: anything.

    Attributes:
        plan: exactly these calls, whatever the steps are called.
        includes: these calls, with at least these arguments.
        tools: exactly these tools are called, each at least once.
        forbidden: none of these tools is called.
        max_calls: the most calls that the plan may make.
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
    """A file of plan tests, and what they use: each None where the file does not say."""

    path: Path
    cases: tuple[Case, ...]
    tools: str | tuple[str, ...] | Toolbox | None = None
    planner: str | None = None
    model: str | None = None


def read_cases(path: Path) -> CaseFile:
    """Read a file of plan tests, in YAML or JSON.

    Raises:
        CaseError: it cannot be read, or a field is wrong; the message names the place.
    """
    document = _Reader(str(path), "").object(_read(path), _FILE_FIELDS)
    reader = _Reader(str(path), "")
    listed = document.get("tests")
    if not isinstance(listed, list) or not listed:
        raise reader.wrong("tests", "a list of questions")
    today = reader.day(document)
    cases = tuple(
        _case(_Reader(str(path), f"tests[{at}]"), each, today) for at, each in enumerate(listed)
    )
    names = {name: reader.text(document, name) for name in ("planner", "model")}
    return CaseFile(path, cases, _sources(reader, document), **names)


def _sources(reader: _Reader, document: Mapping[str, Json]) -> str | tuple[str, ...] | None:
    match document.get("tools"):
        case None | str() as named:
            return named
        case [_, *_] as listed if all(isinstance(each, str) for each in listed):
            return tuple(map(str, listed))
        case _:
            raise reader.wrong("tools", "text, or a list of texts")


def _read(path: Path) -> Json:
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            said = f"{path}: it is larger than {MOST_BYTES:,} bytes."
            raise CaseError(said, "Write the questions into several files.")
        return read_yaml(raw.decode("utf-8"), max_depth=_DEPTH).value
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CaseError(f"{path}: {reason}.", "Name a file of plan tests.") from None
    except UnicodeDecodeError as error:
        said = f"{path}: not UTF-8 text (byte {error.start})."
        raise CaseError(said, "Save it as UTF-8.") from None
    except YamlError as error:
        raise CaseError(f"{path}:{error.line}: {error}", "Fix the file there.") from None


def _case(reader: _Reader, value: Json, today: str | None) -> Case:
    fields = reader.object({"question": value} if isinstance(value, str) else value, _CASE_FIELDS)
    question = reader.text(fields, "question")
    if not question:
        raise reader.wrong("question", "text")
    expect = None
    if "expect" in fields:
        expect = _expectation(_Reader(reader.file, f"{reader.place}.expect"), fields["expect"])
    return Case(question, reader.day(fields) or today, expect)


def _expectation(reader: _Reader, value: Json) -> Expectation:
    fields = reader.object(value, _EXPECT_FIELDS)
    if not fields:
        raise reader.wrong("", f"an object with some of {', '.join(_EXPECT_FIELDS)}")
    most = fields.get("max_calls")
    if "max_calls" in fields and (not isinstance(most, int) or isinstance(most, bool) or most < 0):
        raise reader.wrong("max_calls", "a whole number, 0 or more")
    no_plan = fields.get("no_plan", False)
    if not isinstance(no_plan, bool):
        raise reader.wrong("no_plan", "true or false")
    if no_plan and len(fields) > 1:
        raise reader.wrong("no_plan", "alone: nothing else can be expected where there is no plan")
    tools = reader.texts(fields, "tools")
    return Expectation(
        reader.plan(fields, "plan"),
        reader.plan(fields, "includes"),
        tools,
        reader.texts(fields, "forbidden") or frozenset(),
        most if isinstance(most, int) else None,
        no_plan,
    )


class _Reader(Struct, frozen=True):
    """Reads fields of an object at `place` in a file."""

    file: str
    place: str

    def wrong(self, name: str, wanted: str) -> CaseError:
        at = ".".join(part for part in (self.place, name) if part)
        said = f"{self.file}: {at or 'the file'} must be {wanted}."
        return CaseError(said, "`toolplan init` writes an example.")

    def object(self, value: Json, known: tuple[str, ...]) -> dict[str, Json]:
        if not isinstance(value, dict):
            raise self.wrong("", f"an object with {', '.join(known)}")
        for name in value:
            if name not in known:
                at = f"{self.place}.{name}".lstrip(".")
                raise CaseError(
                    f"{self.file}: there is no field {at}.",
                    did_you_mean(near(name, known)) or f"Known: {', '.join(known)}.",
                )
        return value

    def text(self, fields: Mapping[str, Json], name: str) -> str | None:
        value = fields.get(name)
        if value is None or isinstance(value, str):
            return value
        raise self.wrong(name, "text")

    def day(self, fields: Mapping[str, Json]) -> str | None:
        value = self.text(fields, "today")
        if value is None:
            return None
        try:
            return date.fromisoformat(value).isoformat()
        except ValueError:
            raise self.wrong("today", "a date: YYYY-MM-DD") from None

    def texts(self, fields: Mapping[str, Json], name: str) -> frozenset[str] | None:
        if name not in fields:
            return None
        value = fields[name]
        listed = value if isinstance(value, list) else None
        found = [each for each in listed or () if isinstance(each, str)]
        if listed is None or len(found) != len(listed):
            raise self.wrong(name, "a list of names of tools")
        return frozenset(found)

    def plan(self, fields: Mapping[str, Json], name: str) -> Plan | None:
        if name not in fields:
            return None
        parsed = load(fields[name])
        first = next((each for each in parsed.diagnostics if each.blocks), None)
        if parsed.plan is None or first is not None:
            reason = "" if first is None else f" {first.pointer}: {first.message}"
            at = f"{self.place}.{name}"
            raise CaseError(f"{self.file}: {at} is not a plan.{reason}")
        return parsed.plan
