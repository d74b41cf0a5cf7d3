"""What is seen of one answer on the wire: whether it is whole, and why it ended.

Libraries for models take a stream that stops for one that ended: a reply that was cut off reads
like a short one. So the bytes are read a second time here, and a reply counts as whole only where
the endpoint said why it ended, and its stream was closed as its protocol has it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from toolplan.path import Json
from toolplan.providers._events import Events
from toolplan.providers._failures import Failure

_ENDED: Final = frozenset(
    ("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed")
)
_TRUNCATED: Final = frozenset(("length", "max_tokens", "model_context_window_exceeded"))
_REFUSED: Final = frozenset(("content_filter", "refusal", "safety"))
_CALLED: Final = frozenset(("tool_calls", "function_call", "tool_use"))
_EVENTS: Final = "text/event-stream"
_JSON: Final = "application/json"
_KINDS: Final = {
    _EVENTS: "events",
    _JSON: "JSON",
    "text/html": "a page of HTML",
    "text/plain": "a text",
}
_ANOTHER: Final = "Ask again, or name another model."
_ADDRESS: Final = "Look whether the address is that of a model's interface, with /v1 at its end."


class TooMuch(Exception):
    """The answer has more bytes than it may have."""


class Told(NamedTuple):
    """What an answer says that came as one: its text, tokens in and out."""

    text: str
    input_tokens: int
    output_tokens: int


class Wire:
    """Reads one answer along: `begin`, `feed` each part, `end` where it ended by itself."""

    def __init__(self, *, streamed: bool, most_bytes: int) -> None:
        """Begin before anything has come. `streamed` says that events were asked for."""
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
        self._seen = _Seen()
        self.begun = False
        """Whether headers have come."""
        self.too_much = False
        """Whether it was stopped because there was too much of it."""

    def begin(self, content_type: str, *, framed: bool, encoded: bool) -> None:
        """Take the headers: `framed` says that HTTP marks the body's end, and so sees a cut."""
        self.begun = True
        self._content_type = content_type.partition(";")[0].strip().lower()
        self._framed = framed
        self._encoded = encoded

    def feed(self, part: bytes) -> None:
        """Take more of the body.

        Raises:
            TooMuch: it is more than was allowed.
        """
        self._bytes += len(part)
        if self._bytes > self._most_bytes:
            self.too_much = True
            raise TooMuch
        if self._encoded:
            return
        if not self._streamed or self._content_type == _JSON:
            self._body += part
        if not self._streamed:
            return
        for text in self._events.feed(part):
            self._take_event(text)

    def end(self) -> None:
        """Note that the body ended by itself."""
        self._ended = True
        if self._framed and not self._encoded:
            # The last event may lack its end, where HTTP says that this is all.
            for text in self._events.feed(b"\n\n"):
                self._take_event(text)

    def fault(self, name: str) -> Failure | None:
        """Say what is wrong with what came of the answer of the model `name`; None: nothing."""
        if self.too_much:
            return Failure("llm-too-long", f"The reply of {name} did not end.", _ANOTHER)
        whole = self._is_whole() if self._is_stream else self._read_body()
        if not whole:
            return Failure("llm-stream-cut", f"The reply of {name} broke off.", _ANOTHER)
        return self._odd(name) or _unwanted(self._seen, name)

    @property
    def told(self) -> Told | None:
        """What an answer says that is no stream; None where it is one, or no reply."""
        return None if self._is_stream else self._seen.told

    @property
    def _is_stream(self) -> bool:
        # Some that are asked for events answer with one piece of JSON; others call their events so.
        events = self._seen.known > 0 and self._seen.told is None
        return self._streamed and (self._content_type != _JSON or events)

    def _is_whole(self) -> bool:
        """Whether all that belongs to the stream has come, be it a reply or not."""
        seen = self._seen
        if self._encoded or self._garbled:
            return True
        if not seen.known:
            partial = self._content_type == _EVENTS and self._events.is_partial
            return bool(self._bytes) and not partial
        closed = seen.done or (self._framed and self._ended)
        return seen.finish is not None and closed

    def _read_body(self) -> bool:
        """Read an answer that is no stream; say whether all of it has come, a reply or not."""
        if self._encoded:
            return True
        try:
            answer = cast("Json", json.loads(bytes(self._body)))
        except (ValueError, RecursionError):
            return bool(self._bytes) and not self._body.lstrip().startswith(b"{")
        self._seen = _Seen()
        self._seen.take(answer)
        self._seen.told = _told(answer)
        return True

    def _take_event(self, text: bytes) -> None:
        if self._seen.done:
            return
        if text.startswith(b"[DONE]"):
            self._seen.done = True
            return
        try:
            event = cast("Json", json.loads(text))
        except (ValueError, RecursionError):
            self._garbled = True
            return
        self._seen.take(event)

    def _odd(self, name: str) -> Failure | None:
        said = ""
        if self._encoded:
            said = f"{name} answered in a compressed form that was not asked for."
        elif self._garbled:
            said = f"{name} sent an event that is no JSON."
        elif not self._seen.known:
            kind = _KINDS.get(self._content_type, "something")
            said = f"{name} answered with {kind} that holds no reply of a model."
        elif self._seen.late:
            said = f"The reply of {name} went on after its end."
        return Failure("llm-bad-response", said, _ADDRESS) if said else None


