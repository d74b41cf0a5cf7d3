"""Runs continue when nobody watches them, and are cancelled and resumed by anyone who may."""

import asyncio
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.types import CancelledNotification, CancelledNotificationParams

from tests.mcp_server.served import READS, SAID, Served, content, scripted, serving
from toolplan.events import RunState
from toolplan.mcp_server._runs import MOST_RUNS, Backend
from toolplan.plan.path import Json
from toolplan.testing import Gives, Hangs, ScriptedTools

TWO: Json = {
    "toolplan": 1,
    "steps": [
        {"id": "first", "tool": "people", "args": {"team": "red"}},
        {"id": "second", "tool": "people", "args": {"team": "${first.data[0]}"}},
    ],
}


def held() -> tuple[ScriptedTools, asyncio.Event]:
    """Return tools whose second call waits until the event is set."""
    free = asyncio.Event()
    return scripted(Gives({"data": ["ann"]}), Gives({"data": ["bob"]}, until=free)), free


async def over(served: Served, run: str) -> RunState:
    async with served.runs:
        pass  # leaving them waits for what is under way
    return served.journal.load(run).status


def only_run(served: Served) -> str:
    (entry,) = served.journal.runs()
    return entry.run


async def test_a_client_that_leaves_does_not_stop_its_run(tmp_path: Path) -> None:
    """H28."""
    tools, free = held()
    async with serving(tmp_path, tools.toolbox) as served:
        async with Client(served.server) as client:
            asking = asyncio.create_task(client.call_tool("run", {"plan": TWO}))
            await tools.started("people", 2)
            asking.cancel()
            await asyncio.wait({asking})
        assert tools.running == 1
        free.set()
        assert await over(served, only_run(served)) is RunState.SUCCEEDED


async def test_a_run_can_be_watched_later_where_a_client_waits_only_so_long(tmp_path: Path) -> None:
    tools, free = held()
    async with serving(tmp_path, tools.toolbox) as served:
        begun = await served.call("run", plan=TWO, wait_s=0.1)
        assert begun["status"] == "running"
        assert "runs" in begun["help"]
        free.set()
        ended = await served.call("runs", run=begun["run"][:10], action="resume")
        assert ended["run"] == begun["run"][:8]
        assert ended["status"] == "succeeded"
        assert len(tools.calls) == 2


async def test_a_cancelled_request_cancels_its_run_which_can_be_resumed(tmp_path: Path) -> None:
    """What is over is not done again."""
    tools, free = held()
    async with (
        serving(tmp_path, tools.toolbox) as served,
        Client(served.server, mode="legacy") as client,
    ):
        asking = asyncio.create_task(client.call_tool("run", {"plan": TWO}))
        await tools.started("people", 2)
        asking.cancel()  # the SDK notifies the server
        await asyncio.wait({asking})
        run = only_run(served)
        assert await over(served, run) is RunState.CANCELLED
        assert tools.cancelled == ["people"]
        stands = content(await client.call_tool("runs", {"run": run}))
        assert stands["steps"]["second"]["state"] == "cancelled"
        assert "resume" in stands["help"]
        free.set()
        ended = content(await client.call_tool("runs", {"run": run, "action": "resume"}))
        assert ended["status"] == "succeeded"
    assert len(tools.calls) == 3


async def test_a_resumed_run_is_reported_whole_not_from_where_it_resumes(tmp_path: Path) -> None:
    reported: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total))

    tools, free = held()
    async with serving(tmp_path, tools.toolbox) as served:
        begun = await served.call("run", plan=TWO, wait_s=0)
        await tools.started("people", 2)
        served.runs.stop()
        assert await over(served, begun["run"]) is RunState.CANCELLED
        stands = await served.call("runs", run=begun["run"], action="resume", wait_s=0)
        assert (stands["run"], stands["status"]) == (begun["run"], "running")
        assert "first" not in stands["steps"]
        free.set()
        async with Client(served.server) as client:
            run = {"run": begun["run"], "action": "resume"}
            ended = await client.call_tool("runs", run, progress_callback=hear)
            assert content(ended)["status"] == "succeeded"
    assert reported[-1] == (2.0, 2.0)


async def test_a_client_cancels_a_run_by_its_name(tmp_path: Path) -> None:
    tools, free = held()
    async with serving(tmp_path, tools.toolbox) as served:
        begun = await served.call("run", plan=TWO, wait_s=0)
        await tools.started("people", 2)
        stopped = await served.call("runs", run=begun["run"][:8], action="cancel")
        assert (stopped["run"], stopped["status"]) == (begun["run"], "cancelled")
        over = await served.refused("runs", run=begun["run"], action="cancel")
        assert over["error"]["code"] == "run-over"
        free.set()
        ended = await served.call("runs", run=begun["run"], action="resume")
        assert ended["status"] == "succeeded"


