"""The parameters of an operation: the arguments of a tool that they become, and their styles.

Text that cannot be read back as the value that it came from is refused. Writing a value raises
a ToolError where the style cannot hold it, and UnicodeEncodeError where it holds half a character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, Literal, TypeAlias
from urllib.parse import quote, unquote

from msgspec import Struct
from msgspec.structs import asdict, replace

from toolplan.plan.path import Json, json_type
from toolplan.schema.tool import ToolError
from toolplan_openapi._document import Node, Place, Unusable, free_name, one_of
from toolplan_openapi._http import NEVER_SENT
from toolplan_openapi._schemas import Schemas, Use, shortened

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
    some characters as they are (`allowReserved`). `differs_without` says that leaving it out is not
    the same as null: it is required, or the service has another default.
    """

    argument: str
    name: str
    style: Style
    explode: bool
    as_json: bool = False
    objects_as_json: bool = False
    reserved: bool = False
    differs_without: bool = False


def path_text(writing: Writing, value: Json) -> str:
    """Return the text of a parameter in the path, percent-encoded."""
    if writing.as_json:
        return _segment(writing, _json_text(value))
    texts = _texts(writing, value, _segment)
    if not texts:
        raise refused(writing, f"{json_type(value)} without elements cannot stand in a path")
    match writing.style:
        case "label":
            return "." + ("." if writing.explode else ",").join(texts)
        case "matrix":
            name = f"{quote(writing.name, safe='')}="
            if not writing.explode:
                return f";{name}" + ",".join(texts)
            named = "" if isinstance(value, dict) else name
            return "".join(f";{named}{text}" for text in texts)
        case _:
            return ",".join(texts)


def is_left_out(writing: Writing, value: Json) -> bool:
    """Return whether the parameter is omitted: its value is null, which no request can carry."""
    if value is None and writing.differs_without:
        raise refused(
            writing, "null would be left out, and the service needs a value or has its own"
        )
    return value is None


def query_pairs(writing: Writing, value: Json) -> list[Pair]:
    """Return the pairs of a parameter in a query or a form, percent-encoded; none for null."""
    name = _encoded(writing, writing.name)
    if is_left_out(writing, value):
        return []
    if writing.as_json or (writing.objects_as_json and isinstance(value, dict)):
        return [(name, _encoded(writing, _json_text(value)))]
    if writing.style == "deepObject" and isinstance(value, dict | list):
        return _some(writing, list(_deep(writing, name, value, 0)))
    if not isinstance(value, dict | list):
        return [(name, _encoded(writing, value))]
    if not writing.explode:
        texts = _texts(writing, value, _scalar)
        if texts == [""]:
            raise refused(writing, "a list of one empty text would look like an empty list")
        delimiter, between = _DELIMITERS.get(writing.style, (",", ","))
        # an encoded comma differs from one between elements; of the others both are encoded
        apart = writing.style == "form" and not writing.reserved
        if not apart and any(delimiter in text for text in texts):
            raise refused(writing, f"the {delimiter!r} in it would look like one between elements")
        return [(name, between.join(_encoded(writing, text) for text in texts))]
    if isinstance(value, dict):
        pairs = [(_encoded(writing, k), _encoded(writing, v)) for k, v in value.items()]
    else:
        pairs = [(name, _encoded(writing, each)) for each in value]
    return _some(writing, pairs)


def add_pairs(
    pairs: list[Pair], writing: Writing, value: Json, others: Collection[str] = ()
) -> None:
    """Add the pairs of a parameter to those before it; `others` are names of further parameters."""
    taken = {*others, *(unquote(name) for name, _ in pairs)}
    written = query_pairs(writing, value)
    if clash := taken & {unquote(name) for name, _ in written}:
        raise refused(writing, f"{min(clash)!r} in it is another parameter")
    pairs += written


def _some(writing: Writing, pairs: list[Pair]) -> list[Pair]:
    if not pairs:
        raise refused(writing, "an empty list or object would look like none")
    return pairs


def header_text(writing: Writing, value: Json) -> str:
    """Return the value of a header; the style is `simple`."""
    if writing.as_json:
        text = _json_text(value)
    else:
        parts = _texts(writing, value, _scalar)
        if isinstance(value, dict | list) and any("," in p or p != p.strip(" \t") for p in parts):
            raise refused(writing, "a comma or a blank in it would look like one between elements")
        if isinstance(value, dict) and writing.explode and any("=" in key for key in value):
            raise refused(writing, "the '=' in a key would look like the end of the key")
        if parts == [""] and isinstance(value, list):
            raise refused(writing, "a list of one empty text would look like an empty list")
        text = ",".join(parts)
    if text != text.strip(" \t"):
        raise refused(writing, "the space at its end would be lost in a header")
    if _NOT_IN_A_HEADER.search(text) or not text.isascii():
        raise refused(writing, "it holds a character that cannot stand in a header")
    return text


def _texts(writing: Writing, value: Json, text: Callable[[Writing, Json], str]) -> list[str]:
    """Return the parts of a value, each as `text` writes it."""
    match value:
        case dict() if writing.explode:
            return [f"{text(writing, k)}={text(writing, v)}" for k, v in value.items()]
        case dict():
            return [text(writing, part) for pair in value.items() for part in pair]
        case list():
            return [text(writing, each) for each in value]
        case _:
            return [text(writing, value)]


def _segment(writing: Writing, value: Json) -> str:
    text = _scalar(writing, value)
    if not text:
        raise refused(writing, "an empty text cannot stand in a path")
    if _OUT_OF_PLACE.search(text) or text in (".", ".."):
        raise refused(writing, "it could lead out of its place in the path (ARG_PATH)")
    encoded = quote(text, safe="")
    # a dot separates the elements of a label
    return encoded.replace(".", "%2E") if writing.style == "label" else encoded


