"""From canonical JSON to a plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from toolplan.path import Json, copied, json_type
from toolplan.plan import DEFAULT_MAX_ITEMS, Limits, OnError, Plan, Step, When
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
    "retries", "thought",
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
    return Step(
        name,
        tool,
        args,
        _after(item, pointer, name, report),
        reader.read(item["for_each"], f"{pointer}/for_each", name) if "for_each" in item else None,
        _max_items(item, pointer, name, report),
        _when(item, pointer, name, reader),
        _on_error(item, pointer, name, report),
        _timeout(item, pointer, name, report),
        _retries(item, pointer, name, report),
        _thought(item, pointer, name, report),
    )


def _after(item: Mapping[str, Json], pointer: str, step: str, report: Report) -> tuple[str, ...]:
    after = item.get("after", [])
    if not isinstance(after, list):
        report.wrong_type("after", after, "a list of step ids", f"{pointer}/after", step)
        return ()
    for at, each in enumerate(after):
        if not isinstance(each, str):
            report.error(
                "field-type",
                f"{json_type(each).capitalize()} stands where the id of a step was expected.",
                f"{pointer}/after/{at}",
                step,
            )
    return tuple(each for each in after if isinstance(each, str))


def _when(item: Mapping[str, Json], pointer: str, step: str, reader: ValueReader) -> When | None:
    if "when" not in item:
        return None
    pointer += "/when"
    when = item["when"]
    report = reader.report
    if not isinstance(when, dict):
        report.wrong_type("when", when, 'an object {"value": …, "is": schema}', pointer, step)
        return None
    report.unknown_fields(when, ("value", "is"), pointer, step, {"schema": "is", "ref": "value"})
    for name in ("value", "is"):
        if name not in when:
            report.error("missing-field", f"'when' has no {name!r}.", f"{pointer}/{name}", step)
    value = reader.read(when.get("value"), f"{pointer}/value", step)
    schema = when.get("is", True)
    if not isinstance(schema, dict | bool):
        report.wrong_type("is", schema, "a JSON Schema", f"{pointer}/is", step)
        schema = True
    return When(value, copied(schema)) if "value" in when else None


def _on_error(item: Mapping[str, Json], pointer: str, step: str, report: Report) -> OnError:
    match item.get("on_error", "fail"):
        case "fail":
            return "fail"
        case "continue":
            return "continue"
        case other:
            said = _said(other)
            report.error(
                "field-type",
                f"'on_error' is {said}, not 'fail' or 'continue'.",
                f"{pointer}/on_error",
                step,
            )
            return "fail"


def _timeout(item: Mapping[str, Json], pointer: str, step: str, report: Report) -> float | None:
    if "timeout_s" not in item:
        return None
    seconds = item["timeout_s"]
    pointer += "/timeout_s"
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        report.wrong_type("timeout_s", seconds, "a number of seconds", pointer, step)
    elif not 0 < seconds <= LONGEST_TIMEOUT_S:  # NaN is outside too
        report.error(
            "field-type",
            f"'timeout_s' is {_said(seconds)}; it must be above 0 and at most {LONGEST_TIMEOUT_S}.",
            pointer,
            step,
        )
    else:
        return float(seconds)
    return None


def _max_items(item: Mapping[str, Json], pointer: str, step: str, report: Report) -> int:
    limits = (1, None)
    found = _whole_number(item, "max_items", limits, pointer, step, report)
    return DEFAULT_MAX_ITEMS if found is None else found


def _retries(item: Mapping[str, Json], pointer: str, step: str, report: Report) -> int:
    return _whole_number(item, "retries", (0, MOST_RETRIES), pointer, step, report) or 0


def _whole_number(
    item: Mapping[str, Json],
    name: str,
    limits: tuple[int, int | None],
    pointer: str,
    step: str,
    report: Report,
) -> int | None:
    if name not in item:
        return None
    value = item[name]
    least, most = limits
    if isinstance(value, bool) or not isinstance(value, int):
        report.wrong_type(name, value, "a whole number", f"{pointer}/{name}", step)
    elif value < least or (most is not None and value > most):
        upper = "" if most is None else f" and at most {most}"
        report.error(
            "field-type",
            f"{name!r} is {_said(value)}; it must be at least {least}{upper}.",
            f"{pointer}/{name}",
            step,
        )
    else:
        return value
    return None


def _thought(item: Mapping[str, Json], pointer: str, step: str, report: Report) -> str | None:
    if "thought" not in item:
        return None
    thought = item["thought"]
    if isinstance(thought, str):
        return thought
    report.wrong_type("thought", thought, "text", f"{pointer}/thought", step)
    return None


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
