"""An event loop with simulated time: it jumps to the next timer, and nothing ever waits.

What tasks do next is chosen by the seed. Other callbacks keep the order that asyncio promises them.
"""

import asyncio
import random
import selectors
from collections import deque
from contextlib import suppress
from typing import Any, Final

_OF_TASKS: Final = ("TaskStepMethWrapper", "TaskWakeupMethWrapper")

LONGEST_S: Final = 100_000.0
"""A run that takes longer hangs."""


class Hang(Exception):
    """Nothing is left that could ever happen, or it takes for ever."""


class Death(KeyboardInterrupt):
    """The process ends here: no callback and no `finally` of it counts any more."""


class Pause(KeyboardInterrupt):
    """The process stands still for a while, without knowing it."""


def pause() -> None:
    """Let the process stand still.

    Raises:
        Pause: always.
    """
    raise Pause


class _Selector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or self.now > LONGEST_S:
            raise Hang(f"at {self.now:.3f} s")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop with simulated time, starting at `start`.

    What is ready is shuffled by `chance`; without it keeps its order.
    """

    _ready: deque[asyncio.Handle]

    def __init__(self, chance: random.Random | None = None, start: float = 0.0) -> None:
        self._virtual = _Selector()
        self._virtual.now = start
        self._chance = chance
        super().__init__(self._virtual)
        self.set_exception_handler(lambda loop, found: None)

    def time(self) -> float:
        """Return the simulated seconds."""
        return self._virtual.now

    def sleep_until(self, moment: float) -> None:
        """Let the time be `moment` at least, without anything having happened."""
        self._virtual.now = max(self._virtual.now, moment)

    def _run_once(self) -> None:
        ready = self._ready
        if self._chance is not None and len(ready) > 1:
            places = [at for at, handle in enumerate(ready) if _is_of_task(handle)]
            handles = [ready[at] for at in places]
            self._chance.shuffle(handles)
            for at, handle in zip(places, handles, strict=True):
                ready[at] = handle
        super()._run_once()  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]

    def abandon(self) -> None:
        """Drop everything, as the end of a process does."""
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # pyright: ignore[reportAttributeAccessIssue]
            with suppress(BaseException):
                task.get_coro().close()  # pyright: ignore[reportUnknownMemberType, reportOptionalMemberAccess]
        self._ready.clear()
        self.close()


def _is_of_task(handle: asyncio.Handle) -> bool:
    callback: object = vars(asyncio.Handle)["_callback"].__get__(handle)
    return type(callback).__name__ in _OF_TASKS
