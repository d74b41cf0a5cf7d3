"""The setup that all plans and runs of an app share: its files, and the limits of a run."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, cast
from zoneinfo import ZoneInfo

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import replace

from toolplan.app._toolset import learn_from
from toolplan.app.results import AskResult, CheckResult
from toolplan.app.resume import ADVICE, Approve, plan_in, read_day
from toolplan.app.settings import LEARNED, MEMORY, Calls, Seconds, Settings
from toolplan.base.errors import ToolplanError
from toolplan.base.threads import in_thread
from toolplan.compiler import Compiled, compile_plan, output_schemas, text_of
from toolplan.compiler.rules import Rule
from toolplan.dates import Times
from toolplan.dialects import known_dialect
from toolplan.engine import RunOptions
from toolplan.engine.forecast import Forecast, forecast
from toolplan.events import Event, Run
from toolplan.plan.canonical import dump
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.model import Limits, Plan
from toolplan.plan.path import Json
from toolplan.planners import conversation as conversations
from toolplan.policy import Policy
from toolplan.policy.approval import MADE_BY, maker
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.providers import UsageTracker
from toolplan.schema.tool import Toolbox
from toolplan.show.answer import Answer, InsightFunction, answer
from toolplan.show.diagnostics import located
from toolplan.show.plan_tree import effect_marks
from toolplan.storage import memory as memories
from toolplan.storage.journal import RunRecord, Store, open_journal

Concurrency: TypeAlias = int | str | Sequence[str] | Mapping[str, int]
"""Maximum number of concurrent calls: in all; `NAME=N` or `{NAME: N}` of a tool or a source."""


class LimitOptions(Struct, frozen=True):
    """The limits that were given for one run."""

    concurrency: tuple[str, ...] = ()
    timeout_s: float | None = None

    @classmethod
    def of(cls, concurrency: Concurrency | None, timeout_s: float | None) -> LimitOptions:
        """Return the limits in the form in which the command line gives them."""
        if isinstance(concurrency, Mapping):
            concurrency = [f"{name}={calls}" for name, calls in concurrency.items()]
        elif not isinstance(concurrency, list | tuple):  # other types are rejected below
            concurrency = [] if concurrency is None else [str(concurrency)]
        return cls(tuple(map(str, concurrency)), timeout_s)

    @classmethod
    def kept(cls, advice: Json) -> LimitOptions:
        """Return the limits in the metadata of a plan that ran with some."""
        match advice:
            case {"limits": {"concurrency": list(texts), "timeout": timeout}}:
                seconds = float(timeout) if isinstance(timeout, int | float) else None
                return cls(tuple(each for each in texts if isinstance(each, str)), seconds)
            case _:
                return cls()

    def to_json(self) -> dict[str, Json]:
        """Return the limits for a resumed run; empty where no limit was given."""
        if self == NO_LIMITS:
            return {}
        return {"limits": {"concurrency": [*self.concurrency], "timeout": self.timeout_s}}


NO_LIMITS: Final = LimitOptions()


def run_options(settings: Settings, tools: Toolbox, *given: LimitOptions) -> RunOptions:
    """Return the options of a run; later ones of `given` replace earlier ones, and settings."""
    limits, default = settings.limits, RunOptions()
    in_all, seconds = limits.concurrency or default.concurrency, limits.timeout or default.timeout_s
    of_tools, of_sources = {**limits.tools}, {**limits.sources}
    sources = {tool.source for tool in tools.values()}
    for options in given:
        for text in options.concurrency:
            name, _, number = text.rpartition("=")
            calls = _calls(text, number)
            if not name:
                in_all = calls
            elif name in tools:
                of_tools[name] = calls
            elif name in sources:
                of_sources[name] = calls
            else:
                known = ", ".join(sorted(map(repr, sources - {""})))
                help_ = f"`toolplan tools` lists the tools. Sources: {known}."
                message = f"concurrency: there is no tool and no source {name!r}."
                meant = did_you_mean(near(name, [*tools, *sources]))
                raise ToolplanError("usage", message, meant or help_)
        if (asked := options.timeout_s) is not None:
            try:
                seconds = convert(asked, Seconds)
            except ValidationError:
                shown = f"{asked:g}" if isinstance(cast("object", asked), float) else repr(asked)
                help_ = "Give seconds, more than 0 and at most 86400."
                said = f"timeout {shown} is not a valid time."
                raise ToolplanError("usage", said, help_) from None
    return RunOptions(
        concurrency=in_all,
        timeout_s=seconds,
        tool_concurrency=of_tools,
        source_concurrency=of_sources,
    )


def _calls(text: str, number: str) -> int:
    try:
        if number.isascii() and number.isdecimal():
            return convert(number, Calls, strict=False)
    except ValidationError:
        pass
    help_ = "Write a number from 1 to 100,000, or NAME=NUMBER for a tool or a source."
    raise ToolplanError("usage", f"concurrency {text!r} is not a valid limit.", help_)


def limits_everywhere(settings: Settings, tools: Toolbox) -> dict[str, int]:
    """Return the limits over all machines of `tools` and their sources."""
    names = {*tools, *(tool.source for tool in tools.values())}
    return {name: most for name, most in settings.limits.everywhere.items() if name in names}


_MOST_PASSED: Final = 1_000
_FILE: Final = re.compile(r"""[^\n"'{}()\[\]<>=]{1,300}\.(json|ya?ml|txt|md|plan|toml)""")
"""A text that may name a file, and is a plan in no dialect."""

