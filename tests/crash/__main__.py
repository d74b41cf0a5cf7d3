"""Kill runs, over and over: `python -m tests.crash --kills 1000 --seed 1`."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path

from tests.crash import plans
from tests.crash.ledger import Ledger
from tests.crash.story import Breach, Story
from tests.postgres import server


def kill(
    kills: int,
    seed: int,
    *,
    only: bool = False,
    streams: bool = False,
    values: bool = False,
    quiet: bool = False,
    place: str | None = None,
) -> Counter[str]:
    """Make runs be killed until there were so many `kills`; give them by their labels.

    `only` plays the story of `seed` alone. `streams` lets every run begin while its plan is being
    written, and not just a third of them. With `values` a person approves the calls of each
    run with their values. The journal is at `place`, by default in a file.

    Raises:
        Breach: something happened that must never happen; its text has the seed.
    """
    counts: Counter[str] = Counter()
    new_story = partial(Story, values=values)
    with tempfile.TemporaryDirectory() as name:
        ledger = Ledger(Path(name))
        place = place or str(Path(name) / "runs.sqlite")
        try:
            places = {
                kind: new_story(kind[0], -at, place, ledger, streamed=kind[1]).places()
                for at, kind in enumerate(product(plans.SHAPES, (False, True)), 1)
            }
            shapes = list(plans.SHAPES)
            while counts.total() < kills:
                turn, at = divmod(seed, len(shapes))
                shape, streamed = shapes[at], streams or turn % 3 == 1
                try:
                    story = new_story(shape, seed, place, ledger, streamed=streamed)
                    outcome = story.play(places[shape, streamed])
                except Breach as breach:
                    kind = f"{shape}, streamed" if streamed else shape
                    raise Breach(f"seed {seed} ({kind}): {breach}") from breach
                counts.update(outcome.kills)
                if not quiet:
                    sys.stderr.write(f"\r{counts.total()} kills, seed {seed} ")
                if only:
                    break
                seed += 1
        finally:
            ledger.close()
    return counts


@contextmanager
def _place(named: str | None) -> Generator[str | None]:
    """Give the place that is named; a server of Postgres runs meanwhile if it is asked for."""
    if named != "postgres":
        yield named
        return
    with server() as running:
        yield running.schema()


def main() -> int:
    """Run the command; the exit code is 1 where something was breached."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="how many, at least")
    parser.add_argument("--seed", type=int, default=1, help="the first of the runs")
    parser.add_argument("--only", action="store_true", help="just the run of that seed")
    parser.add_argument(
        "--streams", action="store_true", help="just runs that begin while their plan is written"
    )
    parser.add_argument(
        "--values", action="store_true", help="just runs whose calls are approved with their values"
    )
    parser.add_argument(
        "--journal", help="the place of the journal; `postgres` starts a server for it"
    )
    options = parser.parse_args()
    start = time.perf_counter()
    try:
        with _place(options.journal) as place:
            counts = kill(
                options.kills,
                options.seed,
                only=options.only,
                streams=options.streams,
                values=options.values,
                place=place,
            )
    except Breach as breach:
        again = "--only --streams" if options.streams else "--only"
        again += " --values" if options.values else ""
        again += f" --journal {options.journal}" if options.journal else ""
        print(f"\nBREACH {breach}\nAgain: python -m tests.crash {again} --seed THAT_SEED")
        return 1
    spent = time.perf_counter() - start
    print()
    for label, count in sorted(counts.items(), key=lambda each: -each[1]):
        print(f"{count:6}  {label}")
    print(f"{counts.total()} kills in {spent:.1f} s, at {len(counts)} different points: no breach.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
