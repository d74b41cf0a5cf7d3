"""Runs go on while the server of their journal crashes and starts again."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial

from tests.crash.chains import chain, tools
from tests.postgres import Server
from tests.stores import Tables
from toolplan.approval import approve
from toolplan.engines import resume, run
from toolplan.events import CallIntended, Run
from toolplan.path import Json
from toolplan.storage.journal import JournalError, Store

RUNS = 10
STEPS = 12


def test_a_crash_of_the_server_loses_nothing_and_repeats_nothing(postgres: Server) -> None:
    tables = Tables(postgres)
    with tables.opened:
        journal = tables.open()
        over = threading.Event()
        crashing = threading.Thread(target=crash, args=(postgres, over))
        crashing.start()
        try:
            asyncio.run(run_all(journal))
        finally:
            over.set()
            crashing.join()


def crash(server: Server, over: threading.Event) -> None:
    for _ in range(3):
        time.sleep(0.3)
        server.stop("immediate")
        server.start()
        if over.is_set():
            break


async def run_all(journal: Store) -> None:
    async with asyncio.TaskGroup() as group:
        for at in range(RUNS):
            group.create_task(run_one(journal, f"r{at}"))


async def run_one(journal: Store, name: str) -> None:
    calls: list[Json] = []
    box = tools(calls, pause_s=0.05, times=1)
    plan = chain(box, STEPS)
    approval = approve(plan)
    start = partial(run, plan, box, run_id=name)
    done: Run | None = None
    while done is None:
        code = ""
        try:
            done = await start(journal=journal, approval=approval)
        except JournalError as error:
            code = error.code
        if code:  # a run that could not be accepted made no call; it may be written all the same
            assert not calls
            assert code in ("journal-unavailable", "journal-locked", "run-exists")
            if code == "run-exists":
                start = partial(resume, plan, box, name)
            await asyncio.sleep(0.1)
    assert done.succeeded
    assert calls == [*range(STEPS)]
    assert await asyncio.to_thread(journal.load, name) == done
    events = await asyncio.to_thread(journal.events, name)
    intents = [event.step for event in events if isinstance(event, CallIntended)]
    assert intents == [f"s{at}" for at in range(STEPS)]
