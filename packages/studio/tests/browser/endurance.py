"""What the page holds out: many events, kills of the server, large plans. Each returns figures.

`python -m packages.studio.tests.browser.endurance` runs them at full size and prints the figures.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from playwright import sync_api

from packages.studio.tests.browser.conftest import Served, Visit, browser
from toolplan.events import ItemEnded, RunEnded, RunStarted, RunState, StepStarted, StepSucceeded
from toolplan.storage.journal import Journal, RunRecord, to_record

OWN: Final = "packages.studio.tests.browser.own_tools:TOOLS"
_GROUP: Final = 50
_LAGS: Final = """() => {
    window.lags = [];
    window.collecting = false;
    let due = performance.now() + 20;
    setInterval(() => {
        const now = performance.now();
        if (!window.collecting) window.lags.push(Math.max(0, now - due));
        due = now + 20;
    }, 20);
}"""
# the collection of all garbage, which only the measurement asks for, is no lag of the page
_COLLECTING: Final = (
    "isOn => new Promise(done => setTimeout(() => done(window.collecting = isOn), 30))"
)
_SORTED_LAGS: Final = "() => window.lags.sort((a, b) => a - b)"
_SHOWN: Final = {"running": "interrupted"}
"""How the page shows a state of a step whose process is gone."""
_CARDS: Final = """() => {
    const found = {};
    for (const card of document.querySelectorAll('.step-card')) {
        const name = card.querySelector('.step-card-id').textContent;
        found[name] = [...card.classList].find(each => each.startsWith('state-')).slice(6);
    }
    return found;
}"""
_FRAMES: Final = """() => new Promise(done => {
    const frames = [];
    let before = performance.now();
    const step = now => {
        frames.push(now - before);
        before = now;
        frames.length < 90 ? requestAnimationFrame(step) : done(frames.slice(5));
    };
    requestAnimationFrame(step);
})"""


def many_events(visit: Visit, seconds: float, per_second: int = 1_000) -> dict[str, float]:
    """Write events of one run while its page is open; return the lag and the growth in memory.

    Each event is an item of one step, so one that is lost or counted twice changes the counter.
    """
    page, count = visit.enter(), int(seconds * per_second)
    with closing(Journal(visit.served.folder / "journal.db", owner="another process")) as journal:
        step: Any = {
            "id": "all",
            "tool": "take_any",
            "for_each": [],
            "args": {"to": "", "text": []},
        }
        record = RunRecord({"toolplan": 1, "steps": [step]}, [], {})
        started = RunStarted("burst", "0" * 64, ("all",), time.time())
        lease = journal.accept("burst", "0" * 64, record, [started])
        at = lease.at
        first = to_record(StepStarted("all", count, time.time()))
        journal.append(lease, [first], at, sync=False)
        at += 1
        visit.go("#/runs/burst")
        page.get_by_text("Live", exact=True).wait_for()
        page.evaluate(_LAGS)
        sizes: list[float] = []
        begun = time.monotonic()
        for group in range(count // _GROUP):
            now = time.time()
            items = range(group * _GROUP, (group + 1) * _GROUP)
            texts = [to_record(ItemEnded("all", item, item, 1, None, now)) for item in items]
            journal.append(lease, texts, at, sync=False)
            at += _GROUP
            if group % (count // _GROUP // 5) == 0:
                sizes.append(_heap(page))
            rest = begun + (group + 1) * _GROUP / per_second - time.monotonic()
            time.sleep(max(rest, 0))
        took = time.monotonic() - begun
        page.locator(".step-card", has_text=f"{count}/{count}").wait_for()
        sizes.append(_heap(page))
        lags = page.evaluate(_SORTED_LAGS)
        events = [StepSucceeded("all", None, 1, None, time.time())]
        ends = [*map(to_record, events), to_record(RunEnded(RunState.SUCCEEDED, None, time.time()))]
        journal.append(lease, ends, at, sync=True, status=RunState.SUCCEEDED)
        page.get_by_role("status").get_by_text("Succeeded").wait_for()
    return {
        "events": count,
        "events a second": count / took,
        "lag p95 ms": lags[int(len(lags) * 0.95)],
        "lag p99 ms": lags[int(len(lags) * 0.99)],
        "lag max ms": lags[-1],
        "memory MB after a fifth": sizes[1] / 1e6,
        "memory MB at the end": sizes[-1] / 1e6,
    }


def _heap(page: sync_api.Page) -> float:
    session: Any = page.context.new_cdp_session(page)
    page.evaluate(_COLLECTING, True)
    session.send("HeapProfiler.collectGarbage")
    size = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    page.evaluate(_COLLECTING, False)
    return float(size)


def kills(visit: Visit, times: int) -> dict[str, float]:
    """Kill the server in the middle of a run, start it, resume on the page; count what is equal."""
    page, steps = visit.enter(), times + 4
    plan = {
        "steps": [
            {
                "id": f"s{n}",
                "tool": "wait_a_bit",
                "args": {"n": n},
                "after": [f"s{n - 1}"] * (n > 0),
            }
            for n in range(steps)
        ]
    }
    run, equal = visit.run(plan), 0
    visit.go(f"#/runs/{run}")
    status = page.get_by_role("status")
    for each in range(times):
        status.get_by_text("Running").wait_for()
        _until(lambda each=each: _states(visit, run).get(f"s{each}") != "pending")
        visit.served.kill()
        page.get_by_text("Connecting again").wait_for()
        visit.served.start()
        resume = page.get_by_role("button", name="Resume", exact=False)
        resume.wait_for()
        status.get_by_text("Interrupted").wait_for()  # a dead run is not live
        kept = {name: _SHOWN.get(state, state) for name, state in _states(visit, run).items()}
        _until(lambda kept=kept: page.evaluate(_CARDS) == kept)
        equal += 1
        resume.click()
    status.get_by_text("Succeeded").wait_for()
    kept = _states(visit, run)
    assert set(kept.values()) == {"succeeded"}
    _until(lambda: page.evaluate(_CARDS) == kept)
    return {"kills": times, "states equal to the journal's": equal, "steps": len(kept)}


def _states(visit: Visit, run: str) -> Mapping[str, str]:
    with closing(Journal(visit.served.folder / "journal.db")) as journal:
        return {name: step.state.value for name, step in journal.load(run).steps.items()}


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def large_plan(visit: Visit, steps: int) -> dict[str, float]:
    """Open the run of a plan of many steps, then pan and zoom; return the times."""
    page = visit.enter()
    plan = {
        "steps": [
            {
                "id": f"s{n}",
                "tool": "wait_a_bit",
                "args": {"n": n},
                "after": [f"s{n - 40}"] * (n >= 40),
            }
            for n in range(steps - 1)
        ]
        + [{"id": "end", "tool": "take_any", "args": {"to": "", "text": []}}]
    }
    run = visit.run(plan)
    begun = time.monotonic()
    visit.go(f"#/runs/{run}")
    page.locator(".step-card").first.wait_for()
    shown = time.monotonic() - begun
    box = page.locator(".react-flow").bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.evaluate(f"window.measured = ({_FRAMES})()")
    page.mouse.down()
    for n in range(30):
        page.mouse.move(middle[0] + 6 * n, middle[1] + 3 * n)
    page.mouse.up()
    for n in range(20):
        page.mouse.wheel(0, 60 if n % 2 else -60)
    frames = sorted(page.evaluate("window.measured"))
    return {
        "steps": steps,
        "on screen s": shown,
        "frame p95 ms": frames[int(len(frames) * 0.95)],
        "frame max ms": frames[-1],
    }


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1_000)
    given = parser.parse_args()
    works: list[Callable[[Visit], dict[str, float]]] = [
        lambda visit: many_events(visit, given.seconds),
        lambda visit: kills(visit, given.kills),
        lambda visit: large_plan(visit, given.steps),
    ]
    for work in works:
        with tempfile.TemporaryDirectory() as folder:
            served = Served(Path(folder), OWN)
            served.start()
            try:
                with browser(dark=False, width=1280) as page:
                    visit = Visit(served, page)
                    shown = work(visit)
                    shown |= {"foreign requests": len(visit.foreign), "faults": len(visit.faults)}
            finally:
                served.kill()
        line = ", ".join(f"{name} {round(value, 2):g}" for name, value in shown.items())
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
