"""Streams of events, in which each answer of a server is made plain."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator, Iterator
from typing import Final

import httpx2
from mcp.types import CONNECTION_CLOSED, INTERNAL_ERROR, RequestId

from toolplan.sources.mcp._answers import failure_body, read_messages, to_line, words_of

MAX_EVENT_BYTES: Final = 200_000_000


class PlainEvents(httpx2.AsyncByteStream):
    """The events of a response: without a byte order mark, in UTF-8, answers as JSON-RPC 2.0."""

    def __init__(self, response: httpx2.Response, asked: tuple[RequestId, str] | None) -> None:
        """Take the id and the method of the request, or None where none is answered."""
        self._response = response
        self._asked = asked
        self._fields: list[str] = []
        self._data: list[str] = []
        self._kind = ""
        self._has_id = False
        self._is_answered = False
        self._words = ""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the events."""
        async for line in _lines(self._response):
            for text in self._line(line):
                yield text.encode()
        for text in self._end():
            yield text.encode()

    async def aclose(self) -> None:
        """Close the response."""
        await self._response.aclose()

    def _line(self, line: str) -> Iterator[str]:
        field, _, value = line.partition(":")
        if not line:
            yield from self._event()
        elif line.startswith(("{", "[")):  # a message that is not in a field
            self._data.append(line)
            yield from self._event()
        elif field == "data":
            self._data.append(value.removeprefix(" "))
        elif field == "event":
            self._kind = value.strip()
        elif field:
            self._has_id = self._has_id or field == "id"
            self._fields.append(line)

    def _event(self) -> Iterator[str]:
        """Yield the event whose last line has come."""
        lines, kind, fields = self._data, self._kind, self._fields
        data = "\n".join(lines)
        self._data, self._kind, self._fields = [], "", []
        head = "".join(f"{_sound(field)}\n" for field in fields)
        if self._asked is None:
            name = f"event: {kind}\n" if kind else ""
            content = "".join(f"data: {_sound(line)}\n" for line in lines)
            yield f"{head}{name}{content}\n"
            return
        messages = read_messages(data, dict([self._asked]))
        if not messages and kind == "error":
            self._is_answered = True
            yield self._failure(INTERNAL_ERROR, words_of(data) or "An error, without words.")
        elif not messages:
            self._words = words_of(data) or self._words
            yield f"{head}data:\n\n"
        for message in messages:
            self._is_answered = self._is_answered or not hasattr(message, "method")
            yield f"{head}data: {to_line(message)}\n\n"

    def _end(self) -> Iterator[str]:
        """Yield the last event, and an error where text came in place of an answer."""
        if self._data:
            yield from self._event()
        if self._asked is not None and self._words and not (self._is_answered or self._has_id):
            why = f"The stream ended without an answer; it said: {self._words}"
            yield self._failure(CONNECTION_CLOSED, why)

    def _failure(self, code: int, words: str) -> str:
        asked = None if self._asked is None else self._asked[0]
        return f"data: {to_line(failure_body(asked, code, _sound(words)))}\n\n"


async def _lines(response: httpx2.Response) -> AsyncIterator[str]:
    """Yield the lines of a response; bytes that are not UTF-8 become single surrogates.

    Raises:
        ReadError: a line is too long.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
    parts: list[str] = []
    size, has_return = 0, False
    async for chunk in response.aiter_bytes():
        text = decoder.decode(chunk)
        if has_return and text.startswith("\n"):
            text = text[1:]
        if not text:
            has_return = False
            continue
        has_return = text.endswith("\r")
        first, *rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        parts.append(first)
        size += len(first)
        if size > MAX_EVENT_BYTES:
            raise httpx2.ReadError(f"A line has more than {MAX_EVENT_BYTES} characters")
        if rest:
            yield "".join(parts)
            for line in rest[:-1]:
                yield line
            parts, size = [rest[-1]], len(rest[-1])
    last = "".join(parts)
    if last:
        yield last


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
