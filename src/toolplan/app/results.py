"""Results of an app: values that print as the command line shows them."""

from __future__ import annotations

from typing import Self

from msgspec import Struct, field

from toolplan.base.errors import ToolplanError
from toolplan.base.shown import Shown, counted
from toolplan.compiler import Compiled
from toolplan.events import Run
from toolplan.plan.canonical import load
from toolplan.plan.diagnostics import Diagnostic
from toolplan.planners import Attempt, Clarification, Draft, Proposal, Question, Refusal
from toolplan.policy.consent import Effect, effects_of
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.providers import ModelError
from toolplan.show import diagnostics as diagnostics_view
from toolplan.show import summary as summaries
from toolplan.show.answer import Answer
from toolplan.show.plan_tree import plan_text
from toolplan.show.printable import printable


class AskResult(Shown, Struct, frozen=True):
    """The result of a question, as far as it went.

    Attributes:
        question: the question.
        proposal: the last proposal of the planner.
        compiled: the last draft, checked; None where there was none. Of drafts that were all
            refused, the one with the fewest errors.
        run: the last run; None where nothing ran.
        answer: the answer; None where nothing ran.
        attempts: every draft, and its result.
        unapproved: a further plan, after `run`, that was not approved.
        marks: words on steps of the plan that change something, by step.
        summary: the answer in a model's words, where it was asked for.
        fault: why a model, whose drafts were refused, wrote no other one.
    """

    question: Question
    proposal: Proposal
    compiled: Compiled | None = None
    run: Run | None = None
    answer: Answer | None = None
    attempts: tuple[Attempt, ...] = ()
    unapproved: ExecutionPlan | None = None
    marks: dict[str, str] = field(default_factory=dict[str, str])
    summary: summaries.Summary | None = None
    fault: ModelError | None = None

    @property
    def plan(self) -> ExecutionPlan | None:
        """The plan that may run, or has run."""
        return None if self.compiled is None else self.compiled.plan

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The calls that wait until a person allows or refuses them, with their values."""
        return () if self.run is None else effects_of(self.run.waiting)

    @property
    def succeeded(self) -> bool:
        """Whether there is an answer from a run that succeeded."""
        return self.run is not None and self.run.succeeded

    def __str__(self) -> str:
        if self.summary is not None:
            text = self.summary.text.rstrip()
            return text if self.answer is None else self.summary.beside(self.answer)
        if self.answer is not None:
            return self.answer.text.rstrip()
        if self.plan is not None:
            return plan_text(self.plan.plan, marks=self.marks).rstrip()
        return self.reason

    def __repr__(self) -> str:
        plan = "None" if self.plan is None else self.plan.digest[:8]
        run = "None" if self.run is None else self.run.status.value
        return f"AskResult({self.question.text[:60]!r}, plan={plan}, run={run})"

    @property
    def reason(self) -> str:
        """Why there is no plan, else empty: a question back, a refusal, or a draft's faults."""
        if self.plan is not None:
            return ""
        match self.proposal:
            case Refusal(reason=reason):
                return printable(reason)
            case Clarification() as asked_back:
                lines = [printable(asked_back.question)]
                lines += [f"  - {printable(each)}" for each in asked_back.options]
                part = asked_back.partial_plan
                understood = None if part is None else load(part).plan
                if understood is not None and understood.steps:
                    lines += ["What was understood so far:", plan_text(understood).rstrip()]
                if asked_back.examples:
                    lines += ["You could ask:"]
                    lines += [f"  {printable(each)}" for each in asked_back.examples]
                return "\n".join(lines)
            case Draft():
                found = () if self.compiled is None else self.compiled.diagnostics
                placed = [diagnostics_view.Located(each) for each in found]
                problems = diagnostics_view.diagnostics_text(placed).rstrip()
                said = "" if self.fault is None else printable(self.fault.with_help)
                return f"{said}\n{problems}" if said else problems


class RunResult(Run, frozen=True):
    """A run, with the plan that ran and the answer that it gives."""

    plan: ExecutionPlan | None = None
    answer: Answer | None = None

    @classmethod
    def of(cls, run: Run, plan: ExecutionPlan | None, answer: Answer | None) -> Self:
        """Return `run` with its plan and answer."""
        own = {name: getattr(run, name) for name in Run.__struct_fields__}
        return cls(**own, plan=plan, answer=answer)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The calls that wait until a person allows or refuses them, with their values."""
        return effects_of(self.waiting)

    def __str__(self) -> str:
        return Run.__str__(self) if self.answer is None else self.answer.text.rstrip()

    def __repr__(self) -> str:
        return f"RunResult({self.run!r}, {self.status.value}, {counted(len(self.steps), 'step')})"


class CheckResult(Shown, Struct, frozen=True):
    """The problems of a plan; `plan` may run, and is None if an error remains."""

    plan: ExecutionPlan | None
    diagnostics: tuple[Diagnostic, ...]
    located: tuple[diagnostics_view.Located, ...] = ()
    text: str = ""
    marks: dict[str, str] = field(default_factory=dict[str, str])
    unchecked_references: int = 0

    @property
    def valid(self) -> bool:
        """Whether the plan may run."""
        return self.plan is not None

    def needed(self) -> ExecutionPlan:
        """Return the plan.

        Raises:
            ToolplanError: it does not pass the check.
        """
        if self.plan is not None:
            return self.plan
        found = next((each for each in self.diagnostics if each.blocks), None)
        reason = "" if found is None else f": {found.message}"
        raise ToolplanError(
            "bad-plan",
            f"The plan does not pass the check; nothing was run{reason}",
            "Print the result of `app.check(plan)`; `toolplan explain CODE` explains a problem.",
        )

    def __str__(self) -> str:
        return diagnostics_view.diagnostics_text(self.located, self.text or None).rstrip()

    def __repr__(self) -> str:
        return f"CheckResult(valid={self.valid}, {len(self.diagnostics)} diagnostics)"
