"""The reader of a model's reply: the only parser of what models send.

A reply counts as whole only where the endpoint said why it ended and its stream was closed as its
protocol requires. A stream that just stops is not a short reply.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, cast

from msgspec import Struct, field

from toolplan.plan.path import Json
from toolplan.providers._base import Text, Usage
from toolplan.providers._endpoint import Failure, Part
from toolplan.providers._errors import (
    AGAIN,
    CHANGE,
    ErrorObject,
    error_in,
    quoted,
    refused,
    title_of,
)

_ENDED: Final = frozenset(
    ("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed")
)
_TRUNCATED: Final = frozenset(("length", "max_tokens", "model_context_window_exceeded"))
_REFUSED: Final = ("content_filter", "refusal", "safety")
_THOUGHTS: Final = ("reasoning_content", "reasoning", "thinking")
_CALLED: Final = frozenset(("tool_calls", "function_call", "tool_use"))
_MESSAGE_KINDS: Final = frozenset((
    "message", "message_start", "message_delta", "message_stop",
    "content_block_start", "content_block_delta", "content_block_stop",
))  # fmt: skip
_FIELDS: Final = (b"data", b"event", b"id", b"retry")
_EVENTS: Final = "text/event-stream"
_DECODER: Final = json.JSONDecoder()
_PAGE_BYTES: Final = 50_000
_UNUSED: Final = Usage()
_ADDRESS: Final = "Check the address: it must be the URL of a model API and end in /v1."


class Events:
    """Reads server-sent events out of bytes in parts of any size."""

    def __init__(self) -> None:
        """Start empty."""
        self._rest = bytearray()
        self._lines: list[bytes] = []
        self._begun = False

    def feed(self, part: bytes) -> list[bytes]:
        """Take more; return the data of the events that it completes.

        >>> Events().feed(b"data: 1" + bytes([10, 10]) + b"data: 2")
        [b'1']
        """
        self._rest += part
        if b"\n" not in part:
            return []
        end = self._rest.rindex(b"\n") + 1
        text = bytes(self._rest[:end])
        del self._rest[:end]
        if not self._begun:
            self._begun = True
            text = text.removeprefix(BOM_UTF8)
        complete: list[bytes] = []
        for line in text.splitlines():
            if line:
                self._lines.append(line)
                continue
            data = [
                each[5:].removeprefix(b" ") for each in self._lines if each.startswith(b"data:")
            ]
            self._lines.clear()
            if data:
                complete.append(b"\n".join(data))
        return complete

    @property
    def is_partial(self) -> bool:
        """Whether the last bytes are the start of an event."""
        rest = bytes(self._rest)
        rest = rest if self._begun else rest.removeprefix(BOM_UTF8)
        begun = [line for line in (*self._lines, rest) if line]
        return bool(begun) and all(map(_is_field, begun))


def _is_field(line: bytes) -> bool:
    name, mark, _ = line.partition(b":")
    return any(field == name if mark and name else field.startswith(name) for field in _FIELDS)


class ReplyContent(Struct):
    """The content of a reply, in the form of chat completions (OpenAI) or messages (Anthropic).

    Attributes:
        known: how many events, or whole replies, had a form that is known.
        events: how many of these were events of a stream.
        finish: the reason given for the end.
        done: whether the stream was closed as its protocol requires.
        late: whether text, or another reason, came after the end.
        thought: whether there was reasoning, in a field of its own.
        called: whether a tool was called.
        text: the text; of a stream, until it gave a reason to end.
    """

    known: int = 0
    events: int = 0
    finish: str | None = None
    done: bool = False
    late: bool = False
    refusal: str | None = None
    thought: bool = False
    called: bool = False
    text: str = ""
    model: str = ""
    usage: Usage = _UNUSED
    error: ErrorObject | None = None

    def take(self, answer: Json) -> str:
        """Take one event, or a whole reply; return its text."""
        match answer:
            case {"error": error} if error:
                self.error = error_in(answer)
            case {"choices": list(choices)}:
                self.known += 1
                self._count(answer)
                return "".join(map(self._choice, choices))
            case {"type": str(kind)} if kind in _MESSAGE_KINDS:
                return self._message(kind, answer)
            case {"type": "error"}:
                self.error = error_in(answer) or ErrorObject()
            case _:
                self.error = error_in(answer)  # None for pings, and what the protocol may add
        return ""

    def close(self) -> None:
        """Take `[DONE]`: without a reason to end, a whole JSON document is a whole reply."""
        self.done = True
        with suppress(ValueError, RecursionError):
            if self.finish is None and isinstance(json.loads(self.text), dict | list):
                self.finish = "stop"

    def _choice(self, choice: Json) -> str:
        if not isinstance(choice, dict) or choice.get("index") not in (0, None):
            return ""
        text = ""
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            text = _text_of(delta.get("content"))
            if refusal := delta.get("refusal"):
                self.refusal = (self.refusal or "") + str(refusal)
            self.thought |= any(delta.get(name) for name in _THOUGHTS)
            self.called |= bool(delta.get("tool_calls") or delta.get("function_call"))
            self.late |= self.finish is not None and bool(text)
        self._end(choice.get("finish_reason"))
        return text

    def _message(self, kind: str, event: dict[str, Json]) -> str:
        """Take an event, or a whole reply, in the form of messages."""
        self.known += 1
        message, delta = event.get("message"), event.get("delta")
        changed = delta if isinstance(delta, dict) else event
        self._count(message if isinstance(message, dict) else event)
        self.done |= kind == "message_stop"
        self.late |= kind == "content_block_delta" and self.finish is not None
        self.thought |= changed.get("type") == "thinking_delta"
        self._end(changed.get("stop_reason"))
        return _text_of(event.get("content") or event.get("content_block") or delta)

    def _count(self, answer: dict[str, Json]) -> None:
        if isinstance(model := answer.get("model"), str):
            self.model = model
        if isinstance(usage := answer.get("usage"), dict):
            given, cached = _tokens_in(usage) or (self.usage.input_tokens, self.usage.cached_tokens)
            written = usage.get("completion_tokens", usage.get("output_tokens"))
            out = written if isinstance(written, int) else self.usage.output_tokens
            self.usage = Usage(0, given, out, None, cached)

    def _end(self, reason: Json) -> None:
        if isinstance(reason, str) and reason:
            self.late |= self.finish not in (None, reason)
            self.finish = reason


class ReplyReader(Struct):
    """Reads one reply as it comes: `feed` for each part, `end` where the body ended by itself.

    Attributes:
        streamed: whether events were asked for.
        most_bytes: maximum number of bytes of the body.
        content_type: the body's, without parameters.
        framed: whether HTTP marks the body's end, and so notices a cut.
        size: the bytes so far.
        ended: whether the body ended by itself.
        oddity: why this is not a reply of a model; empty where that is not known.
        body: the body, unless it is a stream.
        content: the content of the reply so far.
        status: of HTTP; 0 before the answer.
        headers: of the answer.
    """

    streamed: bool
    most_bytes: int
    content_type: str = ""
    framed: bool = False
    size: int = 0
    ended: bool = False
    oddity: str = ""
    body: bytearray = field(default_factory=bytearray)
    content: ReplyContent = field(default_factory=ReplyContent)
    events: Events = field(default_factory=Events)
    status: int = 0
    headers: Mapping[str, str] = {}

    @property
    def too_long(self) -> bool:
        """Whether the body has more bytes than it may have."""
        return self.size > self.most_bytes

    def feed(self, part: bytes) -> list[Part]:
        """Take more of the body; return the text in it, and None for an event without text."""
        self.size += len(part)
        if self.too_long:
            return []
        if not self.content.events:  # else it is a stream, whatever it calls itself
            self.body += part
        return self._read(part) if self.streamed else []

    def end(self) -> list[Part]:
        """Record that the body ended by itself; return the text that was still missing."""
        self.ended = True
        # The last event may lack its blank line, where HTTP says that the body is complete.
        parts = self._read(b"\n\n") if self.streamed and self.framed else []
        if not self._is_stream and self.fault("") is None:
            return [Text(self.content.text)]
        return parts

    def fault(self, name: str) -> Failure | None:
        """Return the fault of the reply of the model `name` so far, or None."""
        if self.too_long:
            return Failure("llm-too-long", f"The reply of {name} did not end.", AGAIN)
        if self.oddity:
            whole = True
        elif not self._is_stream:
            whole = self._read_body()
        elif self.content.events:
            has_ended = self.content.done or (self.framed and self.ended)
            whole = self.content.finish is not None and has_ended
        else:
            whole = bool(self.size) and not self.events.is_partial
        content, oddity = self.content, self.oddity
        if not whole and content.done:
            reason = "closed its stream without a finish_reason: the reply may be cut off"
            return Failure("llm-stream-cut", f"{name} {reason}.", CHANGE, lasts=True)
        if not whole:
            return broken_off(name)
        if not oddity and not content.known:
            page = bytes(self.body[:_PAGE_BYTES]).decode("utf-8", "replace").lstrip()
            oddity = f"answered with something that is no reply of a model{quoted(title_of(page))}"
        if not oddity and content.late:
            oddity = "sent text after the end of its reply"
        if oddity:
            return Failure("llm-bad-response", f"{name} {oddity}.", _ADDRESS)
        return _unwanted(content, name)

    @property
    def _is_stream(self) -> bool:
        # Some that are asked for events answer with one JSON object; others call their events so.
        is_called_so = self.content_type == _EVENTS and not self.body.lstrip().startswith(b"{")
        return self.streamed and (is_called_so or self.content.events > 0)

    def _read(self, part: bytes) -> list[Part]:
        parts: list[Part] = []
        content = self.content
        for text in self.events.feed(part):
            if content.done or content.error is not None:
                break
            if text.strip().startswith(b"[DONE]"):
                content.close()
                break
            known = content.known
            try:
                words = content.take(cast("Json", json.loads(text)))
            except (ValueError, RecursionError):
                self.oddity = "sent an event that is not JSON"
                continue
            content.events += content.known > known
            if content.finish is None:
                content.text += words
            parts.append(Text(words) if words else None)
        return parts

    def _read_body(self) -> bool:
        """Read a reply that is one JSON object, or one after the other; return whether it is whole.

        Some send the objects of a stream without events around them, a line each.
        """
        try:
            answers: list[Json] = []  # the JSON values that stand in the text, one after the other
            rest = self.body.decode().removeprefix("\ufeff").strip()
            while rest or not answers:
                value, end = _DECODER.raw_decode(rest)
                answers.append(cast("Json", value))
                rest = rest[end:].lstrip()
        except (ValueError, RecursionError):
            return bool(self.size) and not self.body.lstrip().startswith(b"{")
        content = self.content = ReplyContent()
        for answer in answers:
            is_over = content.finish is not None
            text = content.take(answer)
            content.text += "" if is_over else text
        if len(answers) > 1 and not content.known:
            self.oddity = "sent several JSON texts, none of which is a reply of a model"
        return len(answers) == 1 or content.finish is not None or not content.known


def _text_of(content: Json) -> str:
    """Return the text of `content`: of text, of a part that holds some, or of a list of parts."""
    match content:
        case str():
            return content
        case list():
            return "".join(
                _text_of(part)
                for part in content
                if isinstance(part, dict) and part.get("type", "text") in ("text", "output_text")
            )
        case {"text": str(text)}:
            return text
        case _:
            return ""


def _tokens_in(usage: dict[str, Json]) -> tuple[int, int] | None:
    """Return the tokens of a request, and those of them that the endpoint had read before."""
    match usage:
        case {"prompt_tokens": int(given), "prompt_tokens_details": {"cached_tokens": int(cached)}}:
            return given, min(cached, given)
        case {"prompt_tokens": int(given), "prompt_cache_hit_tokens": int(cached)}:
            return given, min(cached, given)
        case {"prompt_tokens": int(given)}:
            return given, 0
        case {"input_tokens": int(given)}:  # without those that were read before, or kept now
            names = ("cache_read_input_tokens", "cache_creation_input_tokens")
            read, kept = (each if isinstance(each := usage.get(name), int) else 0 for name in names)
            return given + read + kept, read
        case _:
            return None


def broken_off(name: str) -> Failure:
    """Return the failure of a reply that ended before it was whole."""
    return Failure("llm-stream-cut", f"The reply of {name} broke off.", AGAIN)


def _unwanted(content: ReplyContent, name: str) -> Failure | None:
    """Return the fault of a whole reply, or None."""
    finish = (content.finish or "").lower()
    if content.refusal is not None or finish.startswith(_REFUSED):
        filtered = finish.startswith("content_filter")
        return refused(name, quoted(content.refusal or ""), filtered=filtered)
    if content.called or finish in _CALLED:
        reason = f"{name} called a tool, though none was offered."
        return Failure("llm-unexpected-tool-call", reason, AGAIN)
    if finish in _TRUNCATED:
        reason = f"The reply of {name} was cut off at its limit of tokens."
        help = "Allow more tokens (PLANNER_MAX_TOKENS), or ask for less."
        return Failure("llm-truncated", reason, help)
    if finish in _ENDED:
        return None
    reason = f"{name} ended for an unknown reason{quoted(finish)}."
    return Failure("llm-bad-response", reason, _ADDRESS)
