"""What can go wrong with a call: the code, one sentence that names the model, and the help."""

from __future__ import annotations

import re
from typing import Final

from toolplan.providers._failures import Failure
from toolplan.providers._specs import Spec

KEYED: Final = ("anthropic", "groq", "openai")
"""Providers whose key has an environment variable of its own."""

_KEY_LIKE: Final = re.compile(r"(?=[\w-]*\d)[\w-]{12,}")
_QUOTE_CHARS: Final = 300
_LATER: Final = "Ask again later, or name another model."
_CHANGE: Final = "Name another model, or ask in another way."
_AGAIN: Final = "Ask again, or name another model."
_ADDRESS: Final = "Check that the address is that of a model's API, with /v1 at its end."


def quoted(text: str) -> str:
    """Return what an endpoint said as the end of a sentence; empty where it said nothing.

    >>> quoted("No such model. ")
    ': No such model'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    short = line if len(line) <= _QUOTE_CHARS else line[: _QUOTE_CHARS - 1] + "…"
    return f": {short.rstrip('.')}" if short else ""


def asked_too_much(spec: Spec, said: str) -> Failure:
    """Return the fault L11: the request is longer than the model takes."""
    help = "Ask for less, offer fewer tools, or name a model with a larger context."
    return Failure("llm-context", f"The request is too long for {spec.name}{said}.", help)


def not_allowed(spec: Spec, said: str) -> Failure:
    """Return the fault L10: the key is wrong, or may not use the model.

    Some repeat a key, also one that is not this model's: what may be one is masked.
    """
    said = _KEY_LIKE.sub("***", said)
    return Failure(
        "llm-auth",
        f"{spec.name} refused the key it was given, or needs one{said}.",
        f"Set the key ({_variable(spec)}), and check that it may use this model.",
    )


def no_key(spec: Spec) -> Failure:
    """Return the fault L10: there is no key to send, so no call is made."""
    return Failure(
        "llm-auth",
        f"There is no key for {spec.name}.",
        f"Set {_variable(spec)}, or name a model that needs no key.",
    )


def bad_key(spec: Spec) -> Failure:
    """Return the fault L10: the key cannot be sent."""
    return Failure(
        "llm-auth",
        f"The key for {spec.name} holds characters that no key has.",
        "Copy it again, without quotes and spaces.",
    )


def quota_spent(spec: Spec, said: str) -> Failure:
    """Return the fault L08: the account has nothing left; waiting does not help."""
    reason = f"The quota of {spec.name} is used up{said}."
    return Failure("llm-rate-limit", reason, _CHANGE, lasts=True)


def asked_too_often(spec: Spec, said: str, wait_s: float | None) -> Failure:
    """Return the fault L08: status 429."""
    reason = f"{spec.name} limits the rate of requests{said}."
    return Failure("llm-rate-limit", reason, _LATER, retry_after_s=wait_s)


def too_slow(name: str, what: str) -> Failure:
    """Return the fault L07: nothing came in time; `what` says how long that is."""
    help = "Allow more seconds (TOOLPLAN_MODEL_TIMEOUT), or name another model."
    return Failure("llm-timeout", f"{name} {what}.", help)


def resting(name: str, failures: int, wait_s: float) -> Failure:
    """Return the fault of a call that is not made: the circuit breaker is open."""
    return Failure(
        "llm-unavailable",
        f"{name} failed {failures} times in a row and is not asked for {wait_s:.0f} s.",
        _LATER,
    )


def said_nothing(name: str) -> Failure:
    """Return the fault L01: the reply is whole, and empty."""
    return Failure("llm-empty", f"The reply of {name} is empty.", _CHANGE)


def only_thought(name: str) -> Failure:
    """Return the fault L01: the reply has reasoning (`reasoning_content`), and no text."""
    reason = f"{name} wrote its reasoning (reasoning_content) and no reply after it."
    help = (
        "Allow more tokens (PLANNER_MAX_TOKENS), switch its reasoning off, or name another model."
    )
    return Failure("llm-empty", reason, help)


def said_too_much(name: str, code: str) -> Failure:
    """Return the fault L18 or L19: the reply does not end, or repeats itself."""
    what = "repeats the same text" if code == "llm-degenerate" else "does not end"
    return Failure(code, f"The reply of {name} {what}.", _CHANGE)


def endless(name: str) -> Failure:
    """Return the fault L18: the reply has more bytes than its tokens allow."""
    return Failure("llm-too-long", f"The reply of {name} did not end.", _AGAIN)


def not_available(spec: Spec, said: str, status: int | None, wait_s: float | None) -> Failure:
    """Return the fault L09: status 500 and more."""
    shown = "" if status is None else f" (HTTP {status})"
    reason = f"{spec.name} is not available{shown}{said}."
    return Failure("llm-unavailable", reason, _LATER, retry_after_s=wait_s)


def not_reached(spec: Spec, *, refused: bool) -> Failure:
    """Return the fault L09: no connection, or it broke before anything was answered."""
    reason = f"{spec.name} cannot be reached at {spec.url}."
    help = "Check that it runs, and that the address is right."
    return Failure("llm-unavailable", reason, help, lasts=refused)


def broken_off(name: str) -> Failure:
    """Return the fault L06: the reply ended before it was whole."""
    return Failure("llm-stream-cut", f"The reply of {name} broke off.", _AGAIN)


def no_such_model(spec: Spec, said: str) -> Failure:
    """Return the fault of status 404. The next endpoint of a chain may have its model."""
    return Failure(
        "llm-request",
        f"There is no model {spec.name}{said}.",
        "Check its name and the address, and that it is loaded.",
        lasts=True,
    )


def not_taken(spec: Spec, said: str, *, constrained: bool) -> Failure:
    """Return the fault of status 400 or 422; the schema that was asked for may be why."""
    reason = f"{spec.name} rejected the request{said}."
    return Failure("llm-request", reason, _CHANGE, schema=constrained)


def changed(spec: Spec, said: str) -> Failure:
    """Return the fault of a refused parameter, which the next request does not have."""
    return Failure("llm-request", f"{spec.name} rejected the request{said}.", changed=True)


def sent_elsewhere(spec: Spec, status: int) -> Failure:
    """Return the fault L12: a redirect, not followed: it would take the key to another place."""
    reason = f"{spec.name} answered with a redirect (HTTP {status}), which is not followed."
    return Failure("llm-bad-response", reason, "Name the address that it leads to.")


def no_reply(spec: Spec, said: str) -> Failure:
    """Return the fault L12 or L13: what came is not a reply of a model."""
    reason = f"{spec.name} answered with something that is not a reply of a model{said}."
    return Failure("llm-bad-response", reason, _CHANGE)


def odd_reply(name: str, what: str) -> Failure:
    """Return the fault L12 or L13: `what` is wrong with the reply as a whole."""
    return Failure("llm-bad-response", f"{name} {what}.", _ADDRESS)


def no_reason_to_end(name: str) -> Failure:
    """Return the fault L06: the stream was closed, and nothing says that the reply is whole."""
    reason = f"{name} closed its stream without a finish_reason: the reply may be cut off."
    return Failure("llm-stream-cut", reason, _CHANGE, lasts=True)


def refused(name: str, said: str, *, filtered: bool) -> Failure:
    """Return the fault L02: the model refuses, or a filter does."""
    what = "was stopped by a content filter" if filtered else "refused to answer"
    return Failure("llm-refused", f"{name} {what}{said}.", "Ask in another way.")


def called_a_tool(name: str) -> Failure:
    """Return the fault L14: the model calls a tool in place of an answer."""
    reason = f"{name} called a tool, though none was offered."
    return Failure("llm-unexpected-tool-call", reason, _AGAIN)


def truncated(name: str) -> Failure:
    """Return the fault L05: the limit of tokens was reached."""
    reason = f"The reply of {name} was cut off at its limit of tokens."
    return Failure(
        "llm-truncated", reason, "Allow more tokens (PLANNER_MAX_TOKENS), or ask for less."
    )


def _variable(spec: Spec) -> str:
    """Return how the key of a model is set, as docs/settings.md has it."""
    if spec.provider in KEYED:
        return f"{spec.provider.upper()}_API_KEY"
    return f'TOOLPLAN_MODEL_KEYS=\'{{"{spec.provider}": "KEY"}}\''