@dataclass(slots=True)
class _Seen:
    """What events, or a whole answer, have told: in the form of chat completions or of messages.

    Attributes:
        known: how many of them had a form that is known.
        finish: the reason that was given for the end.
        done: whether the stream was closed as its protocol has it.
        late: whether text came after the end, or another end.
        refused: whether there was a refusal.
        called: whether a tool was called.
        told: what an answer says that came as one.
    """

    known: int = 0
    finish: str | None = None
    done: bool = False
    late: bool = False
    refused: bool = False
    called: bool = False
    told: Told | None = None

    def take(self, event: Json) -> None:
        """Take one more."""
        match event:
            case {"choices": list(choices)}:
                self.known += 1
                for choice in choices:
                    self._take_choice(choice)
            case {"type": str(kind)}:
                self._take_message_event(kind, event)
            case _:
                pass  # an error, which the library tells, or nothing that is known

    def _take_choice(self, choice: Json) -> None:
        if not isinstance(choice, dict) or choice.get("index") not in (0, None):
            return
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self.refused |= bool(delta.get("refusal"))
            self.called |= bool(delta.get("tool_calls") or delta.get("function_call"))
            self.late |= self.finish is not None and bool(delta.get("content"))
        self._take_finish(choice.get("finish_reason"))

    def _take_message_event(self, kind: str, event: dict[str, Json]) -> None:
        match kind, event:
            case "message_delta", {"delta": {"stop_reason": reason}}:
                self._take_finish(reason)
            case "message", {"stop_reason": reason}:
                self._take_finish(reason)
            case "message_stop", _:
                self.done = True
            case "content_block_delta", _:
                self.late |= self.finish is not None
            case (("message_start" | "content_block_start" | "content_block_stop"), _):
                pass
            case _:
                return  # pings, errors, and what may be added to the protocol
        self.known += 1

    def _take_finish(self, reason: Json) -> None:
        if isinstance(reason, str) and reason:
            self.late |= self.finish not in (None, reason)
            self.finish = reason


def _unwanted(seen: _Seen, name: str) -> Failure | None:
    """Say what is wrong with an answer that is whole."""
    finish = (seen.finish or "").lower()
    if seen.refused or finish in _REFUSED:
        return Failure("llm-refused", f"{name} refused to answer.", "Ask in another way.")
    if seen.called or finish in _CALLED:
        reason = f"{name} called a tool, though none was offered."
        return Failure("llm-unexpected-tool-call", reason, _ANOTHER)
    if finish in _TRUNCATED:
        return Failure(
            "llm-truncated",
            f"The reply of {name} was cut off at its limit of tokens.",
            "Allow more tokens (PLANNER_MAX_TOKENS), or ask for less.",
        )
    if finish in _ENDED:
        return None
    return Failure("llm-bad-response", f"{name} ended for a reason unknown here.", _ANOTHER)


def _told(answer: Json) -> Told | None:
    match answer:
        case {"choices": [{"message": {"content": str(text)}}, *_]}:
            return Told(text, *_tokens(answer, "prompt_tokens", "completion_tokens"))
        case {"type": "message", "content": list(blocks)}:
            texts = [block.get("text") for block in blocks if isinstance(block, dict)]
            text = "".join(each for each in texts if isinstance(each, str))
            return Told(text, *_tokens(answer, "input_tokens", "output_tokens"))
        case _:
            return None


def _tokens(answer: dict[str, Json], *names: str) -> tuple[int, int]:
    usage = answer.get("usage")
    found = [usage.get(name) if isinstance(usage, dict) else None for name in names]
    taken, given = (each if isinstance(each, int) else 0 for each in found)
    return taken, given
