"""Plans that number their calls, a call on a line of its own: where the lines are.

One pass over the text, outside of the calls: what stands inside of a call is never taken for a line
of the plan. Nothing is read of the arguments here but where they end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from msgspec import Struct, field

from toolplan.diagnostics import Diagnostic
from toolplan.dialects._numbered import Steps
from toolplan.dialects.characters import syntax
from toolplan.dialects.form import cannot
from toolplan.plan import Limits, Plan, split_pointer
from toolplan.plan_json import Report, shown
from toolplan.source import ELLIPSIS, Span, begins_with_ellipsis

TOOL_NAME: Final = re.compile(r"[^\W\d][\w.:/-]*+")
"""What the name of a tool looks like in a call; `fullmatch` it."""

MOST_FAULTS: Final = 100
"""The most lines that are reported as not being a call."""

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
    plan. `form` is a call, as messages show it.
    """

    line: re.Pattern[str]
    call_line: re.Pattern[str]
    call_end: Callable[[str, int, int], int | None]
    behind: re.Pattern[str]
    closer: str | None
    form: str


class Call(Struct, frozen=True):
    """One call: its number, the places of its name and of what stands between its brackets.

    `args` is None where the call does not end. `fault` is where its line continues after it.
    """

    number: int
    start: int
    tool: Span
    args: Span | None
    thought: str | None
    fault: int | None = None

    @property
    def end(self) -> int:
        """Where the call ends, as far as it does."""
        return self.tool.end if self.args is None else self.args.end + 1


class Fault(NamedTuple):
    """A place where the text is not a plan, and the reason."""

    message: str
    offset: int
    code: str = "syntax"


class Outline(Struct, frozen=True):
    """The calls of a plan, and what stands beside them.

    `closers` are the numbers of calls that are not steps. `cut_off` is where something begins that
    the text does not end; None where all of it ends.
    """

    calls: tuple[Call, ...]
    closers: frozenset[int]
    noise: tuple[str, ...]
    faults: tuple[Fault, ...]
    cut_off: Fault | None


def outline(text: str, written: Syntax, most: int = Limits().steps) -> Outline:
    """Return the lines of the plan in `text`. Never fails, and is linear in the length of `text`.

    Where there are more than `most` calls, it gives one more than that, and looks no further.
    """
    last_close = max(text.rfind("</think>"), text.rfind("</thinking>"))
    lines = _Lines(text, written, len(text.rstrip()), last_close)
    at = 0
    while found := written.line.search(text, at):
        lines.between(at, found.start())
        at = lines.take(found)
        if len(lines.calls) > most:
            return lines.outline()
    lines.between(at, len(text))
    return lines.outline()


def read_outline(text: str, written: Syntax, limits: Limits, report: Report) -> Outline | None:
    """Return the lines of the plan in `text`, None where there is none that can be read.

    What is wrong with them is reported.
    """
    lines = outline(text, written, limits.steps)
    if len(lines.calls) > limits.steps:
        many = f"The plan has more than {limits.steps} steps; no more are allowed."
        report.error("too-many-steps", many, "/steps")
        return None
    for fault in lines.faults:
        report.add(syntax(text, fault.offset, fault.message, code=fault.code))
    if lines.cut_off is not None:
        report.add(syntax(text, lines.cut_off.offset, lines.cut_off.message))
        return None
    if not lines.calls and not lines.faults:
        _report_no_calls(text, lines, written, report)
    return lines if lines.calls else None


def steps_of(lines: Outline, report: Report) -> Steps:
    """Return the id of each step by its number, and report each number that is taken twice."""
    ids: dict[int, str] = {}
    for at, call in enumerate(lines.calls):
        if call.number in ids:
            taken = f"The number {call.number} is taken by an earlier step."
            help_ = "Every step needs a number of its own."
            report.error("duplicate-id", taken, f"/steps/{at}/id", f"s{at}", help_)
        else:
            ids[call.number] = f"s{at}"
    return Steps(ids, lines.closers - ids.keys())


