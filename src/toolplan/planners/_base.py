"""The interface of planners: they propose plans, and never parse, check or run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from toolplan.dates import Times, Weeks, times_in
from toolplan.events import Event
from toolplan.plan.diagnostics import Diagnostic
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox


class Draft(Struct, frozen=True, eq=False):
    """A plan as text, in a dialect.

    `planner` is the name of its planner, empty if not known; `requests` are those to a model that
    the draft took. `times` are those of the question, where the draft may have their words in place
    of dates. `small` says that its model is small, so that a value which the question does not
    state is an error, also for tools that only read.
    """

    text: str
    dialect: str = "toolplan"
    planner: str = ""
    requests: int = 0
    times: Times | None = None
    small: bool = False

    def __eq__(self, other: object) -> bool:
        """Compare the text and its dialect: the same plan is the same, whoever planned it."""
        if not isinstance(other, Draft):
            return NotImplemented
        return (self.text, self.dialect) == (other.text, other.dialect)

    def __ne__(self, other: object) -> bool:
        return not self == other  # a struct's own compares identity

    def __hash__(self) -> int:
        return hash((self.text, self.dialect))


class Clarification(Struct, frozen=True):
    """A question back, whose answer a planner needs before it can propose a plan.

    Attributes:
        question: what to ask the user.
        options: answers to choose from; may be empty.
        unexplained: the words of the question that were not understood.
        partial_plan: the canonical JSON of the understood part, or None.
        examples: up to three questions that the tools at hand can answer, where nothing was
            understood.
        plans: the plan of each option, in canonical JSON: who chooses an option gets its plan.
            Empty where options have none.
    """

    question: str
    options: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    partial_plan: Json = None
    examples: tuple[str, ...] = ()
    plans: tuple[Json, ...] = ()


class Refusal(Struct, frozen=True):
    """The reason why no plan can answer: no tool has that effect, for instance."""

    reason: str


Proposal: TypeAlias = Draft | Clarification | Refusal


class Attempt(Struct, frozen=True):
    """A draft, the diagnostics of its check, and the events of its run."""

    draft: Draft
    diagnostics: tuple[Diagnostic, ...] = ()
    events: tuple[Event, ...] = ()


class Question(Struct, frozen=True):
    """A question, its day and its context.

    Attributes:
        text: the question.
        today: its day, an ISO 8601 date. No planner reads the system's clock.
        context: the conversation before it (F000-39): `{"semantic": [{"text", "score"}],
            "episodic": [{"query", "timestamp", "plan"}], "entities": ["location:Oslo", ...]}`. The
            latest episode comes first, `plan` is canonical JSON; any part may be missing.
    """

    text: str
    today: str
    context: Json = None


def times_of(question: Question, weeks: Weeks) -> Times | None:
    """Return the times of a question; None where its day is none."""
    try:
        today = date.fromisoformat(question.today)
    except ValueError:
        return None
    return times_in(question.text, today, weeks)


class DraftText(Struct, frozen=True):
    """A piece of a draft that a planner is writing.

    `starts` marks the beginning of a draft; what was written before it no longer counts. `planner`
    is the display name of the planner.
    """

    text: str
    dialect: str
    planner: str
    starts: bool = False


OnText: TypeAlias = Callable[[DraftText], None]


class Planner(Protocol):
    """Proposes plans."""

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Return a draft for `question`, a clarification, or a refusal.

        Args:
            question: the question.
            tools: the tools that a plan may call.
            attempts: the drafts for this question so far, oldest first, and their results.
            on_text: called with the text of the draft while it is written. A planner that does
                not stream ignores it; one that asks other planners passes it on.

        Raises:
            ModelError: the planner calls a model, and no complete reply came.
        """
        ...


@runtime_checkable
class Remembering(Protocol):
    """A planner that learns from the results of its drafts; sessions report them to it."""

    def keep(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Note that `draft` passed its check, and, where it was run, that the run succeeded."""
        ...

    def drop(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Note that the run of `draft` failed."""
        ...
