"""Problems of plans as values, and suggestions for misspelt names.

A diagnostic describes the plan as it was written. Where a fix corrected it, it keeps its code and
its severity and says `fixed`. How diagnostics look is a matter of `toolplan.show`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from itertools import groupby, islice
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.base.errors import ToolplanError
from toolplan.base.shown import Shown, short
from toolplan.plan.path import Json

MAX_NAME: Final = 200
"""Longer names are not compared with others, which would take long."""

ABOUT_KEYS: Final = frozenset({"unknown-field", "unknown-argument", "duplicate-key"})
"""Codes of problems of a key: they hold for any value of it."""

_OFFERED: Final = 3
_COMPARED: Final = 12
_LISTED: Final = 12
_LONG_WORD: Final = 5

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")


class Severity(StrEnum):
    """An error keeps a plan from running; a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Removed(StrEnum):
    """The new value of an `Edit` that removes something."""

    REMOVED = "removed"


REMOVED: Final = Removed.REMOVED


NewValue: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | Removed | None"
"""A value, or that there is none."""


class Edit(Struct, frozen=True, eq=False):
    """A JSON pointer into the canonical plan, and the new value at that place.

    `old` is the value that it replaces, as far as the plan was compiled; `REMOVED` for none.
    """

    pointer: str
    value: NewValue
    old: NewValue = REMOVED

    def __eq__(self, other: object) -> bool:
        """Compare the place and the new value."""
        if not isinstance(other, Edit):
            return NotImplemented
        return (self.pointer, self.value) == (other.pointer, other.value)

    def __ne__(self, other: object) -> bool:
        return not self == other  # a struct's own compares identity

    def __hash__(self) -> int:
        return hash((self.pointer, self.value))


class Fix(Struct, frozen=True):
    """Edits that correct one problem.

    A `safe` fix leaves no doubt about what the writer meant; only safe fixes are applied without
    asking.
    """

    safe: bool
    edits: tuple[Edit, ...]


class Diagnostic(Shown, Struct, frozen=True):
    """One problem: `code` names its kind, `pointer` its place in the canonical plan.

    `step` is the id of the step, where the problem is in one. `help` says what to do.
    """

    code: str
    severity: Severity
    message: str
    step: str | None = None
    pointer: str = ""
    help: str | None = None
    fix: Fix | None = None
    fixed: bool = False

    def __repr__(self) -> str:
        place = (
            f"{self.severity.value} at {self.pointer!r}" if self.pointer else self.severity.value
        )
        fixed = ", fixed" if self.fixed else ""
        return f"Diagnostic({self.code!r}, {place}, {short(self.message)}{fixed})"

    @property
    def blocks(self) -> bool:
        """Whether this keeps the plan from running."""
        return self.severity is Severity.ERROR and not self.fixed


def renamed(fix: Fix | None) -> tuple[str, str] | None:
    """Return the old and the new pointer of the key that `fix` renames, None if it does not."""
    match fix:
        case Fix(edits=(Edit(old, Removed()), Edit(new, value))) if not isinstance(value, Removed):
            is_sibling = old.rpartition("/")[0] == new.rpartition("/")[0]
            return (old, new) if is_sibling else None
        case _:
            return None


class CannotExpress(ToolplanError):
    """A dialect cannot write a plan; each of `diagnostics` names a part that it cannot express.

    The code is `cannot-express`.
    """

    def __init__(self, message: str, diagnostics: Iterable[Diagnostic] = ()) -> None:
        super().__init__("cannot-express", message, "The dialect `toolplan` can write every plan.")
        self.diagnostics = tuple(diagnostics)


def to_json(diagnostic: Diagnostic) -> dict[str, Json]:
    """Return the wire form of `diagnostic`."""
    fix = diagnostic.fix
    edits: list[Json] = [
        {"pointer": each.pointer, "remove": True}
        if isinstance(each.value, Removed)
        else {"pointer": each.pointer, "value": each.value}
        for each in (() if fix is None else fix.edits)
    ]
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "step": diagnostic.step,
        "pointer": diagnostic.pointer,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "fix": fix and {"safe": fix.safe, "edits": edits},
        "fixed": diagnostic.fixed,
    }


