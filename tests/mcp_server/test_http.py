"""The server over HTTP on loopback, with a client of the SDK and with bare requests."""

import asyncio
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.mcp_server.served import READS, WRITES, Era, content, error, scripted, text
from toolplan import App, Journal, Toolbox, ToolplanError
from toolplan.events import RunState
from toolplan.mcp_server import CannotServe, http_token, serve
from toolplan.testing import Gives, ScriptedPlanner

TOKEN = "0123456789abcdef-secret"

CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "run",
        "arguments": {"plan": READS},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}
SPOKEN = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "run",
    "accept": "application/json, text/event-stream",
    "authorization": f"Bearer {TOKEN}",
}


@asynccontextmanager
async def listening(
    journal: Journal, toolbox: Toolbox, token: str | None = TOKEN
) -> AsyncGenerator[str]:
    """Yield the URL of a server that runs in this process."""
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve(
            App(toolbox, ScriptedPlanner("{}"), journal=journal),
            transport="http",
            port=0,
            token=token,
            on_ready=ready.set_result,
        )
    )
    try:
        yield await ready
    finally:
        serving.cancel()
        await asyncio.wait({serving})


@asynccontextmanager
async def connected(url: str, mode: Era, token: str | None = TOKEN) -> AsyncGenerator[Client]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def asking(folder: Path, token: str | None = TOKEN) -> AsyncGenerator[tuple[str, Any]]:
    """Yield the URL of a server, and a client of HTTP without any headers of its own."""
    with closing(Journal(folder / "runs.sqlite")) as journal:
        async with (
            listening(journal, scripted().toolbox, token) as url,
            httpx2.AsyncClient(timeout=20) as http,
        ):
            yield url, http


async def test_a_foreign_client_runs_plans_and_is_refused_effects(tmp_path: Path, era: Era) -> None:
    tools = scripted()
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        async with (
            listening(journal, tools.toolbox, TOKEN) as url,
            connected(url, era, TOKEN) as client,
        ):
            assert len((await client.list_tools()).tools) == 3
            found = await client.call_tool("search", {"query": "people"})
            assert text(found).startswith("people(team: str)")
            checked = await client.call_tool("run", {"plan": READS, "only_check": True})
            assert content(checked)["runnable"]
            one = await client.call_tool("run", {"tool": "people", "args": {"team": "red"}})
            assert content(one) == {"data": ["ann", "bob"]}
            reported: list[float] = []

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                reported.append(progress)

            ran = await client.call_tool("run", {"plan": READS}, progress_callback=hear)
            assert content(ran)["status"] == "succeeded"
            assert reported[-1] == 1.0
            refused = error(await client.call_tool("run", {"plan": WRITES}))
            assert refused["error"]["code"] == "approval-required"
    assert [call.tool for call in tools.calls] == ["people", "people"]


def wait_for_the_end(journal: Journal) -> None:
    while journal.runs()[0].status is RunState.RUNNING:
        time.sleep(0.01)


async def test_a_client_that_leaves_does_not_stop_its_run(tmp_path: Path) -> None:
    """H28: over HTTP a request ends with its connection, and the run does not."""

    async def left(url: str) -> None:
        async with httpx2.AsyncClient(timeout=30) as http:
            await http.post(url, json=CALL, headers=SPOKEN)

    free = asyncio.Event()
    tools = scripted(Gives({"data": ["ann"]}, until=free))
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        async with listening(journal, tools.toolbox) as url:
            leaving = asyncio.create_task(left(url))
            await tools.started("people")
            leaving.cancel()
            await asyncio.wait({leaving})
            await asyncio.sleep(0.1)
            assert tools.running == 1
            free.set()
            await tools.idle()
            await asyncio.to_thread(wait_for_the_end, journal)
        (entry,) = journal.runs()
        assert entry.status is RunState.SUCCEEDED
        assert tools.cancelled == []


async def test_in_a_session_a_cancelled_request_cancels_its_run(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["ann"]}, until=asyncio.Event()))
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        async with listening(journal, tools.toolbox) as url, connected(url, "legacy") as client:
            running = asyncio.create_task(client.call_tool("run", {"plan": READS}))
            await tools.started("people")
            running.cancel()  # the SDK notifies the server
            await asyncio.wait({running})
            await tools.idle()
        assert tools.cancelled == ["people"]
        assert journal.runs()[0].status is RunState.CANCELLED


async def test_a_server_that_is_stopped_leaves_runs_that_can_be_resumed(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["ann"]}, until=asyncio.Event()))
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        async with listening(journal, tools.toolbox) as url, connected(url, "auto") as client:
            begun = content(await client.call_tool("run", {"plan": READS, "wait_s": 0}))
            await tools.started("people")
        assert journal.load(begun["run"]).status is RunState.CANCELLED


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, 200),
        ({"authorization": ""}, 401),
        ({"authorization": f"Bearer {TOKEN}x"}, 401),
        ({"host": "evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-encoding": "gzip"}, 415),
    ],
)
async def test_a_bare_request_is_answered_by_what_it_is(
    tmp_path: Path, change: dict[str, str], status: int
) -> None:
    """H01 to H07, H11."""
    async with asking(tmp_path) as (url, http):
        answer = await http.post(url, json=CALL, headers={**SPOKEN, **change})
    assert answer.status_code == status
    assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_what_is_no_json_is_no_request(tmp_path: Path) -> None:
    """H12, H13."""
    async with asking(tmp_path) as (url, http):
        known = {"authorization": f"Bearer {TOKEN}"}
        headers = {**SPOKEN, "content-type": "application/json"}
        answers = [
            await http.post(url, content=b"{nonsense", headers=headers),
            await http.post(url, content=b"[" * 100_000, headers=headers),
            await http.post(url.replace("/mcp", "/other"), json={}, headers=known),
            await http.put(url, json={}, headers=known),
            await http.post(url, content=b"x" * 5_000_000, headers=headers),
        ]
    assert [answer.status_code for answer in answers] == [400, 400, 404, 405, 413]


