"""The engine beside raw asyncio: `python -m benchmarks.engine [--json] [--quick] [--only NAME]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Final, NamedTuple

from benchmarks.engine import costs, times

PEERS: Final = ("langgraph", "hamilton", "dbos")


class Row(NamedTuple):
    """A figure and its goal; `most` says whether it may be above the goal or has to be."""

    name: str
    measured: float
    goal: float | None = None
    most: bool = True
    more: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the goal is met; true where there is none."""
        if self.goal is None:
            return True
        return self.measured <= self.goal if self.most else self.measured >= self.goal


def _costs(quick: bool) -> Iterator[Row]:
    for steps, repeats in ((1_000, 9), (10_000, 3)):
        found = costs.costs(steps, 2 if quick else repeats, journaled=True)
        raw = found.raw
        beside = f"{found.memory.cpu_us:.1f} µs, raw asyncio {raw.cpu_us:.1f} µs"
        yield Row(
            f"CPU a step, {steps:,} steps, in memory, beside raw", found.ratio, 4.0, more=beside
        )
        if found.disk is not None and found.disk_ratio is not None and found.effects is not None:
            yield Row(
                f"CPU a step, {steps:,} steps, journal on disk, beside raw", found.disk_ratio, 8.0
            )
            yield Row(
                f"steps a second, {steps:,}, journal", 1e6 / found.disk.wall_us, 10_000, False
            )
            yield Row(
                f"steps a second, {steps:,}, effects, each intent synced",
                1e6 / found.effects.wall_us,
                1_000,
                False,
            )
    if quick:
        return
    found = costs.costs(100_000, 1, journaled=False)
    yield Row("CPU a step, 100,000 steps, in memory, beside raw", found.ratio, 5.0)
    yield Row("growth of peak memory a step, 100,000 steps, bytes", costs.growth(100_000), 3_000)


def _makespan(quick: bool) -> Iterator[Row]:
    found = times.makespan(1_000, 0.010, 2 if quick else 7)
    yield Row(
        "makespan over longest path, 10 ms tools, 1,000 steps",
        found.ours,
        1.03,
        more=f"raw asyncio {found.raw:.3f}",
    )


def _streams(quick: bool) -> Iterator[Row]:
    for shape in ("a chain", "four layers", "independent steps"):
        found = times.streamed(shape)
        goal = 1.3 if shape == "a chain" else None
        beside = f"{found.streamed_s:.2f} s, whole {found.whole_s:.2f} s"
        yield Row(
            f"streamed plan, 12 steps, {shape}, times as fast", found.faster, goal, False, beside
        )
        if quick:
            return


def _fan(quick: bool) -> Iterator[Row]:
    found = times.fan(2_000 if quick else 10_000, 50)
    order = "in order" if found.in_order else "NOT IN ORDER"
    yield Row(
        "for_each at 50 at once, time over the ideal",
        found.over_ideal if found.in_order else float("inf"),
        1.1,
        more=f"{order}, memory grew {found.grown_mb:.1f} MB",
    )


PARTS: Final[dict[str, Callable[[bool], Iterator[Row]]]] = {
    "costs": _costs,
    "makespan": _makespan,
    "streams": _streams,
    "fan": _fan,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.engine")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="fewer turns, and small sizes only")
    parser.add_argument("--only", choices=PARTS, help="one part of it")
    chosen = parser.parse_args()
    rows: list[Row] = []
    for name, part in PARTS.items():
        if chosen.only in (None, name):
            for row in part(chosen.quick):
                rows.append(row)
                if not chosen.json:
                    print(_line(row), flush=True)
    if chosen.json:
        print(json.dumps([{**row._asdict(), "is_met": row.is_met} for row in rows], indent=1))
    else:
        absent = [name for name in PEERS if find_spec(name) is None]
        print(f"Not installed, so not compared: {', '.join(absent)}." if absent else "")
    sys.exit(0 if all(row.is_met for row in rows) else 1)


def _line(row: Row) -> str:
    goal = "" if row.goal is None else f"{'≤' if row.most else '≥'} {row.goal:,g}"
    mark = "" if row.is_met else "  NOT MET"
    return f"{row.name:58} {row.measured:10,.2f}  {goal:9}{mark}  {row.more}".rstrip()


if __name__ == "__main__":
    main()
