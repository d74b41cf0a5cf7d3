"""What comes back: JSON by its content type, else text; and what a refusal says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.message import Message
from typing import Final

from msgspec import Struct

from toolplan.path import Json
from toolplan.sources.openapi._request import Request
from toolplan.tools import OutcomeUnknown, ToolError

_LONGEST_REASON: Final = 500
_UNSURE: Final = frozenset({301, 302, 303, 408, 502, 504})
"""Statuses that leave it open whether a call with effects did its work."""

_REASONS: Final = ("message", "detail", "error_description", "title", "error", "reason")


class Response(Struct, frozen=True):
    """A response, read to its end. The names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


def answer_of(request: Request, response: Response) -> Json:
    """Return what a response says: JSON, text, or None where it has no content.

    Raises:
        OutcomeUnknown: the call has effects, and they may have happened.
        ToolError: the service refused, or what it says cannot be read.
    """
    if not 200 <= response.status < 300:
        raise _refusal(request, response)
    if response.status in (204, 205) or request.method == "HEAD" or not response.content:
        return None
    try:
        value = _value(response)
    except ValueError as error:
        text = f"The service answered {response.status}, but {error}."
        # it did what it was asked; only what it says of it is lost
        if not request.has_effects:
            raise ToolError(text) from None
        content = response.content.decode(errors="replace")
        struck = request.credentials.struck(content) if request.credentials else content
        raise OutcomeUnknown(text, returned=(struck,)) from None
    return request.credentials.struck_value(value) if request.credentials else value


def _value(response: Response) -> Json:
    kind, charset = _content_type(response)
    is_json = kind == "application/json" or kind.endswith("+json") or kind == "text/json"
    if is_json or not kind:
        try:
            return json.loads(response.content, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            if is_json:
                raise ValueError("what it sent is not JSON that can be read") from None
    try:
        return response.content.decode(charset)
    except (LookupError, ValueError):
        raise ValueError(f"what it sent ({kind or 'of no type'}) is not text") from None


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


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
    text = response.content.decode(errors="replace")
    try:
        message = _message_in(json.loads(text))
    except (ValueError, RecursionError):
        message = None
    line = " ".join((message or text).split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "..."


def _message_in(value: Json, depth: int = 0) -> str | None:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or depth > 2:
        return None
    found = (_message_in(value[name], depth + 1) for name in _REASONS if name in value)
    return next((each for each in found if each), None)
