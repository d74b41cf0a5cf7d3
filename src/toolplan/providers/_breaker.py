"""A circuit breaker: an endpoint that keeps failing is not asked for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

THRESHOLD: Final = 5
RESET_S: Final = 60.0


class Breaker:
    """Opens after `threshold` failures in a row, and lets one call through after `reset_s` seconds.

    A call that tries and fails, or whose end is never reported, keeps it open for as long again.
    `clock` is monotonic, in seconds.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        threshold: int = THRESHOLD,
        reset_s: float = RESET_S,
    ) -> None:
        """Start closed."""
        self._clock = clock
        self._threshold = threshold
        self._reset_s = reset_s
        self._failures = 0
        self._shut_until = 0.0

    @property
    def failures(self) -> int:
        """The number of failures in a row."""
        return self._failures

    def admits(self) -> bool:
        """Return whether a call may be made now; if it is open, this is the call that tries."""
        if self._failures < self._threshold:
            return True
        now = self._clock()
        if now < self._shut_until:
            return False
        self._shut_until = now + self._reset_s
        return True

    def wait_s(self) -> float:
        """Return the seconds until a call may try; 0.0 where one may be made now."""
        if self._failures < self._threshold:
            return 0.0
        return max(0.0, self._shut_until - self._clock())

    def succeeded(self) -> None:
        """Record that a call was answered."""
        self._failures = 0

    def failed(self) -> None:
        """Record that a call failed."""
        self._failures += 1
        if self._failures >= self._threshold:
            self._shut_until = self._clock() + self._reset_s