PlanArgument: TypeAlias = ExecutionPlan | AskResult | CheckResult | Plan | str | dict[str, Any]


class User(Struct, frozen=True):
    """The settings and folders of a user; without arguments, there are none.

    Attributes:
        data: the folder for learned schemas and conversations; None keeps neither.
        advice: how the tools were opened; a plan that runs has it in its metadata.
        toolbox: the name of the toolbox in the settings that the tools are; empty for none.
        faults: which servers or operations cannot be used, and why.
        resources: closed with the app.
        late: returns the tools and the faults again where a slow server has answered or failed.
        has_news: says at once whether `late` may have some.
    """

    settings: Settings = field(default_factory=lambda: Settings(environment={}))
    data: Path | None = None
    advice: Mapping[str, Json] | None = None
    tracker: UsageTracker = field(default_factory=UsageTracker)
    toolbox: str = ""
    faults: tuple[str, ...] = ()
    resources: ExitStack = field(default_factory=ExitStack)
    late: Callable[[], tuple[Toolbox, tuple[str, ...]] | None] = lambda: None
    has_news: Callable[[], bool] = lambda: True


class Start(Struct, frozen=True):
    """How a run starts or continues; see `App.run`."""

    day: date
    options: RunOptions
    approve: Approve | None = None
    yes: bool = False
    on_event: Callable[[Event], None] | None = None
    done: Sequence[Event] = ()
    quick: bool = False


