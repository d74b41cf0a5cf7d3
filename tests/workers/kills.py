"""Runs whose workers die, hang and lose their server: none is lost, and nothing is repeated."""

import asyncio
import json
import random
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tests.crash.ledger import Entry, Ledger
from tests.postgres import Server
from tests.workers._office import no_job_is_left, office, plan_of
from tests.workers.forked_crew import ForkedCrew, forked_crew
from tests.workers.ledger_tools import ADDRESS
from tests.workers.sabotage import NAME
from toolplan import App, CannotRun, ExecutionPlan, JournalError
from toolplan.events import Run, RunState
from toolplan.plan.path import Json
from toolplan.testing import interpret
from toolplan_workers.worker import dispatch_for

SETTINGS: Final = '[toolboxes.office]\ntools = ["tests.workers.ledger_tools:TOOLS"]\n'
_OPEN: Final = 24
"""Runs that are open at the same time."""
_HANG_S: Final = 14.0
"""How long a worker stands still: longer than its lease."""
_OVER: Final = (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)


class Trouble(NamedTuple):
    """What happens to the workers, and to their server.

    `sabotage` names what is wrong with them, and `patience_s` says how long runs have to end when
    nothing disturbs them any more.
    """

    kills: int
    hangs: int = 0
    restarts: int = 0
    workers: int = 4
    seed: int = 0
    sabotage: str = ""
    patience_s: float = 180.0


class Report(NamedTuple):
    """What came of it: `breaches` say what is wrong."""

    kills: int
    hangs: int
    restarts: int
    runs: int
    payments: int
    decided: int
    approved: int
    allowed: int
    breaches: tuple[str, ...]

    def __str__(self) -> str:
        found = ", ".join(
            f"{value} {name}" for name, value in zip(self._fields[:-1], self[:-1], strict=True)
        )
        return "\n".join((found, f"{len(self.breaches)} breaches", *self.breaches[:50]))


def _plan(app: App, run: str, chance: random.Random) -> ExecutionPlan:
    def seconds() -> dict[str, Json]:
        pauses = (0.0, 0.0, 0.05, 0.1, 0.24)
        return {"before": chance.choice(pauses), "after": chance.choice(pauses)}

    items: list[Json] = [{"word": f"{run} {at}", "amount": at} for at in range(3)]
    steps: list[dict[str, Json]] = [
        {"id": "l", "tool": "look", "args": {"x": chance.randrange(100), **seconds()}},
        {"id": "p", "tool": "pay", "args": {"word": run, "amount": "${l}", **seconds()}},
        {"id": "s", "tool": "store", "args": {"word": "${p}", **seconds()}},
        {"id": "many", "tool": "pay", "for_each": items,
         "args": {"word": "${item.word}", "amount": "${item.amount}", **seconds()}},
        {"id": "stored", "tool": "store", "for_each": "${many}",
         "args": {"word": "${item}", **seconds()}},
        {"id": "last", "tool": "pay", "args": {"word": "${s}", "amount": 1, **seconds()},
         "after": ["stored"]},
    ]  # fmt: skip
    return plan_of(app, *steps)


