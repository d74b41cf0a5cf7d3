"""What a run leaves behind, and what a day of a million runs would."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from benchmarks.engine.rows import Row
from benchmarks.workers.office import layered
from benchmarks.workers.site import Site, planned, submitted
from toolplan_workers.worker import dispatch_for

_DAY: Final = 1_000_000
_TABLES: Final = ("runs", "events", "durations", "placements", "procrastinate_events")


def rows(site: Site, quick: bool) -> Iterator[Row]:
    """Yield events and bytes of a run of 10 calls with effects, by table."""
    runs = 50 if quick else 500
    with site.office() as app:
        plan = planned(app, layered(10, "change"))
        with site.workers():
            before = site.costs(app)
            asyncio.run(submitted(app, plan, runs))
            site.await_ends(app)
            costs = site.costs(app).since(before)
        events = int(site.ask(app, "SELECT sum(next_seq) FROM runs")[0][0])
        yield Row("events of a run of 10 calls with effects", events / runs)
        yield Row("  rows of them", site.ask(app, "SELECT count(*) FROM events")[0][0] / runs)
        whole = 0
        for table in _TABLES:
            dispatch_for(app).journal.rows(f"VACUUM {table}", ())
            size = int(site.ask(app, f"SELECT pg_total_relation_size('{table}')")[0][0])
            whole += size
            yield Row(f"  bytes of {table} with its indexes", size / runs)
    yield Row("  GB a day for 10^6 runs", whole / runs * _DAY / 1e9)
    yield Row("  GB of write-ahead log a day for 10^6 runs", costs.wal_bytes / runs * _DAY / 1e9)
    yield Row("  syncs of a run", costs.syncs / runs)
    yield Row("  ms of CPU of the server for a run, submitted too", 1_000 * costs.server_s / runs)
