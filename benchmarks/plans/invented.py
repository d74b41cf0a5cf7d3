"""What `invented-literal` says of published plans, which follow from their questions alone.

`python -m benchmarks.plans.invented DATA_DIR [--sets a,b] [--limit N] [--show N]` counts the clean
plans of each set with a diagnostic: by the rule for all models, and by the stricter one for small
models. `--show` prints N of each, spread over the set, to be judged by a person.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from benchmarks.plans.rows import DataFolder, Row
from benchmarks.plans.texts import text_of
from toolplan.compiler import parse
from toolplan.compiler._compile import about_question
from toolplan.plan.model import Plan

SETS: Final = ("nestful_v2", "nestools", "bfcl", "apibank", "taskbench", "sealtools")
TODAY: Final = "2025-10-12"


def plans(folder: DataFolder, name: str, limit: int | None) -> Iterator[tuple[Row, Plan]]:
    """Yield the clean plans of a set, with their question, as a model would have written them."""
    for row in folder.rows(name, limit):
        if not row.counts or (written := text_of(row)) is None:
            continue
        plan = parse(written.text, written.dialect, row.toolbox).plan
        if plan is not None:
            about = {"planner": "llm/any", "query": row.fields["query"], "reference_date": TODAY}
            yield row, replace(plan, metadata={**plan.metadata, **about})


def main() -> None:
    """Count, and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.plans.invented", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--show", type=int, default=0)
    given = parser.parse_args()
    folder = DataFolder(given.data, read_only=True)
    totals = [0, 0, 0]
    for name in given.sets.split(","):
        found: tuple[list[str], list[str]] = ([], [])
        count = 0
        for row, plan in plans(folder, name, given.limit):
            count += 1
            for strict in (False, True):
                if said := about_question(plan, row.toolbox, strict=strict):
                    first = f"{row.fields['query'][:300]!r}\n      {said[0].message}"
                    found[strict].append(f"{row.id}: {first}")
        print(f"{name}: {count} plans, {len(found[0])} by all models', {len(found[1])} by small")
        totals = [a + b for a, b in zip(totals, (count, *map(len, found)), strict=True)]
        for kind, texts in zip(("all", "small"), found, strict=True):
            for text in texts[:: max(1, len(texts) // given.show)] if given.show else ():
                print(f"  {kind} {text}")
    print(f"together: {totals[0]} plans, {totals[1]} by all models', {totals[2]} by small")


if __name__ == "__main__":
    main()
