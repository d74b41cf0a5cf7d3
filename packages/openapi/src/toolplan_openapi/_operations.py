"""The operations of a document, each as what a tool says of itself and how a call is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from toolplan.path import Json
from toolplan.sources import plain_name
from toolplan.tools import Claim, Effects, Tool, ToolObjectError
from toolplan_openapi._bodies import Body, read_body, read_media, read_output
from toolplan_openapi._document import Document, Fault, Node, Place, Unusable
from toolplan_openapi._parameters import Parameters, read_parameters
from toolplan_openapi._schemas import OPERATION_HINTS, Schemas, Use, shortened
from toolplan_openapi._security import (
    Requirement,
    Scheme,
    read_requirements,
    read_schemes,
    secret_parameters,
)

MAX_OPERATIONS: Final = 10_000

_METHODS: Final[Mapping[str, tuple[Effects, bool]]] = {
    "get": (Effects.READ, True),
    "head": (Effects.READ, True),
    "options": (Effects.READ, True),
    "post": (Effects.WRITE, False),
    "put": (Effects.WRITE, True),
    "patch": (Effects.WRITE, False),
    "delete": (Effects.DESTRUCTIVE, True),
}
"""What a method does, and whether doing it twice is doing it once (RFC 9110, section 9.2)."""

_EFFECTS: Final = "x-toolplan-effects"
_IDEMPOTENT: Final = "x-toolplan-idempotent"
_OMIT: Final = "x-toolplan-omit"
_LONGEST_ALIAS: Final = 200
_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")


class Operation(Struct, frozen=True):
    """One operation of a document.

    Attributes:
        name: what the tool is called; `operation_id` may be spelt otherwise, and is an alias then.
        method: in capitals.
        path: the template, with its parameters in braces.
        servers: the URLs that the document gives for it, the first one first; relative ones too.
        parameters: where arguments go, besides the body.
        body: what is sent; None where nothing is.
        raw_input: the schema of the arguments.
        raw_output: the schema of what a successful call gives, None where it is not known.
        media: the media types of it, in lower case; none where they are not stated.
        effects: what the method says of it, or the document's hint where that says more.
        idempotent: whether a call may be made twice.
        claim: what the hints of the document say that would lower these.
        omitted: fields of the answer that are not part of what the call gives, such as `success`.
        security: which schemes a call needs, as alternatives.
        pointer: where it stands in the document.
    """

    name: str
    description: str
    method: str
    path: str
    servers: tuple[str, ...]
    parameters: Parameters
    body: Body | None
    raw_input: Json
    raw_output: Json
    media: tuple[str, ...]
    effects: Effects
    idempotent: bool
    claim: Claim | None
    omitted: tuple[str, ...]
    security: tuple[Requirement, ...]
    pointer: str


class Operations(Struct, frozen=True):
    """What a document offers, and what of it cannot be used; `server` is the URL of it all."""

    title: str
    server: str
    operations: tuple[Operation, ...]
    schemes: Mapping[str, Scheme]
    faults: tuple[Fault, ...]


def read_openapi(document: Json, headers: Iterable[str] = ()) -> Operations:
    """Read the operations of an OpenAPI document, 3.0 or 3.1, as JSON.

    An operation that cannot be used is left out, and a fault says why. Nothing is fetched.
    Parameters that are one of `headers` become no arguments.

    Raises:
        RemoteReference: a schema or another part is outside of the document.
        ToolObjectError: it is no such document, or it is too large.
    """
    try:
        return _Reader(Document(document), headers).read()
    except RecursionError:
        raise ToolObjectError("The document is nested too deep.") from None


class _Reader:
    """Reads one document; the schemas that its operations share are converted once."""

    def __init__(self, document: Document, headers: Iterable[str]) -> None:
        self._document = document
        self._schemas = Schemas(document)
        self._schemes = read_schemes(document)
        set_ = frozenset(("header", name.lower()) for name in headers)
        self._secret = secret_parameters(self._schemes) | set_
        self._names: set[str] = set()
        self._faults: list[Fault] = []

    def read(self) -> Operations:
        """Return all that can be used."""
        operations: list[Operation] = []
        for method, path, item, place in self._places():
            if len(operations) == MAX_OPERATIONS:
                raise ToolObjectError(f"The document has more than {MAX_OPERATIONS} operations.")
            try:
                operations.append(self._operation(method, path, item, place))
            except Unusable as error:
                self._faults.append(error.fault)
        title = shortened(self._document.root.at("info").text("title"))
        server = self._servers(self._document.root)[0]
        return Operations(title, server, tuple(operations), self._schemes, tuple(self._faults))

    def _places(self) -> Iterator[tuple[str, str, Place, Place]]:
        paths = self._document.root.at("paths")
        for path in paths.node:
            if path.startswith("x-"):
                continue
            try:
                item = self._document.follow(paths.at(path))
            except Unusable as error:
                self._faults.append(error.fault)
                continue
            for method in item.node:
                place = item.at(method)
                if method in _METHODS and isinstance(place.value, dict):
                    yield method, path, item, place
                elif method == "trace":
                    self._faults.append(Fault(place.pointer, "TRACE is never called."))

    def _operation(self, method: str, path: str, item: Place, place: Place) -> Operation:
        if not path.startswith("/"):
            raise Unusable(place.pointer, "Its path does not begin with '/'.")
        parameters = read_parameters(
            self._document, self._schemas, _parameters(item, place), self._secret
        )
        in_path = {p.writing.name for p in parameters.listed if p.spot == "path"}
        if unsaid := [name for name in _VARIABLE.findall(path) if name not in in_path]:
            raise Unusable(place.pointer, f"No parameter says what {unsaid[0]!r} in its path is.")
        taken = {each.writing.argument for each in parameters.listed}
        sends_body = method not in ("get", "head", "options")
        body = (
            read_body(self._document, self._schemas, place.at("requestBody"), taken)
            if sends_body
            else None
        )
        effects, idempotent, claim = _effects(method, place)
        output: Json = {"type": "null"}
        if method != "head":
            output = read_output(self._document, self._schemas, place.at("responses"))
        omitted = tuple(each for each in place.at(_OMIT).items if isinstance(each, str))
        name, aliases = self._name(method, path, place)
        return Operation(
            name=name,
            description=_description(place, item) or f"{method.upper()} {path}.",
            method=method.upper(),
            path=path,
            servers=self._servers(place, item, self._document.root),
            parameters=parameters,
            body=body,
            raw_input=self._input(place, parameters, body, aliases),
            raw_output=_without(output, omitted),
            media=read_media(self._document, place.at("responses")),
            effects=effects,
            idempotent=idempotent or parameters.key_header is not None,
            claim=claim,
            omitted=omitted,
            security=read_requirements(
                place.at("security") if "security" in place.node else self._root("security")
            ),
            pointer=place.pointer,
        )

    def _root(self, key: str) -> Place:
        return self._document.root.at(key)

    def _input(
        self, place: Place, parameters: Parameters, body: Body | None, aliases: list[str]
    ) -> Json:
        properties: Node = {each.writing.argument: each.schema for each in parameters.listed}
        required = [each.writing.argument for each in parameters.listed if each.required]
        schema: Node = {"type": "object", "properties": properties, "required": []}
        if body is not None:
            properties.update(body.schemas)
            required.extend(body.required)
            if body.dependent:
                schema["dependentRequired"] = {k: [*v] for k, v in body.dependent.items()}
        schema["required"] = [*required]
        schema["additionalProperties"] = False if body is None else body.rest
        schema.update((k, place.node[k]) for k in OPERATION_HINTS if k in place.node)
        stated = schema.get("x-aliases")
        if listed := [*(stated if isinstance(stated, list) else []), *aliases]:
            schema["x-aliases"] = [*listed]
        return self._schemas.whole(schema, Use.REQUEST)

    def _name(self, method: str, path: str, place: Place) -> tuple[str, list[str]]:
        """Return a name that no other operation has, and the id where it is spelt otherwise.

        Without an id, or with one that another operation has, method and path make the name.
        """
        stated = place.text("operationId")
        name = plain_name(stated)
        if not name or name in self._names:
            name = plain_name(method + path)
            number = 1
            wanted = name
            while name in self._names:
                number += 1
                name = f"{wanted}_{number}"
            stated = ""
        self._names.add(name)
        spelt = stated != name and 0 < len(stated) <= _LONGEST_ALIAS
        return name, [stated] if spelt else []

    def _servers(self, *places: Place) -> tuple[str, ...]:
        """Return the URLs of the first of `places` that names any."""
        for each in places:
            servers = each.at("servers")
            if servers.items:
                return tuple(_url(servers.at(at)) for at in range(len(servers.items)))
        return ("/",)


def _parameters(item: Place, place: Place) -> Iterator[Place]:
    for each in (item, place):
        listed = each.at("parameters")
        yield from (listed.at(at) for at in range(len(listed.items)))


def _effects(method: str, place: Place) -> tuple[Effects, bool, Claim | None]:
    """Return effects, whether a call may be repeated, and what hints say below that.

    The method is what is sent, so that it counts; the hints of the document can only raise it.
    """
    effects, idempotent = _METHODS[method]
    stated, may_repeat = place.node.get(_EFFECTS), place.node.get(_IDEMPOTENT)
    said = Effects(stated) if isinstance(stated, str) and stated in set(Effects) else effects
    repeats = may_repeat if isinstance(may_repeat, bool) else idempotent
    tool = Tool("", "", None, effects=said, idempotent=repeats).doubted(effects, idempotent)
    return tool.effects, tool.idempotent, tool.claim


def _without(schema: Json, names: tuple[str, ...]) -> Json:
    """Return the schema of an object without the properties `names`."""
    if not names or not isinstance(schema, dict):
        return schema
    made = dict(schema)
    if isinstance(properties := schema.get("properties"), dict):
        made["properties"] = {k: each for k, each in properties.items() if k not in names}
    if isinstance(required := schema.get("required"), list):
        made["required"] = [each for each in required if str(each) not in names]
    return made


def _description(place: Place, item: Place) -> str:
    summary = place.text("summary") or item.text("summary")
    description = place.text("description") or item.text("description")
    words = dict.fromkeys((summary.strip(), description.strip()))
    text = shortened(" ".join(f"{each.rstrip('.')}." for each in words if each))
    return f"Deprecated. {text}".strip() if place.node.get("deprecated") is True else text


def _url(server: Place) -> str:
    """Return the URL of a server with its variables at their defaults."""

    def default(match: re.Match[str]) -> str:
        return server.at("variables", match[1]).text("default")

    return _VARIABLE.sub(default, server.text("url"))
