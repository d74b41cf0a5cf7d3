"""Servers that die: noticed at once, nothing sent twice, the others left alone."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from benchmarks import mcp_ledger
from benchmarks.processes import is_alive, kill_own, process
from tests.sources.mcp.scripts import Scripted, call, called, listed_tool, one_page, text
from toolplan import OutcomeUnknown, Toolbox, approve, compile_plan, run
from toolplan.events import Run, StepState
from toolplan.plan.path import Json
from toolplan.tools.mcp import (
    HttpServer,
    Notice,
    ServerLost,
    ServerStarted,
    StdioServer,
    connected,
    connected_here,
)
from toolplan.tools.mcp._link import StandardError

KINDS = ("kept", "stopped", "never")
SOON_S = 5.0  # far more than it takes, for a machine that is busy


def ledger_server(ledger: Path) -> StdioServer:
    return StdioServer(sys.executable, ("-S", str(Path(mcp_ledger.__file__)), str(ledger)))


@contextmanager
def killing(ledger: Path, kills: int = 1) -> Generator[None, None, None]:
    """Kill the process of each call that comes into the ledger, as soon as it stands there."""
    before = len(mcp_ledger.lines(ledger))
    done = threading.Event()

    def kill() -> None:
        seen = before
        while seen < before + kills and not done.is_set():
            written = mcp_ledger.lines(ledger)
            for line in written[seen:]:
                kill_own(line["pid"])
            seen = len(written)
            time.sleep(0.002)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def ran(tools: Toolbox, steps: str) -> Run:
    plan = compile_plan('{"toolplan": 1, "steps": [' + steps + "]}", tools=tools).plan
    assert plan is not None
    return asyncio.run(run(plan, tools, approval=approve(plan) if plan.effects else None))


def until(is_so: Callable[[], bool]) -> bool:
    """Wait until it is so, at most SOON_S; say whether it is."""
    end = time.monotonic() + SOON_S
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)
    return is_so()


def test_a_call_with_effects_on_a_server_that_dies_is_in_doubt_and_never_sent_again(
    tmp_path: Path,
) -> None:
    ledger = tmp_path / "ledger"
    with connected({"a": ledger_server(ledger)}, trusted=["a"]) as source:
        tools = source.toolbox()
        for n in range(3):
            with killing(ledger):
                found = ran(tools, f'{{"id": "pay", "tool": "charge", "args": {{"n": {n}}}}}')
            assert found.steps["pay"].state is StepState.IN_DOUBT
            error = found.steps["pay"].error
            assert error is not None
            assert "its outcome is unknown" in error.message
    assert [line["n"] for line in mcp_ledger.lines(ledger)] == [0, 1, 2]
    assert len({line["pid"] for line in mcp_ledger.lines(ledger)}) == 3


def test_a_call_that_only_reads_is_tried_again_as_the_plan_says(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    steps = '{"id": "see", "tool": "look", "args": {"n": 1}, "retries": 2}'
    with connected({"a": ledger_server(ledger)}, trusted=["a"]) as source, killing(ledger, kills=3):
        found = ran(source.toolbox(), steps)
    assert found.steps["see"].state is StepState.FAILED
    assert found.steps["see"].attempts == 3
    assert len(mcp_ledger.lines(ledger)) == 3


def test_the_calls_on_other_servers_continue(tmp_path: Path) -> None:
    """A death fails the calls on that server, and no others."""
    ledger = tmp_path / "ledger"
    servers = {"a": ledger_server(ledger), "b": ledger_server(tmp_path / "other")}
    steps = ", ".join(
        [
            '{"id": "die", "tool": "a.look", "args": {"n": 1}}',
            '{"id": "same", "tool": "a.wait", "args": {"n": 1}}',
            *(f'{{"id": "w{n}", "tool": "b.wait", "args": {{"n": {n}}}}}' for n in range(2)),
        ]
    )
    began = time.monotonic()
    with connected(servers, trusted=[*servers]) as source, killing(ledger):
        found = ran(source.toolbox(), steps)
    assert time.monotonic() - began < SOON_S
    states = {name: step.state for name, step in found.steps.items()}
    assert states["die"] is StepState.FAILED
    assert states["w0"] is StepState.SUCCEEDED
    assert states["w1"] is StepState.SUCCEEDED


def test_a_server_that_died_is_started_again_for_the_next_call(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    notices: list[Notice] = []
    with connected({"a": ledger_server(ledger)}, on_event=notices.append) as source:
        tools = source.toolbox()
        with killing(ledger), pytest.raises(OutcomeUnknown):
            call(tools, "a.look", n=1)
        assert call(tools, "a.add", n=1) == {"n": 2}
    kinds = [type(each) for each in notices]
    assert kinds == [ServerStarted, ServerLost, ServerStarted]


def test_a_death_between_calls_costs_no_call(tmp_path: Path) -> None:
    """A call that was not sent is made on the server that is started again, effects or not."""
    ledger = tmp_path / "ledger"
    notices: list[Notice] = []
    with connected({"a": ledger_server(ledger)}, on_event=notices.append) as source:
        tools = source.toolbox()
        assert call(tools, "a.add", n=1) == {"n": 2}
        with killing(ledger), pytest.raises(OutcomeUnknown):
            call(tools, "a.look", n=1)
        assert until(lambda: any(isinstance(each, ServerLost) for each in notices))
        with killing(ledger), pytest.raises(OutcomeUnknown):
            call(tools, "a.charge", n=7)
    assert [line["n"] for line in mcp_ledger.lines(ledger)] == [1, 7]


def test_no_process_is_left_behind(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with connected({"a": ledger_server(ledger)}, timeout_s=1.5) as source:
        with pytest.raises(OutcomeUnknown):
            call(source.toolbox(), "a.look", n=1)
        [line] = mcp_ledger.lines(ledger)
        server = process(line["pid"])
        assert server is not None
    assert not is_alive(server)


async def test_no_process_is_left_behind_by_a_block_that_is_cancelled(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"

    async def wait_for_ever() -> None:
        async with connected_here({"a": ledger_server(ledger)}) as source:
            await called(await source.tools(), "a.look", {"n": 1})

    task = asyncio.create_task(wait_for_ever())
    await asyncio.to_thread(until, lambda: bool(mcp_ledger.lines(ledger)))
    [line] = mcp_ledger.lines(ledger)
    server = process(line["pid"])
    assert server is not None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(server)


def test_a_server_that_does_not_want_to_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that ignores the end of its input, with a child of its own: both are gone."""
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", 0.2)
    monkeypatch.setattr("mcp.client.stdio.FORCE_KILL_TIMEOUT", 0.2)
    stubborn = tmp_path / "stubborn.py"
    stubborn.write_text(
        "import json, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import mcp_ledger, pathlib\n"
        "mcp_ledger.serve_stdio(pathlib.Path(sys.argv[2]))\n"
        "time.sleep(60)\n",
        "utf-8",
    )
    arguments = (str(stubborn), str(Path(mcp_ledger.__file__).parent), str(tmp_path / "ledger"))
    with connected({"a": StdioServer(sys.executable, arguments)}) as source:
        assert call(source.toolbox(), "a.add", n=1) == {"n": 2}
        child = process(int((tmp_path / "pid").read_text()))
        assert child is not None
    assert until(lambda: not is_alive(child))


