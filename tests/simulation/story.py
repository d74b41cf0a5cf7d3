"""One seed: a run, its lives, and what must hold in each of them and at the end."""

import asyncio
import hashlib
import random
import shutil
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from tests.plans_strategy import execution_plan
from tests.simulation.loop import Death, Pause, VirtualLoop, pause
from tests.simulation.plans import interpreted, random_plan
from tests.simulation.process import Process, Sleeping, die, moment
from tests.simulation.store import Faults, SimulatedJournal
from tests.simulation.streams import REFUSALS, STRAY, PlanStream, audit_arrival
from tests.simulation.world import KINDS, Breach, World
from toolplan import Effects, ExecutionPlan
from toolplan.engine import CannotRun, Decided, resume, run, run_stream
from toolplan.engine._calls import Options
from toolplan.events import (
    CallIntended,
    Event,
    ItemEnded,
    Run,
    RunApproved,
    RunEnded,
    RunState,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepSucceeded,
    fold,
)
from toolplan.policy.approval import Approval, ApprovalRequired, ApprovalUsed, Approver, approve
from toolplan.schema.tool_call import ToolCall
from toolplan.storage.journal import JournalError, Recovered, Slot, recover, to_record

MOST_LIVES: Final = 14
_ONCE: Final = frozenset(
    name for name, effects, same in KINDS if effects is not Effects.READ and not same
)
_MAY_HAVE_HAPPENED: Final = frozenset(
    ("outcome-unknown", "timeout", "result-type", "result-schema", "result-too-large")
)
_TERMINAL: Final = (StepSucceeded, StepFailed, StepSkipped)


class Outcome(NamedTuple):
    """How a story ended. `digest` is that of all that the journal keeps: the same for one seed."""

    status: RunState | None
    lives: int
    digest: str


class _Seen(NamedTuple):
    events: list[Event]
    recovered: Recovered
    run: Run


