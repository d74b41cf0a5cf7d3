"""The runs of a journal that workers take, as commands and the studio reach them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from msgspec import Struct

from toolplan.events import Event
from toolplan.plan.path import Json
from toolplan.storage.journal.reading import RunRecord

COUNTED: Final = "counted"
"""The answer to a message that was obeyed."""


class Placement(Struct, frozen=True):
    """The queue of a run, and why it was parked; empty if it was not.

    `is_fenced` says that a failover may have lost some of what it did.
    """

    queue: str
    parked: str
    is_fenced: bool = False


class WorkerRuns(Protocol):
    """The runs that were submitted to workers; `Store.worker_runs` returns them.

    Its methods block, and raise `JournalError` where the journal cannot be used.
    """

    def submit(
        self,
        run: str,
        digest: str,
        record: RunRecord,
        events: Sequence[Event],
        queue: str,
        *,
        starts: bool,
    ) -> None:
        """Write a new run for `queue`; a worker takes it at once if it `starts`."""

    def send(self, run: str, kind: str, content: Json, who: str) -> int:
        """Send a message to a run, and have a worker read it; return its number."""
        ...

    def answer(self, answers: Sequence[tuple[int, str]]) -> None:
        """Write the answers to messages, by their numbers."""

    async def interrupt(self, run: str) -> bool:
        """Have the worker of `run` read its messages now; return whether one has it."""
        ...

    def placement(self, run: str) -> Placement | None:
        """Return where `run` was submitted; None if it was not."""
        ...

    def waits(self, run: str) -> str:
        """Return the limits over all machines that `run` waits for."""
        ...

    def worked(self) -> list[str]:
        """Return the queue of each worker that lives, in order."""
        ...

    def without_worker(self, runs: Sequence[str]) -> dict[str, str]:
        """Return those of `runs` whose queue has no worker, with the queue."""
        ...

    def stranded(self) -> dict[str, str]:
        """Return the runs that a worker is to continue and whose queue has none, with the queue."""
        ...

    def fenced(self) -> list[str]:
        """Return the open runs that wait for a person after a failover, oldest first."""
        ...

    def continue_after_failover(self, run: str) -> bool:
        """Let workers continue `run` after a failover; return whether it waited for that."""
        ...

    def replication(self) -> tuple[str, int]:
        """Return the synchronous standbys, as configured, and the number of connected standbys."""
        ...
