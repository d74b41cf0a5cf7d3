"""What a scripted model server can answer, and how it is written on the wire.

The wire forms are those of chat completions (OpenAI and all that are compatible with it) and of
messages (Anthropic), streamed or whole, as the request asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from toolplan.plan.path import Json

Framing: TypeAlias = Literal["chunked", "length", "close"]
"""How a client learns where the body ends; with `close` it cannot distinguish an end from a cut."""

_PIECE_CHARS: Final = 12
_MODEL: Final = "scripted"
_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_STOP_REASONS: Final = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "tool_calls": "tool_use",
}


class Received(NamedTuple):
    """A request as it came: names of headers in small letters, `body` null where it is no JSON."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Role and text of each message, the system text of the messages form first."""
        body = self.body if isinstance(self.body, dict) else {}
        listed = body.get("messages")
        found = [("system", _text_of(body["system"]))] if "system" in body else []
        messages = listed if isinstance(listed, list) else []
        return found + [
            (str(each.get("role")), _text_of(each.get("content")))
            for each in messages
            if isinstance(each, dict)
        ]

    @property
    def prompt(self) -> str:
        """The texts of all messages, a line between them."""
        return "\n".join(text for _, text in self.messages)

    @property
    def schema(self) -> Json:
        """The JSON Schema that the reply shall follow, null where none is asked for."""
        match self.body:
            case {"response_format": {"json_schema": {"schema": schema}}}:
                return schema
            case {"output_config": {"format": {"schema": schema}}}:
                return schema
            case _:
                return None

    @property
    def streamed(self) -> bool:
        """Whether a streamed reply is asked for."""
        return isinstance(self.body, dict) and self.body.get("stream") is True


@dataclass(frozen=True, slots=True)
class Says:
    """A reply of the model, streamed where that is asked for.

    Attributes:
        text: what it says.
        pieces: the same, cut as it shall be streamed; by default every 12 characters.
        finish: the reason it gives for ending; None leaves it out.
        finishes: how many times it says that it ended.
        late: text after the first end.
        done: whether a stream is closed as its protocol has it: `[DONE]`, `message_stop`.
        thinks: what it thinks first, in a field of its own.
        tokens: tokens in and out, as it counts them.
    """

    text: str
    pieces: tuple[str, ...] = ()
    finish: str | None = "stop"
    finishes: int = 1
    late: str = ""
    done: bool = True
    thinks: str = ""
    tokens: tuple[int, int] = (10, 5)


@dataclass(frozen=True, slots=True)
class Refuses:
    """The model refuses, in the field that chat completions have for it."""

    text: str = "I cannot help with that."


