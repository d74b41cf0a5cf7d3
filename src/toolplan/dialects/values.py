"""Values as the JSON of a dialect whose references have a syntax of their own.

A dialect says how it reads and writes one text, and, where its references are objects, one object;
lists and objects around them are taken apart here. What a dialect cannot say is found by writing a
value and reading it back: whatever the syntax is, nothing is lost silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

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
    template,
)
from toolplan.plan_json import MOST_PROBLEMS, ParsedText, Report, TextProblem

Written: TypeAlias = Literal | Ref | Template
"""What is written as one text: a Literal that is a string, a reference, or both in turn."""

Resolved: TypeAlias = tuple[str | Ref, ...] | TextProblem | None
"""What a match in a text is: parts of the text, a mistake, or None where it is text after all."""


def _no_reference(_: Mapping[str, Json]) -> ParsedText | None:
    return None


class Syntax(Struct, frozen=True):
    """How a dialect writes references.

    `read_text` takes a string, `read_object` an object, and returns None for one that is no
    reference. `write` is the inverse of both; it need not say all that there is.
    """

    read_text: Callable[[str], ParsedText]
    write: Callable[[Written], Json]
    read_object: Callable[[Mapping[str, Json]], ParsedText | None] = _no_reference

    def read(self, value: Json, pointer: str, step: str | None, report: Report) -> Value:
        """Return `value`, which stands at `pointer`. A bad reference is reported and kept."""
        match value:
            case str():
                return _reported(self.read_text(value), pointer, step, report)
            case dict():
                found = self.read_object(value)
                if found is not None:
                    return _reported(found, pointer, step, report)
                return object_(
                    tuple(
                        (key, self.read(each, f"{pointer}/{escape_pointer(key)}", step, report))
                        for key, each in value.items()
                    )
                )
            case list():
                return array(
                    tuple(
                        self.read(each, f"{pointer}/{at}", step, report)
                        for at, each in enumerate(value)
                    )
                )
            case _:
                return Literal(value)

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

    def unsaid(self, value: Value, pointer: str) -> Iterator[tuple[str, Value]]:
        """Yield each innermost part of `value` that would be read otherwise, with its pointer."""
        report = Report()
        back = self.read(self.dump(value), pointer, None, report)
        if back == value and not report.diagnostics:
            return
        found = False
        for token, part in _parts(value):
            for each in self.unsaid(part, f"{pointer}/{token}"):
                found = True
                yield each
        if not found:
            yield pointer, value

    def _dump_literal(self, value: Json) -> Json:
        match value:
            case str():
                return self.write(Literal(value))
            case dict():
                return {key: self._dump_literal(each) for key, each in value.items()}
            case list():
                return [self._dump_literal(each) for each in value]
            case _:
                return value


def read_parts(
    text: str, pattern: re.Pattern[str], resolve: Callable[[re.Match[str]], Resolved]
) -> ParsedText:
    """Parse `text`: each match of `pattern` becomes the result of `resolve`.

    `resolve` looks at what the match holds, and not at where it stands.
    """
    parts: list[str | Ref] = []
    problems: list[TextProblem] = []
    known: dict[str, Resolved] = {}  # a text may be one reference over and over
    at = start = 0
    while len(problems) < MOST_PROBLEMS and (found := pattern.search(text, start)):
        written = found[0]
        resolved = known[written] if written in known else resolve(found)
        known[written] = resolved
        if resolved is None:
            start = found.start() + 1  # what looked like its end may open another
            continue
        start = found.end()
        if isinstance(resolved, TextProblem):
            problems.append(resolved)
            continue
        if at < found.start():
            parts.append(text[at : found.start()])
        parts += resolved
        at = start
    if problems or not parts:
        return ParsedText(Literal(text), tuple(problems))
    return ParsedText(template((*parts, text[at:])))


def write_parts(value: Written, write_ref: Callable[[Ref], str]) -> str:
    """Return `value` as text, its text as it is: nothing is escaped.

    Raises:
        TypeError: the Literal is not a string.
    """
    match value:
        case Literal(str(text)):
            return text
        case Literal():
            raise TypeError("only text is written as text")
        case Ref():
            return write_ref(value)
        case Template(parts):
            return "".join(part if isinstance(part, str) else write_ref(part) for part in parts)


def read_plain(text: str) -> ParsedText:
    """Return the text itself: this syntax has no references."""
    return ParsedText(Literal(text))


def write_none(value: Written) -> Json:
    """Refuse to write: this syntax only reads.

    Raises:
        TypeError: always.
    """
    raise TypeError("this syntax only reads")


def _reported(found: ParsedText, pointer: str, step: str | None, report: Report) -> Value:
    for each in found.problems:
        report.add(each.at(pointer, step))
    return found.value


def _parts(value: Value) -> Iterator[tuple[str, Value]]:
    """Yield what `value` holds, each part with its token of a JSON pointer."""
    match value:
        case Literal(dict() as literal):
            for key, each in literal.items():
                yield escape_pointer(key), Literal(each)
        case Literal(list() as literal):
            for at, each in enumerate(literal):
                yield str(at), Literal(each)
        case Array(items):
            for at, each in enumerate(items):
                yield str(at), each
        case Object(fields):
            for key, each in fields:
                yield escape_pointer(key), each
        case Literal() | Ref() | Template():
            return
