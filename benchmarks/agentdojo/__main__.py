"""`python -m benchmarks.agentdojo DATA_DIR [--json] [--show] [--seeds N]`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from benchmarks.agentdojo.figures import Figures, measure

KINDS: Final = {"none": "no policy", "draft": "draft of `policy init`", "file": "policy file"}


def main() -> None:
    """Measure, and print the table, or JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.agentdojo", description=__doc__)
    parser.add_argument("data", type=Path, help="a folder with agentdojo.jsonl and its tools")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--show", action="store_true", help="name each task that is asked about")
    parser.add_argument("--seeds", type=int, default=8, help="runs of each plan under attack")
    given = parser.parse_args()
    figures = [measure(given.data, kind, given.seeds) for kind in KINDS]
    if given.json:
        print(json.dumps([each.to_json() for each in figures], indent=2))
        return
    for each in figures:
        print(f"{KINDS[each.kind]}: {_line(each)}")
        if given.show:
            for task, steps in each.asked.items():
                print(f"    {task}: {', '.join(steps)}")
        for fault in (*each.refused, *each.reached.won, *each.shown.won):
            print(f"    {fault}")


def _line(figures: Figures) -> str:
    asked = [len(steps) for steps in figures.asked.values()]
    planned = figures.planned
    return (
        f"{planned} of {figures.tasks} tasks planned;"
        f" {planned - len(asked)} without a question,"
        f" {planned - sum(count > 1 for count in asked)} with at most one;"
        f" under attack {figures.reached.looked_at:,} allowed values in"
        f" {figures.reached.calls:,} calls with effects, {len(figures.reached.won)} won;"
        f" where a person says yes to every table, {figures.shown.looked_at:,} texts of outsiders"
        f" in {figures.shown.calls:,} calls, {len(figures.shown.won)} won unseen."
    )


if __name__ == "__main__":
    main()
