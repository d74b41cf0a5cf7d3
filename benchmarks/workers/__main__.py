"""Workers beside the local engine and DBOS: `python -m benchmarks.workers [--json] [--only A,B]`.

It starts a Postgres server of its own and four workers, and exits 1 where a goal is not met. DBOS
takes part where it is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from typing import Final

from benchmarks.engine.rows import Row, heading, line, to_json
from benchmarks.workers import growth, limits, throughput, waits
from benchmarks.workers.site import Site, site
from tests.postgres import missing

PARTS: Final[dict[str, Callable[[Site, bool], Iterator[Row]]]] = {
    "throughput": throughput.rows,
    "waits": waits.rows,
    "limits": limits.rows,
    "growth": growth.rows,
}


def main() -> None:
    """Measure, and print the table, or JSON."""
    chosen = _options()
    if reason := missing():
        sys.exit(f"{reason}.")
    found: list[Row] = []
    if not chosen.json:
        print(f"{_machine()}\n\n{heading()}")
    for name in chosen.only.split(",") if chosen.only else PARTS:
        with site() as place:
            for row in PARTS[name](place, chosen.quick):
                found.append(row)
                if not chosen.json:
                    print(line(row), flush=True)
    if chosen.json:
        print(json.dumps({"machine": _machine(), "rows": [*map(to_json, found)]}, indent=2))
    sys.exit(0 if all(row.is_met for row in found) else 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.workers")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", help=f"only these, with commas between: {', '.join(PARTS)}")
    return parser.parse_args()


def _machine() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} CPUs"


if __name__ == "__main__":
    main()