def test_a_connection_that_is_reset_fails_its_own_call_alone(tmp_path: Path) -> None:
    """HTTP: in the SDK one reset ends every call on the connection."""
    ledger = tmp_path / "ledger"

    async def both(tools: Toolbox) -> tuple[Json | BaseException, Json | BaseException]:
        waiting = asyncio.create_task(called(tools, "h.wait", {"n": 5}))
        await asyncio.sleep(0.1)
        reset = asyncio.create_task(called(tools, "h.charge", {"n": 1}))
        return await asyncio.gather(reset, waiting, return_exceptions=True)

    with (
        mcp_ledger.serve_resets(ledger) as address,
        connected({"h": HttpServer(address)}) as source,
    ):
        tools = source.toolbox()
        reset, waited = asyncio.run(both(tools))
        assert isinstance(reset, OutcomeUnknown)
        assert waited == {"n": 5}
        assert call(tools, "h.add", n=1) == {"n": 2}
        for n in range(5):
            found = ran(tools, f'{{"id": "pay", "tool": "h.charge", "args": {{"n": {n}}}}}')
            assert found.steps["pay"].state is StepState.IN_DOUBT
    assert [line["n"] for line in mcp_ledger.lines(ledger)] == [1, 0, 1, 2, 3, 4]


def test_a_call_that_never_reached_its_server_is_not_in_doubt(tmp_path: Path) -> None:
    with ExitStack() as serving:
        address = serving.enter_context(mcp_ledger.serve_resets(tmp_path / "ledger"))
        with connected({"h": HttpServer(address)}, recheck_s=None) as source:
            tools = source.toolbox()
            assert call(tools, "h.add", n=1) == {"n": 2}
            serving.close()  # nobody listens any more
            found = ran(tools, '{"id": "pay", "tool": "h.charge", "args": {"n": 1}}')
    step = found.steps["pay"]
    assert step.state is StepState.FAILED
    assert step.error is not None
    assert "was not sent" in step.error.message
    assert mcp_ledger.lines(tmp_path / "ledger") == []


