"""Runs that workers take: submitted, approved, decided about, cancelled and followed from here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from toolplan.app._approve import is_other
from toolplan.app._decisions import day_at, day_of, decisions_of, metadata_of
from toolplan.app._kept import Kept
from toolplan.app._loop import Setup
from toolplan.app._runs import User, run_notes
from toolplan.app._toolset import ADVICE
from toolplan.app.limits import Concurrency, LimitOptions
from toolplan.app.notes import noted
from toolplan.app.resume import plan_of
from toolplan.approval import Approval, ApprovalRequired, approve
from toolplan.engines import CannotRun, Decided, RunOptions, prepare
from toolplan.errors import ToolplanError
from toolplan.events import Event, RunEnded, RunParked, RunState, RunWaiting
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.storage.journal import JournalError, Slot, follow, recover
from toolplan.storage.queue import Dispatch, dispatch_of
from toolplan.threads import in_thread
from toolplan.tools import Tool


class Worked(NamedTuple):
    """A run as a worker continues it: its plan, the date that counts as today, its options."""

    plan: ExecutionPlan
    day: date
    options: RunOptions


class Workers:
    """The runs that workers take, on this machine and others; `App.workers`.

    It needs a journal in Postgres, and an app whose tools are a toolbox of the settings.
    """

    def __init__(
        self,
        setup: Setup,
        kept: Kept,
        user: User,
        metadata: Mapping[str, Json],
        options: Callable[..., RunOptions],
    ) -> None:
        self._setup = setup
        self._kept = kept
        self._user = user
        self._metadata = metadata
        self._options = options
        self._dispatch: Dispatch | None = None

    @property
    def queue(self) -> str:
        """The name of the toolbox, and the beginning of the digest of its tools.

        Raises:
            ToolplanError: the tools of the app are no toolbox.
        """
        if not self._user.toolbox:
            raise ToolplanError(
                "no-toolbox",
                "Workers take runs with a toolbox, and these tools are none.",
                "Open the app with toolbox=NAME, the name of a table [toolboxes.NAME].",
            )
        return queue_of(self._user.toolbox, self._setup.tools)

    def dispatch(self) -> Dispatch:
        """Return the runs of the journal that workers take.

        Raises:
            JournalError: it is not in Postgres, or cannot be used.
        """
        if self._dispatch is None:
            journal = self._kept.needed_journal()
            self._dispatch = dispatch_of(journal)
            if self._dispatch is None:
                raise JournalError(
                    "journal-not-shared",
                    f"Workers cannot share the journal {journal.place}.",
                    'Use one in Postgres: journal = "postgres://…" in the table [runs], or'
                    " TOOLPLAN_JOURNAL.",
                )
        return self._dispatch

    async def submit(
        self,
        plan: ExecutionPlan,
        *,
        run_id: str | None = None,
        today: date | str | None = None,
        yes: bool = False,
        approve: Approval | str | None = None,
        concurrency: Concurrency | None = None,
        timeout: float | None = None,
    ) -> str:
        """Submit a checked plan to the workers, and return the name of its run.

        Once it is returned, the run is kept and a worker will take it. A plan with effects that
        nobody approves here waits: `approve` approves it, from anywhere.

        Args:
            plan: the `plan` of `App.check`, `App.plan` or `compile_plan`.
            run_id: the name of the run; a new one by default.
            today: the date that counts as today, for tools that ask for it.
            yes: approve any plan.
            approve: an approval of the plan, or its digest.
            concurrency: as for `App.run`.
            timeout: as for `App.run`.

        Raises:
            CannotRun: it cannot be run with these tools.
            ApprovalRequired: `approve` is of another plan.
            JournalError: nothing was kept.
        """
        return await in_thread(
            self._submit, plan, run_id, today, _granted(plan, approve, yes=yes),
            LimitOptions.of(concurrency, timeout),
        )  # fmt: skip

    async def follow(self, run: str) -> AsyncGenerator[Event]:
        """Yield the events of a run as they are written, until it ends or waits for a person."""
        events = follow(await in_thread(self._kept.needed_journal), run)
        async for event in events:
            yield event
            pauses = isinstance(event, RunEnded | RunParked | RunWaiting)
            if pauses and await in_thread(self._stands, run):
                return

    async def approve(self, run: str, digest: str, *, who: str = "") -> None:
        """Approve the plan of a run that waits, from anywhere; a worker then continues it.

        Raises:
            ApprovalRequired: `digest` is not of this run's plan.
            JournalError: there is no such run, it waits for no approval, or nothing was kept.
        """
        await in_thread(self._approve, run, digest, who)

    async def decide(
        self,
        run: str,
        *,
        retry: Sequence[str] = (),
        resolve: Sequence[str] | Mapping[str, Json] = (),
        abort: Sequence[str] = (),
        who: str = "",
    ) -> None:
        """Decide about calls in doubt, as `App.resume` does; a worker then continues the run.

        Without a decision a worker looks at the run again, as after it was parked or cancelled.

        Raises:
            CannotRun: a decision is about no call in doubt. None of them was kept.
            JournalError: there is no such run, or nothing was kept.
        """
        decisions = decisions_of(retry, resolve, abort)
        await in_thread(self._decide, run, decisions, who)

    async def cancel(self, run: str, *, who: str = "") -> None:
        """Cancel a run, whoever works on it; a run without a worker ends here.

        Raises:
            JournalError: there is no such run, or nothing was kept.
        """
        dispatch = await in_thread(self.dispatch)
        await in_thread(dispatch.send, run, "cancel", None, who)
        queue = dispatch.queue
        await queue.open()
        try:
            await queue.cancel(run)
        finally:
            await queue.close()

    def worked(self, run: str) -> Worked:
        """Return what a worker needs to continue `run` with these tools.

        Raises:
            CannotRun: its plan does not pass the check with these tools.
            JournalError: there is no such run.
        """
        journal, setup = self._kept.needed_journal(), self._setup
        metadata = metadata_of(journal.record(run).plan)
        plan = plan_of(run, setup.tools, journal=journal, limits=setup.limits, rules=setup.rules)
        today = day_at(day_of(metadata), setup.clock)
        return Worked(plan, today, self._options(LimitOptions.kept(metadata.get(ADVICE))))

    # Inside, all blocking

    def _submit(
        self,
        plan: ExecutionPlan,
        run_id: str | None,
        today: date | str | None,
        approval: Approval | None,
        given: LimitOptions,
    ) -> str:
        setup, dispatch, queue = self._setup, self.dispatch(), self.queue
        self._options(given)  # a wrong limit is an error before anything is kept
        day = day_at(today, setup.clock)
        plan = noted(plan, run_notes(self._metadata, self._user.advice or {}, given, day))
        made = prepare(
            plan,
            setup.tools,
            approval=approval,
            limits=setup.limits,
            run_id=run_id or setup.new_id(),
            clock=setup.clock,
        )
        dispatch.submit(
            made.run, made.digest, made.record, made.events, queue, starts=not made.waits
        )
        return made.run

    def _approve(self, run: str, digest: str, who: str) -> None:
        journal = self._kept.needed_journal()
        now = journal.load(run)
        if now.digest != digest:
            raise ApprovalRequired(now.digest)
        if now.approved_at is not None or now.status is not RunState.WAITING:
            raise JournalError(
                "not-waiting",
                f"Run {run!r} waits for no approval: it is {now.status.value}.",
                f"`toolplan show {run}` shows it.",
            )
        self.dispatch().send(run, "approve", digest, who)

    def _decide(self, run: str, decisions: Mapping[Slot, Decided], who: str) -> None:
        dispatch = self.dispatch()
        intents = recover(self._kept.needed_journal().events(run)).intents
        contents: list[Json] = []
        for slot, decided in decisions.items():
            step, item = slot
            if slot not in intents:
                place = f"step {step!r}" if item is None else f"item {item} of step {step!r}"
                raise CannotRun(f"There is no call in doubt for {place}.")
            contents.append(
                {"step": step, "item": item, "attempt": intents[slot], "decision": decided.decision,
                 "output": decided.output}
            )  # fmt: skip
        for content in contents:
            dispatch.send(run, "decide", content, who)
        if not contents:
            dispatch.send(run, "resume", None, who)

    def _stands(self, run: str) -> bool:
        """Return whether nothing happens to `run` until a person does something."""
        return self._kept.needed_journal().entry(run).status is not RunState.RUNNING


def queue_of(toolbox: str, tools: Mapping[str, Tool]) -> str:
    """Return the queue of a toolbox: its name, and the beginning of the digest of its tools.

    Workers with other tools have another queue, so a run meets the tools that it was planned for.
    """
    text = json.dumps([tools[name].to_json() for name in sorted(tools)], sort_keys=True)
    return f"{toolbox}@{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _granted(plan: ExecutionPlan, given: Approval | str | None, *, yes: bool) -> Approval | None:
    if not plan.effects or (given is None and not yes):
        return None
    if is_other(given, plan):
        raise ApprovalRequired(plan.digest)
    return given if isinstance(given, Approval) else approve(plan)
