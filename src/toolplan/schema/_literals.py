"""Sample numbers and texts that fit a schema."""

from __future__ import annotations

import fractions
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from math import ceil, floor, isfinite
from typing import Final

from toolplan.path import Json
from toolplan.schema._pattern import text_for

_MAX_LENGTH: Final = 10_000
_DAY: Final = date(2025, 1, 1)
_LARGEST: Final = 2**53


def _day(number: int) -> str:
    return (_DAY + timedelta(number % 20_000)).isoformat()


_FORMATS: Final[Mapping[str, Callable[[int], str]]] = {
    "date": _day,
    "date-time": lambda number: f"{_day(number)}T12:00:00Z",
    "time": lambda number: f"12:{number % 60:02d}:00Z",
    "duration": lambda number: f"P{number % 1_000 + 1}D",
    "email": lambda number: f"a{number}@b.example",
    "idn-email": lambda number: f"a{number}@b.example",
    "hostname": lambda number: f"host{number}.example.com",
    "idn-hostname": lambda number: f"host{number}.example.com",
    "ipv4": lambda number: f"192.0.2.{number % 254 + 1}",
    "ipv6": lambda number: f"2001:db8::{number % 65_535 + 1:x}",
    "uri": lambda number: f"https://example.com/{number}",
    "uri-reference": lambda number: f"/{number}",
    "iri": lambda number: f"https://example.com/{number}",
    "iri-reference": lambda number: f"/{number}",
    "uri-template": lambda number: f"https://example.com/{number}",
    "uuid": lambda number: f"{number % 2**32:08x}-0000-4000-8000-000000000000",
    "json-pointer": lambda number: f"/{number}",
    "relative-json-pointer": lambda number: f"{number}",
    "regex": lambda number: f"^{number}$",
}


def texts(parts: Sequence[dict[str, Json]], number: int) -> Iterator[str]:
    """Yield texts that may fit all of `parts`, the likeliest first, different for each `number`."""
    least = max([0, *sizes(parts, "minLength")])
    most = min([_MAX_LENGTH, *sizes(parts, "maxLength")])
    if least > most:
        return
    yielded: set[str] = set()
    for text in _texts(parts, number, least):
        if least <= len(text) <= most and text not in yielded:
            yielded.add(text)
            yield text
    if not any("pattern" in part or part.get("format") in _FORMATS for part in parts):
        plain = f"text {number}"
        # the end is what differs
        yield plain.ljust(least, "x") if len(plain) <= most else plain[len(plain) - most :]


def _texts(parts: Sequence[dict[str, Json]], number: int, least: int) -> Iterator[str]:
    for part in parts:
        form = part.get("format")
        if isinstance(form, str) and form in _FORMATS:
            yield _FORMATS[form](number)
    for part in parts:
        pattern = part.get("pattern")
        if isinstance(pattern, str):
            for extra in (0, 1, 2, 4, 8, least):
                text = text_for(pattern, number, extra)
                if text is not None:
                    yield text
                    yield text.ljust(least, "x")


def numbers(parts: Sequence[dict[str, Json]], number: int, *, whole: bool) -> Iterator[int | float]:
    """Yield numbers that may fit all of `parts`, different for each `number`."""
    least, most = _limits(parts)
    steps = [fractions.Fraction(1)] if whole else []
    for part in parts:
        step = _fraction(part.get("multipleOf"))
        if step is not None and step > 0:
            steps.append(step)
    if not steps:
        # not a whole number, so that a plan that needs one fails
        wanted = fractions.Fraction(2 * (number % 1_000) + 1, 2)
        yield from map(_number, _between(wanted, least, most))
        return
    step = _common(steps)
    first = None if least is None else ceil(least / step)
    last = None if most is None else floor(most / step)
    wanted_at = number % 1_000
    if first is not None and last is not None and first > last:
        return
    if last is not None and wanted_at > last:
        wanted_at = last - (number % (last - first + 1) if first is not None else 0)
    if first is not None and wanted_at < first:
        wanted_at = first + (number % (last - first + 1) if last is not None else number % 1_000)
    yield _number(wanted_at * step)


def _between(
    wanted: fractions.Fraction, least: fractions.Fraction | None, most: fractions.Fraction | None
) -> Iterator[fractions.Fraction]:
    """Yield numbers between two limits; either may be None."""
    if (least is None or least < wanted) and (most is None or wanted < most):
        yield wanted
    elif least is not None and most is not None:
        yield (least + most) / 2
        yield least
        yield most
    elif least is not None:
        yield least + wanted
    elif most is not None:
        yield most - wanted


def _limits(
    parts: Sequence[dict[str, Json]],
) -> tuple[fractions.Fraction | None, fractions.Fraction | None]:
    """Return the inclusive limits; an exclusive one is moved by a little."""
    least: list[fractions.Fraction] = []
    most: list[fractions.Fraction] = []
    for part in parts:
        for name, exclusive, found, way in (
            ("minimum", "exclusiveMinimum", least, 1),
            ("maximum", "exclusiveMaximum", most, -1),
        ):
            bound = _fraction(part.get(name))
            opened = part.get(exclusive)
            if bound is not None:
                found.append(_moved(bound, way) if opened is True else bound)
            outer = _fraction(opened)
            if outer is not None:
                found.append(_moved(outer, way))
    return max(least, default=None), min(most, default=None)


def _moved(bound: fractions.Fraction, way: int) -> fractions.Fraction:
    return bound + way * fractions.Fraction(1, 1_000_000)


def _common(steps: list[fractions.Fraction]) -> fractions.Fraction:
    """Return the least common multiple."""
    common = steps[0]
    for step in steps[1:]:
        ratio = common / step
        common = common * ratio.denominator
    return common


def _fraction(value: Json) -> fractions.Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not isfinite(value):
        return None
    # as it is written: 0.1 is a tenth
    return fractions.Fraction(value) if isinstance(value, int) else fractions.Fraction(repr(value))


def _number(value: fractions.Fraction) -> int | float:
    if value.denominator == 1 and abs(value) < _LARGEST:
        return int(value)
    try:
        return float(value)
    except OverflowError:
        return int(value)


def sizes(parts: Iterable[dict[str, Json]], name: str) -> list[int]:
    """Return the integers that `parts` have for the keyword `name`."""
    values = (part.get(name) for part in parts)
    return [
        int(value)
        for value in values
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
