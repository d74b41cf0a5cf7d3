"""What servers write: JSON-RPC read leniently, and texts made fit to be shown.

The SDK drops a message that is not JSON-RPC 2.0 to the letter, and the request waits for its time
limit. Here such a message becomes a plain one: notifications and requests keep their meaning, and
an answer that cannot be read becomes an error in the server's own words.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from mcp import MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    JSONRPCMessage,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from toolplan.tools.replies import InexactJson, page_title, read_json

Waiting: TypeAlias = Mapping[RequestId, str]
"""The requests that have no answer yet: the method of each, by its id."""

LISTING: Final = "tools/list"
UNSOUND: Final = "toolplan/unsound"
"""In place of a tool that cannot be sent on: why."""
LONGEST_MESSAGE: Final = 2_000

_AROUND: Final = "\ufeff \t\r\n\0"
_DEEPEST: Final = 150
"""Levels of nesting of an answer; the SDK reads no more than about 200."""
_LONGEST_WORDS: Final = 500
_ID: Final = re.compile(r'"id"\s*:\s*"?(\d{1,18})"?\s*[,}]')
_OUT: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_KEPT: Final = frozenset("\n\t\u200c\u200d")  # many scripts cannot do without the joiners


def read_messages(text: str, waiting: Waiting) -> list[JSONRPCMessage]:
    """Return the messages of one line, one body or one event.

    Text that is no message, and answers to nothing that waits, are left out. Where exactly one
    request waits, an answer without an id is the answer to it, unless it is an error of another
    kind than that a request could not be read.
    """
    text = text.strip(_AROUND)
    if not text.startswith(("{", "[")):
        return []
    try:
        return messages_in(read_json(text), waiting)
    except (ValueError, RecursionError) as error:
        found = _ID.search(text)
        asked = None if found is None else _asked(found[1], waiting)
        why = f"Its answer is {error if isinstance(error, InexactJson) else 'not JSON'}"
        return [] if asked is None else [failure(asked, f"{why}: {words_of(text)}")]


def messages_in(sent: object, waiting: Waiting) -> list[JSONRPCMessage]:
    """Return the messages of one JSON value, as `read_messages` does."""
    batch = cast("list[object]", sent) if isinstance(sent, list) else [sent]
    found = (_message(cast("dict[str, Any]", e), waiting) for e in batch if isinstance(e, dict))
    return [message for message in found if message is not None]


def answer_to(asked: RequestId, method: str, text: str) -> JSONRPCMessage:
    """Return the one answer in `text`, all of which was sent in answer to one request."""
    for message in read_messages(text, {asked: method}):
        if not hasattr(message, "method"):
            return message
    words = words_of(text.strip(_AROUND))
    said = f"does not answer the request: {words}" if words else "is empty."
    return failure(asked, f"Its answer {said}")


def own_code(code: int) -> int:
    """Return the code of a server's own error, apart from the codes that mean a lost connection."""
    return INTERNAL_ERROR if code in (CONNECTION_CLOSED, REQUEST_TIMEOUT) else code


def is_unread(code: object) -> bool:
    """Return whether an error may say that a request was not read, so that its id is unknown."""
    return code in (None, PARSE_ERROR, INVALID_REQUEST)


def failure(
    asked: RequestId | None, words: str, code: int = INTERNAL_ERROR, data: object = None
) -> JSONRPCMessage:
    """Return a JSON-RPC error; half a character in its words cannot be sent on."""
    error: dict[str, object] = {"code": code, "message": words.encode("utf-8", "replace").decode()}
    if data is not None:
        error["data"] = data
    body = {"jsonrpc": "2.0", "id": asked, "error": error}
    return jsonrpc_message_adapter.validate_python(body)


def to_line(message: JSONRPCMessage) -> str:
    """Return a message as one line of JSON."""
    return json.dumps(message.model_dump(mode="json", by_alias=True, exclude_unset=True))


