"""What an endpoint says in place of a reply: error objects, lists of faults, pages."""

from __future__ import annotations

import html
import json
import re
from typing import Final, cast

from msgspec import Struct

from toolplan.path import Json

_MOST_BYTES: Final = 50_000
_MOST_FAULTS: Final = 3
_DEPTH: Final = 4
_TITLE: Final = re.compile(
    r"<(title|h1)\b[^>]*>(?P<text>.*?)</(?:title|h1)>", re.DOTALL | re.IGNORECASE
)
_WORDS: Final = ("message", "detail", "msg", "error_message", "error_description", "reason")
_AROUND: Final = ("error", "errors", "detail", "details", "message")


class ErrorObject(Struct, frozen=True):
    """An error as APIs write it; a missing part is an empty text.

    `param` is the parameter that it names, a path with dots.
    """

    message: str = ""
    code: str = ""
    kind: str = ""
    param: str = ""


def error_of_body(body: bytes) -> ErrorObject | None:
    """Return what `body`, the answer to a request that failed, says; None where that is nothing.

    >>> error_of_body(b"<html><title>502 Bad Gateway</title></html>").message
    '502 Bad Gateway'
    """
    text = body.decode("utf-8-sig", "replace").strip()
    try:
        found = error_in(cast("Json", json.loads(text)))
    except (ValueError, RecursionError):
        found = None
    if found is not None:
        return found
    text = text[:_MOST_BYTES]
    if text.startswith(("{", "[")):
        return None
    if title := title_of(text):
        return ErrorObject(title)
    return ErrorObject(text) if text and not text.startswith("<") else None


def title_of(page: str) -> str:
    """Return the title of an HTML page, or its first heading; empty where it has none."""
    found = _TITLE.search(page)
    return html.unescape(" ".join(found["text"].split())) if found is not None else ""


def error_in(answer: Json) -> ErrorObject | None:
    """Return the error that `answer` holds, None where it holds none.

    >>> error_in({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs"}]}).param
    'body.seed'
    """
    if isinstance(answer, list):
        return next((found for each in answer[:1] if (found := error_in(each))), None)
    if not isinstance(answer, dict):
        return None
    for key in _AROUND:
        if answer.get(key):
            return _error(answer, key)
    return None


def _error(answer: dict[str, Json], key: str) -> ErrorObject:
    inner = answer[key]
    facts = inner if isinstance(inner, dict) else answer
    fault = inner[0] if isinstance(inner, list) else inner
    param = facts.get("param") or _place(fault)
    code, kind = facts.get("code"), facts.get("type")
    return ErrorObject(
        _words(inner, _DEPTH),
        str(code) if isinstance(code, str | int) and not isinstance(code, bool) else "",
        kind if isinstance(kind, str) else str(facts.get("status") or ""),
        param if isinstance(param, str) else "",
    )


def _words(said: Json, depth: int) -> str:
    """Return the text in `said`, whichever of the usual forms it has."""
    if isinstance(said, str):
        return _unwrapped(said, depth)
    if isinstance(said, list):
        texts = [_words(each, depth - 1) for each in said[:_MOST_FAULTS]] if depth else []
        return "; ".join(filter(None, texts))
    if not isinstance(said, dict) or not depth:
        return ""
    text = next((found for key in _WORDS if (found := _words(said.get(key), depth - 1))), "")
    if place := _place(said):
        return f"{place}: {text}"
    metadata = said.get("metadata")
    more = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(more, str) and more:  # a router says what the endpoint behind it said
        text = f"{text} ({_unwrapped(more, depth)})" if text else more
    return text or _words(said.get("error"), depth - 1) or str(said.get("code") or "")


def _unwrapped(text: str, depth: int) -> str:
    """Return the message in `text` where it is an error object in JSON."""
    if depth and text.lstrip().startswith("{"):
        try:
            found = error_in(cast("Json", json.loads(text)))
        except (ValueError, RecursionError):
            return text
        return (found.message if found else "") or text
    return text


def _place(fault: Json) -> str:
    place = fault.get("loc") if isinstance(fault, dict) else None
    return ".".join(map(str, place)) if isinstance(place, list) else ""