class _Story:
    """The runs, and the person who approves them and decides about calls in doubt.

    The person looks into the ledger first. What happened is never allowed again.
    """

    def __init__(self, app: App, ledger: Ledger, seed: int) -> None:
        self.app = app
        self.open: dict[str, ExecutionPlan] = {}
        self.runs = 0
        self.decided = 0
        self.approved = 0
        self.allowed = 0
        self.breaches: list[str] = []
        self._ledger = ledger
        self._chance = random.Random(seed)
        self._unsure: tuple[str, ExecutionPlan, str] | None = None
        self._entries: dict[tuple[str, str, int | None], list[Entry]] = {}
        self._retried: Counter[tuple[str, str, int | None]] = Counter()
        self._unapproved: set[str] = set()

    @property
    def is_unsure(self) -> bool:
        """Whether it is not known if the last run was submitted."""
        return self._unsure is not None

    async def submit(self) -> None:
        """Submit a run; again under its name, where it is not known whether that worked."""
        if self._unsure is None:
            run = f"r{self.runs}"
            self.runs += 1
            plan, chance = _plan(self.app, run, self._chance), self._chance.random()
            how = "later" if chance < 0.3 else "values" if chance < 0.4 else "yes"
            self._unsure = run, plan, how
        run, plan, how = self._unsure
        try:
            values = "values" if how == "values" else None
            await self.app.workers.submit(plan, run_id=run, yes=how == "yes", approve=values)
        except JournalError as error:
            if error.code != "run-exists":
                raise
        self._unsure = None
        self.open[run] = plan
        if how == "later":
            self._unapproved.add(run)

    async def attend(self) -> None:
        """Look at each open run: approve it, decide about its calls, or see how it ended."""
        for run, status in (await asyncio.to_thread(self._states)).items():
            if status is RunState.WAITING and run in self._unapproved:
                await self.app.workers.approve(run, self.open[run].digest, who="person")
                self._unapproved.discard(run)
                self.approved += 1
            elif status is RunState.WAITING:
                await self._allow(run)
            elif status is RunState.IN_DOUBT:
                await self._decide(run)
            elif status in _OVER:
                await self._judge(run)

    def _states(self) -> dict[str, RunState]:
        query = "SELECT run, status FROM runs WHERE run = ANY(%s)"
        with dispatch_for(self.app).journal.transaction() as connection:
            rows = connection.execute(query, ([*self.open],)).fetchall()
        return {run: RunState(status) for run, status in rows}

    async def _allow(self, run: str) -> None:
        """Allow the calls of a run that wait with their values."""
        loaded = await asyncio.to_thread(self.app.needed_journal().load, run)
        steps = sorted({call.step for call in loaded.waiting})
        if not steps or await asyncio.to_thread(dispatch_for(self.app).messages, run):
            return  # it has moved on, or that was said already
        with suppress(CannotRun):  # it has moved on
            await self.app.workers.decide(run, allow=steps, who="person")
            self.allowed += len(steps)

    async def _decide(self, run: str) -> None:
        loaded = await asyncio.to_thread(self.app.needed_journal().load, run)
        if await asyncio.to_thread(dispatch_for(self.app).messages, run):
            return  # said already
        self._read_ledger()
        retry: list[str] = []
        resolve: dict[str, Json] = {}
        for name, step in loaded.steps.items():
            for doubt in step.doubts:
                slot = (run, name, doubt.item)
                place = name if doubt.item is None else f"{name}:{doubt.item}"
                if happened := self._entries.get(slot):
                    resolve[place] = _receipt(happened[-1])
                else:
                    retry.append(place)
        try:
            await self.app.workers.decide(run, retry=retry, resolve=resolve, who="person")
        except CannotRun:
            return  # it has moved on
        self.decided += len(retry) + len(resolve)
        for place in retry:
            name, _, item = place.partition(":")
            self._retried[run, name, int(item) if item else None] += 1

    async def _judge(self, run: str) -> None:
        """Compare a run that is over with the interpreter."""
        done = await asyncio.to_thread(self.app.needed_journal().load, run)
        wanted = await interpret(self.open[run], self.app.tools)
        if _essence(done) != _essence(wanted):
            self.breaches.append(f"{run} is {_essence(done)}, and not {_essence(wanted)}")
        del self.open[run]

    def _read_ledger(self) -> None:
        for entry in self._ledger.new():
            slot = (entry.run, entry.step, entry.item)
            self._entries.setdefault(slot, []).append(entry)

    def end(self) -> tuple[int, tuple[str, ...]]:
        """Return how many payments were made, and what is wrong."""
        self._read_ledger()
        for run in self.open:
            placement = dispatch_for(self.app).placement(run)
            state = self.app.needed_journal().entry(run).status.value
            self.breaches.append(f"{run} is lost: it is {state}, {placement}")
        payments = 0
        for slot, entries in self._entries.items():
            if len({entry.key for entry in entries}) > 1:
                self.breaches.append(f"{slot} was called with several keys")
            if entries[0].tool == "pay":
                payments += len(entries)
                if len(entries) > 1 + self._retried[slot]:
                    self.breaches.append(f"{slot} was paid {len(entries)} times")
        slots = [("p", None), ("last", None), *(("many", at) for at in range(3))]
        self.breaches += [
            f"r{at}: {step} {item} was never paid"
            for at in range(self.runs)
            for step, item in slots
            if (f"r{at}", step, item) not in self._entries
        ]
        return payments, tuple(self.breaches)


def _receipt(entry: Entry) -> Json:
    """Return what a call gave that the ledger knows."""
    return json.loads(entry.args)


def _essence(run: Run) -> Json:
    return [run.status.value, {name: step.output for name, step in run.steps.items()}]


