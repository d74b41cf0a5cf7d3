"""`python -m benchmarks.plans DATA_DIR [--json] [--sets a,b] [--limit N] [--seed TEXT]`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.plans.figures import Options, measure, to_json
from benchmarks.plans.table import lines


def main() -> None:
    """Measure, and print the table, or JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.plans", description=__doc__)
    parser.add_argument("data", type=Path, help="a folder in the form of DATA.md")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--sets", help="only these sets, with commas between")
    parser.add_argument("--limit", type=int, help="only so many rows of each set")
    parser.add_argument("--seed", default="1", help="of the injected faults")
    given = parser.parse_args()
    sets = None if given.sets is None else tuple(given.sets.split(","))
    figures = measure(given.data, Options(sets, given.limit, given.seed))
    if given.json:
        print(json.dumps(to_json(figures), indent=2, ensure_ascii=False))
    else:
        print("\n".join(lines(figures)))


if __name__ == "__main__":
    main()
