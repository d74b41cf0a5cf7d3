"""What servers write: a message that the SDK's types accept is taken, any other answer is an error.

The SDK drops an answer that it cannot read, and the request waits for its time limit. Here such an
answer becomes an error of its request, in the server's own words. So does one that the SDK reads,
but not exactly: with a key twice in an object, a number that JSON does not have, half a character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, TypeGuard, cast

from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    REQUEST_TIMEOUT,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

from toolplan.sources.mcp._texts import clean
from toolplan.sources.replies import InexactJson, page_title, read_json

Waiting: TypeAlias = Mapping[RequestId, str]
"""The requests that have no answer yet: the method of each, by its id."""

LISTING: Final = "tools/list"
UNSOUND: Final = "toolplan/unsound"
"""In place of a tool that cannot be sent on: why."""

UNUSABLE: Final = -32_091
"""The code of an answer that cannot be used; the SDK gives it no meaning."""

_DEEPEST: Final = 150
"""Levels of nesting of an answer; the SDK reads no more than about 200."""
_LONGEST_WORDS: Final = 500
_AROUND: Final = "\ufeff \t\r\n\0"
_ID: Final = re.compile(r'"id"\s*:\s*"?(\d{1,18}|null)"?\s*[,.}]')
_OF_THE_CONNECTION: Final = frozenset({CONNECTION_CLOSED, REQUEST_TIMEOUT})


def read_message(text: str, waiting: Waiting) -> JSONRPCMessage | None:
    """Return the message in a line, a body or an event, or the error of the request it answers.

    None where the text is neither: a line of a log, for instance.
    """
    try:
        message = jsonrpc_message_adapter.validate_python(read_json(text), by_name=False)
    except (ValueError, RecursionError) as error:
        found = _ID.search(text) if text.lstrip(_AROUND).startswith(("{", "[")) else None
        asked = None if found is None else asked_in(found[1], waiting)
        if found is not None and found[1] == "null" and len(waiting) == 1:
            asked = next(iter(waiting))
        if asked is None:
            return None
        why = str(error) if isinstance(error, InexactJson) else "not valid in the protocol"
        return failure(asked, f"Its answer is {why}: {words_of(text)}")
    return checked(message, waiting)


def checked(message: JSONRPCMessage, waiting: Waiting) -> JSONRPCMessage:
    """Return a message that the SDK has read, or an error where it is an inexact answer."""
    if isinstance(message, JSONRPCError):
        message.error.code = own_code(message.error.code)
        message.error.message = _sendable(message.error.message)
        if why_unsound(message.error.data) is not None:
            message.error.data = None
    asked = asked_in(message.id, waiting) if isinstance(message, JSONRPCResponse) else None
    if asked is None or not isinstance(message, JSONRPCResponse):
        return message
    if waiting[asked] == LISTING:
        _mark_unsound_tools(message.result)
    why = why_unsound(message.result)
    if why is None:
        return message
    return failure(asked, f"Its answer {why}: {words_of(json.dumps(message.result, default=repr))}")


def answer_to(asked: RequestId, method: str, text: str) -> JSONRPCMessage:
    """Return the one answer in `text`, all of which was sent in answer to one request."""
    message = read_message(text, {asked: method})
    if is_answer(message, {asked: method}):
        return message
    if not text.strip():
        return failure(asked, "Its answer is empty.")
    return failure(asked, f"Its answer does not answer the request: {words_of(text)}")


def is_answer(
    message: JSONRPCMessage | None, waiting: Waiting
) -> TypeGuard[JSONRPCResponse | JSONRPCError]:
    """Return whether a message answers a waiting request, or says that it could not be read."""
    if not isinstance(message, JSONRPCResponse | JSONRPCError):
        return False
    return message.id is None or asked_in(message.id, waiting) is not None


def asked_in(sent: object, waiting: Waiting) -> RequestId | None:
    """Return the waiting request that an id means; the SDK reads 3 and "3" as one."""
    return next((each for each in waiting if str(each) == str(sent)), None)


def own_code(code: int) -> int:
    """Return the code of a server's own error, apart from the codes that mean a lost connection."""
    return INTERNAL_ERROR if code in _OF_THE_CONNECTION else code


def words_of(text: str) -> str:
    """Return what a server wrote, cut; of a web page its title."""
    words = page_title(text) or " ".join(text[: 4 * _LONGEST_WORDS].split())
    return clean(words, _LONGEST_WORDS)


def failure(asked: RequestId | None, words: str, code: int = UNUSABLE) -> JSONRPCError:
    """Return a JSON-RPC error."""
    error = {"code": code, "message": _sendable(words)}
    return JSONRPCError.model_validate({"jsonrpc": "2.0", "id": asked, "error": error})


def _sendable(text: str) -> str:
    """Return `text` without half characters, which cannot be sent on."""
    return text.encode("utf-8", "replace").decode()


def to_line(message: JSONRPCMessage | dict[str, Any]) -> str:
    """Return a message as one line of JSON."""
    if not isinstance(message, dict):
        message = message.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return json.dumps(message)


def _mark_unsound_tools(result: dict[str, Any]) -> None:
    """Put the reason in place of each tool of a page that cannot be sent on."""
    tools: object = result.get("tools")
    if not isinstance(tools, list):
        return
    sound: list[object] = []
    for tool in cast("list[object]", tools):
        why = why_unsound(tool)
        name: object = cast("dict[str, object]", tool).get("name") if why else None
        sound.append(tool if why is None else {"name": ascii(name)[1:-1], UNSOUND: why})
    result["tools"] = sound


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


def ids_of(request: bytes) -> tuple[RequestId, str] | None:
    """Return the id and the method of the request in a body; None where it wants no answer."""
    match json.loads(request or b"null"):
        case {"id": int() | str() as asked, "method": str(method)}:
            return asked, method
        case _:
            return None