def report_call(text: str, call: Call, at: int, report: Report) -> None:
    """Report what is wrong with the line of `call`, which is step `at`."""
    if call.args is None:
        what = f"Call {call.number} does not end: a bracket or a quote is still open"
        report.add(syntax(text, call.start, what, f"/steps/{at}", f"s{at}"))
    elif call.fault is not None:
        what = f"Call {call.number} has ended, but its line continues"
        report.add(syntax(text, call.fault, what, f"/steps/{at}", f"s{at}"))


def find_call(
    text: str, written: Syntax, pointer: str, place: Callable[[Call, list[str]], Span]
) -> Span | None:
    """Return the place of what the canonical `pointer` names, None where there is no plan.

    `place` finds the rest of the pointer inside of a call.
    """
    calls = outline(text, written).calls
    match split_pointer(pointer):
        case ["steps", position, *rest] if position.isdigit() and int(position) < len(calls):
            return place(calls[int(position)], rest)
        case _:
            return Span(calls[0].start, calls[-1].end) if calls else None


def unsaid_lines(plan: Plan, title: str, is_thought: Callable[[str], bool]) -> Iterator[Diagnostic]:
    """Yield one diagnostic for each tool name and each thought that no line can hold."""
    for at, step in enumerate(plan.steps):
        if not TOOL_NAME.fullmatch(step.tool):
            what = f"{title} cannot write {shown(step.tool)} as the name of a tool."
            yield cannot(what, f"/steps/{at}/tool", step.id)
        if step.thought is not None and not is_thought(step.thought):
            what = f"{title} has no thought that is empty or looks like a line of the plan."
            yield cannot(what, f"/steps/{at}/thought", step.id)


def report_noise(noise: dict[str, None], report: Report) -> None:
    """Report what was passed over, if anything was."""
    if noise:
        report.warning(
            "noise",
            f"The plan was read without what does not belong to it: {', '.join(noise)}.",
            help="Write the plan alone, a call a line.",
        )


def _report_no_calls(text: str, lines: Outline, written: Syntax, report: Report) -> None:
    if lines.closers:
        report.error("empty-plan", "The plan has no step.", "/steps")
        return
    start = len(text) - len(text.lstrip())
    help_ = f"A call is written `{written.form}`, on a line of its own."
    report.add(syntax(text, start, "The text holds no numbered call", help=help_))


