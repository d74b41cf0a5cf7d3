"""What comes back: read as the media type that the document declares; and what a refusal says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.message import Message
from typing import Final

from msgspec import Struct

from toolplan.path import Json
from toolplan.sources.replies import InexactJson, page_title, read_json
from toolplan.tools import OutcomeUnknown, ToolError
from toolplan_openapi._bodies import is_json
from toolplan_openapi._request import Request

_LONGEST_REASON: Final = 500
_UNSURE: Final = frozenset({301, 302, 303, 408, 502, 504})
"""Statuses that leave it open whether a call with effects did its work."""

_PROBLEM: Final = "application/problem+json"
_UTF_8: Final = frozenset({"utf-8", "utf8"})
_REASONS: Final = ("message", "detail", "error_description", "title", "error", "reason")


class Response(Struct, frozen=True):
    """A response, read to its end. The names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


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
