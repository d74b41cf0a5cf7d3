"""A limit over all machines: whether it is kept, and how much of it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Final

from benchmarks.engine.rows import Row
from benchmarks.workers.office import plan
from benchmarks.workers.site import Site, planned, submitted

_MOST: Final = 2
_RUNS: Final = 8
_SECONDS: Final = 0.02


def rows(site: Site, quick: bool) -> Iterator[Row]:
    """Yield the most calls at once, and the ideal time over the time that they took."""
    items = [str(at) for at in range(10 if quick else 40)]
    call = {"key": "${item}", "seconds": _SECONDS}
    text = plan({"id": "b", "tool": "busy", "for_each": [*items], "args": {**call}})
    with site.office() as app, site.workers(limits=f"[limits.everywhere]\nbusy = {_MOST}\n"):
        asyncio.run(submitted(app, planned(app, text), _RUNS))
        site.await_ends(app)
    calls = [
        (int(began), int(ended))
        for began, ended in map(str.split, Path(site.folder, "busy").read_text().splitlines())
    ]
    changes = sorted([(began, 1) for began, _ in calls] + [(ended, -1) for _, ended in calls])
    most = max(accumulate(change for _, change in changes))
    took = (changes[-1][0] - changes[0][0]) / 1e9
    # places that are always taken, by calls that take what they really took
    ideal = sum(ended - began for began, ended in calls) / 1e9 / _MOST
    yield Row(f"most calls at once under a limit of {_MOST} over 4 workers", most, _MOST)
    yield Row(
        "  ideal over real time", ideal / took, 0.7, False, f"{took:.1f} s, {len(calls)} calls"
    )
