"""The effects of a plan, for the person who approves it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from toolplan.plan.canonical import dump_value
from toolplan.plan.model import Literal, Value
from toolplan.plan.path import Json
from toolplan.policy.approval import EffectStep
from toolplan.schema.tool import Effects
from toolplan.show._lines import Line, Piece, Screen, plain, wrapped
from toolplan.show.exact import exact_lines, exact_name, exact_text, mixed_scripts
from toolplan.show.printable import count_text, text_width
from toolplan.show.step_text import condition_words

_INDENT: Final = "    "
_NARROWEST: Final = 20
_ROOM: Final = 60  # columns for values below the first line, so that most words are whole
_WIDEST_HEAD: Final = 24
_MOST_NAMED: Final = 8
_ALARM: Final = "bold red"

BY_DEFAULT: Final = "(the tool's default)"
UNDECLARED: Final = "may change something (undeclared)"


class ApprovalView(Struct, frozen=True):
    """The steps of a plan that may change something, and the plan's digest, as they are printed.

    Nothing is left out or rounded: a fixed value is shown as JSON that reads back as the same
    value, another one by its reference. See `toolplan.show.exact`.
    """

    steps: tuple[EffectStep, ...]
    digest: str

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield the lines shown on `screen`."""
        changes = "changes something" if declares_effects(self.steps) else "may change something"
        most = "" if all(each.exact and not each.conditional for each in self.steps) else "at most "
        calls = count_text(sum(each.calls for each in self.steps), "call")
        total = f"{count_text(len(self.steps), 'step')}, {most}{calls}"
        yield from head_lines(f"This plan {changes}: {total}.", "bold yellow", screen)
        for step in self.steps:
            yield from _step_lines(step, screen)
        yield from head_lines(f"digest {self.digest}", "dim", screen)


def approval_text(steps: Sequence[EffectStep], digest: str) -> str:
    """Return the text of `ApprovalView`, each value in one line."""
    return plain(ApprovalView(tuple(steps), digest).lines(Screen(sys.maxsize)))


def _step_lines(step: EffectStep, screen: Screen) -> Iterator[Line]:
    effects = UNDECLARED if step.effects is Effects.UNKNOWN else step.effects.value
    style = "yellow" if step.effects is Effects.WRITE else "bold red"
    name, tool = (exact_name(each, screen.encoding) for each in (step.step, step.tool))
    yield from head_lines(f"  {name}: {tool}, {effects}", style, screen)
    if step.for_each is not None:
        calls = ("" if step.exact else "at most ") + count_text(step.calls, "call")
        yield from value_lines(f"{calls}: one for each of ", step.for_each, screen)
    if step.when is not None:
        yield from value_lines("only if ", step.when.value, screen)
        yield from value_lines(f"  {condition_words(step.when)}: ", step.when.schema, screen)
    for argument, value in step.args.items():
        sign = "=" if isinstance(value, Literal) else "<-"
        yield from value_lines(f"{exact_name(argument, screen.encoding)} {sign} ", value, screen)
    yield from default_lines(step.defaults, screen)
    condition = () if step.when is None else (step.when.value, step.when.schema)
    given = (*step.args.values(), *step.args, dict(step.defaults))
    yield from script_warnings(screen, step.for_each, *condition, *given, step.step, step.tool)
    if step.invented:
        names = ", ".join(exact_name(each, screen.encoding) for each in step.invented)
        yield from head_lines(f"{_INDENT}Attention, not in the question: {names}", _ALARM, screen)


def head_lines(text: str, style: str, screen: Screen) -> Iterator[Line]:
    """Yield a line of prose, wrapped."""
    below = text[: len(text) - len(text.lstrip())] + "  "
    return wrapped((Piece(screen.fit(text), style),), screen.width, below=below)


def declares_effects(steps: Sequence[EffectStep]) -> bool:
    """Return whether one of `steps` declares effects; the others are merely undeclared."""
    return any(step.effects is not Effects.UNKNOWN for step in steps)


def value_lines(head: str, value: Value | Json, screen: Screen) -> Iterator[Line]:
    """Yield `value` after `head`, all of it."""
    width, beside = screen.width, len(_INDENT) + text_width(head)
    below = " " * (beside if beside <= min(_WIDEST_HEAD, width - _ROOM) else len(_INDENT) + 2)
    first, rest = (max(width - each, _NARROWEST) for each in (beside, len(below)))
    before = _INDENT + head
    for line in exact_lines(value, first, rest, screen.encoding):
        yield (Piece(screen.fit(before + line).rstrip()),)
        before = below


def default_lines(defaults: Mapping[str, Json], screen: Screen) -> Iterator[Line]:
    """Yield the arguments that a plan leaves out, and that the tool has values for."""
    for name, value in defaults.items():
        head = f"{exact_name(name, screen.encoding)} {BY_DEFAULT} = "
        yield from value_lines(head, value, screen)


def script_warnings(screen: Screen, *values: Value | Json) -> Iterator[Line]:
    """Yield which letters of `values` look like those of another script."""
    found: dict[str, str] = {}
    for value in values:
        found |= {} if value is None else mixed_scripts(value)
    shown = [f"{exact_text(char)[1:-1]} is {name}" for char, name in found.items()]
    if shown:
        more = ", …" if len(shown) > _MOST_NAMED else ""
        listed = ", ".join(shown[:_MOST_NAMED]) + more
        text = f"{_INDENT}Attention, letters that look like others: {listed}"
        yield from head_lines(text, _ALARM, screen)


def approval_json(steps: Sequence[EffectStep], digest: str) -> dict[str, Json]:
    """Return the content of `ApprovalView` as JSON."""
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
                "when": None
                if step.when is None
                else {"value": dump_value(step.when.value), "is": step.when.schema},
                "calls": step.calls,
                "exact": step.exact,
            }
            for step in steps
        ],
    }
