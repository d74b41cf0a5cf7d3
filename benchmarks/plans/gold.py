"""Gold plans of a set in canonical form, as `toolplan eval --data` reads them.

`python -m benchmarks.plans.gold DATA_DIR SET` prints a row with `query`, `tools` and `plan` for
each clean gold plan of the set, whatever its dialect.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.plans.rows import DataFolder
from benchmarks.plans.texts import text_of
from toolplan.compiler import parse
from toolplan.plan.canonical import dump


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.plans.gold")
    parser.add_argument("data", type=Path)
    parser.add_argument("set")
    chosen = parser.parse_args()
    for row in DataFolder(chosen.data).rows(chosen.set):
        if not row.counts or (written := text_of(row)) is None:
            continue
        plan = parse(written.text, written.dialect, row.toolbox).plan
        if plan is not None:
            tools = [tool.to_json() for tool in row.toolbox.values()]
            fields = {"query": row.fields["query"], "tools": tools, "plan": dump(plan)}
            print(json.dumps(fields, ensure_ascii=False))


if __name__ == "__main__":
    main()
