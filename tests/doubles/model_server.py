"""A model server that answers as its script says, over real HTTP on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from threading import Event, Thread
from types import TracebackType
from typing import Final, Self

from tests.doubles.listening import stop_listening
from tests.doubles.model_replies import (
    Raw,
    Received,
    Script,
    Sent,
    Written,
    sent,
    written,
)
from toolplan.path import Json

_HOST: Final = "127.0.0.1"
_HEADER_BYTES: Final = 64_000
_BODY_BYTES: Final = 50_000_000
_PHRASES: Final = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests"}


class ScriptedModelServer:
    """Answers requests with `replies` one after the other, and with the last one for ever.

    It speaks chat completions (`{url}/chat/completions`) and messages (`{url}/messages`), streamed
    or whole, as the request asks. It runs in a thread of its own:
    `with ScriptedModelServer(["Hello"]) as server: open_model(server.spec, keys={})`.
    `requests` holds every request for a reply so far; `GET` lists the one model, uncounted.
    """

    def __init__(self, replies: Sequence[Script] | str, *, model: str = "scripted") -> None:
        """Prepare the replies.

        Raises:
            ValueError: there is none.
        """
        self._replies: list[Script] = [replies] if isinstance(replies, str) else [*replies]
        if not self._replies:
            raise ValueError("A scripted server needs at least one reply.")
        self._model = model
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread(target=self._run, name="scripted-model-server", daemon=True)
        self._ready = Event()
        self._end = asyncio.Event()
        self._port = 0
        self._conversations: set[asyncio.Task[None]] = set()
        self.requests: list[Received] = []

    @property
    def url(self) -> str:
        """Its base URL, as in `http://127.0.0.1:40001/v1`; known once it runs."""
        return f"http://{_HOST}:{self._port}/v1"

    @property
    def spec(self) -> str:
        """What names its model to `open_model` and `--model`."""
        return f"{self.url}#{self._model}"

    @property
    def calls(self) -> int:
        """The number of requests for a reply so far."""
        return len(self.requests)

    def __enter__(self) -> Self:
        """Start it; it listens when this returns.

        Raises:
            OSError: no port could be had.
        """
        self._thread.start()
        self._ready.wait()
        if not self._port:
            raise OSError("The scripted model server could not listen on loopback.")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it: connections are closed, and its thread has ended."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._converse, _HOST, 0, limit=_HEADER_BYTES)
        async with server:
            self._port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._end.wait()
            await stop_listening(server)
            for conversation in self._conversations:
                conversation.cancel()
            await asyncio.gather(*self._conversations, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._conversations.add(task)
            task.add_done_callback(self._conversations.discard)
        try:
            request = await _received(reader)
            if request is not None:
                await self._answer(request, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client went away, or spoke no HTTP
        except asyncio.CancelledError:
            # the server ends; stream servers log a cancelled conversation as an error
            writer.transport.abort()
        finally:
            writer.close()
            try:
                await writer.wait_closed()
            except OSError:
                pass
            except asyncio.CancelledError:  # what the client has not read would keep it open
                writer.transport.abort()

    async def _answer(
        self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if request.method != "POST":
            listed = Sent(Raw(_compact(_models(request, self._model))), framing="length")
            await _send(listed, written(listed.reply, request), reader, writer)
            return
        at = min(len(self.requests), len(self._replies) - 1)
        self.requests.append(request)
        script = self._replies[at]
        served = sent(script(request) if callable(script) else script, request)
        await _send(served, written(served.reply, request), reader, writer)


async def _received(reader: asyncio.StreamReader) -> Received | None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, _, target = first.partition(" ")
    headers = {name.strip().lower(): value.strip() for name, _, value in _fields(lines)}
    length = int(headers.get("content-length", "0"))
    if length > _BODY_BYTES:
        return None
    body = await reader.readexactly(length)
    return Received(method, target.partition(" ")[0], headers, _json(body))


def _fields(lines: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    return (line.partition(":") for line in lines if line)


async def _send(
    served: Sent, answer: Written, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    parts = answer.parts
    headers = {"connection": "close", **answer.headers}
    if served.framing == "length":
        whole = b"".join(parts)
        headers["content-length"] = str(len(whole))
        parts = iter((whole,))
    elif served.framing == "chunked":
        headers["transfer-encoding"] = "chunked"
    lines = [f"HTTP/1.1 {answer.status} {_PHRASES.get(answer.status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    await writer.drain()
    for part in _until(served, parts):
        writer.write(_framed(part, served))
        await writer.drain()
        if served.pause_s:
            await asyncio.sleep(served.pause_s)
    if served.cut_at is not None and served.reset:
        writer.transport.abort()
    elif served.stall_at is not None:
        await reader.read()  # nothing more, until the client gives up
    elif served.cut_at is None and served.framing == "chunked":
        writer.write(b"0\r\n\r\n")
        await writer.drain()


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


def _framed(part: bytes, served: Sent) -> bytes:
    if served.framing != "chunked":
        return part
    return f"{len(part):x}\r\n".encode() + part + b"\r\n"


def _models(request: Received, model: str) -> Json:
    if request.path.endswith("/api/tags"):
        return {"models": [{"name": model}]}
    return {"object": "list", "data": [{"id": model, "object": "model"}]}


def _json(body: bytes) -> Json:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _compact(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
