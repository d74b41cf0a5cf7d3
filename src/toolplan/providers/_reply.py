"""The reader of a model's reply: the only place where what a model sends is taken apart.

A reply counts as whole only where the endpoint said why it ended and its stream was closed as its
protocol requires. A stream that just stops is not a short reply.
"""

from __future__ import annotations

import json
from typing import Final, cast

from msgspec import Struct

from toolplan.path import Json
from toolplan.providers import _faults
from toolplan.providers._base import Text, Usage
from toolplan.providers._endpoint import Part
from toolplan.providers._events import Events
from toolplan.providers._failures import Failure
from toolplan.providers._said import ErrorObject, error_in, title_of

_ENDED: Final = frozenset(
    ("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed")
)
_TRUNCATED: Final = frozenset(("length", "max_tokens", "model_context_window_exceeded"))
_REFUSED: Final = ("content_filter", "refusal", "safety")
_THOUGHTS: Final = ("reasoning_content", "reasoning", "thinking")
_CALLED: Final = frozenset(("tool_calls", "function_call", "tool_use"))
_NONE: Final = Usage()
_EVENTS: Final = "text/event-stream"
_JSON: Final = "application/json"
_PAGE_BYTES: Final = 50_000
_KINDS: Final = {
    _EVENTS: "events",
    _JSON: "JSON",
    "text/html": "an HTML page",
    "text/plain": "text",
}


class TooLong(Exception):
    """The reply has more bytes than it may have."""


class ReplyReader:
    """Reads one reply as it comes: `begin`, `feed` for each part, `end` where the body ended."""

    def __init__(self, *, streamed: bool, most_bytes: int) -> None:
        """Start empty. `streamed` says that events were asked for."""
        self._streamed = streamed
        self._most_bytes = most_bytes
        self._bytes = 0
        self._content_type = ""
        self._framed = False
        self._encoded = False
        self._ended = False
        self._garbled = False
        self._body = bytearray()
        self._events = Events()
        self._seen = Seen()
        self.too_long = False
        """Whether the reply has more bytes than it may have."""

    @property
    def seen(self) -> Seen:
        """What the reply has said so far."""
        return self._seen

    def begin(self, content_type: str, *, framed: bool, encoded: bool) -> None:
        """Take the headers: `framed` says that HTTP marks the body's end, and so notices a cut."""
        self._content_type = content_type.partition(";")[0].strip().lower()
        self._framed = framed
        self._encoded = encoded

    def feed(self, part: bytes) -> list[Part]:
        """Take more of the body; return the text in it, and None for an event without text.

        Raises:
            TooLong: the body is larger than allowed.
        """
        self._bytes += len(part)
        if self._bytes > self._most_bytes:
            self.too_long = True
            raise TooLong
        if self._encoded:
            return []
        if not self._seen.events:  # else it is a stream, whatever it calls itself
            self._body += part
        return self._read(part) if self._streamed else []

    def end(self) -> list[Part]:
        """Record that the body ended by itself; return the text that was still missing."""
        self._ended = True
        if self._encoded:
            return []
        # The last event may lack its blank line, where HTTP says that the body is complete.
        parts = self._read(b"\n\n") if self._streamed and self._framed else []
        if not self._is_stream and self.fault("") is None:
            return [Text(self._seen.text)]
        return parts

    def fault(self, name: str) -> Failure | None:
        """Return what is wrong with the reply of the model `name` so far, or None."""
        if self.too_long:
            return _faults.endless(name)
        whole = self._is_whole() if self._is_stream else self._read_body()
        if not whole and self._seen.done:
            return _faults.no_reason_to_end(name)
        if not whole:
            return _faults.broken_off(name)
        if odd := self._odd():
            return _faults.odd_reply(name, odd)
        return _unwanted(self._seen, name)

    @property
    def _is_stream(self) -> bool:
        # Some that are asked for events answer with one JSON object; others call their events so.
        return self._streamed and (self._content_type == _EVENTS or self._seen.events > 0)

    def _read(self, part: bytes) -> list[Part]:
        parts: list[Part] = []
        for text in self._events.feed(part):
            if self._seen.done or self._seen.error is not None:
                break
            if text.strip().startswith(b"[DONE]"):
                self._seen.close()
                break
            try:
                parts.append(self._seen.take(cast("Json", json.loads(text)), streamed=True))
            except (ValueError, RecursionError):
                self._garbled = True
        return parts

    def _is_whole(self) -> bool:
        """Return whether all that belongs to the stream has come, be it a reply or not."""
        seen = self._seen
        if self._encoded or self._garbled:
            return True
        if not seen.events:
            partial = self._content_type == _EVENTS and self._events.is_partial
            return bool(self._bytes) and not partial
        return seen.finish is not None and (seen.done or (self._framed and self._ended))

    def _read_body(self) -> bool:
        """Read a reply that is one JSON object; return whether all of it has come."""
        if self._encoded:
            return True
        try:
            answer = cast("Json", json.loads(bytes(self._body)))
        except (ValueError, RecursionError):
            return bool(self._bytes) and not self._body.lstrip().startswith(b"{")
        self._seen = Seen()
        self._seen.take(answer, streamed=False)
        return True

    def _odd(self) -> str:
        """Return why this is not a reply of a model, or an empty text."""
        if self._encoded:
            return "answered in a compressed form that was not asked for"
        if self._garbled:
            return "sent an event that is not JSON"
        if not self._seen.known:
            kind = _KINDS.get(self._content_type, "something")
            page = bytes(self._body[:_PAGE_BYTES]).decode("utf-8", "replace")
            title = title_of(page) if page.lstrip().startswith("<") else ""
            said = _faults.quoted(title)
            return f"answered with {kind} that holds no reply of a model{said}"
        return "sent text after the end of its reply" if self._seen.late else ""


