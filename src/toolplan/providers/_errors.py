"""Errors that endpoints send in place of a reply: their words and their meaning."""

from __future__ import annotations

import base64
import html
import json
import re
from itertools import groupby
from typing import Final, cast
from urllib.parse import quote

from msgspec import Struct

from toolplan.plan.path import Json
from toolplan.providers._endpoint import KEYED, Failure, Spec
from toolplan.providers._limits import timed_out

MASK: Final = "***"
AGAIN: Final = "Ask again, or name another model."
LATER: Final = "Ask again later, or name another model."
CHANGE: Final = "Name another model, or ask in another way."

_LEAST: Final = 8
"""The shortest part of a key that is taken out; shorter ones stand in ordinary words."""
_QUOTE_CHARS: Final = 300
_MOST_BYTES: Final = 50_000
_MOST_FAULTS: Final = 3
_DEPTH: Final = 6
_SERVER_ERROR: Final = 500
_KEY_LIKE: Final = re.compile(r"(?=[\w-]*\d)[\w-]{12,}")
_TITLE: Final = re.compile(
    r"<(title|h1)\b[^>]*>(?P<text>.*?)</(?:title|h1)>", re.DOTALL | re.IGNORECASE
)
_AROUND: Final = ("error", "errors", "detail", "details", "message")
_WORDS: Final = (
    "message", "detail", "msg", "error_message", "error_description", "reason", "error",
)  # fmt: skip
_QUOTA: Final = frozenset((
    "billing_error", "billing_hard_limit_reached", "credit_balance_exhausted",
    "insufficient_quota", "organization_spend_limit_exceeded",
    "organization_usage_limit_exceeded", "project_spend_limit_exceeded",
))  # fmt: skip
_NO_CREDIT: Final = re.compile("credit balance is too low", re.IGNORECASE)
_TOO_LONG: Final = re.compile(
    "maximum context length|prompt is too long|reduce the length of the messages", re.IGNORECASE
)
_FILTERED: Final = re.compile(
    "content management policy|content_filter|responsibleaipolicyviolation", re.IGNORECASE
)
"""Phrases of content filters that reject a question before a model reads it."""
_STATUSES: Final = {
    **dict.fromkeys(("authentication_error", "invalid_api_key"), 401),
    "permission_error": 403,
    **dict.fromkeys(("model_not_found", "not_found_error"), 404),
    "request_too_large": 413,
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "too_many_requests"), 429),
    **dict.fromkeys(("api_error", "server_error"), 500),
    **dict.fromkeys(("overloaded", "server_is_overloaded"), 503),
    **dict.fromkeys(("service_unavailable", "service_unavailable_error"), 503),
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP status by the code or the type in an error body."""


class ErrorObject(Struct, frozen=True):
    """An error as APIs write it; a missing part is an empty text.

    `param` is the parameter that it names, a path with dots.
    """

    message: str = ""
    code: str = ""
    kind: str = ""
    param: str = ""


def error_of_body(body: bytes) -> ErrorObject:
    """Return the error object in `body`, the answer to a failed request.

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
    if text.startswith(("{", "[", "<")):
        text = title_of(text)
    return ErrorObject(text)


def title_of(page: str) -> str:
    """Return the title of an HTML page, or its first heading; empty where it has none."""
    found = _TITLE.search(page) if page.startswith("<") else None
    return html.unescape(" ".join(found["text"].split())) if found is not None else ""


def error_in(answer: Json) -> ErrorObject | None:
    """Return the error that `answer` holds, None where it holds none.

    >>> error_in({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs"}]}).param
    'body.seed'
    """
    if isinstance(answer, list):
        return error_in(answer[0]) if answer else None
    if not isinstance(answer, dict):
        return None
    inner = next((found for key in _AROUND if (found := answer.get(key))), None)
    if inner is None:
        return None
    facts = inner if isinstance(inner, dict) else answer
    param = facts.get("param") or _place(inner[0] if isinstance(inner, list) else inner)
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
        if depth and said.lstrip().startswith("{"):  # an error object in a text
            try:
                return _words(cast("Json", json.loads(said)), depth - 1) or said
            except (ValueError, RecursionError):
                return said
        return said
    if isinstance(said, list) and depth:
        return "; ".join(filter(None, (_words(each, depth - 1) for each in said[:_MOST_FAULTS])))
    if not isinstance(said, dict) or not depth:
        return ""
    text = next((found for key in _WORDS if (found := _words(said.get(key), depth - 1))), "")
    if place := _place(said):
        return f"{place}: {text}"
    metadata = said.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str) and raw:  # a router quotes the endpoint behind it
        return f"{text} ({_words(raw, depth - 1)})"
    return text


