"""Values as JSON: read with the references in their text, written so that they read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from toolplan.path import Json
from toolplan.plan import (
    Array,
    Literal,
    Object,
    Ref,
    Template,
    Value,
    array,
    escape_pointer,
    object_,
)
from toolplan.plan_json._references import OPENING, ParsedText, parse_text, plain_text, print_text
from toolplan.plan_json._report import Report

DEEPEST: Final = 200
"""No limit on depth may be above this: values are taken apart by recursion."""

# a tuple, because `isinstance` is slower with `dict | list`
_NESTED: Final = (dict, list)
_NESTED_TYPES: Final = frozenset(_NESTED)
_MOST_POINTERS: Final = 1_000


class ValueReader(Struct, frozen=True):
    """Reads JSON into values: references out of text, everything else as it is."""

    report: Report
    parse_text: Callable[[str], ParsedText] = parse_text

    def read(self, value: Json, pointer: str, step: str | None) -> Value:
        """Return `value`, found at `pointer`. A bad reference is reported and kept as text."""
        match value:
            case str():
                return self._text(value, pointer, step) if OPENING in value else Literal(value)
            case dict():
                if all(map(is_plain, value.values())):
                    return Literal(dict(value))
                return object_(
                    tuple(
                        (key, self.read(each, f"{pointer}/{escape_pointer(key)}", step))
                        for key, each in value.items()
                    )
                )
            case list():
                if _is_plain_list(value):
                    return Literal(list(value))
                return array(
                    tuple(self.read(each, f"{pointer}/{at}", step) for at, each in enumerate(value))
                )
            case _:
                return Literal(value)

    def member(self, value: Json, around: str, key: str, step: str | None) -> Value:
        """Return `value`, which stands under `key` of the object at `around`."""
        if isinstance(value, str):
            if OPENING not in value:
                return Literal(value)
            if self.parse_text is parse_text and (plain := plain_text(value)) is not None:
                return plain  # nearly always
            parsed = self.parse_text(value)
            if not parsed.problems:  # a pointer is made only where it is reported
                return parsed.value
        elif not isinstance(value, _NESTED):
            return Literal(value)
        elif isinstance(value, list) and _is_plain_list(value):
            return Literal(list(value))
        return self.read(value, f"{around}/{escape_pointer(key)}", step)

    def _text(self, text: str, pointer: str, step: str | None) -> Value:
        parsed = self.parse_text(text)
        for problem in parsed.problems:
            self.report.error("reference-syntax", problem.message, pointer, step, problem.help)
        return parsed.value


def dump_value(
    value: Value, write_text: Callable[[Literal | Ref | Template], str] = print_text
) -> Json:
    """Return the JSON that reads as `value`; text and references are written by `write_text`."""
    match value:
        case Literal():
            literal = value.value
            if type(literal) is str and OPENING not in literal:
                return literal  # nearly always
            return _write_literal(literal, write_text)
        case Ref() | Template():
            return write_text(value)
        case Array(items):
            return [dump_value(each, write_text) for each in items]
        case Object(fields):
            return {key: dump_value(each, write_text) for key, each in fields}


def check_depth(document: Json, most: int, report: Report) -> bool:
    """Report what is nested deeper than `most`; give whether there is nothing."""
    level: list[dict[str, Json] | list[Json]] = [document] if isinstance(document, _NESTED) else []
    for _ in range(min(most, DEEPEST)):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            # the exact types alone: this is done to every value of every plan
            if type(inner) in _NESTED_TYPES and isinstance(inner, _NESTED)
        ]
        if not level:
            return True
    for pointer in _pointers_at(document, min(most, DEEPEST)):
        if report.is_full():
            break
        report.error(
            "too-deep",
            f"Lists and objects are nested deeper than {min(most, DEEPEST)}.",
            pointer,
        )
    return False


def _write_literal(value: Json, write_text: Callable[[Literal | Ref | Template], str]) -> Json:
    match value:
        case str():
            return write_text(Literal(value)) if OPENING in value else value
        case dict():
            return {key: _write_literal(each, write_text) for key, each in value.items()}
        case list():
            return [_write_literal(each, write_text) for each in value]
        case _:
            return value


def is_plain(value: Json) -> bool:
    """Return whether `value` is a scalar that holds neither a reference nor an escape."""
    if isinstance(value, str):
        return OPENING not in value
    return not isinstance(value, _NESTED)


def _is_plain_list(items: list[Json]) -> bool:
    # nearly all lists are of numbers or of short texts
    for each in items:
        if isinstance(each, str):
            if OPENING in each:
                return False
        elif isinstance(each, _NESTED):
            return False
    return True


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _pointers_at(document: Json, depth: int) -> list[str]:
    """Return the pointers of the lists and objects that have `depth` of them around."""
    level: Sequence[tuple[str, Json]] = [("", document)]
    for _ in range(depth):
        level = [
            (f"{pointer}/{escape_pointer(str(key))}", inner)
            for pointer, outer in level
            for key, inner in (
                outer.items() if isinstance(outer, dict) else enumerate(_items(outer))
            )
            if isinstance(inner, _NESTED)
        ][:_MOST_POINTERS]
    return [pointer for pointer, _ in level]
