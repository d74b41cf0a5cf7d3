"""Let workers die (`--kills 1000`), or give their toolbox a new version (`--rolling 300`)."""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.postgres import missing, server
from tests.workers.kills import Trouble, report_of
from tests.workers.rolling import Upgrade
from tests.workers.rolling import report_of as upgrade_report


def main() -> int:
    """Let it happen, and return 1 if anything was lost, repeated or wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.workers", description=__doc__)
    parser.add_argument("--kills", type=int, default=1_000, help="SIGKILLs of workers")
    parser.add_argument("--hangs", type=int, default=20, help="workers that hang for 14 s")
    parser.add_argument("--restarts", type=int, default=5, help="immediate restarts of Postgres")
    parser.add_argument("--workers", type=int, default=4, help="workers at the same time")
    parser.add_argument("--seed", type=int, default=0)
    help_ = "instead: a rolling upgrade under load, with so many runs in each of its phases"
    parser.add_argument("--rolling", type=int, metavar="RUNS", help=help_)
    given = vars(parser.parse_args())
    rolling: int | None = given.pop("rolling")
    trouble = Trouble(**given)
    if reason := missing():
        sys.exit(f"{reason}.")
    began = time.monotonic()
    options = ("fsync=on", "autovacuum=on")
    with server(options) as running, tempfile.TemporaryDirectory() as folder:
        os.environ["TOOLPLAN_HOME"] = folder
        if rolling is None:
            report = asyncio.run(report_of(running, Path(folder), trouble))
        else:
            upgrade = Upgrade(rolling, max(2, trouble.workers // 2), trouble.seed)
            report = asyncio.run(upgrade_report(running, Path(folder), upgrade))
    print(report)
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if report.breaches else 0


if __name__ == "__main__":
    sys.exit(main())
