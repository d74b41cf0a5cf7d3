"""A toolbox gets a new version while its workers work: each run meets the tools it was planned for.

Workers of both versions share a journal for a while; then the old ones leave one after another. The
runs that are left without a worker are named by the commands, and an old worker continues them.
"""

import asyncio
import itertools
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from tests.postgres import Server
from tests.workers._office import ledger, no_job_is_left, office, plan_of, until
from tests.workers.crew import ROOT, Crew, crew
from toolplan.app.app import App
from toolplan.events import RunState
from toolplan.plan.path import Json
from toolplan_workers.worker import dispatch_for

OLD: Final = "old"
NEW: Final = "new"
_OPEN: Final = 12
"""Runs that are open at the same time."""
_STRANDED: Final = 4
_MOST_S: Final = 120.0
_SHORT: Final = 8


class Upgrade(NamedTuple):
    """How much happens: the runs that end in each of the four phases, and workers of a version."""

    runs: int
    workers: int = 2
    seed: int = 0


class Report(NamedTuple):
    """What came of it: `breaches` say what is wrong."""

    old_runs: int
    new_runs: int
    old_after_the_new: int
    handed_over: int
    named: int
    breaches: tuple[str, ...]

    def __str__(self) -> str:
        names = (each.replace("_", " ") for each in self._fields[:-1])
        found = ", ".join(f"{value} {name}" for name, value in zip(names, self[:-1], strict=True))
        return "\n".join((found, f"{len(self.breaches)} breaches", *self.breaches[:50]))


class _Load:
    """Keeps runs of the wanted versions open, approves those that wait, and sees how they end.

    A run that is approved from elsewhere waits again with each call's values.
    """

    def __init__(self, apps: dict[str, App], seed: int) -> None:
        self.wanted: tuple[str, ...] = (OLD,)
        self.versions: dict[str, str] = {}
        self.open: set[str] = set()
        self.ended: Counter[str] = Counter()
        self.cancelled: set[str] = set()
        self.breaches: list[str] = []
        self._apps = apps
        self._chance = random.Random(seed)
        self._unapproved: dict[str, str] = {}
        self._allowed: dict[str, dict[tuple[str, int | None], str]] = {}

    async def submit(self, version: str, *, yes: bool = True, seconds: float | None = None) -> str:
        """Submit a run that was planned for `version`; without `yes` it is approved later.

        Its calls take `seconds`, or each another time.
        """
        app, run = self._apps[version], f"{len(self.versions):08d}"
        self.versions[run] = version
        steps: list[dict[str, Json]] = [
            {"id": "a", "tool": "pay", "args": {"word": run, **self._seconds(seconds)}},
            {"id": "b", "tool": "pay", "for_each": ["x", "y", "z"], "after": ["a"],
             "args": {"word": "${item}", **self._seconds(seconds)}},
            {"id": "c", "tool": "pay", "args": {"word": "${a.word}", **self._seconds(seconds)},
             "after": ["b"]},
        ]  # fmt: skip
        plan = plan_of(app, *steps)
        await app.workers.submit(plan, run_id=run, yes=yes)
        self.open.add(run)
        if not yes:
            self._unapproved[run] = plan.digest
        return run

    async def go_on(self) -> None:
        """Do all of it until it is cancelled."""
        for number in itertools.count():
            if self.wanted and len(self.open) < _OPEN:
                version = self.wanted[number % len(self.wanted)]
                await self.submit(version, yes=self._chance.random() > 0.25)
            else:
                await asyncio.sleep(0.05)
            await self._attend()

    async def ended_more(self, count: int, *versions: str) -> None:
        """Wait until so many more runs of each of these versions have ended."""
        goals = {version: self.ended[version] + count for version in versions}
        await until(
            lambda: all(self.ended[each] >= goal for each, goal in goals.items()), seconds=_MOST_S
        )

    async def _attend(self) -> None:
        for run, state in (await asyncio.to_thread(self._states)).items():
            if state is RunState.WAITING:
                await self._approve(run)
            elif state in (RunState.SUCCEEDED, RunState.CANCELLED):
                self.open.discard(run)
                self.ended[self.versions[run]] += 1
                if (state is RunState.CANCELLED) != (run in self.cancelled):
                    self.breaches.append(f"{run} is {state.value}")
            elif state in (RunState.FAILED, RunState.IN_DOUBT):
                self.open.discard(run)
                self.breaches.append(f"{run} is {state.value}")

    async def _approve(self, run: str) -> None:
        workers = self._apps[NEW].workers
        if run in self._unapproved:
            await workers.approve(run, self._unapproved.pop(run))
            return
        journal = self._apps[NEW].needed_journal()
        waiting = (await asyncio.to_thread(journal.load, run)).waiting
        shown = {(each.step, each.item): each.digest for each in waiting}
        if shown and self._allowed.get(run) != shown:
            self._allowed[run] = shown
            await workers.decide(run, allow=[*{step for step, _ in shown}])

    def _states(self) -> dict[str, RunState]:
        journal = dispatch_for(self._apps[NEW]).journal
        query = "SELECT run, status FROM runs WHERE run = ANY(%s)"
        return {run: RunState(state) for run, state in journal.rows(query, ([*self.open],))}

    def _seconds(self, given: float | None) -> dict[str, Json]:
        return {"seconds": self._chance.choice((0.0, 0.05, 0.1, 0.3)) if given is None else given}