def test_the_end_of_what_a_process_wrote_is_reported(tmp_path: Path) -> None:
    script = Scripted(tmp_path, pages=one_page(listed_tool("look")), results={"look": text("x")})
    script.write(stderr="ModuleNotFoundError: No module named 'x'", exit=1)
    notices: list[Notice] = []
    with connected({"it": script.server()}, on_event=notices.append) as source:
        for _ in range(2):
            with pytest.raises(ValueError, match="No module named 'x'"):
                source.toolbox()
    pauses = [each.retry_after_s for each in notices if isinstance(each, ServerLost)]
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[1]


def test_a_long_line_of_standard_error_is_one_line_so_that_no_secret_is_cut() -> None:
    lines: list[str] = []
    stderr = StandardError(lines.append)
    stderr.file.write("began " + "x" * 65_520 + "the-secret" + "x" * 70_000 + " ended\nnext\n")
    stderr.close()
    assert stderr.ending(10).endswith("next")
    assert len(lines) == 2
    assert lines[0].endswith(" ended")
    assert "secret" not in lines[0]


def test_an_idle_process_is_stopped_until_the_next_call_and_no_call_is_cut_off(
    tmp_path: Path,
) -> None:
    for name in KINDS:
        (tmp_path / name).mkdir()
    slow = {"slow": {"sleep": 0.3, **text("done")}, "quick": text("done")}
    pages = one_page(listed_tool("slow"), listed_tool("quick"))
    kept, stopped, never = (Scripted(tmp_path / name, pages=pages, results=slow) for name in KINDS)
    servers = {
        "kept": kept.server(),  # as long as the source says, and it says nothing
        "stopped": stopped.server(idle_s=0.05),
        "never": never.server(idle_s=0),
    }
    events: list[Notice] = []
    with connected(servers, on_event=events.append, idle_s=60.0) as source:
        tools = source.toolbox()
        assert call(tools, "stopped.slow") == "done"

        def has_started_again() -> bool:
            time.sleep(0.1)
            assert [call(tools, f"{name}.quick") for name in servers] == ["done"] * 3
            return len(stopped.sent("initialize")) > 2

        assert until(has_started_again)
    assert [len(each.sent("initialize")) for each in (kept, never)] == [1, 1]
    assert [each for each in events if isinstance(each, ServerLost)] == []
    assert (
        len([each for each in stopped.sent("tools/call") if each["params"]["name"] == "slow"]) == 1
    )
