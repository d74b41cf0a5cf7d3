"""From a question to an answer: the only loop.

A planner proposes, the compiler checks, an engine runs. What was wrong goes back to the planner, a
bounded number of times. The steps of a draft are shown, and may start, while it is still written.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Task
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan import compiler
from toolplan import engine as engines
from toolplan.app.results import AskResult
from toolplan.app.resume import approver_for, approver_of, by_values, chosen, refuse_wrong
from toolplan.app.setup import Setup, Start, noted
from toolplan.compiler import Compiled, about_question
from toolplan.compiler.rules.invented_literal import EARLIER, invented_literal, is_of_model
from toolplan.dialects import DIALECTS
from toolplan.engine import deltas, run, run_stream
from toolplan.events import Event, ItemEnded, Run, RunState, StepFailed, StepSucceeded, traces
from toolplan.plan.model import Step
from toolplan.plan.path import Json
from toolplan.planners import Attempt, Draft, DraftText, Planner, Proposal, Question, Remembering
from toolplan.planners.guarded import proposed
from toolplan.policy.approval import INVENTED, ApprovalRequired, approve
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.providers import ModelError
from toolplan.storage.journal import Store

logger = logging.getLogger("toolplan")

_MOST_REASONS: Final = 3
_MOST_EARLIER: Final = 40
_LONGEST_EARLIER: Final = 1_000
"""Maximum number of texts of a conversation in a plan, and of characters of each."""
_SAID: Final = frozenset(("query", "text", "entities"))

_UNKNOWN: Final = frozenset(
    ("timeout", "outcome-unknown", "result-type", "result-schema", "result-too-large")
)
"""Codes of failures of calls that may have taken effect: another plan could repeat them."""


StreamedDraft: TypeAlias = tuple[Compiled, Run | None]
"""A draft that was compiled while it was written, and its run where it was started."""


class ReportedSteps(Struct):
    """The steps of a stream, which a loop reports to its callbacks, as is their plan."""

    stream: compiler.CompileStream
    loop: Loop
    planner: str
    question: Question
    noted: Compiled | None = None

    async def __aiter__(self) -> AsyncIterator[Step]:
        """Yield each step when it is complete."""
        loop = self.loop
        async with aclosing(self.stream) as steps:
            async for step in steps:
                if loop.on_step is not None:
                    loop.on_step(step)
                yield step
        if loop.eager and (plan := self.compiled.plan) is not None:
            # reads run already; report the plan before the run is stored and effects start
            if loop.on_plan is not None:
                loop.on_plan(self.compiled)
            refuse_wrong(chosen(loop.start.approve, plan), plan, loop.journal)

    @property
    def compiled(self) -> Compiled:
        """The compiled plan, at the end of the stream."""
        if self.noted is None:
            self.noted = self.loop.noted(self.stream.compiled, self.planner, self.question)
        return self.noted


class StreamingDraft:
    """Compiles each draft while it is written, and may start its steps that only read.

    A draft that starts again replaces the one before, and the steps started by that one are
    cancelled.
    """

    def __init__(self, loop: Loop, question: Question) -> None:
        self._loop, self._question = loop, question
        self._texts: asyncio.Queue[str | None] | None = None
        self._written: list[str] = []
        self._task: Task[StreamedDraft] | None = None
        self._left: list[Task[StreamedDraft]] = []

    def add(self, piece: DraftText) -> None:
        """Take the next piece of the draft."""
        if piece.starts:
            self._leave()
            self._written.clear()
            self._texts = asyncio.Queue()
            if piece.dialect in DIALECTS:
                follow = self._follow(self._texts, piece.dialect, piece.planner)
                self._task = asyncio.create_task(follow)
        self._written.append(piece.text)
        if self._texts is not None:
            self._texts.put_nowait(piece.text)

    async def ended(self, draft: Draft) -> StreamedDraft | None:
        """Return the result for `draft`; None if another draft was streamed, or it cannot be run.

        Steps with effects start in here at the earliest: until the planner has proposed the very
        draft that was followed, it is not known to be one.

        Raises:
            Exception: as `toolplan.run_stream` does, except `StreamRefused`.
        """
        task, texts = self._task, self._texts
        if task is None or texts is None or draft.text not in "".join(self._written):
            return None
        self._task = self._texts = None
        texts.put_nowait(None)
        try:
            return await task
        except engines.StreamRefused:
            return None
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise

    async def close(self) -> None:
        """Cancel the run if it has not ended."""
        self._leave()
        await asyncio.gather(*self._left, return_exceptions=True)
        self._left.clear()

    def _leave(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._left.append(self._task)
        self._task = self._texts = None

    async def _follow(
        self, texts: asyncio.Queue[str | None], dialect: str, planner: str
    ) -> StreamedDraft:
        async def written() -> AsyncIterator[str]:
            while (text := await texts.get()) is not None:
                yield text

        loop = self._loop
        stream = compiler.compile_stream(written(), dialect, **loop.setup.checks)
        steps = ReportedSteps(stream, loop, planner, self._question)
        if not loop.eager:
            async for _ in steps:
                pass
            return steps.compiled, None
        loop.events.clear()
        ended = await run_stream(
            steps,
            approval=approver_of(chosen(loop.start.approve, None), yes=loop.start.yes),
            on_event=loop.keep,
            run_id=loop.setup.new_id(),
            **loop.setup.engine_arguments(loop.start.options, loop.journal),
        )
        return steps.compiled, ended


class _Outcome(NamedTuple):
    """A plan that has run, its events, and how much is missing still."""

    plan: ExecutionPlan
    events: tuple[Event, ...]
    missing: tuple[int, int]
    is_lacking: bool
    """the run ended, and not well enough"""


class Loop(Struct):
    """Answers one question. Each question has its own, so an app can answer several at once.

    The callbacks are those of `App.ask`.
    """

    setup: Setup
    planner: Planner
    journal: Store | None
    start: Start
    metadata: Mapping[str, Json]
    on_step: Callable[[Step], None] | None = None
    on_plan: Callable[[Compiled], None] | None = None
    on_delta: Callable[[deltas.Delta], None] | None = None
    eager: bool = False
    replan: bool = False
    note: Callable[[str], None] = logger.info
    events: list[Event] = field(default_factory=list[Event])

    async def plan(self, asked: AskResult) -> AskResult:
        """Return a checked plan for the question, and run nothing."""
        asked = await self._propose(asked)
        if isinstance(asked.proposal, Draft) and asked.plan is not None:
            self._learn(asked, asked.proposal, kept=True)
        return asked

    async def answer(self, asked: AskResult) -> AskResult:
        """Plan and run until there is an answer, no other plan, no attempt left, or no progress."""
        before: _Outcome | None = None
        while len(asked.attempts) < self.setup.attempts:
            try:
                tried = await self._propose(asked)
            except ModelError:
                if asked.run is None:
                    raise
                return asked  # the run so far says more than that there is no other plan
            if tried.plan is None:
                return tried if asked.run is None else replace(asked, attempts=tried.attempts)
            plan = tried.plan
            if tried.run is asked.run:  # it has not run while it was written
                try:
                    tried = await self._run(tried, plan, before)
                except ApprovalRequired:
                    if asked.run is None:
                        raise
                    return replace(asked, attempts=tried.attempts, unapproved=plan)
            asked = tried
            if isinstance(asked.proposal, Draft):
                self._learn(asked, asked.proposal, kept=asked.succeeded)
            after = self._outcome(asked, plan)
            if not after.is_lacking or (plan.effects and not self.replan):
                break
            if before is not None and after.missing >= before.missing:
                break  # another plan made no progress
            before, self.eager = after, False
        return asked

    def _outcome(self, asked: AskResult, plan: ExecutionPlan) -> _Outcome:
        """Rate a run by its missing steps, then by `assess`."""
        events, assess = asked.attempts[-1].events, self.setup.assess
        short = 0 if assess is None or not asked.succeeded else assess(asked)
        status = RunState.RUNNING if asked.run is None else asked.run.status
        failed = 0 if asked.succeeded else deltas.left(plan, events)
        # of an idempotent tool, too: another plan has other arguments, or another idempotency key
        is_unknown = any(
            each.step in plan.effects and each.failure is not None and each.failure.code in _UNKNOWN
            for each in events
            if isinstance(each, StepFailed | StepSucceeded | ItemEnded)
        )
        ended = status in (RunState.SUCCEEDED, RunState.FAILED) and not is_unknown
        return _Outcome(plan, events, (failed, short), ended and (not asked.succeeded or short > 0))

    async def _propose(self, asked: AskResult) -> AskResult:
        """Return the first plan that passes its check, or another proposal; else the best draft."""
        best: AskResult | None = None
        while len(asked.attempts) < self.setup.attempts:
            try:
                proposal, streamed = await self._proposed(asked)
            except ModelError as error:
                if best is None:
                    raise
                return replace(best, attempts=asked.attempts, fault=error)
            asked = replace(asked, proposal=proposal, compiled=None)
            if not isinstance(proposal, Draft):
                return asked
            asked = self._checked(asked, proposal, streamed)
            if asked.plan is not None:
                return asked
            if best is None or _problems(asked) <= _problems(best):
                best = asked
            self._report_refused(asked, proposal)
        return asked if best is None else replace(best, attempts=asked.attempts)

    async def _proposed(self, asked: AskResult) -> tuple[Proposal, StreamedDraft | None]:
        """Return the next proposal, and a draft that was compiled while it was written."""
        is_streamed = self.on_step is not None or self.eager
        streaming = StreamingDraft(self, asked.question) if is_streamed else None
        streamed: StreamedDraft | None = None
        try:
            with traces.span("plan", {traces.OPERATION: "plan"}):
                add = None if streaming is None else streaming.add
                proposal = await proposed(
                    self.planner, asked.question, self.setup.tools, asked.attempts, add
                )
            if streaming is not None and isinstance(proposal, Draft):
                streamed = await streaming.ended(proposal)
        finally:
            if streaming is not None:
                await streaming.close()
        return proposal, streamed

    def _report_refused(self, asked: AskResult, draft: Draft) -> None:
        """Report why a draft is refused, where the planner is asked again."""
        if asked.compiled is None or len(asked.attempts) >= self.setup.attempts:
            return  # the result says it
        errors = [each for each in asked.compiled.diagnostics if each.blocks]
        shown = [f"{each.code}: {each.message}" for each in errors[:_MOST_REASONS]]
        if len(errors) > _MOST_REASONS:
            shown.append(f"and {len(errors) - _MOST_REASONS} more.")
        who = draft.planner or "the planner"
        self.note(f"The plan of {who} is refused, and it is asked again. {' '.join(shown)}")

    def _checked(self, asked: AskResult, draft: Draft, streamed: StreamedDraft | None) -> AskResult:
        """Return the result of a draft; one that ran while it was written has its run."""
        setup = self.setup
        if streamed is not None and (ended := streamed[1]) is not None:
            compiled = streamed[0]  # the run executed the streamed text, not the proposal
            attempt = Attempt(draft, compiled.diagnostics, tuple(self.events))
            asked = replace(asked, run=ended)
            if compiled.plan is not None:
                asked = replace(asked, answer=setup.answer(compiled.plan, ended))
        else:
            compiled = setup.compiled(draft.text, draft.dialect, draft.times)
            compiled = self.noted(compiled, draft.planner, asked.question, strict=draft.small)
            attempt = Attempt(draft, compiled.diagnostics)
        setup.keep_passed(compiled.plan)
        return replace(asked, compiled=compiled, attempts=(*asked.attempts, attempt))

    async def _run(
        self, asked: AskResult, plan: ExecutionPlan, before: _Outcome | None
    ) -> AskResult:
        setup, given = self.setup, self.start.approve
        change = None if before is None else deltas.delta(before.plan, before.events, plan)
        if change is not None and self.on_delta is not None:
            self.on_delta(change)
        if self.on_plan is not None and asked.compiled is not None:
            self.on_plan(asked.compiled)
        if (
            change is not None
            and by_values(chosen(given, plan)) is None  # values are asked for anew
            and before is not None
            and before.plan.effects
            and not change.unapproved
        ):
            approval = approve  # with the plan before, these very calls were approved
        else:
            approval = await approver_for(given, plan, self.journal, yes=self.start.yes)
        self.events.clear()
        ended = await run(
            plan,
            approval=approval,
            on_event=self.keep,
            run_id=setup.new_id(),
            done=() if change is None else change.events,
            **setup.engine_arguments(self.start.options, self.journal),
        )
        last = replace(asked.attempts[-1], events=tuple(self.events))
        found = setup.answer(plan, ended)
        return replace(asked, run=ended, answer=found, attempts=(*asked.attempts[:-1], last))

    def keep(self, event: Event) -> None:
        """Keep an event of the run for the next attempt, and report it."""
        self.events.append(event)
        if self.start.on_event is not None:
            self.start.on_event(event)

    def _learn(self, asked: AskResult, draft: Draft, *, kept: bool) -> None:
        if isinstance(self.planner, Remembering):
            report = self.planner.keep if kept else self.planner.drop
            report(asked.question, self.setup.tools, draft)

    def noted(
        self, compiled: Compiled, planner: str, question: Question, *, strict: bool = False
    ) -> Compiled:
        """Note in a plan who made it, for which question, and when (C-16)."""
        if compiled.plan is None:
            return compiled
        created = datetime.fromtimestamp(self.setup.clock(), UTC).isoformat(timespec="milliseconds")
        notes: dict[str, Json] = {"query": question.text, "reference_date": question.today}
        if planner:
            notes["planner"] = planner
        own = compiled.plan.plan.metadata
        if is_of_model(planner):
            texts = (text[:_LONGEST_EARLIER] for text in _texts_of(question.context, said=False))
            earlier: list[Json] = [*islice(dict.fromkeys(texts), _MOST_EARLIER)]
            notes = {**own, **({EARLIER: earlier} if earlier else {}), **notes}
        else:
            notes = {**notes, **own}
        notes |= self.metadata
        if self.journal is not None:
            notes |= self.setup.estimate(compiled.plan, self.journal, self.start.options)
        notes["created_at"] = created.replace("+00:00", "Z")
        plan = noted(compiled.plan, notes)
        invented = about_question(plan.plan, self.setup.tools, self.setup.rules, strict=strict)
        if invented:  # the places of values that a model made up
            known = plan.plan.metadata.get("provenance")
            places: dict[str, Json] = {each.pointer: dict(INVENTED) for each in invented}
            places = {**(known if isinstance(known, dict) else {}), **places}
            plan = noted(plan, {"provenance": places})
        found = tuple(each for each in compiled.diagnostics if each.code != invented_literal.code)
        runs = None if any(each.blocks for each in invented) else plan
        return compiled._replace(plan=runs, draft=plan.plan, diagnostics=(*found, *invented))


def _problems(asked: AskResult) -> tuple[bool, int]:
    """Return how much is wrong with a draft: whether it cannot be read, and its errors."""
    if asked.compiled is None or asked.compiled.draft is None:
        return True, 0
    return False, sum(each.blocks for each in asked.compiled.diagnostics)


def _texts_of(context: Json, *, said: bool) -> Iterator[str]:
    """Yield the texts of a conversation's context, without its plans."""
    match context:
        case str() if said:
            yield context
        case list():
            for each in context:
                yield from _texts_of(each, said=said)
        case dict():
            for name, inner in context.items():
                if name != "plan":
                    yield from _texts_of(inner, said=name in _SAID)
        case _:
            return
