"""Runs whose journal is on a disk that is full, and has room again later.

`python -m tests.crash.full_disk FOLDER STORY TIMES` mounts a small disk of its own at FOLDER, for
which it has to be started by `unshare -rm`. TIMES says how long the results are.
"""

import asyncio
import logging
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.crash.chains import Calls, chain, tools
from toolplan.engine import Decided, resume, run
from toolplan.events import Run, RunState
from toolplan.policy.approval import approve
from toolplan.storage.journal import Journal, JournalError, Slot

STEPS: Final = 24
SHORT: Final = 400
LONG: Final = 4_000
"""So many times the text are more than stands in the journal's own file."""


def mount(folder: Path, size: str, *options: str) -> None:
    """Return the disk at `folder` a size."""
    how = ",".join((*options, f"size={size}"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", how, "none", str(folder)], check=True)


class Disk:
    """A disk on which a run of `STEPS` calls has no room, and its journal."""

    def __init__(self, folder: Path, times: int) -> None:
        mount(folder, "700k" if times == LONG else "300k")
        self.calls = Calls()
        self.box = tools(self.calls, times=times)
        self.plan = chain(self.box, STEPS)
        self.folder = folder
        self.journal = Journal(folder / "runs.sqlite")

    def make_room(self) -> None:
        mount(self.folder, "100m", "remount")

    async def run(self, journal_timeout_s: float) -> Run:
        return await run(
            self.plan,
            self.box,
            journal=self.journal,
            approval=approve(self.plan),
            run_id="r",
            journal_timeout_s=journal_timeout_s,
        )

    def end(self, done: Run) -> None:
        """See that the run is whole and that each call was made once."""
        self.journal.close()
        assert done.status is RunState.SUCCEEDED
        assert self.calls == list(range(STEPS)), self.calls
        again = Journal(self.folder / "runs.sqlite")
        kept = again.load("r")
        assert {name: step.output for name, step in kept.steps.items()} == {
            name: step.output for name, step in done.steps.items()
        }
        again.close()


def given_up(folder: Path, times: int) -> None:
    """The run ends with a name for it, and can be resumed when there is room."""
    disk = Disk(folder, times)
    with pytest.raises(JournalError) as caught:
        asyncio.run(disk.run(journal_timeout_s=0.3))
    assert caught.value.code == "journal-full"
    made = len(disk.calls)
    assert 3 < made < STEPS, made
    disk.make_room()
    done = asyncio.run(resume(disk.plan, disk.box, "r", journal=disk.journal))
    if done.status is RunState.IN_DOUBT:  # what was under way when the disk was full
        assert len(disk.calls) == made
        last = f"s{made - 1}"
        assert [name for name, step in done.steps.items() if step.in_doubt] == [last]
        decided: dict[Slot, Decided] = {
            (last, None): Decided("resolve", {"x": made - 1, "text": ""})
        }
        done = asyncio.run(
            resume(disk.plan, disk.box, "r", journal=disk.journal, decisions=decided)
        )
    disk.end(done)


def waited_for(folder: Path, times: int) -> None:
    """The run continues by itself when there is room again in time; it says that it waits."""
    disk, said = Disk(folder, times), threading.Semaphore(0)

    class Telling(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            assert record.getMessage().endswith(" The run waits up to 60 s for it.")
            said.release()

    logging.getLogger("toolplan.storage.journal").addHandler(Telling())

    async def test() -> Run:
        going = asyncio.ensure_future(disk.run(journal_timeout_s=60))
        await asyncio.to_thread(said.acquire)
        assert 3 < len(disk.calls) < STEPS
        disk.make_room()
        return await going

    disk.end(asyncio.run(test()))


def refused(folder: Path, times: int) -> None:
    """Where not even the plan has room no call is made, and the same run is taken later."""
    disk = Disk(folder, times)
    with suppress(OSError), (folder / "other").open("wb", buffering=0) as other:
        while True:
            other.write(bytes(1_000))
    with pytest.raises(JournalError) as caught:
        asyncio.run(disk.run(journal_timeout_s=0.3))
    assert caught.value.code == "journal-full"
    assert disk.calls == []
    disk.make_room()
    disk.end(asyncio.run(disk.run(journal_timeout_s=0.3)))


STORIES: Final = {"given up": given_up, "waited for": waited_for, "refused": refused}


if __name__ == "__main__":
    STORIES[sys.argv[2]](Path(sys.argv[1]), int(sys.argv[3]))