class Seen(Struct):
    """What a reply has said, in the form of chat completions (OpenAI) or messages (Anthropic).

    Attributes:
        known: how many events, or whole replies, had a form that is known.
        events: how many of these were events of a stream.
        finish: the reason given for the end.
        done: whether the stream was closed as its protocol requires.
        late: whether text, or another reason, came after the end.
        refusal: the text of a refusal; None where there was none.
        thought: whether there was reasoning, in a field of its own.
        written: the text so far, of a reply that gave no reason to end.
        called: whether a tool was called.
        text: the text of a reply that is not a stream.
        model: the name that the endpoint gives its model.
        usage: the tokens that the endpoint counted.
        error: the error that was sent in place of a reply.
    """

    known: int = 0
    events: int = 0
    finish: str | None = None
    done: bool = False
    late: bool = False
    refusal: str | None = None
    thought: bool = False
    written: str = ""
    called: bool = False
    text: str = ""
    model: str = ""
    usage: Usage = _NONE
    error: ErrorObject | None = None

    def take(self, event: Json, *, streamed: bool) -> Part:
        """Take one event, or a whole reply; return its text, None where it has none."""
        known = self.known
        text = ""
        match event:
            case {"type": "error"}:
                self.error = error_in(event) or ErrorObject()
            case {"error": error} if error:
                self.error = error_in(event)
            case {"choices": list(choices)}:
                self.known += 1
                self._count(event)
                text = "".join(map(self._choice, choices))
            case {"type": str(kind)}:
                text = self._message_event(kind, event)
            case {"detail": _} | {"errors": _} | {"message": str()} | [dict(), *_]:
                self.error = error_in(event)
            case _:
                pass  # nothing that is known
        if not streamed:
            self.text = text
        elif self.known > known:
            self.events += 1
            if self.finish is None:
                self.written += text
        return Text(text) if text else None

    def _choice(self, choice: Json) -> str:
        if not isinstance(choice, dict) or choice.get("index") not in (0, None):
            return ""
        delta = choice.get("delta") or choice.get("message")
        text: Json = None
        if isinstance(delta, dict):
            text = _text_in(delta.get("content"))
            if refusal := delta.get("refusal"):
                self.refusal = (self.refusal or "") + str(refusal)
            self.thought |= any(delta.get(name) for name in _THOUGHTS)
            self.called |= bool(delta.get("tool_calls") or delta.get("function_call"))
            self.late |= self.finish is not None and bool(text)
        self._end(choice.get("finish_reason"))
        return text if isinstance(text, str) else ""

    def close(self) -> None:
        """Take `[DONE]`: without a reason to end, a whole JSON document is a whole reply."""
        self.done = True
        if self.finish is None and _is_document(self.written):
            self.finish = "stop"

    def _message_event(self, kind: str, event: dict[str, Json]) -> str:
        text = ""
        match kind, event:
            case "message_start", {"message": dict(message)}:
                self._count(message)
            case "message_delta", {"delta": {"stop_reason": reason}}:
                self._count(event)
                self._end(reason)
            case "message", {"stop_reason": reason, "content": list(blocks)}:
                self._count(event)
                text = "".join(map(_text_of, blocks))
                self._end(reason)
            case "message_stop", _:
                self.done = True
            case "content_block_delta", {"delta": delta}:
                self.late |= self.finish is not None
                self.thought |= isinstance(delta, dict) and delta.get("type") == "thinking_delta"
                text = _text_of(delta)
            case "content_block_start", {"content_block": block}:
                text = _text_of(block)
            case (("content_block_stop" | "content_block_start" | "message_start"), _):
                pass
            case _:
                return ""  # pings, and what may be added to the protocol
        self.known += 1
        return text

    def _count(self, event: dict[str, Json]) -> None:
        if isinstance(model := event.get("model"), str):
            self.model = model
        if isinstance(usage := event.get("usage"), dict):
            given, cached = _tokens_in(usage) or (self.usage.input_tokens, self.usage.cached_tokens)
            written = usage.get("completion_tokens", usage.get("output_tokens"))
            out = written if isinstance(written, int) else self.usage.output_tokens
            self.usage = Usage(0, given, out, None, cached)

    def _end(self, reason: Json) -> None:
        if isinstance(reason, str) and reason:
            self.late |= self.finish not in (None, reason)
            self.finish = reason


def _is_document(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _text_in(content: Json) -> str:
    """Return the text of `content`, which is text or a list of parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "".join(
        _text_of(part)
        for part in content
        if isinstance(part, dict) and part.get("type", "text") in ("text", "output_text")
    )


def _text_of(part: Json) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""


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


def _unwanted(seen: Seen, name: str) -> Failure | None:
    """Return what is wrong with a reply that is whole, or None."""
    finish = (seen.finish or "").lower()
    if seen.refusal is not None or finish.startswith(_REFUSED):
        said = _faults.quoted(seen.refusal or "")
        return _faults.refused(name, said, filtered=finish.startswith("content_filter"))
    if seen.called or finish in _CALLED:
        return _faults.called_a_tool(name)
    if finish in _TRUNCATED:
        return _faults.truncated(name)
    if finish in _ENDED:
        return None
    return _faults.odd_reply(name, f"ended for an unknown reason{_faults.quoted(finish)}")
