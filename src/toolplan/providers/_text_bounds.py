"""Limits on a reply: its length, and repetition."""

from __future__ import annotations

from typing import Final

_CHARS_PER_TOKEN: Final = 16
"""More than the tokens of any text in a natural language or JSON have on average."""
_ROOM_CHARS: Final = 1_000
_REPEATS: Final = 12
_PERIODS: Final = (200, 1_000)
_BETWEEN_CHECKS: Final = 600


def most_chars(max_tokens: int) -> int:
    """Return the most characters that a reply of `max_tokens` tokens may have."""
    return max_tokens * _CHARS_PER_TOKEN + _ROOM_CHARS


class TextBounds:
    """Watches one reply.

    It is `llm-too-long` beyond `max_chars` characters, and `llm-degenerate` when its end repeats
    at most 1,000 characters 12 times. The check looks at the end only, and once every 600
    characters.
    """

    def __init__(self, max_chars: int) -> None:
        """Start with an empty reply."""
        self._max_chars = max_chars
        self._chars = 0
        self._unchecked = 0
        self._end = ""

    def breach(self, text: str) -> str | None:
        """Take more of the reply; return the code of what is wrong with it, or None."""
        self._chars += len(text)
        self._unchecked += len(text)
        if self._chars > self._max_chars:
            return "llm-too-long"
        self._end = (self._end + text)[-_PERIODS[-1] * _REPEATS :]
        if self._unchecked < _BETWEEN_CHECKS:
            return None
        self._unchecked = 0
        return "llm-degenerate" if any(goes_round(self._end, p) for p in _PERIODS) else None


def goes_round(text: str, period: int) -> bool:
    """Return whether the end of `text` repeats at most `period` characters, 12 times or more often.

    >>> goes_round("Once. " + "and so on " * 240, 200)
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
