"""YAML read as JSON: the one home of the YAML library.

It is read as version 1.2: `yes`, `on` and dates are text. No tag of the text creates an object.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NamedTuple, cast

import yaml
from msgspec import Struct, field

from toolplan.base.errors import ToolplanError
from toolplan.plan.model import escape_pointer
from toolplan.plan.path import Json

_Loader: type[yaml.SafeLoader] | type[yaml.CSafeLoader]
try:
    _Loader = yaml.CSafeLoader
except AttributeError:  # the library was built without its fast half
    _Loader = yaml.SafeLoader

MAX_VALUES: Final = 10_000_000
"""Maximum number of values of a document with each alias written out."""

_NUMBER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_MERGE: Final = "<<"
_TOO_DEEP: Final = "maximum nesting depth"  # the library's own limit, of a thousand
_NO_TAG: Final = (None, "!")
_STRICT_WORDS: Final[dict[str, Json]] = {
    **dict.fromkeys(("", "~", "null"), None),
    "true": True,
    "false": False,
}
_WORDS: Final[dict[str, Json]] = {
    **_STRICT_WORDS,
    **dict.fromkeys(("Null", "NULL"), None),
    **dict.fromkeys(("True", "TRUE"), True),
    **dict.fromkeys(("False", "FALSE"), False),
}


class YamlError(ToolplanError):
    """A text is not usable YAML. The code is `bad-yaml`; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__("bad-yaml", message)
        self.line = line


class Plain(NamedTuple):
    """A scalar without quotes: its source text, its value by its look, and its line."""

    text: str
    value: Json
    line: int


class Yaml(NamedTuple):
    """The value of a document and, where they are asked for, the line of each JSON pointer."""

    value: Json
    lines: dict[str, int]


def read_yaml(
    text: str,
    *,
    max_depth: int,
    strict: bool = False,
    with_lines: bool = False,
    plain_under: frozenset[str] = frozenset(),
) -> Yaml:
    """Return the value of the YAML `text`.

    With `strict`, aliases, tags, repeated keys and empty documents are refused, and the only
    numbers are integers. Lines are those of a strict document, or of any `with_lines`. Under the
    keys of `plain_under`, scalars without quotes are `Plain`.

    Raises:
        YamlError: it is not YAML, or too large, or nested too deep.
    """
    try:
        parser = _Loader(text)
        return _Reader(parser, max_depth, strict, with_lines or strict, plain_under).document()
    except (yaml.YAMLError, UnicodeEncodeError) as error:  # the latter: half of a character
        marked = error if isinstance(error, yaml.MarkedYAMLError) else yaml.MarkedYAMLError()
        problem = " ".join(str(marked.problem or error).split())[:200]
        last = text.count("\n") + 1  # the end of the text may count as one line more
        at = 1 if marked.problem_mark is None else min(marked.problem_mark.line + 1, last)
        if _TOO_DEEP in problem:
            raise YamlError(f"It is nested deeper than {max_depth}.", at) from None
        raise YamlError(f"It is not YAML: {problem}.", at) from None


class _Reader(Struct):
    """Builds JSON from the events of a parser.

    The value of an alias is built once and shared; its size counts as often as it is named.
    """

    parser: Any
    max_depth: int
    strict: bool
    with_lines: bool
    plain_under: frozenset[str]
    plain_depth: int = 0
    size: int = 0
    named: dict[str, tuple[Json, int]] = field(default_factory=dict[str, tuple[Json, int]])
    lines: dict[str, int] = field(default_factory=dict[str, int])

    def document(self) -> Yaml:
        """Return the only document of the text."""
        self._next()  # the stream begins
        if isinstance(self._next(), yaml.StreamEndEvent):
            if self.strict:
                raise YamlError("There is nothing in it.", 1)
            return Yaml(None, {})
        value = self._value(self._next(), 0, "")
        self._next()  # the document ends
        if not isinstance(event := self._next(), yaml.StreamEndEvent):
            raise YamlError("A second document starts here; one is read.", _line(event))
        return Yaml(value, self.lines)

    def _next(self) -> yaml.Event:
        event: object = self.parser.get_event()
        if not isinstance(event, yaml.Event):
            raise YamlError("It ends too early.", 1)
        return event

    def _value(self, event: yaml.Event, depth: int, pointer: str) -> Json:
        """Return the value that begins with `event`."""
        if self.with_lines:
            self.lines[pointer] = _line(event)
        if self.strict:
            self._refuse_unsafe(event)
        before = self.size
        self.size += 1
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.named:
                message = f"The alias {event.anchor!r} names nothing before it."
                raise YamlError(message, _line(event))
            value, size = self.named[event.anchor]
            self.size = before + size
        elif isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif depth >= self.max_depth:
            raise YamlError(f"It is nested deeper than {self.max_depth}.", _line(event))
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._list(depth, pointer)
        else:
            value = self._mapping(depth, pointer)
        if self.size > MAX_VALUES:
            raise YamlError(f"It has more than {MAX_VALUES} values.", _line(event))
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self.named[anchor] = value, self.size - before
        return value

    def _refuse_unsafe(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise YamlError("An alias ('*name') is not read; write it out.", _line(event))
        tag = getattr(event, "tag", None)
        if tag not in _NO_TAG:
            raise YamlError(f"A tag ({tag!r}) is not read; remove it.", _line(event))

    def _list(self, depth: int, pointer: str) -> Json:
        made: list[Json] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            made.append(self._value(event, depth + 1, f"{pointer}/{len(made)}"))
        return made

    def _mapping(self, depth: int, pointer: str) -> Json:
        made: dict[str, Json] = {}
        merged: dict[str, Json] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if self.strict:
                self._refuse_unsafe(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise YamlError("A key must be text.", _line(event))
            key = str(event.value)
            if key in made:
                raise YamlError(f"The key {key!r} is there twice.", _line(event))
            inner = f"{pointer}/{escape_pointer(key)}" if self.with_lines else ""
            self.plain_depth += key in self.plain_under
            value = self._value(self._next(), depth + 1, inner)
            self.plain_depth -= key in self.plain_under
            if key == _MERGE and event.implicit[0] and not self.strict:
                for each in value if isinstance(value, list) else [value]:
                    merged = {**(each if isinstance(each, dict) else {}), **merged}
            else:
                made[key] = value
        return {**merged, **made} if merged else made

    def _scalar(self, event: yaml.ScalarEvent) -> Json:
        text = str(event.value)
        if not event.implicit[0]:  # it is quoted, or its tag says that it is text
            return text
        words, number = (_STRICT_WORDS, _INTEGER) if self.strict else (_WORDS, _NUMBER)
        value = words.get(text, text)
        if text not in words and number.fullmatch(text) and len(text) < 1_000:
            value = json.loads(text.removeprefix("+"))
        if isinstance(value, float) and math.isinf(value):
            raise YamlError(f"The number {text[:40]} is too large to be stored.", _line(event))
        # the caller that asked for it resolves it, so that the rest of the document stays JSON
        return cast("Json", Plain(text, value, _line(event))) if self.plain_depth else value


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1
