"""One worker: it takes runs of one toolbox until it is asked to leave."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from toolplan.app.app import App
from toolplan.app.workers import not_shared
from toolplan.base.threads import in_thread
from toolplan.engine import Leaving
from toolplan.storage.journal import JournalError, NotReached
from toolplan_workers.job_runner import JobRunner
from toolplan_workers.queue.dispatch import Dispatch
from toolplan_workers.slots import Slots
from toolplan_workers.watch import Watch

DEFAULT_CONCURRENCY: Final = 16
_PAUSE_S: Final = 1.0
"""Seconds that it waits before it tries to reach the database again."""

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
        concurrency: the maximum number of runs at the same time.
        everywhere: the maximum number of calls at once over all machines, by tool or source name.
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
    watch = Watch(dispatch, dispatch.journal.owner, queue, [*limits.values()])
    # before it takes anything: a worker that dies between the two would be unknown to all
    await in_thread(watch.begin)
    await dispatch.queue.open()
    watching = asyncio.create_task(watch.run(runner.obey_cancellations))
    leaving.on_ask(dispatch.queue.stop)
    try:
        on_ready(queue)
        while not leaving.is_asked:
            try:
                joined = partial(in_thread, watch.join)
                await dispatch.queue.work(queue, runner.work, concurrency, joined)
            except JournalError as error:
                _LOG.warning("%s The worker tries again.", error)
            if not leaving.is_asked:
                await asyncio.sleep(_PAUSE_S)
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        with suppress(JournalError):
            await in_thread(dispatch.leave, watch.me)
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
