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
from toolplan.show._lines import Line, Piece, Screen, plain
from toolplan.show.approval_view import default_lines, head_lines, script_warnings, value_lines
from toolplan.show.exact import exact_name, exact_text
from toolplan.show.printable import printable, visible
from toolplan.show.runs_view import SHORT

_BELOW = " " * 8
_MOST_OF_A_RESULT = 2_000


class EffectsView(Struct, frozen=True):
    """Calls that wait, as they are printed: every value whole and exact.

    Values with less trust than their place needs are marked with `!`.
    """

    effects: tuple[Effect, ...]

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        for step, calls in by_step(self.effects):
            yield from _step_lines(step, calls, screen)


def effects_text(effects: Sequence[Effect]) -> str:
    """Return the text of `EffectsView`, each value in one line."""
    return plain(EffectsView(tuple(effects)).lines(Screen(sys.maxsize)))


def by_step(effects: Sequence[Effect]) -> Iterator[tuple[str, tuple[Effect, ...]]]:
    """Yield the calls of each step: a person decides about all of them at once."""
    for step, calls in groupby(effects, key=lambda effect: effect.step):
        yield step, tuple(calls)


def _step_lines(step: str, calls: Sequence[Effect], screen: Screen) -> Iterator[Line]:
    what = "waits for you"
    if calls[0].item is not None:
        what = f"{len(calls)} calls wait for you" if len(calls) > 1 else "1 call waits for you"
    names = (exact_name(each, screen.encoding) for each in (step, calls[0].tool))
    yield from head_lines("  ".join((*names, what)), "bold yellow", screen)
    for pointer, origin in calls[0].choices.items():
        mark = "!" if origin.asked else " "
        on = f"  {mark} it depends on {exact_name(pointer, screen.encoding)}"
        yield (Piece(screen.fit(on)),)
        yield from head_lines(*_origin(origin, screen.encoding), screen)
    for call in calls:
        if call.item is not None:
            yield from head_lines(f"  call {call.item}", "bold", screen)
        for name, value in call.args.items():
            origin = call.origins.get(name, Origin(Trust.UNTRUSTED, asked=True))
            mark = "!" if origin.asked else " "
            yield from value_lines(f"{mark} {exact_name(name, screen.encoding)} = ", value, screen)
            yield from head_lines(*_origin(origin, screen.encoding), screen)
        yield from default_lines(call.defaults, screen)
        if not call.args and not call.defaults:
            yield (Piece("    (no arguments)"),)
        names = dict(call.args), dict(call.defaults), call.step, call.tool
        yield from script_warnings(screen, *names)


def _origin(origin: Origin, encoding: str) -> tuple[str, str]:
    """Return the origin and the trust of a value as a line, and its style."""
    style = "red" if origin.asked else "dim"
    if origin.label is Trust.SAID:
        return f"{_BELOW}said", style
    texts = dict.fromkeys((*origin.refs, *map(str, origin.sources)))
    plain_texts = (
        each if each.isascii() and each.isprintable() else exact_text(each, encoding)[1:-1]
        for each in texts
    )
    made_of = ", ".join(plain_texts) or "unknown values"
    needed = f"; {origin.needs} needed" if origin.asked and origin.needs else ""
    return f"{_BELOW}from {made_of}: {origin.label}{needed}", style


def doubt_lines(run: Run) -> Iterator[str]:
    """Yield lines on each call in doubt, with all its arguments, and how a person decides."""
    short = run.run[:SHORT]
    for step in run.steps.values():
        places = [
            printable(each.step) + ("" if each.item is None else f":{each.item}")
            for each in step.doubts
        ]
        for place, each in zip(places, step.doubts, strict=True):
            yield f"{place}: in doubt, it is not known whether this call did its work."
            yield f"  call:   {call_text(each)}"
            yield f"  reason: {printable(each.failure.message)}"
            if each.result is not None:
                yield f"  result: {_result_text(each.result, short)}"
        for first in places[:1]:
            yield f"  make it again:               toolplan resume {short} --retry {first}"
            yield f"  it did, and gave a value:    toolplan resume {short} --resolve {first}=JSON"
            yield f"  it did not, let it fail:     toolplan resume {short} --abort {first}"
        if len(places) > 1:
            yield f"  Decide about all {len(places)} calls; an option can be repeated."


def call_text(doubt: CallInDoubt) -> str:
    """Return a call with its arguments: `send(to="ann")`."""
    listed = "arguments unknown"
    if isinstance(doubt.args, dict):
        pairs = (f"{printable(name)}={_value(value)}" for name, value in doubt.args.items())
        listed = ", ".join(pairs)
    return f"{printable(doubt.tool) or 'call'}({listed})"


def _result_text(result: Json, run: str) -> str:
    """Return the unusable result of a call; a long one is cut, and its place stated."""
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


def _value(value: Json) -> str:
    return visible(json.dumps(value, ensure_ascii=False))
