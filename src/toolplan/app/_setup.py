"""What all plans and runs of an app have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from toolplan import compiler
from toolplan.answer import Answer, InsightFunction, answer
from toolplan.app._approve import Approve
from toolplan.app._decisions import day_at
from toolplan.app.limits import NO_LIMITS, LimitOptions, run_options
from toolplan.app.results import AskResult
from toolplan.app.resume import plan_in
from toolplan.app.settings import Settings
from toolplan.approval import MADE_BY, maker
from toolplan.compiler import Compiled, compile_plan, output_schemas
from toolplan.dates import Times
from toolplan.engines import RunOptions
from toolplan.events import Event, Run
from toolplan.execution_plan import ExecutionPlan
from toolplan.flows import Policy
from toolplan.path import Json
from toolplan.plan import Limits, Plan
from toolplan.providers import UsageTracker
from toolplan.rules import Rule
from toolplan.storage.journal import RunRecord, Store
from toolplan.tools import Toolbox

ADVICE: Final = "run_with"
"""The metadata of a plan that has run: what its tools were opened with."""
_MOST_PASSED: Final = 1_000


class User(Struct, frozen=True):
    """The settings and folders of a user; without arguments, there are none.

    Attributes:
        settings: what the user has set.
        data: the folder for learned schemas and conversations; None keeps neither.
        advice: what the tools were opened with; a plan that runs has it in its metadata.
        tracker: what models have used.
        toolbox: the name of the toolbox in the settings that the tools are; empty for none.
        faults: which servers or operations cannot be used, and why.
        resources: closed with the app.
        late: returns the tools and the faults again where a slow server has answered or failed.
    """

    settings: Settings = field(default_factory=lambda: Settings(environment={}))
    data: Path | None = None
    advice: Mapping[str, Json] | None = None
    tracker: UsageTracker = field(default_factory=UsageTracker)
    toolbox: str = ""
    faults: tuple[str, ...] = ()
    resources: ExitStack = field(default_factory=ExitStack)
    late: Callable[[], tuple[Toolbox, tuple[str, ...]] | None] = lambda: None


class Start(Struct, frozen=True):
    """How a run starts or continues; see `App.run`."""

    day: date
    options: RunOptions
    approve: Approve | None = None
    yes: bool = False
    on_event: Callable[[Event], None] | None = None
    done: Sequence[Event] = ()


class Setup(Struct, frozen=True):
    """What all questions and runs of an app have in common; see `App`."""

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
        """Return the date that counts as today, in the time zone of the settings."""
        return day_at(today, self.clock, self.user.settings.models.zone)

    def compiled(self, text: str, dialect: str, times: Times | None = None) -> Compiled:
        """Return a plan checked with these tools, policy and rules."""
        return compile_plan(text, dialect, times=times, **self._checks())

    def compiling(self, texts: AsyncIterator[str], dialect: str) -> compiler.CompileStream:
        """Return a plan that is checked so while it is written."""
        return compiler.compile_stream(texts, dialect, **self._checks())

    def _checks(self) -> dict[str, Any]:
        names = ("tools", "limits", "policy", "rules")
        return {name: getattr(self, name) for name in names}

    def keep_passed(self, plan: ExecutionPlan | None) -> None:
        """Note that `plan` passed the check with these tools, policy and rules."""
        if plan is not None:
            if len(self.passed) >= _MOST_PASSED:
                self.passed.clear()  # they are checked again
            self.passed.add(plan.digest)

    def plan_in(self, record: RunRecord) -> ExecutionPlan:
        """Return the plan of a run in the journal, checked again with these tools and rules.

        Raises:
            CannotRun: it does not pass the check.
        """
        return plan_in(record, self.tools, limits=self.limits, rules=self.rules)

    def answer(
        self, plan: ExecutionPlan | Plan, ended: Run, effects: Collection[str] = ()
    ) -> Answer:
        """Return what a run of `plan` found; `effects` are for a plan that is not checked."""
        written = plan.plan if isinstance(plan, ExecutionPlan) else plan
        return answer(
            plan,
            ended,
            schemas=output_schemas(written, self.tools),
            insights=self.insights,
            effects=effects,
            thresholds=self.user.settings.thresholds,
        )

    def run_options(self, *given: LimitOptions) -> RunOptions:
        """Return how much runs at once and how long calls may take; see `App.run_options`."""
        if self.options is not None and all(each == NO_LIMITS for each in given):
            return self.options
        return run_options(self.user.settings, self.tools, *given)

    def engine_arguments(self, options: RunOptions, journal: Store | None) -> dict[str, Any]:
        """Return the arguments that engines get for each run with `options` and `journal`."""
        own = {"tools": self.tools, "limits": self.limits, "clock": self.clock}
        return {**own, "journal": journal, **options.arguments()}

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
