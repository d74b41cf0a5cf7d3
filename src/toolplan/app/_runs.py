"""Runs of an app: start one, simulate one, continue one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan import dry_run, providers
from toolplan import summary as summaries
from toolplan.answer import answer
from toolplan.app import resume as resuming
from toolplan.app._approve import Approve, approver_of, chosen, refuse_wrong
from toolplan.app._decisions import metadata_of
from toolplan.app._loop import Setup
from toolplan.app._toolset import ADVICE
from toolplan.app.limits import LimitOptions
from toolplan.app.results import AskResult, RunResult
from toolplan.app.settings import Settings
from toolplan.approval import MADE_BY, maker
from toolplan.compiler import output_schemas
from toolplan.consent import Consent
from toolplan.engines import CannotRun, Decided, RunOptions, run
from toolplan.events import CallIntended, Event, Run, fold
from toolplan.execution_plan import ExecutionPlan
from toolplan.flows import Vouched
from toolplan.path import Json
from toolplan.plan_json import load
from toolplan.providers import UsageTracker
from toolplan.storage.journal import Slot, Store
from toolplan.summary import Format
from toolplan.threads import in_thread
from toolplan.tools import Toolbox, on_day
from toolplan.traces import workflow


class User(Struct, frozen=True):
    """The settings and folders of a user; without arguments, there are none.

    Attributes:
        settings: what the user has set.
        data: the folder for learned schemas and conversations; None keeps neither.
        advice: what the tools were opened with; a plan that runs has it in its metadata.
        weeks: what *last week* is: the last 7 days, or Monday to Sunday.
        tracker: what models have used.
        toolbox: the name of the toolbox in the settings that the tools are; empty for none.
        faults: which servers or operations cannot be used, and why.
        resources: closed with the app.
        late: returns the tools and the faults again where a slow server has answered or failed.
    """

    settings: Settings = field(default_factory=lambda: Settings(environment={}))
    data: Path | None = None
    advice: Mapping[str, Json] | None = None
    weeks: Literal["rolling", "calendar"] = "rolling"
    tracker: UsageTracker = field(default_factory=UsageTracker)
    toolbox: str = ""
    faults: tuple[str, ...] = ()
    resources: ExitStack = field(default_factory=ExitStack)
    late: Callable[[], tuple[Toolbox, tuple[str, ...]] | None] = lambda: None


class Start(Struct, frozen=True):
    """How a run starts or continues; see `App.run`."""

    day: date
    options: RunOptions
    approve: Approve | None
    yes: bool
    on_event: Callable[[Event], None] | None
    done: Sequence[Event] = ()


async def start_run(
    setup: Setup, plan: ExecutionPlan, run_id: str | None, journal: Store | None, start: Start
) -> Run:
    """Run a plan; see `App.run`."""
    approve = chosen(start.approve, plan)
    await in_thread(refuse_wrong, approve, plan, journal)
    with on_day(start.day), workflow("run") as traced:
        ended = await run(
            plan,
            setup.tools,
            journal=journal,
            approval=approver_of(approve, yes=start.yes),
            limits=setup.limits,
            run_id=run_id or setup.new_id(),
            done=start.done,
            on_event=start.on_event,
            clock=setup.clock,
            **start.options.arguments(),
        )
        traced(ended)
    return ended


async def continue_run(
    setup: Setup,
    plan: ExecutionPlan,
    run_id: str,
    journal: Store,
    decisions: Mapping[Slot, Decided],
    consents: Mapping[str, Consent],
    start: Start,
) -> Run:
    """Resume a run; see `App.resume`."""
    approve = chosen(start.approve, plan)
    await in_thread(refuse_wrong, approve, plan, journal, run_id)
    with on_day(start.day), workflow("resume") as traced:
        ended = await resuming.resume(
            run_id,
            setup.tools,
            journal=journal,
            approval=approver_of(approve, yes=start.yes),
            decisions=decisions,
            consents=consents,
            limits=setup.limits,
            run_options=start.options,
            on_event=start.on_event,
            clock=setup.clock,
        )
        traced(ended)
    return ended


def kept_result(
    setup: Setup, journal: Store, start: str, events: Sequence[Event] | None = None
) -> RunResult:
    """Return a run of the journal; `plan` is None where it does not pass the check any more.

    `events` are its events, where they were read before; None reads them.

    Raises:
        JournalError: there is no such run, or several.
    """
    name = journal.find(start)
    events = journal.events(name) if events is None else events
    record = journal.record(name)
    ended, written = fold(events), load(record.plan).plan
    acted = {event.step for event in events if isinstance(event, CallIntended)}
    found = None
    if written is not None:
        schemas = output_schemas(written, setup.tools)
        found = answer(written, ended, schemas=schemas, insights=setup.insights, effects=acted)
    try:
        plan = resuming.plan_in(record, setup.tools, limits=setup.limits, rules=setup.rules)
    except CannotRun:
        plan = None
    return RunResult.of(ended, plan, found)


async def simulate_run(setup: Setup, plan: ExecutionPlan, journal: Store | None) -> dry_run.DryRun:
    """Return what a run of `plan` would do, without a call of a tool."""
    used = {step.tool for step in plan.plan.steps}
    recordings = {} if journal is None else await in_thread(journal.recordings, used)
    return await dry_run.simulate(plan, setup.tools, recordings=recordings)


def run_notes(
    metadata: Mapping[str, Json],
    advice: Mapping[str, Json] | None,
    given: LimitOptions,
    day: date | None = None,
) -> dict[str, Json]:
    """Return the metadata of a plan that runs, with what a resumed run needs to know."""
    made: dict[str, Json] = {MADE_BY: maker()} if maker() else {}
    if advice is None:
        known = metadata.get(ADVICE)
        advised = {**(known if isinstance(known, dict) else {}), **made}
        return {**metadata, **({ADVICE: advised} if made else {})}
    today: dict[str, Json] = {} if day is None else {"today": day.isoformat()}
    return {**metadata, ADVICE: {**advice, **today, **given.to_json(), **made}}


def maker_of(plan: Json) -> str:
    """Return what made the run with this plan of a journal; empty for a person or a program."""
    match metadata_of(plan).get(ADVICE):
        case {"made_by": str(name)}:
            return name
        case _:
            return ""


async def summarised(
    asked: AskResult, model: providers.Model | None, form: Format | None, setup: Setup
) -> AskResult:
    """Return `asked` with its answer in a model's words, where it has an answer.

    A model is not given the results of a plan that reads something secret.
    """
    if form is None or asked.run is None or asked.answer is None:
        return asked
    steps, vouched = asked.plan.plan.steps if asked.plan else (), Vouched(setup.policy, setup.tools)
    called = sorted({step.tool for step in steps})
    secret = ", ".join(name for name in called if vouched.outputs(name).secrets)
    withheld = f"results of {secret} are secret, and whoever runs the model would read them"
    summariser = summaries.Summariser(model, format=form)
    written = await summariser.summarise(
        asked.answer, asked.run, asked.question.text, withheld=withheld if secret else ""
    )
    return replace(asked, summary=written)
