"""The dialect of ReWOO: evidence that is numbered, each from one tool and one text.

    Plan: Look the area up.
    #E1 = Wikipedia[Colorado orogeny]
    Plan: Ask for what the page says.
    #E2 = LLM[What is the elevation range? Given context: #E1]

Steps are read as `s0`, `s1`, … by position, and their numbers are used by references only. The text
in brackets is the tool's first argument, by its signature; empty brackets give no argument. An
object with the name of an argument among its keys, `search[{"query": "#E1", "limit": 3}]`, is the
arguments themselves, and so is `search[query="#E1", limit=3]`.
Brackets inside of the text pair. `#E1` is a reference, and alone in the brackets it keeps the
value's type; `##E1` is the text `#E1`. A line `Plan:` is the thought of the step behind it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import partial
from typing import Final

from toolplan.dialects import _call_lines, _literals
from toolplan.dialects.form import FunctionDialect, Signatures, cannot
from toolplan.plan.canonical import Notation, ParsedText, shown
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import (
    Array,
    Literal,
    Object,
    Plan,
    Ref,
    Signature,
    Step,
    Template,
    Value,
    escape_pointer,
    join_pointer,
    refs,
)
from toolplan.plan.path import Path
from toolplan.plan.text.loose import Span

_BRACKET = re.compile(r"[\[\]]")

_OBJECT: Final = re.compile(r"\s*+\{\s*+([\"'])(?P<key>[^\"'\\]{1,200})\1\s*+:")
_NAMED: Final = re.compile(r"\s*+(?P<key>[A-Za-z_]\w{0,199}+)\s*+=(?!=)")
_UNSAID: Final = (
    "ReWOO has no argument but a text or a whole output, in which brackets pair, no line looks like"
    " one of the plan, and the text of an object, or one that begins like `name=`, is arguments."
)

_RECOGNISED = re.compile(r"^#E\d+\s*=", re.MULTILINE)


def _arguments(reading: _call_lines.Reading, span: Span, tool: str, at: int) -> dict[str, Value]:
    """Return the arguments that the text at `span` is: an object of them, or the first one."""
    said = reading.text[span.start : span.end]
    if not said:
        return {}
    names = reading.names(tool)
    args = None if names is None else _object(reading, said, names, at)
    if args is not None:
        return args
    found = reading.notation.parse(said)
    place = join_pointer(("steps", at, "args", *(names or ())[:1]))
    for problem in found.problems:
        reading.report.add(problem.at(place, f"s{at}"))
    if names:
        return {names[0]: found.value}
    reading.report_nameless(tool, at, "leave the brackets empty.")
    return {}


def _object(
    reading: _call_lines.Reading, said: str, names: Sequence[str], at: int
) -> dict[str, Value] | None:
    """Return the arguments that `said` is; None where it is a text."""
    begun, written = _OBJECT.match(said), f"**{said}"
    if begun is None:
        begun, written = _NAMED.match(said), said
        if begun is None or begun["key"] not in names:
            return None
    reader, refused = reading.arguments(written, Span(0, len(written)), at)
    if set(names).isdisjoint((begun["key"], *reader.named)):
        return None
    values = reading.values(reader, at)
    if refused is not None:
        code = refused.code if refused.code != "syntax" else "field-type"
        what = f"The arguments cannot be read: {refused}."
        help_ = "Text stands in quotes; nothing but values is read."
        reading.report.error(code, what, f"/steps/{at}/args", f"s{at}", help_)
    return values


def _unsaid(plan: Plan, _: Signatures | None) -> list[Diagnostic]:
    """Return also one diagnostic for each argument that no call of one text can hold."""
    found = [*_call_lines.unsaid(plan, _LINES)]
    ids = _call_lines.numbered(plan)
    notation = _MARKS.notation(ids)
    first: dict[str, str] = {}
    for at, step in enumerate(plan.steps):
        pointer = f"/steps/{at}/args"
        if len(step.args) > 1:
            what = f"ReWOO has one argument a step; this one has {len(step.args)}."
            found.append(cannot(what, pointer, step.id))
            continue
        for name, value in step.args.items():
            place = f"{pointer}/{escape_pointer(name)}"
            if first.setdefault(step.tool, name) != name:
                what = f"In ReWOO {shown(step.tool)} has one argument, called the same each time."
                found.append(cannot(what, place, step.id))
            if not name or not _is_sayable(value, notation, ids.values()):
                found.append(cannot(_UNSAID, place, step.id))
    return found


def _is_sayable(value: Value, notation: Notation, known: Collection[str]) -> bool:
    """Return whether `value` reads back as it is written."""
    if any(ref.step not in known for ref in refs(value)):
        return True  # which is reported already
    said = _input(value, notation)
    if not said or _OBJECT.match(said) or _NAMED.match(said):
        return False
    before = "#E1 = tool["
    calls = _call_lines.Outline(f"{before}{said}]\n", _LINES).calls
    wanted = Span(len(before), len(before) + len(said))
    is_input = [call.args for call in calls] == [wanted] and calls[0].fault is None
    return is_input and notation.parse(said) == ParsedText(value)


def _call(number: int, step: Step, notation: Notation) -> str:
    said = "".join(_input(value, notation) for value in step.args.values())
    return f"#E{number} = {step.tool}[{said}]"


def _input(value: Value, notation: Notation) -> str:
    """Return the text of `value`, empty where it is none."""
    match value:
        case Literal(str()) | Ref() | Template():
            return notation.print(value)
        case Literal() | Array() | Object():
            return ""


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


def _read_mention(text: str, at: int) -> _literals.Mention | None:
    digits = _literals.NUMBER.match(text, at + 1)  # behind the `E`
    number = None if digits is None else _literals.number_of(digits[0])
    if digits is None or number is None:
        return None
    return _literals.Mention(number, (), digits.end(), True)


def _write_mention(number: int, path: Path, behind: str) -> str:
    return f"#E{number}"


_MARKS: Final = _literals.Marks(
    mark="#",
    opening=re.compile(r"(?<!\#)\#++(?=E[0-9])"),
    closing=re.compile(r"(?<!\#)\#++(?=E[0-9]|\Z)"),
    read=_read_mention,
    write=_write_mention,
    help="A reference is `#E1`; `##E1` is the text `#E1`.",
)
_CALL: Final = rf"\#E[0-9]{{1,9}}+[ \t]*+=[ \t]*+{_call_lines.TOOL_NAME.pattern}\["
_LINES: Final = _call_lines.Syntax(
    title="ReWOO",
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
    thought="Plan:",
    sample="#E1 = tool[]\n",
    marks=_MARKS,
    arguments=_arguments,
)

DIALECT: Final = FunctionDialect(
    name="rewoo",
    json=False,
    read=partial(_call_lines.read, _LINES),
    find=lambda text, pointer, _: _call_lines.find(_LINES, text, pointer),
    unsaid=_unsaid,
    write=lambda plan, _: _call_lines.write(plan, _LINES, _call),
    expected_signatures=_one_argument,
    looks_like=lambda text: _RECOGNISED.search(text) is not None,
    is_lenient=True,
)
"""Says calls of one text each, with whole outputs as references, and thoughts; no more.

The name of the argument is not written: it reads back as the tool's first one.
"""