class Setup(Struct, frozen=True):
    """The parts of an app that all its questions and runs share; see `App`."""

    tools: Toolbox
    insights: tuple[InsightFunction, ...]
    policy: Policy
    limits: Limits
    rules: Sequence[Rule] | None
    options: RunOptions | None
    attempts: int
    assess: Callable[[AskResult], int] | None
    metadata: Mapping[str, Json]
    user: User
    clock: Callable[[], float]
    new_id: Callable[[], str]
    passed: set[str] = field(default_factory=set[str])
    """digests of plans that passed the check here; they cover the tools and the policy"""

    def day(self, today: date | str | None) -> date:
        """Return the date that counts as today: the one given, else that of the clock.

        The time zone is that of the settings, or of the machine.
        """
        if today is not None:
            return read_day(today)
        zone = self.user.settings.models.zone
        return datetime.fromtimestamp(self.clock(), ZoneInfo(zone) if zone else None).date()

    def compiled(self, text: str, dialect: str, times: Times | None = None) -> Compiled:
        """Return a plan checked with these tools, policy and rules."""
        return compile_plan(text, dialect, times=times, **self.checks)

    @property
    def checks(self) -> dict[str, Any]:
        """The arguments with which plans are checked."""
        return {name: getattr(self, name) for name in ("tools", "limits", "policy", "rules")}

    def check(self, plan: PlanArgument, dialect: str) -> CheckResult:
        """Check a plan; one that passed the check of this app already is not checked again.

        A plan that another app checked is: its tools, its policy or its rules may be others.
        """
        if isinstance(plan, CheckResult):
            if plan.plan is None or plan.plan.digest in self.passed:
                return plan
            plan = plan.plan
        if isinstance(plan, AskResult):
            if plan.plan is None:
                raise ToolplanError("no-plan", f"There is no plan to run: {plan.reason}")
            plan = plan.plan
        if isinstance(plan, ExecutionPlan):
            if plan.digest in self.passed:
                marks, unchecked = effect_marks(plan.plan, self.tools), plan.unchecked_references
                return CheckResult(plan, (), marks=marks, unchecked_references=unchecked)
            plan = plan.plan
        if isinstance(plan, Plan):
            plan, dialect = dump(plan), "toolplan"
        text = _text(plan)
        known = known_dialect(dialect)
        compiled = self.compiled(text, dialect)
        self.keep_passed(compiled.plan)
        places = located(compiled.diagnostics, partial(known.locate, text))
        unchecked = compiled.unchecked_references
        return CheckResult(
            compiled.plan, compiled.diagnostics, places, text, unchecked_references=unchecked
        )

    def keep_passed(self, plan: ExecutionPlan | None) -> None:
        """Note that `plan` passed the check with these tools, policy and rules."""
        if plan is not None:
            if len(self.passed) >= _MOST_PASSED:
                self.passed.clear()  # they are checked again
            self.passed.add(plan.digest)

    def plan_in(self, record: RunRecord) -> ExecutionPlan:
        """Return the plan of a run in the journal, checked again with these tools and rules."""
        return plan_in(record, self.tools, self.limits, self.rules)

    def answer(
        self, plan: ExecutionPlan | Plan, ended: Run, effects: Collection[str] = ()
    ) -> Answer:
        """Return the answer of a run of `plan`; `effects` are for a plan that is not checked."""
        written = plan.plan if isinstance(plan, ExecutionPlan) else plan
        return answer(
            plan, ended, schemas=output_schemas(written, self.tools), insights=self.insights,
            effects=effects, thresholds=self.user.settings.thresholds,
        )  # fmt: skip

    def run_options(self, *given: LimitOptions) -> RunOptions:
        """Return how much runs at once and how long calls may take; see `App.run_options`."""
        if self.options is not None and all(each == NO_LIMITS for each in given):
            return self.options
        return run_options(self.user.settings, self.tools, *given)

    def engine_arguments(self, options: RunOptions, journal: Store | None) -> dict[str, Any]:
        """Return the arguments that engines get for each run with `options` and `journal`."""
        own = {"tools": self.tools, "limits": self.limits, "clock": self.clock, "journal": journal}
        return {**own, **options.arguments()}

    def forecast(self, plan: ExecutionPlan, journal: Store, options: RunOptions) -> Forecast:
        """Return the forecast of `plan`, from the durations in `journal`."""
        used = {step.tool for step in plan.plan.steps}
        sources = {name: self.tools[name].source for name in used}
        return forecast(
            plan,
            journal.durations(used),
            concurrency=options.concurrency,
            tool_concurrency=options.tool_concurrency,
            source_concurrency=options.source_concurrency,
            sources=sources,
            timeout_s=options.timeout_s,
        )

    def estimate(self, plan: ExecutionPlan, journal: Store, options: RunOptions) -> dict[str, Json]:
        """Return the forecast as a plan's metadata has it; empty where tools are unknown."""
        expected = self.forecast(plan, journal, options)
        took_ms = round(expected.expected_s * 1000)
        return {"estimated_duration_ms": took_ms} if expected.is_known else {}

    def run_notes(self, given: LimitOptions, day: date | None = None) -> dict[str, Json]:
        """Return the metadata of a plan that runs, with what a resumed run needs to know."""
        made: dict[str, Json] = {MADE_BY: maker()} if maker() else {}
        advice = self.user.advice
        if advice is None and not self.user.toolbox:
            known = self.metadata.get(ADVICE)
            advised = {**(known if isinstance(known, dict) else {}), **made}
            return {**self.metadata, **({ADVICE: advised} if made else {})}
        today: dict[str, Json] = {} if day is None else {"today": day.isoformat()}
        return {**self.metadata, ADVICE: {**(advice or {}), **today, **given.to_json(), **made}}


def noted(plan: ExecutionPlan, notes: Mapping[str, Json]) -> ExecutionPlan:
    """Return `plan` with `notes` in its metadata, which is advice and no part of the digest."""
    metadata = {**plan.plan.metadata, **notes}
    return replace(plan, plan=replace(plan.plan, metadata=metadata))


def _text(plan: object) -> str:
    if isinstance(plan, os.PathLike) or (isinstance(plan, str) and _FILE.fullmatch(plan)):
        name = os.fspath(cast("str", plan))
        raise ToolplanError(
            "no-plan",
            f"{name!r} is the name of a file; the text of a plan is needed.",
            "Read the file: `pathlib.Path(…).read_text(encoding='utf-8')`.",
        )
    if not isinstance(plan, str | dict):
        raise ToolplanError(
            "no-plan",
            f"A plan is needed, and this is {'None' if plan is None else type(plan).__name__}.",
            "Give what `await app.plan(…)` returns, an attribute `plan`, a text or JSON document.",
        )
    return text_of(cast("str | dict[str, Any]", plan))


