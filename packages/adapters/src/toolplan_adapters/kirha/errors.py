"""Errors that are raised before there is a plan, in the words of the SDK."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from toolplan.base.errors import ToolplanError
from toolplan.plan.diagnostics import Diagnostic

_NUMBER: Final = re.compile(r"(?<![\w.])-?[0-9]+")


class PlannerError(ToolplanError):
    """There is no plan. `diagnostics` say why, if there was a reply to read."""

    CODE: ClassVar[str] = "no-plan"

    def __init__(
        self, message: str, diagnostics: Sequence[Diagnostic] = (), help: str | None = None
    ) -> None:
        super().__init__(self.CODE, message, help)
        self.diagnostics = tuple(diagnostics)


class PlanParseError(PlannerError):
    """The reply has a `<plan>` tag, but its content is not a plan."""

    CODE: ClassVar[str] = "bad-plan"


def parse_error(diagnostics: Sequence[Diagnostic]) -> PlannerError:
    """Return the error for a reply with these diagnostics."""
    blocking = [each for each in diagnostics if each.blocks]
    if any(each.code == "empty-plan" for each in blocking):
        return PlannerError("No plan generated", blocking)
    return PlanParseError("; ".join(dict.fromkeys(map(_message, blocking))), blocking)


def missing_step(number: str) -> str:
    """Return the message for a reference to a step that does not exist."""
    return f"Invalid dependency reference: step {number} not found"


def _message(diagnostic: Diagnostic) -> str:
    message = diagnostic.message.rstrip(".")
    if diagnostic.code == "unknown-step":
        found = _NUMBER.search(message)
        return missing_step(found[0]) if found else message
    if diagnostic.code in ("syntax", "too-large", "too-deep", "bad-encoding", "field-type"):
        return f"invalid json parsing: {message}"
    return message