def _deep(writing: Writing, name: str, value: Json, level: int) -> Iterator[Pair]:
    if level > _MOST_LEVELS:
        raise refused(writing, f"it is nested deeper than {_MOST_LEVELS}")
    match value:
        case dict() | list() if not value:
            raise refused(writing, "an empty list or object would look like none")
        case dict():
            for key, inner in value.items():
                if "[" in key or "]" in key:
                    raise refused(writing, f"the key {key!r} has a bracket")
                inner_name = f"{name}%5B{_encoded(writing, key)}%5D"
                yield from _deep(writing, inner_name, inner, level + 1)
        case list():
            for at, inner in enumerate(value):
                yield from _deep(writing, f"{name}%5B{at}%5D", inner, level + 1)
        case None:
            return
        case _:
            yield name, _encoded(writing, value)


def _encoded(writing: Writing, value: Json) -> str:
    return quote(_scalar(writing, value), safe=_UNRESERVED_TOO if writing.reserved else "")


def _scalar(writing: Writing, value: Json) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _json_text(value)
        case _:
            raise refused(writing, f"it cannot say {json_type(value)} here")


def _json_text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def refused(writing: Writing, why: str) -> ToolError:
    """Return the error of a value that a request cannot say."""
    return ToolError(f"The argument {writing.argument!r} cannot be sent: {why}.")


KEY_HEADER: Final = "idempotency-key"
"""A header parameter of this name is not an argument: it carries the key of the call."""

_SET_ELSEWHERE: Final = frozenset({"accept", "content-type", "authorization"})
"""Header parameters of these names are to be ignored (OpenAPI 3.1, Parameter Object)."""


class Parameter(Writing, frozen=True, kw_only=True):
    """A parameter: its place, its style, and the schema of its argument."""

    spot: Spot
    required: bool
    schema: Json


def read_parameters(
    schemas: Schemas,
    places: Iterable[Place],
    secret: frozenset[tuple[str, str]],
) -> tuple[tuple[Parameter, ...], str | None]:
    """Return the parameters of an operation, and the name of the header for the call's key.

    Of `places`, those of the path come before those of the operation, which override them. `secret`
    are the spots and names (in lower case) that security schemes and settings fill: no arguments.
    """
    found: dict[tuple[str, str], Parameter] = {}
    key_header: str | None = None
    for place in (each.followed() for each in places):
        spot, name = place.text("in"), place.text("name")
        lower = name.lower()
        if spot == "header" and lower == KEY_HEADER:
            key_header = name
        elif (spot, lower) in secret or (spot == "header" and lower in _SET_ELSEWHERE):
            continue
        elif (parameter := _read(schemas, place)) is not None:
            found[spot, name] = parameter
    listed: list[Parameter] = []
    taken: set[str] = set()
    for each in found.values():  # of two with one name, the first keeps it
        argument = each.name
        if argument in taken:
            argument = free_name(f"{each.spot}_{argument}", taken)
        taken.add(argument)
        listed.append(replace(each, argument=argument))
    return tuple(listed), key_header


def _read(schemas: Schemas, place: Place) -> Parameter | None:
    name, spot = place.text("name"), one_of(place.text("in"), STYLES)
    required = place.node.get("required") is True or spot == "path"
    fault = ""
    if spot is None or not name:
        fault = "It has no 'name', or an 'in' that is not path, query, header or cookie."
    elif spot == "header" and name.lower() in NEVER_SENT:
        fault = f"The header {name!r} is not for callers to set."
    if spot is None or fault:
        if required:
            raise Unusable(place.pointer, fault)
        return None
    if "content" not in place.node:
        writing, schema = read_writing(place, name, spot), place.at("schema")
    elif "application/json" in place.at("content").node:
        writing = Writing(name, name, STYLES[spot][0], explode=False, as_json=True)
        schema = place.at("content", "application/json", "schema")
    else:
        raise Unusable(place.pointer, "Its content is of a kind that is not written here.")
    argument = _argument(schemas, place, schema)
    writing = replace(writing, differs_without=required or has_default(schema))
    return Parameter(**asdict(writing), spot=spot, required=required, schema=argument)


def has_default(schema: Place) -> bool:
    """Return whether a schema states a default other than null."""
    return (schema.node | schema.followed().node).get("default") is not None


def read_writing(place: Place, name: str, spot: Spot) -> Writing:
    """Return how the parameter, or field of a form, at `place` is written."""
    stated, explode = place.text("style"), place.node.get("explode")
    style = one_of(stated or STYLES[spot][0], STYLES[spot])
    if style is None:
        raise Unusable(place.pointer, f"There is no style {stated!r} in {spot}.")
    return Writing(
        name,
        name,
        style,
        explode=explode if isinstance(explode, bool) else style == "form",
        reserved=place.node.get("allowReserved") is True,
    )


def _argument(schemas: Schemas, place: Place, schema: Place) -> Json:
    """Return the schema of an argument: that of the parameter, which may say more of it."""
    node = {} if schema.value is None else schemas.node(schema, Use.REQUEST)
    if not isinstance(node, dict):
        return node
    more: Node = {}
    words = shortened(place.text("description"))
    if place.node.get("deprecated") is True:
        words = f"Deprecated. {words}".strip()
    if words:
        more["description"] = words
    example = place.node.get("example")
    if isinstance(example, str | int | float) and "examples" not in node:
        more["examples"] = [example]
    return {**node, **more}
