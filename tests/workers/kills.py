"""Runs whose workers are killed at random: none is lost, and no write happens twice by itself."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.workers._office import ledger, no_job_is_left, office, plan_of
from tests.workers.crew import Crew, crew
from toolplan.app.app import App
from toolplan.engines import CannotRun
from toolplan.events import RunState
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.storage.journal import JournalError

_OPEN = 12
"""Runs that are open at the same time."""


class Report(NamedTuple):
    """What came of it: `breaches` say what is wrong."""

    kills: int
    runs: int
    writes: int
    decided: int
    approved: int
    breaches: tuple[str, ...]

    def __str__(self) -> str:
        found = ", ".join(
            f"{value} {name}" for name, value in zip(self._fields[:5], self[:5], strict=True)
        )
        return "\n".join((found, *self.breaches))


def _plan(app: App, run: str, chance: random.Random) -> ExecutionPlan:
    def seconds() -> float:
        return chance.choice((0.0, 0.0, 0.02, 0.1, 0.2))

    steps: list[dict[str, Json]] = [
        {"id": "r", "tool": "read", "args": {"x": 3, "seconds": seconds()}},
        {"id": "w0", "tool": "write", "args": {"x": f"{run}.w0", "seconds": seconds()},
         "after": ["r"]},
        {"id": "many", "tool": "write", "for_each": [f"{run}.i{at}" for at in range(3)],
         "args": {"x": "${item}", "seconds": seconds()}},
        {"id": "w1", "tool": "write", "args": {"x": f"{run}.w1", "seconds": seconds()},
         "after": ["w0", "many"]},
    ]  # fmt: skip
    return plan_of(app, *steps)


def _expected(run: str) -> dict[str, Json]:
    return {
        "r": 3,
        "w0": f"{run}.w0",
        "many": [f"{run}.i{at}" for at in range(3)],
        "w1": f"{run}.w1",
    }


def _written(run: str) -> list[str]:
    return [f"{run}.w0", *(f"{run}.i{at}" for at in range(3)), f"{run}.w1"]


class _Story:
    """The runs, and the person who approves them and decides about calls in doubt."""

    def __init__(self, app: App, folder: Path, seed: int) -> None:
        self.app = app
        self.folder = folder
        self.chance = random.Random(seed)
        self.open: dict[str, Json] = {}
        self.runs: list[str] = []
        self.decided = 0
        self.approved = 0
        self.again: Counter[str] = Counter()

    async def submit(self) -> None:
        run = f"r{len(self.runs)}"
        plan = _plan(self.app, run, self.chance)
        from_elsewhere = self.chance.random() < 0.3
        await self.app.workers.submit(plan, run_id=run, yes=not from_elsewhere)
        self.runs.append(run)
        self.open[run] = plan.digest if from_elsewhere else None

    async def attend(self) -> None:
        """Look at each open run: approve it, decide about its calls, or note that it is over."""
        journal = self.app.needed_journal()
        for run, digest in [*self.open.items()]:
            status = (await asyncio.to_thread(journal.entry, run)).status
            if status is RunState.WAITING and digest is not None:
                await self.app.workers.approve(run, str(digest), who="person")
                self.open[run] = None
                self.approved += 1
            elif status is RunState.IN_DOUBT:
                await self._decide(run)
            elif status in (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED):
                del self.open[run]

    async def _decide(self, run: str) -> None:
        """Decide as a person who looks into the ledger."""
        loaded = await asyncio.to_thread(self.app.needed_journal().load, run)
        happened = {word.partition(":")[2] for word in ledger(self.folder)}
        messages = await asyncio.to_thread(self.app.workers.dispatch().messages, run)
        if messages:
            return  # said already
        retry: list[str] = []
        resolve: dict[str, Json] = {}
        for name, step in loaded.steps.items():
            for doubt in step.doubts:
                place = name if doubt.item is None else f"{name}:{doubt.item}"
                word = f"{run}.i{doubt.item}" if name == "many" else f"{run}.{name}"
                if word in happened:
                    resolve[place] = word
                else:
                    retry.append(place)
                    self.again[word] += 1
        try:
            await self.app.workers.decide(run, retry=retry, resolve=resolve, who="person")
            self.decided += len(retry) + len(resolve)
        except (CannotRun, JournalError):
            pass  # it has moved on

    def breaches(self) -> tuple[str, ...]:
        journal = self.app.needed_journal()
        begun = Counter(
            word.partition(":")[2] for word in ledger(self.folder) if word.startswith("begin:")
        )
        found: list[str] = []
        for run in self.runs:
            done = journal.load(run)
            if done.output != _expected(run):
                found.append(f"{run} is {done.status.value} with {done.output!r}")
            found += [f"{word} happened never" for word in _written(run) if not begun[word]]
            found += [
                f"{word} happened {begun[word]} times"
                for word in _written(run)
                if begun[word] > 1 + self.again[word]
            ]
        return tuple(found)


async def report_of(
    url: str, folder: Path, *, kills: int, workers: int = 4, seed: int = 0
) -> Report:
    """Kill workers at random while runs are open, and return what came of it."""
    with office(url) as app, crew(url, folder, workers) as hired:
        story = _Story(app, folder, seed)
        killing = asyncio.create_task(asyncio.to_thread(_kill, hired, kills, seed))
        while not killing.done() or story.open:
            while len(story.open) < _OPEN and not killing.done():
                await story.submit()
            await story.attend()
            await asyncio.sleep(0.1)
        await killing
        for _ in range(100):
            if await asyncio.to_thread(no_job_is_left, app.workers.dispatch()):
                break
            await asyncio.sleep(0.1)
        left = not await asyncio.to_thread(no_job_is_left, app.workers.dispatch())
        breaches = story.breaches() + (("A job is left over.",) if left else ())
        writes = sum(word.startswith("begin:") for word in ledger(folder))
        return Report(hired.kills, len(story.runs), writes, story.decided, story.approved, breaches)


def _kill(hired: Crew, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    hired.wait_ready()
    for _ in range(kills):
        asyncio.run(asyncio.sleep(chance.uniform(0.3, 1.5)))
        hired.kill(chance)
