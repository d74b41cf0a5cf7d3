"""One question, from the asking to the answer. This is the only loop.

A planner proposes, the compiler checks, an engine runs, and what came of it goes back to the
planner if it was no good, a bounded number of times. With a journal the run can be resumed.
"""

from __future__ import annotations

import inspect
import json
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Final, TypeAlias

from toolplan.answer import Answer, FactFunction, answer
from toolplan.approval import Approval
from toolplan.compiler import Compiled, Tools, compile_plan, output_schemas, toolbox
from toolplan.engines import Approver, CannotRun, Decided, run
from toolplan.engines import resume as go_on
from toolplan.events import Event, Run
from toolplan.execution_plan import ExecutionPlan, Policy
from toolplan.forecast import Forecast, forecast
from toolplan.journal import Journal, Slot
from toolplan.path import Json
from toolplan.plan import Limits
from toolplan.planners import Attempt, Clarification, Draft, Planner, Proposal, Question, Refusal

DEFAULT_ATTEMPTS: Final = 3

Approve: TypeAlias = Callable[[ExecutionPlan], Approval | Awaitable[Approval | None] | None]
"""Asked once for each plan with effects, before anything runs; None is no."""

_NO_DECISIONS: Final[Mapping[Slot, Decided]] = MappingProxyType({})


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
        journal: Journal | None = None,
        metadata: Mapping[str, Json] = MappingProxyType({}),
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
            journal: where runs are kept, so that they can be resumed; None keeps them in memory.
            metadata: advice that is put into every plan; `estimated_duration_ms` comes to it where
                the journal knows what calls of all its tools have taken.
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
        self.journal = journal
        self.metadata = dict(metadata)
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
                    compiled = _noted(compiled, self._notes(compiled))
                    attempt = Attempt(proposal, compiled.diagnostics)
                    asked = replace(asked, compiled=compiled, attempts=(*asked.attempts, attempt))
                    if compiled.plan is not None:
                        break
                case Clarification() | Refusal():
                    break
        return asked

    def _notes(self, compiled: Compiled) -> dict[str, Json]:
        """Give what is noted in a plan: what was told, and when it was made."""
        created = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
        notes: dict[str, Json] = {**self.metadata}
        if compiled.plan is not None and self.journal is not None:
            notes.update(estimate(foreseen(compiled.plan, self.journal)))
        return {**notes, "created_at": created.replace("+00:00", "Z")}

    async def _run(
        self, asked: Asked, plan: ExecutionPlan, on_event: Callable[[Event], None] | None
    ) -> Asked:
        events: list[Event] = []

        def keep(event: Event) -> None:
            events.append(event)
            if on_event is not None:
                on_event(event)

        ended = await run(
            plan,
            self.tools,
            journal=self.journal,
            approval=None if self._approve is None else approver(self._approve),
            limits=self.limits,
            on_event=keep,
            run_id=self._new_id(),
            clock=self._clock,
        )
        said = answer(plan, ended, schemas=output_schemas(plan.plan, self.tools), facts=self.facts)
        last = asked.attempts[-1]._replace(events=tuple(events))
        return replace(asked, run=ended, answer=said, attempts=(*asked.attempts[:-1], last))


async def resume(
    run_id: str,
    tools: Tools,
    *,
    journal: Journal,
    approve: Approve | None = None,
    decisions: Mapping[Slot, Decided] = _NO_DECISIONS,
    limits: Limits = Limits(),
    on_event: Callable[[Event], None] | None = None,
    clock: Callable[[], float] = time.time,
) -> Run:
    """Go on with a run that was interrupted, cancelled, or waits for a person.

    Its plan is taken from the journal and checked again.

    Args:
        run_id: the name of the run.
        tools: the tools of the run, unchanged.
        journal: where the run is kept.
        approve: asked for leave, where the plan has effects and none was given yet.
        decisions: by step and item (None without `for_each`), what is to be done about calls in
            doubt.
        limits: bounds on what is run.
        on_event: called with every new event.
        clock: seconds since the epoch.

    Raises:
        CannotRun: the plan does not pass its check with these tools, or they have changed, or a
            decision is about no call that is in doubt. No call was made.
        ApprovalRequired: the plan has effects, and leave to run it was not given.
        JournalError: there is no such run, another process works on it, or the journal cannot be
            written.
    """
    known = toolbox(tools)
    return await go_on(
        plan_of(run_id, known, journal=journal, limits=limits),
        known,
        run_id,
        journal=journal,
        approval=None if approve is None else approver(approve),
        decisions=decisions,
        limits=limits,
        on_event=on_event,
        clock=clock,
    )


def plan_of(
    run_id: str, tools: Tools, *, journal: Journal, limits: Limits = Limits()
) -> ExecutionPlan:
    """Give the plan of a run that `journal` keeps, checked again with `tools`.

    Raises:
        CannotRun: it does not pass the check.
        JournalError: there is no such run.
    """
    record = journal.record(run_id)
    try:
        policy = Policy.from_json(record.policy)
    except ValueError as error:
        raise CannotRun(f"The journal's policy of this run cannot be read: {error}") from None
    text = json.dumps(record.plan)
    compiled = compile_plan(text, tools=tools, limits=limits, policy=policy)
    if compiled.plan is None:
        reason = next(each.message for each in compiled.diagnostics if each.blocks)
        raise CannotRun(f"The plan does not pass its check with these tools: {reason}")
    return compiled.plan


def approver(approve: Approve) -> Approver:
    """Give `approve` in the form in which engines ask."""

    async def ask(plan: ExecutionPlan) -> Approval | None:
        given = approve(plan)
        return await given if inspect.isawaitable(given) else given

    return ask


def foreseen(plan: ExecutionPlan, journal: Journal) -> Forecast:
    """Give the forecast of `plan` from the durations that `journal` keeps."""
    return forecast(plan, journal.durations({step.tool for step in plan.plan.steps}))


def estimate(expected: Forecast) -> dict[str, Json]:
    """Give what a plan's metadata says of the forecast: nothing where tools are not known."""
    if not expected.is_known:
        return {}
    return {"estimated_duration_ms": round(expected.expected_s * 1000)}


def noted(plan: ExecutionPlan, notes: Mapping[str, Json]) -> ExecutionPlan:
    """Give `plan` with `notes` in its metadata, which is advice and no part of the digest."""
    metadata = {**plan.plan.metadata, **notes}
    return replace(plan, plan=replace(plan.plan, metadata=metadata))


def _noted(compiled: Compiled, notes: Mapping[str, Json]) -> Compiled:
    if compiled.plan is None:
        return compiled
    plan = noted(compiled.plan, notes)
    return compiled._replace(plan=plan, draft=plan.plan)


def _question(text: str, today: date | str) -> Question:
    return Question(text, today if isinstance(today, str) else today.isoformat())
