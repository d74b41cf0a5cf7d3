"""A model server that answers as its script says, over real HTTP on loopback."""

import json
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Final, Self, cast

from tests.doubles.model_replies import Raw, Received, Script, Sent, Written, written
from toolplan.plan.path import Json

_HOST: Final = "127.0.0.1"
_RESET_AT_CLOSE: Final = struct.pack("ii", 1, 0)


class ScriptedModelServer(ThreadingHTTPServer):
    """Answers requests with `replies` one after the other, and with the last one for ever.

    It speaks chat completions (`{url}/chat/completions`) and messages (`{url}/messages`), streamed
    or whole, as the request asks. It runs in threads of its own:
    `with ScriptedModelServer(["Hello"]) as server: open_model(server.spec, keys={})`.
    `requests` holds every request for a reply so far; `GET` lists the one model, uncounted.
    """

    daemon_threads = False  # so that closing the server waits for them
    request_queue_size = 100

    def __init__(self, replies: Sequence[Script] | str, *, model: str = "scripted") -> None:
        """Prepare the replies.

        Raises:
            ValueError: there is none.
        """
        self._replies: list[Script] = [replies] if isinstance(replies, str) else [*replies]
        if not self._replies:
            raise ValueError("A scripted server needs at least one reply.")
        self.model = model
        self.requests: list[Received] = []
        self._lock = Lock()
        self._connections: set[Any] = set()
        self._thread = Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        super().__init__((_HOST, 0), _Conversation)

    @property
    def url(self) -> str:
        """Its base URL, as in `http://127.0.0.1:40001/v1`."""
        return f"http://{_HOST}:{self.server_port}/v1"

    @property
    def spec(self) -> str:
        """What names its model to `open_model` and `--model`."""
        return f"{self.url}#{self.model}"

    @property
    def calls(self) -> int:
        """The number of requests for a reply so far."""
        return len(self.requests)

    def __enter__(self) -> Self:
        """Start it."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it: connections are closed, and its threads have ended."""
        self.shutdown()
        self._thread.join()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):  # the client has closed it
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def reply_to(self, request: Received) -> Sent:
        """Return the next reply of the script."""
        with self._lock:
            script = self._replies[min(len(self.requests), len(self._replies) - 1)]
            self.requests.append(request)
        served = script(request) if callable(script) else script
        return served if isinstance(served, Sent) else Sent(served)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # the client went away
            super().handle_error(request, client_address)


class _Conversation(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        model = cast("ScriptedModelServer", self.server).model
        listed: Json = {"object": "list", "data": [{"id": model, "object": "model"}]}
        if self.path.endswith("/api/tags"):
            listed = {"models": [{"name": model}]}
        served = Sent(Raw(json.dumps(listed).encode()), framing="length")
        self._send(served, written(served.reply, self._received()))

    def do_POST(self) -> None:
        request = self._received()
        served = cast("ScriptedModelServer", self.server).reply_to(request)
        self._send(served, written(served.reply, request))

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _received(self) -> Received:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", "0")))
        try:
            document: Json = json.loads(body)
        except ValueError:
            document = None
        return Received(self.command, self.path, headers, document)

    def _send(self, served: Sent, answer: Written) -> None:
        parts = answer.parts
        headers = {"connection": "close", **answer.headers}
        if served.framing == "length":
            whole = b"".join(parts)
            headers["content-length"] = str(len(whole))
            parts = iter((whole,))
        elif served.framing == "chunked":
            headers["transfer-encoding"] = "chunked"
        lines = [f"HTTP/1.1 {answer.status} Status"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.wfile.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        for part in _until(served, parts):
            framed = f"{len(part):x}\r\n".encode() + part + b"\r\n"
            self.wfile.write(framed if served.framing == "chunked" else part)
            time.sleep(served.pause_s)
        if served.cut_at is not None and served.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            self.connection.close()
        elif served.stall_at is not None:
            self.rfile.read()  # nothing more, until the client gives up
        elif served.cut_at is None and served.framing == "chunked":
            self.wfile.write(b"0\r\n\r\n")


def _until(served: Sent, parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the parts up to where `served` is cut or stalls, in the sizes that it wants."""
    limits = [limit for limit in (served.cut_at, served.stall_at) if limit is not None]
    left = min(limits, default=None)
    for part in parts:
        rest = part if left is None else part[:left]
        size = served.write_bytes or max(len(rest), 1)
        for at in range(0, len(rest), size):
            yield rest[at : at + size]
        if left is not None:
            left -= len(rest)
            if left == 0:
                return
