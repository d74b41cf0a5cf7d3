"""The dialect of ReWOO: evidence that is numbered, each from one tool and one text.

    Plan: Look the area up.
    #E1 = Wikipedia[Colorado orogeny]
    Plan: Ask for what the page says.
    #E2 = LLM[What is the elevation range? Given context: #E1]

Steps are read as `s0`, `s1`, … by position, and their numbers are used by references only. The text
in brackets is the tool's first argument, by its signature; empty brackets give no argument. An
object with the name of an argument among its keys, `search[{"query": "#E1", "limit": 3}]`, is the
arguments themselves.
Brackets inside of the text pair. `#E1` is a reference, and alone in the brackets it keeps the
value's type; `##E1` is the text `#E1`. A line `Plan:` is the thought of the step behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolplan.diagnostics import Diagnostic
from toolplan.dialects import _call_lines, _literals, _numbered
from toolplan.dialects.characters import checked
from toolplan.dialects.form import NO_LIMITS, FunctionDialect, Signatures, cannot
from toolplan.path import Path
from toolplan.plan import (
    Array,
    Limits,
    Literal,
    Object,
    Plan,
    Ref,
    Signature,
    Step,
    Template,
    Value,
    escape_pointer,
    refs,
)
from toolplan.plan_json import DEEPEST, Parsed, Report, shown
from toolplan.source import Span

_BRACKET = re.compile(r"[\[\]]")

_OBJECT: Final = re.compile(r"\s*+\{\s*+([\"'])(?P<key>[^\"'\\]{1,200})\1\s*+:")
_VALUES: Final = "Text stands in quotes; nothing but values is read."
_AROUND_VALUES: Final = 4  # the plan, its steps, a step and its arguments

_CALL_START = re.compile(r"^#E\d+\s*=", re.MULTILINE)


def _read(text: str, signatures: Signatures | None, limits: Limits) -> Parsed:
    """Read the argument under the name that `signatures` give it; report it without those."""
    report = Report()
    clean = checked(text, limits, report)
    lines = None if clean is None else _call_lines.read_outline(clean, _LINES, limits, report)
    if clean is None or lines is None:
        return Parsed(None, report.diagnostics)
    numbered = _call_lines.steps_of(lines, report)
    steps: list[Step] = []
    noise = dict.fromkeys(lines.noise)
    for at, call in enumerate(lines.calls):
        _call_lines.report_call(clean, call, at, report)
        tool = clean[call.tool.start : call.tool.end]
        said = "" if call.args is None else clean[call.args.start : call.args.end]
        signature = None if signatures is None else signatures.get(tool)
        args = _object(said, at, numbered, signature, report, limits, noise)
        if args is None:
            args = _arguments(said, tool, at, numbered, signatures, report)
        steps.append(Step(f"s{at}", tool, args, thought=call.thought))
    _call_lines.report_noise(noise, report)
    return Parsed(Plan(tuple(steps)), report.diagnostics)


def _find(text: str, pointer: str, key: bool) -> Span | None:
    clean = checked(text, NO_LIMITS, Report())
    return None if clean is None else _call_lines.find_call(clean, _LINES, pointer, _place)


def _object(
    said: str,
    at: int,
    steps: _numbered.Steps,
    signature: Signature | None,
    report: Report,
    limits: Limits,
    noise: dict[str, None],
) -> dict[str, Value] | None:
    """Return the arguments that `said` is; None where it is a text, as for an unknown tool."""
    begun = _OBJECT.match(said)
    if signature is None or begun is None:
        return None
    name, pointer = f"s{at}", f"/steps/{at}/args"
    own = Report()

    reader = _literals.ArgumentReader(
        text=f"**{said}",
        at=0,
        end=len(said) + 2,
        report=own,
        step=name,
        way=["steps", at, "args"],
        most=max(min(limits.depth, DEEPEST) - _AROUND_VALUES, 0),
        marks=_MARKS,
        steps=steps,
        noise=noise,
    )
    found: list[_literals.Argument] = []
    error = None
    try:
        reader.arguments(found, ())
    except _literals.LiteralError as failed:
        error = failed
    names = [each.name for each in found if each.name is not None]
    if set(signature.inputs).isdisjoint((begun["key"], *names)):
        return None
    if error is not None:
        code = error.code if error.code != "syntax" else "field-type"
        own.error(code, f"The arguments cannot be read: {error}.", pointer, name, _VALUES)
    for each in sorted({each for each in names if names.count(each) > 1}):
        twice = f"The argument {shown(each)} is given twice."
        own.error("duplicate-key", twice, pointer, name, "Keep one of the two.")
    for each in own.diagnostics:
        report.add(each)
    return {each.name: each.value for each in found if each.name is not None}


def _arguments(
    said: str,
    tool: str,
    at: int,
    steps: _numbered.Steps,
    signatures: Signatures | None,
    report: Report,
) -> dict[str, Value]:
    """Return the argument that `said`, the text in the brackets of step `at`, is."""
    if not said:
        return {}
    name, pointer = f"s{at}", f"/steps/{at}/args"
    signature = None if signatures is None else signatures.get(tool)
    first = "" if signature is None or not signature.inputs else signature.inputs[0]
    marked = _numbered.parse_text(said, _MARKS, steps)
    place = f"{pointer}/{escape_pointer(first)}" if first else pointer
    for each in marked.problems:
        report.add(_numbered.found_in(each, name, place))
    if first:
        return {first: marked.value}
    if signature is not None:
        none = f"{shown(tool)} takes no argument; one is given."
        report.error("unknown-argument", none, pointer, name, "Leave the brackets empty.")
        return {}
    why = "the tools are not given" if signatures is None else "no such tool is known"
    nameless = f"The argument of {shown(tool)} has no name in the text, and {why}."
    report.error("needs-tools", nameless, pointer, name, "Give the tools.")
    return {}


def _place(call: _call_lines.Call, rest: list[str]) -> Span:
    match rest:
        case ["tool"]:
            return call.tool
        case ["args", *_] if call.args is not None:
            return call.args
        case _:
            return Span(call.start, call.end)


def _unsaid(plan: Plan, _: Signatures | None) -> list[Diagnostic]:
    """Return also one diagnostic for each thing that no call of one text can hold."""
    found = [
        *_numbered.unsaid(plan, "ReWOO"),
        *_call_lines.unsaid_lines(plan, "ReWOO", _is_thought),
    ]
    first: dict[str, str] = {}
    for at, step in enumerate(plan.steps):
        pointer = f"/steps/{at}"
        if len(step.args) > 1:
            what = f"ReWOO has one argument a step; this one has {len(step.args)}."
            found.append(cannot(what, f"{pointer}/args", step.id))
            continue
        for name, value in step.args.items():
            place = f"{pointer}/args/{escape_pointer(name)}"
            if first.setdefault(step.tool, name) != name:
                what = f"In ReWOO {shown(step.tool)} has one argument, called the same each time."
                found.append(cannot(what, place, step.id))
            found += [cannot(what, place, step.id) for what in _unsaid_value(name, value)]
    return found


def _unsaid_value(name: str, value: Value) -> list[str]:
    """Return a sentence for each thing in `value` that the text in the brackets cannot hold."""
    if not name:
        return ["ReWOO has no argument without a name."]
    match value:
        case Literal(str(text)) if text:
            texts = [text]
        case Literal("") | Literal() | Array() | Object():
            return ["ReWOO has no argument but text that is not empty."]
        case Ref():
            texts = []
        case Template(parts):
            texts = [part for part in parts if isinstance(part, str)]
    said_of: list[str] = []
    if not isinstance(value, Ref) and _OBJECT.match(_beginning(value)):
        said_of.append("In ReWOO the text of an object is arguments.")
    if any(ref.path for ref in refs(value)):
        said_of.append("A reference of ReWOO is to all that a step gives, and has no path.")
    if isinstance(value, Template) and _has_digit_behind(value):
        said_of.append("In ReWOO no digit can stand right behind a reference.")
    if not _is_input("".join(texts)):
        said_of.append("In ReWOO brackets pair, and no line of a text looks like one of the plan.")
    return said_of


def _beginning(value: Value) -> str:
    match value:
        case Literal(str(text)) | Template((str(text), *_)):
            return text
        case _:
            return ""


def _has_digit_behind(value: Template) -> bool:
    pairs = zip(value.parts, value.parts[1:], strict=False)
    return any(
        isinstance(a, Ref) and isinstance(b, str) and _numbered.NUMBER.match(b) for a, b in pairs
    )


def _is_thought(thought: str) -> bool:
    lines = _call_lines.outline(f"Plan: {thought}\n#E1 = tool[]\n", _LINES)
    return [call.thought for call in lines.calls] == [thought] and not lines.noise


def _is_input(text: str) -> bool:
    before = "#E1 = tool["
    lines = _call_lines.outline(f"{before}{text}]\n", _LINES)
    wanted = Span(len(before), len(before) + len(text))
    return [call.args for call in lines.calls] == [wanted] and lines.calls[0].fault is None


def _write(plan: Plan, _: Signatures | None) -> str:
    numbers = {step.id: at for at, step in enumerate(plan.steps, start=1)}
    lines: list[str] = []
    for step in plan.steps:
        if step.thought is not None:
            lines.append(f"Plan: {step.thought}")
        said = "".join(_input(value, numbers) for value in step.args.values())
        lines.append(f"#E{numbers[step.id]} = {step.tool}[{said}]")
    return "\n".join(lines) + "\n"


def _input(value: Value, numbers: Mapping[str, int]) -> str:
    match value:
        case Literal() | Ref() | Template():
            return _numbered.print_text(value, _MARKS, numbers)
        case Array() | Object():
            raise TypeError("only text is written in brackets")


def _one_argument(plan: Plan, _: Signatures | None) -> Signatures:
    """Return signatures by which `plan`, as it is written, reads back as it was."""
    named = {step.tool: Signature((), ()) for step in plan.steps}
    for step in plan.steps:
        if step.args:
            named[step.tool] = Signature(tuple(step.args), ())
    return named


def _closing_bracket(text: str, start: int, end: int) -> int | None:
    depth = 1
    for bracket in _BRACKET.finditer(text, start, end):
        depth += 1 if bracket[0] == "[" else -1
        if depth == 0:
            return bracket.start()
    return None


def _read_mention(text: str, at: int) -> _numbered.Mention | None:
    digits = _numbered.NUMBER.match(text, at + 1)  # behind the `E`
    number = None if digits is None else _numbered.number_of(digits[0])
    if digits is None or number is None:
        return None
    return _numbered.Mention(number, (), digits.end(), True)


def _write_mention(number: int, path: Path, behind: str) -> str:
    return f"#E{number}"


_MARKS: Final = _numbered.Marks(
    mark="#",
    opening=re.compile(r"(?<!\#)\#++(?=E[0-9])"),
    closing=re.compile(r"(?<!\#)\#++(?=E[0-9]|\Z)"),
    read=_read_mention,
    write=_write_mention,
    help="A reference is `#E1`; `##E1` is the text `#E1`.",
)
_CALL: Final = rf"\#E[0-9]{{1,9}}+[ \t]*+=[ \t]*+{_call_lines.TOOL_NAME.pattern}\["
_LINES: Final = _call_lines.Syntax(
    line=re.compile(
        r"^[ \t]*+(?:"
        r"(?P<think><think(?:ing)?>)"
        r"|(?P<fence>(?:```|~~~)[^\n]*+)"
        r"|(?P<thought>Plan:)"
        r"|(?P<begun>(?:P(?:l(?:an?+)?+)?+|\#E?+)\s*+\Z)"
        rf"|(?!{_CALL})(?P<stray>\#E(?P<digits>[0-9]{{1,9}}+)[^\n]*+))"
        r"|(?:^|(?<=[ \t]))(?P<call>(?P<start>\#)E(?P<number>[0-9]{1,9}+)[ \t]*+=[ \t]*+"
        rf"(?P<tool>{_call_lines.TOOL_NAME.pattern})\[)"
        r"|(?P<orphan></think(?:ing)?>)",
        re.MULTILINE,
    ),
    call_line=re.compile(r"^[ \t]*+(?:Plan:|\#E[0-9]++[ \t]*+=)", re.MULTILINE),
    call_end=_closing_bracket,
    behind=re.compile(r"[ \t\r]*+(?=\n|\Z)"),
    closer=None,
    form="#E1 = Tool[text]",
)

DIALECT: Final = FunctionDialect(
    name="rewoo",
    json=False,
    read=_read,
    find=_find,
    unsaid=_unsaid,
    write=_write,
    expected_signatures=_one_argument,
    looks_like=lambda text: _CALL_START.search(text) is not None,
    is_lenient=True,
)
"""Says calls of one text each, with whole outputs as references, and thoughts; no more.

The name of the argument is not written: what is read back is the tool's first one.
"""
