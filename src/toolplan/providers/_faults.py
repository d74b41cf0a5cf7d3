"""The faults of a call, told: one sentence of fact that names the model, and the way out."""

from __future__ import annotations

from typing import Final

from toolplan.providers._failures import Failure
from toolplan.providers._specs import Spec

_QUOTE_CHARS: Final = 300
_LATER: Final = "Ask again later, or name another model."
_CHANGE: Final = "Name another model, or ask in another way."


def quoted(text: str) -> str:
    """Return what an endpoint said as the end of a sentence; empty where it said nothing.

    >>> quoted("No such model. ")
    ': No such model'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    told = line if len(line) <= _QUOTE_CHARS else line[: _QUOTE_CHARS - 1] + "…"
    return f": {told.rstrip('.')}" if told else ""


def asked_too_much(spec: Spec, said: str) -> Failure:
    """L11: the request is longer than the model takes."""
    help_ = "Ask for less, offer fewer tools, or name a model that takes more."
    return Failure("llm-context", f"What was asked is too long for {spec.name}{said}.", help_)


def not_allowed(spec: Spec) -> Failure:
    """L10: the key is wrong, or may not use the model.

    What the endpoint said is not quoted: some repeat the key.
    """
    return Failure(
        "llm-auth",
        f"{spec.name} refused the key it was given, or needs one.",
        f"Set the key ({_variable(spec)}), and look whether it may use this model.",
    )


def no_key(spec: Spec) -> Failure:
    """L10: there is no key to send, so that nothing is asked."""
    return Failure(
        "llm-auth",
        f"There is no key for {spec.name}.",
        f"Set {_variable(spec)}, or name a model that needs no key.",
    )


def quota_spent(spec: Spec, said: str) -> Failure:
    """L08: the account has nothing left, which waiting does not change."""
    reason = f"The quota of {spec.name} is used up{said}."
    return Failure("llm-rate-limit", reason, _CHANGE, lasts=True)


def asked_too_often(spec: Spec, said: str, wait_s: float | None) -> Failure:
    """L08: status 429."""
    reason = f"{spec.name} is asked too often{said}."
    return Failure("llm-rate-limit", reason, _LATER, retry_after_s=wait_s)


def bad_key(spec: Spec) -> Failure:
    """L10: the key cannot be sent."""
    return Failure(
        "llm-auth",
        f"The key for {spec.name} holds characters that no key has.",
        "Copy it once more, without quotes and blanks.",
    )


def too_slow(name: str, what: str) -> Failure:
    """L07: nothing came in time; `what` says how long that is."""
    return Failure("llm-timeout", f"{name} {what}.", _LATER)


def resting(name: str, failures: int, wait_s: float) -> Failure:
    """Not asked: the circuit breaker is open."""
    return Failure(
        "llm-unavailable",
        f"{name} failed {failures} times in a row and is left alone for {wait_s:.0f} s.",
        _LATER,
    )


def said_nothing(name: str) -> Failure:
    """L01: the reply is whole, and empty."""
    return Failure("llm-empty", f"{name} answered with nothing.", _CHANGE)


def said_too_much(name: str, code: str) -> Failure:
    """L18, L19: the reply does not end, or goes in circles."""
    what = "says the same over and over" if code == "llm-degenerate" else "does not end"
    return Failure(code, f"The reply of {name} {what}.", _CHANGE)


def not_available(spec: Spec, said: str, status: int | None, wait_s: float | None) -> Failure:
    """L09: status 500 and more."""
    shown = "" if status is None else f" (HTTP {status})"
    reason = f"{spec.name} is not available{shown}{said}."
    return Failure("llm-unavailable", reason, _LATER, retry_after_s=wait_s)


def not_reached(spec: Spec, *, refused: bool) -> Failure:
    """L09: there was no connection, or it broke before anything was answered."""
    reason = f"{spec.name} cannot be reached at {spec.url}."
    help_ = "Look whether it runs, and whether the address is right."
    return Failure("llm-unavailable", reason, help_, lasts=refused)


def broken_off(spec: Spec) -> Failure:
    """L06: the connection broke while the reply came."""
    return Failure("llm-stream-cut", f"The reply of {spec.name} broke off.", _LATER)


def no_such_model(spec: Spec, said: str) -> Failure:
    """Status 404. It is of this endpoint only: the next of a chain may have its model."""
    return Failure(
        "llm-request",
        f"There is no model {spec.name}{said}.",
        "Look whether its name and the address are right, and whether it is loaded.",
        lasts=True,
    )


def not_taken(spec: Spec, said: str, *, constrained: bool) -> Failure:
    """Status 400 or 422; where the call asked for a schema, that may be why."""
    reason = f"{spec.name} did not take what was asked{said}."
    return Failure("llm-request", reason, _CHANGE, schema=constrained)


def sent_elsewhere(spec: Spec, status: int) -> Failure:
    """L12: a redirect. It is not followed, because a key goes where it was meant to go."""
    reason = f"{spec.name} answered with a redirect (HTTP {status}), which is not followed."
    return Failure("llm-bad-response", reason, "Name the address where the model is.")


def no_reply(spec: Spec, said: str) -> Failure:
    """L12, L13: what came is no reply of a model."""
    reason = f"{spec.name} answered with something that is no reply of a model{said}."
    return Failure("llm-bad-response", reason, _CHANGE)


def _variable(spec: Spec) -> str:
    named = "://" not in spec.provider
    return f"{spec.provider.upper()}_API_KEY" if named else f"TOOLPLAN_MODEL_KEYS, {spec.provider}"
