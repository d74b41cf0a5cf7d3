"""What a plan may change, for the person who approves it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.plan.canonical import dump_value
from toolplan.plan.model import Literal, Value, When
from toolplan.plan.path import Json
from toolplan.policy.approval import EffectStep
from toolplan.schema.tool import Effects
from toolplan.show._lines import Line, Piece, Screen, wrapped
from toolplan.show.exact import exact_lines, exact_name, exact_text, mixed_scripts
from toolplan.show.printable import count_text, text_width
from toolplan.show.step_text import condition_words

_INDENT: Final = "    "
_NARROWEST: Final = 20
_ROOM: Final = 60  # columns for values below the first line, so that most words are whole
_WIDEST_HEAD: Final = 24
_MOST_NAMED: Final = 8

BY_DEFAULT: Final = "(the tool's default)"
UNDECLARED: Final = "may change something (undeclared)"

Shown: TypeAlias = Iterator[tuple[str, str]]
"""Lines of text, each with its style."""


class ApprovalView(Struct, frozen=True):
    """The steps of a plan that may change something, and the plan's digest, as they are printed.

    Nothing is left out or rounded: a fixed value is shown as JSON that reads back as the same
    value, another one by its reference. See `toolplan.show.exact`.
    """

    steps: tuple[EffectStep, ...]
    digest: str

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield what is shown on `screen`."""
        shown = approval_lines(self.steps, self.digest, screen.width, screen.encoding)
        yield from exact_view(shown, screen)


def exact_view(shown: Shown, screen: Screen) -> Iterator[Line]:
    """Yield lines for `screen`: those with a style are wrapped, values are as they are."""
    for text, style in shown:
        below = text[: len(text) - len(text.lstrip())] + "  "
        width = screen.width if style else None
        yield from wrapped((Piece(screen.fit(text), style),), width, below=below)


def approval_text(steps: Sequence[EffectStep], digest: str) -> str:
    """Return what `ApprovalView` shows as text, each value in one line."""
    return "\n".join(text for text, _ in approval_lines(steps, digest, sys.maxsize))


def approval_lines(
    steps: Sequence[EffectStep], digest: str, width: int, encoding: str = "utf-8"
) -> Shown:
    """Yield the lines that are shown in `width` columns of a terminal, with their styles."""
    changes = "changes something" if declares_effects(steps) else "may change something"
    yield f"This plan {changes}: {_calls_of_all(steps)}.", "bold yellow"
    for step in steps:
        is_said = step.effects is not Effects.UNKNOWN
        effects = step.effects.value if is_said else UNDECLARED
        style = "yellow" if step.effects is Effects.WRITE else "bold red"
        name, tool = exact_name(step.step, encoding), exact_name(step.tool, encoding)
        yield f"  {name}: {tool}, {effects}", style
        if step.for_each is not None:
            calls = ("" if step.exact else "at most ") + count_text(step.calls, "call")
            yield from value_lines(f"{calls}: one for each of ", step.for_each, width, encoding)
        if step.when is not None:
            yield from value_lines("only if ", step.when.value, width, encoding)
            words = f"{condition_words(step.when)}: "
            yield from value_lines(f"  {words}", step.when.schema, width, encoding)
        for argument, value in step.args.items():
            sign = "=" if isinstance(value, Literal) else "<-"
            head = f"{exact_name(argument, encoding)} {sign} "
            yield from value_lines(head, value, width, encoding)
        condition = () if step.when is None else (step.when.value, step.when.schema)
        yield from default_lines(step.defaults, width, encoding)
        given = (*step.args.values(), *step.args, dict(step.defaults))
        values = (step.for_each, *condition, *given, step.step, step.tool)
        yield from script_warnings(*values)
        if step.invented:
            names = ", ".join(exact_name(each, encoding) for each in step.invented)
            yield f"{_INDENT}Attention, not in the question: {names}", "bold red"
    yield f"digest {digest}", "dim"


def declares_effects(steps: Sequence[EffectStep]) -> bool:
    """Return whether one of `steps` surely has effects: all others are only not known to read."""
    return any(step.effects is not Effects.UNKNOWN for step in steps)


def value_lines(head: str, value: Value | Json, width: int, encoding: str) -> Shown:
    """Yield `value` after `head`, all of it."""
    beside = len(_INDENT) + text_width(head)
    below = " " * (beside if beside <= min(_WIDEST_HEAD, width - _ROOM) else len(_INDENT) + 2)
    first = max(width - beside, _NARROWEST)
    lines = exact_lines(value, first, max(width - len(below), _NARROWEST), encoding)
    yield f"{_INDENT}{head}{lines[0]}".rstrip(), ""
    yield from ((below + line, "") for line in lines[1:])


def default_lines(defaults: Mapping[str, Json], width: int, encoding: str) -> Shown:
    """Yield the arguments that a plan leaves out, and that the tool has values for."""
    for name, value in defaults.items():
        head = f"{exact_name(name, encoding)} {BY_DEFAULT} = "
        yield from value_lines(head, value, width, encoding)


def script_warnings(*values: Value | Json) -> Shown:
    """Yield which letters of `values` look like those of another script."""
    found: dict[str, str] = {}
    for value in values:
        found |= {} if value is None else mixed_scripts(value)
    shown = [f"{exact_text(char)[1:-1]} is {name}" for char, name in found.items()]
    if shown:
        more = ", …" if len(shown) > _MOST_NAMED else ""
        listed = ", ".join(shown[:_MOST_NAMED]) + more
        yield f"{_INDENT}Attention, letters that look like others: {listed}", "bold red"


def approval_json(steps: Sequence[EffectStep], digest: str) -> dict[str, Json]:
    """Return what `ApprovalView` shows as JSON."""
    return {
        "digest": digest,
        "effects": [
            {
                "step": step.step,
                "tool": step.tool,
                "effects": step.effects.value,
                "args": {name: dump_value(value) for name, value in step.args.items()},
                "defaults": dict(step.defaults),
                "invented": list(step.invented),
                "for_each": None if step.for_each is None else dump_value(step.for_each),
                "conditional": step.conditional,
                "when": None if step.when is None else _when(step.when),
                "calls": step.calls,
                "exact": step.exact,
            }
            for step in steps
        ],
    }


def _when(when: When) -> Json:
    return {"value": dump_value(when.value), "is": when.schema}


def _calls_of_all(steps: Sequence[EffectStep]) -> str:
    calls = sum(step.calls for step in steps)
    exact = all(step.exact and not step.conditional for step in steps)
    most = "" if exact else "at most "
    return f"{count_text(len(steps), 'step')}, {most}{count_text(calls, 'call')}"
