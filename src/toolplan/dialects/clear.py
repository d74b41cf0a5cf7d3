"""The dialect of the Clear AI planner.

`{"steps": [{"tool", "params", "depends_on", "parallel"}], "metadata": {…}}`. Steps have no ids and
are read as `s0`, `s1`, … by position. A reference is `${step[0].data.*.id}`: what follows `step[N]`
is the path in the tool's output, literally. `parallel` is advice: it is derived when a plan is
printed, and means nothing when one is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from toolplan.diagnostics import CannotExpress, Diagnostic, Severity
from toolplan.dialects import _json
from toolplan.dialects._base import StepStream, has_key
from toolplan.dialects._stream import JsonReader, RereadSteps
from toolplan.dialects.toolplan import is_plan
from toolplan.path import Every, Json, Path, copied, json_type, print_key
from toolplan.plan import (
    DEFAULT_MAX_ITEMS,
    Limits,
    Plan,
    Signature,
    Step,
    Value,
    located_refs,
    needs,
    positional,
    step_refs,
)
from toolplan.plan_json import (
    DEEPEST,
    Head,
    Parsed,
    ParsedText,
    ReferenceSyntaxError,
    Report,
    ValueReader,
    check_depth,
    dump_value,
    parse_text,
    print_text,
    read_args,
    read_metadata,
    read_steps,
    read_tool,
)
from toolplan.source import Span, locate

_PLAN_FIELDS: Final = ("steps", "metadata")
_STEP_FIELDS: Final = ("tool", "params", "depends_on", "dependsOn", "parallel")
_STEP_FIELD_SET = frozenset(_STEP_FIELDS)
_OTHER_NAMES: Final = {
    "args": "params",
    "arguments": "params",
    "parameters": "params",
    "input": "params",
    "name": "tool",
    "toolName": "tool",
    "tool_name": "tool",
    "action": "tool",
    "after": "depends_on",
    "dependencies": "depends_on",
}
_NO_LIMITS = Limits(text_bytes=2**40, steps=2**31, depth=DEEPEST)

_STEP = re.compile(r"step\[(0|[1-9][0-9]{0,8})\]")
_NEGATIVE = re.compile(r"step\[\s*-")
_STEP_POINTER = re.compile(r"/steps/([0-9]{1,9})/(id|args|after)(?=/|\Z)")


@dataclass(frozen=True, slots=True)
class ClearDialect:
    """Says tools, arguments with references, and order; no more."""

    name: str = "clear"
    json: bool = True

    def parse(
        self,
        text: str,
        signatures: Mapping[str, Signature] | None = None,
        limits: Limits | None = None,
    ) -> Parsed:
        """Return as much of the plan as can be read, and all that is wrong. Never raises.

        Pointers are those of the canonical plan: `/steps/0/args/location`.
        """
        read = _json.read(text, is_plan, limits)
        if read.block is None:
            return Parsed(None, read.diagnostics)
        loaded = load(read.block.document, limits)
        told = [_canonical(each) for each in read.diagnostics]
        return Parsed(loaded.plan, (*told, *_json.without(loaded.diagnostics, told)))

    def print(self, plan: Plan, signatures: Mapping[str, Signature] | None = None) -> str:
        """Return the text of `plan`, a step a line; ids become positions.

        Order that a reference already shows is not told apart from order by `after` alone.

        Raises:
            CannotExpress: the plan holds more than tools, arguments and order.
        """
        unsaid = list(_unsaid(plan))
        if unsaid:
            raise CannotExpress("clear cannot say this plan", unsaid)
        text = _json.write(dump(plan))
        back = self.parse(text, None, _NO_LIMITS)
        if back.plan != _normalised(plan):
            raise CannotExpress("clear cannot say this plan", _misread(back.diagnostics))
        return text

    def locate(self, text: str, pointer: str) -> Span | None:
        """Return the place of what the canonical `pointer` names, None where there is no plan."""
        block = _json.read(text, is_plan, _NO_LIMITS).block
        if block is None:
            return None
        native = _native_pointer(block.document, pointer)
        found = locate(text[block.span.start : block.span.end], native)
        return found and Span(found.start + block.span.start, found.end + block.span.start)

    def recognises(self, text: str) -> bool:
        """Return whether `text`, as a model wrote it, looks like a plan in this dialect."""
        has_call = has_key(text, "params", "depends_on", "dependsOn")
        return has_key(text, "steps") and has_call and not has_key(text, "args")

    def stream(
        self, signatures: Mapping[str, Signature] | None = None, limits: Limits | None = None
    ) -> StepStream | None:
        """Return a reader of one plan's steps."""
        return RereadSteps(
            JsonReader("steps"),
            lambda count: "]}",
            lambda text: self.parse(text, signatures, limits),
        )


