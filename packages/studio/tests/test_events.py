"""Events as a page gets them: none is lost and none comes twice."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest

from packages.studio.tests.served import Browser, browsing
from tests.mcp_server.served import READS, SAID, scripted
from toolplan.events import (
    Run,
    RunEnded,
    RunStarted,
    RunState,
    StepProgressed,
    StepStarted,
    StepSucceeded,
    fold,
)
from toolplan.storage.journal import Journal, RunRecord, to_record
from toolplan.testing import Computes, Gives, Hangs
from toolplan_studio._active import ActiveRun, ActiveRuns
from toolplan_studio._routes import run_events
from toolplan_studio._runs import run_view

COUNT = 3_000
NOTHING: Any = {"toolplan": 1, "steps": []}


async def _seen(events: AsyncIterator[Any], until: str) -> list[Any]:
    """Return the journal's events up to one of the kind `until`."""
    found: list[Any] = []
    async with asyncio.timeout(30):
        async for each in events:
            if each.id is None:
                continue
            found.append((int(each.id), json.loads(each.raw_data)))
            if found[-1][1]["kind"] == until:
                break
    return found


async def _followed(browser: Browser, run: str, start: int, until: str) -> list[Any]:
    journal = browser.app.needed_journal()
    async with aclosing(run_events(run, start, journal, ActiveRuns())) as events:
        return await _seen(events, until)


