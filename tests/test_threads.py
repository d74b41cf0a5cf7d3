"""Threads of tools: their number, their places, and what hangs in them."""

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from toolplan.base.errors import ToolplanError
from toolplan.base.event_loop import run_bounded
from toolplan.base.threads import (
    MAX_HUNG,
    Threads,
    hung_calls,
    run_in_thread,
    threads_of,
)


async def given_up(function: Callable[[], object], threads: Threads) -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def call() -> None:
        loop.call_soon_threadsafe(begun.set)
        function()

    task = asyncio.ensure_future(run_in_thread(call, threads))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def until_none_hangs(threads: Threads) -> None:
    while threads.hung:
        time.sleep(0.01)


async def test_a_call_that_is_given_up_gives_its_place_back_and_is_counted() -> None:
    threads, release = Threads("shop", 2), threading.Event()
    for _ in range(5):
        await given_up(release.wait, threads)
    assert threads.hung == 5
    assert await run_in_thread(lambda: 7, threads) == 7
    release.set()
    await asyncio.to_thread(until_none_hangs, threads)
    assert await asyncio.gather(*(run_in_thread(lambda: 8, threads) for _ in range(9))) == [8] * 9


async def test_a_call_that_has_not_begun_is_not_made_when_it_is_given_up() -> None:
    threads, release = Threads("shop", 1), threading.Event()
    made: list[int] = []
    first = asyncio.ensure_future(run_in_thread(release.wait, threads))
    second = asyncio.ensure_future(run_in_thread(lambda: made.append(1), threads))
    await asyncio.sleep(0.02)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    release.set()
    await first
    await run_in_thread(lambda: None, threads)
    assert (made, threads.hung) == ([], 0)


async def test_waiting_calls_start_when_others_are_given_up() -> None:
    threads, release = Threads("shop", 1), threading.Event()
    hanging = asyncio.ensure_future(run_in_thread(release.wait, threads))
    waiting = asyncio.ensure_future(run_in_thread(lambda: 7, threads))
    await asyncio.sleep(0.02)
    hanging.cancel()
    assert await waiting == 7
    release.set()


async def test_no_more_calls_are_made_when_too_many_hang() -> None:
    threads = Threads("shop", 1)
    threads.hung = MAX_HUNG
    with pytest.raises(ToolplanError, match=f"{MAX_HUNG} calls of 'shop'") as refused:
        await run_in_thread(lambda: 7, threads)
    assert refused.value.code == "calls-hang"


async def test_hung_calls_are_counted_by_source() -> None:
    release = threading.Event()
    await given_up(release.wait, threads_of("tests of threads"))
    assert hung_calls()["tests of threads"] == 1
    release.set()


def test_a_loop_ends_although_threads_and_tasks_do_not() -> None:
    release = threading.Event()

    async def deaf() -> None:
        while not release.is_set():
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue

    async def test() -> int:
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(deaf()), loop.create_task(asyncio.to_thread(release.wait))]
        await asyncio.sleep(0)
        return len(tasks)

    assert run_bounded(test()) == 2
    release.set()


def test_a_task_that_begins_at_the_end_of_a_loop_is_cancelled_in_it() -> None:
    ended: list[asyncio.Task[None] | None] = []

    async def late() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(asyncio.current_task())

    async def early() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            asyncio.get_running_loop().create_task(late())

    async def test() -> None:
        asyncio.get_running_loop().create_task(early())
        await asyncio.sleep(0)

    run_bounded(test())
    assert len(ended) == 1
