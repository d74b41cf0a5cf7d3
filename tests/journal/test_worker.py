"""The journal's thread: it does what it is given in order, and ends with its owner."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path

import pytest

from tests.plans_strategy import execution_plan, scripted_tools
from toolplan.engines import run
from toolplan.journal import Journal
from toolplan.journal._worker import WriterThread
from toolplan.plan import Plan, Step


def writers() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "toolplan-journal"}


def ended(threads: set[threading.Thread]) -> bool:
    for each in threads:
        each.join(timeout=10)
    return not any(each.is_alive() for each in threads)


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_journal_that_is_closed_or_forgotten_leaves_no_thread(
    tmp_path: Path, is_closed: bool
) -> None:
    before = writers()

    def keep_a_run(at: int) -> None:
        journal = Journal(tmp_path / f"{at}.sqlite")
        tools = scripted_tools()
        plan = execution_plan(Plan((Step("s", next(iter(tools.toolbox))),)), tools.toolbox)
        asyncio.run(run(plan, tools.toolbox, journal=journal))
        if is_closed:
            journal.close()

    for at in range(3):
        keep_a_run(at)
    gc.collect()
    assert ended(writers() - before)


def test_work_is_done_in_order_and_more_of_it_after_a_stop() -> None:
    async def test() -> list[object]:
        seen: list[object] = []
        loop = asyncio.get_running_loop()
        worker = WriterThread()

        def fail() -> None:
            raise OSError("no")

        before = writers()
        for at in range(3):
            worker.submit(loop, lambda at=at: seen.append(at), seen.append)
        worker.submit(loop, fail, lambda error: seen.append(type(error)))
        threads = writers() - before
        assert len(threads) == 1
        worker.stop()
        worker.stop()
        assert ended(threads)
        done = asyncio.Event()
        worker.submit(loop, lambda: seen.append("again"), lambda _: done.set())
        await done.wait()
        worker.stop()
        return seen

    seen = asyncio.run(test())
    assert [each for each in seen if each is not None] == [0, 1, 2, OSError, "again"]
    assert seen.count(None) == 3


def test_what_was_submitted_is_done_before_the_thread_of_a_forgotten_one_ends() -> None:
    async def test() -> None:
        done = asyncio.Event()
        started = threading.Event()
        seen: list[str] = []

        def first() -> None:
            started.wait(10)
            seen.append("first")

        worker = WriterThread()
        worker.submit(asyncio.get_running_loop(), first, lambda _: None)
        worker.submit(
            asyncio.get_running_loop(), lambda: seen.append("second"), lambda _: done.set()
        )
        del worker
        gc.collect()
        started.set()
        await done.wait()
        assert seen == ["first", "second"]

    asyncio.run(test())
