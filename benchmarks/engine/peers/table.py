"""CPU a step of other systems, where they are installed, beside raw asyncio and ours in turns.

Those that keep nothing stand beside ours in memory; a durable one beside ours with its journal.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple, TypeAlias

from benchmarks.engine.graphs import execution_plan, layered, nothing, ours, raw, toolbox
from benchmarks.engine.peers.by_hand import ANYIO, GRAPHLIB
from benchmarks.engine.peers.dbos import DBOS
from benchmarks.engine.peers.hamilton import HAMILTON
from benchmarks.engine.peers.langgraph import LANGGRAPH
from benchmarks.engine.peers.llm_compiler import LLM_COMPILER
from benchmarks.engine.peers.peer import Peer, Prepare, prepared
from benchmarks.engine.peers.proof import why_not
from benchmarks.engine.rows import Row
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Effects, Toolbox
from toolplan.storage.journal import Journal

PEERS: Final[Mapping[str, Peer]] = {
    "graphlib": GRAPHLIB,
    "anyio": ANYIO,
    "llm_compiler": LLM_COMPILER,
    "hamilton": HAMILTON,
    "langgraph": LANGGRAPH,
    "dbos": DBOS,
}

Way: TypeAlias = Callable[[], AbstractContextManager[Prepare]]

_RAW: Final = "raw"
_EVERY: Final = 3
"""Of so many turns, a peer that is started for each run has one."""


class _Spent(NamedTuple):
    """Seconds of a run."""

    cpu_s: float
    wall_s: float


def absent() -> list[str]:
    """Return the names of the peers that are not installed."""
    return [name for name, peer in PEERS.items() if not peer.is_installed]


def rows(quick: bool) -> Iterator[Row]:
    """Yield the figures of the peers that can be compared, and of ours in the same turns.

    Why one is not compared is printed on stderr, because a reader of JSON takes all of stdout.
    """
    steps, turns = (200, 2) if quick else (1_000, 15)
    chosen = dict(_comparable())
    found = _measured(steps, turns, chosen)
    beside = found.pop(_RAW)
    for name, spent in found.items():
        cpu_us, raw_us, wall_us = (
            each / steps * 1e6 for each in (spent.cpu_s, beside.cpu_s, spent.wall_s)
        )
        peer = chosen.get(name)
        noted = [
            f"{cpu_us:.1f} µs, raw {raw_us:.1f} µs, wall {wall_us:.1f} µs",
            *([peer.version, peer.does] if peer else []),
        ]
        yield Row(
            f"CPU a step, {steps:,} steps, {name}, × raw",
            cpu_us / raw_us,
            beside="; ".join(filter(None, noted)),
        )


def _comparable() -> Iterator[tuple[str, Peer]]:
    for name, peer in PEERS.items():
        reason = why_not(peer)
        if reason is None:
            yield name, peer
        else:
            print(f"Not compared: {name}: {reason}", file=sys.stderr)


def _measured(steps: int, turns: int, peers: Mapping[str, Peer]) -> dict[str, _Spent]:
    """Return what a run takes, by way: each the median of its turns, after one not counted.

    A peer that is started for each run takes so long that it has but some of the turns.
    """
    plan = execution_plan(layered(steps), toolbox(nothing))
    started_anew = {name for name, peer in peers.items() if peer.is_busy_while_open}
    ways = _ours(steps)
    for way in ways.values():
        _timed(way)
    with ExitStack() as open_until_measured:
        for name, peer in peers.items():
            way = partial(peer.opened, plan, nothing)
            if name in started_anew:  # its proof was the turn that is not counted
                ways[name] = way
            else:
                ways[name] = partial(nullcontext, open_until_measured.enter_context(way()))
                _timed(ways[name])
        taken: dict[str, list[_Spent]] = {name: [] for name in ways}
        for turn in range(turns):
            for name, way in ways.items():
                if turn % _EVERY == 0 or name not in started_anew:
                    taken[name].append(_timed(way))
    return {
        name: _Spent(median(each.cpu_s for each in spent), median(each.wall_s for each in spent))
        for name, spent in taken.items()
    }


def _ours(steps: int) -> dict[str, Way]:
    """Return raw asyncio, and the engine with as little kept as by most peers.

    And with all of it.
    """
    reading, writing = toolbox(nothing), toolbox(nothing, Effects.WRITE)
    plan = execution_plan(layered(steps), reading)
    changing = execution_plan(layered(steps), writing)
    return {
        _RAW: partial(nullcontext, prepared(partial(raw, plan, nothing))),
        "toolplan": partial(nullcontext, prepared(partial(ours, plan, reading))),
        "toolplan, journal": partial(_journaled, plan, reading),
        "toolplan, intents synced": partial(_journaled, changing, writing),
    }


@contextmanager
def _journaled(plan: ExecutionPlan, tools: Toolbox) -> Generator[Prepare, None, None]:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "runs.sqlite")
        try:
            yield prepared(partial(ours, plan, tools, journal=journal))
        finally:
            journal.close()


def _timed(way: Way) -> _Spent:
    async def timed(prepare: Prepare) -> _Spent:
        run = await prepare()
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        await run()
        return _Spent(time.process_time() - cpu, time.perf_counter() - wall)

    with way() as prepare:
        return asyncio.run(timed(prepare))
