"""Errors of planning, with the messages that callers of Clear AI look for.

    PlannerError                 Failed to generate plan
    ├── PlanValidationError      Invalid plan structure
    ├── PlanDependencyError      Plan has circular dependencies
    ├── ToolNotFoundError        Tool not available: …
    └── ClarificationNeeded      the question has to be more precise

The message holds every problem of the last attempt, so a search for a substring works whatever the
class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from toolplan.base.errors import ToolplanError
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.model import Plan
from toolplan.planners import Clarification

_UNREADABLE: Final = frozenset({"syntax", "too-large", "too-deep", "bad-encoding"})
_STRUCTURE: Final = frozenset(
    {"bad-id", "bad-number", "duplicate-id", "duplicate-key", "empty-plan", "field-type"}
    | {"missing-field", "reference-syntax", "too-many-steps", "unknown-field"}
)
_UNKNOWN_TOOL: Final = frozenset({"unknown-tool", "tool-not-allowed"})
_CYCLES: Final = frozenset({"cycle", "self-reference"})
_MISSING_STEP: Final = re.compile(r"'?(?:s(?=[0-9]))?(?P<name>-?\w[\w-]*)'?\.\Z")
_POSITION: Final = re.compile(r"\As(?=[0-9]+\Z)")
"""The prefix of a position that is used as the id of a step."""


class PlannerError(ToolplanError):
    """No plan could be made.

    `problems` are those of the last attempt, a sentence each; `diagnostics` the same as values.
    """

    CODE: ClassVar[str] = "no-plan"
    SUMMARY: ClassVar[str] = "Failed to generate plan"

    def __init__(
        self,
        message: str = "",
        problems: Sequence[str] = (),
        diagnostics: Sequence[Diagnostic] = (),
    ) -> None:
        parts = [self.SUMMARY, message, "; ".join(dict.fromkeys(problems))]
        super().__init__(self.CODE, ": ".join(filter(None, parts)))
        self.problems = tuple(problems)
        self.diagnostics = tuple(diagnostics)


class PlanValidationError(PlannerError):
    """Not a plan, or its arguments are not valid for its tools."""

    CODE = "bad-plan"
    SUMMARY = "Invalid plan structure"


class PlanDependencyError(PlannerError):
    """Steps depend on each other, or on steps that do not exist."""

    CODE = "bad-dependencies"
    SUMMARY = "Plan has circular dependencies"


class ToolNotFoundError(PlannerError):
    """A step calls a tool that does not exist."""

    CODE = "unknown-tool"
    SUMMARY = ""


class ClarificationNeeded(PlannerError):
    """The question is not precise enough: `question` goes to the user, `options` may answer it."""

    CODE = "clarification-needed"
    SUMMARY = "Clarification needed"

    def __init__(self, clarification: Clarification) -> None:
        super().__init__(clarification.question)
        self.question = clarification.question
        self.options = clarification.options
        self.clarification = clarification


class _InvalidOrder(PlanDependencyError):
    SUMMARY = "Plan has invalid dependencies"


_CLASSES: Final[Mapping[type[PlannerError], frozenset[str]]] = {
    PlannerError: _UNREADABLE,
    PlanValidationError: _STRUCTURE,
    PlanDependencyError: _CYCLES,
    _InvalidOrder: frozenset({"unknown-step"}),
    ToolNotFoundError: _UNKNOWN_TOOL,
}
"""The class of an error, by the codes that cause it; the first that fits counts."""


def plan_error(
    message: str, diagnostics: Iterable[Diagnostic], draft: Plan | None = None
) -> PlannerError:
    """Return the error for a plan with these diagnostics.

    `draft` is the plan as far as it could be read; it is used for the names of tools.
    """
    blocking = [each for each in diagnostics if each.blocks]
    found = {each.code for each in blocking}
    kind = next((kind for kind, codes in _CLASSES.items() if codes & found), PlanValidationError)
    tools = {step.id: step.tool for step in draft.steps} if draft else {}
    return kind(message, [_message(each, tools) for each in blocking], blocking)


def _message(diagnostic: Diagnostic, tools: Mapping[str, str]) -> str:
    """Return the message of a diagnostic, in Clear AI's words where it has some."""
    code, message, step = diagnostic.code, diagnostic.message.rstrip("."), diagnostic.step
    if code in _UNREADABLE:
        return f"Could not extract valid JSON from response ({message})"
    if code in _UNKNOWN_TOOL:
        return f"Tool not available: {tools.get(step or '', message)}"
    if code in _CYCLES:
        return f"Circular dependency detected in plan ({message})"
    if code == "unknown-step":
        found = _MISSING_STEP.search(diagnostic.message)
        return f"Invalid dependency index: {found['name'] if found else message}"
    return message if step is None else f"Step {_POSITION.sub('', step)}: {message}"
