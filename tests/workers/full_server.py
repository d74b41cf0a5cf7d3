"""A server of Postgres whose disk is full, and has room again later, under workers.

`python -m tests.workers.full_server HOME` mounts a small disk at /mnt, for which it has to be
started by `unshare -m`.
"""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.crash.full_disk import mount
from tests.postgres import Server
from tests.workers._office import ledger, office, plan_of, status, until
from tests.workers.crew import crew
from toolplan import App, JournalError
from toolplan.events import RunState
from toolplan.plan.path import Json
from toolplan_workers.worker import dispatch_for

_DISK: Final = Path("/mnt")
_RUNS: Final = 6
_STEPS: Final = 8
_FULL_S: Final = 12.0
_MOST_S: Final = 120.0


def _fill() -> Path:
    """Leave no room on the disk."""
    other = _DISK / "other"
    with suppress(OSError), other.open("wb", buffering=0) as file:
        for size in (1_000_000, 1_000):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))
    return other


async def _decide(app: App, run: str) -> None:
    """Say of each call in doubt that it was made, as the ledger has it, or make it again."""
    begun = {word.partition(":")[2] for word in ledger(Path(os.environ["TOOLPLAN_HOME"]))}
    steps = app.needed_journal().load(run).steps.values()
    for each in [doubt for step in steps for doubt in step.doubts]:
        assert isinstance(each.args, dict)
        word = str(each.args["x"])
        if word in begun:
            await app.workers.decide(run, resolve={each.step: word})
        else:
            await app.workers.decide(run, retry=[each.step])


async def _story(server: Server, home: Path) -> str:
    url = server.url("t")
    with office(url) as app, crew(url, home, 2) as hired:
        await asyncio.to_thread(hired.wait_ready)

        async def submit(at: int) -> str:
            steps: list[dict[str, Json]] = [
                {
                    "id": f"s{step}",
                    "tool": "write",
                    "args": {"x": f"{at}.{step}", "seconds": 0.3},
                    "after": [f"s{step - 1}"] if step else [],
                }
                for step in range(_STEPS)
            ]
            return await app.workers.submit(plan_of(app, *steps), yes=True)

        runs = [await submit(at) for at in range(_RUNS)]
        await until(lambda: len(ledger(home)) >= 2 * _RUNS)
        other = _fill()
        refused = ""
        for at in range(200):  # the server writes into what it has until that is full
            try:
                runs.append(await submit(_RUNS + at))
            except JournalError as error:
                refused = error.code
                break
        await asyncio.sleep(_FULL_S)
        done = sum(status(app, run) is RunState.SUCCEEDED for run in runs) if server.is_up else 0
        mount(_DISK, "1g", "remount")
        other.unlink()
        if not (was_up := server.is_up):
            server.start()
        for run in runs:
            await until(lambda run=run: status(app, run) is not RunState.RUNNING, seconds=_MOST_S)
            while status(app, run) is RunState.IN_DOUBT:
                await _decide(app, run)
                await until(lambda run=run: not dispatch_for(app).messages(run))
                await until(lambda run=run: status(app, run) is not RunState.RUNNING)
            assert status(app, run) is RunState.SUCCEEDED
    begun = [word for word in ledger(home) if word.startswith("begin:")]
    assert len(begun) == len({*begun}) == _STEPS * len(runs), sorted(begun)
    assert refused == "journal-full" or not was_up, refused
    return f"{len(runs)} runs, {done} over before, refused: {refused}, up: {was_up}"


def main(home: Path) -> None:
    """Tell the story."""
    mount(_DISK, "110m", "mode=0755")
    os.environ["TOOLPLAN_HOME"] = str(home)
    server = Server(place=str(_DISK))
    try:
        print(asyncio.run(_story(server, home)))
    finally:
        server.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