async def test_a_run_that_waits_is_cancelled_by_any_server(tmp_path: Path) -> None:
    tools = scripted()
    async with serving(tmp_path, tools.toolbox) as one, serving(tmp_path, tools.toolbox) as other:
        waiting = (await one.refused("run", plan=SAID))["run"]
        assert (await other.call("runs", run=waiting, action="cancel"))["status"] == "cancelled"
        assert (await one.refused("run", plan=SAID))["run"] != waiting
    assert tools.calls == []


async def test_two_who_resume_one_run_at_once_watch_the_same(tmp_path: Path) -> None:
    tools, free = held()
    async with serving(tmp_path, tools.toolbox) as served:
        begun = await served.call("run", plan=TWO, wait_s=0)
        await tools.started("people", 2)
        served.runs.stop()
        assert await over(served, begun["run"]) is RunState.CANCELLED
        free.set()
        ended = await asyncio.gather(
            *(served.call("runs", run=begun["run"], action="resume") for _ in range(5))
        )
        assert [each["status"] for each in ended] == ["succeeded"] * 5
    assert len(tools.calls) == 3


async def test_one_client_cannot_cancel_the_run_of_another_by_its_number(tmp_path: Path) -> None:
    tools, free = held()
    async with (
        serving(tmp_path, tools.toolbox) as served,
        Client(served.server, mode="legacy") as one,
        Client(served.server, mode="legacy") as other,
    ):
        running = asyncio.create_task(one.call_tool("run", {"plan": TWO}))
        await tools.started("people", 2)
        for number in range(20):
            params = CancelledNotificationParams(request_id=number)
            await other.session.send_notification(CancelledNotification(params=params))
        await other.list_tools()
        free.set()
        assert content(await running)["status"] == "succeeded"


async def test_who_only_watches_a_run_does_not_cancel_it(tmp_path: Path) -> None:
    tools, free = held()
    async with (
        serving(tmp_path, tools.toolbox) as served,
        Client(served.server, mode="legacy") as one,
        Client(served.server, mode="legacy") as other,
    ):
        begun = content(await one.call_tool("run", {"plan": TWO, "wait_s": 0}))
        await tools.started("people", 2)
        with anyio.move_on_after(0.2):
            await other.call_tool("runs", {"run": begun["run"], "action": "resume"})
        await other.list_tools()
        assert tools.running == 1
        free.set()
        assert await over(served, begun["run"]) is RunState.SUCCEEDED


async def test_a_request_that_is_answered_cancels_nothing_any_more(tmp_path: Path) -> None:
    tools, free = held()
    async with (
        serving(tmp_path, tools.toolbox) as served,
        Client(served.server, mode="legacy") as client,
    ):
        begun = content(await client.call_tool("run", {"plan": TWO, "wait_s": 0}))
        for number in range(10):
            params = CancelledNotificationParams(request_id=number)
            await client.session.send_notification(CancelledNotification(params=params))
        await client.list_tools()
        free.set()
        assert await over(served, begun["run"]) is RunState.SUCCEEDED


async def test_a_run_that_is_over_is_shown_as_it_is_and_not_made_again(tmp_path: Path) -> None:
    tools = scripted()
    async with serving(tmp_path, tools.toolbox) as served:
        ran = await served.call("run", plan=READS)
        again = await served.call("runs", run=ran["run"], action="resume")
        assert again["status"] == "succeeded"
        assert again["output"] == ran["output"]
    assert len(tools.calls) == 1


async def test_too_many_runs_at_once_are_refused(tmp_path: Path) -> None:
    """H22."""
    free = asyncio.Event()
    async with serving(tmp_path, scripted(Hangs(until=free)).toolbox) as served:
        for _ in range(MOST_RUNS):
            await served.call("run", plan=READS, wait_s=0)
        result = await served.refused("run", plan=READS)
        assert result["error"]["code"] == "busy"
        free.set()


async def test_a_server_that_is_stopped_leaves_runs_that_can_be_resumed(tmp_path: Path) -> None:
    tools, _ = held()
    async with serving(tmp_path, tools.toolbox) as served:
        begun = await served.call("run", plan=TWO, wait_s=0)
        await tools.started("people", 2)
        served.runs.stop()
    async with serving(tmp_path, scripted().toolbox) as served:
        stands = await served.call("runs", run=begun["run"])
        assert stands["status"] == "cancelled"
        ended = await served.call("runs", run=begun["run"], action="resume")
        assert ended["status"] == "succeeded"


async def test_leaving_by_an_error_cancels_what_is_under_way(tmp_path: Path) -> None:
    class Bug(Exception):
        pass

    async def _broken(runs: Backend, served: Served) -> None:
        async with runs:
            await served.call("run", plan=TWO, wait_s=0)
            raise Bug

    tools, _ = held()
    async with serving(tmp_path, tools.toolbox) as served:
        with pytest.raises(Bug):
            await _broken(served.runs, served)
        assert served.journal.runs()[0].status is RunState.CANCELLED
