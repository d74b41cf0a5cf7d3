"""Bounds that no value keeps: "over 3 t and under 1 t" most likely means either."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

from toolplan.path import Json
from toolplan.planners.grounded.parse.conditions import Compared
from toolplan.planners.grounded.parse.linker import Binding, Filter

_Ends: TypeAlias = tuple[list[float | str], list[float | str]]


def exclude_all(bindings: Iterable[Binding]) -> bool:
    """Return whether what is said of one attribute leaves no value of it."""
    ends: dict[str, _Ends] = {}
    for binding in bindings:
        lows, highs = ends.setdefault(binding.attribute.name, ([], []))
        if isinstance(binding, Filter):
            _add_filter(binding, lows, highs)
        elif isinstance(binding.condition, Compared):
            ends_of = {">": lows, "<": highs}.get(binding.condition.operator[0])
            if ends_of is not None:
                _add(binding.condition.value, ends_of)
    return any(lows and highs and _above(lows, highs) for lows, highs in ends.values())


def _add_filter(binding: Filter, lows: list[float | str], highs: list[float | str]) -> None:
    if len(binding.choices) != 1:
        return
    attribute = binding.attribute
    for name, value in binding.choices[0].items():
        if name in (attribute.minimum, attribute.start):
            _add(value, lows)
        elif name in (attribute.maximum, attribute.end):
            _add(value, highs)


def _add(value: Json, ends: list[float | str]) -> None:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        ends.append(value)


def _above(lows: list[float | str], highs: list[float | str]) -> bool:
    if len({isinstance(each, str) for each in (*lows, *highs)}) > 1:
        return False
    numbers = cast("tuple[list[float], list[float]]", (lows, highs))
    return max(numbers[0]) > min(numbers[1])