def load(document: Json, limits: Limits | None = None) -> Parsed:
    """Return the plan that `document`, a plan in Clear's form, says. Never raises."""
    limits = limits or Limits()
    report = Report()
    if not isinstance(document, dict):
        report.error("field-type", f"A plan is an object, not {json_type(document)}.")
        return Parsed(None, report.diagnostics)
    report.unknown_fields(document, _PLAN_FIELDS, "")
    items = read_steps(document, limits, report)
    if items is None or not check_depth(document, limits.depth, report):
        return Parsed(None, report.diagnostics)
    reader = ValueReader(report, _parse_text)
    steps = tuple(_step(item, at, len(items), reader) for at, item in enumerate(items))
    return Parsed(Plan(steps, None, _metadata(document, report)), report.diagnostics)


def dump(plan: Plan) -> dict[str, Json]:
    """Return Clear's form of `plan`, which holds nothing that it cannot say."""
    plan = positional(plan)
    needed = [sorted({_index(name) for name in needs(step)}) for step in plan.steps]
    free = sum(not each for each in needed)
    steps: list[Json] = []
    for step, indexes in zip(plan.steps, needed, strict=True):
        depends_on: list[Json] = [*indexes]
        steps.append(
            {
                "tool": step.tool,
                "params": {name: dump_value(v, _print_text) for name, v in step.args.items()},
                "depends_on": depends_on,
                "parallel": not indexes and free > 1,
            }
        )
    document: dict[str, Json] = {"steps": steps}
    if plan.metadata:
        document["metadata"] = {
            "timestamp" if key == "created_at" else key: copied(value)
            for key, value in plan.metadata.items()
        }
    return document


def _step(item: Json, at: int, steps: int, reader: ValueReader) -> Step:
    name, pointer = f"s{at}", f"/steps/{at}"
    report = reader.report
    if not isinstance(item, dict):
        report.error("field-type", f"A step is an object, not {json_type(item)}.", pointer, name)
        return Step(name, "")
    if not item.keys() <= _STEP_FIELD_SET:
        report.unknown_fields(item, _STEP_FIELDS, pointer, name, _OTHER_NAMES)
    if not isinstance(item.get("parallel", False), bool):
        report.wrong_type(
            "parallel", item["parallel"], "true or false", f"{pointer}/parallel", name
        )
    tool = read_tool(item, pointer, name, report)
    args = read_args(item.get("params", {}), "params", f"{pointer}/args", name, reader)
    step = Step(name, tool, args)
    indexes = _depends_on(item, at, steps, report)
    implied = {ref.step for _, ref in step_refs(step)}
    if "depends_on" in item or "dependsOn" in item:  # who lists none at all leaves it to us
        declared = {f"s{each}" for each in indexes}
        for needed in sorted(implied - declared - {name}, key=_index):
            if _index(needed) < steps:
                report.add(_undeclared(at, _index(needed)))
    if not indexes:
        return step
    after = tuple(f"s{each}" for each in sorted(set(indexes)) if f"s{each}" not in implied)
    return Step(name, tool, args, after)


def _undeclared(at: int, needed: int) -> Diagnostic:
    """Tell that a reference shows an order that is not declared; it holds all the same (C-15)."""
    return Diagnostic(
        "undeclared-dependency",
        Severity.WARNING,
        f"Step {at} refers to step {needed}, which is not among its 'depends_on'.",
        f"s{at}",
        f"/steps/{at}/after",
        f"Add {needed} to 'depends_on'.",
        fixed=True,
    )


def _depends_on(item: Mapping[str, Json], at: int, steps: int, report: Report) -> list[int]:
    name, pointer = f"s{at}", f"/steps/{at}/after"
    spelling = "dependsOn" if "dependsOn" in item else "depends_on"
    if "dependsOn" in item and "depends_on" in item:
        report.error("duplicate-key", "Both 'depends_on' and 'dependsOn' are given.", pointer, name)
    written = item.get(spelling, [])
    if not isinstance(written, list):
        report.wrong_type(spelling, written, "a list of step numbers", pointer, name)
        return []
    indexes: list[int] = []
    for each in written:
        if isinstance(each, bool) or not isinstance(each, int):
            report.error(
                "field-type",
                f"{spelling!r} holds {json_type(each)}, not the number of a step.",
                pointer,
                name,
                "Steps are counted from 0.",
            )
        elif each == at:
            report.error("self-reference", f"Step {at} depends on itself.", pointer, name)
        elif not 0 <= each < steps:
            report.error(
                "unknown-step",
                f"There is no step {each if abs(each) < 10**18 else 'of that number'}.",
                pointer,
                name,
                f"The steps are 0 to {steps - 1}.",
            )
        else:
            indexes.append(each)
    return indexes


def _metadata(document: Mapping[str, Json], report: Report) -> dict[str, Json]:
    metadata = read_metadata(document, report)
    if "created_at" in metadata:
        report.error(
            "unknown-field",
            "There is no field 'created_at'.",
            "/metadata/created_at",
            help="Did you mean 'timestamp'?",
        )
    return {"created_at" if key == "timestamp" else key: v for key, v in metadata.items()}


