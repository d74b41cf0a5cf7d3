"""Runs that workers take: submitted, approved, decided about, cancelled and followed from here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Final, NamedTuple

from msgspec import Struct

from toolplan import engine as engines
from toolplan.app._arguments import checked_arguments
from toolplan.app.resume import (
    ADVICE,
    by_values,
    consents_of,
    day_of,
    decisions_of,
    is_other,
    metadata_of,
    tools_in,
)
from toolplan.app.setup import Concurrency, Kept, LimitOptions, Setup, noted
from toolplan.base.errors import ToolplanError
from toolplan.base.threads import in_thread
from toolplan.events import Event, Run, RunEnded, RunParked, RunState, RunWaiting, fold
from toolplan.plan.path import Json
from toolplan.policy.approval import Approval, ApprovalRequired, approve, approve_digest
from toolplan.policy.consent import Consent, Effect, ValueApproval
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Tool, Toolbox
from toolplan.show.printable import count_text
from toolplan.show.runs_view import SHORT
from toolplan.storage.journal import JournalError, RunRecord, Slot, Store, follow, recover
from toolplan.storage.journal.worker_runs import COUNTED, WorkerRuns

_MOST_NAMED: Final = 20


class Worked(Struct, frozen=True):
    """A run as a worker continues it: its plan and tools, its date of today, its options."""

    plan: ExecutionPlan
    tools: Toolbox
    day: date
    options: engines.RunOptions


class Placed(NamedTuple):
    """The queue of a run, the reason why it is parked ("" if it is not), and its workers."""

    queue: str
    parked: str
    has_worker: bool


class Workers:
    """The runs that workers take, on this machine and others; `App.workers`.

    It needs a journal in Postgres, and an app whose tools are a toolbox of the settings.
    """

    def __init__(self, setup: Setup, kept: Kept) -> None:
        self._setup = setup
        self._kept = kept
        self._runs: WorkerRuns | None = None

    @property
    def queue(self) -> str:
        """The name of the toolbox, and the beginning of the digest of its tools."""
        toolbox = self._setup.user.toolbox
        if not toolbox:
            raise ToolplanError(
                "no-toolbox",
                "Workers take runs with a toolbox, and these tools are none.",
                "Open the app with toolbox=NAME, the name of a table [toolboxes.NAME].",
            )
        return queue_of(toolbox, self._setup.tools)

    def runs(self) -> WorkerRuns:
        """Return the runs of the journal that workers take; an error where they cannot share it."""
        if self._runs is None:
            journal = self._kept.needed_journal()
            self._runs = journal.worker_runs(make=True)
            if self._runs is None:
                raise not_shared(journal)
        return self._runs

    def stranded(self) -> list[Stranded]:
        """Describe the runs that no worker will continue, a text for each queue."""
        runs = self._kept.needed_journal().worker_runs()
        found = {} if runs is None else runs.stranded()
        return stranded_texts(found, runs.worked()) if runs and found else []

    def placed(self, run: str) -> Placed | None:
        """Return the placement of `run`; None if it was not submitted to workers."""
        runs = self._runs or self._kept.needed_journal().worker_runs()
        if runs is None or (found := runs.placement(run)) is None:
            return None
        return Placed(found.queue, found.parked, not runs.without_worker([run]))

    @checked_arguments
    async def submit(
        self,
        plan: ExecutionPlan,
        *,
        run_id: str | None = None,
        today: date | str | None = None,
        yes: bool = False,
        approve: Approval | ValueApproval | str | None = None,
        concurrency: Concurrency | None = None,
        timeout: float | None = None,
    ) -> str:
        """Submit a checked plan to the workers, and return the name of its run.

        Once it is returned, the run is kept and a worker will take it. The arguments are those of
        `App.run`, without an approver: a plan with effects that is not approved here waits for
        `approve`, and with "values" or a `ValueApproval` each call with effects for `decide`.

        Raises:
            CannotRun: it cannot be run with these tools.
            ApprovalRequired: `approve` is of another plan.
            JournalError: nothing was kept; other runs may have used the digest.
        """

        def submitted() -> str:
            setup, runs, queue = self._setup, self.runs(), self.queue
            given = LimitOptions.of(concurrency, timeout)
            setup.run_options(given)  # a wrong limit is an error before anything is kept
            made = engines.prepare(
                noted(plan, setup.run_notes(given, setup.day(today))),
                setup.tools,
                approval=approval,
                limits=setup.limits,
                run_id=run_id or setup.new_id(),
                clock=setup.clock,
            )
            starts = not made.waits
            runs.submit(made.run, made.digest, made.record, made.events, queue, starts=starts)
            return made.run

        approval = _granted(plan, approve, yes=yes)
        return await in_thread(submitted)

    async def follow(self, run: str) -> AsyncGenerator[Event]:
        """Yield the events of a run as they are written, until it ends or waits for a person."""
        events = follow(await in_thread(self._kept.needed_journal), run)
        async for event in events:
            yield event
            if isinstance(event, RunEnded | RunParked | RunWaiting):
                entry = await in_thread(self._kept.needed_journal().entry, run)
                if entry.status is not RunState.RUNNING:  # it waits for a person
                    return

    async def approve(self, run: str, digest: str, *, who: str = "") -> None:
        """Approve the plan of a run that waits, from anywhere; a worker then continues it.

        Raises:
            ApprovalRequired: `digest` is not of this run's plan.
            JournalError: there is no such run, it waits for no approval, or nothing was kept.
        """

        def approved() -> None:
            now = self._kept.needed_journal().load(run)
            if now.digest != digest:
                raise ApprovalRequired(now.digest)
            if now.waiting or now.approved_at is not None or now.status is not RunState.WAITING:
                how = now.status.value
                waits = "its calls wait with their values" if now.waiting else f"it is {how}"
                raise JournalError(
                    "not-waiting",
                    f"Run {run!r} waits for no approval of its plan: {waits}.",
                    f"`toolplan show {run}` shows it.",
                )
            self.runs().send(run, "approve", digest, who)

        await in_thread(approved)

    @checked_arguments
    async def decide(
        self,
        run: str,
        *,
        retry: Sequence[str] = (),
        resolve: Sequence[str] | Mapping[str, Json] = (),
        abort: Sequence[str] = (),
        allow: Sequence[str | Effect] = (),
        deny: Sequence[str | Effect] = (),
        reason: str = "",
        who: str = "",
    ) -> None:
        """Decide about calls in doubt, and about calls that wait with their values.

        The arguments are those of `App.resume`. A worker then continues the run. Without a decision
        a worker looks at the run again, as after it was parked or cancelled.

        Raises:
            CannotRun: a decision is about no call that waits for it. None of them was kept.
            JournalError: there is no such run, or nothing was kept.
        """
        decisions = decisions_of(retry, resolve, abort)
        consents = consents_of(allow, deny, reason)

        def decided() -> None:
            runs, events = self.runs(), self._kept.needed_journal().events(run)
            contents = _decided(events, decisions)
            contents += [("consent", each) for each in _consented(fold(events), consents)]
            for kind, content in contents or [("resume", None)]:
                runs.send(run, kind, content, who)

        await in_thread(decided)

    async def cancel(self, run: str, *, who: str = "") -> None:
        """Cancel a run, whoever works on it; a run without a worker ends here.

        Raises:
            JournalError: there is no such run, or nothing was kept.
        """
        runs = await in_thread(self.runs)
        number = await in_thread(runs.send, run, "cancel", None, who)
        # it is kept: after a failure the worker that reads it does the rest
        with suppress(JournalError):
            if await in_thread(runs.without_worker, [run]):
                await engines.cancel(run, journal=self._kept.needed_journal())
                await in_thread(runs.answer, [(number, COUNTED)])
            else:
                await runs.interrupt(run)

    def worked(self, record: RunRecord) -> Worked:
        """Return a run as a worker continues it with these tools.

        Raises:
            CannotRun: its plan does not pass the check with these tools.
        """
        setup, metadata = self._setup, metadata_of(record.plan)
        options = setup.run_options(LimitOptions.kept(metadata.get(ADVICE)))
        tools, today = tools_in(record, setup.tools), setup.day(day_of(metadata))
        return Worked(setup.plan_in(record), tools, today, options)


class Stranded(NamedTuple):
    """The runs of one queue that has no worker: the fault, and the fix."""

    text: str
    help: str


def stranded_texts(runs: Mapping[str, str], worked: Collection[str]) -> list[Stranded]:
    """Describe `runs`, given with their queues, where only `worked` have workers."""
    found: list[Stranded] = []
    for queue in sorted({*runs.values()}):
        names = [run[:SHORT] for run in runs if runs[run] == queue]
        more = f", and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        needs = "needs" if len(names) == 1 else "need"
        toolbox = queue.partition("@")[0]
        others = sorted({each for each in worked if each.partition("@")[0] == toolbox})
        have = f" The workers for {' and '.join(others)} have other tools." if others else ""
        which = f"which {count_text(len(names), 'run')} {needs}"
        listed = f"{', '.join(names[:_MOST_NAMED])}{more}"
        help_ = f"Start `toolplan worker {toolbox}` with the tools that they were planned for"
        found.append(Stranded(
            f"There is no worker for {queue}, {which}: {listed}.{have}",
            f"{help_}, or end a run: `toolplan cancel RUN`.",
        ))  # fmt: skip
    return found


def not_shared(journal: Store) -> JournalError:
    """Return the error of a journal that workers cannot share."""
    return JournalError(
        "journal-not-shared",
        f"Workers cannot share the journal {journal.place}.",
        'Use one in Postgres: journal = "postgres://…" in the table [runs], or TOOLPLAN_JOURNAL.',
    )


def queue_of(toolbox: str, tools: Mapping[str, Tool]) -> str:
    """Return the queue of a toolbox: its name, and a digest of its tools but for descriptions.

    Workers with other tools have another queue, so a run meets the tools that it was planned for.
    """
    text = json.dumps([tools[name].version for name in sorted(tools)])
    return f"{toolbox}@{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _decided(
    events: Sequence[Event], decisions: Mapping[Slot, engines.Decided]
) -> list[tuple[str, Json]]:
    """Return the messages of `decisions` about calls in doubt."""
    intents = recover(events).intents
    found: list[tuple[str, Json]] = []
    for (step, item), decided in decisions.items():
        attempt = intents.get((step, item))
        if attempt is None:
            place = f"step {step!r}" if item is None else f"item {item} of step {step!r}"
            raise engines.no_call_in_doubt(place)
        content: Json = {
            "step": step, "item": item, "attempt": attempt, "decision": decided.decision,
            "output": decided.output,
        }  # fmt: skip
        found.append(("decide", content))
    return found


def _consented(run: Run, consents: Mapping[str, Consent]) -> list[Json]:
    """Return the messages of `consents`, which name the calls that are decided about.

    A call that waits later, with other values, is not one of them.
    """
    found: list[Json] = []
    for step, consent in consents.items():
        calls = {each.item: each.digest for each in run.waiting if each.step == step}
        if not calls:
            raise engines.no_call_waits(f"of step {step!r}")
        shown = calls if consent.calls is None else consent.calls
        if any(calls.get(item) != digest for item, digest in shown.items()):
            raise engines.CannotRun(
                f"The call of step {step!r} that waits is not the one that was shown.",
                f"`toolplan show {run.run}` shows the calls that wait.",
            )
        pairs: list[Json] = [[item, digest] for item, digest in shown.items()]
        said: dict[str, Json] = {"step": step, "allowed": consent.allowed}
        found.append({**said, "reason": consent.reason, "calls": pairs})
    return found


def _granted(
    plan: ExecutionPlan, given: Approval | ValueApproval | str | None, *, yes: bool
) -> Approval | ValueApproval | None:
    if not plan.effects or (given is None and not yes):
        return None
    if (values := by_values(given)) is not None:
        if values.decide is not None or values.policy_engine is not None:
            raise ToolplanError(
                "usage",
                "Nobody can be asked where a run is given to workers.",
                "Give approve='values', and decide with `decide`.",
            )
        return values
    if is_other(given, plan):
        raise ApprovalRequired(plan.digest)
    if isinstance(given, Approval):
        return given
    return approve(plan) if given is None else approve_digest(plan)
