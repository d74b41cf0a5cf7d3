"""What goes wrong while planning, in the words that callers of Clear AI look for.

    PlannerError                 Failed to generate plan
    ├── PlanValidationError      Invalid plan structure
    ├── PlanDependencyError      Plan has circular dependencies
    ├── ToolNotFoundError        Tool not available: …
    └── ClarificationNeeded      a person has to say more first

Every problem of the last try is in the text, so a caller that looks for a substring finds it
whichever class was raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from toolplan.diagnostics import Diagnostic
from toolplan.plan import Plan
from toolplan.planners import Clarification

_NO_JSON: Final = "Could not extract valid JSON from response"
_CYCLE: Final = "Circular dependency detected in plan"
_UNREAD: Final = frozenset({"syntax", "too-large", "too-deep", "bad-encoding"})
_STRUCTURE: Final = frozenset(
    {"bad-id", "bad-number", "duplicate-id", "duplicate-key", "empty-plan", "field-type"}
    | {"missing-field", "reference-syntax", "too-many-steps", "unknown-field"}
)
_UNKNOWN_TOOL: Final = frozenset({"unknown-tool", "tool-not-allowed"})
_CIRCLES: Final = frozenset({"cycle", "self-reference"})
_MISSING_STEP: Final = re.compile(r"'?(?:s(?=[0-9]))?(?P<name>-?\w[\w-]*)'?\.\Z")
_POSITION: Final = re.compile(r"\As(?=[0-9]+\Z)")
"""What a position has in front of it where it is the name of a step."""


class PlannerError(Exception):
    """No plan could be made.

    Attributes:
        problems: what was wrong with the last try, a sentence each.
        diagnostics: the same as values, where a plan could be read.
    """

    summary: str = "Failed to generate plan"

    def __init__(
        self,
        message: str = "",
        problems: Sequence[str] = (),
        diagnostics: Sequence[Diagnostic] = (),
    ) -> None:
        """Put the text together: the summary, what happened, and every problem."""
        parts = [self.summary, message, "; ".join(dict.fromkeys(problems))]
        super().__init__(": ".join(part for part in parts if part))
        self.problems = tuple(problems)
        self.diagnostics = tuple(diagnostics)


class PlanValidationError(PlannerError):
    """What was given is no plan, or its arguments are not what its tools take."""

    summary = "Invalid plan structure"


class PlanDependencyError(PlannerError):
    """Steps wait for each other, or for steps that there are not."""

    summary = "Plan has circular dependencies"


class ToolNotFoundError(PlannerError):
    """A step calls a tool that there is not."""

    summary = ""


class ClarificationNeeded(PlannerError):
    """The question does not say enough.

    Attributes:
        question: what a person is asked.
        options: answers to choose from, if there are any.
        clarification: the same as the planner gave it.
    """

    summary = "Clarification needed"

    def __init__(self, clarification: Clarification) -> None:
        """Keep what is to be asked."""
        super().__init__(clarification.question)
        self.question = clarification.question
        self.options = clarification.options
        self.clarification = clarification


class _InvalidOrder(PlanDependencyError):
    summary = "Plan has invalid dependencies"


def plan_error(
    message: str, diagnostics: Iterable[Diagnostic], draft: Plan | None = None
) -> PlannerError:
    """Return the error for a plan of which `diagnostics` say what is wrong.

    `draft` is the plan as far as it could be read, for the names of tools.
    """
    blocking = [each for each in diagnostics if each.blocks]
    codes = {each.code for each in blocking}
    kind = PlanValidationError
    if codes & _UNREAD:
        kind = PlannerError
    elif codes & _STRUCTURE:
        kind = PlanValidationError
    elif codes & _CIRCLES:
        kind = PlanDependencyError
    elif "unknown-step" in codes:
        kind = _InvalidOrder
    elif codes & _UNKNOWN_TOOL:
        kind = ToolNotFoundError
    return kind(message, list(told(blocking, draft)), blocking)


def told(diagnostics: Iterable[Diagnostic], draft: Plan | None) -> Iterator[str]:
    """Yield what each of `diagnostics` says, as Clear AI says it where it has words for it."""
    for each in diagnostics:
        if each.code in _UNREAD:
            yield f"{_NO_JSON} ({each.message.rstrip('.')})"
        elif each.code in _UNKNOWN_TOOL:
            yield f"Tool not available: {_tool(each, draft)}"
        elif each.code in _CIRCLES:
            yield f"{_CYCLE} ({each.message.rstrip('.')})"
        elif each.code == "unknown-step":
            yield f"Invalid dependency index: {_index(each)}"
        elif each.step is None:
            yield each.message.rstrip(".")
        else:
            yield f"Step {_POSITION.sub('', each.step)}: {each.message.rstrip('.')}"


def _tool(diagnostic: Diagnostic, draft: Plan | None) -> str:
    named = (step.tool for step in draft.steps if step.id == diagnostic.step) if draft else ()
    return next(iter(named), diagnostic.message.rstrip("."))


def _index(diagnostic: Diagnostic) -> str:
    """Return the number, or the name, of the step that there is not."""
    found = _MISSING_STEP.search(diagnostic.message)
    return found["name"] if found else diagnostic.message.rstrip(".")