def _unsaid(plan: Plan) -> Iterator[Diagnostic]:
    """Yield one diagnostic for each thing in `plan` that Clear has no word for."""
    if plan.output is not None:
        yield _cannot("Clear has no 'output'.", "/output")
    if "timestamp" in plan.metadata:
        yield _cannot("In Clear, 'timestamp' is when the plan was made.", "/metadata/timestamp")
    known = {step.id for step in plan.steps}
    for at, step in enumerate(plan.steps):
        for field, is_used in _more_than_clear(step).items():
            if is_used:
                yield _cannot(f"Clear has no {field!r}.", f"/steps/{at}/{field}", step.id)
        for name, value in step.args.items():
            yield from _unsaid_refs(value, f"/steps/{at}/args/{name}", step, known)
        for each in step.after:
            if each not in known:
                yield _cannot(f"No step has the id {each!r}.", f"/steps/{at}/after", step.id)


def _more_than_clear(step: Step) -> dict[str, bool]:
    return {
        "for_each": step.for_each is not None,
        "max_items": step.max_items != DEFAULT_MAX_ITEMS,
        "when": step.when is not None,
        "on_error": step.on_error != "fail",
        "timeout_s": step.timeout_s is not None,
        "retries": step.retries != 0,
        "thought": step.thought is not None,
    }


def _unsaid_refs(value: Value, pointer: str, step: Step, known: set[str]) -> Iterator[Diagnostic]:
    for place, ref in located_refs(value, pointer):
        if ref.step not in known:
            yield _cannot(f"Clear has no reference to {ref.step!r}.", place, step.id)


def _cannot(message: str, pointer: str, step: str | None = None) -> Diagnostic:
    return Diagnostic("cannot-express", Severity.ERROR, message, step, pointer)


def _misread(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    found = [
        _cannot(each.message, each.pointer, each.step)
        for each in diagnostics
        if each.severity is Severity.ERROR
    ]
    return found or [_cannot("What was written would be read otherwise.", "")]


def _normalised(plan: Plan) -> Plan:
    """Return `plan` as Clear reads it back: by position, `after` in order and never redundant."""
    plan = positional(plan)
    return Plan(tuple(map(_normalised_step, plan.steps)), plan.output, plan.metadata)


def _normalised_step(step: Step) -> Step:
    implied = {ref.step for _, ref in step_refs(step)}
    after = sorted({_index(each) for each in step.after if each not in implied})
    return Step(step.id, step.tool, step.args, tuple(f"s{each}" for each in after))


def _canonical(diagnostic: Diagnostic) -> Diagnostic:
    """Return a diagnostic of the text, whose pointer is Clear's, with a canonical pointer."""
    pointer = re.sub(r"^(/steps/[0-9]+)/params(?=/|\Z)", r"\1/args", diagnostic.pointer)
    pointer = re.sub(r"^(/steps/[0-9]+)/(?:depends_on|dependsOn)(?=/|\Z)", r"\1/after", pointer)
    pointer = re.sub(r"^/metadata/timestamp(?=/|\Z)", "/metadata/created_at", pointer)
    return Diagnostic(
        diagnostic.code,
        diagnostic.severity,
        diagnostic.message,
        diagnostic.step,
        pointer,
        diagnostic.help,
    )


def _native_pointer(document: Json, pointer: str) -> str:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if pointer == "/metadata/created_at" and isinstance(metadata, dict):
        return pointer if "created_at" in metadata else "/metadata/timestamp"
    found = _STEP_POINTER.match(pointer)
    if found is None:
        return pointer
    item = _item(document, int(found[1]))
    names = {
        "id": ("id",),
        "args": ("params", "args"),
        "after": ("dependsOn", "depends_on", "params", "after"),
    }[found[2]]
    name = next((each for each in names if each in item), names[0])
    return f"/steps/{found[1]}/{name}{pointer[found.end() :]}"


def _item(document: Json, at: int) -> Mapping[str, Json]:
    steps = document.get("steps") if isinstance(document, dict) else None
    item = steps[at] if isinstance(steps, list) and at < len(steps) else None
    return item if isinstance(item, dict) else {}


def _index(name: str) -> int:
    return int(name.removeprefix("s"))


def _read_step(text: str, at: int) -> tuple[str, int]:
    if found := _STEP.match(text, at):
        return f"s{int(found[1])}", found.end()
    if _NEGATIVE.match(text, at):
        raise ReferenceSyntaxError("steps are counted from 0, and none is negative", at)
    if text.startswith("${", at):
        raise ReferenceSyntaxError("a reference cannot stand inside another", at)
    raise ReferenceSyntaxError("'step[N]' was expected", at)


def _write_step(step: str) -> str:
    return f"step[{step.removeprefix('s')}]"


def _write_path(path: Path) -> str:
    return "".join(map(_write_segment, path))


def _write_segment(segment: str | int | Every) -> str:
    match segment:
        case str():
            return print_key(segment)
        case int():
            return f"[{segment}]"
        case Every():
            return ".*"


_HEAD: Final = Head(
    _read_step,
    _write_step,
    _write_path,
    "A reference is `${step[N].path}`, as in `${step[0].data.*.id}`. Anything else has to be "
    "written out; `$${` is the text `${`.",
)


def _parse_text(text: str) -> ParsedText:
    return parse_text(text, _HEAD)


_print_text = partial(print_text, head=_HEAD)
DIALECT: Final = ClearDialect()
