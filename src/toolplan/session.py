"""One question, from the asking to the answer. This is the only loop.

A planner proposes, the compiler checks, an engine runs, and what came of it goes back to the
planner if it was no good, a bounded number of times.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Final, TypeAlias

from toolplan.answer import Answer, FactFunction, answer
from toolplan.approval import Approval, ApprovalRequired
from toolplan.compiler import Compiled, Tools, compile_plan, output_schemas, toolbox
from toolplan.engines import run
from toolplan.events import Event, Run
from toolplan.execution_plan import ExecutionPlan, Policy
from toolplan.plan import Limits
from toolplan.planners import Attempt, Clarification, Draft, Planner, Proposal, Question, Refusal

DEFAULT_ATTEMPTS: Final = 3

Approve: TypeAlias = Callable[[ExecutionPlan], Approval | None]
"""Asked once for each plan with effects, before anything runs; None is no."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a question, as far as it went.

    Attributes:
        question: what was asked.
        proposal: what the planner said last.
        compiled: the last draft, checked; None where there was none.
        run: the last run; None where nothing ran.
        answer: what `run` allows to say; None where nothing ran.
        attempts: every draft, and what came of it.
    """

    question: Question
    proposal: Proposal
    compiled: Compiled | None = None
    run: Run | None = None
    answer: Answer | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def plan(self) -> ExecutionPlan | None:
        """The plan that may run, or has run."""
        return None if self.compiled is None else self.compiled.plan

    @property
    def succeeded(self) -> bool:
        """Whether there is an answer from a run that ended well."""
        return self.run is not None and self.run.succeeded


class Session:
    """Answers questions with a planner and tools."""

    def __init__(
        self,
        tools: Tools,
        planner: Planner,
        *,
        facts: Sequence[FactFunction] = (),
        policy: Policy = Policy(),
        limits: Limits = Limits(),
        attempts: int = DEFAULT_ATTEMPTS,
        approve: Approve | None = None,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        """Hold what questions are answered with.

        Args:
            tools: what plans may call.
            planner: what proposes plans.
            facts: functions that find more in rows than holds for any rows (`toolplan.answer`).
            policy: what plans may use.
            limits: bounds on what is read and run.
            attempts: the most drafts for one question, 1 or more.
            approve: asked for leave to run a plan with effects; None refuses them all.
            clock: seconds since the epoch, for the times of events.
            new_id: gives the name of a run.
        """
        if attempts < 1:
            raise ValueError("At least one attempt is needed.")
        self.tools = toolbox(tools)
        self.planner = planner
        self.facts = tuple(facts)
        self.policy = policy
        self.limits = limits
        self.attempts = attempts
        self._approve = approve
        self._clock = clock
        self._new_id = new_id

    async def plan(self, text: str, *, today: date | str) -> Asked:
        """Give a plan for a question, checked, and run nothing.

        `today` is the day that "last week" and its like are reckoned from.
        """
        return await self._propose(Asked(_question(text, today), Refusal("Nothing was proposed.")))

    async def ask(
        self,
        text: str,
        *,
        today: date | str,
        on_plan: Callable[[Compiled], None] | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> Asked:
        """Answer a question: plan, check, run, and say what was found.

        `on_plan` is called with every plan that is about to run, `on_event` with all that happens.

        Raises:
            ApprovalRequired: the plan has effects and leave to run it was not given. No call was
                made.
        """
        asked = Asked(_question(text, today), Refusal("Nothing was proposed."))
        while len(asked.attempts) < self.attempts:
            tried = await self._propose(asked)
            if tried.plan is None:
                # a planner that has no other plan leaves the run that there was
                return tried if asked.run is None else replace(asked, attempts=tried.attempts)
            if on_plan is not None and tried.compiled is not None:
                on_plan(tried.compiled)
            asked = await self._run(tried, tried.plan, on_event)
            if asked.succeeded or tried.plan.effects:
                break  # what a failed run with effects has done is not to be done again
        return asked

    async def _propose(self, asked: Asked) -> Asked:
        while len(asked.attempts) < self.attempts:
            proposal = await self.planner.propose(asked.question, self.tools, asked.attempts)
            asked = replace(asked, proposal=proposal, compiled=None)
            match proposal:
                case Draft(text=text, dialect=dialect):
                    compiled = compile_plan(
                        text, dialect, tools=self.tools, limits=self.limits, policy=self.policy
                    )
                    compiled = _dated(compiled, self._clock())
                    attempt = Attempt(proposal, compiled.diagnostics)
                    asked = replace(asked, compiled=compiled, attempts=(*asked.attempts, attempt))
                    if compiled.plan is not None:
                        break
                case Clarification() | Refusal():
                    break
        return asked

    async def _run(
        self, asked: Asked, plan: ExecutionPlan, on_event: Callable[[Event], None] | None
    ) -> Asked:
        approval = None
        if plan.effects:
            approval = None if self._approve is None else self._approve(plan)
            if approval is None:
                raise ApprovalRequired(plan.digest)
        events: list[Event] = []

        def keep(event: Event) -> None:
            events.append(event)
            if on_event is not None:
                on_event(event)

        ended = await run(
            plan,
            self.tools,
            approval=approval,
            limits=self.limits,
            on_event=keep,
            run_id=self._new_id(),
            clock=self._clock,
        )
        said = answer(plan, ended, schemas=output_schemas(plan.plan, self.tools), facts=self.facts)
        last = asked.attempts[-1]._replace(events=tuple(events))
        return replace(asked, run=ended, answer=said, attempts=(*asked.attempts[:-1], last))


def _dated(compiled: Compiled, now: float) -> Compiled:
    """Give `compiled` with the time of its making, which is advice and no part of the digest."""
    if compiled.plan is None:
        return compiled
    created = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
    plan = compiled.plan.plan
    dated = replace(plan, metadata={**plan.metadata, "created_at": created.replace("+00:00", "Z")})
    return compiled._replace(plan=replace(compiled.plan, plan=dated), draft=dated)


def _question(text: str, today: date | str) -> Question:
    return Question(text, today if isinstance(today, str) else today.isoformat())
