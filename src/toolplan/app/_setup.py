"""What all plans and runs of an app have in common."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan import compiler
from toolplan.app._approve import Approve
from toolplan.app._decisions import day_at
from toolplan.app.limits import ADVICE, NO_LIMITS, LimitOptions, run_options
from toolplan.app.results import AskResult, CheckResult
from toolplan.app.resume import plan_in
from toolplan.app.settings import Settings
from toolplan.base.errors import ToolplanError
from toolplan.compiler import Compiled, compile_plan, output_schemas, text_of
from toolplan.compiler.rules import Rule
from toolplan.dates import Times
from toolplan.dialects import known_dialect
from toolplan.engine import RunOptions
from toolplan.engine.forecast import Forecast, forecast
from toolplan.events import Event, Run
from toolplan.plan.canonical import dump
from toolplan.plan.model import Limits, Plan
from toolplan.plan.path import Json
from toolplan.policy import Policy
from toolplan.policy.approval import MADE_BY, maker
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.providers import UsageTracker
from toolplan.schema.tool import Toolbox
from toolplan.show.answer import Answer, InsightFunction, answer
from toolplan.show.diagnostics import located
from toolplan.show.plan_tree import effect_marks
from toolplan.storage.journal import RunRecord, Store

_MOST_PASSED: Final = 1_000
_FILE: Final = re.compile(r"""[^\n"'{}()\[\]<>=]{1,300}\.(json|ya?ml|txt|md|plan|toml)""")
"""What is the name of a file, and a plan in no dialect."""

PlanArgument: TypeAlias = ExecutionPlan | AskResult | CheckResult | Plan | str | dict[str, Any]


class User(Struct, frozen=True):
    """The settings and folders of a user; without arguments, there are none.

    Attributes:
        data: the folder for learned schemas and conversations; None keeps neither.
        advice: what the tools were opened with; a plan that runs has it in its metadata.
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
        return compile_plan(text, dialect, times=times, **self._checks)

    def compiling(self, texts: AsyncIterator[str], dialect: str) -> compiler.CompileStream:
        """Return a plan that is checked so while it is written."""
        return compiler.compile_stream(texts, dialect, **self._checks)

    @property
    def _checks(self) -> dict[str, Any]:
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
        """Return what a run of `plan` found; `effects` are for a plan that is not checked."""
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


def foreseen(plan: ExecutionPlan, journal: Store, tools: Toolbox, options: RunOptions) -> Forecast:
    """Return the forecast of `plan`, from the durations in `journal`."""
    used = {step.tool for step in plan.plan.steps}
    sources = {name: tools[name].source for name in used}
    return forecast(
        plan,
        journal.durations(used),
        concurrency=options.concurrency,
        tool_concurrency=options.tool_concurrency,
        source_concurrency=options.source_concurrency,
        sources=sources,
        timeout_s=options.timeout_s,
    )


def estimate(expected: Forecast) -> dict[str, Json]:
    """Return what a plan's metadata says of the forecast: nothing where tools are not known."""
    if not expected.is_known:
        return {}
    return {"estimated_duration_ms": round(expected.expected_s * 1000)}


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
