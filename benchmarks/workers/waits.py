"""How long people and runs wait: for a run to begin, to be cancelled, to be taken over."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Final, cast

from benchmarks.engine.rows import Row
from benchmarks.workers.office import layered, plan
from benchmarks.workers.site import WORKERS, Site, eventually, planned
from toolplan.app.app import App
from toolplan.plan.path import Json

_IDLE_S: Final = 8.0
_KILLS: Final = 3
_OPEN: Final = 8


def rows(site: Site, quick: bool) -> Iterator[Row]:
    """Yield how long each takes."""
    times = 8 if quick else 40
    with site.office() as app:
        with site.workers():
            yield from _idle(site, app)
            yield from _begins(app, times)
            yield from _cancels(site, app, times // 2)
            yield from _large(app)
        yield from _recovery(site, app, 1 if quick else 3)


def _idle(site: Site, app: App) -> Iterator[Row]:
    before, start = site.costs(app), time.perf_counter()
    time.sleep(_IDLE_S)
    costs, seconds = site.costs(app).since(before), time.perf_counter() - start
    share = 100 * costs.workers_s / seconds
    server, asked = 100 * costs.server_s / seconds, costs.statements / seconds
    beside = f"server {server:.1f}, {asked:.0f} statements/s"
    yield Row(f"% of a core, {WORKERS} idle workers", share, 5, beside=beside)


def _begins(app: App, times: int) -> Iterator[Row]:
    found = asyncio.run(_begun(app, times))
    yield Row("ms from submitted to begun, p90", 1_000 * _p90(found), 100, beside=_half(found))


async def _begun(app: App, times: int) -> list[float]:
    plan_ = planned(app, plan({"id": "a", "tool": "wait", "args": {"seconds": 0}}))
    found: list[float] = []
    for _ in range(times):
        run = await app.workers.submit(plan_)
        submitted = time.monotonic()
        async for _ in app.workers.follow(run):
            pass
        output = app.needed_journal().load(run).steps["a"].output
        found.append(max(0.0, cast("float", output) - submitted))
    return found


def _cancels(site: Site, app: App, times: int) -> Iterator[Row]:
    found = asyncio.run(_cancelled(site, app, times))
    yield Row(
        "ms from cancel to the end of the run, p90", 1_000 * _p90(found), 200, beside=_half(found)
    )


async def _cancelled(site: Site, app: App, times: int) -> list[float]:
    found: list[float] = []
    for at in range(times):
        step: Json = {"id": "a", "tool": "wait", "args": {"seconds": 60, "key": f"c{at}"}}
        run = await app.workers.submit(planned(app, plan(step)))
        await asyncio.to_thread(eventually, lambda at=at: f"c{at}" in _last(site))
        start = time.perf_counter()
        await app.workers.cancel(run)
        async for _ in app.workers.follow(run):
            pass
        found.append(time.perf_counter() - start)
    return found


def _large(app: App) -> Iterator[Row]:
    asyncio.run(_once(app, 100))
    found = [asyncio.run(_once(app, 1_000)) for _ in range(3)]
    yield Row("s for one run of 1,000 steps", median(found), 1, beside=f"{min(found):.2f} at best")


async def _once(app: App, steps: int) -> float:
    plan_ = planned(app, layered(steps, width=min(50, steps)))
    start = time.perf_counter()
    run = await app.workers.submit(plan_)
    async for _ in app.workers.follow(run):
        pass
    return time.perf_counter() - start


def _recovery(site: Site, app: App, crews: int) -> Iterator[Row]:
    found: list[float] = []
    for crew in range(crews):
        with site.workers():
            for kill in range(_KILLS):
                found += asyncio.run(_taken_over(site, app, f"k{crew}.{kill}."))
                # the runs of three kills are more than the last worker has places for: they would
                # wait for a place, not for being taken over
                site.await_ends(app)
    beside = f"median of {len(found)} runs of {crews * _KILLS} killed workers"
    yield Row("s until the run of a killed worker goes on, median", median(found), 1, beside=beside)
    yield Row("  p90", _p90(found), 2)


async def _taken_over(site: Site, app: App, name: str) -> list[float]:
    """Return how long the runs of a worker that is killed stand still."""
    keys = [f"{name}{at}" for at in range(_OPEN)]
    for key in keys:
        await app.workers.submit(planned(app, _chain(key)))
    await asyncio.to_thread(eventually, lambda: {*keys} <= {each[2] for each in _waits(site)})
    await asyncio.sleep(0.2)
    owners = {key: process for _, process, key in _waits(site) if key in keys}
    victim = Counter(owners.values()).most_common(1)[0][0]
    mine = {key for key, process in owners.items() if process == victim}
    await asyncio.to_thread(site.kill, victim)
    killed = time.monotonic()

    def again() -> dict[str, float]:
        found: dict[str, float] = {}
        for at, process, key in _waits(site):
            if key in mine and process != victim:
                found.setdefault(key, at - killed)
        return found

    await asyncio.to_thread(eventually, lambda: again().keys() >= mine)
    return [*again().values()]


def _chain(key: str) -> str:
    steps: list[Json] = []
    for at in range(30):
        args: dict[str, Json] = {"seconds": 0.1, "key": key}
        after: list[Json] = [f"s{at - 1}"] if at else []
        steps.append({"id": f"s{at}", "tool": "wait", "args": args, "after": after})
    return plan(*steps)


def _waits(site: Site) -> list[tuple[float, int, str]]:
    lines = _last(site).splitlines()
    words = [each.split(" ") for each in lines if each.count(" ") == 2]
    return [(float(at), int(process), key) for at, process, key in words]


def _last(site: Site) -> str:
    file = Path(site.folder, "waits")
    return file.read_text() if file.exists() else ""


def _p90(found: list[float]) -> float:
    return quantiles(found, n=10)[-1] if len(found) > 1 else found[0]


def _half(found: list[float]) -> str:
    return f"median {1_000 * median(found):.0f}"
