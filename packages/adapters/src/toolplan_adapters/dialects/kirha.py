"""The dialect of the Kirha planner.

`<think>…</think><plan>[{"thought", "toolName", "arguments"}]</plan>`. Steps have no ids and are
read as `s0`, `s1`, … by position. A reference is `{0.path}`, inside of text or as all of it,
or the object `{"fromStep": 0, "outputKey": "path"}`; a whole text that is one reference keeps the
type of the value, as the object does. An object without `outputKey` is data. `{{0}}` is the text
`{0}`. Of several spellings of a field the first counts: `toolName`, `tool`; `arguments`, `args`,
`params`, `parameters`. What stands in the think block is kept as `notes` in the metadata.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, cast

from msgspec import Struct

from toolplan.dialects import form, has_key, values
from toolplan.dialects.form import JsonSteps, all_steps, read_list
from toolplan.dialects.values import SEGMENTS_WITH_GAPS, read_path, without_gaps, write_bare
from toolplan.plan.canonical import (
    Parsed,
    ParsedText,
    Report,
    StepFields,
    Syntax,
    TextProblem,
    Written,
    shown,
)
from toolplan.plan.diagnostics import Diagnostic, Severity
from toolplan.plan.model import Limits, Literal, Plan, Ref, Step, Template
from toolplan.plan.path import EVERY, Json, PathSyntaxError
from toolplan.plan.text.tokens import TOKEN

_TOOL: Final = ("toolName", "tool")
_ARGS: Final = ("arguments", "args", "params", "parameters")
_FIELDS: Final = ("thought", *_TOOL, *_ARGS)
_OTHER_NAMES: Final = {"name": "toolName", "tool_name": "toolName", "reason": "thought"}
_PLACES = form.Places(("",), {"tool": _TOOL, "args": _ARGS, "thought": ("thought",)})
_NOTES: Final = "notes"

_TAG = re.compile(r"<(?P<end>/?)(?P<name>think|thinking|plan)>")
_PLAN_END = re.compile(r"</plan>")
_THINK_END = re.compile(r"</think(?:ing)?>")
_OPENING = re.compile(r"[\[{]")
_ALL_BUT_LINES = re.compile("[^\n\0\ufeff\ud800-\udfff]")
_TAG_IN_TEXT = re.compile(r"<(?=/?(?:think|thinking|plan)>)")

# of the braces before a number each pair is one brace of text; an odd one left opens a reference
_BRACES = re.compile(
    rf"(?<!\{{)(?P<open>\{{++)(?P<body>(?P<number>[0-9]++)(?P<path>{SEGMENTS_WITH_GAPS}))(?P<close>\}}++)"
)
_BRACES_AT_END = re.compile(r"\{++\Z")
_LONGEST_NUMBER: Final = 9
_HELP: Final = "A reference is `{0.path}`, with steps counted from 0; `{{0}}` is the text `{0}`."


def _read(text: str, signatures: form.Signatures | None, limits: Limits) -> Parsed:
    """Read the first `<plan>` block, or a list without the tag; both are reported."""
    if len(text) > limits.text_bytes or len(text.encode("utf-8", "replace")) > limits.text_bytes:
        return _FORM.read(text, signatures, limits)
    parts = _parts(text)
    parsed = _FORM.read(parts.plan, signatures, limits)
    if parsed.plan is None:
        return parsed
    plan = parsed.plan
    if parts.think:
        plan = Plan(plan.steps, plan.output, {_NOTES: parts.think})
    if not parts.noise:
        return Parsed(plan, parsed.diagnostics)
    message = f"The text is not one <plan> block alone: {', '.join(parts.noise)}."
    help_ = "Write one <plan> block, alone."
    noise = Diagnostic("noise", Severity.WARNING, message, help=help_)
    return Parsed(plan, (noise, *parsed.diagnostics))


def _unsaid(plan: Plan, _: form.Signatures | None) -> list[Diagnostic]:
    ids = [step.id for step in plan.steps]
    return form.unsaid(plan, _SAYS, _syntax(ids), ids) + [
        form.cannot(f"Kirha has no {key!r} in the metadata.", f"/metadata/{key}")
        for key in plan.metadata
        if key != _NOTES
    ]


def _write(plan: Plan, _: form.Signatures | None) -> str:
    """Write a reference that is a whole value as an object, which keeps its type."""
    syntax = _syntax([step.id for step in plan.steps])
    notes = plan.metadata.get(_NOTES)
    think = f"<think>\n{notes}\n</think>\n" if isinstance(notes, str) else ""
    steps = _TAG_IN_TEXT.sub(
        r"\\u003c", form.write_list(_dump(step, syntax) for step in plan.steps)
    )
    return f"{think}<plan>\n{steps}</plan>\n"


class _Parts(Struct, frozen=True):
    """A text taken apart.

    `plan` is the text with everything before the plan's list blanked and everything behind it cut
    off, so that places in it are places in the text. `noise` is what is reported.
    """

    plan: str
    think: str
    noise: tuple[str, ...]


def is_plan(document: Json) -> bool:
    """Return whether `document` is a list of objects that name a tool."""
    return form.objects(document, _TOOL)


def load(document: Json, _: form.Signatures | None, limits: Limits) -> Parsed:
    """Return the plan that `document`, the list in the plan block, says. Never raises."""
    report = Report()
    items = read_list(document, "Kirha", limits, report)
    if items is None:
        return Parsed(None, report.diagnostics)
    return Parsed(Plan(all_steps(items, _Steps(report))), report.diagnostics)


class _Steps:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._ids: list[str] = []
        self._syntax = _syntax(self._ids)

    def declare(self, item: Json) -> None:
        self._ids.append(f"s{len(self._ids)}")

    def step(self, item: Json, at: int) -> Step:
        fields = StepFields(item, f"/steps/{at}", self._ids[at], self._report, first_counts=True)
        fields.only(_FIELDS, _OTHER_NAMES)
        return Step(
            fields.step,
            fields.tool(_TOOL),
            fields.args(_ARGS, self._syntax),
            thought=fields.text("thought", "thought"),
        )


def _dump(step: Step, syntax: Syntax) -> Json:
    item: dict[str, Json] = {} if step.thought is None else {"thought": step.thought}
    item["toolName"] = step.tool
    item["arguments"] = {name: syntax.dump(value) for name, value in step.args.items()}
    return item


def _parts(text: str) -> _Parts:
    """Find the think block, and the first plan block outside of it."""
    think = ""
    before: list[str] = []
    start = at = 0
    last_end = max(text.rfind("</think>"), text.rfind("</thinking>"))
    while tag := _TAG.search(text, at):
        at = tag.end()
        if tag["name"] == "plan":
            if not tag["end"]:
                before.append(text[start : tag.start()])
                return _block(text, at, think, "".join(before))
        elif tag["end"]:  # the tag that opened it was cut from the text: all before is thinking
            think = think or text[start : tag.start()].strip()
            before.clear()
            start = at
        elif at <= last_end and (close := _THINK_END.search(text, at)):
            before.append(text[start : tag.start()])
            think = think or text[at : close.start()].strip()
            start = at = close.end()
    return _Parts(_blanked(text[:start]) + text[start:], think, ("no <plan> tag",))


def _block(text: str, start: int, think: str, before: str) -> _Parts:
    noise = {"prose": None} if before.strip() else dict[str, None]()
    end = _PLAN_END.search(text, _json_end(text, start))
    if end is None:
        noise["no </plan> tag"] = None
    elif "<plan>" in text[end.end() :]:
        noise["a second <plan> block"] = None
    elif text[end.end() :].strip():
        noise["prose"] = None
    stop = len(text) if end is None else end.start()
    return _Parts(_blanked(text[:start]) + text[start:stop], think, tuple(noise))


def _json_end(text: str, start: int) -> int:
    """Return where the JSON behind `start` ends, so that a tag inside of it is text."""
    opening = _OPENING.search(text, start)
    if opening is None:
        return start
    depth = 0
    for token in TOKEN.finditer(text, opening.start()):
        if token.lastgroup == "mark":
            depth += (token[0] in "[{") - (token[0] in "]}")
            if depth == 0:
                return token.end()
    return start


def _blanked(text: str) -> str:
    return _ALL_BUT_LINES.sub(" ", text)


def _syntax(ids: Sequence[str]) -> Syntax:
    """Return the syntax of a plan with these steps, in order; `ids` may grow."""
    numbers = {name: at for at, name in enumerate(ids)}
    return Syntax(
        partial(_read_text, ids), partial(_write_value, numbers), partial(_read_object, ids)
    )


def _read_text(ids: Sequence[str], text: str) -> ParsedText:
    if "{" not in text:
        return ParsedText(Literal(text))
    return values.read_parts(text, _BRACES, partial(_resolve, ids))


def _resolve(ids: Sequence[str], found: re.Match[str]) -> values.Resolved:
    opened, closed = len(found["open"]), len(found["close"])
    braces = "{" * (opened // 2)
    if opened % 2 == 0:  # `{{0}}` and `{{0}` are both the text `{0}`
        return (braces + found["body"] + "}" * max(1, closed - 1),)
    number = int(found["number"]) if len(found["number"]) <= _LONGEST_NUMBER else len(ids)
    ref = _ref(ids, number, found["path"], "{" + found["body"] + "}")
    return ref if isinstance(ref, TextProblem) else (braces, ref, "}" * (closed - 1))


def _ref(ids: Sequence[str], at: int, path: str, written: str) -> Ref | TextProblem:
    if not 0 <= at < len(ids):
        what = f"There is no step for {shown(written)} to refer to."
        there = f"The steps are 0 to {len(ids) - 1}. {_HELP}"
        return TextProblem("unknown-step", what, there)
    try:
        return Ref(ids[at], read_path(path))
    except PathSyntaxError as error:
        what = f"The reference {shown(written)} cannot be read: {error}."
        return TextProblem("reference-syntax", what, _HELP)


_REFERENCE: Final = frozenset({"fromStep", "outputKey"})
_KEY_PATH = re.compile(SEGMENTS_WITH_GAPS)


def _read_object(ids: Sequence[str], item: Mapping[str, Json]) -> ParsedText | None:
    if not item.keys() >= _REFERENCE:
        return None
    number, key = item["fromStep"], item["outputKey"]
    is_number = isinstance(number, int) and not isinstance(number, bool)
    is_digits = isinstance(number, str) and re.fullmatch("[0-9]{1,9}", number) is not None
    dotted = key if isinstance(key, str) else "?"
    dotted = without_gaps(dotted if dotted[:1] in ("", ".", "[") else f".{dotted}")
    is_path = isinstance(key, str) and _KEY_PATH.fullmatch(dotted) is not None
    kept = Literal(dict(item))
    if len(item) > len(_REFERENCE) or not (is_number or is_digits) or not is_path:
        what = f"{shown(json.dumps(dict(item), ensure_ascii=False))} is not a reference."
        help_ = f"One has the number 'fromStep' and the path 'outputKey', no more. {_HELP}"
        return ParsedText(kept, (TextProblem("reference-syntax", what, help_),))
    ref = _ref(ids, int(cast("int | str", number)), dotted, json.dumps({"fromStep": number}))
    return ParsedText(kept, (ref,)) if isinstance(ref, TextProblem) else ParsedText(ref)


def _write_value(numbers: Mapping[str, int], value: Written) -> Json:
    match value:
        case Literal(str(text)):
            return _escaped(text)
        case Literal():
            raise TypeError("only text is written as text")
        case Ref(step, path):
            return {"fromStep": numbers[step], "outputKey": write_bare(path)}
        case Template(parts):
            return "".join(_part(numbers, parts, at) for at in range(len(parts)))


def _part(numbers: Mapping[str, int], parts: Sequence[str | Ref], at: int) -> str:
    part = parts[at]
    if isinstance(part, Ref):
        path = write_bare(part.path)
        return f"{{{numbers[part.step]}{'.' if path else ''}{path}}}"
    text = _escaped(part)
    return text if at + 1 == len(parts) else _BRACES_AT_END.sub(lambda found: found[0] * 2, text)


def _escaped(text: str) -> str:
    def escape(found: re.Match[str]) -> str:
        return found["open"] * 2 + found["body"] + found["close"] + "}"

    return _BRACES.sub(escape, text) if "{" in text else text


def _refusal(ref: Ref) -> str | None:
    return "has no '[*]'" if EVERY in ref.path else None


_FORM: Final = form.Form(is_plan, load, _PLACES)
_SAYS: Final = form.Says("Kirha", frozenset({"thought", "metadata"}), _refusal)

DIALECT: Final = form.FunctionDialect(
    name="kirha",
    json=False,
    read=_read,
    find=lambda text, pointer, key: _FORM.find(_parts(text).plan, pointer, key),
    unsaid=_unsaid,
    write=_write,
    looks_like=lambda text: "<plan>" in text or has_key(text, "toolName"),
    steps=lambda _, limits: JsonSteps(None, _Steps, limits),
)
"""Says tools, arguments, thoughts, and the notes of the plan; no order but by references."""
