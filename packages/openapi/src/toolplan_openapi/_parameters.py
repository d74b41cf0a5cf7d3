"""The parameters of an operation, and the arguments of a tool that they become."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.path import Json
from toolplan_openapi._document import Document, Node, Place, Unusable
from toolplan_openapi._keywords import shortened
from toolplan_openapi._schemas import Schemas, Use
from toolplan_openapi._security import NEVER_SENT
from toolplan_openapi._styles import STYLES, Spot, Style, Writing

KEY_HEADER: Final = "idempotency-key"
"""A header parameter of this name is not an argument: it carries the key of the call."""

_SPOTS: Final[dict[str, Spot]] = {
    "path": "path",
    "query": "query",
    "header": "header",
    "cookie": "cookie",
}
_STYLES: Final[dict[str, Style]] = {each: each for listed in STYLES.values() for each in listed}
_SET_ELSEWHERE: Final = frozenset({"accept", "content-type", "authorization"})
"""Header parameters of these names are to be ignored (OpenAPI 3.1, Parameter Object)."""


class Parameter(Struct, frozen=True):
    """A parameter: where it stands, how it is written, and the schema of its argument."""

    spot: Spot
    writing: Writing
    required: bool
    schema: Json


class Parameters(Struct, frozen=True):
    """The parameters of an operation; `key_header` is the name of the one that takes the key."""

    listed: tuple[Parameter, ...] = ()
    key_header: str | None = None


def read_parameters(
    document: Document,
    schemas: Schemas,
    places: Iterable[Place],
    secret: frozenset[tuple[str, str]],
) -> Parameters:
    """Read the parameters of a path and of its operation, which overrides them.

    `secret` are the spots and names (in lower case) that security schemes and settings fill: no
    arguments.

    Raises:
        RemoteReference: a reference leads out of the document.
        Unusable: a parameter cannot be used, and a call needs it.
    """
    found: dict[tuple[str, str], Parameter] = {}
    key_header: str | None = None
    for each in places:
        place = document.follow(each)
        spot, name = place.text("in"), place.text("name")
        lower = name.lower()
        if spot == "header" and lower == KEY_HEADER:
            key_header = name
        elif (spot, lower) in secret or (spot == "header" and lower in _SET_ELSEWHERE):
            continue
        else:
            parameter = _read(schemas, place)
            if parameter is not None:
                found[spot, name] = parameter
    return Parameters(tuple(_distinct(found.values())), key_header)


def _read(schemas: Schemas, place: Place) -> Parameter | None:
    name, spot = place.text("name"), _SPOTS.get(place.text("in"))
    required = place.node.get("required") is True or spot == "path"
    fault = None
    if spot is None or not name:
        fault = "It has no 'name', or an 'in' that is not path, query, header or cookie."
    elif spot == "header" and name.lower() in NEVER_SENT:
        fault = f"The header {name!r} is not for callers to set."
    if fault is not None or spot is None:
        if required:
            raise Unusable(place.pointer, str(fault))
        return None
    writing = _writing(place, name, spot)
    as_json = place.at("content", "application/json", "schema")
    schema = as_json if writing.as_json else place.at("schema")
    return Parameter(spot, writing, required, _argument(schemas, place, schema))


def _writing(place: Place, name: str, spot: Spot) -> Writing:
    if "content" in place.node:
        if "application/json" not in place.at("content").node:
            raise Unusable(place.pointer, "Its content is of a kind that is not written here.")
        return Writing(name, name, STYLES[spot][0], explode=False, as_json=True)
    stated = place.text("style")
    style = STYLES[spot][0] if not stated else _STYLES.get(stated)
    if style is None or style not in STYLES[spot]:
        raise Unusable(place.pointer, f"There is no style {stated!r} in {spot}.")
    explode = place.node.get("explode")
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


def _distinct(parameters: Iterable[Parameter]) -> Iterable[Parameter]:
    """Return `parameters` with arguments of different names: the first keeps its own."""
    taken: set[str] = set()
    for each in parameters:
        name = free_name(each.writing.name, each.spot, taken)
        taken.add(name)
        yield replace(each, writing=replace(each.writing, argument=name))


def free_name(name: str, prefix: str, taken: set[str]) -> str:
    """Return `name`, or one with `prefix` before it, or a number behind, that is not in `taken`."""
    wanted, number = name, 1
    while wanted in taken:
        wanted = f"{prefix}_{name}" if number == 1 else f"{prefix}_{name}_{number}"
        number += 1
    return wanted
