"""Runs go on while the server of their journal crashes and starts again."""

import asyncio
import threading
import time
from functools import partial

from tests.crash.chains import chain, tools
from tests.postgres import Server
from tests.stores import Tables
from toolplan.engine import resume, run
from toolplan.events import CallIntended, Run
from toolplan.plan.path import Json
from toolplan.policy.approval import approve
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
            ended = asyncio.run(run_all(journal))
        finally:
            over.set()
            crashing.join()
        # A read is refused while the server is away: what was written is read once it is back.
        for name, done in ended.items():
            assert journal.load(name) == done
            intents = [e.step for e in journal.events(name) if isinstance(e, CallIntended)]
            assert intents == [f"s{at}" for at in range(STEPS)]


def crash(server: Server, over: threading.Event) -> None:
    for _ in range(3):
        time.sleep(0.3)
        server.stop("immediate")
        server.start()
        if over.is_set():
            break


async def run_all(journal: Store) -> dict[str, Run]:
    async with asyncio.TaskGroup() as group:
        names = [f"r{at}" for at in range(RUNS)]
        tasks = {name: group.create_task(run_one(journal, name)) for name in names}
    return {name: task.result() for name, task in tasks.items()}


async def run_one(journal: Store, name: str) -> Run:
    """Return the run `name`, ended, after each of its steps was called once, in order."""
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
    return done
