"""Limits over all machines: each call that may be made has a slot, which is a leased row."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final, NamedTuple

from toolplan.base.threads import in_thread
from toolplan.storage.journal import JournalError
from toolplan_workers.queue.places import Places

_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.08
_KEPT_S: Final = 1.0
"""Seconds in which a worker passes a slot on to its own runs, before the turn of others."""


class RunSlots(NamedTuple):
    """The slots of one limit for a run: a `SharedLimit` of the engine."""

    slots: Slots
    run: str

    def ask(self, granted: Callable[[], None]) -> None:
        """Call `granted` when one more call may be made."""
        self.slots.ask(granted, self.run)

    def withdraw(self, granted: Callable[[], None]) -> None:
        """Take back an `ask`."""
        self.slots.withdraw(granted, self.run)

    def release(self) -> None:
        """Release a granted slot."""
        self.slots.release()


class Slots:
    """The slots of one limit, for the runs of this process.

    A slot is a row that this worker leases; the worker's heartbeat extends the leases. A dead
    worker's rows are removed, and those of a hung worker expire.
    """

    def __init__(self, name: str, most: int, places: Places) -> None:
        self._name = name
        self._most = most
        self._places = places
        self._held: dict[int, float] = {}  # slot: since when
        self._waiting: deque[tuple[Callable[[], None], str]] = deque()
        self._serving: asyncio.Task[None] | None = None
        self._releasing: set[asyncio.Task[None]] = set()

    def ask(self, granted: Callable[[], None], run: str) -> None:
        """Call `granted` when one more call of `run` may be made."""
        self._waiting.append((granted, run))
        self._serve()

    def withdraw(self, granted: Callable[[], None], run: str) -> None:
        """Take back an `ask`."""
        self._waiting.remove((granted, run))

    def release(self) -> None:
        """Release a granted slot: to another run of this process, or to all machines."""
        loop = asyncio.get_running_loop()
        slot = min(self._held, key=self._held.__getitem__)
        if self._waiting and loop.time() - self._held[slot] < _KEPT_S:
            loop.call_soon(self._waiting.popleft()[0])
            return
        del self._held[slot]
        task = loop.create_task(self._release(slot))
        self._releasing.add(task)
        task.add_done_callback(self._releasing.discard)

    @property
    def held(self) -> list[tuple[str, int]]:
        """The slots that this process has, with the name of the limit."""
        return [(self._name, slot) for slot in self._held]

    @property
    def waits(self) -> list[tuple[str, str]]:
        """The runs that wait for a slot, with the name of the limit."""
        return [(run, self._name) for run in dict.fromkeys(run for _, run in self._waiting)]

    def kept(self, asked: Collection[tuple[str, int]], kept: Collection[tuple[str, int]]) -> None:
        """Never reuse slots whose lease was `asked` to be extended and was not `kept`."""
        for slot in self._held:
            if (self._name, slot) in asked and (self._name, slot) not in kept:
                self._held[slot] = float("-inf")

    async def _release(self, slot: int) -> None:
        with suppress(JournalError):  # the lease expires
            await in_thread(self._places.release, self._name, slot)
        if self._waiting:
            await asyncio.sleep(_LONGEST_PAUSE_S)  # other machines look that often
        self._serve()

    def _serve(self) -> None:
        if self._waiting and (self._serving is None or self._serving.done()):
            self._serving = asyncio.get_running_loop().create_task(self._take())

    async def _take(self) -> None:
        """Take slots while runs wait for them."""
        pause = _PAUSE_S
        while self._waiting:
            try:
                slot = await in_thread(self._places.take, self._name, self._most)
            except JournalError:
                slot = None
            if slot is None:
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 — no secret
                pause = min(1.5 * pause, _LONGEST_PAUSE_S)
                continue
            pause = _PAUSE_S
            if self._waiting:
                self._held[slot] = asyncio.get_running_loop().time()
                self._waiting.popleft()[0]()
            else:
                with suppress(JournalError):
                    await in_thread(self._places.release, self._name, slot)
