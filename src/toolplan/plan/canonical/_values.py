"""Values as JSON: read with the references in them, written so that they read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.plan.canonical._references import OPENING, ParsedText, parse_text, print_text
from toolplan.plan.canonical._report import Report
from toolplan.plan.model import (
    Array,
    Literal,
    Object,
    Ref,
    Template,
    Value,
    array,
    bare,
    escape_pointer,
    members,
    object_,
)
from toolplan.plan.path import Json

DEEPEST: Final = 200
"""No limit on depth may be above this: values are taken apart by recursion."""

Written: TypeAlias = Literal | Ref | Template
"""What is written as one text: a Literal that is a string, a reference, or both in turn."""

# a tuple, because `isinstance` is slower with `dict | list`
_NESTED: Final = (dict, list)
_MOST_POINTERS: Final = 1_000


def _no_reference(_: Mapping[str, Json]) -> ParsedText | None:
    return None


class Syntax(Struct, frozen=True):
    """How a dialect writes references.

    `read_text` takes a string, `read_object` an object, and returns None for one that is no
    reference. `write` is the inverse of both; it need not say all that there is. Text without
    `mark` is read and written as it is.
    """

    read_text: Callable[[str], ParsedText]
    write: Callable[[Written], Json]
    read_object: Callable[[Mapping[str, Json]], ParsedText | None] = _no_reference
    mark: str = ""

    def read(self, value: Json, pointer: str, step: str | None, report: Report) -> Value:
        """Return `value`, which stands at `pointer`. A bad reference is reported and kept."""
        match value:
            case str():
                found = self.read_text(value)
            case dict():
                found = self.read_object(value)
                if found is None:
                    return object_(tuple(self.read_members(value, pointer, step, report).items()))
            case list():
                items = enumerate(value)
                return array(tuple(self._member(v, pointer, at, step, report) for at, v in items))
            case _:
                return Literal(value)
        for problem in found.problems:
            report.add(problem.at(pointer, step))
        return found.value

    def read_members(
        self, members: Mapping[str, Json], pointer: str, step: str | None, report: Report
    ) -> dict[str, Value]:
        """Return the values of the object at `pointer`, by their keys."""
        return {
            key: self._member(value, pointer, key, step, report) for key, value in members.items()
        }

    def _member(
        self, value: Json, around: str, token: str | int, step: str | None, report: Report
    ) -> Value:
        # the pointer is made only where it may be needed
        if isinstance(value, str):
            if self.mark not in value:
                return Literal(value)
            found = self.read_text(value)
            if not found.problems:
                return found.value
        elif not isinstance(value, _NESTED):
            return Literal(value)
        return self.read(value, f"{around}/{escape_pointer(str(token))}", step, report)

    def dump(self, value: Value) -> Json:
        """Return the JSON that reads as `value`, where the dialect can say it."""
        match value:
            case Literal(literal):
                return self._dump_literal(literal)
            case Ref() | Template():
                return self.write(value)
            case Array(items):
                return [self.dump(each) for each in items]
            case Object(fields):
                return {key: self.dump(each) for key, each in fields}

    def _dump_literal(self, value: Json) -> Json:
        match value:
            case str():
                return self.write(Literal(value)) if self.mark in value else value
            case dict():
                return {key: self._dump_literal(each) for key, each in value.items()}
            case list():
                return [self._dump_literal(each) for each in value]
            case _:
                return value

    def unsaid(self, value: Value, pointer: str) -> Iterator[tuple[str, Value]]:
        """Yield each innermost part of `value` that would be read otherwise, with its pointer."""
        report = Report()
        back = self.read(self.dump(value), pointer, None, report)
        if back == value and not report.diagnostics:
            return
        found = False
        for key, part in members(bare(value)):
            inner = part if isinstance(part, Value) else Literal(part)
            for each in self.unsaid(inner, f"{pointer}/{escape_pointer(str(key))}"):
                found = True
                yield each
        if not found:
            yield pointer, value


CANONICAL: Final = Syntax(parse_text, print_text, mark=OPENING)
"""`${facilities.data[*].id}`"""

dump_value: Final = CANONICAL.dump
"""Return the canonical JSON of a value."""


def check_depth(document: Json, most: int, report: Report) -> bool:
    """Report what is nested deeper than `most`; give whether there is nothing."""
    most = min(most, DEEPEST)
    level: list[dict[str, Json] | list[Json]] = [document] if isinstance(document, _NESTED) else []
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _NESTED)
        ]
        if not level:
            return True
    for pointer in _pointers_at(document, most):
        if not report.is_full():
            said = f"Lists and objects are nested deeper than {most}."
            report.error("too-deep", said, pointer)
    return False


def _pointers_at(document: Json, depth: int) -> list[str]:
    """Return the pointers of the lists and objects that have `depth` of them around."""
    level: Sequence[tuple[str, Json]] = [("", document)]
    for _ in range(depth):
        level = [
            (f"{pointer}/{escape_pointer(str(token))}", inner)
            for pointer, outer in level
            for token, inner in members(outer)
            if isinstance(inner, _NESTED)
        ][:_MOST_POINTERS]
    return [pointer for pointer, _ in level]
