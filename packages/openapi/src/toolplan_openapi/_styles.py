"""How arguments are written into a request: the styles of OpenAPI parameters.

What is written can be read back: a value that its style cannot distinguish from another is refused,
as is one that would lead out of its place in the path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias
from urllib.parse import quote

from msgspec import Struct

from toolplan.path import Json, json_type
from toolplan.tools import ToolError

Spot: TypeAlias = Literal["path", "query", "header", "cookie"]
Style: TypeAlias = Literal[
    "simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject"
]
Pair: TypeAlias = tuple[str, str]

STYLES: Final[dict[Spot, tuple[Style, ...]]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""The styles of each kind of parameter, its default first."""

_UNRESERVED_TOO: Final = ":/?@!$'()*,;"
_OUT_OF_PLACE: Final = re.compile(r"[/\\\x00-\x1f\x7f]|%(?:2[ef5]|5c|00)", re.IGNORECASE)
_NOT_IN_A_HEADER: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MOST_LEVELS: Final = 8
_DELIMITERS: Final[dict[Style, Pair]] = {
    "form": (",", ","),
    "spaceDelimited": (" ", "%20"),
    "pipeDelimited": ("|", "%7C"),
}


class Writing(Struct, frozen=True):
    """How one parameter, or one field of a form, is written.

    `argument` is its name among the tool's arguments, `name` the one on the wire. `as_json` stands
    for a parameter that takes JSON text; `style` and `explode` mean nothing then. With
    `objects_as_json` that holds for objects only, as forms have it by default. `reserved` leaves
    some characters as they are (`allowReserved`).
    """

    argument: str
    name: str
    style: Style
    explode: bool
    as_json: bool = False
    objects_as_json: bool = False
    reserved: bool = False


def path_text(writing: Writing, value: Json) -> str:
    """Return what stands in the path for a parameter, percent-encoded.

    Raises:
        ToolError: the style cannot say it, or it could lead out of its place in the path.
    """
    if writing.as_json:
        return _segment(writing, _json_text(value))
    name = quote(writing.name, safe="")
    match value:
        case dict():
            pairs = [(_segment(writing, k), _segment(writing, v)) for k, v in value.items()]
            texts = [text for pair in pairs for text in pair]
            exploded = [f"{key}={text}" for key, text in pairs]
        case _:
            elements = value if isinstance(value, list) else [value]
            texts = [_segment(writing, each) for each in elements]
            exploded = [f"{name}={text}" for text in texts] if writing.style == "matrix" else texts
    if not texts:
        raise _refused(writing, f"{json_type(value)} without elements cannot stand in a path")
    match writing.style, writing.explode:
        case "label", True:
            return "." + ".".join(exploded)
        case "label", False:
            return "." + ",".join(texts)
        case "matrix", True:
            return ";" + ";".join(exploded)
        case "matrix", False:
            return f";{name}=" + ",".join(texts)
        case _:
            return ",".join(exploded if writing.explode else texts)


def query_pairs(writing: Writing, value: Json) -> list[Pair]:
    """Return the names and values of a parameter in a query or a form, percent-encoded.

    An argument that is null is left out.

    Raises:
        ToolError: the style cannot say it.
    """
    name = _encoded(writing, writing.name)
    if value is None:
        return []
    if writing.as_json or (writing.objects_as_json and isinstance(value, dict)):
        return [(name, _encoded(writing, _json_text(value)))]
    if writing.style == "deepObject" and isinstance(value, dict | list):
        return list(_deep(writing, name, value, 0))
    match value:
        case dict() if writing.explode:
            return [(_encoded(writing, k), _encoded_scalar(writing, v)) for k, v in value.items()]
        case dict():
            return [(name, _delimited(writing, [part for kv in value.items() for part in kv]))]
        case list() if writing.explode:
            if not value:
                raise _refused(writing, "an empty list would look like none")
            return [(name, _encoded_scalar(writing, each)) for each in value]
        case list():
            return [(name, _delimited(writing, value))]
        case _:
            return [(name, _encoded_scalar(writing, value))]


def header_text(writing: Writing, value: Json) -> str:
    """Return the value of a header; the style is `simple`.

    Raises:
        ToolError: it cannot stand in a header, or the style cannot say it.
    """
    if writing.as_json:
        text = _json_text(value)
    else:
        match value:
            case dict() if writing.explode:
                parts = [f"{k}={_scalar(writing, v)}" for k, v in value.items()]
            case dict():
                parts = [_scalar(writing, part) for kv in value.items() for part in kv]
            case list():
                parts = [_scalar(writing, each) for each in value]
            case _:
                parts = [_scalar(writing, value)]
        if len(parts) > 1 and any("," in part for part in parts):
            raise _refused(writing, "a comma in it would look like one between elements")
        text = ",".join(parts)
    if text != text.strip(" \t"):
        raise _refused(writing, "the space at its end would be lost in a header")
    if _NOT_IN_A_HEADER.search(text) or not text.isascii():
        raise _refused(writing, "it holds a character that cannot stand in a header")
    return text


def _segment(writing: Writing, value: Json) -> str:
    text = _scalar(writing, value)
    if not text:
        raise _refused(writing, "an empty text cannot stand in a path")
    if _OUT_OF_PLACE.search(text) or text in (".", ".."):
        raise _refused(writing, "it could lead out of its place in the path (ARG_PATH)")
    encoded = quote(_unicode(writing, text), safe="")
    # a dot is what sets the elements of a label apart
    return encoded.replace(".", "%2E") if writing.style == "label" else encoded


def _deep(writing: Writing, name: str, value: Json, level: int) -> Iterator[Pair]:
    if level > _MOST_LEVELS:
        raise _refused(writing, f"it is nested deeper than {_MOST_LEVELS}")
    match value:
        case dict():
            for key, inner in value.items():
                if "[" in key or "]" in key:
                    raise _refused(writing, f"the key {key!r} has a bracket")
                inner_name = f"{name}[{_encoded(writing, key)}]"
                yield from _deep(writing, inner_name, inner, level + 1)
        case list():
            if not value:
                raise _refused(writing, "an empty list would look like none")
            for at, inner in enumerate(value):
                yield from _deep(writing, f"{name}[{at}]", inner, level + 1)
        case None:
            return
        case _:
            yield name, _encoded_scalar(writing, value)


def _delimited(writing: Writing, values: list[Json] | list[str]) -> str:
    delimiter, between = _DELIMITERS.get(writing.style, (",", ","))
    texts = [_scalar(writing, value) for value in values]
    if texts == [""]:
        raise _refused(writing, "a list of one empty text would look like an empty list")
    # an encoded comma differs from one between elements; of the others both are encoded
    apart = writing.style == "form" and not writing.reserved
    if not apart and any(delimiter in text for text in texts):
        raise _refused(writing, f"the {delimiter!r} in it would look like one between elements")
    return between.join(_encoded(writing, text) for text in texts)


def _encoded_scalar(writing: Writing, value: Json) -> str:
    return _encoded(writing, _scalar(writing, value))


def _encoded(writing: Writing, text: str) -> str:
    return quote(_unicode(writing, text), safe=_UNRESERVED_TOO if writing.reserved else "")


def _scalar(writing: Writing, value: Json) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _json_text(value)
        case _:
            raise _refused(writing, f"it cannot say {json_type(value)} here")


def _unicode(writing: Writing, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused(writing, "it holds half of a character") from None
    return text


def _json_text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _refused(writing: Writing, why: str) -> ToolError:
    return ToolError(f"The argument {writing.argument!r} cannot be sent: {why}.")
