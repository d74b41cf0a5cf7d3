"""Sample numbers and texts that fit a schema; rstr generates texts for a pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from fractions import Fraction
from math import ceil, floor, isfinite
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from rstr.xeger import STAR_PLUS_LIMIT, Xeger

from toolplan.plan.path import Json

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

MAX_STEPS: Final = 2_000
"""Maximum length of a pattern and of its sample text, and maximum number of steps for it."""

Parts: TypeAlias = Sequence[dict[str, Any]]
"""Nodes of a schema that one value has to fit, all of them."""

_T = TypeVar("_T")
_USUAL: Final = ascii_lowercase + ascii_uppercase + digits + " -_.:/#"
_GROUP_NAME: Final = re.compile(r"\(\?<(?=\w)")  # as ECMAScript writes it
# sets in sets belong to other dialects; Python warns of what may be one
_OTHER_SETS: Final = re.compile(r"\[\[|--|&&|~~|\|\|")
_MAX_LENGTH: Final = 10_000
_DAY: Final = date(2025, 1, 1)
_LARGEST: Final = 2**53
_LITTLE: Final = Fraction(1, 1_000_000)  # from an exclusive limit to the inclusive one


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


def least(parts: Parts, keyword: str) -> int:
    """Return the largest of the lower bounds that `parts` state under `keyword`, else 0."""
    return int(max((node[keyword] for node in parts if keyword in node), default=0))


def most(parts: Parts, keyword: str, default: int) -> int:
    """Return the smallest of `default` and the upper bounds that `parts` state."""
    return int(min([default, *(node[keyword] for node in parts if keyword in node)]))


def texts(parts: Parts, number: int) -> Iterator[str]:
    """Yield texts that may fit, the likeliest first, different for each `number`."""
    shortest, longest = least(parts, "minLength"), most(parts, "maxLength", _MAX_LENGTH)
    if shortest > longest:
        return
    forms = [form for node in parts if (form := _FORMATS.get(node.get("format", "")))]
    patterns = [node["pattern"] for node in parts if "pattern" in node]
    found = [form(number) for form in forms]
    for pattern in patterns:
        for extra in (0, 1, 2, 4, 8, shortest):
            if (text := text_for(pattern, number, extra)) is not None:
                found += (text, text.ljust(shortest, "x"))
    if not forms and not patterns:
        plain = f"text {number}"
        # the end is what differs
        found.append(plain.ljust(shortest, "x")[max(0, len(plain) - longest) :])
    yield from (text for text in dict.fromkeys(found) if shortest <= len(text) <= longest)


class _Unsupported(Exception):
    """The pattern has no sample text: the work bound is exceeded, or a part matches nothing."""


class _Choices(Random):
    """A deterministic `Random`: `turn` selects options, `extra` adds repeats to the minimum.

    Raises:
        _Unsupported: the text takes more than `MAX_STEPS`, or there is nothing to choose from.
    """

    def __init__(self, turn: int, extra: int) -> None:
        super().__init__(0)
        self._turn = turn
        self._extra = extra
        self._left = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Charge `steps` to the work bound."""
        self._left -= steps
        if self._left < 0:
            raise _Unsupported

    def choice(self, seq: SupportsLenAndGetItem[_T]) -> _T:
        """Select an option; characters are sorted first, since rstr may pass them unordered."""
        self.spend(1 + len(seq) // 100)
        options = [seq[at] for at in range(len(seq))]
        if not options:
            raise _Unsupported
        return sorted(options, key=_rank)[self._turn % len(options)]

    def randint(self, a: int, b: int) -> int:
        """Return a repeat count from `a` to `b`; rstr's bound for `*` and `+` does not apply."""
        count = a + self._extra if b >= STAR_PLUS_LIMIT else max(a, min(b, a + self._extra))
        self.spend(1 + count)
        return count


class _Texts(Xeger):
    """A generator of texts for patterns, with bounded character ranges."""

    def __init__(self, choices: _Choices) -> None:
        super().__init__(choices, printable=ascii_lowercase)
        self._cases = {**self._cases, "range": self._range}
        self._choices = choices

    def _range(self, ends: tuple[int, int]) -> list[str]:
        self._choices.spend((ends[1] - ends[0]) // 100)
        return [chr(code) for code in range(ends[0], ends[1] + 1)]


def _rank(option: object) -> tuple[int, str]:
    """Return the usual characters first; options that are no characters keep their order."""
    if not isinstance(option, str):
        return (0, "")
    at = _USUAL.find(option)
    return (at if at >= 0 else len(_USUAL), option)


def text_for(pattern: str, turn: int = 0, extra: int = 0) -> str | None:
    r"""Return a text that `pattern` should match, None where the pattern is not supported.

    `turn` varies the text; `extra` is the number of repeats of a part beyond its minimum. The text
    is not checked against the pattern; it has at most 2,000 characters.

    >>> text_for("^[A-Z]{2}-[0-9]+$"), text_for("(?:a|b)c?"), text_for(r"\p{L}")
    ('AA-0', 'a', None)
    """
    if len(pattern) > MAX_STEPS or _OTHER_SETS.search(pattern):
        return None
    try:
        text = _Texts(_Choices(turn, extra)).xeger(_GROUP_NAME.sub("(?P<", pattern))
    # a part that Python or rstr does not know, or one that nests too deep
    except (_Unsupported, re.error, LookupError, OverflowError, RecursionError):
        return None
    return text if len(text) <= MAX_STEPS else None


def numbers(parts: Parts, number: int, *, whole: bool) -> Iterator[int | float]:
    """Yield numbers that may fit, different for each `number`."""
    lower = max(_limits(parts, "minimum", "exclusiveMinimum", _LITTLE), default=None)
    upper = min(_limits(parts, "maximum", "exclusiveMaximum", -_LITTLE), default=None)
    steps = [step for node in parts if (step := _exact(node.get("multipleOf")))]
    if whole:
        steps.append(Fraction(1))
    # not a whole number where any will do, so that a plan that needs one fails
    offset = Fraction(0 if steps else 1, 2)
    step = steps[0] if steps else Fraction(1)
    for each in steps[1:]:  # the least common multiple
        step *= (step / each).denominator
    at = number % 1_000
    last = None if upper is None else floor((upper - offset) / step)
    usual = at if last is None else min(at, last)
    first = usual if lower is None else ceil((lower - offset) / step)
    if last is None:
        last = first + at
    if first <= last:
        at = at if first <= at <= last else first + number % (last - first + 1)
        yield _number(at * step + offset)
    elif not steps and lower is not None and upper is not None:
        yield from map(_number, ((lower + upper) / 2, lower, upper))


def _limits(parts: Parts, keyword: str, exclusive: str, inwards: Fraction) -> Iterator[Fraction]:
    """Yield the inclusive bounds that `parts` state, `inwards` of the exclusive ones."""
    for node in parts:
        opened = node.get(exclusive)
        if (bound := _exact(node.get(keyword))) is not None:
            yield bound + inwards if opened is True else bound  # draft 4
        if (bound := _exact(opened)) is not None:
            yield bound + inwards


def _exact(value: Json) -> Fraction | None:
    """Return `value` as it is written, so that 0.1 is a tenth; None where it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return Fraction(value)
    return Fraction(repr(value)) if isfinite(value) else None


def _number(value: Fraction) -> int | float:
    if value.denominator == 1 and abs(value) < _LARGEST:
        return int(value)
    try:
        return float(value)
    except OverflowError:
        return int(value)
