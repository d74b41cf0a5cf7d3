"""The standard error of a server's process: reported line by line, the last lines kept."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

_KEPT_LINES: Final = 20
_LONGEST_LINE: Final = 500
_LONGEST_ENDING: Final = 1_000
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
        """Return the last lines, after at most `wait_s` seconds for the rest to come in.

        They are what fits into 1,000 characters: the cause is at the end.
        """
        self._thread.join(wait_s)
        lines: list[str] = []
        for line in reversed([*self._lines]):
            if lines and sum(map(len, lines)) + len(line) > _LONGEST_ENDING:
                return "\n".join(["…", *reversed(lines)])
            lines.append(line)
        return "\n".join(reversed(lines))

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
        text = line.decode(errors="replace").strip("\r")
        if len(text) > _LONGEST_LINE:  # a cause is where a line begins, or where it ends
            text = f"{text[: _LONGEST_LINE // 2]} … {text[-_LONGEST_LINE // 2 :]}"
        if text.strip():
            self._lines.append(text)
            self._report(text)
