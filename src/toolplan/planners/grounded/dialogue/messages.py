"""The content of a follow-up, without openings like *and what about …*, *the same for …*."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from toolplan.planners.grounded.dialogue.insert import Mode
from toolplan.planners.grounded.dialogue.reading import Placed, Words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import fold
from toolplan.planners.grounded.parse.mentions import (
    Code,
    Imperative,
    Mention,
    Name,
    Number,
    Quoted,
    Time,
    Unknown,
)

_I: Final = re.IGNORECASE
_OPENING: Final = re.compile(
    r"\s*(?:(?:(?:yes|no)(?=\s*[,.!])|ok|okay|thanks|thank you|great|good|so|then|well|hm+|oh|right"
    r"|and|but|now|also|please|actually|rather|i mean|i meant|what about|how about|what if)\b"
    r"[\s,.!]*)+",
    _I,
)
_SAME: Final = re.compile(
    r"\s*(?:(?:(?:show|give|get|do|run|list|tell|repeat)\s+(?:me\s+|us\s+)?)?(?:exactly\s+)?"
    r"(?:the\s+)?(?:same|ditto)\b|(?:repeat|do|run)\s+(?:it|that|this)\b|again\b)"
    r"(?:\s+(?:thing|query|question|search|list|report|again|plan))*[\s,]*"
    r"(?:but\b\s*)?",
    _I,
)
_BESIDES: Final = re.compile(
    r"^\W*(?:also|or|plus|along with|together with)\b|\b(?:too|as well|besides|in addition)\W*$", _I
)
_INSTEAD: Final = re.compile(r"\s*,?\s*\b(?:instead of|rather than|in place of)\s+(.+)$", _I)
_VERB: Final = re.compile(r"(?:show|use|take|give|get|list|put)(?:\s+(?:me|us))?\s+", _I)
_JUST_INSTEAD: Final = re.compile(r",?\s*\binstead\b", _I)
_PLEASE: Final = re.compile(r"[\s,]*\b(?:please|thanks|thank you)[\s.!?]*$", _I)
_NARROWING: Final = re.compile(
    r"\b(?:only|just|solely|(?:of|among) (?:them|those|these|it)|which of|how many of)\b", _I
)
_REMOVING: Final = re.compile(
    r"\s*(?:without|no|drop|remove|ignore|regardless of|irrespective of|never mind|skip|any)\s+"
    r"(?:(?:the|a|an|any|that|this)\s+)?(?P<what>[\w -]+?)"
    r"(?:\s+(?:filter|restriction|condition|limitation))?\s*[.!?]*\s*$",
    _I,
)
_GROUPING: Final = re.compile(
    r"^(?:group|split|break|sum)(?:ed)?\s+(?:(?:them|it|those|these|that)\s+)?(?:(?:down|up)\s+)?by\b",
    _I,
)
_NARROWED: Final = re.compile(
    r"\b(?:only|just|solely|(?:the |those )?ones?|those|these|of (?:them|those|these))\b\s*", _I
)
_TIMES: Final = frozenset(["date", "dates", "time", "times", "period", "time range", "timeframe"])
_LIMITS: Final = frozenset(["limit", "limits", "maximum", "cap"])
_COUNTING: Final = re.compile(
    r"\s*(?:how many|what number|count)(?:\s+of\s+(?:them|those|these|the ones))?\b", _I
)
_SEEN: Final = re.compile(
    r"(?:(?:list|show|give|get|let me see|see)\s+(?:me\s+|us\s+)?(?:all\s+(?:of\s+)?)?"
    r"(?:them|those|these)(?:\s+all)?|which ones?(?:\s+(?:are|were)\s+(?:they|those|these|it))?"
    r"|which (?:are|were) (?:they|those|these))",
    _I,
)
_PRONOUNS: Final = re.compile(r"\b(?:their|its|them|those|these|they|it|theirs|there|that)\b", _I)
_SINGULAR: Final = re.compile(r"\b(?:its|it)\b", _I)
_ONES: Final = re.compile(r"\b(?:ones|one|those|these)\b", _I)
_GENERAL: Final = (
    WordClass.FILLER, WordClass.WHICH, WordClass.DETAIL, WordClass.AND, WordClass.OR,
    WordClass.COMMA, WordClass.STOP, WordClass.THEN,
    WordClass.THEIR, WordClass.EACH, WordClass.RELATIVE, WordClass.BE, WordClass.HAVE,
    WordClass.LINK, WordClass.CUE, WordClass.READ,
)  # fmt: skip


class Message(Struct, frozen=True):
    """A follow-up, read.

    Attributes:
        rest: its text without openings.
        placed: the mentions of `rest`.
        mode: see `toolplan.planners.grounded.dialogue.insert`.
        same: it asks for *the same*, with a change.
        besides: it adds a value: *a too*.
        old: the value to replace, where it is named.
    """

    rest: str
    placed: tuple[Placed, ...]
    mode: Mode
    same: bool
    besides: bool
    old: Placed | None

    @property
    def nouns(self) -> tuple[Mention, ...]:
        """The words for kinds of things."""
        return tuple(each.mention for each in self.placed if each.mention.nouns)

    @property
    def points_back(self) -> bool:
        """Whether a pronoun refers to the previous result."""
        return _PRONOUNS.search(self.rest) is not None

    @property
    def is_singular(self) -> bool:
        """Whether the pronoun is singular."""
        return _SINGULAR.search(self.rest) is not None

    @property
    def compares(self) -> bool:
        """Whether it compares something with the previous result."""
        return any(each.mention.does(WordClass.COMPARE) for each in self.placed)

    @property
    def groups(self) -> bool:
        """Whether it asks for groups: "by month", "per town"."""
        first = self.placed[0].mention if self.placed else None
        return first is not None and first.does(WordClass.BY, WordClass.EACH_PERIOD)

    @property
    def chooses(self) -> bool:
        """Whether it begins with "which"."""
        return bool(self.placed) and self.placed[0].mention.does(WordClass.WHICH)

    @property
    def denies(self) -> bool:
        """Whether it has a negation."""
        return any(each.mention.does(WordClass.NOT, WordClass.WITHOUT) for each in self.placed)

    @property
    def restricts(self) -> bool:
        """Whether it begins like a restriction: "for the boxes in York"."""
        begins = self.placed[0].mention if self.placed else None
        return begins is not None and begins.does(WordClass.CUE) and not self.points_back

    @property
    def asks_for_them(self) -> bool:
        """Whether it only asks to list the things: "list them", "which ones?"."""
        return _SEEN.fullmatch(self.rest) is not None

    @property
    def commands(self) -> bool:
        """Whether it is an imperative that changes something."""
        changing = (WordClass.CREATE, WordClass.UPDATE, WordClass.DELETE)
        return any(
            isinstance(m.what, Imperative) or (m.does(*changing) and not m.does(WordClass.READ))
            for m in (each.mention for each in self.placed[:2])
        )

    @property
    def counted(self) -> str | None:
        """The text after "how many (of them)", or None."""
        found = _COUNTING.match(self.rest)
        return None if found is None else self.rest[found.end() :].strip()

    @property
    def bare(self) -> str:
        """The text without words that only narrow: "rejected" of "only the rejected ones"."""
        left = " ".join(_NARROWED.sub("", self.rest).split())
        return left.removeprefix("the ").strip() or self.rest

    @property
    def leaves_open(self) -> bool:
        """Whether it has a word like "ones" for the things."""
        return _ONES.search(self.rest) is not None

    @property
    def removed(self) -> str | None:
        """The words for what is to be removed, or None."""
        found = _REMOVING.match(self.rest)
        return None if found is None else found["what"].strip()

    def naming(self, things: str, thing: str | None = None) -> str:
        """Return the message with the noun `things` (`thing` for one) for "ones"."""

        def noun(found: re.Match[str]) -> str:
            return thing if thing is not None and found[0].lower() == "one" else things

        named, count = _ONES.subn(noun, self.rest, count=1)
        return named if count else f"{self.rest} ({things})"


def read_message(text: str, words: Words) -> Message:
    """Read the follow-up `text`."""
    rest = text.strip()
    opening = _OPENING.match(rest)
    besides = _BESIDES.search(rest) is not None
    rest = rest if opening is None else rest[opening.end() :]
    same = _SAME.match(rest)
    rest = rest if same is None else rest[same.end() :]
    rest, old = _replacing(rest, words)
    replaces = old is not None or _JUST_INSTEAD.search(rest) is not None
    rest = _BESIDES.sub("", rest) if besides else rest
    rest = _PLEASE.sub("", _JUST_INSTEAD.sub("", rest)).strip(" ,?.!")
    rest = _GROUPING.sub("by", rest)
    narrows = same is None and _NARROWING.search(rest) is not None
    mode: Mode = "replaces" if replaces else "narrows" if narrows else "adds"
    placed = words.read(rest)
    if (
        placed
        and not placed[0].mention.is_value
        and not isinstance(placed[0].mention.what, Unknown)
    ):
        rest = rest[:1].lower() + rest[1:]
    return Message(rest, placed, mode, same is not None, besides, old)


def _replacing(rest: str, words: Words) -> tuple[str, Placed | None]:
    """Return the new text and the old value of "a instead of b" and "instead of b, a"."""
    instead = _INSTEAD.search(rest)
    if instead is None:
        return rest, None
    behind = instead[1]
    old = next((each for each in words.read(behind) if says(each.mention)), None)
    if old is None:
        return rest, None
    if instead.start() > 0:
        return rest[: instead.start()], old
    return _VERB.sub("", behind[old.end :].strip(" ,")), old


def says(mention: Mention) -> bool:
    """Return whether it is content by itself: a value, a time, a number, an unknown word."""
    if isinstance(mention.what, Time | Number | Code | Name | Quoted | Unknown | Imperative):
        return True
    if mention.values or mention.columns or mention.reports:
        return True
    return bool(mention.classes) and not mention.does(*_GENERAL)


def speaks_of_time(what: str) -> bool:
    """Return whether `what` means the time of things: "the dates"."""
    return fold(what) in _TIMES


def speaks_of_limit(what: str) -> bool:
    """Return whether `what` means the limit."""
    return fold(what) in _LIMITS
