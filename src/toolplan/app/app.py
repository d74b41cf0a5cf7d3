"""An app: tools, a planner and a journal, and all that can be done with them."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, Self, TypeVar, overload

from toolplan.answer import InsightFunction, answer
from toolplan.app._approve import Approve, approver_of, refuse_other
from toolplan.app._decisions import day_of, decisions_of, metadata_of, read_day
from toolplan.app._home import LEARNED, MEMORY, open_journal
from toolplan.app._learning import learn_from
from toolplan.app._limits import Concurrency, LimitOptions, run_options
from toolplan.app._planning import DEFAULT_ATTEMPTS
from toolplan.app._session import Session
from toolplan.app._toolset import ADVICE
from toolplan.app.notes import estimate, foreseen, noted
from toolplan.app.results import AskResult, CheckResult, RunResult
from toolplan.app.resume import plan_of
from toolplan.app.resume import resume as resume_run
from toolplan.app.settings import Settings
from toolplan.approval import Approver, Policy
from toolplan.compiler import Compiled, Tools, compile_plan, output_schemas, toolbox
from toolplan.deltas import Delta
from toolplan.dialects import DIALECTS
from toolplan.dry_run import DryRun, simulate
from toolplan.engines import RunOptions, run
from toolplan.errors import ToolplanError
from toolplan.events import Event, Run
from toolplan.execution_plan import ExecutionPlan
from toolplan.forecast import Forecast
from toolplan.path import Json
from toolplan.plan import Limits, Plan, Step
from toolplan.plan_json import dump
from toolplan.planners import Planner
from toolplan.planners.grounded.dialogue import DialoguePlanner
from toolplan.providers import Model, UsageTracker
from toolplan.render.diagnostics import Located
from toolplan.render.plan_tree import effect_marks
from toolplan.render.printable import printable
from toolplan.storage.journal import Journal, RunEntry
from toolplan.storage.memory import BestEffortMemory, Memory, MemoryFault, SqliteMemory
from toolplan.summary.summariser import Summariser
from toolplan.tools import on_day

logger = logging.getLogger("toolplan")

_T = TypeVar("_T")
_MOST_LOCATED: Final = 30
NO_LIMITS: Final = LimitOptions()

PlanArgument = ExecutionPlan | AskResult | CheckResult | Plan | str | dict[str, Any]
SummaryFormat = Literal["plain", "markdown", "json"]


class App:
    """Plans, checks and runs with some tools. `toolplan.open` makes one with the user's defaults.

    Use it with `async with`, or call `close` at the end. Its coroutines may run at the same time,
    and in one event loop after another, but not in two loops at the same time.
    """

    def __init__(
        self,
        tools: Tools,
        planner: Planner,
        *,
        insights: Sequence[InsightFunction] = (),
        policy: Policy = Policy(),
        limits: Limits = Limits(),
        options: RunOptions | None = None,
        settings: Settings | None = None,
        attempts: int = DEFAULT_ATTEMPTS,
        assess: Callable[[AskResult], int] | None = None,
        journal: Journal | Path | None = None,
        memory: Memory | None = None,
        model: Model | None = None,
        weeks: Literal["rolling", "calendar"] = "rolling",
        data: Path | None = None,
        advice: Mapping[str, Json] | None = None,
        metadata: Mapping[str, Json] = MappingProxyType({}),
        on_note: Callable[[str], None] | None = None,
        tracker: UsageTracker | None = None,
        resources: ExitStack | None = None,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        """Take what is open already; nothing is read from the user's settings or folders.

        Args:
            tools: what plans may call.
            planner: what proposes plans.
            insights: functions that find sentences in results (`toolplan.answer`).
            policy: what plans may use.
            limits: the largest plans and runs.
            options: how much at once and how long, where a call says nothing.
            settings: the user's settings, of which `[limits]` is used where `options` is None.
            attempts: the most drafts for one question, 1 or more.
            assess: how much an answer lacks, 0 for nothing; more is asked for while it shrinks.
            journal: where runs are kept, so that they can be resumed; None keeps them in memory.
            memory: where the turns of conversations are kept.
            model: writes summaries.
            weeks: what *last week* is: the last 7 days, or Monday to Sunday.
            data: the user's data folder, for learned schemas and memory; None uses neither.
            advice: what the tools were opened with, for whoever resumes a run.
            metadata: put into the metadata of every plan.
            on_note: called with each sentence that the user should know; None logs it.
            tracker: what models have used.
            resources: closed with the app.
            clock: seconds since the epoch.
            new_id: returns the name of a run.
        """
        if attempts < 1:
            raise ValueError("At least one attempt is needed.")
        self.tools = toolbox(tools)
        self.planner = planner
        self._journal = journal
        self.policy = policy
        self.model = model
        self.tracker = UsageTracker() if tracker is None else tracker
        self.insights = tuple(insights)
        self.limits = limits
        self._options = options
        self._settings = Settings(environment={}) if settings is None else settings
        self._attempts = attempts
        self._assess = assess
        self._memory = memory
        self._talking = DialoguePlanner(planner, weeks=weeks)
        self._data = data
        self._advice = advice
        self._more = dict(metadata)
        self._on_note = on_note
        self._resources = ExitStack() if resources is None else resources
        self._is_closed = False
        self._clock = clock
        self._new_id = new_id

    def __repr__(self) -> str:
        return f"App({len(self.tools)} tools)"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the tools and the journal that `toolplan.open` opened. It may be called again."""
        self._is_closed = True
        self._resources.close()

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run one of the app's coroutines to its end, where no event loop runs: in a script.

        Raises:
            ToolplanError: an event loop runs already, as in a notebook: `await` the coroutine.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(work)
        name = getattr(work, "__name__", "ask")
        work.close()
        raise ToolplanError(
            "running-loop",
            "An event loop is running already, as in a notebook.",
            f"Write `await app.{name}(…)` instead of `app.wait(app.{name}(…))`.",
        )

    async def plan(
        self,
        question: str,
        *,
        today: date | str | None = None,
        context: Json = None,
        conversation: str | None = None,
        on_step: Callable[[Step], None] | None = None,
    ) -> AskResult:
        """Return a checked plan for a question, and run nothing.

        Args:
            question: what to plan.
            today: the date that counts as today.
            context: what was said before (`toolplan.planners.Question`).
            conversation: the conversation that the question belongs to.
            on_step: called with each valid step while a model still writes the plan.

        Raises:
            ModelError: a model is asked and gives no complete reply.
        """
        session = self._session(conversation, NO_LIMITS, None, keep=False)
        asked = await session.plan(
            question, today=self._day(today), context=context, on_step=on_step
        )
        return self._marked(asked)

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
        summary: SummaryFormat | None = None,
        on_step: Callable[[Step], None] | None = None,
        on_plan: Callable[[Compiled], None] | None = None,
        on_delta: Callable[[Delta], None] | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> AskResult:
        """Answer a question: plan, run the plan, and say what was found.

        After a run that failed, or that `assess` finds lacking, the planner is asked for another
        plan. It keeps what is done (`toolplan.deltas`).

        Args:
            question: what to answer.
            today: the date that counts as today.
            context: what was said before (`toolplan.planners.Question`).
            plan_only: make the plan, and run nothing.
            yes: approve any plan with effects without asking.
            approve: asked to approve a plan with effects; or the approval, or the digest, of the
                only plan with effects that may run.
            concurrency: the most calls at once: N, or `NAME=N` for a tool or a source.
            timeout: the most seconds of each try of a call.
            conversation: the conversation that the question belongs to.
            eager: start steps that only read while a model still writes the plan.
            replan: after a failed run with effects continue with another plan.
            summary: let the model put the answer into words, in this format.
            on_step: called with each valid step while a model still writes the plan.
            on_plan: called with each plan that is about to run.
            on_delta: called before that with what a further plan keeps of the run before it.
            on_event: called with each event of the run.

        Raises:
            ApprovalRequired: the plan has effects and was not approved. No call with effects was
                made, and no call at all without `eager`.
            ModelError: a model is asked and gives no complete reply.
        """
        if plan_only:
            return await self.plan(
                question, today=today, context=context, conversation=conversation, on_step=on_step
            )
        given = LimitOptions.of(concurrency, timeout)

        def about_to_run(compiled: Compiled) -> None:
            if on_plan is not None:
                on_plan(compiled)
            if compiled.plan is not None:
                refuse_other(approve, compiled.plan)

        session = self._session(conversation, given, approver_of(approve, yes=yes), replan=replan)
        day = self._day(today)
        with on_day(day):
            asked = await session.ask(
                question,
                today=day,
                context=context,
                early=eager,
                on_step=on_step,
                on_plan=about_to_run,
                on_delta=on_delta,
                on_event=on_event,
            )
        if asked.run is not None and asked.plan is not None:
            self.learn(asked.plan, asked.run)
        if summary is not None and asked.run is not None and asked.answer is not None:
            written = await Summariser(self.model, format=summary).summarise(
                asked.answer,
                asked.run,
                asked.question.text,
                plan=None if asked.plan is None else asked.plan.plan,
            )
            asked = replace(asked, summary=written)
        return self._marked(asked)

    def check(self, plan: PlanArgument, *, dialect: str = "toolplan") -> CheckResult:
        """Check a plan against the tools and the policy.

        Args:
            plan: text in `dialect`, a JSON document, or a plan.
            dialect: how a text is written.

        Raises:
            ToolplanError: `plan` is not a plan.
        """
        self._open()
        if isinstance(plan, CheckResult):
            return plan
        if isinstance(plan, AskResult):
            if plan.plan is None:
                raise ToolplanError("no-plan", f"There is no plan to run: {plan.reason}", None)
            plan = plan.plan
        if isinstance(plan, ExecutionPlan):
            return CheckResult(
                plan,
                (),
                marks=effect_marks(plan.plan, self.tools),
                unchecked_references=plan.unchecked_references,
            )
        if isinstance(plan, Plan):
            plan, dialect = dump(plan), "toolplan"
        if not isinstance(plan, str | dict):
            raise ToolplanError(
                "no-plan",
                f"A plan is needed, and this is {'None' if plan is None else type(plan).__name__}.",
                "Give the result of `await app.plan(…)`, a plan as text, or a JSON document.",
            )
        text = plan if isinstance(plan, str) else json.dumps(plan)
        compiled = compile_plan(
            text, dialect, tools=self.tools, limits=self.limits, policy=self.policy
        )
        found = compiled.diagnostics
        locate = DIALECTS[dialect].locate
        located = [Located(each, locate(text, each.pointer)) for each in found[:_MOST_LOCATED]]
        return CheckResult(
            compiled.plan,
            found,
            (*located, *map(Located, found[_MOST_LOCATED:])),
            text,
            unchecked_references=compiled.unchecked_references,
        )

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
        on_plan: Callable[[ExecutionPlan], None] | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> RunResult | DryRun:
        """Check a plan, and run exactly that plan.

        Args:
            plan: the result of `plan` or `check`, a plan, text in `dialect`, or a JSON document.
            dialect: how a text is written.
            run_id: the name of the run; a new one by default.
            today: the date that counts as today, for tools that ask for it.
            yes: approve any plan with effects without asking.
            approve: as for `ask`.
            concurrency: the most calls at once: N, or `NAME=N` for a tool or a source.
            timeout: the most seconds of each try of a call.
            dry_run: call no tool; return what a run would do with sample values.
            on_plan: called with the plan before it runs.
            on_event: called with each event of the run.

        Raises:
            ToolplanError: the plan does not pass the check, or a limit is wrong.
            CannotRun: a tool cannot be called.
            ApprovalRequired: the plan has effects and was not approved. No call was made.
        """
        checked = self.check(plan, dialect=dialect).needed()
        given = LimitOptions.of(concurrency, timeout)
        options = self.run_options(given)
        if dry_run:
            return await self._dry_run(checked)
        expected = {} if self.journal is None else estimate(self.forecast(checked, given))
        day = self._day(today)
        checked = noted(checked, {**self.metadata(given, day), **expected})
        if on_plan is not None:
            on_plan(checked)
        refuse_other(approve, checked)
        with on_day(day):
            ended = await run(
                checked,
                self.tools,
                journal=None if self._journal is None else self.needed_journal(),
                approval=approver_of(approve, yes=yes),
                limits=self.limits,
                run_id=run_id or self._new_id(),
                on_event=on_event,
                clock=self._clock,
                **options.arguments(),
            )
        return self._ended(checked, ended)

    async def resume(
        self,
        run: str,
        *,
        retry: Sequence[str] = (),
        resolve: Sequence[str] | Mapping[str, Json] = (),
        abort: Sequence[str] = (),
        yes: bool = False,
        approve: Approve | None = None,
        concurrency: Concurrency | None = None,
        timeout: float | None = None,
        on_plan: Callable[[ExecutionPlan], None] | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> RunResult:
        """Resume a run that was interrupted, cancelled, or waits for a person.

        What is done is not done again.

        Args:
            run: the name of the run, or its beginning.
            retry: calls in doubt to make again: `STEP` or `STEP:ITEM`.
            resolve: calls in doubt that succeeded, with their results: `STEP=JSON`, or a mapping.
            abort: calls in doubt that failed.
            yes: approve the plan without asking, where it was not approved yet.
            approve: as for `ask`.
            concurrency: as for `run`; by default as the run was started.
            timeout: as for `run`.
            on_plan: called with the plan before it continues.
            on_event: called with each new event.

        Raises:
            ToolplanError: an option is wrong.
            CannotRun: the tools have changed, or a decision fits no call in doubt.
            ApprovalRequired: the plan has effects and was not approved.
            JournalError: there is no such run, or another process works on it.
        """
        journal = self.needed_journal()
        decisions = decisions_of(retry, resolve, abort)
        name = journal.find(run)
        metadata = metadata_of(journal.record(name).plan)
        given = LimitOptions.of(concurrency, timeout)
        plan = plan_of(name, self.tools, journal=journal, limits=self.limits)
        if on_plan is not None:
            on_plan(plan)
        refuse_other(approve, plan)
        with on_day(self._day(day_of(metadata))):
            ended = await resume_run(
                name,
                self.tools,
                journal=journal,
                approval=approver_of(approve, yes=yes),
                decisions=decisions,
                limits=self.limits,
                run_options=self.run_options(LimitOptions.kept(metadata.get(ADVICE)), given),
                on_event=on_event,
                clock=self._clock,
            )
        return self._ended(plan, ended)

    def runs(self, limit: int = 20) -> list[RunEntry]:
        """Return the runs that the journal keeps, the newest first.

        Raises:
            JournalError: the journal cannot be read.
        """
        if limit < 1:
            raise ToolplanError("usage", "--limit is less than 1.", "Give a number of runs.")
        return self.needed_journal().runs(limit)

    def forecast(self, plan: ExecutionPlan, given: LimitOptions = NO_LIMITS) -> Forecast:
        """Return what a run of `plan` is expected to take, from earlier calls in the journal."""
        journal = self.needed_journal()
        return foreseen(plan, journal, self.tools, self.run_options(given))

    def run_options(self, *given: LimitOptions) -> RunOptions:
        """Return how much runs at once and how long calls may take.

        Raises:
            ToolplanError: a limit is wrong.
        """
        if self._options is not None and not any(each != LimitOptions() for each in given):
            return self._options
        return run_options(self._settings, self.tools, *given)

    def _session(
        self,
        conversation: str | None,
        given: LimitOptions,
        approval: Approver | None,
        *,
        replan: bool = False,
        keep: bool = True,
    ) -> Session:
        self._open()
        journal = self.journal
        if keep and self._journal is not None:
            journal = self.needed_journal()
        return Session(
            self.tools,
            self.planner if conversation is None else self._talking,
            insights=self.insights,
            policy=self.policy,
            limits=self.limits,
            run_options=self.run_options(given),
            attempts=self._attempts,
            approval=approval,
            loop=replan,
            assess=self._assess,
            journal=journal,
            memory=None if conversation is None else self._conversations(),
            conversation=conversation or "",
            metadata=self.metadata(given),
            clock=self._clock,
            new_id=self._new_id,
        )

    async def _dry_run(self, plan: ExecutionPlan) -> DryRun:
        used = {step.tool for step in plan.plan.steps}
        recordings = {} if self.journal is None else self.journal.recordings(used)
        return await simulate(plan, self.tools, recordings=recordings)

    def _ended(self, plan: ExecutionPlan, ended: Run) -> RunResult:
        self.learn(plan, ended)
        schemas = output_schemas(plan.plan, self.tools)
        return RunResult.of(
            ended, plan, answer(plan, ended, schemas=schemas, insights=self.insights)
        )

    def learn(self, plan: ExecutionPlan, ended: Run) -> None:
        """Learn output schemas from a run, for tools that declare none."""
        if self._data is not None:
            learn_from(plan.plan, ended, self.tools, self._data / LEARNED, self._note)

    def metadata(
        self, given: LimitOptions = NO_LIMITS, today: date | None = None
    ) -> dict[str, Json]:
        """Return the metadata of a plan that runs: what its tools were opened with."""
        notes = dict(self._more)
        if self._advice is not None:
            day: dict[str, Json] = {} if today is None else {"today": today.isoformat()}
            notes[ADVICE] = {**self._advice, **day, **given.to_json()}
        return notes

    def _conversations(self) -> Memory:
        if self._memory is None:
            if self._data is None:
                raise ToolplanError(
                    "usage", "This app has no memory for conversations.", "Give it one: memory=…"
                )
            kept = SqliteMemory(self._data / MEMORY)
            self._resources.enter_context(closing(kept))
            self._memory = BestEffortMemory(kept, self._report_fault)
        return self._memory

    def _report_fault(self, fault: MemoryFault) -> None:
        self._note(f"The earlier conversation is not known: {fault} {fault.help or ''}")

    def _note(self, sentence: str) -> None:
        (logger.warning if self._on_note is None else self._on_note)(printable(sentence))

    def _marked(self, asked: AskResult) -> AskResult:
        if asked.plan is None:
            return asked
        return replace(asked, marks=effect_marks(asked.plan.plan, self.tools))

    def _day(self, today: date | str | None) -> date:
        if today is None:
            return datetime.fromtimestamp(self._clock()).date()
        return today if isinstance(today, date) else read_day(today)

    @property
    def journal(self) -> Journal | None:
        """The journal; None where there is none, or no run was kept in it yet."""
        if isinstance(self._journal, Path):
            return self.needed_journal() if self._journal.exists() else None
        return self._journal

    def needed_journal(self) -> Journal:
        """Return the journal; make its file where there is none.

        Raises:
            ToolplanError: the app has no journal.
            JournalError: it cannot be opened.
        """
        self._open()
        if isinstance(self._journal, Path):
            self._journal = self._resources.enter_context(closing(open_journal(self._journal)))
        if self._journal is None:
            raise ToolplanError("usage", "This app has no journal.", "Give it one: journal=PATH.")
        return self._journal

    def _open(self) -> None:
        if self._is_closed:
            raise ToolplanError("app-closed", "The app is closed.", "Open another one.")
