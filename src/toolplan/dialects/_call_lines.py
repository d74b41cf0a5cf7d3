"""Plans that number their calls, a call on a line of its own.

The lines are found in one pass over the text, outside of the calls: the inside of a call is
never taken for a line of the plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from toolplan.dialects import form
from toolplan.dialects._literals import CallReader, Marks
from toolplan.dialects.characters import checked, report_flaws, syntax
from toolplan.dialects.form import Signatures, cannot
from toolplan.plan.canonical import (
    DEEPEST,
    Notation,
    Parsed,
    Report,
    shown,
)
from toolplan.plan.canonical import Syntax as Values
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Limits, Plan, Step, Value, split_pointer
from toolplan.plan.text.loose import ELLIPSIS, Refused, Span, begins_with_ellipsis

TOOL_NAME: Final = re.compile(r"[^\W\d][\w.:/-]*+")
"""Pattern of the name of a tool in a call, for `fullmatch`."""

MOST_FAULTS: Final = 100
"""Maximum number of lines that are reported as not being a call."""

_AROUND_VALUES: Final = 4  # the plan, its steps, a step and its arguments
_CLOSE_THINK = re.compile(r"</think(?:ing)?>")
_LINE_REST = re.compile(r"[^\n]*+")


class Syntax(Struct, frozen=True):
    """How a dialect writes the lines of a plan.

    `line` finds the next one; the name of its last group says what it is: `call` (with the groups
    `start`, `number` and `tool`, up to the bracket that opens), `thought`, `stray` (begins as a
    call does, and is none; with `digits`), `begun` (a line that was cut off), `end` (of the plan),
    `think`, `orphan` (the end of thinking that has no beginning) or `fence`. `call_line` finds the
    next line that bounds a call which does not end. `call_end(text, start, end)` gives the bracket
    that closes a call, `behind` what may follow it on its line. `closer` is the tool that ends the
    plan. `form` is a call, as messages show it; `thought` begins a thought, `sample` is a plan of
    one call. `arguments` reads the text between the brackets of a call.
    """

    title: str
    line: re.Pattern[str]
    call_line: re.Pattern[str]
    call_end: Callable[[str, int, int], int | None]
    behind: re.Pattern[str]
    closer: str | None
    form: str
    thought: str
    sample: str
    marks: Marks
    arguments: Callable[[Reading, Span, str, int], dict[str, Value]]


class Call(Struct, frozen=True):
    """One call: its number, the places of its name and of the text between its brackets.

    `args` is None where the call does not end. `fault` is where its line continues after it.
    """

    number: int
    start: int
    tool: Span
    args: Span | None
    thought: str | None
    fault: int | None = None

    @property
    def span(self) -> Span:
        """The call, as far as it goes."""
        return Span(self.start, self.tool.end if self.args is None else self.args.end + 1)


class Reading(Struct):
    """A text, and the context that reading its calls needs."""

    text: str
    syntax: Syntax
    report: Report
    notation: Notation
    signatures: Signatures | None
    limits: Limits
    noise: dict[str, None]

    def step(self, call: Call, at: int) -> Step:
        """Return the step that `call`, the one at position `at`, describes."""
        if call.args is None:
            what = f"Call {call.number} does not end: a bracket or a quote is still open"
            self.report.add(syntax(self.text, call.start, what, f"/steps/{at}", f"s{at}"))
        elif call.fault is not None:
            what = f"Call {call.number} has ended, but its line continues"
            self.report.add(syntax(self.text, call.fault, what, f"/steps/{at}", f"s{at}"))
        tool = self.text[call.tool.start : call.tool.end]
        args = {} if call.args is None else self.syntax.arguments(self, call.args, tool, at)
        return Step(f"s{at}", tool, args, thought=call.thought)

    def arguments(
        self, text: str, span: Span, at: int, names: Sequence[str] = ()
    ) -> tuple[CallReader, Refused | None]:
        """Read the arguments of step `at`, which stand at `span` of `text`.

        Those by position have `names`. The reader has what was read before the text was refused.
        """
        most = max(min(self.limits.depth, DEEPEST) - _AROUND_VALUES, 0)
        reader = CallReader(text, span, self.syntax.marks.bare_end, most=most)
        reader.way += ("steps", str(at), "args")
        try:
            reader.read_arguments(names)
        except Refused as refused:
            return reader, refused
        return reader, None

    def values(self, reader: CallReader, at: int) -> dict[str, Value]:
        """Return the arguments that `reader` has read, and report their flaws."""
        self.noise.update(reader.noise)
        report_flaws(reader.flaws, self.report, f"s{at}")
        read = Values(self.notation.parse, self.notation.print, mark=self.notation.mark)
        return read.read_members(reader.named, f"/steps/{at}/args", f"s{at}", self.report)

    def names(self, tool: str) -> tuple[str, ...] | None:
        """Return the names of the arguments of `tool`, None where it is not known."""
        signature = None if self.signatures is None else self.signatures.get(tool)
        return None if signature is None else signature.inputs

    def report_nameless(self, tool: str, at: int, otherwise: str) -> None:
        """Report arguments of step `at` that have no name; `otherwise` is how to do without."""
        names = self.names(tool)
        if names is not None:
            code, help_ = "unknown-argument", otherwise[0].upper() + otherwise[1:]
            what = f"{shown(tool)} takes {len(names)} argument(s); more are given."
        else:
            code, help_ = "needs-tools", f"Give the tools, or {otherwise}"
            why = "the tools are not given" if self.signatures is None else "no such tool is known"
            what = f"Arguments of {shown(tool)} have no names in the text, and {why}."
        self.report.error(code, what, f"/steps/{at}/args", f"s{at}", help_)


def read(written: Syntax, text: str, signatures: Signatures | None, limits: Limits) -> Parsed:
    """Return the plan in `text`, and all its problems."""
    report = Report()
    clean = checked(text, limits, report)
    lines = None if clean is None else Outline(clean, written, limits.steps)
    if clean is None or lines is None or not _is_readable(clean, lines, limits, report):
        return Parsed(None, report.diagnostics)
    ids: dict[int, str] = {}
    for at, call in enumerate(lines.calls):
        if ids.setdefault(call.number, f"s{at}") != f"s{at}":
            taken = f"The number {call.number} is taken by an earlier step."
            help_ = "Every step needs a number of its own."
            report.error("duplicate-id", taken, f"/steps/{at}/id", f"s{at}", help_)
    notation = written.marks.notation(ids, lines.closers - ids.keys())
    reading = Reading(clean, written, report, notation, signatures, limits, lines.noise)
    try:
        plan = Plan(tuple(reading.step(call, at) for at, call in enumerate(lines.calls)))
    except RecursionError:
        plan = None
        report.error("too-deep", f"Lists and objects are nested deeper than {limits.depth}.")
    if lines.noise:
        report.warning(
            "noise",
            f"The plan was read without what does not belong to it: {', '.join(lines.noise)}.",
            help="Write the plan alone, a call a line.",
        )
    return Parsed(plan, report.diagnostics)


def _is_readable(text: str, lines: Outline, limits: Limits, report: Report) -> bool:
    """Return whether there are calls to read; the faults of the lines are reported."""
    if len(lines.calls) > limits.steps:
        many = f"The plan has more than {limits.steps} steps; no more are allowed."
        report.error("too-many-steps", many, "/steps")
        return False
    for fault in lines.faults:
        report.add(syntax(text, fault.offset, fault.message, code=fault.code))
    if lines.cut_off is not None:
        report.add(syntax(text, lines.cut_off.offset, lines.cut_off.message))
        return False
    if not lines.calls and not lines.faults:
        if lines.closers:
            report.error("empty-plan", "The plan has no step.", "/steps")
        else:
            start = len(text) - len(text.lstrip())
            help_ = f"A call is written `{lines.written.form}`, on a line of its own."
            report.add(syntax(text, start, "The text holds no numbered call", help=help_))
    return bool(lines.calls)


def find(
    written: Syntax,
    text: str,
    pointer: str,
    inside: Callable[[str, Call, Sequence[str]], Span | None] = lambda text, call, rest: None,
) -> Span | None:
    """Return the place of the value at the canonical `pointer`, None where there is no plan.

    `inside` finds the rest of the pointer in a call, where the dialect can say more than the call,
    its tool and its arguments.
    """
    clean = checked(text, form.NO_LIMITS, Report())
    calls = [] if clean is None else Outline(clean, written).calls
    if clean is None or not calls:
        return None
    match split_pointer(pointer):
        case ["steps", position, *rest] if position.isdigit() and int(position) < len(calls):
            call = calls[int(position)]
        case _:
            return Span(calls[0].start, calls[-1].span.end)
    found = inside(clean, call, rest)
    if found is None and rest == ["tool"]:
        found = call.tool
    elif found is None and rest[:1] == ["args"]:
        found = call.args
    return found or call.span


def write(plan: Plan, written: Syntax, call: Callable[[int, Step, Notation], str]) -> str:
    """Return the lines of `plan`; `call` writes one by its number, in the notation of the plan."""
    notation = written.marks.notation(numbered(plan))
    lines: list[str] = []
    for at, step in enumerate(plan.steps, start=1):
        if step.thought is not None:
            lines.append(f"{written.thought} {step.thought}")
        lines.append(call(at, step, notation))
    return "\n".join(lines) + "\n"


def numbered(plan: Plan) -> dict[int, str]:
    """Return the ids of the steps of `plan` by the numbers that they are written with."""
    return {at: step.id for at, step in enumerate(plan.steps, start=1)}


def unsaid(plan: Plan, written: Syntax) -> Iterator[Diagnostic]:
    """Yield one diagnostic for each part of `plan` that numbered calls cannot express.

    They have tools, arguments and thoughts, and the order that references show; no more.
    """
    title = written.title
    says = form.Says(title, frozenset({"thought"}))
    yield from form.unsaid(plan, says, None, [step.id for step in plan.steps])
    if not plan.steps:
        yield cannot(f"{title} has no plan without steps.", "/steps")
    known: set[str] = set()
    for at, step in enumerate(plan.steps):
        if step.id in known:
            yield cannot(f"Two steps have the id {step.id!r}.", f"/steps/{at}/id", step.id)
        known.add(step.id)
        if not TOOL_NAME.fullmatch(step.tool) or step.tool == written.closer:
            what = f"{title} cannot write {shown(step.tool)} as the name of a tool."
            yield cannot(what, f"/steps/{at}/tool", step.id)
        if step.thought is None:
            continue
        lines = Outline(f"{written.thought} {step.thought}\n{written.sample}", written)
        if [call.thought for call in lines.calls] != [step.thought] or lines.noise:
            what = f"{title} has no thought that is empty or looks like a line of the plan."
            yield cannot(what, f"/steps/{at}/thought", step.id)


class Fault(NamedTuple):
    """A place where the text is not a plan, and the reason."""

    message: str
    offset: int
    code: str = "syntax"


class Outline:
    """The calls of a plan, and the text beside them. It is linear in the length of the text.

    Reading stops at call `most` + 1.
    `closers` are the numbers of calls that are not steps. `cut_off` is where something begins that
    the text does not end; None where all of it ends.
    """

    def __init__(self, text: str, written: Syntax, most: int = Limits().steps) -> None:
        """Read the lines of `text`. Never fails."""
        self.written = written
        self.calls: list[Call] = []
        self.closers: set[int] = set()
        self.noise: dict[str, None] = {}
        self.faults: list[Fault] = []
        self.cut_off: Fault | None = None
        self._text = text
        self._end = len(text.rstrip())
        self._last_close = max(map(text.rfind, ("</think>", "</thinking>")))
        self._thoughts: list[str] = []  # they wait for their step
        self._thought_at: int | None = None  # where the first of them begins
        self._in_thought = False  # the text up to the next line belongs to a thought
        self._is_closed = False
        self._next_call = -1
        at = 0
        while len(self.calls) <= most and (found := written.line.search(text, at)):
            self._between(at, found.start())
            at = self._take(found)
        if len(self.calls) > most:
            return
        self._between(at, len(text))
        if self._thought_at is not None and not self._is_closed and self.cut_off is None:
            what = "The text ends with a thought, and the step for it is missing"
            self.cut_off = Fault(what, self._thought_at)

    def _between(self, start: int, end: int) -> None:
        """Read the text between two lines of the plan: the rest of a thought, or prose."""
        said = self._text[start:end].strip()
        if said and self._in_thought:
            self._thoughts.append(said)
        elif said:
            self.noise["prose"] = None
            is_inside = self.calls and not self._is_closed
            if is_inside and any(map(begins_with_ellipsis, said.split("\n"))):
                self.faults.append(Fault(ELLIPSIS, self._text.index(said, start), "ellipsis"))
        self._in_thought = False

    def _take(self, found: re.Match[str]) -> int:
        """Read one line of the plan; return where the next one begins."""
        match found.lastgroup:
            case "call":
                return self._call(found)
            case "think":
                is_open = found.end() > self._last_close
                close = None if is_open else _CLOSE_THINK.search(self._text, found.end())
                # a tag that nothing closes is prose
                self.noise["prose" if close is None else "a <think> block"] = None
                return found.end() if close is None else close.end()
            case "orphan":  # the tag that opened it was cut: all before is thinking
                for each in (self.calls, self.faults, self.closers, self._thoughts):
                    each.clear()
                self._thought_at, self._is_closed = None, False
                self.noise["a <think> block"] = None
            case "fence":
                self.noise["a code fence"] = None
            case "thought" if not self._is_closed:
                if self._thought_at is None:
                    self._thought_at = found.start("thought")
                self._in_thought = True
            case "stray" if self.calls and not self._is_closed:
                self._stray(found)
            case "begun" if self.calls and not self._is_closed:
                what = "The text ends where a line of the plan begins"
                self.cut_off = Fault(what, found.start("begun"))
            case "end":
                self._close()
            case _:
                self.noise["prose"] = None
        return found.end()

    def _call(self, found: re.Match[str]) -> int:
        number, start, opened = int(found["number"]), found.start("start"), found.end()
        if self._next_call < opened:  # where a call ends at the latest
            bound = self.written.call_line.search(self._text, opened)
            self._next_call = len(self._text) if bound is None else bound.start()
        limit = self._next_call
        if self._is_closed:
            again = bool(self.calls) and number == self.calls[0].number
            what = "The text holds a second plan" if again else "The text continues after the plan"
            if not self.faults:
                self.faults.append(Fault(what, start))
            return limit
        end = self.written.call_end(self._text, opened, limit)
        fault, next_line = None, limit
        if end is None and limit == len(self._text):
            what = f"The text ends inside of call {number}: a bracket or a quote is still open"
            self.cut_off = Fault(what, start)
        elif end is not None:
            rest = self.written.behind.match(self._text, end + 1)
            if rest is None:
                fault = end + 1
                rest = _LINE_REST.match(self._text, fault)
            elif rest[0].strip():
                self.noise["a comment"] = None
            next_line = end + 1 if rest is None else rest.end()
            if found["tool"] == self.written.closer:
                self.closers.add(number)
                self._close()
                return next_line if fault is None else fault
        thought = "\n".join(self._thoughts) or None
        self._thoughts.clear()
        self._thought_at = None
        args = None if end is None else Span(opened, end)
        self.calls.append(Call(number, start, Span(*found.span("tool")), args, thought, fault))
        return next_line

    def _close(self) -> None:
        self._is_closed = True
        if self._thoughts:
            self.noise["a closing thought"] = None
            self._thoughts.clear()

    def _stray(self, found: re.Match[str]) -> None:
        """Read a line of the plan that begins as a call: one was meant, or it was cut off."""
        start, digits = found.start("stray"), found["digits"]
        if found.end() >= self._end:
            self.cut_off = Fault("The text ends with a call that has not begun well", start)
        elif not digits or int(digits) <= self.calls[-1].number:
            self.noise["prose"] = None
        elif len(self.faults) < MOST_FAULTS:
            what = f"A line begins as a call does, and is none (`{self.written.form}`)"
            self.faults.append(Fault(what, start))
