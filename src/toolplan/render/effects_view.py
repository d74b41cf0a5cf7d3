"""Calls that wait for a person, with their values, and where each value comes from."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from toolplan.consent import Effect, Origin
from toolplan.flows import Trust
from toolplan.render._lines import Line, Screen
from toolplan.render.approval_view import (
    Shown,
    default_lines,
    exact_view,
    script_warnings,
    value_lines,
)
from toolplan.render.exact import exact_name, exact_text

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
