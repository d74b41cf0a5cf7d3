"""Server-sent events, taken out of bytes as they come."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Final

_FIELDS: Final = (b"data", b"event", b"id", b"retry")


class Events:
    """Reads bytes in parts of any size into the data of complete events."""

    def __init__(self) -> None:
        """Start empty."""
        self._line = bytearray()
        self._lines: list[bytes] = []
        self._begun = False

    def feed(self, part: bytes) -> list[bytes]:
        """Take more; return the data of the events that it completes.

        >>> events = Events()
        >>> events.feed(b"data: 1" + bytes([10, 10]) + b"data: 2"), events.is_partial
        ([b'1'], True)
        """
        complete: list[bytes] = []
        first, *others = part.split(b"\n")
        self._line += first
        for other in others:
            line = bytes(self._line).removesuffix(b"\r")
            if not self._begun:
                self._begun = True
                line = line.removeprefix(BOM_UTF8)
            for each in line.split(b"\r"):  # which ends a line as well
                self._take(each, complete)
            self._line = bytearray(other)
        return complete

    @property
    def is_partial(self) -> bool:
        """Whether the last bytes are the start of an event."""
        latest = bytes(self._line)
        latest = latest if self._begun else latest.removeprefix(BOM_UTF8)
        begun = [line for line in (*self._lines, latest) if line]
        return bool(begun) and all(map(_is_field, begun))

    def _take(self, line: bytes, complete: list[bytes]) -> None:
        if line:
            self._lines.append(line)
            return
        data = [each[5:].removeprefix(b" ") for each in self._lines if each.startswith(b"data:")]
        self._lines.clear()
        if data:
            complete.append(b"\n".join(data))


def _is_field(line: bytes) -> bool:
    name, mark, _ = line.partition(b":")
    return any(field == name if mark and name else field.startswith(name) for field in _FIELDS)