class Story:
    """What happens to one run, by `seed`."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._chance = random.Random(seed)
        self._path = folder / f"{seed}.sqlite"
        self._nasty = self._chance.random() < 0.5
        self._world = World(self._chance, nasty=self._nasty)
        self._tools = self._world.tools()
        self._plan = execution_plan(random_plan(self._chance, hurried=self._nasty), self._tools)
        self._now = 1_000_000.0
        self._loop_time = 0.0
        self._boot = 1
        self._last_sync = 0
        self._sleeping: Sleeping | None = None
        self._halting = random.Random(f"{seed}, halting")
        self._losing = random.Random(f"{seed}, losing")
        self._decisions: dict[Slot, Decided] = {}
        self._retries: Counter[Slot] = Counter()
        self._meddled = False  # a person has changed what the plan gives
        self._audited = 0
        self._concurrency = self._chance.choice((1, 2, 8))
        self._reads = self._chance.choice((1, 3))
        # a fourth of the runs begin while their plan is being written, by a chance of its own
        self._writing = random.Random(f"{seed}, written") if seed % 4 == 1 else None
        self._world.limits = {"": self._concurrency, "read": self._reads}
        self._world.timeouts = {
            step.id: 30.0 if step.timeout_s is None else step.timeout_s
            for step in self._plan.plan.steps
        }
        self._world.timeouts[STRAY] = 30.0

    def play(self) -> Outcome:
        """Let it happen.

        Raises:
            Breach: something happened that must never happen.
        """
        seen: _Seen | None = None
        try:
            for life in range(2 * MOST_LIVES):
                calm = life >= MOST_LIVES - 4
                self._live(seen, calm=calm)
                seen = self._audit(seen)
                if seen is not None and seen.recovered.status is not None:
                    self._audit_end(seen)
                    return self._outcome(seen, life)
                waits = seen is not None and seen.run.status is RunState.IN_DOUBT
                if life >= MOST_LIVES - 1 and not waits:
                    break  # only a person may keep a run open for longer, who retries no more
                retries = life < MOST_LIVES - 1
                self._decide(seen, sure=life >= MOST_LIVES - 5, retries=retries)
            raise Breach("The run did not end, although nothing disturbed it any more.")
        finally:
            self._forget_sleeper()
            for path in self._path.parent.glob(self._path.name + "*"):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()

    def _outcome(self, seen: _Seen, lives: int) -> Outcome:
        # the id of an approval is not made by the seed
        events = (replace(e, approval="") if isinstance(e, RunApproved) else e for e in seen.events)
        content = "\n".join(map(to_record, events))
        return Outcome(seen.run.status, lives + 1, hashlib.sha256(content.encode()).hexdigest())

    def _live(self, before: _Seen | None, *, calm: bool) -> None:
        """Live through one process: it may be disturbed, unless `calm`."""
        self._world.begin_life()
        process = self._new_process(before, calm=calm)
        loop, journal, clock, _ = process
        if not calm:
            journal.faults = self._faults()
        self._world.on_effect = process.audit_effect
        task = loop.create_task(self._work(before, process, calm=calm))
        if not calm:
            self._disturb(loop, task)
            if self._losing.random() < 0.2:
                loop.call_later(moment(self._losing), self._lose, journal)
            if self._sleeping is None and self._halting.random() < 0.1:
                journal.simulated_worker.pause_after = self._halting.randrange(1, 8)
        died = False
        try:
            self._run(process, task)
        except Death:
            died = True
            if self._chance.random() < 0.5:
                journal.lose_unsynced("r")
                self._boot += 1
                self._forget_sleeper()  # it stood on the same machine
        except Pause:
            token = journal.token_of("r")
            is_its_own = token is not None and token[0] == f"p{self._world.life}"
            token = token if is_its_own else None
            self._sleeping = Sleeping(process, task, token, before is None)
        except BaseException:
            loop.abandon()
            journal.close()
            raise
        self._last_sync = journal.last_sync
        self._loop_time = loop.time() + 25.0
        # somebody comes back when the lease is over, whatever the clock said meanwhile
        self._now = max(self._now, clock()) + 25.0
        if self._sleeping is None or self._sleeping.process is not process:
            loop.abandon()
            journal.close()
            self._wake()
        if died or self._chance.random() < 0.5:
            self._forget_lease(journal)

    def _lose(self, journal: SimulatedJournal) -> None:
        """Lose what a living process has not synced: its run is not its own any more."""
        if journal.token is not None and journal.token_of("r") == journal.token:
            self._may_end_calls()
            journal.lose_unsynced("r")

    def _forget_sleeper(self) -> None:
        """Let the process that stands still be gone, if there is one."""
        if self._sleeping is not None:
            self._sleeping.process.loop.abandon()
            self._sleeping.process.journal.close()
            self._sleeping = None

    def _new_process(self, before: _Seen | None, *, calm: bool) -> Process:
        chance = self._chance
        loop = VirtualLoop(chance, self._loop_time)
        offset = self._now - loop.time()
        if chance.random() < 0.1:  # the wall clock is set
            offset += chance.choice((-3600.0, 3600.0, 3e8, -3e8))
            self._now += 20

        def clock() -> float:
            return loop.time() + offset

        owner = f"p{self._world.life}"
        journal = SimulatedJournal(
            self._path,
            clock,
            owner,
            chance,
            self._last_sync,
            age_clock=loop.time,
            boot=f"boot {self._boot}",
        )
        stream: PlanStream | None = None
        if self._writing is not None and before is None:
            stream = PlanStream(
                self._plan, self._writing, calm=calm, on_trouble=self._may_end_calls
            )
        return Process(loop, journal, clock, stream)

    def _run(self, process: Process, task: asyncio.Task[Run]) -> None:
        """Let a process work to its end, and see what it leaves."""
        loop, _, _, stream = process
        try:
            loop.run_until_complete(task)
            if stream is not None:
                stream.audit_success()
            self._audit_left(loop)
        except (asyncio.CancelledError, JournalError, ApprovalRequired, ApprovalUsed):
            # a run that was cancelled or not approved, or a disk that failed
            if stream is not None:
                self._audit_left(loop)
        except REFUSALS as error:
            if stream is None:
                raise
            self._audit_refusal(process, stream, error)

    def _disturb(self, loop: VirtualLoop, task: asyncio.Task[Run]) -> None:
        """Let the process die, be cancelled, or stand still, at some moment, or none of it."""
        chance = self._chance
        if chance.random() < 0.35:
            loop.call_later(moment(chance), die)
        elif chance.random() < 0.2:
            loop.call_later(moment(chance), self._cancel, task)
        elif chance.random() < 0.2 and self._sleeping is None:
            loop.call_later(moment(chance), pause)

    def _wake(self) -> None:
        """Resume a process that stood still while another took over its run."""
        if self._sleeping is None:
            return
        is_too_late = self._world.zombie = self._sleeping.is_too_late
        process, task, _, _ = self._sleeping
        loop, journal, _, _ = process
        self._sleeping = None
        self._world.has_slept = self._meddled = True  # calls may have missed their time
        self._world.on_effect = process.audit_effect
        loop.sleep_until(self._loop_time + 25.0)
        before = self._seen_events()
        try:
            self._run(process, task)
        except (CannotRun, Death, Pause):
            pass  # what it was about to do has been done meanwhile
        finally:
            self._world.zombie = False
            self._last_sync = max(self._last_sync, journal.last_sync)
            loop.abandon()
            journal.close()
        if is_too_late and before != self._seen_events():
            raise Breach("A process wrote on, although another had taken its run over.")

    def _seen_events(self) -> list[Event]:
        seen = self._seen()
        return [] if seen is None else seen.events

    def _forget_lease(self, journal: SimulatedJournal) -> None:
        """Let the clock of the next process be behind the lease, wherever it was set."""
        with suppress(JournalError):
            again = SimulatedJournal(self._path, lambda: self._now, "nobody", self._chance)
            again.end_lease("r")
            again.close()

    async def _work(self, before: _Seen | None, process: Process, *, calm: bool) -> Run:
        _, journal, clock, stream = process

        async def approver(plan: ExecutionPlan) -> Approval | None:
            thinks_s = 0.0 if stream is None else stream.thinks_s
            await asyncio.sleep(thinks_s + self._chance.random() * 0.01)
            return approve(plan) if calm else self._approval(plan)

        approval: Approval | Approver | None = approver
        if stream is not None and stream.is_judged_unread:
            approval = approve(self._plan) if calm else self._approval(self._plan)
        options: Options = {
            "concurrency": self._concurrency,
            "tool_concurrency": {"read": self._reads},
            "timeout_s": 30.0,
            "grace_s": 0.5,
            "backoff_s": 0.01,
            "journal_timeout_s": self._chance.choice((0.2, 5.0)),
        }
        if before is None:
            begin = partial(run, self._plan) if stream is None else partial(run_stream, stream)
            return await begin(
                self._tools,
                journal=journal,
                approval=approval,
                run_id="r",
                on_event=self._watch,
                clock=clock,
                **options,
            )
        return await resume(
            self._plan,
            self._tools,
            "r",
            journal=journal,
            approval=approver,
            decisions=self._decisions,
            on_event=self._watch,
            clock=clock,
            **options,
        )

    def _approval(self, plan: ExecutionPlan) -> Approval | None:
        """Return an approval, mostly; or none, or one for another plan, or one that was used."""
        approval = approve(plan)
        match self._chance.randrange(12):
            case 0:
                self._may_end_calls()
                return None
            case 1:
                self._may_end_calls()
                return Approval("0" * 64, approval.slots, approval.id)
            case 2:
                self._may_end_calls()
                approval.use_for("another run")
            case _:
                pass
        return approval

    def _may_end_calls(self) -> None:
        self._world.may_end_calls = True

    def _watch(self, event: Event) -> None:
        if isinstance(event, StepFailed):
            self._world.may_end_calls = True  # other items of a step that failed are given up

    def _cancel(self, task: asyncio.Task[Run]) -> None:
        self._world.may_end_calls = True
        task.cancel()

    def _faults(self) -> Faults:
        chance = self._chance
        if chance.random() < 0.6:
            return Faults()
        self._world.may_end_calls = True  # a disk that fails for good ends the run
        dead = chance.randrange(1, 30) if chance.random() < 0.2 else None
        return Faults(chance.choice((0.0, 0.1, 0.5)), chance.choice((0.0, 0.1, 0.5)), dead)

    def _audit_refusal(self, process: Process, stream: PlanStream, error: Exception) -> None:
        """See that nothing came of a stream that was refused, and that nothing comes of it."""
        loop, journal, _, _ = process
        stream.audit_refusal(error)
        if journal.has_lease:
            raise Breach("A stream was refused, and its run was accepted.")
        self._audit_left(loop)
        made = len(self._world.made)
        with suppress(asyncio.CancelledError, Death, Pause):
            loop.run_until_complete(asyncio.sleep(60.0))
        if len(self._world.made) > made:
            raise Breach(f"{self._world.made[made].call} was begun after its stream was refused.")

    def _audit_left(self, loop: VirtualLoop) -> None:
        """See that nothing is left of the run; nasty tools may ignore that they are cancelled."""
        if not self._nasty and (left := asyncio.all_tasks(loop)):
            raise Breach(f"{len(left)} tasks are left.")

    def _audit(self, before: _Seen | None) -> _Seen | None:
        if self._world.breaches:
            raise Breach(self._world.breaches[0])
        seen = self._seen()
        made = self._world.made[self._audited :]
        self._audited = len(self._world.made)
        if seen is None:
            effects = [each for each in made if each.tool not in ("read", "rows")]
            if before is not None or effects or (made and self._writing is None):
                raise Breach("A run that was accepted, or made a call, is not in the journal.")
            return None
        approved = any(isinstance(event, RunApproved) for event in seen.events)
        if not approved and (unseen := [e for e in made if e.tool not in ("read", "rows")]):
            raise Breach(f"{unseen[0].call} has effects, and nobody approved it.")
        calls: Counter[Slot] = Counter()
        for each in self._world.made:
            slot = (each.call.step, each.call.item)
            calls[slot] += 1
            if each.tool in _ONCE and calls[slot] > 1 + self._retries[slot]:
                raise Breach(f"{slot} has effects and was called {calls[slot]} times.")
        for each in made:
            if before is not None and each.life >= 0 and _is_over(before.recovered, each.call):
                raise Breach(f"{each.call} was over, and called again.")
        keys = {(each.call.step, each.call.item, each.call.key) for each in self._world.made}
        if len(keys) != len(calls):
            raise Breach("A call was made with several idempotency keys.")
        self._audit_events(seen)
        return seen

    def _audit_events(self, seen: _Seen) -> None:
        if self._writing is not None:
            audit_arrival(self._plan, seen.events)
        if fold(seen.events) != seen.run:
            raise Breach("Folding the same events twice gives two runs.")
        if recover(self._chance.sample(seen.events, len(seen.events))) != seen.recovered:
            raise Breach("Recovery hangs on the order of events.")
        over = Counter(event.step for event in seen.events if isinstance(event, _TERMINAL))
        if twice := [step for step, count in over.items() if count > 1]:
            raise Breach(f"These steps ended twice: {twice}.")
        approved = False
        started: set[str] = set()
        for event in seen.events:
            if isinstance(event, StepFailed | StepSkipped) and not event.failure.code:
                raise Breach(f"{event.step} failed without a code.")
            if event_failure(event) in _MAY_HAVE_HAPPENED and self._is_once(event):
                raise Breach(f"{event} may have happened, and counts as failed.")
            if isinstance(event, StepStarted):
                started.add(event.step)
            elif isinstance(event, CallIntended | ItemEnded) and event.step not in started:
                raise Breach(f"{event.step} did something before it had started.")
            approved = approved or isinstance(event, RunApproved)
            if isinstance(event, CallIntended) and not approved:
                raise Breach(f"{event.step} was to be called before the approval.")

    def _is_once(self, event: Event) -> bool:
        name = getattr(event, "step", "")
        return any(each.id == name and each.tool in _ONCE for each in self._plan.plan.steps)

    def _seen(self) -> _Seen | None:
        journal = SimulatedJournal(self._path, lambda: self._now, "auditor", self._chance)
        try:
            events = journal.events("r")
        except JournalError as error:
            if error.code != "unknown-run":
                raise Breach(f"The journal cannot be read: {error}") from error
            return None
        finally:
            journal.close()
        return _Seen(events, recover(events), fold(events))

    def _decide(self, seen: _Seen | None, *, sure: bool, retries: bool) -> None:
        """Decide as a person may who knows nothing; or nothing yet, where they are not `sure`."""
        self._decisions = {}
        if seen is None or seen.run.status is not RunState.IN_DOUBT:
            return
        doubts = [(name, at) for name, step in seen.run.steps.items() for at in step.in_doubt]
        if not doubts:
            raise Breach("The run is in doubt, and no call is.")
        for slot in doubts:
            match self._chance.randrange(2 if not retries else 3 if sure else 4):
                case 0:
                    self._decisions[slot] = Decided("abort")
                    self._meddled = True
                case 1:
                    self._decisions[slot] = Decided("resolve", {"n": 7, "data": []})
                    self._meddled = True
                case 2:
                    self._decisions[slot] = Decided("retry")
                    self._retries[slot] += 1
                case _:
                    pass  # the person does not know yet

    def _audit_end(self, seen: _Seen) -> None:
        if sum(isinstance(e, RunEnded) for e in seen.events) < 1:
            raise Breach("The run has no end.")
        open_ = [name for name, step in seen.run.steps.items() if step.ended_at is None]
        if open_:
            raise Breach(f"The run has ended and these steps have not: {open_}.")
        if self._nasty or self._meddled:
            return
        wanted = interpreted(self._plan)
        for name, step in wanted.steps.items():
            here = seen.run.steps[name]
            if (here.state, here.output) != (step.state, step.output):
                raise Breach(f"{name} is {here.state} with {here.output!r}, not {step}.")
        if (seen.run.status, seen.run.output) != (wanted.status, wanted.output):
            raise Breach(f"The run gave {seen.run.status}, {seen.run.output!r}.")


def event_failure(event: Event) -> str:
    """Return the code of the failure with which a call or a step is over; empty for none."""
    if isinstance(event, StepFailed | StepSucceeded | ItemEnded) and event.failure is not None:
        return event.failure.code
    return ""


def _is_over(recovered: Recovered, call: ToolCall) -> bool:
    if call.step in recovered.over:
        return True
    return call.item is not None and call.item in recovered.items.get(call.step, {})
