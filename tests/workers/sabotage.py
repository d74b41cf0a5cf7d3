"""Workers that are wrong, each in one way: the harness must find them out."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from toolplan.engine import _runs
from toolplan.engine._recorder import EventRecorder
from toolplan.events import Event
from toolplan.storage.journal import Recovered, store
from toolplan_workers import inbox
from toolplan_workers.inbox import Read
from toolplan_workers.job_runner import JobRunner
from toolplan_workers.queue.dispatch import Dispatch
from toolplan_workers.queue.procrastinate import Job
from toolplan_workers.watch import Watch

NAME: Final = "TOOLPLAN_TEST_SABOTAGE"
"""The variable that names what is wrong with the workers."""


def forget_intents() -> None:
    """Workers do not know what their predecessors were about to do."""
    whole = _runs.recover

    def recover(events: list[Event]) -> Recovered:
        return replace(whole(events), intents={})

    _runs.recover = recover


def end_jobs_first() -> None:
    """Workers report the end of a job when they begin it; nobody looks for runs."""
    whole, tasks = JobRunner.work, set[asyncio.Task[None]]()

    async def work(self: JobRunner, job: Job) -> None:
        tasks.add(asyncio.create_task(whole(self, job)))

    def put_lost(self: Dispatch, queue: str) -> list[str]:
        del self, queue
        return []

    JobRunner.work = work
    Dispatch.put_lost = put_lost


def drop_messages() -> None:
    """Workers answer approvals and decisions, and do not obey them."""
    whole = inbox.read_messages

    def read_messages(messages: Sequence[Any], *others: Any, **named: Any) -> Read:
        read = whole(messages, *others, **named)
        return replace(read, is_approved=False, decisions={}, consents={})

    inbox.read_messages = read_messages


def call_before_the_disk_knows() -> None:
    """Workers do not wait until the intent of a call is written, and write it late."""
    whole = store.add_group

    def add_group(*given: Any, **named: Any) -> None:
        time.sleep(0.3)
        whole(*given, **named)

    async def synced(self: EventRecorder) -> None:
        del self

    EventRecorder.synced = synced
    store.add_group = add_group


def look_at_nobody() -> None:
    """Workers do not see that others are dead; nobody looks for runs."""

    async def nothing(*given: Any) -> None:
        del given

    def put_none(self: Dispatch, queue: str) -> list[str]:
        del self, queue
        return []

    for look in ("look", "look_for_silent", "look_for_forgotten"):
        setattr(Watch, look, nothing)
    Dispatch.put_lost = put_none


SABOTAGES: Final[Mapping[str, Callable[[], None]]] = {
    each.__name__: each
    for each in (
        forget_intents,
        end_jobs_first,
        drop_messages,
        call_before_the_disk_knows,
        look_at_nobody,
    )
}
