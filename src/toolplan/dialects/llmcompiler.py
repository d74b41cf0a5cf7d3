"""The dialect of LLMCompiler: numbered calls, as Python writes them.

    Thought: The area comes first.
    1. search(query="Sahara area")
    2. math(problem="33 % of it", context=["$1"])
    3. join()<END_OF_PLAN>

Steps are read as `s0`, `s1`, … by position, and their numbers are used by references only. A
reference is `$1`, `${1}` or `${1.path}`; the whole of a text, or bare outside of quotes, it keeps
the value's type. `$$1` is the text `$1`; so is, with a warning, a `$1` inside of other
text where there is no step 1: it may be a price. In braces, bare or alone it is an error.
A thought belongs to the step behind it. `join` is not a step, and its arguments mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from toolplan.dialects import _call_lines, _literals
from toolplan.dialects.characters import syntax
from toolplan.dialects.form import FunctionDialect, Signatures, cannot
from toolplan.plan.canonical import Notation, ReferenceSyntaxError, Syntax
from toolplan.plan.diagnostics import CannotExpress
from toolplan.plan.model import Plan, Step, Value
from toolplan.plan.path import Path, parse_segments, print_path
from toolplan.plan.text.loose import Refused, Span

CLOSER: Final = "join"
"""The call that ends a plan. It is not a step."""

_NAME = re.compile(r"[^\W\d]\w*+")
_RECOGNISED = re.compile(r"^\d+\.\s*\w[\w.-]*\(", re.MULTILINE)


def _arguments(reading: _call_lines.Reading, span: Span, tool: str, at: int) -> dict[str, Value]:
    """Return the arguments that stand at `span`, as far as they can be read."""
    reader, refused = reading.arguments(reading.text, span, at, reading.names(tool) or ())
    values = reading.values(reader, at)
    if refused is not None:
        help_ = "Text stands in quotes; nothing but values is read."
        place = (str(refused), f"/steps/{at}/args", f"s{at}", help_, refused.code)
        reading.report.add(syntax(reading.text, refused.at, *place))
    if reader.nameless:
        names = "write the names of the arguments: `tool(name=value)`."
        reading.report_nameless(tool, at, names)
    return values


def _inside(text: str, call: _call_lines.Call, rest: Sequence[str]) -> Span | None:
    """Return the place in `call` of the value at `rest`, a pointer inside of the step."""
    match rest:
        case ["id"]:
            return Span(call.start, call.start + len(str(call.number)))
        case ["args", *way] if call.args is not None and way:
            ways = [tuple(way[:end]) for end in range(len(way), 0, -1)]
            reader = _literals.CallReader(text, call.args, _MARKS.bare_end, wanted=ways)
            with suppress(Refused, RecursionError):
                reader.read_arguments(())
            return next((reader.spots[each].span for each in ways if each in reader.spots), None)
        case _:
            return None


def _write(plan: Plan, _: Signatures | None) -> str:
    """Write a step a line, every argument with its name.

    Raises:
        CannotExpress: a value is nested too deep.
    """
    try:
        lines = _call_lines.write(plan, _LINES, _call)
    except RecursionError:
        deep = cannot("A value is nested too deep.", "")
        raise CannotExpress("llmcompiler cannot say this plan", [deep]) from None
    return f"{lines}{len(plan.steps) + 1}. {CLOSER}()<END_OF_PLAN>\n"


def _call(number: int, step: Step, notation: Notation) -> str:
    args = ", ".join(_argument(name, value, notation) for name, value in step.args.items())
    return f"{number}. {step.tool}({args})"


def _argument(name: str, value: Value, notation: Notation) -> str:
    written = _literals.print_literal(Syntax(notation.parse, notation.print).dump(value))
    if _NAME.fullmatch(name):
        return f"{name}={written}"
    return f"**{{{_literals.print_quoted(name)}: {written}}}"


def _read_mention(text: str, at: int) -> _literals.Mention | None:
    if digits := _literals.NUMBER.match(text, at):
        number = _literals.number_of(digits[0])
        return None if number is None else _literals.Mention(number, (), digits.end(), False)
    digits = _literals.NUMBER.match(text, at + 1)
    number = None if digits is None else _literals.number_of(digits[0])
    if digits is None or number is None:
        raise ReferenceSyntaxError("the number of a step was expected", at + 1)
    path, end = parse_segments(text, digits.end())
    if not text.startswith("}", end):
        raise ReferenceSyntaxError("'}' is missing", end)
    return _literals.Mention(number, path, end + 1, True)


def _write_mention(number: int, path: Path, behind: str) -> str:
    if path:
        return f"${{{number}{print_path(path)}}}"
    return f"${{{number}}}" if _literals.NUMBER.match(behind) else f"${number}"


_MARKS: Final = _literals.Marks(
    mark="$",
    opening=re.compile(r"(?<!\$)\$++(?=[0-9]|\{ ?[0-9])"),
    closing=re.compile(r"(?<!\$)\$++(?=[0-9]|\{ ?[0-9]|\Z)"),
    read=_read_mention,
    write=_write_mention,
    help="A reference is `$1`, or `${1.path}`; `$$1` is the text `$1`.",
    bare=re.compile(r"\$(?=[0-9]|\{ ?[0-9])"),
)


_TOOL_NAME: Final = _call_lines.TOOL_NAME.pattern
_LINES: Final = _call_lines.Syntax(
    title="LLMCompiler",
    line=re.compile(
        r"^[ \t]*+(?:"
        r"(?P<think><think(?:ing)?>)"
        r"|(?P<fence>(?:```|~~~)[^\n]*+)"
        r"|(?P<thought>Thought:)"
        r"|(?P<call>(?P<start>(?P<number>[0-9]{1,9}+))[.)][ \t]*+"
        rf"(?P<tool>{_TOOL_NAME})\()"
        r"|(?P<stray>(?P<digits>[0-9]{1,9}+)(?:[.)][^\n]*+)?+$)"
        r"|(?P<begun>T(?:h(?:o(?:u(?:g(?:ht?+)?+)?+)?+)?+)?+\s*+\Z))"
        r"|(?P<orphan></think(?:ing)?>)|(?P<end><END_OF_PLAN>)",
        re.MULTILINE,
    ),
    call_line=re.compile(rf"^[ \t]*+[0-9]{{1,9}}+[.)][ \t]*+{_TOOL_NAME}\(", re.MULTILINE),
    call_end=_literals.call_end,
    behind=re.compile(r"[ \t\r]*+(?:\#[^\n]*+)?+(?=\n|\Z|<END_OF_PLAN>)"),
    closer=CLOSER,
    form="1. tool(name=value)",
    thought="Thought:",
    sample=f"1. tool()\n2. {CLOSER}()",
    marks=_MARKS,
    arguments=_arguments,
)


DIALECT: Final = FunctionDialect(
    name="llmcompiler",
    json=False,
    read=partial(_call_lines.read, _LINES),
    find=lambda text, pointer, _: _call_lines.find(_LINES, text, pointer, _inside),
    unsaid=lambda plan, _: [*_call_lines.unsaid(plan, _LINES)],
    write=_write,
    looks_like=lambda text: _RECOGNISED.search(text) is not None,
    is_lenient=True,
)
"""Says tools, arguments with references, and thoughts; no more."""
