"""What went wrong with one call, said as a `Failure`; and answers of tools, taken over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from toolplan.engines._values import ResultUnusable, snapshot
from toolplan.events import Failure
from toolplan.path import Json
from toolplan.schema import Violation
from toolplan.tools import Arguments, OutcomeUnknown, Tool, ToolError

MAX_MESSAGE: Final = 2_000
"""A tool may say anything of its failure; this many characters of it are kept."""

_ARGUMENT_CODES: Final[Mapping[str, str]] = {
    "type": "argument-type",
    "value": "argument-value",
    "missing": "missing-argument",
    "unknown": "unknown-argument",
}


def argument_failure(tool: Tool, args: Arguments) -> Failure | None:
    """Say what `tool` does not accept about `args`, the first complaint as code and place."""
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


def accepted(tool: Tool, answer: object, *, depth: int, size: int) -> Json | Failure:
    """Return `answer` as JSON that the tool can no longer change, or say why it cannot be used."""
    try:
        output = snapshot(answer, depth=depth, size=size)
    except ResultUnusable as error:
        place = _printable(error.pointer)
        return Failure(error.code, f"The result cannot be used{_at(place)}. {error}")
    except Exception as error:  # another thread goes on changing it, say
        return Failure("result-type", f"The result cannot be read: {_text(error)}")
    if tool.output is None or tool.output.is_valid(output):
        return output
    violations = tool.output.violations(output)
    if not violations:
        return output
    first, *others = violations
    return Failure(
        "result-schema",
        f"The result does not fit the tool's output schema{_at(first.pointer)}. "
        + _with_others(first, others),
    )


def tool_failure(error: BaseException) -> Failure:
    """Say what a tool raised. It may be anything, even an exception that cannot be printed."""
    while isinstance(error, BaseExceptionGroup):
        # a task group says no more of itself than how many failed
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    unknown = isinstance(error, OutcomeUnknown)
    return Failure("outcome-unknown" if unknown else "tool-error", _text(error))


def _text(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:  # __str__ is the tool's own code, too
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
