"""A call of an operation as the request that is sent, and what comes back for it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.message import Message
from typing import Final

from toolplan.path import Json
from toolplan.sources.replies import InexactJson, page_title, read_json
from toolplan.tools import Arguments, Effects, OutcomeUnknown, ToolError
from toolplan_openapi._addresses import Origin
from toolplan_openapi._bodies import Body, encoded, is_json, multipart
from toolplan_openapi._http import Credentials, Request, Response
from toolplan_openapi._operations import Operation
from toolplan_openapi._parameters import Pair, Writing, header_text, path_text, query_pairs

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_COOKIE_VALUE: Final = re.compile(r"[!#-+\--:<-\[\]-~]*")
_KEPT_IN_A_TEMPLATE: Final = "/:@!$&'()*+,;=-._~"


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


_LONGEST_REASON: Final = 500
_UNSURE: Final = frozenset({301, 302, 303, 408, 502, 504})
"""Statuses that leave it open whether a call with effects did its work."""

_PROBLEM: Final = "application/problem+json"
_UTF_8: Final = frozenset({"utf-8", "utf8"})
_REASONS: Final = ("message", "detail", "error_description", "title", "error", "reason")


def answer_of(request: Request, response: Response, media: tuple[str, ...] = ()) -> Json:
    """Return what a response says: JSON, text, or None where it has no content.

    Where JSON is declared among `media`, JSON is read whatever type it was sent as. A web page is
    an answer only where one is declared, or nothing is.

    Raises:
        OutcomeUnknown: the call has effects, and they may have happened.
        ToolError: the service refused, or what it says cannot be read.
    """
    if not 200 <= response.status < 300:
        raise _refusal(request, response)
    if response.status in (204, 205) or request.method == "HEAD" or not response.content.strip():
        return None
    try:
        value = _value(response, media)
    except ValueError as error:
        text = f"The service answered {response.status}, but {error}."
        # it did what it was asked; only what it says of it is lost
        if not request.has_effects:
            raise ToolError(text) from None
        content = response.content.decode(errors="replace")
        struck = request.credentials.struck(content) if request.credentials else content
        raise OutcomeUnknown(text, returned=(struck,)) from None
    return request.credentials.struck_value(value) if request.credentials else value


def _value(response: Response, media: tuple[str, ...]) -> Json:
    """Return what a response holds.

    Raises:
        ValueError: it is not what it says that it is, or not what is declared.
    """
    kind, charset = _content_type(response)
    declared = tuple(each for each in media if is_json(each))
    is_declared = kind in media or "*/*" in media or f"{kind.partition('/')[0]}/*" in media
    is_open = not kind and (bool(declared) or not media)
    if is_json(kind) or is_open or (declared and not is_declared):
        try:
            value = _json(response.content, charset)
        except InexactJson as error:
            raise ValueError(f"what it sent is {error}") from None
        except (ValueError, RecursionError):
            if is_json(kind):
                page = page_title(response.content.decode(errors="replace"))
                what = "not JSON that can be read" if page is None else f"{page} and not JSON"
                raise ValueError(f"what it sent is {what}") from None
        else:
            return _no_problem(kind, media, value)
    text = _text(response.content, kind, charset)
    page = page_title(text)
    if media and not is_declared and (declared or page is not None):
        what = f"text of the type {kind}" if kind else "text of no type"
        said = "" if page else f": {' '.join(text.split())[:_LONGEST_REASON]}"
        raise ValueError(f"it sent {page or what} where {' or '.join(media)} is declared{said}")
    return text


def _json(content: bytes, charset: str) -> Json:
    try:
        return read_json(content)
    except UnicodeDecodeError:
        return read_json(_text(content, "", charset))


def _text(content: bytes, kind: str, charset: str) -> str:
    try:
        return content.decode("utf-8-sig" if charset.lower() in _UTF_8 else charset)
    except (LookupError, ValueError):
        raise ValueError(f"what it sent ({kind or 'of no type'}) is not text") from None


def _no_problem(kind: str, media: tuple[str, ...], value: Json) -> Json:
    """Return `value`, unless it describes a problem (RFC 9457) and no such type is declared."""
    is_problem = (
        kind == _PROBLEM and isinstance(value, dict) and bool({"title", "detail"} & value.keys())
    )
    if is_problem and media and _PROBLEM not in media:
        raise ValueError(f"what it sent describes a problem: {_message_in(value)}")
    return value


def _content_type(response: Response) -> tuple[str, str]:
    message = Message()
    message["Content-Type"] = response.headers.get("content-type", "")
    charset = message.get_param("charset")
    stated = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return stated, charset if isinstance(charset, str) else "utf-8"


def _refusal(request: Request, response: Response) -> ToolError:
    reason = request.credentials.struck(_reason(response))
    text = f"The service answered {response.status}" + (f": {reason}" if reason else ".")
    if 300 <= response.status < 400:
        text = f"The service answered {response.status}, a redirect that is not followed."
    if request.has_effects and response.status in _UNSURE:
        return OutcomeUnknown(text)
    return ToolError(text)


def _reason(response: Response) -> str:
    """Return what the service says of its refusal: the message of the usual forms, or the text."""
    text = response.content.decode("utf-8-sig", errors="replace")
    try:
        message = _message_in(json.loads(text))
    except (ValueError, RecursionError):
        message = page_title(text)
    line = " ".join((message or text).split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "..."


def _message_in(value: Json, depth: int = 0) -> str | None:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or depth > 2:
        return None
    found = (_message_in(value[name], depth + 1) for name in _REASONS if name in value)
    return next((each for each in found if each), None)
