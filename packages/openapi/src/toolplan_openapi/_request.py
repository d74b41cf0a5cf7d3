"""A call of an operation as the request that is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from toolplan.path import Json
from toolplan.tools import Arguments, Effects, ToolError
from toolplan_openapi._addresses import Origin
from toolplan_openapi._bodies import Body
from toolplan_openapi._multipart import encoded, multipart
from toolplan_openapi._operations import Operation
from toolplan_openapi._security import Credentials
from toolplan_openapi._styles import Pair, Writing, header_text, path_text, query_pairs

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_COOKIE_VALUE: Final = re.compile(r"[!#-+\--:<-\[\]-~]*")
_KEPT_IN_A_TEMPLATE: Final = "/:@!$&'()*+,;=-._~"


class Request(Struct, frozen=True):
    """What is sent: `target` is path and query without `credentials`, which are put in last.

    `may_repeat` says that sending it twice does no harm (GET and HEAD), `has_effects` that a call
    that breaks off leaves it open what it did.
    """

    method: str
    origin: Origin
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes | None = None
    cookies: tuple[tuple[str, str], ...] = ()
    credentials: Credentials = field(default_factory=Credentials)
    may_repeat: bool = False
    has_effects: bool = True


class _Pairs:
    """Names and values in a query or in cookies; no name comes from two places."""

    def __init__(self, secret: tuple[Pair, ...]) -> None:
        self.listed: list[Pair] = []
        self._taken = {name for name, _ in secret}

    def add(self, writing: Writing, value: Json) -> None:
        """Write a parameter.

        Raises:
            ToolError: it cannot be written, or an object has a key that is another parameter.
        """
        pairs = query_pairs(writing, value)
        names = {name for name, _ in pairs}
        if clash := self._taken & names:
            raise ToolError(
                f"The argument {writing.argument!r} cannot be sent: {min(clash)!r} in it is "
                "another parameter."
            )
        self._taken |= names
        self.listed.extend(pairs)


def request_of(
    operation: Operation,
    origin: Origin,
    prefix: str,
    credentials: Credentials,
    arguments: Arguments,
    key: str | None = None,
) -> Request:
    """Return the request for a call of `operation` with `arguments`.

    `prefix` is the path of the server's URL; `key` is what the operation's key header carries.

    Raises:
        ToolError: an argument cannot be written as the document has it.
    """
    in_path: dict[str, str] = {}
    query = _Pairs(credentials.query)
    headers: list[tuple[str, str]] = []
    cookies = _Pairs(credentials.cookies)
    for each in operation.parameters.listed:
        writing = each.writing
        value = arguments.get(writing.argument)
        if value is None and each.spot != "path":
            continue
        match each.spot:
            case "path":
                in_path[writing.name] = path_text(writing, value)
            case "query":
                query.add(writing, value)
            case "header":
                headers.append((writing.name, header_text(writing, value)))
            case "cookie":
                cookies.add(writing, value)
    content, media_type = _content(operation.body, arguments, operation)
    if media_type is not None:
        headers.append(("Content-Type", media_type))
    if key is not None and operation.parameters.key_header is not None:
        headers.append((operation.parameters.key_header, key))
    has_effects = operation.effects is not Effects.READ
    return Request(
        method=operation.method,
        origin=origin,
        target=_target(prefix, operation.path, in_path) + _query(query.listed),
        headers=tuple(headers),
        content=content,
        cookies=tuple(cookies.listed),
        credentials=credentials,
        may_repeat=operation.method in ("GET", "HEAD") and not has_effects,
        has_effects=has_effects,
    )


def with_query(target: str, pairs: tuple[Pair, ...]) -> str:
    """Return `target` with `pairs`, which are percent-encoded, added to its query."""
    if not pairs:
        return target
    joined = "&".join(f"{name}={value}" for name, value in pairs)
    return f"{target}{'&' if '?' in target else '?'}{joined}"


def cookie_header(pairs: tuple[Pair, ...]) -> str:
    """Return the value of `Cookie`.

    Raises:
        ToolError: a value cannot stand in it.
    """
    for name, value in pairs:
        if not _COOKIE_VALUE.fullmatch(value):
            raise ToolError(f"The value of the cookie {name!r} cannot be sent.")
    return "; ".join(f"{name}={value}" for name, value in pairs)


def _target(prefix: str, template: str, in_path: Mapping[str, str]) -> str:
    """Fill the template; no value can take the path out of it.

    Raises:
        ToolError: a segment became one that names the folder itself or the one above.
    """
    parts: list[str] = []
    end = 0
    for match in _VARIABLE.finditer(template):
        parts.append(_plain(template[end : match.start()]))
        parts.append(in_path[match[1]])
        end = match.end()
    parts.append(_plain(template[end:]))
    path = prefix + "".join(parts)
    if any(segment in (".", "..") for segment in path.split("/")):
        raise ToolError("The arguments would lead out of the operation's path (ARG_PATH).")
    return path


def _plain(text: str) -> str:
    """Return a piece of the template as it is sent; what no path can have is encoded."""
    return "".join(
        c if (c.isascii() and c.isalnum()) or c in _KEPT_IN_A_TEMPLATE or c == "%" else _hex(c)
        for c in text
    )


def _hex(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode(errors="replace"))


def _query(pairs: list[Pair]) -> str:
    return "?" + "&".join(f"{name}={value}" for name, value in pairs) if pairs else ""


def _content(
    body: Body | None, arguments: Arguments, operation: Operation
) -> tuple[bytes | None, str | None]:
    if body is None:
        return None, None
    if body.fields is None:
        if body.whole not in arguments:
            return None, None
        given = arguments[body.whole]
    else:
        given = _fields(body, body.fields, arguments, operation)
        if not given and not body.required:
            return None, None
    match body.kind:
        case "json":
            return encoded(json.dumps(given, ensure_ascii=False)), body.media_type
        case "text":
            return encoded(str(given)), body.media_type
        case "form":
            return _form(body, given), body.media_type
        case "multipart":
            fields = given if isinstance(given, dict) else {}
            return multipart(fields, body.files, body.types)


def _fields(
    body: Body, fields: Mapping[str, str], arguments: Arguments, operation: Operation
) -> dict[str, Json]:
    elsewhere = {each.writing.argument for each in operation.parameters.listed}
    return {
        fields.get(argument, argument): value
        for argument, value in arguments.items()
        if argument in fields or (body.rest is not False and argument not in elsewhere)
    }


def _form(body: Body, given: Json) -> bytes:
    pairs: list[Pair] = []
    for name, value in given.items() if isinstance(given, dict) else ():
        writing = body.writings.get(name)
        if writing is None:
            raise ToolError(f"The argument {name!r} is not in the form's schema.")
        pairs.extend(query_pairs(writing, value))
    return "&".join(f"{name}={value}" for name, value in pairs).encode()
