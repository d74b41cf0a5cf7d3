"""An MCP server over HTTP whose answers a test writes, word for word."""

import contextlib
import json
import socket
import struct
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, TypeAlias

from benchmarks.mcp_ledger import listening
from tests.sources.mcp.scripts import listed_tool

JSON_TYPE: Final = {"content-type": "application/json"}
EVENTS: Final = {"content-type": "text/event-stream"}
WRITES: Final = {"destructiveHint": True}

Answer: TypeAlias = tuple[int, dict[str, str], bytes]
Give: TypeAlias = Callable[[dict[str, Any]], Answer]
"""Returns status, headers and body by the request."""

BREAKS: Final[Answer] = (200, EVENTS, b": a beginning\n\n")
"""The connection is reset behind this answer."""


class Answers:
    """What an MCP server over HTTP says: `give` answers calls of its tool `pay`."""

    def __init__(self, give: Give) -> None:
        self.give = give
        self.gets = 0
        self.get: Answer = (405, {"content-type": "text/plain"}, b"no")
        self.session = "one"
        self.headers: list[str | None] = []

    def to(self, request: dict[str, Any], session: str | None) -> Answer:
        match request["method"]:
            case "initialize":
                found: Any = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "odd", "version": "1"},
                }
            case "tools/list":
                found = {"tools": [listed_tool("pay", annotations=WRITES)]}
            case "tools/call":
                return self.give(request)
            case "server/discover":
                return 400, {}, b""
            case _:
                return 202, {}, b""
        return replied(request, found)


def replied(request: dict[str, Any], result: Any) -> Answer:
    body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
    return 200, JSON_TYPE, body


@contextmanager
def served(answers: Answers) -> Generator[str, None, None]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answers.headers.append(self.headers["authorization"])
            answer = answers.to(request, self.headers["mcp-session-id"])
            self.write(*answer, length=answer is not BREAKS)
            if answer is BREAKS:
                reset = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                self.close_connection = True
                self.connection.close()

        def do_GET(self) -> None:
            answers.gets += 1
            self.write(*answers.get)

        def do_DELETE(self) -> None:
            self.write(405, {}, b"")

        def write(
            self, status: int, headers: dict[str, str], body: bytes, *, length: bool = True
        ) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if answers.session:
                self.send_header("mcp-session-id", answers.session)
            if length and status not in (204, 304):
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def finish(self) -> None:
            with contextlib.suppress(OSError):
                super().finish()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with listening(Handler) as address:
        yield address
