"""The dialect of LLMCompiler: numbered calls, as Python writes them.

    Thought: The area comes first.
    1. search(query="Sahara area")
    2. math(problem="33 % of it", context=["$1"])
    3. join()<END_OF_PLAN>

Steps are read as `s0`, `s1`, … by position, and their numbers are used by references only. A
reference is `$1`, `${1}` or `${1.path}`; the whole of a text, or bare outside of quotes, it keeps
the value's type. `$$1` is the text `$1`; so is, with a warning, a `$1` inside of other
text where there is no step 1: it may be a price. In braces, bare or alone it is an error.
A thought belongs to the step behind it. `join` is not a step, and what it is given means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from toolplan.diagnostics import CannotExpress, Diagnostic
from toolplan.dialects import _call_lines, _literals, _numbered
from toolplan.dialects.characters import checked, syntax
from toolplan.dialects.form import NO_LIMITS, FunctionDialect, Signatures, cannot
from toolplan.path import Json, Path, parse_segments, print_path
from toolplan.plan import (
    Array,
    Limits,
    Literal,
    Object,
    Plan,
    Ref,
    Step,
    Template,
    Value,
    escape_pointer,
)
from toolplan.plan_json import DEEPEST, Parsed, ReferenceSyntaxError, Report, shown
from toolplan.source import Span

_AROUND_VALUES: Final = 4
"""Lists and objects of the canonical form around the value of an argument."""

CLOSER: Final = "join"
"""The call that ends a plan. It is not a step."""

_TOOL_NAME: Final = _call_lines.TOOL_NAME.pattern
_LINES: Final = _call_lines.Syntax(
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
)
_NAME = re.compile(r"[^\W\d]\w*+")
_NO_STEPS: Final = _numbered.Steps({})

_CALL = re.compile(r"^\d+\.\s*\w[\w.-]*\(", re.MULTILINE)


def _read(text: str, signatures: Signatures | None, limits: Limits) -> Parsed:
    """Read arguments by position under the names that `signatures` give them."""
    report = Report()
    clean = checked(text, limits, report)
    lines = None if clean is None else _call_lines.read_outline(clean, _LINES, limits, report)
    if clean is None or lines is None:
        return Parsed(None, report.diagnostics)
    steps = _call_lines.steps_of(lines, report)
    noise = dict.fromkeys(lines.noise)
    depth = min(limits.depth, DEEPEST) - _AROUND_VALUES
    reading = _Reading(clean, report, steps, signatures, depth, noise)
    try:
        plan = Plan(tuple(reading.step(call, at) for at, call in enumerate(lines.calls)))
    except RecursionError:
        plan = None
        report.error("too-deep", f"Lists and objects are nested deeper than {limits.depth}.")
    _call_lines.report_noise(noise, report)
    return Parsed(plan, report.diagnostics)


def _find(text: str, pointer: str, key: bool) -> Span | None:
    """Find an argument by position by the brackets that it stands in."""
    clean = checked(text, NO_LIMITS, Report())
    return (
        None
        if clean is None
        else _call_lines.find_call(clean, _LINES, pointer, partial(_place, clean))
    )


class _Reading(Struct, frozen=True):
    """A text, and all that reading its calls needs to know."""

    text: str
    report: Report
    steps: _numbered.Steps
    signatures: Signatures | None
    depth: int
    noise: dict[str, None]

    def step(self, call: _call_lines.Call, at: int) -> Step:
        """Return the step that `call`, the one at position `at`, says."""
        name, pointer = f"s{at}", f"/steps/{at}"
        tool = self.text[call.tool.start : call.tool.end]
        _call_lines.report_call(self.text, call, at, self.report)
        if call.args is None:
            return Step(name, tool, thought=call.thought)
        arguments = self.arguments(call.args, tool, name, at)
        return Step(name, tool, self._named(arguments, tool, pointer, name), thought=call.thought)

    def arguments(
        self, span: Span, tool: str, step: str, at: int, search: _literals.Search | None = None
    ) -> list[_literals.Argument]:
        """Return the arguments that stand at `span`, as far as they can be read."""
        signature = None if self.signatures is None else self.signatures.get(tool)
        arguments: list[_literals.Argument] = []
        reader = _literals.ArgumentReader(
            text=self.text,
            at=span.start,
            end=span.end,
            report=self.report,
            step=step,
            way=["steps", at, "args"],
            most=self.depth,
            marks=_MARKS,
            steps=self.steps,
            noise=self.noise,
            search=search,
        )
        try:
            reader.arguments(arguments, () if signature is None else signature.inputs)
        except _literals.LiteralError as error:
            pointer = f"/steps/{at}/args"
            if error.code in ("syntax", "ellipsis"):
                help_ = "Text stands in quotes; nothing but values is read."
                place = (self.text, error.offset, str(error), pointer, step, help_)
                self.report.add(syntax(*place, error.code))
            else:
                self.report.error(error.code, f"{error}.", pointer, step)
        return arguments

    def _named(
        self, arguments: list[_literals.Argument], tool: str, pointer: str, step: str
    ) -> dict[str, Value]:
        named: dict[str, Value] = {}
        nameless = 0
        for name, value in arguments:
            if name is None:
                nameless += 1
            elif name not in named:
                named[name] = value
            elif not self.report.is_full():
                twice = f"The argument {shown(name)} is given twice."
                place = f"{pointer}/args/{escape_pointer(name)}"
                self.report.error("duplicate-key", twice, place, step, "Keep one of the two.")
        if nameless:
            self._report_nameless(nameless, tool, pointer, step)
        return named

    def _report_nameless(self, count: int, tool: str, pointer: str, step: str) -> None:
        signature = None if self.signatures is None else self.signatures.get(tool)
        if signature is not None:
            self.report.error(
                "unknown-argument",
                f"{shown(tool)} takes {len(signature.inputs)} argument(s); {count} more are given.",
                f"{pointer}/args",
                step,
                "Write the names of the arguments: `tool(name=value)`.",
            )
            return
        why = "the tools are not given" if self.signatures is None else "no such tool is known"
        self.report.error(
            "needs-tools",
            f"Arguments of {shown(tool)} are given by position, and {why}.",
            f"{pointer}/args",
            step,
            "Give the tools, or write the names of the arguments: `tool(name=value)`.",
        )


def _place(text: str, call: _call_lines.Call, rest: list[str]) -> Span:
    """Return the place in `call` of what `rest`, a pointer inside of the step, names."""
    whole = Span(call.start, call.end)
    match rest:
        case ["id"]:
            return Span(call.start, call.start + len(str(call.number)))
        case ["tool"]:
            return call.tool
        case ["args", *way] if call.args is not None and way:
            search = _literals.Search(["steps", 0, "args", *_labels(way)])
            reading = _Reading(text, Report(), _NO_STEPS, None, DEEPEST - _AROUND_VALUES, {})
            reading.arguments(call.args, "", "", 0, search)
            return search.found or call.args
        case ["args"] if call.args is not None:
            return call.args
        case _:
            return whole


def _labels(way: list[str]) -> list[str | int]:
    # the name of an argument is never an index; deeper down a list may be meant
    return [way[0], *(int(each) if each.isdigit() else each for each in way[1:])]


def _unsaid(plan: Plan, _: Signatures | None) -> list[Diagnostic]:
    """Return also one diagnostic for each name and each thought that no line can hold."""
    found = [
        *_numbered.unsaid(plan, "LLMCompiler"),
        *_call_lines.unsaid_lines(plan, "LLMCompiler", _is_thought),
    ]
    for at, step in enumerate(plan.steps):
        if step.tool == CLOSER:
            what = f"In LLMCompiler {CLOSER!r} ends the plan, and is not a tool."
            found.append(cannot(what, f"/steps/{at}/tool", step.id))
    return found


def _is_thought(thought: str) -> bool:
    lines = _call_lines.outline(f"Thought: {thought}\n1. tool()\n2. {CLOSER}()", _LINES)
    return [call.thought for call in lines.calls] == [thought] and not lines.noise


def _write(plan: Plan, _: Signatures | None) -> str:
    """Write a step a line, every argument with its name.

    Raises:
        CannotExpress: a value is nested too deep.
    """
    try:
        return _written(plan)
    except RecursionError:
        deep = cannot("A value is nested too deep.", "")
        raise CannotExpress("llmcompiler cannot say this plan", [deep]) from None


def _written(plan: Plan) -> str:
    numbers = {step.id: at for at, step in enumerate(plan.steps, start=1)}
    lines: list[str] = []
    for step in plan.steps:
        if step.thought is not None:
            lines.append(f"Thought: {step.thought}")
        args = ", ".join(_argument(name, value, numbers) for name, value in step.args.items())
        lines.append(f"{numbers[step.id]}. {step.tool}({args})")
    lines.append(f"{len(plan.steps) + 1}. {CLOSER}()<END_OF_PLAN>\n")
    return "\n".join(lines)


def _argument(name: str, value: Value, numbers: Mapping[str, int]) -> str:
    written = _value(value, numbers)
    if _NAME.fullmatch(name):
        return f"{name}={written}"
    return f"**{{{_literals.print_quoted(name)}: {written}}}"


def _value(value: Value, numbers: Mapping[str, int]) -> str:
    match value:
        case Literal(literal):
            return _literals.print_literal(literal, _quoted_literal)
        case Ref() | Template():
            return _literals.print_quoted(_numbered.print_text(value, _MARKS, numbers))
        case Array(items):
            return "[" + ", ".join(_value(each, numbers) for each in items) + "]"
        case Object(fields):
            members = (
                f"{_literals.print_quoted(key)}: {_value(each, numbers)}" for key, each in fields
            )
            return "{" + ", ".join(members) + "}"


def _quoted_literal(text: Json) -> str:
    return _literals.print_quoted(_numbered.print_text(Literal(text), _MARKS, {}))


def _read_mention(text: str, at: int) -> _numbered.Mention | None:
    if digits := _numbered.NUMBER.match(text, at):
        number = _numbered.number_of(digits[0])
        return None if number is None else _numbered.Mention(number, (), digits.end(), False)
    digits = _numbered.NUMBER.match(text, at + 1)
    number = None if digits is None else _numbered.number_of(digits[0])
    if digits is None or number is None:
        raise ReferenceSyntaxError("the number of a step was expected", at + 1)
    path, end = parse_segments(text, digits.end())
    if not text.startswith("}", end):
        raise ReferenceSyntaxError("'}' is missing", end)
    return _numbered.Mention(number, path, end + 1, True)


def _write_mention(number: int, path: Path, behind: str) -> str:
    if path:
        return f"${{{number}{print_path(path)}}}"
    return f"${{{number}}}" if _numbered.NUMBER.match(behind) else f"${number}"


_MARKS: Final = _numbered.Marks(
    mark="$",
    opening=re.compile(r"(?<!\$)\$++(?=[0-9]|\{ ?[0-9])"),
    closing=re.compile(r"(?<!\$)\$++(?=[0-9]|\{ ?[0-9]|\Z)"),
    read=_read_mention,
    write=_write_mention,
    help="A reference is `$1`, or `${1.path}`; `$$1` is the text `$1`.",
    bare=re.compile(r"\$(?=[0-9]|\{ ?[0-9])"),
)


class _LineSteps:
    """Reads the calls of a plan, each on a line of its own, while they are written."""

    def __init__(self, signatures: Signatures | None, limits: Limits) -> None:
        self._signatures = signatures
        self._limits = limits
        self._parts: list[str] = []  # of the line that is being written
        self._ids: dict[int, str] = {}
        self._is_over = False

    def feed(self, text: str) -> Sequence[Step]:
        """Return the steps that `text`, the next piece, completes; none behind an error."""
        steps: list[Step] = []
        *lines, rest = text.split("\n")
        for line in lines:
            self._parts.append(line)
            step = None if self._is_over else self._step("".join(self._parts))
            self._parts.clear()
            if step is None:
                self._is_over = True  # the rest is known when the plan is whole
                break
            steps.append(step)
        if not self._is_over:
            self._parts.append(rest)
        return steps

    def _step(self, line: str) -> Step | None:
        report = Report()
        clean = checked(line, self._limits, report)
        lines = (
            None if clean is None else _call_lines.read_outline(clean, _LINES, self._limits, report)
        )
        if clean is None or lines is None or len(lines.calls) != 1 or lines.noise:
            return None
        (call,), at = lines.calls, len(self._ids)
        if call.number in self._ids:
            return None
        self._ids[call.number] = f"s{at}"
        # what the next call gives is not known yet, so that text such as `$2` may be a reference
        steps = _numbered.Steps(self._ids, frozenset({at + 2}) - self._ids.keys())
        depth = min(self._limits.depth, DEEPEST) - _AROUND_VALUES
        reading = _Reading(clean, report, steps, self._signatures, depth, {})
        try:
            step = reading.step(call, at)
        except RecursionError:
            return None
        return None if any(each.blocks for each in report.diagnostics) else step


DIALECT: Final = FunctionDialect(
    name="llmcompiler",
    json=False,
    read=_read,
    find=_find,
    unsaid=_unsaid,
    write=_write,
    looks_like=lambda text: _CALL.search(text) is not None,
    is_lenient=True,
    steps=_LineSteps,
)
"""Says tools, arguments with references, and thoughts; no more."""
