"""What a queue is to workers: who works on which run is its business, what a run did is not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Protocol, TypeAlias

from msgspec import Struct

from toolplan.errors import ToolplanError
from toolplan.storage.journal import Connection


class Job(Struct, frozen=True):
    """A run in a queue that a worker has taken.

    Attributes:
        number: the number of the job; a run may have several, one after another.
        run: the name of the run.
        worker: the number of the worker in the queue; empty if the queue does not know it any more.
        tries: how many workers had the job before and did not finish it.
    """

    number: int
    run: str
    worker: str
    tries: int


class Again(ToolplanError):
    """A job cannot be finished now, and is tried again after `pause_s` seconds."""

    def __init__(self, pause_s: float = 0.2) -> None:
        super().__init__("try-again", "The run cannot be worked on now; it is tried again.")
        self.pause_s = pause_s


Handle: TypeAlias = Callable[[Job], Awaitable[None]]
"""Works on a run until it ends or waits; a cancellation says that a message may cancel the run."""


class Queue(Protocol):
    """Says which worker works on which run; jobs of one run are worked on one after another.

    It may be wrong about who is dead: the journal refuses what a worker writes after its lease.
    """

    def migrate(self, connection: Connection, *, is_idle: bool) -> bool:
        """Make the tables, or migrate them one step; return whether another is needed.

        `is_idle`: no worker uses them.
        """
        ...

    def put(self, connection: Connection, run: str, queue: str) -> None:
        """Put a run into a queue, in the transaction of `connection`."""

    async def work(
        self, queue: str, handle: Handle, concurrency: int, joined: Callable[[str], Awaitable[None]]
    ) -> None:
        """Take jobs of `queue`, at most `concurrency` at the same time, until `stop`.

        `joined` is called with the number of the worker in the queue before it takes anything.
        """

    def stop(self) -> None:
        """Take no more jobs; `work` returns when those that were taken are over."""

    with_job: str
    """SQL: the query of the runs that have a job, in a column `run`."""
    mine: set[int]
    """The numbers of the jobs that this process works on."""

    async def open(self) -> None:
        """Open the connections of a worker, or of who looks at jobs."""

    async def close(self) -> None:
        """Close the connections."""

    async def cancel(self, run: str) -> bool:
        """Cancel the job of `run` that a worker has, if there is one; it needs no `open`."""
        ...

    def outside(self, queues: Collection[str]) -> dict[str, str]:
        """Return the runs that are in other queues than `queues`, with the queue; it blocks."""
        ...

    async def doing(self) -> list[Job]:
        """Return the jobs that workers have."""
        ...

    async def stalled(self, silent_s: float) -> list[Job]:
        """Return the jobs whose workers are not known, or were silent for so long."""
        ...

    async def back(self, job: Job) -> bool:
        """Put a job back that a worker has; return False if it has it no more."""
        ...


def has_table(connection: Connection, table: str) -> bool:
    """Return whether there is a table with this name."""
    return bool(connection.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchone()[0])
