"""One question, from the asking to the answer. This is the only loop.

A planner proposes, the compiler checks, an engine runs, and what came of it goes back to the
planner if it was no good, a bounded number of times. With a journal the run can be resumed.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from toolplan.answer import Answer, InsightFunction, answer
from toolplan.app._streaming import OnStep, ReportedSteps, StreamedDraft, StreamingDraft
from toolplan.app.notes import estimate, foreseen, noted
from toolplan.app.results import AskResult
from toolplan.approval import ApprovalRequired, Approver, Policy, approve
from toolplan.compiler import (
    Compiled,
    CompileStream,
    Tools,
    compile_plan,
    compile_stream,
    output_schemas,
    toolbox,
)
from toolplan.deltas import Delta, delta, left
from toolplan.engines import RunOptions, run, run_stream
from toolplan.events import Event, Run, RunState
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan import Limits
from toolplan.planners import (
    Attempt,
    Draft,
    Planner,
    Question,
    Refusal,
    Remembering,
)
from toolplan.planners.grounded.dialogue import DialoguePlanner, episode_of
from toolplan.providers import ModelError
from toolplan.storage.journal import Journal
from toolplan.storage.memory import BestEffortMemory, Memory

DEFAULT_ATTEMPTS: Final = 3


class Session:
    """Answers questions with a planner and tools."""

    def __init__(
        self,
        tools: Tools,
        planner: Planner,
        *,
        insights: Sequence[InsightFunction] = (),
        policy: Policy = Policy(),
        limits: Limits = Limits(),
        run_options: RunOptions = RunOptions(),
        attempts: int = DEFAULT_ATTEMPTS,
        approval: Approver | None = None,
        loop: bool = False,
        assess: Callable[[AskResult], int] | None = None,
        journal: Journal | None = None,
        memory: Memory | None = None,
        conversation: str = "",
        metadata: Mapping[str, Json] = MappingProxyType({}),
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        """Hold what questions are answered with.

        Args:
            tools: what plans may call.
            planner: what proposes plans.
            insights: functions that find more in rows than holds for any rows (`toolplan.answer`).
            policy: what plans may use.
            limits: the limits of plans and runs.
            run_options: concurrency and timeouts of the run.
            attempts: the most drafts for one question, 1 or more.
            approval: called with each plan with effects; None refuses them all.
            loop: go on with another plan after a failed run with effects; none is done twice.
            assess: how much an answer lacks, 0 for nothing; more is asked for while it shrinks.
            journal: where runs are kept, so that they can be resumed; None keeps them in memory.
            memory: where turns are kept, so that one may follow another; where it fails, none does.
            conversation: the name of the conversation, one for each of each user.
            metadata: advice that is put into every plan, with an estimate where there is one.
            clock: seconds since the epoch, for the times of events.
            new_id: gives the name of a run.
        """
        self.attempts = _at_least_one(attempts)
        self.tools = toolbox(tools)
        self.planner = planner if memory is None else _talking(planner)
        self.insights = tuple(insights)
        self.policy = policy
        self.limits = limits
        self.run_options = run_options
        self.journal = journal
        self.memory = _guarded(memory)
        self.conversation = conversation
        self.metadata = dict(metadata)
        self.loop = loop
        self._assess = assess
        self._approval = approval
        self._clock = clock
        self._new_id = new_id

    async def plan(
        self,
        text: str,
        *,
        today: date | str,
        context: Json = None,
        on_step: OnStep | None = None,
    ) -> AskResult:
        """Return a plan for a question, checked, and run nothing.

        `today` is the day that "last week" and its like are reckoned from, `context` what was said
        before (`toolplan.planners.Question`). `on_step` is called with each step that is right
        while the planner still writes.

        Raises:
            ModelError: the planner asks a model, and no whole reply came of it.
        """
        asked = await self._asked(text, today, context)
        asked = await self._propose(asked, _Watchers(on_step=on_step))
        if isinstance(asked.proposal, Draft) and asked.plan is not None:
            self._learn(asked, asked.proposal, kept=True)
        await self._remember(asked)
        return asked

    async def ask(
        self,
        text: str,
        *,
        today: date | str,
        context: Json = None,
        early: bool = False,
        on_step: OnStep | None = None,
        on_plan: Callable[[Compiled], None] | None = None,
        on_delta: Callable[[Delta], None] | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> AskResult:
        """Answer a question: plan, check, run, and say what was found.

        After a run that failed, or that falls short, the planner is asked for another plan. What is
        done of the old one is taken over and not done again (`toolplan.deltas`). That ends when
        there is an answer, no other plan, no attempt left, or a plan that brought it no nearer.

        Args:
            text: the question.
            today: the day that "last week" and its like are reckoned from.
            context: what was said before (`toolplan.planners.Question`).
            early: start steps that only read while the planner still writes.
            on_step: called with each step that is right while the planner still writes.
            on_plan: called with every plan that is about to run.
            on_delta: called before that with what becomes of the run before it, where there was
                one.
            on_event: called with all that happens.

        Raises:
            ApprovalRequired: the plan has effects and was not approved. No call was
                made, or with `early` none with effects.
            ModelError: the planner asks a model, and no whole reply came of it.
        """
        watchers = _Watchers(early, on_step, on_plan, on_event, on_delta)
        asked = await self._answered(await self._asked(text, today, context), watchers)
        await self._remember(asked)
        return asked

    async def _asked(self, text: str, today: date | str, context: Json) -> AskResult:
        """Return the question with what was said before it."""
        if self.memory is not None and context is None:
            context = await asyncio.to_thread(self.memory.recall, self.conversation, text)
        return AskResult(_question(text, today, context), Refusal("Nothing was proposed."))

    async def _remember(self, asked: AskResult) -> None:
        """Keep the turn, so that the next question may follow it."""
        if self.memory is None:
            return
        episode = episode_of(
            asked.question,
            asked.proposal,
            self.tools,
            timestamp=datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds"),
            # no word of the answer: it is made of what tools gave, and a model reads the context
            plan=None if asked.plan is None else asked.plan.plan,
        )
        await asyncio.to_thread(self.memory.remember, self.conversation, episode)

    async def _answered(self, asked: AskResult, watchers: _Watchers) -> AskResult:
        before: _Ran | None = None
        while len(asked.attempts) < self.attempts:
            try:
                tried = await self._propose(asked, watchers)
            except ModelError:
                if asked.run is None:
                    raise
                return asked  # the run that there was says more than that there is no other
            if tried.plan is None:
                # a planner that has no other plan leaves the run that there was
                return tried if asked.run is None else replace(asked, attempts=tried.attempts)
            plan = tried.plan
            if tried.run is asked.run:  # it has not run while it was written
                try:
                    tried = await self._run(tried, plan, before, watchers)
                except ApprovalRequired:
                    if asked.run is None:
                        raise
                    # what has run has run, and is told; the plan that would go on is told too
                    return replace(asked, attempts=tried.attempts, unapproved=plan)
            asked = tried
            if isinstance(asked.proposal, Draft):
                self._learn(asked, asked.proposal, kept=asked.succeeded)
            after = self._ran(asked, plan)
            if not after.is_to_go_on or (plan.effects and not self.loop):
                break
            if before is not None and after.missing >= before.missing:
                break  # another plan has brought it no nearer
            before, watchers.early = after, False
        return asked

    def _ran(self, asked: AskResult, plan: ExecutionPlan) -> _Ran:
        """Say how much is missing after a run: steps that are not done, then what `assess` says."""
        events = asked.attempts[-1].events
        short = 0 if self._assess is None or not asked.succeeded else self._assess(asked)
        status = RunState.RUNNING if asked.run is None else asked.run.status
        failed = 0 if asked.succeeded else left(plan, events)
        ended = status in (RunState.SUCCEEDED, RunState.FAILED)
        return _Ran(plan, events, (failed, short), ended and (not asked.succeeded or short > 0))

    async def _propose(self, asked: AskResult, watchers: _Watchers) -> AskResult:
        while len(asked.attempts) < self.attempts:
            following = self._following(asked.question, watchers)
            try:
                proposal = await self.planner.propose(
                    asked.question,
                    self.tools,
                    asked.attempts,
                    on_text=None if following is None else following.add,
                )
                followed: StreamedDraft | None = None
                if following is not None and isinstance(proposal, Draft):
                    followed = await following.ended(proposal)
            finally:
                if following is not None:
                    await following.close()
            asked = replace(asked, proposal=proposal, compiled=None)
            if not isinstance(proposal, Draft):
                break
            asked = self._checked(asked, proposal, followed, watchers)
            if asked.plan is not None:
                break
        return asked

    def _following(self, question: Question, watchers: _Watchers) -> StreamingDraft | None:
        if watchers.on_step is None and not watchers.early:
            return None
        return StreamingDraft(
            self._compile_stream,
            lambda compiled, planner: self._noted(compiled, planner, question),
            watchers.on_step,
            watchers.on_plan,
            self._early(watchers) if watchers.early else None,
        )

    def _checked(
        self, asked: AskResult, draft: Draft, followed: StreamedDraft | None, watchers: _Watchers
    ) -> AskResult:
        """Return what came of a draft; one that ran while it was written has its run."""
        attempt = Attempt(draft)
        if followed is not None and followed.run is not None:
            # what ran is what was written, whatever the planner made of the reply
            compiled, ended = followed.compiled, followed.run
            attempt = Attempt(draft, compiled.diagnostics, tuple(watchers.events))
            asked = replace(asked, compiled=compiled, run=ended)
            if compiled.plan is not None:
                asked = replace(asked, answer=self._answer(compiled.plan, ended))
        else:
            compiled = compile_plan(
                draft.text,
                draft.dialect,
                tools=self.tools,
                limits=self.limits,
                policy=self.policy,
            )
            compiled = self._noted(compiled, draft.planner, asked.question)
            attempt = Attempt(draft, compiled.diagnostics)
            asked = replace(asked, compiled=compiled)
        return replace(asked, attempts=(*asked.attempts, attempt))

    def _compile_stream(self, texts: AsyncIterator[str], dialect: str) -> CompileStream:
        return compile_stream(
            texts, dialect, tools=self.tools, limits=self.limits, policy=self.policy
        )

    def _early(self, watchers: _Watchers) -> Callable[[ReportedSteps], Awaitable[Run]]:
        async def start(steps: ReportedSteps) -> Run:
            watchers.events.clear()
            return await run_stream(
                steps,
                self.tools,
                journal=self.journal,
                approval=self._approval,
                limits=self.limits,
                on_event=watchers.keep,
                run_id=self._new_id(),
                clock=self._clock,
                **self.run_options.arguments(),
            )

        return start

    async def _run(
        self, asked: AskResult, plan: ExecutionPlan, before: _Ran | None, watchers: _Watchers
    ) -> AskResult:
        change = None if before is None else delta(before.plan, before.events, plan)
        if change is not None and watchers.on_delta is not None:
            watchers.on_delta(change)
        if watchers.on_plan is not None and asked.compiled is not None:
            watchers.on_plan(asked.compiled)
        approval = self._approval
        if (
            change is not None
            and before is not None
            and before.plan.effects
            and not change.unapproved
        ):
            # whoever let the plan before run has let these very calls be made
            approval = approve
        watchers.events.clear()
        ended = await run(
            plan,
            self.tools,
            journal=self.journal,
            approval=approval,
            limits=self.limits,
            on_event=watchers.keep,
            run_id=self._new_id(),
            done=() if change is None else change.events,
            clock=self._clock,
            **self.run_options.arguments(),
        )
        last = asked.attempts[-1]._replace(events=tuple(watchers.events))
        said = self._answer(plan, ended)
        return replace(asked, run=ended, answer=said, attempts=(*asked.attempts[:-1], last))

    def _answer(self, plan: ExecutionPlan, ended: Run) -> Answer:
        return answer(
            plan, ended, schemas=output_schemas(plan.plan, self.tools), insights=self.insights
        )

    def _learn(self, asked: AskResult, draft: Draft, *, kept: bool) -> None:
        if isinstance(self.planner, Remembering):
            tell = self.planner.keep if kept else self.planner.drop
            tell(asked.question, self.tools, draft)

    def _noted(self, compiled: Compiled, planner: str, question: Question) -> Compiled:
        """Note in a plan what was told, who made it, for which question, and when (C-16)."""
        if compiled.plan is None:
            return compiled
        created = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
        notes: dict[str, Json] = {"query": question.text, "reference_date": question.today}
        if planner:
            notes["planner"] = planner
        notes |= compiled.plan.plan.metadata
        notes |= self.metadata
        if self.journal is not None:
            notes |= estimate(foreseen(compiled.plan, self.journal, self.tools, self.run_options))
        notes["created_at"] = created.replace("+00:00", "Z")
        plan = noted(compiled.plan, notes)
        return compiled._replace(plan=plan, draft=plan.plan)


@dataclass(slots=True)
class _Watchers:
    """Who looks on while a question is answered, and the events of the run that goes on."""

    early: bool = False
    on_step: OnStep | None = None
    on_plan: Callable[[Compiled], None] | None = None
    on_event: Callable[[Event], None] | None = None
    on_delta: Callable[[Delta], None] | None = None
    events: list[Event] = field(default_factory=list[Event])

    def keep(self, event: Event) -> None:
        """Take the next event."""
        self.events.append(event)
        if self.on_event is not None:
            self.on_event(event)


class _Ran(NamedTuple):
    """A plan that has run, what its events told, and how much is missing still.

    `is_to_go_on` says whether it ended, and not well enough.
    """

    plan: ExecutionPlan
    events: tuple[Event, ...]
    missing: tuple[int, int]
    is_to_go_on: bool


def _at_least_one(attempts: int) -> int:
    if attempts < 1:
        raise ValueError("At least one attempt is needed.")
    return attempts


def _talking(planner: Planner) -> Planner:
    """Return `planner` as one that takes up what was said before."""
    return planner if isinstance(planner, DialoguePlanner) else DialoguePlanner(planner)


def _guarded(memory: Memory | None) -> Memory | None:
    """Return `memory` so that it is never the reason why there is no answer."""
    if memory is None or isinstance(memory, BestEffortMemory):
        return memory
    return BestEffortMemory(memory)


def _question(text: str, today: date | str, context: Json) -> Question:
    return Question(text, today if isinstance(today, str) else today.isoformat(), context)