# Suggestions


class Suggestion(Struct, frozen=True):
    """The names that are `near`, nearest first, and the one that was surely meant, if any."""

    near: tuple[str, ...] = ()
    sure: str | None = None


def suggest(name: str, names: Collection[str]) -> Suggestion:
    """Return the `names` that a writer may have meant by `name`.

    One is sure only where it is the same name spelt otherwise. Likeness alone is not enough:
    `decrypt` and `encrypt` are very alike and mean different things.
    """
    if len(name) > MAX_NAME:
        return Suggestion()
    close = near(name, [each for each in names if len(each) <= MAX_NAME], most=_COMPARED)
    sure = (
        [each for each in close if words(each) == words(name)]
        or [each for each in close if "".join(words(each)) == "".join(words(name))]
        or [each for each in close if is_misspelt(name, each)]
    )
    return Suggestion(tuple(close[:_OFFERED]), sure[0] if len(sure) == 1 else None)


def near(name: str, names: Iterable[str], *, most: int = _OFFERED) -> list[str]:
    """Return the `names` that are like `name`, the nearest first.

    Letter case, hyphens, underscores and spaces do not count as differences.
    """
    folded: dict[str, list[str]] = {}
    for candidate in names:
        folded.setdefault(_folded(candidate), []).append(candidate)
    close = difflib.get_close_matches(_folded(name), folded, n=most, cutoff=0.75)
    return [candidate for key in close for candidate in folded[key]][:most]


def did_you_mean(names: Iterable[str]) -> str | None:
    """Return a question that offers `names`, or None where there are none.

    >>> did_you_mean(["shipments_list", "facilities_list"])
    "Did you mean 'shipments_list' or 'facilities_list'?"
    """
    quoted = list(map(repr, names))
    if not quoted:
        return None
    *first, last = quoted
    return f"Did you mean {', '.join(first)} or {last}?" if first else f"Did you mean {last}?"


def available(kind: str, names: Collection[str]) -> str | None:
    """Return a sentence that lists the first of `names`, or None where there are none.

    >>> available("fields", ["data", "count"])
    'Available fields: data, count.'
    """
    if not names:
        return None
    more = " …" if len(names) > _LISTED else ""
    return f"Available {kind}: {', '.join(islice(names, _LISTED))}{more}."


def words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, however they are separated.

    >>> words("inputImage_2"), words("Image-to-Text")
    (('input', 'image', '2'), ('image', 'to', 'text'))
    """
    return tuple(word.casefold() for word in _WORD.findall(name))


def is_misspelt(name: str, right: str) -> bool:
    """Return whether `name` is `right` with one typing error in one word, or one plural too many.

    The first letter is never the error, and short words have none: `get` is not `set`.

    >>> is_misspelt("shipment_list", "shipments_list"), is_misspelt("custommer", "customer")
    (True, True)
    >>> is_misspelt("decode", "encode"), is_misspelt("min_total", "max_total")
    (False, False)
    >>> is_misspelt("s999", "s99")
    False
    """
    ones, others = words(name), words(right)
    if len(ones) != len(others):
        return False
    different = [(a, b) for a, b in zip(ones, others, strict=True) if a != b]
    if len(different) != 1 or not "".join(different[0]).isalpha():  # 99 is not 999
        return False
    ((one, other),) = different
    if one + "s" == other or other + "s" == one or _single(one) == _single(other):
        return True
    short, long = sorted((one, other), key=len)
    if one[0] != other[0] or len(long) < _LONG_WORD:
        return False
    if len(short) == len(long):
        places = [at for at, pair in enumerate(zip(one, other, strict=True)) if len(set(pair)) > 1]
        swapped = len(places) == 2 and places[1] == places[0] + 1
        return len(places) == 1 or (swapped and sorted(one) == sorted(other))
    return len(long) == len(short) + 1 and any(
        long[:at] + long[at + 1 :] == short for at in range(len(long))
    )


def _single(word: str) -> str:
    """Return `word` without doubled letters: `citty` is `city`."""
    return "".join(letter for letter, _ in groupby(word))


def _folded(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())
