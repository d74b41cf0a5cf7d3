"""How long the studio's page takes to show a plan of 1,000 steps, in a real Chromium.

Run as `python -m benchmarks.studio_graph`. It prints the time from the address to the graph on the
screen, and the times of frames while it is moved.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from packages.studio.tests.browser.conftest import Served, Visit, browser

STEPS = 1_000
_DRAFT = """([id, checked]) => {
    const proposed = { outcome: 'plan', question: 'q', today: '2026-01-01', reason: '',
        planner: null, attempts: 1, clarification: null, checked };
    const draft = { id, question: 'q', conversation: 'c', earlier: [], proposed, text: null };
    localStorage.setItem('toolplan.draft.' + id, JSON.stringify({ ...draft, at: Date.now() }));
}"""
_FRAMES = """() => new Promise(done => {
    const times = [];
    let last = performance.now();
    const next = now => {
        times.push(now - last);
        last = now;
        if (times.length < 120) requestAnimationFrame(next);
        else done(times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)]);
    };
    requestAnimationFrame(next);
})"""


def plan() -> dict[str, object]:
    """Return a plan of many steps in layers; each needs up to two of those before it."""
    steps = [
        {
            "id": f"s{at}",
            "tool": "facilities_list",
            "args": {"limit": 1 + at},
            "after": sorted({f"s{at // 3}", f"s{at // 2}"}) if at > 2 else [],
        }
        for at in range(STEPS)
    ]
    return {"steps": steps}


def main() -> int:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder), None)
        served.start()
        try:
            with browser(dark=False, width=1280) as page:
                _measure(Visit(served, page))
        finally:
            served.kill()
    return 0


def _measure(visit: Visit) -> None:
    page = visit.enter()
    checked = visit.call("POST", "plans/check", {"text": json.dumps(plan())})
    page.evaluate(_DRAFT, ["large", checked])
    began = time.perf_counter()
    visit.go("#/ask/large")
    page.locator(".step-card").nth(20).wait_for()
    shown = time.perf_counter() - began
    page.mouse.move(400, 500)
    page.mouse.down()
    page.evaluate(f"window.frames95 = ({_FRAMES})()")
    for at in range(60):
        page.mouse.move(400 - 4 * at, 500 - 2 * at)
    page.mouse.up()
    frame = page.evaluate("window.frames95")
    print(f"{STEPS} steps on screen after {shown:.2f} s; p95 of frames while moving {frame:.0f} ms")


if __name__ == "__main__":
    sys.exit(main())
