"""Simulate many seeds: `python -m tests.simulation --seeds 100000 --first 0`."""

import argparse
import gc
import logging
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.simulation.story import Outcome, Story
from tests.simulation.world import Breach


def fast_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that is in memory where the system has such a place."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)


def simulate(seed: int, folder: Path) -> Outcome:
    """Return how `seed` went.

    Raises:
        Breach: something happened that must never happen; its text has the seed.
    """
    try:
        return Story(seed, folder).play()
    except Exception as error:
        kind = "" if isinstance(error, Breach) else f"{type(error).__name__} "
        raise Breach(f"seed {seed}: {kind}{error}") from error


def main() -> int:
    """Run the command; the exit code is 1 where something was breached."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2_000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    options = parser.parse_args()
    # that a run waits for its disk is no news here
    logging.getLogger("toolplan.storage.journal").setLevel(logging.ERROR)
    ended: Counter[str] = Counter()
    breaches: list[str] = []
    lives = 0
    start = time.perf_counter()
    with fast_folder() as name:
        for seed in range(options.first, options.first + options.seeds):
            try:
                outcome = simulate(seed, Path(name))
            except Breach as breach:
                breaches.append(str(breach))
                print(f"\nBREACH {breach}\nAgain: --seeds 1 --first {seed}")
                continue
            ended[outcome.status.value if outcome.status else "none"] += 1
            lives += outcome.lives
            if seed % 100 == 0:
                sys.stderr.write(f"\r{seed - options.first} seeds ")
                gc.collect()
    spent = time.perf_counter() - start
    print(
        f"\n{options.seeds} seeds, {lives} lives in {spent:.0f} s "
        f"({options.seeds / spent:.0f} seeds a second): {dict(ended)}, {len(breaches)} breaches."
    )
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
