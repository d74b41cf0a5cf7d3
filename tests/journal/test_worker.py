"""The journal's thread: it does what it is given in order, and ends with its owner."""

import asyncio
import gc
import threading
from pathlib import Path

import pytest

from tests.plans_strategy import execution_plan, scripted_tools
from toolplan import Journal, Plan, Step, run
from toolplan.storage.journal.worker import WriterThread


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

    kept: list[Journal] = []  # one that is closed leaves none, whoever still holds it

    def keep_a_run(at: int) -> None:
        journal = Journal(tmp_path / f"{at}.sqlite")
        tools = scripted_tools()
        plan = execution_plan(Plan((Step("s", next(iter(tools.toolbox))),)), tools.toolbox)
        asyncio.run(run(plan, tools.toolbox, journal=journal))
        if is_closed:
            journal.close()
            kept.append(journal)

    for at in range(3):
        keep_a_run(at)
    gc.collect()
    assert ended(writers() - before)
    assert len(kept) == (3 if is_closed else 0)


def test_what_comes_after_a_stop_waits_for_what_came_before_it() -> None:
    async def test() -> None:
        worker, seen = WriterThread(), list[str]()
        done, let = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def slow() -> None:
            let.wait(10)
            seen.append("first")

        worker.submit(loop, slow, lambda _: None)
        worker.stop()
        worker.submit(loop, lambda: seen.append("second"), lambda _: done.set())
        await asyncio.sleep(0.01)
        let.set()
        await done.wait()
        worker.stop()
        assert seen == ["first", "second"]

    asyncio.run(test())


def test_a_thread_that_failed_starts_with_the_next_work(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        worker, done = WriterThread(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def no_room(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as broken:
            broken.setattr(threading.Thread, "start", no_room)
            with pytest.raises(RuntimeError):
                worker.submit(loop, lambda: None, lambda _: None)
        worker.submit(loop, lambda: None, lambda _: done.set())
        await done.wait()
        worker.stop()

    asyncio.run(test())


def test_work_is_done_and_reported_in_order_and_more_of_it_after_a_stop() -> None:
    async def test() -> None:
        # the thread works while the loop is notified: each has an order, between them there is none
        worked: list[object] = []
        reported: list[type[BaseException] | None] = []
        loop = asyncio.get_running_loop()
        worker, done = WriterThread(), asyncio.Event()

        def fail() -> None:
            worked.append("fails")
            raise OSError("no")

        def report(error: BaseException | None) -> None:
            reported.append(error and type(error))

        def report_last(error: BaseException | None) -> None:
            report(error)
            done.set()

        before = writers()
        for at in range(3):
            worker.submit(loop, lambda at=at: worked.append(at), report)
        worker.submit(loop, fail, report)
        threads = writers() - before
        assert len(threads) == 1
        worker.stop()
        worker.stop()
        assert ended(threads)
        worker.submit(loop, lambda: worked.append("again"), report_last)
        await done.wait()
        worker.stop()
        assert worked == [0, 1, 2, "fails", "again"]
        assert reported == [None, None, None, OSError, None]

    asyncio.run(test())


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
