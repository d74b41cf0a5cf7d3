"""The operations of a document, each as a tool's declaration and the form of its request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, Tool, ToolObjectError
from toolplan.tools import plain_name
from toolplan_openapi._bodies import Body, read_body, read_media, read_output
from toolplan_openapi._document import Fault, Node, Place, Unusable, free_name, read_root
from toolplan_openapi._http import Requirement, Scheme, read_schemes
from toolplan_openapi._parameters import Parameter, read_parameters
from toolplan_openapi._schemas import OPERATION_HINTS, Schemas, Use, shortened, without_properties

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
"""The effects of a method, and whether it is idempotent (RFC 9110, section 9.2)."""

_EFFECTS: Final = "x-toolplan-effects"
_IDEMPOTENT: Final = "x-toolplan-idempotent"
_OMIT: Final = "x-toolplan-omit"
_LONGEST_ALIAS: Final = 200
_OVERRIDE: Final = re.compile(r"_method|x[-_](http[-_])?method([-_]override)?", re.IGNORECASE)
_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")


class Operation(Struct, frozen=True):
    """One operation of a document.

    Attributes:
        tool: its declaration for planners; without a call. Its effects are those of the method, or
            those of the document's hint where that says more.
        method: in capitals.
        path: the template, with its parameters in braces.
        server: the URL that the document gives for it; it may be relative.
        parameters: where arguments go, besides the body.
        key_header: the header that carries the key of the call, None without one.
        body: the body of the request, or None.
        media: the media types of a successful answer, in lower case; none where not stated.
        omitted: fields of the answer that are left out of the result, such as `success`.
        security: the schemes that a call needs, as alternatives; an empty one needs none.
        pointer: its place in the document.
    """

    tool: Tool
    method: str
    path: str
    server: str
    parameters: tuple[Parameter, ...]
    key_header: str | None
    body: Body | None
    media: tuple[str, ...]
    omitted: tuple[str, ...]
    security: tuple[Requirement, ...]
    pointer: str


class Operations(Struct, frozen=True):
    """The operations of a document, and faults of unusable ones; `server` is the URL of all."""

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
        return _Reader(read_root(document), headers).read()
    except RecursionError:
        raise ToolObjectError("The document is nested too deep.") from None


class _Reader:
    """Reads one document; the schemas that its operations share are converted once."""

    def __init__(self, root: Place, headers: Iterable[str]) -> None:
        self._root = root
        self._schemas = Schemas(root)
        self._schemes = read_schemes(root)
        filled = {(each.kind, each.field.lower()) for each in self._schemes.values()}
        self._secret = frozenset(filled | {("header", name.lower()) for name in headers})
        self._names: set[str] = set()
        self._faults: list[Fault] = []

    def read(self) -> Operations:
        """Return all usable operations."""
        operations: list[Operation] = []
        for method, path, item, place in self._places():
            if len(operations) == MAX_OPERATIONS:
                raise ToolObjectError(f"The document has more than {MAX_OPERATIONS} operations.")
            try:
                operations.append(self._operation(method, path, item, place))
            except Unusable as error:
                self._faults.append(error.fault)
        title = shortened(self._root.at("info").text("title"))
        faults = tuple(self._faults)
        return Operations(title, _server(self._root), tuple(operations), self._schemes, faults)

    def _places(self) -> Iterator[tuple[str, str, Place, Place]]:
        paths = self._root.at("paths")
        for path in paths.node:
            if path.startswith("x-"):
                continue
            try:
                item = paths.at(path).followed()
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
        root, schemas, responses = self._root, self._schemas, place.at("responses")
        if not path.startswith("/"):
            raise Unusable(place.pointer, "Its path does not begin with '/'.")
        stated = (*item.at("parameters").each(), *place.at("parameters").each())
        parameters, key_header = read_parameters(schemas, stated, self._secret)
        in_path = {each.name for each in parameters if each.spot == "path"}
        named = _VARIABLE.findall(path)
        if unsaid := [name for name in named if name not in in_path]:
            raise Unusable(place.pointer, f"No parameter says what {unsaid[0]!r} in its path is.")
        for name in sorted(in_path.difference(named)):  # no argument: it would not be sent
            message = f"Its parameter {name!r} is not in its path, and no argument."
            self._faults.append(Fault(place.pointer, message))
        parameters = tuple(p for p in parameters if p.spot != "path" or p.name in named)
        body = None
        if method not in ("get", "head", "options"):
            taken = {each.argument for each in parameters}
            body = read_body(schemas, place.at("requestBody"), taken)
        output: Json = {"type": "null"} if method == "head" else read_output(schemas, responses)
        omitted = tuple(each for each in place.at(_OMIT).items if isinstance(each, str))
        if isinstance(output, dict):
            output = without_properties(output, omitted)
        name, aliases = self._name(method, path, place)
        tool = Tool(
            name,
            _description(place, item) or f"{method.upper()} {path}.",
            self._input(place, parameters, body, aliases),
            output,
            annotations={"openapi": {"method": method.upper(), "path": path}},
            reports_pages=True,
        )
        secured = place if "security" in place.node else root
        return Operation(
            _with_effects(tool, method, place, parameters, key_header),
            method=method.upper(),
            path=path,
            server=_server(place, item, root),
            parameters=parameters,
            key_header=key_header,
            body=body,
            media=read_media(responses),
            omitted=omitted,
            security=tuple(
                tuple(each) for each in secured.at("security").items if isinstance(each, dict)
            ),
            pointer=place.pointer,
        )

    def _input(
        self,
        place: Place,
        parameters: tuple[Parameter, ...],
        body: Body | None,
        aliases: list[str],
    ) -> Json:
        properties: Node = {each.argument: each.schema for each in parameters}
        required = [each.argument for each in parameters if each.required]
        schema: Node = {"type": "object", "properties": properties, "required": []}
        if body is not None:
            properties.update(body.schemas)
            required.extend(body.required)
            if body.dependent:
                schema["dependentRequired"] = {**body.dependent}
        schema["required"] = [*required]
        schema["additionalProperties"] = False if body is None else body.rest
        schema.update((k, place.node[k]) for k in OPERATION_HINTS if k in place.node)
        if listed := [*place.at("x-aliases").items, *aliases]:
            schema["x-aliases"] = listed
        return self._schemas.whole(schema, Use.REQUEST)

    def _name(self, method: str, path: str, place: Place) -> tuple[str, list[str]]:
        """Return a name that no other operation has, and the id where it is spelt otherwise.

        Without an id, or with one that another operation has, method and path make the name.
        """
        stated = place.text("operationId")
        name = plain_name(stated)
        if not name or name in self._names:
            name, stated = free_name(plain_name(method + path), self._names), ""
        self._names.add(name)
        return name, [stated] if stated != name and 0 < len(stated) <= _LONGEST_ALIAS else []


def _with_effects(
    tool: Tool, method: str, place: Place, parameters: tuple[Parameter, ...], key_header: str | None
) -> Tool:
    """Return `tool` with its effects.

    The method of the request decides; the hints of the document can only raise its effects. A
    parameter that names another method may make any call of it.
    """
    effects, idempotent = _METHODS[method]
    if any(_OVERRIDE.fullmatch(each.name) for each in parameters if each.spot != "path"):
        effects, idempotent = Effects.UNKNOWN, False
    stated, may_repeat = place.text(_EFFECTS), place.node.get(_IDEMPOTENT)
    hinted = replace(
        tool,
        effects=Effects(stated) if stated in set(Effects) else effects,
        idempotent=may_repeat if isinstance(may_repeat, bool) else idempotent,
    )
    doubted = hinted.doubted(effects, idempotent)
    return replace(doubted, idempotent=doubted.idempotent or key_header is not None)


def _description(place: Place, item: Place) -> str:
    summary = place.text("summary") or item.text("summary")
    description = place.text("description") or item.text("description")
    words = dict.fromkeys((summary.strip(), description.strip()))
    text = shortened(" ".join(f"{each.rstrip('.')}." for each in words if each))
    return f"Deprecated. {text}".strip() if place.node.get("deprecated") is True else text


def _server(*places: Place) -> str:
    """Return the first URL of the first of `places` that has any, its variables at the defaults."""
    for place in places:
        if place.at("servers").items:
            server = place.at("servers", 0)
            parts = _VARIABLE.split(server.text("url"))  # text and names of variables in turn
            parts[1::2] = [server.at("variables", each).text("default") for each in parts[1::2]]
            return "".join(parts)
    return "/"
