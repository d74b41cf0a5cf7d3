"""Servers that die: what they were asked to do stands in a ledger, a line for each time.

`python -m benchmarks.mcp_ledger LEDGER` serves over stdio, with nothing but the standard library,
so that a start takes no time. `serve_resets` serves over HTTP and breaks the connection instead of
answering.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

PROTOCOL: Final = "2025-06-18"
_NUMBER: Final = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

TOOLS: Final[list[dict[str, Any]]] = [
    {
        "name": "charge",
        "description": "Writes into the ledger, and then waits to be killed.",
        "inputSchema": _NUMBER,
        "annotations": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False},
    },
    {
        "name": "look",
        "description": "Writes into the ledger, and then waits to be killed; it reads only.",
        "inputSchema": _NUMBER,
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "add",
        "description": "Gives the number and one.",
        "inputSchema": _NUMBER,
        "outputSchema": _NUMBER,
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "wait",
        "description": "Gives the number after half a second.",
        "inputSchema": _NUMBER,
        "annotations": {"readOnlyHint": True},
    },
]
DEADLY: Final = frozenset({"charge", "look"})


def write(ledger: Path, tool: str, n: int, key: str | None) -> None:
    """Add a line: the tool, its argument, the idempotency key, the process, and the time."""
    line = json.dumps({"tool": tool, "n": n, "key": key, "pid": os.getpid(), "at": time.time()})
    descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def lines(ledger: Path) -> list[dict[str, Any]]:
    """Return what stands in the ledger."""
    if not ledger.exists():
        return []
    return [json.loads(line) for line in ledger.read_text("utf-8").splitlines()]


def answer(request: dict[str, Any], ledger: Path) -> dict[str, Any] | None:
    """Return the answer to a request, None where there is none.

    A notification, or a deadly call.
    """
    if "id" not in request:
        return None
    envelope = {"jsonrpc": "2.0", "id": request["id"]}
    match request["method"]:
        case "initialize":
            result: dict[str, Any] = {
                "protocolVersion": PROTOCOL,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "ledger", "version": "1"},
            }
        case "tools/list":
            result = {"tools": TOOLS}
        case "tools/call":
            called = _call(request["params"], ledger)
            if called is None:
                return None
            result = called
        case _:
            return {**envelope, "error": {"code": -32601, "message": "Method not found"}}
    return {**envelope, "result": result}


def _call(params: dict[str, Any], ledger: Path) -> dict[str, Any] | None:
    name, n = params["name"], params["arguments"]["n"]
    if name in DEADLY:
        write(ledger, name, n, params.get("_meta", {}).get("toolplan/idempotency-key"))
        return None
    if name == "wait":
        time.sleep(0.5)
    value = {"n": n + 1 if name == "add" else n}
    return {
        "content": [{"type": "text", "text": json.dumps(value)}],
        "structuredContent": value,
        "isError": False,
    }


def serve_stdio(ledger: Path) -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        reply = answer(json.loads(line), ledger)
        if reply is not None:
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


@contextmanager
def serve_resets(ledger: Path) -> Generator[str, None, None]:
    """Serve over HTTP in threads; a deadly call gets a TCP reset. Gives the address."""

    class Resetting(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            request = json.loads(body)
            reply = answer(request, ledger)
            if reply is None and "id" in request:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _no_lingering())
                self.close_connection = True
                self.connection.close()
                return
            self._send(202 if reply is None else 200, reply)

        def do_GET(self) -> None:
            self._send(405, None)

        def _send(self, status: int, reply: dict[str, Any] | None) -> None:
            text = b"" if reply is None else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.send_header("connection", "close")  # so that an end of the server is one
            self.end_headers()
            self.wfile.write(text)

        def finish(self) -> None:
            with contextlib.suppress(OSError):
                super().finish()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with listening(Resetting) as address:
        yield address


@contextmanager
def listening(answers: type[BaseHTTPRequestHandler]) -> Generator[str, None, None]:
    """Serve with `answers` on a free port of this machine, in threads; give the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), answers)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _no_lingering() -> bytes:
    return struct.pack("ii", 1, 0)


if __name__ == "__main__":
    serve_stdio(Path(sys.argv[1]))
