"""What servers write, read leniently: each answer to a request of ours ends that request.

The SDK drops a message that is not JSON-RPC 2.0 to the letter, and the request waits for its time
limit. Here such a message becomes a plain one: notifications and requests keep their meaning, and
an answer that cannot be read becomes an error in the server's own words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

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

from toolplan.tools.mcp._texts import clean
from toolplan.tools.replies import InexactJson, json_object, page_title, read_json

Waiting: TypeAlias = Mapping[RequestId, str]
"""The requests that have no answer yet: the method of each, by its id."""

LISTING: Final = "tools/list"
UNSOUND: Final = "toolplan/unsound"
"""In place of a tool that cannot be sent on: why."""

_AROUND: Final = "\ufeff \t\r\n\0"
_DEEPEST: Final = 150
"""Levels of nesting of an answer; the SDK reads no more than about 200."""
_LONGEST_WORDS: Final = 500
_ID: Final = re.compile(r'"id"\s*:\s*"?(\d{1,18})"?\s*[,}]')
_OF_THE_CONNECTION: Final = frozenset({CONNECTION_CLOSED, REQUEST_TIMEOUT})


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
        sent: object = read_json(text)
    except (ValueError, RecursionError) as error:
        asked = _asked_in(text, waiting)
        why = f"Its answer is {error if isinstance(error, InexactJson) else 'not JSON'}"
        return [] if asked is None else [_failure(asked, f"{why}: {words_of(text)}")]
    return messages_in(sent, waiting)


def messages_in(sent: object, waiting: Waiting) -> list[JSONRPCMessage]:
    """Return the messages of one JSON value, as `read_messages` does."""
    batch = cast("list[object]", sent) if isinstance(sent, list) else [sent]
    found = (_message(cast("dict[str, Any]", e), waiting) for e in batch if isinstance(e, dict))
    return [message for message in found if message is not None]


def answer_to(asked: RequestId, method: str, text: str) -> JSONRPCMessage:
    """Return the one answer in `text`, all of which was sent in answer to one request."""
    text = text.strip(_AROUND)
    for message in read_messages(text, {asked: method}):
        if getattr(message, "method", None) is None:
            return message
    if not text:
        return _failure(asked, "Its answer is empty.")
    return _failure(asked, f"Its answer does not answer the request: {words_of(text)}")


def own_code(code: int) -> int:
    """Return the code of a server's own error, apart from the codes that mean a lost connection."""
    return INTERNAL_ERROR if code in _OF_THE_CONNECTION else code


def is_unread(error: object) -> bool:
    """Return whether an error may say that a request was not read, so that its id is unknown."""
    code = cast("dict[str, object]", error).get("code") if isinstance(error, dict) else None
    return code in (None, PARSE_ERROR, INVALID_REQUEST)


def words_of(text: str) -> str:
    """Return what a server wrote, cut; of a web page its title."""
    words = page_title(text) or " ".join(text[: 4 * _LONGEST_WORDS].split())
    return clean(words, _LONGEST_WORDS)


def failure_body(asked: RequestId | None, code: int, words: str) -> dict[str, Any]:
    """Return a JSON-RPC error."""
    return {"jsonrpc": "2.0", "id": asked, "error": {"code": code, "message": words}}


def to_line(message: JSONRPCMessage | dict[str, Any]) -> str:
    """Return a message as one line of JSON."""
    if not isinstance(message, dict):
        message = message.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return json.dumps(message)


def _message(sent: dict[str, Any], waiting: Waiting) -> JSONRPCMessage | None:
    if isinstance(sent.get("method"), str) and "result" not in sent and "error" not in sent:
        return _valid({**sent, "jsonrpc": "2.0"})
    error = sent.get("error")
    is_alone = "result" in sent or (error is not None and is_unread(error))
    asked = _asked(sent.get("id"), waiting, alone=is_alone)
    if asked is None:
        return None
    if error is not None:
        return _error(asked, error)
    if "result" not in sent:
        return _failure(asked, f"Its answer has neither a result nor an error: {_shown(sent)}")
    result: object = sent["result"]
    if sent.get("id") is None:
        return _failure(asked, f"Its answer does not say to which request: {_shown(sent)}")
    if not isinstance(result, dict):
        return _failure(asked, f"The result in its answer is not an object: {_shown(result)}")
    if waiting[asked] == LISTING:
        result = _sound_listing(cast("dict[str, Any]", result))
    why = why_unsound(cast("object", result))
    if why is not None:
        return _failure(asked, f"Its answer {why}: {_shown(cast('object', result))}")
    return _valid({"jsonrpc": "2.0", "id": asked, "result": result})


def _asked(sent: object, waiting: Waiting, *, alone: bool) -> RequestId | None:
    """Return which request an id means: servers write 3 as "3" and as 3.0."""
    if sent is None:
        return next(iter(waiting)) if alone and len(waiting) == 1 else None
    if isinstance(sent, float) and sent.is_integer():
        sent = int(sent)
    if isinstance(sent, bool) or not isinstance(sent, int | str):
        return None
    return next((each for each in waiting if str(each) == str(sent).strip()), None)


def _asked_in(text: str, waiting: Waiting) -> RequestId | None:
    found = _ID.search(text)
    return None if found is None else _asked(found[1], waiting, alone=False)


def _error(asked: RequestId, error: object) -> JSONRPCMessage | None:
    """Return an error with the server's words, in whatever form they came."""
    code, data = INTERNAL_ERROR, None
    words: object = error
    if isinstance(error, dict):
        fields = cast("dict[str, object]", error)
        sent = fields.get("code")
        if isinstance(sent, int) and not isinstance(sent, bool):
            code = own_code(sent)
        words = fields.get("message") or fields
        data = fields.get("data")
    text = words if isinstance(words, str) else _shown(words)
    return _failure(asked, text, code, data if why_unsound(data) is None else None)


def _failure(
    asked: RequestId, words: str, code: int = INTERNAL_ERROR, data: object = None
) -> JSONRPCMessage:
    # half a character cannot be sent on
    body = failure_body(asked, code, words.encode("utf-8", "replace").decode())
    if data is not None:
        body["error"]["data"] = data
    return jsonrpc_message_adapter.validate_python(body)


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
        why = why_unsound(tool)
        name: object = cast("dict[str, object]", tool).get("name") if why else None
        sound.append(tool if why is None else {"name": ascii(name)[1:-1], UNSOUND: why})
    return {**result, "tools": sound}


def why_unsound(value: object) -> str | None:
    """Return why a value of a server cannot be kept as it came, or None."""
    if _depth_exceeds(value, _DEEPEST):
        return f"is nested more than {_DEEPEST} levels deep"
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return "holds a number that JSON does not have (NaN or Infinity)"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds text that is not Unicode (half a character, or bytes that are not UTF-8)"
    return None


def _depth_exceeds(value: object, most: int) -> bool:
    level: list[object] = [value]
    for _ in range(most):
        level = [
            each
            for outer in level
            if isinstance(outer, dict | list)
            for each in (
                cast("dict[str, object]", outer).values()
                if isinstance(outer, dict)
                else cast("list[object]", outer)
            )
        ]
        if not level:
            return False
    return True


def _shown(value: object) -> str:
    try:
        return words_of(json.dumps(value))
    except (ValueError, RecursionError):
        return type(value).__name__


def ids_of(request: bytes) -> tuple[RequestId, str] | None:
    """Return the id and the method of the request in a body; None where it wants no answer."""
    match json_object(request):
        case {"id": int() | str() as asked, "method": str(method)}:
            return asked, method
        case _:
            return None
