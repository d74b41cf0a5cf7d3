"""Workers that are wrong, each in one way: the harness must find them out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from toolplan.engines import _runs
from toolplan.events import Event
from toolplan.storage.journal import Recovered
from toolplan.storage.queue import Dispatch, Job
from toolplan.workers import _job_runner
from toolplan.workers._inbox import Read
from toolplan.workers._job_runner import JobRunner

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
    whole = _job_runner.read_messages

    def read_messages(messages: Sequence[Any], *others: Any, **named: Any) -> Read:
        read = whole(messages, *others, **named)
        return read._replace(is_approved=False, decisions={}, consents={})

    _job_runner.read_messages = read_messages


SABOTAGES: Final[Mapping[str, Callable[[], None]]] = {
    each.__name__: each for each in (forget_intents, end_jobs_first, drop_messages)
}
