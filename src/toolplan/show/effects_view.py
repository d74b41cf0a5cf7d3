"""Calls with effects as a person decides about them: those that wait, and those in doubt."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from toolplan.events import CallInDoubt, Run
from toolplan.plan.path import Json
from toolplan.policy import Trust
from toolplan.policy.consent import Effect, Origin
from toolplan.show import runs_view
from toolplan.show._lines import Line, Screen
from toolplan.show.approval_view import (
    Shown,
    default_lines,
    exact_view,
    script_warnings,
    value_lines,
)
from toolplan.show.exact import exact_name, exact_text
from toolplan.show.printable import printable, visible

_BELOW = " " * 8


class EffectsView(Struct, frozen=True):
    """Calls that wait, as they are printed: every value whole and exact.

    What is less than its place needs is marked with `!`.
    """

    effects: tuple[Effect, ...]

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield what is shown on `screen`."""
        shown = effects_lines(self.effects, screen.width, screen.encoding)
        yield from exact_view(shown, screen)


def effects_text(effects: Sequence[Effect]) -> str:
    """Return what `EffectsView` shows as text, each value in one line."""
    return "\n".join(text for text, _ in effects_lines(effects, sys.maxsize))


def effects_lines(effects: Sequence[Effect], width: int, encoding: str = "utf-8") -> Shown:
    """Yield the lines that are shown in `width` columns of a terminal, with their styles."""
    for step, calls in by_step(effects):
        yield from step_lines(step, calls, width, encoding)


def by_step(effects: Sequence[Effect]) -> Iterator[tuple[str, tuple[Effect, ...]]]:
    """Yield the calls of each step: a person decides about all of them at once."""
    for step, calls in groupby(effects, key=lambda effect: effect.step):
        yield step, tuple(calls)


def step_lines(step: str, calls: Sequence[Effect], width: int, encoding: str = "utf-8") -> Shown:
    """Yield the lines on the calls of one step that wait."""
    tool = exact_name(calls[0].tool, encoding)
    what = "waits for you"
    if calls[0].item is not None:
        what = f"{len(calls)} calls wait for you"
        what = what if len(calls) > 1 else "1 call waits for you"
    yield f"{exact_name(step, encoding)}  {tool}  {what}", "bold yellow"
    for pointer, origin in calls[0].choices.items():
        yield f"  {_mark(origin)} it depends on {exact_name(pointer, encoding)}", ""
        yield f"{_BELOW}{origin_text(origin, encoding)}", "red" if origin.asked else "dim"
    for call in calls:
        if call.item is not None:
            yield f"  call {call.item}", "bold"
        for name, value in call.args.items():
            origin = call.origins.get(name, Origin(Trust.UNTRUSTED, asked=True))
            head = f"{_mark(origin)} {exact_name(name, encoding)} = "
            yield from value_lines(head, value, width, encoding)
            yield f"{_BELOW}{origin_text(origin, encoding)}", "red" if origin.asked else "dim"
        yield from default_lines(call.defaults, width, encoding)
        if not call.args and not call.defaults:
            yield "    (no arguments)", ""
        yield from script_warnings(dict(call.args), dict(call.defaults), call.step, call.tool)


def origin_text(origin: Origin, encoding: str = "utf-8") -> str:
    """Return where a value comes from, and how far it is to be trusted, in one line."""
    if origin.label is Trust.SAID:
        return "said"
    places = [_plain(ref, encoding) for ref in origin.refs]
    behind = [_plain(str(source), encoding) for source in origin.sources]
    made_of = ", ".join((*places, *(each for each in behind if each not in places)))
    needed = f"; {origin.needs} needed" if origin.asked and origin.needs else ""
    return f"from {made_of or 'what is not known'}: {origin.label}{needed}"


def _mark(origin: Origin) -> str:
    return "!" if origin.asked else " "


def _plain(text: str, encoding: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return exact_text(text, encoding)[1:-1]


_MOST_OF_A_RESULT = 2_000


def doubt_lines(run: Run) -> Iterator[str]:
    """Yield lines on each call in doubt, with all its arguments, and how a person decides."""
    short = run.run[: runs_view.SHORT]
    for step in run.steps.values():
        for each in step.doubts:
            yield f"{_place(each)}: in doubt, it is not known whether this call did its work."
            yield f"  call:   {call_text(each)}"
            yield f"  reason: {printable(each.failure.message)}"
            if each.result is not None:
                yield f"  result: {result_text(each.result, short)}"
        if step.doubts:
            first = _place(step.doubts[0])
            yield f"  make it again:               toolplan resume {short} --retry {first}"
            yield f"  it did, and gave a value:    toolplan resume {short} --resolve {first}=JSON"
            yield f"  it did not, let it fail:     toolplan resume {short} --abort {first}"
        if len(step.doubts) > 1:
            yield f"  Decide about all {len(step.doubts)} calls; an option can be repeated."


def call_text(doubt: CallInDoubt) -> str:
    """Return a call with its arguments: `send(to="ann")`."""
    match doubt.args:
        case dict() as args:
            listed = ", ".join(f"{printable(name)}={_value(args[name])}" for name in args)
        case _:
            listed = "arguments unknown"
    return f"{printable(doubt.tool) or 'call'}({listed})"


def result_text(result: Json, run: str) -> str:
    """Return what a call gave back that cannot be used; a long one is cut, and says where it is."""
    match result:
        case {"json": value}:
            text = _value(value)
        case {"text": str(text)}:
            text = visible(" ".join(text.split("\n")))
        case _:
            text = _value(result)
    if len(text) <= _MOST_OF_A_RESULT:
        return text
    more = len(text) - _MOST_OF_A_RESULT
    return f"{text[:_MOST_OF_A_RESULT]} … {more} more characters: toolplan show {run} --json"


def _place(doubt: CallInDoubt) -> str:
    name = printable(doubt.step)
    return name if doubt.item is None else f"{name}:{doubt.item}"


def _value(value: Json) -> str:
    return visible(json.dumps(value, ensure_ascii=False))
