"""HTTP under a connection: what fails, fails alone, and says what it was."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp.server import MCPServer

from tests.sources.mcp.http_scripts import BREAKS, JSON_TYPE, Answer, Answers, replied, served
from tests.sources.mcp.scripts import call, text
from toolplan.schema.tool import OutcomeUnknown, Toolbox, ToolError, ToolObjectError
from toolplan.tools.mcp import HttpServer, Notice, ServerStarted, connected
from toolplan.tools.mcp._http import FailuresAsAnswers
from toolplan.tools.mcp._wire import DELIVERY, Delivery

SECRET = "s3cret-in-a-header"


async def answered(
    handle: Callable[[httpx2.Request], httpx2.Response], **headers: str
) -> tuple[httpx2.Response, bool, bool]:
    """Send a request; give the answer, whether the call may have been made, and session loss."""
    lost: list[bool] = []

    delivery = Delivery(begun=True)
    DELIVERY.set(delivery)
    transport = FailuresAsAnswers(httpx2.MockTransport(handle), lambda: lost.append(True))
    async with httpx2.AsyncClient(transport=transport) as client:
        response = await client.post("http://h/mcp", json={}, headers=headers)
    return response, delivery.begun, bool(lost)


def raising(error: Exception) -> Callable[[httpx2.Request], httpx2.Response]:
    def handle(_request: httpx2.Request) -> httpx2.Response:
        raise error

    return handle


@pytest.mark.parametrize(
    ("error", "may_be_made"),
    [
        (httpx2.ConnectError(SECRET), False),
        (httpx2.ConnectTimeout(SECRET), False),
        (httpx2.PoolTimeout(SECRET), False),
        (httpx2.ReadError(SECRET), True),
        (httpx2.WriteError(SECRET), True),
        (httpx2.RemoteProtocolError(SECRET), True),
    ],
)
async def test_an_error_of_the_network_is_an_answer(error: Exception, may_be_made: bool) -> None:
    response, begun, _ = await answered(raising(error))
    assert response.json()["error"]["code"] == -32000
    assert begun is may_be_made
    assert SECRET not in response.text


async def test_a_session_that_is_gone_is_a_call_that_was_not_made() -> None:
    def gone(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(404, stream=httpx2.ByteStream(b""))

    _, begun, lost = await answered(gone, **{"mcp-session-id": "x"})
    assert (begun, lost) == (False, True)
    _, begun, lost = await answered(gone)
    assert (begun, lost) == (True, False)


class Service(Answers):
    """A server with sessions, which it can forget; it counts its calls."""

    def __init__(self) -> None:
        super().__init__(self._paid)
        self.sessions = 0
        self.calls: list[int] = []
        self.status = 200
        self.breaks_streams = False

    def to(self, request: dict[str, Any], session: str | None) -> Answer:
        method = request["method"]
        if method == "initialize":
            self.sessions += 1
            self.session = f"session-{self.sessions}"
        elif method == "server/discover" or session != self.session:
            return 404, JSON_TYPE, b""
        if self.status != 200:
            return self.status, JSON_TYPE, b""
        return super().to(request, session)

    def _paid(self, request: dict[str, Any]) -> Answer:
        self.calls.append(request["params"]["arguments"]["n"])
        return BREAKS if self.breaks_streams else replied(request, text("paid"))


def test_a_call_is_made_in_a_new_session_where_the_old_one_was_forgotten() -> None:
    service = Service()
    notices: list[Notice] = []
    with (
        served(service) as address,
        connected({"h": HttpServer(address)}, on_event=notices.append) as source,
    ):
        tools = source.toolbox()
        assert call(tools, "h.pay", n=1) == "paid"
        service.session = "forgotten"
        assert call(tools, "h.pay", n=2) == "paid"
    assert service.calls == [1, 2]
    assert [each.starts for each in notices if isinstance(each, ServerStarted)] == [1, 2]


@contextmanager
def service_of_tools() -> Generator[tuple[Service, Toolbox], None, None]:
    service = Service()
    with served(service) as address, connected({"h": HttpServer(address)}) as source:
        yield service, source.toolbox()


def test_a_failing_server_leaves_a_call_in_doubt_and_a_refusing_one_does_not() -> None:
    with service_of_tools() as (service, tools):
        service.status = 500
        with pytest.raises(OutcomeUnknown, match="HTTP 500"):
            call(tools, "h.pay", n=1)
        service.status = 200
        assert call(tools, "h.pay", n=2) == "paid"
        service.status = 403
        with pytest.raises(ToolError, match="Forbidden") as raised:
            call(tools, "h.pay", n=3)
    assert not isinstance(raised.value, OutcomeUnknown)
    assert service.calls == [2]


def test_a_stream_that_breaks_off_leaves_its_call_in_doubt_and_sends_nothing_twice() -> None:
    with service_of_tools() as (service, tools):
        service.breaks_streams = True
        with pytest.raises(OutcomeUnknown, match="its outcome is unknown"):
            call(tools, "h.pay", n=1)
        service.breaks_streams = False
        assert call(tools, "h.pay", n=2) == "paid"
    assert service.calls == [1, 2]


def test_headers_are_sent_and_not_reported() -> None:
    service = Service()
    service.status = 401
    with served(service) as address:
        server = HttpServer(address, {"Authorization": f"Bearer {SECRET}"}, secrets=(SECRET,))
        with connected({"h": server}) as source:
            with pytest.raises(ToolObjectError, match="HTTP 401") as raised:
                source.toolbox()
            assert SECRET not in str(raised.value)
    assert set(service.headers) == {f"Bearer {SECRET}"}


def test_where_nobody_listens_that_is_said() -> None:
    with (
        connected({"h": HttpServer("http://127.0.0.1:1/mcp")}) as source,
        pytest.raises(ToolObjectError, match="cannot be reached"),
    ):
        source.toolbox()


@contextmanager
def sse() -> Generator[str, None, None]:
    """A server of the SDK over the older transport, in a thread."""
    server: MCPServer[Any] = MCPServer("older", log_level="CRITICAL")

    @server.tool()
    def add(n: int) -> int:
        return n + 1

    assert callable(add)
    listening = socket.create_server(("127.0.0.1", 0))
    app = server.sse_app(host="127.0.0.1")
    web = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none", lifespan="off"))
    thread = threading.Thread(target=web.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/sse"
    finally:
        web.should_exit = web.force_exit = True
        thread.join(10)
        listening.close()


def test_the_older_transport_works() -> None:
    with sse() as address, connected({"old": HttpServer(address, transport="sse")}) as source:
        assert call(source.toolbox(), "old.add", n=1) == 2