def app_closed() -> ToolplanError:
    """Return the error for the use of an app that is closed, or is being closed."""
    return ToolplanError("app-closed", "The app is closed.", "Open another one.")


class ActiveTasks:
    """The tasks that answer questions or run plans; none is added after `close`."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any] | None] = []
        self._closed = False

    @contextmanager
    def task(self) -> Generator[None]:
        """Add the current task while the block runs."""
        if self._closed:
            raise app_closed()
        task = asyncio.current_task()
        self._tasks.append(task)
        try:
            yield
        finally:
            self._tasks.remove(task)

    async def close(self, *, cancel: bool) -> None:
        """Add no more tasks, and wait for those of this event loop.

        With `cancel` they are cancelled first: the journal keeps their runs as cancelled.
        """
        self._closed = True
        loop, own = asyncio.get_running_loop(), asyncio.current_task()
        others = {each for each in self._tasks if each is not own and each is not None}
        others = {each for each in others if each.get_loop() is loop}
        for task in others if cancel else ():
            task.cancel()
        if others:
            await asyncio.wait(others)


class Kept:
    """The files of an app. Closing it closes what it has opened, and `resources`."""

    def __init__(
        self,
        journal: Store | Path | str | None,
        memory: memories.Memory | None,
        data: Path | None,
        note: Callable[[str], None],
        resources: ExitStack | None,
    ) -> None:
        self._journal, self._memory, self._data, self._note = journal, memory, data, note
        self._resources = ExitStack() if resources is None else resources
        self._opening = threading.Lock()
        self.is_closed = False

    def close(self) -> None:
        """Close all of it. It may be called again."""
        self.is_closed = True
        self._resources.close()

    def check_open(self) -> None:
        """Raise `app-closed` where the app is closed."""
        if self.is_closed:
            raise app_closed()

    @property
    def journal(self) -> Store | None:
        """The journal, or None before a run was kept in it."""
        self.check_open()
        if isinstance(self._journal, Path) and not self._journal.exists():
            return None
        return None if self._journal is None else self.needed_journal()

    async def opened_journal(self, *, make: bool) -> Store | None:
        """Return `journal`, opened beside the event loop; with `make` its file is made."""
        self.check_open()
        if isinstance(self._journal, Path | str):
            return await in_thread(self.needed_journal if make else lambda: self.journal)
        return self._journal

    def needed_journal(self) -> Store:
        """Return the journal; make its file where there is none."""
        self.check_open()
        with self._opening:  # two questions at once open one journal
            if isinstance(self._journal, Path | str):
                opened = open_journal(self._journal)
                self._journal = self._resources.enter_context(closing(opened))
                for sentence in opened.notes:
                    self._note(sentence)
        if self._journal is None:
            raise ToolplanError("usage", "This app has no journal.", "Give it one: journal=PATH.")
        return self._journal

    async def recall(self, conversation: str, text: str) -> Json:
        """Return the earlier turns of a conversation; None where memory cannot be used."""
        try:
            return await in_thread(self._memories().recall, conversation, text)
        except memories.MemoryFault as fault:  # a fault of it must not cost the answer
            self._report_fault(fault)
            return None

    async def remember(self, conversation: str, asked: AskResult, now: float) -> None:
        """Keep a turn of a conversation, so that the next question may refer to it."""
        timestamp = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        # not the answer: it is made of what tools returned, and a model reads the context
        plan = None if asked.plan is None else asked.plan.plan
        said, made = asked.question, asked.proposal
        episode = conversations.episode_of(said, made, timestamp=timestamp, plan=plan)
        try:
            await in_thread(self._memories().remember, conversation, episode)
        except memories.MemoryFault as fault:
            self._report_fault(fault)

    def learn(self, plan: ExecutionPlan, ended: Run, tools: Toolbox) -> None:
        """Learn output schemas from a run, for tools that declare none."""
        if self._data is not None:
            learn_from(plan.plan, ended, tools, self._data / LEARNED, self._note)

    def _memories(self) -> memories.Memory:
        if self._memory is None:
            if self._data is None:
                message = "This app has no memory for conversations."
                raise ToolplanError("usage", message, "Give it one: memory=…")
            opened = memories.SqliteMemory(self._data / MEMORY)
            self._memory = self._resources.enter_context(closing(opened))
        return self._memory

    def _report_fault(self, fault: memories.MemoryFault) -> None:
        self._note(f"The earlier conversation is not known: {fault.with_help}")
