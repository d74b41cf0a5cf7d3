"""A call of an operation as the request that is sent, and the response as its result."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

from toolplan.plan.exact_json import InexactJson, read_json
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, OutcomeUnknown, ToolError
from toolplan.tools.replies import page_title
from toolplan_openapi._addresses import Origin
from toolplan_openapi._bodies import CHARSET, is_json
from toolplan_openapi._http import Credentials, Request, Response
from toolplan_openapi._operations import Operation
from toolplan_openapi._parameters import Pair, add_pairs, header_text, is_left_out, path_text
from toolplan_openapi._schemas import shortened

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_KEPT: Final = "/:@!$&'()*+,;=%"
"""Characters of a template that are sent as they are."""


def request_of(
    operation: Operation,
    origin: Origin,
    prefix: str,
    credentials: Credentials,
    arguments: Arguments,
    key: str | None = None,
) -> Request:
    """Return the request for a call of `operation` with `arguments`.

    `prefix` is the path of the server's URL; `key` is the value of the operation's key header.
    """
    in_path: dict[str, str] = {}
    headers: list[Pair] = []
    pairs: dict[str, list[Pair]] = {"query": [], "cookie": []}
    secret = {"query": credentials.query, "cookie": credentials.cookies}
    try:
        for each in operation.parameters:
            value = arguments.get(each.argument)
            if each.spot == "path":
                in_path[each.name] = path_text(each, value)
            elif is_left_out(each, value):
                continue
            elif each.spot == "header":
                headers.append((each.name, header_text(each, value)))
            else:
                others = {
                    p.name for p in operation.parameters if p.spot == each.spot and p is not each
                }
                others |= {unquote(name) for name, _ in secret[each.spot]}
                add_pairs(pairs[each.spot], each, value, others)
        content = media_type = None
        if operation.body is not None:
            elsewhere = {each.argument for each in operation.parameters}
            content, media_type = operation.body.content(arguments, elsewhere)
    except UnicodeEncodeError:
        raise ToolError("The arguments hold half of a character, which cannot be sent.") from None
    if media_type is not None:
        headers.append(("Content-Type", media_type))
    if key is not None and operation.key_header is not None:
        headers.append((operation.key_header, key))
    has_effects = operation.tool.has_effects
    return Request(
        method=operation.method,
        origin=origin,
        target=with_query(_target(prefix, operation.path, in_path), tuple(pairs["query"])),
        headers=tuple(headers),
        content=content,
        cookies=tuple(pairs["cookie"]),
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


def _target(prefix: str, template: str, in_path: Mapping[str, str]) -> str:
    """Fill the template; no value can take the path out of it."""
    parts = _VARIABLE.split(template)  # text and names of variables in turn
    parts[0::2] = [quote(text, _KEPT, errors="replace") for text in parts[0::2]]
    parts[1::2] = [in_path[name] for name in parts[1::2]]
    path = prefix + "".join(parts)
    if any(segment in (".", "..") for segment in path.split("/")):
        raise ToolError("The arguments would lead out of the operation's path (ARG_PATH).")
    return path


_LONGEST_REASON: Final = 500
_UNSURE: Final = frozenset({301, 302, 303, 408, 502, 504})
"""Statuses after which the outcome of a call with effects is unknown."""

_PROBLEM: Final = "application/problem+json"
_UTF_8: Final = frozenset({"utf-8", "utf8"})
_REASONS: Final = ("message", "detail", "error_description", "title", "error", "reason")


def answer_of(request: Request, response: Response, media: tuple[str, ...] = ()) -> Json:
    """Return the result in a response: JSON, text, or None where it has no content.

    Where JSON is declared among `media`, JSON is read from any content type. A web page is
    an answer only where one is declared, or nothing is.

    Raises:
        OutcomeUnknown: the call has effects, and they may have happened.
        ToolError: the service refused, or its response cannot be read.
    """
    if not 200 <= response.status < 300:
        raise _refusal(request, response)
    if response.status in (204, 205) or request.method == "HEAD" or not response.content.strip():
        return None
    try:
        value = _value(response, media)
    except ValueError as error:
        text = f"The service answered {response.status}, but {error}."
        # the service did the work; only its response is lost
        if not request.has_effects:
            raise ToolError(text) from None
        content = response.content.decode(errors="replace")
        raise OutcomeUnknown(text, returned=(request.credentials.mask(content),)) from None
    return request.credentials.mask.every_text(value, names=True)


def _value(response: Response, media: tuple[str, ...]) -> Json:
    """Return the content of a response, as JSON or as text."""
    stated = response.headers.get("content-type", "")
    kind = stated.partition(";")[0].strip().lower()
    found = CHARSET.search(stated)
    charset = "utf-8" if found is None else found[1]
    declared = any(map(is_json, media))
    is_declared = kind in media or "*/*" in media or f"{kind.partition('/')[0]}/*" in media
    is_open = not kind and (declared or not media)
    if is_json(kind) or is_open or (declared and not is_declared):
        try:
            try:
                value = read_json(response.content)
            except UnicodeDecodeError:
                value = read_json(_text(response.content, "", charset))
        except InexactJson as error:
            raise ValueError(f"what it sent is {error}") from None
        except (ValueError, RecursionError):
            if is_json(kind):
                page = page_title(response.content.decode(errors="replace"))
                what = "not JSON that can be read" if page is None else f"{page} and not JSON"
                raise ValueError(f"what it sent is {what}") from None
        else:
            said = {"title", "detail"} & value.keys() if isinstance(value, dict) else set[str]()
            if said and kind == _PROBLEM and media and _PROBLEM not in media:
                raise ValueError(f"what it sent describes a problem: {_message_in(value)}")
            return value
    text = _text(response.content, kind, charset)
    page = page_title(text)
    if media and not is_declared and (declared or page is not None):
        what = f"text of the type {kind}" if kind else "text of no type"
        said = "" if page else f": {' '.join(text.split())[:_LONGEST_REASON]}"
        raise ValueError(f"it sent {page or what} where {' or '.join(media)} is declared{said}")
    return text


def _text(content: bytes, kind: str, charset: str) -> str:
    try:
        return content.decode("utf-8-sig" if charset.lower() in _UTF_8 else charset)
    except (LookupError, ValueError):
        raise ValueError(f"what it sent ({kind or 'of no type'}) is not text") from None


def _refusal(request: Request, response: Response) -> ToolError:
    """Return the error of a refusal: with the message of the usual forms, or the text."""
    said = response.content.decode("utf-8-sig", errors="replace")
    try:
        message = _message_in(json.loads(said))
    except (ValueError, RecursionError):
        message = page_title(said)
    reason = request.credentials.mask(shortened(message or said))
    text = f"The service answered {response.status}" + (f": {reason}" if reason else ".")
    if 300 <= response.status < 400:
        text = f"The service answered {response.status}, a redirect that is not followed."
    if request.has_effects and response.status in _UNSURE:
        return OutcomeUnknown(text)
    return ToolError(text)


def _message_in(value: Json, depth: int = 0) -> str | None:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or depth > 2:
        return None
    found = (_message_in(value[name], depth + 1) for name in _REASONS if name in value)
    return next((each for each in found if each), None)
