"""Input and output of functions of meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from toolplan_offline.lexicon import Lexicon
from toolplan_offline.meaning import Meaning

Part: TypeAlias = Any
"""The meaning of a part of a question: a modifier, a thing, an amount, a group or a question."""
Out: TypeAlias = Iterator[tuple[Any, int]]
"""The ways in which parts fit together, with their costs."""


@dataclass(slots=True)
class World:
    """The context of functions of meaning.

    Attributes:
        lex: the lexicon.
        before: the meaning of the question before, in a conversation.
        why: the reasons for refused readings, in words for the user.
        today: the day of the question, as a text.
    """

    lex: Lexicon
    before: Meaning | None = None
    why: dict[str, None] = field(default_factory=dict[str, None])
    today: str = ""

    def refuse(self, reason: str) -> None:
        """Record the reason for refusing a reading."""
        self.why[reason] = None
