"""`python -m tests.workers --kills 1000`: kill workers at random, and say what came of it."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.postgres import missing, server
from tests.workers.kills import report_of


def main() -> int:
    """Kill workers, and return 1 if anything was lost, repeated or wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if reason := missing():
        sys.exit(f"{reason}.")
    began = time.monotonic()
    with server() as running, tempfile.TemporaryDirectory() as folder:
        os.environ["TOOLPLAN_HOME"] = folder
        report = asyncio.run(
            report_of(
                running.schema(),
                Path(folder),
                kills=given.kills,
                workers=given.workers,
                seed=given.seed,
            )
        )
    print(report)
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if report.breaches else 0


if __name__ == "__main__":
    sys.exit(main())
