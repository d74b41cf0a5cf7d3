"""One worker: it takes runs of one toolbox until it is asked to leave."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from toolplan.app.app import App
from toolplan.app.workers import not_shared
from toolplan.base.threads import in_thread
from toolplan.engine import Leaving
from toolplan.storage.journal import JournalError, NotReached
from toolplan_workers.job_runner import JobRunner
from toolplan_workers.queue.dispatch import Dispatch, lock_of
from toolplan_workers.slots import Slots
from toolplan_workers.watch import Watch

DEFAULT_CONCURRENCY: Final = 16
_LOOK_S: Final = 0.4
"""How often a worker looks for dead ones: a run of theirs waits about that long."""
_SILENT_EVERY: Final = 4
"""At each of so many looks it also asks for workers that hang."""
_LOST_EVERY: Final = 75
"""At each of so many looks it puts back runs that have no job."""
_PAUSE_S: Final = 1.0
"""How long it waits before it tries to reach the database again."""

_LOG: Final = logging.getLogger(__name__)


async def work(
    app: App,
    *,
    concurrency: int = DEFAULT_CONCURRENCY,
    everywhere: Mapping[str, int] | None = None,
    leaving: Leaving | None = None,
    on_ready: Callable[[str], None] = lambda queue: None,
) -> None:
    """Take runs for the toolbox of `app` until `leaving` asks this worker to leave.

    Its runs are then left to others. A database that is lost is waited for.

    Args:
        app: an app with a toolbox, and a journal in Postgres.
        concurrency: the most runs at the same time.
        everywhere: the most calls at once over all machines, by the names of tools and sources.
        leaving: asks this worker to leave.
        on_ready: called with the name of the queue when the worker takes runs.

    Raises:
        ToolplanError: the tools are no toolbox.
        JournalError: the journal is not in Postgres, or refuses to be used at the start.
    """
    leaving = Leaving() if leaving is None else leaving
    queue, dispatch = app.workers.queue, await _reached(app, leaving)
    limits = {name: Slots(name, most, dispatch.places) for name, most in (everywhere or {}).items()}
    runner = JobRunner(app, dispatch, queue, leaving, limits)
    life = _Life(dispatch, queue)
    # before it takes anything: who dies between the two would be a worker that is unknown to all
    await in_thread(life.begin)
    await dispatch.queue.open()
    watching = asyncio.create_task(_watch(life, dispatch, runner, [*limits.values()]))
    leaving.on_ask(dispatch.queue.stop)
    try:
        on_ready(queue)
        while not leaving.is_asked:
            try:
                await dispatch.queue.work(
                    queue, runner.work, concurrency, partial(in_thread, life.join)
                )
            except JournalError as error:
                _LOG.warning("%s The worker tries again.", error)
            if not leaving.is_asked:
                await asyncio.sleep(_PAUSE_S)
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        with suppress(JournalError):
            await in_thread(dispatch.leave, life.name)
            await dispatch.queue.close()


def dispatch_for(app: App) -> Dispatch:
    """Return the runs of the app's journal that workers take.

    Raises:
        JournalError: the journal is not in Postgres, or cannot be used.
    """
    runs = app.workers.runs()
    if not isinstance(runs, Dispatch):
        raise not_shared(app.needed_journal())
    return runs


async def _reached(app: App, leaving: Leaving) -> Dispatch:
    """Connect to the journal, retrying while its server cannot be reached."""
    is_told = False
    while True:
        try:
            return await in_thread(dispatch_for, app)
        except NotReached as error:
            if leaving.is_asked:
                raise
            if not is_told:
                _LOG.warning("%s The worker waits for it.", error)
                is_told = True
            await asyncio.sleep(_PAUSE_S)


class _Life:
    """That a worker lives, as the others see it: its lock, and its row."""

    def __init__(self, dispatch: Dispatch, queue: str) -> None:
        self.name = dispatch.journal.owner
        self._dispatch = dispatch
        self.queue = queue
        self._number = ""

    def begin(self) -> None:
        """Take the lock, before anything else is taken.

        Raises:
            JournalError: the database cannot be used.
        """
        locks, name = self._dispatch.journal.locks, lock_of(self.name)
        if not locks.has(name):
            locks.hold(name)  # or later: who looks whether it is free may have it for a moment
            if self._number:
                self.join(self._number)  # others took this worker for dead

    def join(self, number: str) -> None:
        """Note the number of this worker in the queue."""
        self._number = number
        self._dispatch.join(self.name, number, self.queue)


class _Beat:
    """The sign of life of the slots that this worker has, and which of its runs wait for one."""

    def __init__(self, dispatch: Dispatch, limits: Sequence[Slots]) -> None:
        self._places = dispatch.places
        self._limits = limits
        self._known: tuple[object, object] = ([], [])

    async def give(self) -> None:
        """Write it, where there is anything to say.

        Raises:
            JournalError: the database cannot be used.
        """
        held = [each for limit in self._limits for each in limit.held]
        waits = [each for limit in self._limits for each in limit.waits]
        known, self._known = self._known, (held, waits)
        if held or known[0]:
            kept = await in_thread(self._places.keep, held)
            for limit in self._limits:
                limit.kept(held, kept)
        if waits or known[1]:
            await in_thread(self._places.note_waits, waits)


async def _watch(
    life: _Life, dispatch: Dispatch, runner: JobRunner, limits: Sequence[Slots]
) -> None:
    """Look again and again: at this worker's own lock, at cancellations, and at the others."""
    watch, mine, turn = Watch(dispatch, life.name), dispatch.queue.mine, 0
    beat = _Beat(dispatch, limits)
    while True:
        await asyncio.sleep(_LOOK_S)
        turn += 1
        try:
            await in_thread(life.begin)
            await runner.obey_cancellations()
            await watch.look(mine)
            if turn % _SILENT_EVERY == 0:
                await beat.give()
                await watch.look_for_silent(mine)
                await watch.look_for_forgotten(mine)
            if turn % _LOST_EVERY == 0:
                await watch.look_for_lost(life.queue)
        except JournalError as error:
            _LOG.debug("The watch pauses: %s", error)
            await asyncio.sleep(_PAUSE_S)
        except Exception:
            _LOG.exception("The watch over workers failed, and continues.")
            await asyncio.sleep(_PAUSE_S)