class _Lines(Struct):
    """What was found so far. `in_thought` says that what comes next belongs to a thought."""

    text: str
    written: Syntax
    text_end: int  # without the white space behind it
    last_close: int  # of a <think> block
    calls: list[Call] = field(default_factory=list[Call])
    closers: set[int] = field(default_factory=set[int])
    noise: dict[str, None] = field(default_factory=dict[str, None])
    faults: list[Fault] = field(default_factory=list[Fault])
    cut_off: Fault | None = None
    thoughts: list[str] = field(default_factory=list[str])
    thought_at: int = 0
    in_thought: bool = False
    has_thought: bool = False  # whether one waits for its step
    is_closed: bool = False
    next_call: int = -1

    def between(self, start: int, end: int) -> None:
        """Read what stands between two lines of the plan: the rest of a thought, or prose."""
        said = self.text[start:end].strip()
        if self.in_thought:
            if said:
                self.thoughts.append(said)
        elif said:
            self.noise["prose"] = None
            if (
                self.calls
                and not self.is_closed
                and any(map(begins_with_ellipsis, said.split("\n")))
            ):
                self.faults.append(Fault(ELLIPSIS, self.text.index(said, start), "ellipsis"))
        self.in_thought = False

    def take(self, found: re.Match[str]) -> int:
        """Read one line of the plan; return where the next one begins."""
        match found.lastgroup:
            case "call":
                return self._call(found)
            case "think" | "orphan":
                return self._thinking(found)
            case "fence":
                self.noise["a code fence"] = None
            case "thought" if not self.is_closed:
                self.thought_at = self.thought_at if self.has_thought else found.start("thought")
                self.in_thought = self.has_thought = True
            case "stray":
                self._stray(found)
            case "begun" if not self.is_closed and self.calls:
                self.cut_off = Fault(
                    "The text ends where a line of the plan begins", found.start("begun")
                )
            case "end":
                self._close()
            case _:
                self.noise["prose"] = None
        return found.end()

    def outline(self) -> Outline:
        """Return all that was found, at the end of the text."""
        if self.has_thought and not self.is_closed and self.cut_off is None:
            what = "The text ends with a thought, and the step for it is missing"
            self.cut_off = Fault(what, self.thought_at)
        return Outline(
            tuple(self.calls),
            frozenset(self.closers),
            tuple(self.noise),
            tuple(self.faults),
            self.cut_off,
        )

    def _call(self, found: re.Match[str]) -> int:
        number, start = int(found["number"]), found.start("start")
        limit = self._limit(found.end())
        end = self.written.call_end(self.text, found.end(), limit)
        if self.is_closed:
            again = bool(self.calls) and number == self.calls[0].number
            what = "The text holds a second plan" if again else "The text continues after the plan"
            if not self.faults:
                self.faults.append(Fault(what, start))
            return limit
        if found["tool"] == self.written.closer and end is not None:
            self.closers.add(number)
            self._close()
            return self._behind(end + 1)
        args = None if end is None else Span(found.end(), end)
        behind = limit if end is None else self._behind(end + 1)
        fault = None
        if end is not None and behind == end + 1 and not self._is_line_end(behind):
            fault = behind
            behind = _end_of_line(self.text, behind)
        elif end is None and limit == len(self.text):
            what = f"The text ends inside of call {number}: a bracket or a quote is still open"
            self.cut_off = Fault(what, start)
        thought = "\n".join(self.thoughts) or None
        self.thoughts.clear()
        self.has_thought = False
        span = Span(found.start("tool"), found.end("tool"))
        self.calls.append(Call(number, start, span, args, thought, fault))
        return behind

    def _limit(self, start: int) -> int:
        """Return where the next call begins, the end of the text where none does."""
        if self.next_call < start:
            found = self.written.call_line.search(self.text, start)
            self.next_call = len(self.text) if found is None else found.start()
        return self.next_call

    def _behind(self, end: int) -> int:
        """Return the end of the line on which a call ends at `end`; `end` where more follows."""
        found = self.written.behind.match(self.text, end)
        if found is None:
            return end
        if found[0].strip():
            self.noise["a comment"] = None
        return found.end()

    def _is_line_end(self, at: int) -> bool:
        return self.written.behind.match(self.text, at) is not None

    def _close(self) -> None:
        self.is_closed = True
        if self.thoughts:
            self.noise["a closing thought"] = None
            self.thoughts.clear()

    def _thinking(self, found: re.Match[str]) -> int:
        if found.lastgroup == "orphan":  # the tag that opened it was cut: all before is thinking
            self.calls.clear()
            self.faults.clear()
            self.closers.clear()
            self.thoughts.clear()
            self.has_thought = self.is_closed = False
            self.noise["a <think> block"] = None
            return found.end()
        is_open = found.end() > self.last_close
        close = None if is_open else _CLOSE_THINK.search(self.text, found.end())
        if close is None:
            self.noise["prose"] = None  # a tag that nothing closes
            return found.end()
        self.noise["a <think> block"] = None
        return close.end()

    def _stray(self, found: re.Match[str]) -> None:
        """Read a line that begins with a number and is not a call.

        Before the plan and behind it that is prose. Within it a call was meant, or it was cut off.
        """
        start, digits = found.start("stray"), found["digits"]
        if not self.calls or self.is_closed:
            self.noise["prose"] = None
        elif found.end() >= self.text_end:
            self.cut_off = Fault("The text ends with a call that has not begun well", start)
        elif digits and int(digits) > self.calls[-1].number:
            what = f"A line begins as a call does, and is none (`{self.written.form}`)"
            if len(self.faults) < MOST_FAULTS:
                self.faults.append(Fault(what, start))
        else:
            self.noise["prose"] = None


def _end_of_line(text: str, at: int) -> int:
    found = _LINE_REST.match(text, at)
    return at if found is None else found.end()
