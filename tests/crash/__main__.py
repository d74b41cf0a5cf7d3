"""Kill runs, over and over: `python -m tests.crash --kills 1000 --seed 1`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.crash import plans
from tests.crash.ledger import Ledger
from tests.crash.story import Breach, Story


def kill(kills: int, seed: int, *, only: bool = False, quiet: bool = False) -> Counter[str]:
    """Make runs be killed until there were so many `kills`; give them by their labels.

    `only` tells the story of `seed` alone.

    Raises:
        Breach: something happened that must never happen; its text has the seed.
    """
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger = Ledger(folder)
        try:
            places = {
                shape: Story(shape, at, folder, ledger).places()
                for at, shape in enumerate(plans.SHAPES, -len(plans.SHAPES))
            }
            shapes = list(plans.SHAPES)
            while counts.total() < kills:
                shape = shapes[seed % len(shapes)]
                try:
                    told = Story(shape, seed, folder, ledger).tell(places[shape])
                except Breach as breach:
                    raise Breach(f"seed {seed} ({shape}): {breach}") from breach
                counts.update(told.kills)
                if not quiet:
                    sys.stderr.write(f"\r{counts.total()} kills, seed {seed} ")
                if only:
                    break
                seed += 1
        finally:
            ledger.close()
    return counts


def main() -> int:
    """Run the command; the exit code is 1 where something was breached."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="how many, at least")
    parser.add_argument("--seed", type=int, default=1, help="the first of the runs")
    parser.add_argument("--only", action="store_true", help="just the run of that seed")
    options = parser.parse_args()
    start = time.perf_counter()
    try:
        counts = kill(options.kills, options.seed, only=options.only)
    except Breach as breach:
        print(f"\nBREACH {breach}\nAgain: python -m tests.crash --only --seed THAT_SEED")
        return 1
    spent = time.perf_counter() - start
    print()
    for label, count in sorted(counts.items(), key=lambda each: -each[1]):
        print(f"{count:6}  {label}")
    print(f"{counts.total()} kills in {spent:.1f} s, at {len(counts)} different points: no breach.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