async def test_events_are_those_of_the_journal_from_any_position(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        line = await browser.start(READS)
        ended = await browser.until(line["run"], "succeeded")
        whole = await _followed(browser, line["run"], 0, "run-ended")
        assert [seq for seq, _ in whole] == [*range(ended["seq"])]
        assert [each["kind"] for _, each in whole] == [
            "run-started",
            "step-started",
            "step-succeeded",
            "run-ended",
        ]
        assert all("output" not in each for _, each in whole)
        for start in range(ended["seq"]):
            assert await _followed(browser, line["run"], start, "run-ended") == whole[start:]


async def test_a_burst_of_events_comes_whole_to_all_who_listen(tmp_path: Path) -> None:
    """A run of another process: 1,000 events a second and more, read while they are written."""
    async with browsing(tmp_path) as browser:
        record = RunRecord({"toolplan": 1, "steps": []}, [], {})
        with_ = Journal(tmp_path / "runs.sqlite", owner="another process")
        lease = with_.accept("burst", "0" * 64, record, [RunStarted("burst", "0" * 64, (), 0.0)])
        at = lease.at

        async def write() -> None:
            nonlocal at
            for group in range(COUNT // 50):
                texts = [
                    to_record(StepStarted(f"s{group}-{n}", None, 0.0))
                    if n % 2
                    else to_record(StepSucceeded(f"s{group}-{n}", {"n": n}, 1, None, 0.0))
                    for n in range(50)
                ]
                with_.append(lease, texts, at, sync=False)
                at += 50
                await asyncio.sleep(0)
            end = to_record(RunEnded(RunState.SUCCEEDED, None, 0.0))
            with_.append(lease, [end], at, sync=True, status=RunState.SUCCEEDED)

        early = asyncio.ensure_future(_followed(browser, "burst", 0, "run-ended"))
        late = asyncio.ensure_future(_followed(browser, "burst", 1_000, "run-ended"))
        await write()
        assert [seq for seq, _ in await early] == [*range(COUNT + 2)]
        assert [seq for seq, _ in await late] == [*range(1_000, COUNT + 2)]
        with_.close()


async def test_a_page_catches_up_after_restarts_in_the_middle_of_a_run(tmp_path: Path) -> None:
    plan: Any = {
        "steps": [
            {
                "id": f"s{n}",
                "tool": "people",
                "args": {"team": "red"},
                "after": [f"s{n - 1}"] * (n > 0),
            }
            for n in range(5)
        ]
    }
    seen: list[Any] = []
    run = ""
    for restart in range(5):
        # each server is stopped while it works on the next step; the key of cookies is kept
        tools = scripted(Gives({"data": []}), Hangs())
        async with browsing(tmp_path, tools=tools) as browser:
            if run:
                await browser.decide(run, kind="resume")
            else:
                run = (await browser.start(plan))["run"]
            if restart < 4:
                await tools.started("people", 2)
            else:
                await browser.until(run, "succeeded")
            at = seen[-1][0] + 1 if seen else 0
            journal = browser.app.needed_journal()
            await asyncio.to_thread(journal.wait, run, at, 20.0)
            more = await asyncio.to_thread(journal.tail, run, at)
            async with aclosing(run_events(run, at, journal, ActiveRuns())) as events:
                async for each in events:
                    seen.append((int(each.id or -1), json.loads(each.raw_data or "")))
                    if seen[-1][0] == at + len(more) - 1:
                        break
    async with browsing(tmp_path) as browser:
        ended = await browser.get(f"runs/{run}")
        assert ended["line"]["status"] == "succeeded"
        if seen[-1][0] + 1 < ended["seq"]:
            seen += await _followed(browser, run, seen[-1][0] + 1, "run-ended")
        assert [seq for seq, _ in seen] == [*range(ended["seq"])]
        done = [each["step"] for _, each in seen if each["kind"] == "step-succeeded"]
        assert done == [f"s{n}" for n in range(5)]


@pytest.mark.parametrize("between", ["entry", "events", "record"])
async def test_a_run_is_one_moment_of_the_journal(tmp_path: Path, between: str) -> None:
    """The run ends while the server reads it: its state, its steps and `seq` still fit."""
    async with browsing(tmp_path) as browser:
        journal = Journal(tmp_path / "runs.sqlite", owner="another process")
        start = [RunStarted("r", "0" * 64, ("a",), 0.0)]
        lease = journal.accept("r", "0" * 64, RunRecord(NOTHING, [], {}), start)
        left = [StepStarted("a", None, 1.0), StepSucceeded("a", 1, 1, None, 1.0)]
        more = [*map(to_record, [*left, RunEnded(RunState.SUCCEEDED, None, 2.0)])]
        read = browser.app.needed_journal()
        reading = getattr(read, between)

        def read_then_go_on(run: str) -> Any:
            found = reading(run)
            if more:
                status = RunState.SUCCEEDED
                journal.append(lease, more, lease.at, sync=True, status=status)
                more.clear()
            return found

        setattr(read, between, read_then_go_on)
        first, last = [run_view(browser.app, "r", browser.active) for _ in range(2)]
        for seen in (first, last):
            then = fold(journal.events("r")[: seen.seq])
            assert seen.line.status == then.status.value
            assert seen.steps["a"].state == then.steps["a"].state.value
        assert last.line.status == "succeeded"
        journal.close()


async def test_a_run_that_waits_can_be_decided_while_its_task_ends(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        line = await browser.start(SAID)
        run = line["run"]
        ends = asyncio.Event()
        winding = ActiveRun()
        winding.task = cast("asyncio.Task[Run]", asyncio.ensure_future(ends.wait()))
        browser.active._active[run] = winding  # pyright: ignore[reportPrivateUsage]
        shown = await browser.get(f"runs/{run}")
        assert shown["allowed"] == ["approve", "refuse", "cancel"]
        assert not shown["line"]["active"]
        given = {"kind": "approve", "digest": line["digest"]}
        deciding = asyncio.ensure_future(browser.decide(run, **given))
        await asyncio.sleep(0.05)
        assert not deciding.done()
        del browser.active._active[run]  # pyright: ignore[reportPrivateUsage]
        ends.set()
        await deciding
        await browser.until(run, "succeeded")


async def test_progress_comes_beside_the_journal(tmp_path: Path) -> None:
    async with browsing(
        tmp_path, tools=scripted(Computes(lambda _: {"data": []}, delay_s=0.2))
    ) as browser:
        line = await browser.start(READS)
        active = browser.active
        running = active.get(line["run"])
        assert running is not None
        running.add(StepProgressed("people", 1.0, 2.0, "half", 0.0))
        kinds: list[tuple[str | None, str | None]] = []
        journal = browser.app.needed_journal()
        async with (
            asyncio.timeout(20),
            aclosing(run_events(line["run"], 0, journal, active)) as events,
        ):
            async for each in events:
                kinds.append((each.event, each.id))
                if "run-ended" in (each.raw_data or ""):
                    break
        assert kinds.count(("progress", None)) == 1
