"""An app: plans, checks and runs with tools, a planner and a journal."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, Self, TypeVar, overload

from msgspec.structs import replace

from toolplan import providers
from toolplan.app import workers as machines
from toolplan.app._arguments import checked_methods
from toolplan.app._loop import Loop
from toolplan.app._runs import Runs, kept_result, summarised
from toolplan.app._toolset import learnable
from toolplan.app.dry_run.report import DryRun
from toolplan.app.dry_run.simulation import simulate
from toolplan.app.results import AskResult, CheckResult, RunResult
from toolplan.app.resume import ADVICE, Approve, consents_of, day_of, decisions_of, metadata_of
from toolplan.app.setup import (
    NO_LIMITS,
    ActiveTasks,
    Concurrency,
    Kept,
    LimitOptions,
    PlanArgument,
    Setup,
    Start,
    User,
    noted,
)
from toolplan.app.wait import wait
from toolplan.base.threads import in_thread
from toolplan.compiler import Compiled, Tools, toolbox
from toolplan.compiler.rules import Rule
from toolplan.engine import RunOptions, deltas
from toolplan.engine.forecast import Forecast
from toolplan.events import Event, Run
from toolplan.plan.model import Limits, Step
from toolplan.plan.path import Json
from toolplan.planners import Attempt, Planner, Question, Refusal
from toolplan.policy import Policy
from toolplan.policy.consent import Effect
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Toolbox
from toolplan.show import summary as summaries
from toolplan.show.answer import InsightFunction
from toolplan.show.plan_tree import effect_marks
from toolplan.show.printable import printable
from toolplan.storage import memory as memories
from toolplan.storage.journal import RunEntry, Store

logger = logging.getLogger("toolplan")
DEFAULT_ATTEMPTS: Final = 3

_T = TypeVar("_T")


@checked_methods
class App:
    """Plans, checks and runs with some tools; see `toolplan.open`. Use it with `async with`."""

    def __init__(
        self,
        tools: Tools,
        planner: Planner,
        *,
        insights: Sequence[InsightFunction] = (),
        policy: Policy = Policy(),
        limits: Limits = Limits(),
        rules: Sequence[Rule] | None = None,
        options: RunOptions | None = None,
        attempts: int = DEFAULT_ATTEMPTS,
        assess: Callable[[AskResult], int] | None = None,
        journal: Store | Path | str | None = None,
        memory: memories.Memory | None = None,
        model: providers.Model | None = None,
        metadata: Mapping[str, Json] = MappingProxyType({}),
        user: User | None = None,
        on_note: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        """Use tools, a planner and a journal that are already open.

        Args:
            tools: the tools that plans may call.
            planner: the planner.
            insights: functions that find sentences in results (`toolplan.show.answer`).
            policy: the policy for plans.
            limits: the largest plans and runs.
            rules: what plans are checked by. None: the rules of all installed packages.
            options: how much at once and how long. None: the user's `[limits]`.
            attempts: maximum number of drafts for one question, 1 or more.
            assess: how much an answer lacks, 0 for nothing; while it shrinks, another is tried.
            journal: where runs are kept. None: in memory only, and they cannot be resumed.
            memory: where the turns of conversations are kept.
            model: writes summaries.
            metadata: put into the metadata of every plan.
            user: the user's settings and folders. None: nothing is read or kept there.
            on_note: called with each sentence that the user should know. None: it is logged.
            clock: seconds since the epoch.
            new_id: returns the name of a run.
        """
        self.tools: Toolbox = toolbox(tools)
        self.planner, self.model = planner, model
        self.policy, self.limits, self.insights = policy, limits, tuple(insights)
        user = User() if user is None else user
        self.thresholds, self.tracker = user.settings.thresholds, user.tracker
        self.faults, self.active = user.faults, ActiveTasks()
        self._setup = Setup(
            self.tools, self.insights, policy, limits, rules, options, attempts, assess,
            dict(metadata), user, clock, new_id,
        )  # fmt: skip
        self._on_note, self._refreshing = on_note, threading.Lock()
        self._kept = Kept(journal, memory, user.data, self._note, user.resources)

    @cached_property
    def workers(self) -> machines.Workers:
        """Runs that other processes carry out."""
        return machines.Workers(self._setup, self._kept)

    def __repr__(self) -> str:
        return f"App({len(self.tools)} tools)"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self.active.close(cancel=kind is not None)
        await in_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the tools and the journal that `toolplan.open` opened. It may be called again."""
        self._kept.close()

    @property
    def has_news(self) -> bool:
        """Whether a server has answered or failed since, so that `refresh` finds something new."""
        return self._refreshing.locked() or self._setup.user.has_news()

    def refresh(self) -> None:
        """Take in the tools of servers that have answered late; `faults` names the others."""
        with self._refreshing:  # the calls of a server refresh side by side
            if (found := self._setup.user.late()) is None:
                return
            tools, faults = found
            self._setup = replace(self._setup, tools=tools, passed=set())
            self.tools, self.faults = tools, faults
            vars(self).pop("workers", None)  # it has the tools before

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run one of the app's coroutines to its end, in a script where no event loop runs.

        Raises:
            ToolplanError: an event loop runs already, as in a notebook: `await` the coroutine.
        """
        return wait(work)

    async def plan(
        self,
        question: str,
        *,
        today: date | str | None = None,
        context: Json = None,
        conversation: str | None = None,
        tried: Sequence[Attempt] = (),
        on_step: Callable[[Step], None] | None = None,
    ) -> AskResult:
        """Return a checked plan for a question, and run nothing.

        `tried` are plans for it that were refused or that failed, and why; they count as attempts.
        All else is as for `ask`.

        Raises:
            ModelError: a model is asked and gives no complete reply.
        """
        with self.active.task():
            journal = await self._kept.opened_journal(make=False)
            new = await self._asked(question, today, context, conversation)
            start = Start(self._setup.day(today), self.run_options())
            loop = replace(self._loop(journal, start, NO_LIMITS), on_step=on_step)
            asked = await loop.plan(replace(new, attempts=(*tried,)))
            return await self._finished(asked, conversation)

    async def ask(
        self,
        question: str,
        *,
        today: date | str | None = None,
        context: Json = None,
        plan_only: bool = False,
        yes: bool = False,
        approve: Approve | None = None,
        concurrency: Concurrency | None = None,
        timeout: float | None = None,
        conversation: str | None = None,
        eager: bool = False,
        replan: bool = False,
        summary: summaries.Format | None = None,
        on_step: Callable[[Step], None] | None = None,
        on_plan: Callable[[Compiled], None] | None = None,
        on_delta: Callable[[deltas.Delta], None] | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> AskResult:
        """Answer a question: plan, run, plan the rest again where a run failed, return the answer.

        Args:
            question: the question.
            today: the date that counts as today.
            context: the conversation so far (`toolplan.planners.Question`).
            plan_only: make the plan, and run nothing.
            yes: approve any plan with effects without asking.
            approve: asked to approve a plan with effects; or an approval or digest given before.
                "values", or a `ValueApproval`: reads run first, and calls wait with their values.
            concurrency: maximum number of concurrent calls: N, or `NAME=N` for a tool or a source.
            timeout: maximum seconds of each attempt of a call.
            conversation: the conversation that the question belongs to.
            eager: start steps that only read while a model still writes the plan.
            replan: after a failed run with effects continue with another plan.
            summary: let the model put the answer into words, in this format.
            on_step: called with each valid step while a model still writes the plan.
            on_plan: called with each plan that is about to run.
            on_delta: called before that with what it keeps of the run before it.
            on_event: called with each event of the run.

        Raises:
            ApprovalRequired: the plan has effects and was not approved; none was made.
            ModelError: a model gives no complete reply.
        """
        if plan_only:
            return await self.plan(
                question, today=today, context=context, conversation=conversation, on_step=on_step
            )
        with self.active.task():
            given = LimitOptions.of(concurrency, timeout)
            start = Start(self._setup.day(today), self.run_options(given), approve, yes, on_event)
            journal = await self._kept.opened_journal(make=True)
            loop = self._loop(journal, start, given)
            loop = replace(loop, on_step=on_step, on_plan=on_plan, on_delta=on_delta)
            loop = replace(loop, eager=eager, replan=replan)
            new = await self._asked(question, today, context, conversation)
            asked = await Runs(self._setup, journal, start).answered(loop, new)
            asked = await summarised(asked, self.model, summary, self._setup)
            return await self._finished(asked, conversation)

    def check(self, plan: PlanArgument, *, dialect: str = "toolplan") -> CheckResult:
        """Check a plan against the tools and the policy: text in `dialect`, JSON, or a plan.

        Raises:
            ToolplanError: `plan` is not a plan, or there is no such dialect.
        """
        return self._setup.check(plan, dialect)

    @overload
    async def run(
        self, plan: PlanArgument, *, dialect: str = ..., dry_run: Literal[True]
    ) -> DryRun: ...

    @overload
    async def run(
        self,
        plan: PlanArgument,
        *,
        dialect: str = ...,
        run_id: str | None = ...,
        today: date | str | None = ...,
        yes: bool = ...,
        approve: Approve | None = ...,
        concurrency: Concurrency | None = ...,
        timeout: float | None = ...,
        dry_run: Literal[False] = ...,
        quick: bool = ...,
        done: Sequence[Event] = ...,
        on_plan: Callable[[ExecutionPlan], None] | None = ...,
        on_event: Callable[[Event], None] | None = ...,
    ) -> RunResult: ...

    async def run(
        self,
        plan: PlanArgument,
        *,
        dialect: str = "toolplan",
        run_id: str | None = None,
        today: date | str | None = None,
        yes: bool = False,
        approve: Approve | None = None,
        concurrency: Concurrency | None = None,
        timeout: float | None = None,
        dry_run: bool = False,
        quick: bool = False,
        done: Sequence[Event] = (),
        on_plan: Callable[[ExecutionPlan], None] | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> RunResult | DryRun:
        """Check a plan, and run exactly that plan.

        The plan is the result of `plan` or `check`, a plan, text in `dialect`, or a JSON document.
        With `dry_run` no tool is called: the run is simulated with sample values. With `quick` the
        result has no answer, nothing is forecast, and a run without effects may be lost in a power
        cut. Steps of the events `done` are not run again (`toolplan.engine.deltas`). All else is as
        for `ask`.

        Raises:
            ToolplanError: the plan does not pass the check, or a limit is wrong.
            CannotRun: a tool cannot be called.
            ApprovalRequired: the plan has effects and was not approved. No call was made.
        """
        with self.active.task():
            self._kept.check_open()
            if isinstance(plan, ExecutionPlan) and plan.digest in self._setup.passed:
                checked = plan
            else:
                checked = (await in_thread(self.check, plan, dialect=dialect)).needed()
            given = LimitOptions.of(concurrency, timeout)
            options = self.run_options(given)
            journal = None if quick else await self._kept.opened_journal(make=False)
            if dry_run:
                used = {step.tool for step in checked.plan.steps}
                kept = {} if journal is None else await in_thread(journal.recordings, used)
                return await simulate(checked, self.tools, recordings=kept)
            start = Start(self._setup.day(today), options, approve, yes, on_event, done, quick)
            notes = self._setup.run_notes(given, start.day)
            if journal is not None:
                notes |= await in_thread(self._setup.estimate, checked, journal, options)
            checked = noted(checked, notes)
            if on_plan is not None:
                on_plan(checked)
            journal = await self._kept.opened_journal(make=True)
            runs = Runs(self._setup, journal, start)
            checked, ended = await runs.started(checked, run_id)
            if quick and not learnable(checked.plan, self.tools):
                return RunResult.of(ended, checked, None)
            return await in_thread(self._ended, checked, ended, with_answer=not quick)

    async def resume(
        self,
        run: str,
        *,
        retry: Sequence[str] = (),
        resolve: Sequence[str] | Mapping[str, Json] = (),
        abort: Sequence[str] = (),
        allow: Sequence[str | Effect] = (),
        deny: Sequence[str | Effect] = (),
        leave_out: Sequence[str | Effect] = (),
        reason: str = "",
        yes: bool = False,
        approve: Approve | None = None,
        concurrency: Concurrency | None = None,
        timeout: float | None = None,
        on_plan: Callable[[ExecutionPlan], None] | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> RunResult:
        """Resume a run that was interrupted, cancelled, or waits for a person.

        What is done is not done again. Approvals and callbacks are as for `run`, limits by default
        as the run was started.

        - Calls in doubt, `STEP` or `STEP:ITEM`: `retry` makes them again, `abort` takes them as
          failed, `resolve` as succeeded with a result (`STEP=JSON`, or a mapping).
        - Calls that wait, by steps or as they were shown: `allow` makes them, `deny` does not, with
          a `reason`; another plan, in a run of its own, leaves out the calls of `leave_out`.

        Raises:
            ToolplanError: an option is wrong.
            CannotRun: the tools have changed, or a decision fits no call that waits for it.
            ApprovalRequired: the plan has effects and was not approved.
            JournalError: there is no such run, or another process works on it.
        """
        with self.active.task():
            decisions = decisions_of(retry, resolve, abort)
            consents = consents_of(allow, deny, reason)
            journal = await in_thread(self.needed_journal)
            name = await in_thread(journal.find, run)
            record = await in_thread(journal.record, name)
            plan = await in_thread(self._setup.plan_in, record)
            metadata, given = metadata_of(record.plan), LimitOptions.of(concurrency, timeout)
            if on_plan is not None:
                on_plan(plan)
            options = self.run_options(LimitOptions.kept(metadata.get(ADVICE)), given)
            start = Start(self._setup.day(day_of(metadata)), options, approve, yes, on_event)
            runs = Runs(self._setup, journal, start)
            plan, ended = await runs.resumed(journal, name, plan, decisions, consents, leave_out)
            return await in_thread(self._ended, plan, ended)

    def runs(self, limit: int = 20, after: str = "") -> list[RunEntry]:
        """Return the runs that the journal keeps, the newest first, or those after a `cursor`."""
        return self.needed_journal().runs(limit, after)

    def result(self, run: str, events: Sequence[Event] | None = None) -> RunResult:
        """Return a run by its name or its beginning, as its `events` say; None reads them."""
        return kept_result(self._setup, self.needed_journal(), run, events)

    def forecast(self, plan: ExecutionPlan, given: LimitOptions = NO_LIMITS) -> Forecast:
        """Forecast a run of `plan`, from earlier calls in the journal."""
        return self._setup.forecast(plan, self.needed_journal(), self.run_options(given))

    def run_options(self, *given: LimitOptions) -> RunOptions:
        """Return how much runs at once and how long calls may take; a wrong limit is an error."""
        return self._setup.run_options(*given)

    @property
    def journal(self) -> Store | None:
        """The journal, or None before a run was kept in it."""
        return self._kept.journal

    def needed_journal(self) -> Store:
        """Return the journal; make its file where there is none."""
        return self._kept.needed_journal()

    def _loop(self, journal: Store | None, start: Start, given: LimitOptions) -> Loop:
        notes = self._setup.run_notes(given)
        return Loop(self._setup, self.planner, journal, start, notes, note=self._note)

    async def _asked(
        self, text: str, today: date | str | None, context: Json, conversation: str | None
    ) -> AskResult:
        if conversation is not None and context is None:
            context = await self._kept.recall(conversation, text)
        question = Question(text, self._setup.day(today).isoformat(), context)
        return AskResult(question, Refusal("Nothing was proposed."))

    async def _finished(self, asked: AskResult, conversation: str | None) -> AskResult:
        if conversation is not None:
            await self._kept.remember(conversation, asked, self._setup.clock())
        if asked.plan is not None and asked.run is not None:
            await in_thread(self._kept.learn, asked.plan, asked.run, self.tools)
        if asked.plan is None:
            return asked
        return replace(asked, marks=effect_marks(asked.plan.plan, self.tools))

    def _ended(self, plan: ExecutionPlan, ended: Run, *, with_answer: bool = True) -> RunResult:
        self._kept.learn(plan, ended, self.tools)
        return RunResult.of(ended, plan, self._setup.answer(plan, ended) if with_answer else None)

    def _note(self, sentence: str) -> None:
        (logger.info if self._on_note is None else self._on_note)(printable(sentence))
