"""What functions of meaning get and yield."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from toolplan_offline.lexicon import Lexicon
from toolplan_offline.meaning import Meaning

Part: TypeAlias = Any
"""The meaning of a part of a question: a modifier, a thing, an amount, a group or a question."""
Out: TypeAlias = Iterator[tuple[Any, int]]
"""The ways in which parts fit together, with their costs."""


class World:
    """What functions of meaning know.

    Attributes:
        lex: the lexicon.
        before: the meaning of the question before, in a conversation.
        why: what was refused on purpose, in words for the user.
        today: the day of the question, as a text.
    """

    def __init__(self, lex: Lexicon, before: Meaning | None = None) -> None:
        """Set up for a lexicon and, in a conversation, the previous question."""
        self.lex = lex
        self.before = before
        self.why: dict[str, None] = {}
        self.today = ""

    def refuse(self, reason: str) -> None:
        """Record the reason for refusing a reading."""
        self.why[reason] = None
