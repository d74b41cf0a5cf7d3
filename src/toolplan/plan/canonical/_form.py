"""The canonical form: from JSON to a plan, field by field, and back."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from toolplan.plan.canonical._values import (
    CANONICAL,
    STEP_ID,
    Parsed,
    Report,
    Syntax,
    check_depth,
    dump_value,
    shown,
)
from toolplan.plan.model import (
    DEFAULT_MAX_ITEMS,
    DEFAULT_MAX_PAGES,
    RESERVED_IDS,
    Limits,
    Plan,
    Step,
    Value,
    When,
)
from toolplan.plan.path import Json, copied, json_type


def read_steps(document: Mapping[str, Json], limits: Limits, report: Report) -> list[Json] | None:
    """Return the list of steps, or None (and report why) where there is none that can be read."""
    if "steps" not in document:
        report.error("missing-field", "The plan has no 'steps'.", "/steps")
        return None
    items = document["steps"]
    if not isinstance(items, list):
        report.wrong_type("steps", items, "a list", "/steps")
        return None
    if not items:
        report.error("empty-plan", "The plan has no step.", "/steps")
    if len(items) > limits.steps:
        many = f"The plan has {len(items)} steps; {limits.steps} are allowed."
        report.error("too-many-steps", many, "/steps")
        return None
    return items


def read_metadata(document: Mapping[str, Json], report: Report) -> dict[str, Json]:
    """Return the plan's metadata, none where there is none that can be read."""
    metadata = document.get("metadata", {})
    if not isinstance(metadata, dict):
        report.wrong_type("metadata", metadata, "an object", "/metadata")
        return {}
    return {key: copied(value) for key, value in metadata.items()}


class StepFields:
    """One step as it is written; its problems are reported as it is read.

    `pointer` and `step` are the canonical ones. Two spellings of one field are an error; with
    `first_counts` the first one that has a value counts, and the others are reported as noise.
    """

    def __init__(
        self, item: Json, pointer: str, step: str, report: Report, *, first_counts: bool = False
    ) -> None:
        self._first_counts = first_counts
        self.pointer = pointer
        self.step = step
        self.report = report
        self.item: Mapping[str, Json] = item if isinstance(item, dict) else {}
        self.is_object = isinstance(item, dict)
        if not self.is_object:
            what = f"A step is an object, not {json_type(item)}."
            report.error("field-type", what, pointer, step)

    def only(self, known: Sequence[str], other_names: Mapping[str, str] | None = None) -> None:
        """Report every field that is not `known`."""
        self.report.unknown_fields(self.item, known, self.pointer, self.step, other_names)

    def spelling(self, names: Sequence[str], field: str) -> str | None:
        """Return the written one of `names`, all of one meaning; report where two are written."""
        found = [name for name in names if name in self.item]
        if len(found) < 2:
            return found[0] if found else None
        place = f"{self.pointer}/{field}"
        if not self._first_counts:
            both = " and ".join(map(repr, found[:2]))
            self.report.error("duplicate-key", f"Both {both} are given.", place, self.step)
            return found[0]
        counts = next((name for name in found if self.item[name] is not None), found[0])
        others = ", ".join(repr(name) for name in found if name != counts)
        message = f"{others} is not read, because {counts!r} is given."
        self.report.warning("noise", message, place, self.step, "Write one of them.")
        return counts

    def tool(self, names: Sequence[str]) -> str:
        """Return the name of the tool, or ""."""
        if not self.is_object:
            return ""
        name = self.spelling(names, "tool")
        tool = self.item.get(name or "")
        place = f"{self.pointer}/tool"
        if name is None:
            self.report.error("missing-field", f"The step has no {names[0]!r}.", place, self.step)
        elif not isinstance(tool, str):
            self.report.wrong_type(name, tool, "the name of a tool", place, self.step)
        elif not tool:
            self.report.error("field-type", f"{name!r} is empty.", place, self.step)
        else:
            return tool
        return ""

    def args(self, names: Sequence[str], syntax: Syntax) -> dict[str, Value]:
        """Return the arguments, none where none are written."""
        name = self.spelling(names, "args")
        if name is None:
            return {}
        args = self.item[name]
        if not isinstance(args, dict):
            self.report.wrong_type(name, args, "an object", f"{self.pointer}/args", self.step)
            return {}
        return syntax.read_members(args, f"{self.pointer}/args", self.step, self.report)

    def value(self, value: Json, pointer: str, syntax: Syntax) -> Value:
        """Return `value`, which is canonically at `pointer` of the step."""
        return syntax.read(value, self.pointer + pointer, self.step, self.report)

    def text(self, name: str, field: str) -> str | None:
        """Return the text of the field `name`, or None; null is none as well."""
        text = self.item.get(name)
        if text is None or isinstance(text, str):
            return text
        self.report.wrong_type(name, text, "text", f"{self.pointer}/{field}", self.step)
        return None


