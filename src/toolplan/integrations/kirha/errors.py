"""What goes wrong before there is a plan, in the words of the SDK."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolplan.diagnostics import Diagnostic

_NUMBER: Final = re.compile(r"(?<![\w.])-?[0-9]+")


class PlannerError(Exception):
    """There is no plan. `diagnostics` say why, where a reply could be read as far as that."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class PlanParseError(PlannerError):
    """The reply has a `<plan>`, and what stands in it is none."""


def parse_error(diagnostics: Sequence[Diagnostic]) -> PlannerError:
    """Return the error for a reply that `diagnostics` keep from being a plan."""
    blocking = [each for each in diagnostics if each.blocks]
    if any(each.code == "empty-plan" for each in blocking):
        return PlannerError("No plan generated", blocking)
    return PlanParseError("; ".join(dict.fromkeys(map(_told, blocking))), blocking)


def missing_step(number: str) -> str:
    """Say that a reference is to no step."""
    return f"Invalid dependency reference: step {number} not found"


def _told(diagnostic: Diagnostic) -> str:
    message = diagnostic.message.rstrip(".")
    if diagnostic.code == "unknown-step":
        found = _NUMBER.search(message)
        return missing_step(found[0]) if found else message
    if diagnostic.code in ("syntax", "too-large", "too-deep", "bad-encoding", "field-type"):
        return f"invalid json parsing: {message}"
    return message
