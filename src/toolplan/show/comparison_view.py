"""What differs between two plans, as lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct, field

from toolplan.plan.comparison import Absent, Change, Comparison, StepChange
from toolplan.plan.path import Json
from toolplan.show._lines import Line, Piece, Screen, plain, shown_lines
from toolplan.show.printable import count_text, fit_encoding, printable, visible

_SIGNS: Final = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


class ComparisonView(Struct, frozen=True):
    """A comparison, as it is printed.

    `before` and `after` are marks of steps, by id (`toolplan.show.plan_tree.effect_marks`).
    """

    comparison: Comparison
    before: Mapping[str, str] = field(default_factory=dict[str, str])
    after: Mapping[str, str] = field(default_factory=dict[str, str])

    def lines(self, screen: Screen) -> Iterator[Line]:
        """Yield what is shown on `screen`."""
        yield from shown_lines(_lines(self), screen)

    def text(self, encoding: str = "utf-8") -> str:
        """Return the same as plain text."""
        return fit_encoding(plain(_lines(self)), encoding)


def _lines(view: ComparisonView) -> Iterator[Line]:
    found = view.comparison
    if found.same:
        yield (Piece("The plans make the same calls.", "bold"),)
        return
    for step in found.steps:
        sign, style = _SIGNS[step.kind]
        yield (Piece(f"{sign} {_name(step)}", style), Piece(_mark(step, view), "bold"))
        yield from _changed(step.changes)
    if found.output:
        yield (Piece("~ output", "yellow"),)
        yield from _changed(found.output)
    parts = [
        f"{count_text(count, 'step')} {kind}"
        for kind in _SIGNS
        if (count := sum(each.kind == kind for each in found.steps))
    ]
    if found.output:
        parts.append("the output changed")
    yield (Piece(", ".join(parts) + ".", "bold"),)


def _name(step: StepChange) -> str:
    ids = dict.fromkeys(each for each in (step.before, step.after) if each is not None)
    return f"{printable(' → '.join(ids))}: {printable(step.tool)}"


def _mark(step: StepChange, view: ComparisonView) -> str:
    mark = view.after.get(step.after or "") or view.before.get(step.before or "")
    return f" {mark}" if mark else ""


def _changed(changes: tuple[Change, ...]) -> Iterator[Line]:
    for each in changes:
        where = printable(each.pointer) or "/"
        yield (
            Piece(f"    {where}: "),
            Piece(_value(each.before), "red"),
            Piece(" → "),
            Piece(_value(each.after), "green"),
        )


def _value(value: Json | Absent) -> str:
    # whole and exact: what differs may be the last character
    return "(none)" if isinstance(value, Absent) else visible(json.dumps(value, ensure_ascii=False))
