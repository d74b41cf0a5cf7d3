"""Documents in YAML: the one home of its library, which may be missing."""

from __future__ import annotations

import json
import re
from typing import Final, Protocol

import yaml

from toolplan.path import Json
from toolplan.tools import ToolObjectError

_Loader: type[yaml.SafeLoader] | type[yaml.CSafeLoader]
try:
    _Loader = yaml.CSafeLoader
except AttributeError:  # the library was built without its fast half
    _Loader = yaml.SafeLoader

MAX_PARTS: Final = 10_000_000
"""How many values a document has when each alias is written out."""

_MAX_DEPTH: Final = 200
_NUMBER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_MERGE: Final = "<<"
_PLAIN: Final[dict[str, Json]] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def read_yaml(text: str) -> Json:
    """Return the JSON value that the YAML `text` writes.

    It is read as version 1.2 has it: `yes` and `on` are text, and so are dates. Keys become text.

    Raises:
        ToolObjectError: it is no YAML, or too large, or nested in itself.
    """
    try:
        return _Events(_Loader(text)).document()
    except yaml.YAMLError as error:
        line = " ".join(str(error).split())[:200]
        raise ToolObjectError(f"The document is neither JSON nor YAML: {line}") from None


class _Parser(Protocol):
    """What the library gives, one event after the other."""

    def get_event(self) -> object: ...


class _Events:
    """Makes JSON of the events of a parser: no tag of the text makes an object.

    What an alias names is made once and shared; its size counts as often as it is named.
    """

    def __init__(self, parser: _Parser) -> None:
        self._parser = parser
        self._named: dict[str, tuple[Json, int]] = {}

    def document(self) -> Json:
        """Return the one document of the text."""
        self._next()  # the stream begins
        event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            return None
        value = self._value(self._next(), 0)[0]
        self._next()  # the document ends
        if not isinstance(self._next(), yaml.StreamEndEvent):
            raise ToolObjectError("The text has more than one YAML document.")
        return value

    def _next(self) -> yaml.Event:
        event = self._parser.get_event()
        if not isinstance(event, yaml.Event):
            raise ToolObjectError("The document ends too early.")
        return event

    def _value(self, event: yaml.Event, depth: int) -> tuple[Json, int]:
        """Return the value that begins with `event`, and how many values it is made of."""
        if depth > _MAX_DEPTH:
            raise ToolObjectError("The document is nested too deep.")
        match event:
            case yaml.AliasEvent():
                found = self._named.get(str(event.anchor))
                if found is None:
                    raise ToolObjectError(f"The alias {event.anchor!r} names nothing before it.")
                return found
            case yaml.ScalarEvent():
                made = _scalar(event), 1
            case yaml.SequenceStartEvent():
                made = self._listed(depth)
            case _:
                made = self._mapped(depth)
        if made[1] > MAX_PARTS:
            raise ToolObjectError(f"The document has more than {MAX_PARTS} values.")
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            self._named[str(event.anchor)] = made
        return made

    def _listed(self, depth: int) -> tuple[Json, int]:
        made: list[Json] = []
        total = 1
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            value, size = self._value(event, depth + 1)
            made.append(value)
            total += size
        return made, total

    def _mapped(self, depth: int) -> tuple[Json, int]:
        made: dict[str, Json] = {}
        merged: dict[str, Json] = {}
        total = 1
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise ToolObjectError("The document has a key that is no text.")
            key = str(event.value)
            value, size = self._value(self._next(), depth + 1)
            total += size
            if key == _MERGE and event.implicit[0]:
                for each in value if isinstance(value, list) else [value]:
                    merged = {**(each if isinstance(each, dict) else {}), **merged}
            else:
                made[key] = value
        return {**merged, **made} if merged else made, total


def _scalar(event: yaml.ScalarEvent) -> Json:
    text = str(event.value)
    if not event.implicit[0]:  # it is quoted, or its tag says that it is text
        return text
    if text in _PLAIN:
        return _PLAIN[text]
    if _NUMBER.fullmatch(text) and len(text) < 1_000:
        return json.loads(text.removeprefix("+"))
    return text
