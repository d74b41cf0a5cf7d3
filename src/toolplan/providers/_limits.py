"""Limits of calls to models: deadlines, pauses, and the length of replies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from random import SystemRandom
from typing import Final

from msgspec import Struct

from toolplan.providers._endpoint import CallFailed, Failure, Part

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 20.0
_CHARS_PER_TOKEN: Final = 16
"""More than the tokens of any text in a natural language or JSON have on average."""
_ROOM_CHARS: Final = 1_000
_REPEATS: Final = 12
_PERIODS: Final = (200, 1_000)
_BETWEEN_CHECKS: Final = 600


class RetryPolicy(Struct, frozen=True):
    """Deadlines in seconds, how often a model is asked, and the pauses in between.

    Attributes:
        total_s: of one call, from its start to the end of the reply.
        between_pieces_s: between two pieces.
        tries: maximum number of calls to one model for one reply, where asking again may help.
        max_calls: maximum number of calls to all models for one reply.
        clock: a monotonic clock, in seconds.
        sleep: makes a pause.
        chance: returns a random number from 0.0 to 1.0.
    """

    total_s: float = 60.0
    between_pieces_s: float = 30.0
    tries: int = 3
    max_calls: int = 8
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = SystemRandom().random

    def pause_s(self, failure: Failure, tried: int) -> float | None:
        """Return the pause before the next try, after `tried` of them, or None for no more tries.

        It is the pause that the endpoint asks for; else half a second, doubled by each try, times
        0.5 to 1.5 by chance, so that many clients that failed together do not return together.
        An endpoint that asks for more than 20 seconds is not asked again.
        """
        if tried >= self.tries:
            return None
        asked = failure.retry_after_s
        if asked is not None:
            return max(0.0, asked) if asked <= _LONGEST_PAUSE_S else None
        return min(_FIRST_PAUSE_S * 2.0 ** (tried - 1) * (0.5 + self.chance()), _LONGEST_PAUSE_S)


async def in_time(
    parts: AsyncGenerator[Part], name: str, retry_policy: RetryPolicy
) -> AsyncGenerator[Part]:
    """Yield `parts` as long as they come in time.

    Each wait has its own limit; the time that the caller takes between two parts does not count.

    Raises:
        CallFailed: `llm-timeout`.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + retry_policy.total_s
    bound = retry_policy.total_s
    while True:
        left = end - clock()
        try:
            async with asyncio.timeout(max(0.0, min(bound, left))):
                part = await anext(parts)
        except StopAsyncIteration:
            return
        except TimeoutError:
            message = f"took over {retry_policy.total_s:g} s"
            if bound < left:
                message = f"stopped in the middle of its reply for {bound:g} s"
            raise CallFailed(timed_out(name, message)) from None
        bound = retry_policy.between_pieces_s
        yield part


def timed_out(name: str, what: str) -> Failure:
    """Return the failure of a call that took too long; `what` says how long."""
    help = "Allow more seconds (TOOLPLAN_MODEL_TIMEOUT), or name another model."
    return Failure("llm-timeout", f"{name} {what}.", help)


class TextBounds:
    """Watches one reply.

    It is `llm-too-long` beyond 16 characters a token and 1,000 more, and `llm-degenerate` when its
    end repeats at most 1,000 characters 12 times. The check looks at the end only, and once every
    600 characters.
    """

    def __init__(self, max_tokens: int) -> None:
        """Start with an empty reply of at most `max_tokens` tokens."""
        self._max_chars = max_tokens * _CHARS_PER_TOKEN + _ROOM_CHARS
        self._chars = 0
        self._unchecked = 0
        self._end = ""

    def breach(self, text: str) -> str | None:
        """Take more of the reply; return the code of its fault, or None."""
        self._chars += len(text)
        self._unchecked += len(text)
        if self._chars > self._max_chars:
            return "llm-too-long"
        self._end = (self._end + text)[-_PERIODS[-1] * _REPEATS :]
        if self._unchecked < _BETWEEN_CHECKS:
            return None
        self._unchecked = 0
        return "llm-degenerate" if any(_is_repeated(self._end, p) for p in _PERIODS) else None


def _is_repeated(text: str, period: int) -> bool:
    """Return whether the end of `text` repeats at most `period` characters 12 times or more.

    >>> _is_repeated("Once. " + "and so on " * 240, 200)
    True
    """
    if len(text) < period * _REPEATS:
        return False
    end = text[-period * _REPEATS :]
    # A probe of two periods recurs at the least period of a repetition, and nowhere before.
    probe = end[-2 * period :]
    at = end.rfind(probe, 0, -1)
    shift = len(end) - len(probe) - at
    return at >= 0 and shift <= period and end[shift:] == end[:-shift]