class _Fate(threading.Thread):
    """What happens to the workers: they are killed and stand still, and their server restarts."""

    def __init__(self, crew: ForkedCrew, server: Server, trouble: Trouble) -> None:
        super().__init__(daemon=True)
        self.error = ""
        self._crew = crew
        self._server = server
        self._trouble = trouble
        self._chance = random.Random(trouble.seed)
        self._hanging: dict[int, float] = {}

    def run(self) -> None:
        """Let it happen."""
        try:
            self._happen()
        except BaseException as error:
            self.error = f"{type(error).__name__}: {error}"
            raise

    def _happen(self) -> None:
        kills, hangs, restarts, *_ = self._trouble
        happens = ["kill"] * kills + ["hang"] * hangs + ["restart"] * restarts
        self._chance.shuffle(happens)
        done = 0
        self._wait(2)
        for each in happens:
            time.sleep(self._chance.uniform(0.1, 0.9))
            self._wait(2)
            done += each == "kill"
            match each:
                case "kill" if self._chance.random() < 0.01:
                    for worker in self._crew.active():
                        self._crew.kill(worker)
                case "kill" if self._chance.random() < 0.1:  # perhaps one that is starting
                    self._crew.kill(self._chance.choice(self._crew.active()))
                case "kill":
                    self._crew.kill(self._chance.choice(self._crew.ready()))
                case "hang":
                    worker = self._chance.choice(self._crew.ready())
                    self._crew.stop(worker)
                    self._hanging[worker] = time.monotonic() + _HANG_S
                case _:
                    self._server.stop("immediate")
                    self._server.start()
            if each == "kill" and done % 50 == 0:
                print(f"{done} kills", flush=True)
        while self._hanging:
            self._wait(1)
            time.sleep(0.1)

    def _wait(self, count: int) -> None:
        """Wait until so many workers take runs; replace those that are gone, wake who stands."""
        end = time.monotonic() + 120
        while True:
            for worker, until in [*self._hanging.items()]:
                if until < time.monotonic():
                    del self._hanging[worker]
                    self._crew.wake(worker)
            for _ in range(self._trouble.workers - len(self._crew.active())):
                self._crew.hire()
            if len(self._crew.ready()) >= min(count, self._trouble.workers):
                return
            if time.monotonic() > end:
                raise TimeoutError(f"No worker takes runs:\n{self._crew.logs()[-4_000:]}")
            time.sleep(0.05)


async def report_of(server: Server, folder: Path, trouble: Trouble) -> Report:
    """Let `trouble` happen while runs are open, and return what came of it."""
    url = server.schema()
    (folder / "toolplan.toml").write_text(SETTINGS)
    ledger = Ledger(folder)
    environment = {ADDRESS: ledger.address, "TOOLPLAN_JOURNAL": url, NAME: trouble.sabotage}
    settings = {"toolboxes": {"office": {"tools": ["tests.workers.ledger_tools:TOOLS"]}}}
    try:
        with office(url, **settings) as app, forked_crew(folder, environment) as crew:
            story = _Story(app, ledger, trouble.seed)
            fate = _Fate(crew, server, trouble)
            fate.start()
            await _attend(story, fate, trouble.patience_s)
            payments, breaches = await asyncio.to_thread(story.end)
            if not breaches and not await _ends(app):
                breaches += ("A job is left over.",)
            if fate.error:
                breaches += (fate.error,)
            happened = (trouble.kills, trouble.hangs, trouble.restarts)
            said = (story.decided, story.approved, story.allowed)
            return Report(*happened, story.runs, payments, *said, breaches)
    finally:
        ledger.close()


async def _attend(story: _Story, fate: _Fate, patience_s: float) -> None:
    """Submit runs while something happens, and attend to them until they are over."""
    calm_since = None
    while calm_since is None or (
        (story.open or story.is_unsure) and time.monotonic() < calm_since + patience_s
    ):
        if calm_since is None and not fate.is_alive():
            calm_since = time.monotonic()
        try:
            while story.is_unsure or (len(story.open) < _OPEN and fate.is_alive()):
                await story.submit()
            await story.attend()
        except JournalError as error:
            if error.code not in ("journal-unavailable", "journal-locked", "not-waiting"):
                raise
        await asyncio.sleep(0.1)


async def _ends(app: App) -> bool:
    """Return whether no job is left over, after a while."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if await asyncio.to_thread(no_job_is_left, dispatch_for(app)):
            return True
        await asyncio.sleep(0.1)
    return False