def _place(fault: Json) -> str:
    place = fault.get("loc") if isinstance(fault, dict) else None
    return ".".join(map(str, place)) if isinstance(place, list) else ""


def quoted(text: str) -> str:
    """Quote the words of an endpoint as the end of a sentence; empty without words.

    >>> quoted("No such model. ")
    ': No such model'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    short = line if len(line) <= _QUOTE_CHARS else line[: _QUOTE_CHARS - 1] + "…"
    return f": {short.rstrip('.')}" if short else ""


def without_key(text: str, key: str) -> str:
    """Return `text` with every part of `key` masked that has 8 characters or more.

    So is the key in base64 or percent signs, and a shorter key as a whole.

    >>> without_key("The key sk-0123456789 is wrong, said (…456789ab).", "sk-0123456789ab")
    'The key *** is wrong, said (…***).'
    """
    raw = key.encode()
    # The first and the last character of base64 depend on what stands beside the key.
    shifted = [base64.b64encode(b" " * at + raw).decode() for at in range(3)]
    forms = {key, quote(key, safe=""), *(s[4 * bool(at) : -4] for at, s in enumerate(shifted))}
    parts = {
        form[at : at + _LEAST]
        for form in filter(None, forms)
        for at in range(max(1, len(form) - _LEAST + 1))
    }
    masked: set[int] = set()
    for size in {len(part) for part in parts}:
        for at in range(len(text) - size + 1):
            if text[at : at + size] in parts:
                masked.update(range(at, at + size))
    return "".join(
        MASK if hidden else "".join(text[at] for at in places)
        for hidden, places in groupby(range(len(text)), masked.__contains__)
    )


def meaning(
    spec: Spec,
    error: ErrorObject,
    said: str,
    status: int | None,
    wait_s: float | None,
    *,
    constrained: bool,
) -> Failure | None:
    """Return the failure that an error of an endpoint means; None if unknown.

    `said` is its message as the end of a sentence, `status` that of HTTP, None for an error inside
    of a reply. `constrained` says that a schema was sent, which may be the reason.
    """
    name = spec.name
    status = status or _STATUSES.get(error.code) or _STATUSES.get(error.kind) or 0
    if {error.code, error.kind} & _QUOTA or _NO_CREDIT.search(error.message):
        status = 402
    elif error.code == "context_length_exceeded" or _TOO_LONG.search(error.message):
        status = 413
    elif error.code == "content_filter" or _FILTERED.search(error.message):
        return refused(name, said, filtered=True)
    match status:
        case 400 | 422:
            reason = f"{name} rejected the request{said}."
            return Failure("llm-request", reason, CHANGE, schema=constrained)
        case 401 | 403:
            # Some repeat a key, perhaps another model's: whatever resembles one is masked.
            reason = f"{name} refused the key it was given, or needs one"
            help = f"Set the key ({key_setting(spec)}), and check that it may use this model."
            return Failure("llm-auth", f"{reason}{_KEY_LIKE.sub(MASK, said)}.", help)
        case 402:
            reason = f"The quota of {name} is used up{said}."
            return Failure("llm-rate-limit", reason, CHANGE, lasts=True)
        case 404:  # the next endpoint of a chain may have its model
            help = "Check its name and the address, and that it is loaded."
            return Failure("llm-request", f"There is no model {name}{said}.", help, lasts=True)
        case 408:
            return timed_out(name, "did not answer in time")
        case 413:
            help = "Ask for less, offer fewer tools, or name a model with a larger context."
            return Failure("llm-context", f"The request is too long for {name}{said}.", help)
        case 429:
            reason = f"{name} limits the rate of requests{said}."
            return Failure("llm-rate-limit", reason, LATER, retry_after_s=wait_s)
        case _ if status >= _SERVER_ERROR:
            return unavailable(name, said, status, wait_s)
        case _:
            return None


def unavailable(name: str, said: str, status: int | None, wait_s: float | None = None) -> Failure:
    """Return the failure of an endpoint that cannot answer now."""
    shown = f" (HTTP {status})" if status else ""
    reason = f"{name} is not available{shown}{said}."
    return Failure("llm-unavailable", reason, LATER, retry_after_s=wait_s)


def refused(name: str, said: str, *, filtered: bool) -> Failure:
    """Return the failure of a refusal, by the model or by a filter."""
    what = "was stopped by a content filter" if filtered else "refused to answer"
    return Failure("llm-refused", f"{name} {what}{said}.", "Ask in another way.")


def key_setting(spec: Spec) -> str:
    """Return how the key of a model is set, as docs/settings.md has it."""
    if spec.provider in KEYED:
        return f"{spec.provider.upper()}_API_KEY"
    return f'TOOLPLAN_MODEL_KEYS=\'{{"{spec.provider}": "KEY"}}\''
