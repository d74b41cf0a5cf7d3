"""How long the plan cache takes to find a plan, or to find that there is none.

`python -m benchmarks.plan_cache [--json]` fills a cache with the plans of 100 questions, in memory
and in a file, and looks up questions that are and are not in it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from toolplan.planners import Draft, Question
from toolplan.planners.cache import CachedPlanner
from toolplan.storage.plan_cache import PlanCache
from toolplan_demo import TOOLS
from toolplan_offline import OfflinePlanner

TODAY: Final = "2025-10-12"
SIZE: Final = 100
ROUNDS: Final = 20


def keeper(path: Path | None) -> CachedPlanner:
    """Return a planner whose cache, at `path` or in memory, holds the plans of `SIZE` questions."""
    store = PlanCache(path, max_size=SIZE)
    planner = CachedPlanner(OfflinePlanner(), store, name="offline", version="1")
    for at in range(SIZE):
        question = Question(f"shipments above {at} kg", TODAY)
        proposal = OfflinePlanner().plan(question, TOOLS)
        text = proposal.text if isinstance(proposal, Draft) else ""
        planner.keep(question, TOOLS, Draft(text))
    return planner


def lookup_ms(planner: CachedPlanner, questions: Sequence[str], *, found: bool) -> float:
    """Return the median time of a lookup; every question must be found, or none.

    Raises:
        RuntimeError: a lookup gave the wrong result.
    """
    times: list[float] = []
    for _ in range(ROUNDS):
        for text in questions:
            started = time.perf_counter()
            draft = planner.recall(Question(text, TODAY), TOOLS)
            times.append(time.perf_counter() - started)
            if (draft is not None) != found:
                raise RuntimeError(f"The cache is wrong about {text!r}.")
    return 1000 * median(times)


def measure(folder: Path) -> dict[str, float]:
    """Return the milliseconds of each kind of lookup."""
    kept = [f"Shipments above  {at} kg?" for at in range(SIZE)]
    others = [f"shipments below {at} kg" for at in range(SIZE)]
    figures: dict[str, float] = {}
    for name, path in (("memory", None), ("file", folder / "plans.sqlite")):
        planner = keeper(path)
        figures[f"hit, {name}"] = lookup_ms(planner, kept, found=True)
        figures[f"miss, {name}"] = lookup_ms(planner, others, found=False)
    return figures


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="benchmarks.plan_cache", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder))
    if given.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, figure in figures.items():
            print(f"{name:<14}{figure:>7.3f} ms")


if __name__ == "__main__":
    main()
