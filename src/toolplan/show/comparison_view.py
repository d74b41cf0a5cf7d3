"""The differences between two plans, as lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct, field

from toolplan.plan.comparison import Absent, Change, Comparison
from toolplan.plan.path import Json
from toolplan.show.document import Line, Piece, Screen, plain, wrapped
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
        """Yield the lines shown on `screen`."""
        for line in self._lines():
            fitting = tuple(Piece(screen.fit(text), style) for text, style in line)
            text = "".join(piece.text for piece in fitting)
            indent = text[: len(text) - len(text.lstrip())]
            yield from wrapped(fitting, screen.prose, below=indent + "  ")

    def text(self, encoding: str = "utf-8") -> str:
        """Return the same as plain text."""
        return fit_encoding(plain(self._lines()), encoding)

    def _lines(self) -> Iterator[Line]:
        found = self.comparison
        if found.same:
            yield (Piece("The plans make the same calls.", "bold"),)
            return
        for step in found.steps:
            sign, style = _SIGNS[step.kind]
            ids = dict.fromkeys(each for each in (step.before, step.after) if each is not None)
            name = f"{sign} {printable(' → '.join(ids))}: {printable(step.tool)}"
            mark = self.after.get(step.after or "") or self.before.get(step.before or "")
            yield (Piece(name, style), Piece(f" {mark}" if mark else "", "bold"))
            yield from _changed(step.changes)
        if found.output:
            yield (Piece("~ output", "yellow"),)
            yield from _changed(found.output)
        counts = Counter(step.kind for step in found.steps)
        parts = [f"{count_text(counts[kind], 'step')} {kind}" for kind in _SIGNS if counts[kind]]
        parts += ["the output changed"] if found.output else []
        yield (Piece(", ".join(parts) + ".", "bold"),)


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
    # whole and exact: the difference may be the last character
    return "(none)" if isinstance(value, Absent) else visible(json.dumps(value, ensure_ascii=False))
