"""The standard error of a server's process: reported line by line, the last lines kept."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

_KEPT_LINES: Final = 20
_LONGEST_LINE: Final = 500
_CHUNK: Final = 65_536


class StandardError:
    """A pipe for a process's standard error, read by a thread until the process has ended."""

    def __init__(self, report: Callable[[str], None]) -> None:
        """Call `report` with each line, from the thread."""
        self._report = report
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._reading, writing = os.pipe()
        self.file = os.fdopen(writing, "w", encoding="utf-8")
        self._thread = threading.Thread(target=self._read, name="toolplan-mcp-stderr", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close this process's end: the thread ends with the server's."""
        self.file.close()

    def ending(self, wait_s: float) -> str:
        """Return the last lines, after at most `wait_s` seconds for the rest to come in."""
        self._thread.join(wait_s)
        return "\n".join(self._lines)

    def _read(self) -> None:
        rest = b""
        with os.fdopen(self._reading, "rb", buffering=0) as pipe:
            while chunk := pipe.read(_CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                rest = rest[-_CHUNK:]
                for line in lines:
                    self._keep(line)
        if rest:
            self._keep(rest)

    def _keep(self, line: bytes) -> None:
        text = line[: 4 * _LONGEST_LINE].decode(errors="replace").strip("\r")[:_LONGEST_LINE]
        if text.strip():
            self._lines.append(text)
            self._report(text)
