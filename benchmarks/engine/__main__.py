"""The engine beside raw asyncio: `python -m benchmarks.engine [--json] [--only A,B] [--quick]`.

It exits 1 where a goal is not met.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from typing import Final

from benchmarks.engine import costs, fan, makespan, memory, peers, stores, streams
from benchmarks.engine.rows import Row, heading, line, to_json

PARTS: Final[dict[str, Callable[[bool], Iterator[Row]]]] = {
    "costs": costs.rows,
    "memory": memory.rows,
    "makespan": makespan.rows,
    "streams": streams.rows,
    "fan": fan.rows,
    "stores": stores.rows,
    "peers": peers.rows,
}


def main() -> None:
    """Measure, and print the table, or JSON."""
    chosen = _options()
    absent = peers.absent()
    rows: list[Row] = []
    if not chosen.json:
        print(f"{_machine()}\n\n{heading()}")
    for name in chosen.only or PARTS:
        for row in PARTS[name](chosen.quick):
            rows.append(row)
            if not chosen.json:
                print(line(row), flush=True)
    if chosen.json:
        found = {"machine": _machine(), "not_installed": absent, "rows": [*map(to_json, rows)]}
        print(json.dumps(found, indent=2, ensure_ascii=False))
    sys.exit(0 if all(row.is_met for row in rows) else 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.engine")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes and few turns")
    parser.add_argument(
        "--only", type=_parts, help=f"only these parts, with commas between: {', '.join(PARTS)}"
    )
    return parser.parse_args()


def _parts(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"there is no part {name!r}")
    return names


def _machine() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} CPUs"


if __name__ == "__main__":
    main()
