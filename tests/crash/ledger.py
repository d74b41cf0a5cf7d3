"""The ledger: a process of its own that writes down every call that tools make. It is the truth.

Tools report a call to it and wait for its answer, as for that of a service that does something.
"""

import json
import os
import select
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import astuple

from toolplan.plan.path import Json
from toolplan.schema.tool_call import ToolCall

_SYNC = b"sync\n"


class Entry(NamedTuple):
    """One call that was made."""

    tool: str
    run: str
    step: str
    item: int | None
    attempt: int
    key: str
    args: str


class Ledger:
    """The parent's end: starts the process, and reads what it has written."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder / "ledger.socket")
        self._file = folder / "ledger.jsonl"
        self._read = 0
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(self.address)
        listening.listen(64)
        parent = os.getpid()
        self._process = os.fork()
        if self._process == 0:
            try:
                _serve(listening, self._file, parent)
            finally:
                os._exit(0)
        listening.close()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(self.address)

    def new(self) -> list[Entry]:
        """Return the calls since the last time, of processes that have ended."""
        self._socket.sendall(_SYNC)
        self._socket.recv(1)
        with self._file.open("rb") as file:
            file.seek(self._read)
            found = file.read()
        lines = found[: found.rfind(b"\n") + 1]  # the last one may be half written
        self._read += len(lines)
        return [Entry(*json.loads(line)) for line in lines.splitlines()]

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        os.kill(self._process, 15)
        os.waitpid(self._process, 0)


class Client:
    """A tool's end."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(address)

    def record(self, tool: str, call: ToolCall, args: Json) -> None:
        """Have a call written down, and wait until it is."""
        entry = Entry(tool, *astuple(call), args=json.dumps(args, sort_keys=True))
        self._socket.sendall(json.dumps(entry).encode() + b"\n")
        self._socket.recv(1)


def _serve(listening: socket.socket, path: Path, parent: int) -> None:
    unread: dict[socket.socket, bytes] = {}
    with path.open("ab", buffering=0) as file:
        while os.getppid() == parent:
            asked: list[socket.socket] = []
            # who asks for the state is answered when nothing is left that was sent before
            wait = 5.0
            while ready := select.select([listening, *unread], [], [], wait)[0]:
                wait = 0
                for each in ready:
                    if each is listening:
                        unread[listening.accept()[0]] = b""
                    elif _take(each, unread, file.write):
                        asked.append(each)
            for each in asked:
                each.sendall(b".")


def _take(
    client: socket.socket, unread: dict[socket.socket, bytes], write: Callable[[bytes], object]
) -> bool:
    """Write down what `client` sends; return whether it asks for the state."""
    try:
        received = client.recv(65_536)
    except ConnectionError:
        received = b""
    if not received:
        del unread[client]
        client.close()
        return False
    *lines, unread[client] = (unread[client] + received).split(b"\n")
    for line in lines:
        if line + b"\n" == _SYNC:
            return True
        write(line + b"\n")
        try:
            client.sendall(b".")
        except ConnectionError:
            continue  # it was killed while it waited
    return False