async def report_of(server: Server, folder: Path, upgrade: Upgrade) -> Report:
    """Upgrade the workers of a toolbox under load, and return what came of it."""
    url = server.schema()
    with ExitStack() as stack:
        apps, crews = dict[str, App](), dict[str, Crew]()
        for version in (OLD, NEW):
            tools = f"tests.workers.version_tools:{version.upper()}"
            boxes = {"toolboxes": {"office": {"tools": [tools]}}}
            (folder / version).mkdir()
            apps[version] = stack.enter_context(office(url, **boxes))
            settings = f'[toolboxes.office]\ntools = ["{tools}"]\n'
            crews[version] = stack.enter_context(crew(url, folder / version, 0, settings))
        load = _Load(apps, upgrade.seed)
        working = asyncio.create_task(load.go_on())
        try:
            phases = asyncio.create_task(_upgrade(url, load, crews, apps, upgrade))
            await asyncio.wait([phases, working], return_when=asyncio.FIRST_COMPLETED)
            if not phases.done():
                phases.cancel()
                working.result()
            at_both, named = await phases
        except TimeoutError:
            logs = "\n".join(each.logs()[-2_000:] for each in crews.values())
            raise AssertionError(f"{load.ended}, open: {sorted(load.open)}\n{logs}") from None
        finally:
            working.cancel()
        words = {version: ledger(folder / version) for version in (OLD, NEW)}
        handed = _judge(load, words)
        counts = (load.ended[OLD], load.ended[NEW], at_both, handed, named)
        return Report(*counts, tuple(load.breaches))


async def _upgrade(
    url: str, load: _Load, crews: dict[str, Crew], apps: dict[str, App], upgrade: Upgrade
) -> tuple[int, int]:
    """Let the phases happen; return how many old runs ended beside new ones, and were named."""
    before, after = crews[OLD], crews[NEW]
    before.hire(upgrade.workers)
    await load.ended_more(upgrade.runs, OLD)
    after.hire(upgrade.workers)
    await asyncio.to_thread(after.wait_ready)
    load.wanted = (OLD, NEW)
    ended = load.ended[OLD]
    await load.ended_more(upgrade.runs, OLD, NEW)
    await asyncio.to_thread(before.leave_first, upgrade.workers - 1)
    at_both = load.ended[OLD] - ended
    load.wanted = (NEW,)
    left = [await load.submit(OLD, seconds=2.0) for _ in range(_STRANDED)]
    await until(lambda: {*left} <= _begun(before.folder), seconds=_MOST_S)
    await asyncio.to_thread(before.leave_first, upgrade.workers)
    if before.codes != [0] * upgrade.workers:
        load.breaches.append(f"The old workers ended with {before.codes}")
    await load.ended_more(upgrade.runs, NEW)
    stranded = [run for run in load.open if load.versions[run] == OLD]
    if not {*left} & {*stranded}:
        load.breaches.append("No run was left without a worker.")
    queues = apps[OLD].workers.queue, apps[NEW].workers.queue
    named = await asyncio.to_thread(_named, url, after.folder, stranded, queues, load)
    before.hire()
    await until(lambda: not any(load.versions[run] == OLD for run in load.open), seconds=_MOST_S)
    load.wanted = ()
    await until(lambda: not load.open, seconds=_MOST_S)
    await until(lambda: no_job_is_left(dispatch_for(apps[NEW])), seconds=_MOST_S)
    return at_both, named


def _begun(home: Path) -> set[str]:
    return {word.split(":")[2] for word in ledger(home)}


def _named(url: str, home: Path, stranded: list[str], queues: tuple[str, str], load: _Load) -> int:
    """Return how many runs the commands name as without a worker, and cancel one of them."""
    old, new = queues

    def said(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "toolplan", *words],
            cwd=ROOT,
            env={**os.environ, "TOOLPLAN_HOME": str(home), "TOOLPLAN_JOURNAL": url},
            capture_output=True,
            text=True,
            check=False,
        )
        return " ".join((done.stdout + done.stderr).split())

    what = (f"no worker for {old}", f"The workers for {new} have other tools", "toolplan worker")
    named = 0
    for words in (("runs", "--limit", "1"), ("doctor",), ("show", stranded[0])):
        text = said(*words)
        runs = stranded[:1] if words[0] == "show" else stranded
        named = sum(run[:_SHORT] in text for run in runs) if words[0] == "runs" else named
        load.breaches += [
            f"toolplan {words[0]} does not say {each!r}: {text}"
            for each in (*what, *(run[:_SHORT] for run in runs))
            if each not in text
        ]
    load.cancelled.add(stranded[-1])
    if "is cancelled" not in (text := said("cancel", stranded[-1])):
        load.breaches.append(f"toolplan cancel: {text}")
    return named


def _judge(load: _Load, words: dict[str, list[str]]) -> int:
    """Compare each call that was made with what was planned; return the runs of several workers."""
    calls: Counter[tuple[str, str, str]] = Counter()
    workers: dict[str, set[str]] = {}
    for home, word in ((home, word) for home, found in words.items() for word in found):
        version, process, run, step, item = word.split(":")
        if not version == home == load.versions[run]:
            load.breaches.append(f"{run} is for {load.versions[run]}: {version} called {step}")
        calls[run, step, item] += 1
        workers.setdefault(run, set()).add(process)
    slots = [("a", "None"), *(("b", str(at)) for at in range(3)), ("c", "None")]
    for run, (step, item) in itertools.product(load.versions, slots):
        most = calls[run, step, item]
        if most > 1 or (not most and run not in load.cancelled):
            load.breaches.append(f"{run}: {step} {item} was called {most} times")
    return sum(len(each) > 1 for each in workers.values())