def _message(sent: dict[str, Any], waiting: Waiting) -> JSONRPCMessage | None:
    if isinstance(sent.get("method"), str) and not sent.keys() & {"result", "error"}:
        return _valid({**sent, "jsonrpc": "2.0"})
    error: object = sent.get("error")
    fields: dict[str, Any] = {"message": error}
    if isinstance(error, dict):
        fields = cast("dict[str, Any]", error)
    asked = _asked(sent.get("id"), waiting)
    is_answer = "result" in sent or (error is not None and is_unread(fields.get("code")))
    if sent.get("id") is None and is_answer and len(waiting) == 1:
        asked = next(iter(waiting))
    if asked is None:
        return None
    if error is not None:
        return _error(asked, fields)
    shown: object = sent
    result: object = sent.get("result")
    if "result" not in sent:
        why = "has neither a result nor an error"
    elif sent.get("id") is None:
        why = "does not say to which request"
    elif not isinstance(result, dict):
        why, shown = "has a result that is not an object", result
    else:
        fine, shown = cast("dict[str, Any]", result), cast("object", result)
        if waiting[asked] == LISTING:
            fine = _sound_listing(fine)
        if (why := why_unsound(fine)) is None:
            return _valid({"jsonrpc": "2.0", "id": asked, "result": fine})
    return failure(asked, f"Its answer {why}: {_shown(shown)}")


def _asked(sent: object, waiting: Waiting) -> RequestId | None:
    """Return which request an id means: servers write 3 as "3" and as 3.0."""
    said = str(sent).strip().removesuffix(".0")
    return next((each for each in waiting if str(each) == said), None)


def _error(asked: RequestId, fields: dict[str, Any]) -> JSONRPCMessage:
    """Return an error with the server's words, in whatever form they came."""
    sent, words, data = fields.get("code"), fields.get("message") or fields, fields.get("data")
    code = own_code(sent) if type(sent) is int else INTERNAL_ERROR
    text = words if isinstance(words, str) else _shown(words)
    return failure(asked, text, code, data if why_unsound(data) is None else None)


def _valid(message: dict[str, Any]) -> JSONRPCMessage | None:
    try:
        return jsonrpc_message_adapter.validate_python(message, by_name=False)
    except (ValueError, RecursionError):
        return None


def _sound_listing(result: dict[str, Any]) -> dict[str, Any]:
    """Return a page of tools, with the reason in place of each tool that cannot be sent on."""
    tools: object = result.get("tools")
    if not isinstance(tools, list):
        return result
    sound: list[object] = []
    for tool in cast("list[object]", tools):
        if (why := why_unsound(tool)) is not None:
            fields = cast("dict[str, object]", tool) if isinstance(tool, dict) else {}
            name = fields.get("name", "")
            sound.append({"name": ascii(name)[1:-1], UNSOUND: why})
        else:
            sound.append(tool)
    return {**result, "tools": sound}


def why_unsound(value: object) -> str | None:
    """Return why a value of a server cannot be kept as it came, or None."""
    if _is_deeper(value, _DEEPEST - 1):
        return f"is nested more than {_DEEPEST} levels deep"
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "holds text that is not Unicode (half a character, or bytes that are not UTF-8)"
    except ValueError:
        return "holds a number that JSON does not have (NaN or Infinity)"
    return None


def _is_deeper(value: object, levels: int) -> bool:
    inner: object = cast("dict[str, object]", value).values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return levels < 0
    return levels < 0 or any(_is_deeper(e, levels - 1) for e in cast("list[object]", inner))


def _shown(value: object) -> str:
    try:
        return words_of(json.dumps(value))
    except (ValueError, RecursionError):
        return type(value).__name__


def words_of(text: str) -> str:
    """Return what a server wrote, cut; of a web page its title."""
    words = page_title(text) or " ".join(text[: 4 * _LONGEST_WORDS].split())
    return clean(words, _LONGEST_WORDS)


def clean(text: str, most: int = LONGEST_MESSAGE) -> str:
    r"""Return `text` without control and invisible characters, at most `most` characters of it.

    >>> clean("a\x1b[31mb\u202ec")
    'a[31mbc'
    """
    short = text if len(text) <= most else text[: most - 1] + "…"
    if short.isascii() and short.isprintable():
        return short
    return "".join(c for c in short if c in _KEPT or unicodedata.category(c) not in _OUT)


def reason_of(error: BaseException) -> str:
    """Return why a connection failed; a group of errors is its first one."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    match error:
        case MCPError():
            return clean(error.message) or "The server answered with an error."
        case ValidationError():
            found = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(each) for each in found["loc"])
            return clean(f"{place}: {found['msg']}" if place else found["msg"], 200)
        case FileNotFoundError():
            return f"there is no {error.filename or 'such command'!r} to start"
        case OSError():
            return error.strerror or type(error).__name__
        case TimeoutError():
            return "it did not answer in time"
        case _:
            text = clean(str(error)).partition("\n")[0]
            return f"{type(error).__name__}: {text}" if text else type(error).__name__
