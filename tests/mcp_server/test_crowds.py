"""Clients that take all the places of the server: idle ones leave, and the others are served."""

import asyncio
import socket
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from tests.mcp_server.served import READS, content, scripted
from tests.mcp_server.test_http import TOKEN, connected, listening
from toolplan.mcp_server import _server
from toolplan.mcp_server.http import serving as connection
from toolplan.mcp_server.http.serving import Use, one_to_close
from toolplan.storage.journal import Journal
from toolplan.testing import Gives

HEAD = "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
STARTS = {
    "nothing": "",
    "half a head": "POST /mcp HTTP/1.1\r\nhost: {host}\r\n",
    "half a body": HEAD + "content-length: 1000\r\n\r\n{{",
    "done": "GET /nowhere HTTP/1.1\r\nhost: {host}\r\n\r\n",
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
async def test_idle_connections_give_their_places_to_others(tmp_path: Path, start: str) -> None:
    tools = scripted(Gives({"data": ["ann"]}))
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        async with listening(journal, tools.toolbox) as url, AsyncExitStack() as opened:
            address = httpx2.URL(url)
            for _ in range(200):
                idle = opened.enter_context(socket.socket())
                idle.connect((address.host, address.port))
                idle.sendall(start.format(host=f"{address.host}:{address.port}").encode())
                await asyncio.sleep(0)
            for _ in range(3):
                async with connected(url, "legacy") as client:
                    ran = await client.call_tool("run", {"plan": READS})
                    assert content(ran)["status"] == "succeeded"


async def test_a_connection_that_is_answered_stays(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["ann"]}, delay_s=0.7))
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        async with (
            listening(journal, tools.toolbox) as url,
            connected(url, "legacy") as client,
            AsyncExitStack() as opened,
        ):
            running = asyncio.ensure_future(client.call_tool("run", {"plan": READS}))
            await asyncio.sleep(0.2)
            address = httpx2.URL(url)
            for _ in range(150):
                idle = opened.enter_context(socket.socket())
                idle.connect((address.host, address.port))
                await asyncio.sleep(0)
            assert content(await running)["status"] == "succeeded"


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
SPOKEN = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {TOKEN}"}


async def test_230_sessions_that_are_left_open_keep_no_client_out(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["ann"]}))
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        async with listening(journal, tools.toolbox) as url, httpx2.AsyncClient() as http:
            for _ in range(230):
                opened = await http.post(url, json=INITIALIZE, headers=SPOKEN)
                assert opened.status_code == 200, opened.text
            async with connected(url, "legacy") as client:
                ran = await client.call_tool("run", {"plan": READS})
                assert content(ran)["status"] == "succeeded"


async def test_no_more_sessions_are_opened_than_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_server, "MOST_SESSIONS", 3)
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        async with listening(journal, scripted().toolbox) as url, httpx2.AsyncClient() as http:
            for status in (200, 200, 200, 503):
                opened = await http.post(url, json=INITIALIZE, headers=SPOKEN)
                assert opened.status_code == status
            async with connected(url, "auto") as client:  # has no session
                assert (await client.list_tools()).tools


@pytest.mark.parametrize("bound", ["MOST", "MOST_OF_PEER"])
async def test_connections_are_bounded_of_all_peers_and_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(connection, bound, 3)
    with closing(Journal(tmp_path / "runs.sqlite")) as journal:
        async with listening(journal, scripted().toolbox) as url:
            address = httpx2.URL(url)
            opened = [await asyncio.open_connection(address.host, address.port) for _ in range(4)]
            assert await asyncio.wait_for(opened[0][0].read(), 10) == b""
            assert not any(reader.at_eof() for reader, _ in opened[1:])
            for _, writer in opened:
                writer.close()


class _Place(NamedTuple):
    peer: str
    since: float
    use: Use


def test_who_leaves_is_idle_first_then_oldest_and_of_the_peer_that_has_the_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MOST_OF_PEER", 4)
    closed: Any = one_to_close
    many = [_Place("evil", at, Use.IDLE) for at in (3.0, 1.0, 2.0)]
    own = _Place("me", 0.0, Use.IDLE)
    assert closed([*many, own, own], "me") == many[1]
    uses = [_Place("evil", at, use) for at, use in enumerate((Use.BUSY, Use.LISTENING, Use.IDLE))]
    for left in (2, 1):
        assert closed(uses, "evil") == uses[left]
        uses.pop()
    assert closed(uses, "evil") is None
