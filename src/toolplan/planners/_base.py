"""What a planner is: it proposes, and never parses, checks or runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from toolplan.diagnostics import Diagnostic
from toolplan.events import Event
from toolplan.path import Json
from toolplan.tools import Toolbox


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan as text, in a dialect; `planner` says who wrote it, where that is known."""

    text: str
    dialect: str = "toolplan"
    planner: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Clarification:
    """What a planner must know before it can propose a plan.

    `unexplained` are the words of the question that nothing accounts for; `partial_plan` is the
    canonical JSON of what was understood, None where nothing was.
    """

    question: str
    options: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    partial_plan: Json = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no plan can ever do what was asked: no tool has that effect, for instance."""

    reason: str


Proposal: TypeAlias = Draft | Clarification | Refusal


class Attempt(NamedTuple):
    """A draft and what came of it: diagnostics of the check, events of the run."""

    draft: Draft
    diagnostics: tuple[Diagnostic, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, and when. `today` is an ISO 8601 date; nobody asks the system's clock.

    `context` is what was said before, as F000-39 has it: `{"semantic": [{"text", "score"}],
    "episodic": [{"query", "timestamp", "plan"}], "entities": ["location:Oslo", ...]}`, the latest
    episode first, its `plan` in canonical JSON where there was one; any part may be missing.
    """

    text: str
    today: str
    context: Json = field(default=None)


class DraftText(NamedTuple):
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
        """Return a draft for `question`, a question back, or a refusal.

        Args:
            question: what was asked.
            tools: what a plan may call.
            attempts: the drafts for this question so far, oldest first, and their results.
            on_text: called with the text of the draft while it is written. A planner that does
                not stream ignores it; one that asks other planners passes it on.

        Raises:
            ModelError: the planner calls a model, and no complete reply came.
        """
        ...


@runtime_checkable
class Remembering(Protocol):
    """A planner that learns what became of its drafts; sessions tell the ones that can be told."""

    def keep(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Note that `draft` passed its check, and, where it was run, that the run ended well."""
        ...

    def drop(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Note that the run of `draft` did not end well."""
        ...