@dataclass(frozen=True, slots=True)
class CallsTool:
    """The model calls a tool, though none was offered."""

    name: str = "lookup"
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Fails:
    """An HTTP error, with an error object as the APIs have it. `retry_after` is the header."""

    status: int
    message: str = "scripted failure"
    code: str | None = None
    kind: str = "error"
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Any body at all: HTML with status 200, a wrong envelope, bytes that are no text."""

    body: bytes
    content_type: str = _JSON
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Endless:
    """A stream that says `unit` for ever. With `silent` it sends comments, and no text."""

    unit: str = "and so on "
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """A reply that is sent in a certain way.

    Attributes:
        reply: what is sent.
        framing: how its end is marked.
        cut_at: the number of bytes of the body after which the connection is closed.
        stall_at: the number of bytes after which nothing more comes, the connection staying open.
        write_bytes: the number of bytes written at once; None writes each event at once.
        pause_s: seconds between two writes.
        reset: whether a cut resets the connection instead of closing it.
    """

    reply: Reply | str
    framing: Framing = "chunked"
    cut_at: int | None = None
    stall_at: int | None = None
    write_bytes: int | None = None
    pause_s: float = 0.0
    reset: bool = False


Reply: TypeAlias = Says | Refuses | CallsTool | Fails | Raw | Endless
Served: TypeAlias = Reply | Sent | str
Script: TypeAlias = Served | Callable[[Received], Served]
"""What a server answers; a text is said, a function answers each request."""


class Written(NamedTuple):
    """An answer as it goes out. `parts` may never end."""

    status: int
    headers: Mapping[str, str]
    parts: Iterator[bytes]


def written(reply: Reply | str, request: Received) -> Written:
    """Return `reply` as it is written to `request`."""
    match reply:
        case str():
            return written(Says(reply), request)
        case Fails():
            return _failure(reply)
        case Raw(body, content_type, status, headers):
            return Written(status, {"content-type": content_type, **headers}, iter((body,)))
        case Endless(unit, silent):
            return Written(200, {"content-type": _EVENTS}, _endless(unit, silent))
        case Says() | Refuses() | CallsTool():
            wire = _messages_form if request.path.endswith("/messages") else _chat_form
            return wire(reply, request)


def _failure(reply: Fails) -> Written:
    error: Json = {"message": reply.message, "type": reply.kind, "code": reply.code}
    body: Json = {"type": "error", "error": error}
    headers = {"content-type": _JSON}
    if reply.retry_after is not None:
        headers["retry-after"] = reply.retry_after
    return Written(reply.status, headers, iter((_compact(body),)))


def _chat_form(reply: Says | Refuses | CallsTool, request: Received) -> Written:
    if request.streamed:
        return Written(200, {"content-type": _EVENTS}, _chat_events(reply))
    message: dict[str, Json] = {"role": "assistant", "content": None}
    finish: Json = "stop"
    match reply:
        case Says(text=text, finish=said):
            message["content"], finish = text, said
        case Refuses(text):
            message["refusal"] = text
        case CallsTool():
            message["tool_calls"], finish = [_tool_call(reply)], "tool_calls"
    choice: Json = {"index": 0, "message": message, "finish_reason": finish}
    whole: Json = {**_chat_object("chat.completion", [choice]), "usage": _chat_usage(reply)}
    return Written(200, {"content-type": _JSON}, iter((_compact(whole),)))


def _chat_events(reply: Says | Refuses | CallsTool) -> Iterator[bytes]:
    yield _chat_event({"role": "assistant", "content": ""})
    match reply:
        case Says():
            if reply.thinks:
                yield _chat_event({"reasoning_content": reply.thinks})
            for piece in _pieces(reply):
                yield _chat_event({"content": piece})
            if reply.finish is not None:
                for at in range(reply.finishes):
                    yield _chat_event({}, reply.finish)
                    if reply.late and at == 0:
                        yield _chat_event({"content": reply.late})
        case Refuses(text):
            yield _chat_event({"refusal": text})
            yield _chat_event({}, "stop")
        case CallsTool():
            yield _chat_event({"tool_calls": [{"index": 0, **_tool_call(reply)}]})
            yield _chat_event({}, "tool_calls")
    usage: Json = {**_chat_object("chat.completion.chunk", []), "usage": _chat_usage(reply)}
    yield _event(usage)
    if not isinstance(reply, Says) or reply.done:
        yield b"data: [DONE]\n\n"


def _chat_event(delta: Json, finish: str | None = None) -> bytes:
    choice: Json = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event(_chat_object("chat.completion.chunk", [choice]))


def _chat_object(kind: str, choices: list[Json]) -> dict[str, Json]:
    return {"id": "reply-1", "object": kind, "created": 1, "model": _MODEL, "choices": choices}


def _chat_usage(reply: Says | Refuses | CallsTool) -> dict[str, Json]:
    taken, given = _tokens(reply)
    return {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": taken + given}


def _tool_call(reply: CallsTool) -> dict[str, Json]:
    function: Json = {"name": reply.name, "arguments": reply.arguments}
    return {"id": "call-1", "type": "function", "function": function}


def _messages_form(reply: Says | Refuses | CallsTool, request: Received) -> Written:
    if request.streamed:
        return Written(200, {"content-type": _EVENTS}, _message_events(reply))
    taken, given = _tokens(reply)
    whole: Json = {
        **_message(reply, taken),
        "content": [_block(reply, _said(reply))],
        "stop_reason": _stop_reason(reply),
        "usage": {"input_tokens": taken, "output_tokens": given},
    }
    return Written(200, {"content-type": _JSON}, iter((_compact(whole),)))


def _message_events(reply: Says | Refuses | CallsTool) -> Iterator[bytes]:
    taken, given = _tokens(reply)
    yield _named("message_start", {"message": _message(reply, taken)})
    yield _named("content_block_start", {"index": 0, "content_block": _block(reply, "")})
    yield _named("ping", {})
    for piece in _pieces(reply) if isinstance(reply, Says) else (_said(reply),):
        yield _named("content_block_delta", {"index": 0, "delta": _delta(reply, piece)})
    yield _named("content_block_stop", {"index": 0})
    if (reason := _stop_reason(reply)) is not None:
        ended: Json = {"stop_reason": reason, "stop_sequence": None}
        yield _named("message_delta", {"delta": ended, "usage": {"output_tokens": given}})
    if not isinstance(reply, Says) or reply.done:
        yield _named("message_stop", {})


def _message(reply: Says | Refuses | CallsTool, taken: int) -> dict[str, Json]:
    return {
        "id": "reply-1",
        "type": "message",
        "role": "assistant",
        "model": _MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": taken, "output_tokens": 1},
    }


def _block(reply: Says | Refuses | CallsTool, text: str) -> dict[str, Json]:
    if isinstance(reply, CallsTool):
        return {"type": "tool_use", "id": "call-1", "name": reply.name, "input": {}}
    return {"type": "text", "text": text}


def _delta(reply: Says | Refuses | CallsTool, piece: str) -> dict[str, Json]:
    if isinstance(reply, CallsTool):
        return {"type": "input_json_delta", "partial_json": piece}
    return {"type": "text_delta", "text": piece}


def _stop_reason(reply: Says | Refuses | CallsTool) -> str | None:
    match reply:
        case Says(finish=finish):
            return None if finish is None else _STOP_REASONS.get(finish, finish)
        case Refuses():
            return "refusal"
        case CallsTool():
            return "tool_use"


def _said(reply: Says | Refuses | CallsTool) -> str:
    match reply:
        case Says(text=text) | Refuses(text):
            return text
        case CallsTool(arguments=arguments):
            return arguments


def _pieces(reply: Says) -> tuple[str, ...]:
    text = reply.text
    every = range(0, len(text), _PIECE_CHARS)
    return reply.pieces or tuple(text[at : at + _PIECE_CHARS] for at in every)


def _tokens(reply: Says | Refuses | CallsTool) -> tuple[int, int]:
    return reply.tokens if isinstance(reply, Says) else (10, 5)


def _endless(unit: str, silent: bool) -> Iterator[bytes]:
    part = b": still here\n\n" if silent else _chat_event({"content": unit})
    while True:
        yield part


def _event(value: Json) -> bytes:
    return b"data: " + _compact(value) + b"\n\n"


def _named(name: str, value: dict[str, Json]) -> bytes:
    return b"event: " + name.encode() + b"\n" + _event({"type": name, **value})


def _compact(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _text_of(content: Json) -> str:
    match content:
        case str():
            return content
        case list():
            texts = [part.get("text") for part in content if isinstance(part, dict)]
            return "\n".join(text for text in texts if isinstance(text, str))
        case _:
            return ""
