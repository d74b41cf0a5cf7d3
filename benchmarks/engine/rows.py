"""One line of the table of figures, and how it is written."""

from __future__ import annotations

from typing import NamedTuple

from toolplan.plan.path import Json


class Row(NamedTuple):
    """A figure.

    Attributes:
        name: what is measured.
        measured: the figure.
        goal: what it is held against; None where it is only shown.
        is_most: whether the figure may not be above the goal; else it may not be below it.
        beside: what was measured beside it.
    """

    name: str
    measured: float
    goal: float | None = None
    is_most: bool = True
    beside: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the goal is met; true where there is none."""
        if self.goal is None:
            return True
        return self.measured <= self.goal if self.is_most else self.measured >= self.goal


def to_json(row: Row) -> dict[str, Json]:
    """Return the wire form of `row`."""
    return {
        "name": row.name,
        "measured": row.measured,
        "goal": row.goal,
        "bound": "at most" if row.is_most else "at least",
        "is_met": row.is_met,
        "beside": row.beside,
    }


def heading() -> str:
    """Return the first line of the table."""
    return f"{'':62}{'goal':>10}{'measured':>12}"


def line(row: Row) -> str:
    """Return the line of `row`."""
    goal = "" if row.goal is None else f"{'≤' if row.is_most else '≥'} {row.goal:,g}"
    verdict = "" if row.goal is None else "met" if row.is_met else "NOT MET"
    whole = row.measured == int(row.measured) or row.measured >= 1_000
    digits = 0 if whole else 3 if row.measured < 10 else 1
    return f"{row.name:62}{goal:>10}{row.measured:>12,.{digits}f}  {verdict:9}{row.beside}".rstrip()
