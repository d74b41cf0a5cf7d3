"""Two or more times side by side: "this month and last month", each with a figure of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from toolplan.planners.grounded.dates import DateRange
from toolplan.planners.grounded.parse.conditions import literal
from toolplan.planners.grounded.parse.mentions import Mention, Time
from toolplan.planners.grounded.parse.requests import Modifier, Span

_CUE: Final = re.compile(
    r"^(?:in|of|for|on|from|during|at|with|to|and|vs|versus)\s+", re.IGNORECASE
)


def spans_of(modifier: Modifier) -> tuple[Span, ...]:
    """Return the times that `modifier` sets side by side; none where they overlap or are open."""
    found: list[Span] = []
    for mention in modifier.values:
        what = mention.what
        if not isinstance(what, Time) or modifier.negated:
            return ()
        start, end = what.mention.range
        if start is None or end is None:
            return ()
        found.append(Span(_CUE.sub("", what.mention.text), start, end))
    ordered = sorted(found, key=lambda span: span.first)
    apart = all(one.last < other.first for one, other in pairwise(ordered))
    return tuple(found) if len(found) > 1 and apart else ()


def covering(modifier: Modifier, spans: Sequence[Span]) -> Modifier:
    """Return `modifier` as one time that holds all `spans`."""
    readings = [m.what.mention.reading for m in modifier.values if isinstance(m.what, Time)]
    whole = DateRange(min(span.first for span in spans), max(span.last for span in spans))
    return replace(
        modifier,
        mention=_covering(modifier.mention, whole, "; ".join(dict.fromkeys(readings))),
        alternatives=(),
        evidence=(*modifier.evidence, *modifier.values),
    )


def case(column: str, spans: Sequence[Span]) -> str:
    """Return the SQL expression that names the span in which a row lies."""
    parts = [f"WHEN {_within(column, span)} THEN {literal(span.label)}" for span in spans]
    return f"CASE {' '.join(parts)} END"


def inside(column: str, spans: Sequence[Span]) -> str | None:
    """Return the SQL condition for rows of any span; None where there are no days between them."""
    ordered = sorted(spans, key=lambda span: span.first)
    day = timedelta(days=1)
    if all(one.last + day == other.first for one, other in pairwise(ordered)):
        return None
    return "(" + " OR ".join(_within(column, span) for span in spans) + ")"


def _covering(mention: Mention, whole: DateRange, reading: str) -> Mention:
    match mention.what:
        case Time(time):
            return replace(mention, what=Time(replace(time, range=whole, reading=reading)))
        case _:
            return mention


def _within(column: str, span: Span) -> str:
    behind = span.last + timedelta(days=1)  # a moment on the last day is still within
    return f"{column} >= {literal(span.first)} AND {column} < {literal(behind)}"
