"""Failures of single calls, and checked results of tools."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from toolplan.engine import lost as lost_calls
from toolplan.engine._values import Budget, ResultUnusable, TooLarge, snapshot
from toolplan.events import Failure
from toolplan.plan.path import Json
from toolplan.schema import Violation
from toolplan.schema.tool import Arguments, OutcomeUnknown, Tool, ToolError

MAX_MESSAGE: Final = 2_000
"""Maximum number of characters kept of a tool's error message."""

MAX_KEPT: Final = 50_000
"""Maximum number of characters kept of a result that cannot be used."""

_KEPT_DEPTH: Final = 100
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")

_ARGUMENT_CODES: Final[Mapping[str, str]] = {
    "type": "argument-type",
    "value": "argument-value",
    "missing": "missing-argument",
    "unknown": "unknown-argument",
}


def argument_failure(tool: Tool, args: Arguments) -> Failure | None:
    """Return why `tool` does not accept `args`: code and place of the first violation, or None."""
    try:
        if tool.input.is_valid(args):
            return None
        violations = tool.input.violations(args)
    except (ValueError, RecursionError) as error:  # text or nesting that no validator can read
        return Failure(
            "argument-value", f"The arguments cannot be checked: {_text(error)}", "/args"
        )
    if not violations:
        return None
    first, *others = violations
    return Failure(
        _ARGUMENT_CODES[first.kind], _with_others(first, others), f"/args{first.pointer}"
    )


def accepted(tool: Tool, answer: object, depth: int, size: int, kept: Budget) -> Json | Failure:
    """Return a private copy of `answer` as JSON, or why it cannot be used.

    The copy counts as used in `kept`.
    """
    before = kept.used
    try:
        output = snapshot(answer, depth=depth, size=size, kept=kept)
    except TooLarge:
        most = kept.most / 1_000_000
        message = f"With it the results of the run would be larger than {most:g} MB."
        return Failure("result-too-large", message)
    except ResultUnusable as error:
        place = _printable(error.pointer)
        return Failure(error.code, f"The result cannot be used{_at(place)}. {error}")
    except Exception as error:  # another thread may be changing it, for example
        return Failure("result-type", f"The result cannot be read: {_text(error)}")
    if tool.output is None or tool.output.is_valid(output):
        return output
    violations = tool.output.violations(output)
    if not violations:
        return output
    kept.used = before
    first, *others = violations
    return Failure(
        "result-schema",
        f"The result does not fit the tool's output schema{_at(first.pointer)}. "
        + _with_others(first, others),
    )


def kept_result(answer: object) -> Json:
    """Return a result that cannot be used, for the person who decides about its call.

    It is `{"json": …}`, or `{"text": …}` where it is no JSON or too large; then `cut` says whether
    the text was cut.
    """
    try:
        return {"json": snapshot(answer, depth=_KEPT_DEPTH, size=MAX_KEPT)}
    except Exception:  # as in `accepted`
        text = _bounded_text(answer)
    return {"text": text[:MAX_KEPT].encode(errors="replace").decode(), "cut": len(text) > MAX_KEPT}


def _bounded_text(answer: object) -> str:
    if isinstance(answer, str):
        return str.__str__(answer)[: MAX_KEPT + 1]
    encoder = json.JSONEncoder(ensure_ascii=False, default=_short_repr)
    parts: list[str] = []
    left = MAX_KEPT + 1
    try:
        for part in encoder.iterencode(answer):  # lazily: the result may be huge
            parts.append(part[:left])
            left -= len(parts[-1])
            if not left:
                break
    except BaseException:  # the text of an object is code of the tool
        parts.append(f" (the rest of this {type(answer).__name__} cannot be shown)")
    return "".join(parts)


def _short_repr(value: object) -> str:
    return _ADDRESS.sub("", repr(value)[:MAX_MESSAGE])


def returned_with(error: BaseException) -> Json:
    """Return the result that came before `error` was raised, as `kept_result`, or None."""
    for member in lost_calls.members_of(error):
        if (kept := returned_with(member)) is not None:
            return kept
    known = error.returned if isinstance(error, OutcomeUnknown) else ()
    return kept_result(known[0]) if known else None


def tool_failure(error: BaseException, *, repeatable: bool) -> Failure:
    """Return the failure for an exception of a tool, which may be impossible to print.

    Of a call that is not `repeatable` its code says whether the call may have taken effect.
    """
    lost = not repeatable and lost_calls.may_have_happened(error)
    while members := lost_calls.members_of(error):
        error = members[0]  # the message of a group only has the number of errors
    unknown = lost or (isinstance(error, OutcomeUnknown) and error.code == "outcome-unknown")
    return Failure("outcome-unknown" if unknown else "tool-error", _text(error))


def _text(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:  # __str__ is code of the tool
        return f"{name} (its text cannot be read)"
    text = _printable(text.strip())
    if isinstance(error, ToolError) and text:
        return text
    return f"{name}: {text}" if text else name


def _printable(text: str) -> str:
    short = text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 3] + "..."
    return short.encode(errors="replace").decode()


def _at(pointer: str) -> str:
    return f" (at {pointer})" if pointer else ""


def _with_others(first: Violation, others: list[Violation]) -> str:
    return f"{first.message} ({len(others)} more)" if others else first.message
