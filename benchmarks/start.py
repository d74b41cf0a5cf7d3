"""`python -m benchmarks.start [--turns N] [--json]`: what commands cost before they do their work.

Each is measured in CPU time of a process of its own, system time included, beside the same of
`python -c "import rich, pydantic"`. The turns are interleaved and the fastest of each counts, so
that a busy machine slows both sides alike. Modules are compiled beforehand, as an installed
package's are, and the demo's rows are in the cache, as after a first question; what the first
question costs on an empty cache is printed too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.engine.rows import Row, heading, line, to_json

QUESTION: Final = "Get contaminated shipments from last week"
PLAN: Final = {
    "toolplan": 1,
    "steps": [{"id": "f", "tool": "facilities_list", "args": {"location": "Berlin"}}],
}
MODEL: Final = "ollama:mistral"
"""A model that is named and not asked: the offline planner answers the question."""

BASE: Final = "baseline"
GOALS: Final = {"--help": 2.0, "check": 3.0, "ask": 6.0}
MOST_FOR_A_MODEL: Final = 0.1


def commands(plan: Path) -> dict[str, Sequence[str]]:
    """Return what is measured, by name: the words after `python`."""
    toolplan = ("-m", "toolplan")
    return {
        "python": ("-c", "pass"),
        BASE: ("-c", "import rich, pydantic"),
        "--help": (*toolplan, "--help"),
        "check": (*toolplan, "check", str(plan), "--tools", "toolplan_demo:TOOLS"),
        "ask": (*toolplan, "ask", QUESTION),
        "ask --model": (*toolplan, "ask", QUESTION, "--model", MODEL),
    }


def cpu_seconds(words: Sequence[str], environment: Mapping[str, str]) -> float:
    """Return the CPU seconds that a Python process with these arguments takes.

    Raises:
        CalledProcessError: it failed.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *words],
        check=True,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(turns: int, folder: Path) -> list[Row]:
    """Return the figures: multiples of the baseline, each the fastest of `turns`."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps(PLAN), "utf-8")
    environment = {
        name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    } | {"TOOLPLAN_HOME": str(folder / "home"), "TOOLPLAN_CACHE": str(folder / "cache")}
    todo = commands(plan)
    cpu_seconds(todo["ask"], environment)  # compiles the modules
    for file in (folder / "cache").iterdir():
        file.unlink()
    first = cpu_seconds(todo["ask"], environment)
    taken: dict[str, list[float]] = {name: [] for name in todo}
    for _ in range(turns):
        for name, words in todo.items():
            taken[name].append(cpu_seconds(words, environment))
    least = {name: min(found) for name, found in taken.items()}
    base = least[BASE]
    rows = [
        Row(
            f"{name}, multiples of `import rich, pydantic`",
            least[name] / base,
            goal,
            beside=f"{1000 * least[name]:.0f} ms; baseline {1000 * base:.0f} ms",
        )
        for name, goal in GOALS.items()
    ]
    added = (least["ask --model"] - least["ask"]) / base
    return [
        *rows,
        Row("a model that is named and not asked adds", added, MOST_FOR_A_MODEL),
        Row("the first question, on an empty cache", first / base),
        Row("the bare interpreter", least["python"] / base),
    ]


def main() -> int:
    """Print the figures; return the exit code, 1 where a goal is not met."""
    parser = argparse.ArgumentParser(description="What commands cost before they do their work.")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(given.turns, Path(folder))
    if given.json:
        print(json.dumps([to_json(row) for row in rows], indent=2))
    else:
        print("\n".join((heading(), *map(line, rows))))
    return 0 if all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
