"""Deadlines and retries of calls to models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

from msgspec import Struct

from toolplan.providers import _faults
from toolplan.providers._endpoint import Part
from toolplan.providers._failures import CallFailed, Failure

_FIRST_PAUSE_S: Final = 0.5


class Runtime(Struct, frozen=True):
    """The outside world: a monotonic clock in seconds, sleep, and chance from 0.0 to 1.0."""

    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]


class RetryPolicy(Struct, frozen=True):
    """Deadlines in seconds, and how often a model is asked.

    Attributes:
        total_s: of one call, from its start to the end of the reply.
        first_piece_s: until the first piece of the reply.
        between_pieces_s: between two pieces.
        tries: the most calls to one model for one reply, where asking again may help.
        max_calls: the most calls to all models for one reply.
        longest_pause_s: the longest pause between two tries; an endpoint that asks for a longer
            one is not asked again.
    """

    total_s: float = 60.0
    first_piece_s: float = 60.0
    between_pieces_s: float = 30.0
    tries: int = 3
    max_calls: int = 8
    longest_pause_s: float = 20.0

    def pause_s(self, failure: Failure, tried: int, chance: float) -> float | None:
        """Return the pause before the next try, after `tried` of them, or None for no more tries.

        It is what the endpoint asks for; else half a second, doubled by each try, times 0.5 to 1.5
        by chance, so that many clients that failed together do not return together.
        """
        if tried >= self.tries:
            return None
        asked = failure.retry_after_s
        if asked is not None:
            return max(0.0, asked) if asked <= self.longest_pause_s else None
        pause = _FIRST_PAUSE_S * 2.0 ** (tried - 1) * (0.5 + chance)
        return min(pause, self.longest_pause_s)


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
    bound, what = retry_policy.first_piece_s, "gave no reply"
    while True:
        left = end - clock()
        part: Part = None
        late = False
        try:
            async with asyncio.timeout(max(0.0, min(bound, left))):
                part = await anext(parts)
        except StopAsyncIteration:
            return
        except TimeoutError:
            late = True
        if late:
            said = (
                f"{what} for {bound:g} s"
                if bound < left
                else f"took over {retry_policy.total_s:g} s"
            )
            raise CallFailed(_faults.too_slow(name, said))
        bound, what = retry_policy.between_pieces_s, "stopped in the middle of its reply"
        yield part
