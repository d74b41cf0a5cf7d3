"""Limits over all machines: each call that may be made has a slot, which is a lock by name."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from toolplan.storage.journal import JournalError
from toolplan.threads import in_thread

_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.08
_KEPT_S: Final = 1.0
"""How long a worker passes a slot on to its own runs, before other machines have their turn."""


class _Locks(Protocol):
    def hold(self, name: str) -> bool: ...
    def release(self, name: str) -> None: ...


class Slots:
    """The slots of one limit, for the runs of this process: a `SharedLimit` of the engine.

    A slot is a session lock in the database, so it is free at once when its worker is gone. The
    same session could take a lock twice; so the slots that this process has are kept here.
    """

    def __init__(self, name: str, most: int, locks: _Locks) -> None:
        self._name = name
        self._most = most
        self._locks = locks
        self._held: dict[int, float] = {}  # slot: since when
        self._waiting: deque[Callable[[], None]] = deque()
        self._serving: asyncio.Task[None] | None = None
        self._releasing: set[asyncio.Task[None]] = set()

    def ask(self, granted: Callable[[], None]) -> None:
        """Call `granted` when one more call may be made."""
        self._waiting.append(granted)
        self._serve()

    def withdraw(self, granted: Callable[[], None]) -> None:
        """Take back an `ask`."""
        self._waiting.remove(granted)

    def release(self) -> None:
        """Release what was granted: to another run of this process, or to all machines."""
        loop = asyncio.get_running_loop()
        slot = min(self._held, key=self._held.__getitem__)
        if self._waiting and loop.time() - self._held[slot] < _KEPT_S:
            loop.call_soon(self._waiting.popleft())
            return
        del self._held[slot]
        task = loop.create_task(self._release(slot))
        self._releasing.add(task)
        task.add_done_callback(self._releasing.discard)

    async def _release(self, slot: int) -> None:
        with suppress(JournalError):  # the session is over, and its locks with it
            await in_thread(self._locks.release, self._lock(slot))
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
            slot = await in_thread(self._free_slot, frozenset(self._held))
            if slot is None:
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 — no secret
                pause = min(1.5 * pause, _LONGEST_PAUSE_S)
                continue
            pause = _PAUSE_S
            if self._waiting:
                self._held[slot] = asyncio.get_running_loop().time()
                self._waiting.popleft()()
            else:
                await in_thread(self._locks.release, self._lock(slot))

    def _free_slot(self, held: frozenset[int]) -> int | None:
        others = [each for each in range(self._most) if each not in held]
        random.shuffle(others)
        try:
            return next((each for each in others if self._locks.hold(self._lock(each))), None)
        except JournalError:
            return None

    def _lock(self, slot: int) -> str:
        return f"limit {self._name} {slot}"
