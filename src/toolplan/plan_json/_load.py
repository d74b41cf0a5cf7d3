"""From canonical JSON to a plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from toolplan.path import Json, copied, json_type
from toolplan.plan import (
    DEFAULT_MAX_ITEMS,
    DEFAULT_MAX_PAGES,
    Limits,
    OnError,
    Pages,
    Plan,
    Step,
    When,
)
from toolplan.plan_json._fields import check_ids, read_args, read_metadata, read_steps, read_tool
from toolplan.plan_json._report import Parsed, Report, shown
from toolplan.plan_json._values import ValueReader, check_depth

VERSION: Final = 1
MOST_RETRIES: Final = 100
LONGEST_TIMEOUT_S: Final = 7 * 24 * 3600
"""More tries, or more seconds, than these are a mistake of the writer."""

_PLAN_FIELDS: Final = ("toolplan", "steps", "output", "metadata")
_STEP_FIELDS: Final = (
    "id", "tool", "args", "after", "for_each", "max_items", "when", "on_error", "timeout_s",
    "retries", "pages", "max_pages", "thought",
)  # fmt: skip
_STEP_FIELD_SET = frozenset(_STEP_FIELDS)
_USUAL_FIELDS = frozenset(("id", "tool", "args"))


def load(document: Json, limits: Limits | None = None) -> Parsed:
    """Return the plan that `document`, in canonical form, says. Never raises."""
    limits = limits or Limits()
    report = Report()
    plan = _plan(document, limits, report)
    return Parsed(plan, report.diagnostics)


def _plan(document: Json, limits: Limits, report: Report) -> Plan | None:
    if not isinstance(document, dict):
        report.error("field-type", f"A plan is an object, not {json_type(document)}.")
        return None
    _check_version(document, report)
    report.unknown_fields(document, _PLAN_FIELDS, "")
    items = read_steps(document, limits, report)
    if items is None or not check_depth(document, limits.depth, report):
        return None
    ids = _ids(items, report)
    reader = ValueReader(report)
    steps = [_step(item, f"/steps/{at}", ids[at], reader) for at, item in enumerate(items)]
    output = reader.read(document["output"], "/output", None) if "output" in document else None
    return Plan(tuple(steps), output, read_metadata(document, report))


def _check_version(document: Mapping[str, Json], report: Report) -> None:
    version = document.get("toolplan", VERSION)
    if type(version) is not int or version != VERSION:
        said = _said(version)
        report.error(
            "plan-version",
            f"The plan has the version {said}; this toolplan reads {VERSION}.",
            "/toolplan",
        )


def _ids(items: list[Json], report: Report) -> list[str]:
    """Return every step an id, a new one where it has none.

    And check those that were written.
    """
    written = [item.get("id") if isinstance(item, dict) else None for item in items]
    if all(isinstance(name, str) for name in written):
        ids = [name for name in written if isinstance(name, str)]
        check_ids(ids, report)
        return ids
    taken = {name for name in written if isinstance(name, str)}
    ids: list[str] = []
    for at, (item, name) in enumerate(zip(items, written, strict=True)):
        if isinstance(name, str):
            ids.append(name)
            continue
        stand_in = f"s{at}"
        while stand_in in taken:
            stand_in += "_"
        taken.add(stand_in)
        ids.append(stand_in)
        if isinstance(item, dict) and "id" not in item:
            report.error("missing-field", "The step has no 'id'.", f"/steps/{at}/id", stand_in)
        elif isinstance(item, dict):
            report.wrong_type("id", name, "text", f"/steps/{at}/id", stand_in)
    check_ids(ids, report)
    return ids


def _step(item: Json, pointer: str, name: str, reader: ValueReader) -> Step:
    report = reader.report
    if not isinstance(item, dict):
        report.error("field-type", f"A step is an object, not {json_type(item)}.", pointer, name)
        return Step(name, "")
    is_usual = item.keys() == _USUAL_FIELDS
    if not (is_usual or item.keys() <= _STEP_FIELD_SET):
        report.unknown_fields(item, _STEP_FIELDS, pointer, name)
    tool = read_tool(item, pointer, name, report)
    args = read_args(item.get("args", {}), "args", f"{pointer}/args", name, reader)
    if is_usual:
        return Step(name, tool, args)
    fields = _Fields(item, pointer, name, reader)
    max_items = fields.whole_number("max_items", 1, None)
    return Step(
        name,
        tool,
        args,
        fields.after(),
        reader.read(item["for_each"], f"{pointer}/for_each", name) if "for_each" in item else None,
        DEFAULT_MAX_ITEMS if max_items is None else max_items,
        fields.when(),
        fields.on_error(),
        fields.timeout(),
        fields.whole_number("retries", 0, MOST_RETRIES) or 0,
        fields.thought(),
        fields.pages(),
        fields.whole_number("max_pages", 1, None) or DEFAULT_MAX_PAGES,
    )


class _Fields(Struct, frozen=True):
    """The fields that few steps have. What is wrong with one is reported, and read as missing."""

    item: Mapping[str, Json]
    pointer: str
    step: str
    reader: ValueReader

    def after(self) -> tuple[str, ...]:
        after = self.item.get("after", [])
        if not isinstance(after, list):
            self._wrong("after", "a list of step ids")
            return ()
        for at, each in enumerate(after):
            if not isinstance(each, str):
                kind = json_type(each).capitalize()
                said = f"{kind} stands where the id of a step was expected."
                self._error("field-type", said, f"after/{at}")
        return tuple(each for each in after if isinstance(each, str))

    def when(self) -> When | None:
        when = self.item.get("when")
        if not isinstance(when, dict):
            if "when" in self.item:
                self._wrong("when", 'an object {"value": …, "is": schema}')
            return None
        place, others = f"{self.pointer}/when", {"schema": "is", "ref": "value"}
        self.reader.report.unknown_fields(when, ("value", "is"), place, self.step, others)
        for name in ("value", "is"):
            if name not in when:
                self._error("missing-field", f"'when' has no {name!r}.", f"when/{name}")
        value = self.reader.read(when.get("value"), f"{place}/value", self.step)
        schema = when.get("is", True)
        if not isinstance(schema, dict | bool):
            self.reader.report.wrong_type("is", schema, "a JSON Schema", f"{place}/is", self.step)
            schema = True
        return When(value, copied(schema)) if "value" in when else None

    def on_error(self) -> OnError:
        match self.item.get("on_error", "fail"):
            case "fail":
                return "fail"
            case "continue":
                return "continue"
            case other:
                said = f"'on_error' is {_said(other)}, not 'fail' or 'continue'."
                self._error("field-type", said, "on_error")
                return "fail"

    def pages(self) -> Pages | None:
        pages = self.item.get("pages")
        if pages == "all":
            return "all"
        if "pages" in self.item:
            self._error("field-type", f"'pages' is {_said(pages)}, not 'all'.", "pages")
        return None

    def timeout(self) -> float | None:
        seconds = self.item.get("timeout_s")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            if "timeout_s" in self.item:
                self._wrong("timeout_s", "a number of seconds")
            return None
        if 0 < seconds <= LONGEST_TIMEOUT_S:  # NaN is outside too
            return float(seconds)
        said = f"'timeout_s' is {_said(seconds)}; it must be above 0 and at most"
        self._error("field-type", f"{said} {LONGEST_TIMEOUT_S}.", "timeout_s")
        return None

    def whole_number(self, name: str, least: int, most: int | None) -> int | None:
        value = self.item.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            if name in self.item:
                self._wrong(name, "a whole number")
            return None
        if value >= least and (most is None or value <= most):
            return value
        upper = "" if most is None else f" and at most {most}"
        said = f"{name!r} is {_said(value)}; it must be at least {least}{upper}."
        self._error("field-type", said, name)
        return None

    def thought(self) -> str | None:
        thought = self.item.get("thought")
        if isinstance(thought, str):
            return thought
        if "thought" in self.item:
            self._wrong("thought", "text")
        return None

    def _wrong(self, name: str, wanted: str) -> None:
        place = f"{self.pointer}/{name}"
        self.reader.report.wrong_type(name, self.item[name], wanted, place, self.step)

    def _error(self, code: str, message: str, inside: str) -> None:
        self.reader.report.error(code, message, f"{self.pointer}/{inside}", self.step)


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