async def test_sessions_batches_and_versions_that_are_not_the_servers_own_are_refused(
    tmp_path: Path,
) -> None:
    """H27: a foreign session id, one without the token, a batch of 100,000, an invented version."""
    known = {"authorization": f"Bearer {TOKEN}", "accept": SPOKEN["accept"]}
    session = {"mcp-session-id": "0" * 32, "mcp-protocol-version": "2025-11-25"}
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with asking(tmp_path) as (url, http):
        answers = [
            await http.post(url, json=listing, headers={**known, **session}),
            await http.post(url, json=listing, headers=session),
            await http.post(url, json=[listing] * 60_000, headers=known),
            await http.post(
                url, json=CALL, headers={**known, **SPOKEN, "mcp-protocol-version": "9"}
            ),
        ]
    assert [answer.status_code for answer in answers] == [404, 401, 400, 400]


def said(url: str, *parts: bytes, pause_s: float = 0.0) -> bytes:
    """Send bytes over a bare connection, and give the first line of what comes back."""
    port = int(url.rpartition(":")[2].partition("/")[0])
    with closing(socket.create_connection(("127.0.0.1", port), timeout=10)) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause_s)
        return connection.recv(4_096).partition(b"\r\n")[0]


START = (
    b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    b"authorization: Bearer " + TOKEN.encode() + b"\r\n"
)


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ([START + b"x: " + b"y" * 100_000 + b"\r\n\r\n"], b"HTTP/1.1 4"),
        ([START + b"x: y\rz\r\n\r\n"], b"HTTP/1.1 400"),
        ([START + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"], b"HTTP/1.1 4"),
        ([START + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}"], b"HTTP/1.1 400"),
        ([b"GET / HTTP/9.9\r\n\r\n"], b"HTTP/1.1 4"),
        ([b"\x16\x03\x01\x02\x00"], b"HTTP/1.1 4"),
    ],
)
async def test_requests_that_are_not_clear_are_refused(
    tmp_path: Path, parts: list[bytes], line: bytes
) -> None:
    """H23, H24."""
    async with asking(tmp_path) as (url, _):
        assert (await asyncio.to_thread(said, url, *parts)).startswith(line)


@pytest.mark.parametrize("parts", [[b""], [b"POST /mc"], [START, b"x"]])
async def test_headers_that_do_not_come_are_given_up(
    tmp_path: Path, parts: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """H10."""
    monkeypatch.setattr("toolplan.mcp_server.http.serving.HEADERS_S", 0.1)
    async with asking(tmp_path) as (url, _):
        line = await asyncio.to_thread(said, url, *parts, pause_s=0.05)
    assert line == b"HTTP/1.1 408 Request Timeout"


async def test_a_connection_in_use_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolplan.mcp_server.http.serving.HEADERS_S", 0.4)
    tools = scripted(Gives({"data": ["ann"]}, delay_s=0.6))
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        async with listening(journal, tools.toolbox) as url, connected(url, "legacy") as client:
            for _ in range(2):
                ran = await client.call_tool("run", {"plan": READS})
                assert content(ran)["status"] == "succeeded"


async def test_an_address_that_is_taken_or_not_there_is_reported(tmp_path: Path) -> None:
    """C08."""
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as taken,
        closing(Journal(tmp_path / "runs.sqlite")) as journal,
    ):
        app = App(scripted().toolbox, ScriptedPlanner("{}"), journal=journal)
        with pytest.raises(CannotServe) as caught:
            await serve(app, transport="http", port=taken.getsockname()[1], token=TOKEN)
        assert (caught.value.code, bool(caught.value.help)) == ("port-in-use", True)
        with pytest.raises(CannotServe):
            await serve(app, transport="http", host="192.0.2.1", token=TOKEN)


@pytest.mark.parametrize("kind", ["POST", "GET", "DELETE", "a stream of a session"])
@pytest.mark.parametrize(
    ("given", "status"), [(None, 401), ("Bearer wrong", 401), ("Basic eDp5", 401), ("right", 0)]
)
async def test_a_server_without_a_token_of_its_own_keeps_one_that_each_request_needs(
    kind: str, given: str | None, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLPLAN_HOME", str(tmp_path / "home"))
    async with asking(tmp_path, None) as (url, http):
        file = tmp_path / "home" / "mcp.token"
        assert file.stat().st_mode & 0o777 == 0o600
        token = f"Bearer {file.read_text()}" if given == "right" else given
        headers = {key: each for key, each in SPOKEN.items() if key != "authorization"}
        headers |= {} if token is None else {"authorization": token}
        headers |= {"mcp-session-id": "x"} if "session" in kind else {}
        method = "GET" if "stream" in kind else kind
        body = CALL if kind == "POST" else None
        found = (await http.request(method, url, headers=headers, json=body)).status_code
    assert found == status or (status == 0 and found not in (401, 403))


def test_the_token_stays_the_same_and_others_may_not_read_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLPLAN_HOME", str(tmp_path))
    token, file, is_new = http_token()
    assert is_new
    assert http_token() == (token, file, False)
    file.chmod(0o644)
    with pytest.raises(ToolplanError, match="can be read by others"):
        http_token()