class IdCheck:
    """Reports every id that is bad, taken by an earlier step, or easily confused with another."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._first: dict[str, int] = {}
        self._alike: dict[str, str] = {}
        self._count = 0

    def take(self, name: str) -> None:
        """Check the id of the next step."""
        pointer = f"/steps/{self._count}/id"
        other = self._alike.setdefault(_folded(name), name)
        if name in self._first:
            message = f"The id {shown(name)} is taken by step {self._first[name]}."
            help_ = "Every step needs an id of its own."
            self._report.error("duplicate-id", message, pointer, name, help_)
        elif not is_id(name):
            self._report.error(
                "bad-id",
                f"{shown(name)} is not an id of a step.",
                pointer,
                name,
                "An id has 1 to 64 of A-Z, a-z, 0-9, '_' and '-', does not begin with '-', and is "
                "neither 'item' nor 'index', which are reserved for steps with 'for_each'.",
            )
        elif other != name:
            message = f"The id {shown(name)} looks like {shown(other)}."
            help_ = "Give one of them another name."
            self._report.warning("confusable-id", message, pointer, name, help_)
        self._first.setdefault(name, self._count)
        self._count += 1


def is_id(name: str) -> bool:
    """Return whether a step may have the id `name`."""
    return STEP_ID.fullmatch(name) is not None and name not in RESERVED_IDS


def free_id(at: int, taken: Collection[str]) -> str:
    """Return an id for the step at position `at` that is not `taken`."""
    name = f"s{at}"
    while name in taken:
        name += "_"
    return name


def _folded(name: str) -> str:
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name[:200]).casefold())


VERSION: Final = 1
MOST_RETRIES: Final = 100
LONGEST_TIMEOUT_S: Final = 7 * 24 * 3600
"""More tries, or more seconds, than these are a mistake of the writer."""

_PLAN_FIELDS: Final = ("toolplan", "steps", "output", "metadata")
STEP_FIELDS: Final = (
    "id", "tool", "args", "after", "for_each", "max_items", "when", "on_error", "timeout_s",
    "retries", "pages", "max_pages", "thought",
)  # fmt: skip
_USUAL_FIELDS: Final = frozenset(STEP_FIELDS[:3])


def load(document: Json, limits: Limits | None = None) -> Parsed:
    """Return the plan that `document`, in canonical form, describes. Never raises."""
    report, limits = Report(), limits or Limits()
    if not isinstance(document, dict):
        report.error("field-type", f"A plan is an object, not {json_type(document)}.")
        return Parsed(None, report.diagnostics)
    version = document.get("toolplan", VERSION)
    if type(version) is not int or version != VERSION:
        message = f"The plan has the version {_said(version)}; this toolplan reads {VERSION}."
        report.error("plan-version", message, "/toolplan")
    report.unknown_fields(document, _PLAN_FIELDS, "")
    items = read_steps(document, limits, report)
    if items is None or not check_depth(document, limits.depth, report):
        return Parsed(None, report.diagnostics)
    names = read_ids(items, report)
    steps = [_step(item, f"/steps/{at}", names[at], report) for at, item in enumerate(items)]
    output = None
    if "output" in document:
        output = CANONICAL.read(document["output"], "/output", None, report)
    plan = Plan(tuple(steps), output, read_metadata(document, report))
    return Parsed(plan, report.diagnostics)


def read_ids(
    items: Sequence[Json], report: Report, names: Sequence[str] = ("id",), noun: str = "step"
) -> list[str]:
    """Return the id of every step, a new one where it has none, and check those written.

    `names` are the fields that an id may have, `noun` is the word for a step in messages.
    """
    written: list[Json] = []
    spelled: list[bool] = []
    for item in items:
        have = [item[name] for name in names if name in item] if isinstance(item, dict) else []
        written.append(have[0] if have else None)
        spelled.append(bool(have))
    taken = {name for name in written if isinstance(name, str)}
    check, ids = IdCheck(report), list[str]()
    for at, name in enumerate(written):
        if not isinstance(name, str):
            said, name = name, free_id(at, taken)
            taken.add(name)
            if spelled[at]:
                report.wrong_type("id", said, "text", f"/steps/{at}/id", name)
            elif isinstance(items[at], dict):
                report.error("missing-field", f"The {noun} has no 'id'.", f"/steps/{at}/id", name)
        ids.append(name)
        check.take(name)
    return ids


def _step(item: Json, pointer: str, name: str, report: Report) -> Step:
    fields = _Fields(item, pointer, name, report)
    fields.only(STEP_FIELDS)
    tool, args = fields.tool(("tool",)), fields.args(("args",), CANONICAL)
    if fields.item.keys() <= _USUAL_FIELDS:
        return Step(name, tool, args)
    return Step(
        name,
        tool,
        args,
        fields.after(),
        fields.value(fields.item["for_each"], "/for_each", CANONICAL)
        if "for_each" in fields.item
        else None,
        fields.whole_number("max_items", 1, None, DEFAULT_MAX_ITEMS),
        fields.when(),
        "continue" if fields.choice("on_error", "fail", "continue") == "continue" else "fail",
        fields.timeout(),
        fields.whole_number("retries", 0, MOST_RETRIES, 0),
        fields.thought(),
        "all" if fields.choice("pages", "all") else None,
        fields.whole_number("max_pages", 1, None, DEFAULT_MAX_PAGES),
    )


class _Fields(StepFields):
    """A step in canonical form. A field with a fault is reported, and read as missing."""

    def after(self) -> tuple[str, ...]:
        after = self.item.get("after", [])
        if not isinstance(after, list):
            self._wrong("after", "a list of step ids")
            return ()
        for at, each in enumerate(after):
            if not isinstance(each, str):
                kind = json_type(each).capitalize()
                message = f"{kind} stands where the id of a step was expected."
                self._error("field-type", message, f"after/{at}")
        return tuple(each for each in after if isinstance(each, str))

    def when(self) -> When | None:
        when = self.item.get("when")
        if not isinstance(when, dict):
            self._wrong("when", 'an object {"value": …, "is": schema}')
            return None
        place, others = f"{self.pointer}/when", {"schema": "is", "ref": "value"}
        self.report.unknown_fields(when, ("value", "is"), place, self.step, others)
        for name in ("value", "is"):
            if name not in when:
                self._error("missing-field", f"'when' has no {name!r}.", f"when/{name}")
        value = self.value(when.get("value"), "/when/value", CANONICAL)
        schema = when.get("is", True)
        if not isinstance(schema, dict | bool):
            self.report.wrong_type("is", schema, "a JSON Schema", f"{place}/is", self.step)
            schema = True
        return When(value, copied(schema)) if "value" in when else None

    def choice(self, name: str, *choices: str) -> str | None:
        value = self.item.get(name)
        if isinstance(value, str) and value in choices:
            return value
        if name in self.item:
            message = f"{name!r} is {_said(value)}, not {' or '.join(map(repr, choices))}."
            self._error("field-type", message, name)
        return None

    def timeout(self) -> float | None:
        seconds = self.item.get("timeout_s")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            self._wrong("timeout_s", "a number of seconds")
            return None
        if 0 < seconds <= LONGEST_TIMEOUT_S:  # NaN is outside too
            return float(seconds)
        message = f"'timeout_s' is {_said(seconds)}; it must be above 0 and at most"
        self._error("field-type", f"{message} {LONGEST_TIMEOUT_S}.", "timeout_s")
        return None

    def whole_number(self, name: str, least: int, most: int | None, default: int) -> int:
        value = self.item.get(name)
        if type(value) is not int:
            self._wrong(name, "a whole number")
        elif least <= value <= (value if most is None else most):
            return value
        else:
            upper = "" if most is None else f" and at most {most}"
            message = f"{name!r} is {_said(value)}; it must be at least {least}{upper}."
            self._error("field-type", message, name)
        return default

    def thought(self) -> str | None:
        thought = self.item.get("thought")
        if isinstance(thought, str):
            return thought
        self._wrong("thought", "text")
        return None

    def _wrong(self, name: str, wanted: str) -> None:
        """Report that a field has the wrong type, where it is written at all."""
        if name in self.item:
            place = f"{self.pointer}/{name}"
            self.report.wrong_type(name, self.item[name], wanted, place, self.step)

    def _error(self, code: str, message: str, inside: str) -> None:
        self.report.error(code, message, f"{self.pointer}/{inside}", self.step)


def _said(value: Json) -> str:
    match value:
        case str():
            return shown(value)
        case int() if abs(value) > 10**18:  # Python refuses to print the longest ones
            return "a huge number"
        case None | bool() | int() | float():
            return json.dumps(value)
        case _:
            return json_type(value)


def dump(plan: Plan) -> dict[str, Json]:
    """Return the canonical form of `plan`: fields in a fixed order, defaults omitted.

    The result shares nothing with the plan and may be changed.
    """
    steps: list[Json] = []
    for step in plan.steps:
        item: dict[str, Json] = {"id": step.id, "tool": step.tool}
        for name, default in _DEFAULTS.items():
            value = getattr(step, name)
            if value != default and value != []:  # `after` may be given as a list
                item[name] = _WRITERS[name](value) if name in _WRITERS else value
        steps.append(item)
    document: dict[str, Json] = {"toolplan": VERSION, "steps": steps}
    if plan.output is not None:
        document["output"] = dump_value(plan.output)
    if plan.metadata:
        document["metadata"] = copied(dict(plan.metadata))
    return document


_DEFAULTS: Final = {name: getattr(Step("", ""), name) for name in STEP_FIELDS[2:]}
_WRITERS: Final[Mapping[str, Callable[[Any], Json]]] = {
    "args": lambda args: {name: dump_value(value) for name, value in args.items()},
    "after": list,
    "for_each": dump_value,
    "when": lambda when: {"value": dump_value(when.value), "is": copied(when.schema)},
    "timeout_s": lambda seconds: int(seconds) if float(seconds).is_integer() else seconds,
}
"""Fields of a step whose JSON is not their value."""
