"""Exceptions of tools after which it is not known whether the call took effect."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from enum import IntEnum
from typing import Final, cast

from toolplan.schema.tool import OutcomeUnknown, ToolError

_MOST: Final = 100
"""Maximum number of exceptions examined in one chain."""

_LOST: Final = (
    ConnectionResetError,
    BrokenPipeError,
    ConnectionAbortedError,
    EOFError,
    KeyboardInterrupt,
    GeneratorExit,
    OutcomeUnknown,
    UnicodeDecodeError,
)
_NOT_SENT: Final = (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)
_OPEN: Final = (ConnectionError, TimeoutError, ssl.SSLError, asyncio.CancelledError)

# libraries that need not be installed, by the names of their classes
_LOST_NAMES: Final = frozenset(
    {"ReadTimeout", "WriteTimeout", "ReadError", "WriteError", "CloseError",
     "RemoteProtocolError", "ReadTimeoutError", "ProtocolError", "IncompleteRead",
     "RemoteDisconnected", "BadStatusLine", "ChunkedEncodingError", "ContentDecodingError",
     "DecodingError", "JSONDecodeError", "ServerDisconnectedError", "ServerTimeoutError",
     "SocketTimeoutError", "ClientPayloadError", "ConnectionClosed", "BrokenResourceError",
     "EndOfStream", "TimeoutExpired", "BrokenExecutor", "SMTPServerDisconnected",
     "ContentTooShortError", "BadGzipFile", "ConnectionClosedError", "ConnectionLost",
     "ConnectionDoesNotExistError", "StreamLostError"}
)  # fmt: skip
_NOT_SENT_NAMES: Final = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectTimeoutError", "ConnectionTimeoutError",
     "NewConnectionError", "NameResolutionError", "PoolTimeout", "ClientConnectorError",
     "EndpointConnectionError"}
)  # fmt: skip
_OPEN_NAMES: Final = frozenset(
    {"Timeout", "TimeoutException", "TimeoutError", "ConnectionError", "NetworkError",
     "TransportError", "ClientOSError", "APITimeoutError", "APIConnectionError"}
)  # fmt: skip

_OPEN_NUMBERS: Final = frozenset(
    {errno.ENETRESET, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH,
     errno.ENOTCONN, errno.EIO}
)  # fmt: skip
"""Errors of the system that an established connection can have too."""

_UNSURE_STATUSES: Final = frozenset({408, 502, 504})
"""Statuses of a service, or of a gateway before it, that gave no answer in time."""

_LOST_STATES: Final = ("08", "57P0")
"""How the codes of SQL begin where a database closed, or lost, the connection."""


class _Evidence(IntEnum):
    """The evidence of an exception about a call; of several in a chain the strongest counts."""

    NONE = 0
    OPEN = 1
    NOT_SENT = 2
    LOST = 3


def may_have_happened(error: BaseException) -> bool:
    """Return whether a call that raised `error` may have taken effect all the same.

    True where the connection was lost, no answer came in time, or the answer could not be
    read, and where such an error is the cause. False where nothing was sent, and where the tool
    itself says that it failed (`ToolError`).
    """
    return _may_have_happened(error, set())


def _may_have_happened(error: BaseException, seen: set[int]) -> bool:
    strongest = _Evidence.NONE
    each: BaseException | None = error
    while each is not None and id(each) not in seen and len(seen) < _MOST:
        seen.add(id(each))
        if any(_may_have_happened(member, seen) for member in members_of(each)):
            return True
        strongest = max(strongest, _evidence(each))
        if isinstance(each, ToolError):
            break  # an answer of the tool, whatever led to it
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    return strongest in (_Evidence.OPEN, _Evidence.LOST)


def members_of(error: BaseException) -> tuple[BaseException, ...]:
    """Return the exceptions of a group; empty for any other exception."""
    if not isinstance(error, BaseExceptionGroup):
        return ()
    return cast("BaseExceptionGroup[BaseException]", error).exceptions


def _evidence(error: BaseException) -> _Evidence:
    if isinstance(error, OutcomeUnknown):
        return _Evidence.LOST
    if isinstance(error, ToolError):
        return _Evidence.NONE
    names = {each.__name__ for each in type(error).__mro__}
    if isinstance(error, _NOT_SENT) or names & _NOT_SENT_NAMES:
        return _Evidence.NOT_SENT
    if isinstance(error, _LOST) or names & _LOST_NAMES or _ended_unseen(error, names):
        return _Evidence.LOST
    is_open = isinstance(error, OSError) and error.errno in _OPEN_NUMBERS
    if is_open or isinstance(error, _OPEN) or names & _OPEN_NAMES:
        return _Evidence.OPEN
    return _Evidence.NONE


def _ended_unseen(error: BaseException, names: set[str]) -> bool:
    """Return whether the exception's fields say that an answer is missing."""
    try:
        if "CalledProcessError" in names:
            return cast("int", getattr(error, "returncode", 0)) < 0  # ended by a signal
        if "OperationalError" in names and hasattr(error, "sqlstate"):
            state = cast("str | None", getattr(error, "sqlstate", None))
            return state is None or state.startswith(_LOST_STATES)
        answered = getattr(error, "response", None)
        places = (answered, "status_code"), (error, "status_code"), (error, "status")
        return any(
            getattr(each, name, None) in _UNSURE_STATUSES
            for each, name in (*places, (error, "code"))
        )
    except Exception:  # the fields are code of the tool
        return False
