"""A question read into mentions: each word of it belongs to exactly one.

The longest phrase wins; where it contains shorter ones, other readings are offered after it, so
that the parser can fall back on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from itertools import islice
from typing import Final

from toolplan.planners.grounded.catalogue.kinds import (
    Catalogue,
    ColumnOf,
    CueOf,
    Noun,
    Reading,
    ValueOf,
)
from toolplan.planners.grounded.dates import TimeMention, Weeks, find_times
from toolplan.planners.grounded.language import phrases, words
from toolplan.planners.grounded.parse.imperatives import find_imperatives
from toolplan.planners.grounded.parse.mentions import (
    Code,
    Imperative,
    Mention,
    Name,
    Number,
    Phrase,
    Quoted,
    Time,
    Token,
    Unknown,
    What,
)

_MOST_SHORTER: Final = 2
_MOST_READINGS: Final = 16

_TOKEN: Final = re.compile(
    r"""
    (?P<quoted> "[^"]+" | “[^”]+” | (?<!\w)'[^']+'(?!\w) )
    | (?P<possessive> (?<=\d)['’]s\b )
    | (?P<code> [A-Za-z]{1,12}[-_]?\d[\w]*(?:-\w+)* )
    | (?P<number> \d{1,3}(?:,\d{3})+(?:\.\d+)? | \d+(?:\.\d+)? )
    | (?P<word> [^\W\d_]+(?:['’][^\W\d_]+)? )
    | (?P<sign> >= | <= | -> | => | \S )
    """,
    re.VERBOSE,
)
_GROUPED: Final = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_BEFORE_VERBS: Final = words.word_set(", ; : . ! ? and then please to you us me also let")
_ENDING: Final = words.word_set("end ended ending result resulted resulting")
_SIGNS: Final = frozenset("-_()[]{}*\"'“”")
_FOLDED_NEGATIONS: Final = {"can't": "can", "won't": "will", "shan't": "shall", "cannot": "can"}


class Reader:
    """Reads one question.

    `today` is what relative times are counted from.
    """

    def __init__(self, text: str, catalogue: Catalogue, today: date, weeks: Weeks) -> None:
        """Create a reader."""
        self.text = text
        self._catalogue = catalogue
        self._times = find_times(text, today, weeks)
        self._beginning: dict[int, list[Mention]] = {}

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens, in order."""
        return list(_tokens(self.text))

    @cached_property
    def imperatives(self) -> dict[int, Imperative]:
        """The verbs that no tool is known for, by the index of their token."""
        timed = {
            at
            for at, token in enumerate(self.tokens)
            if any(time.start <= token.start < time.end for time in self._times)
        }
        return find_imperatives(self.tokens, self._catalogue, timed)

    def readings(self) -> Iterator[tuple[Mention, ...]]:
        """Yield ways to read the question: that of longest phrases first, then others near it."""
        for shorter in range(_MOST_SHORTER + 1):
            yield from islice(self._with(shorter), _MOST_READINGS)

    def _with(self, shorter: int) -> Iterator[tuple[Mention, ...]]:
        """Yield the readings in which `shorter` phrases are not the longest ones possible."""
        # an explicit stack: a question may be long, and Python's own is not
        stack: list[tuple[int, int, tuple[Mention, ...]]] = [(0, shorter, ())]
        while stack:
            at, left, done = stack.pop()
            if at >= len(self.tokens):
                if left == 0:
                    yield done
                continue
            for rank, mention in reversed(list(enumerate(self._at(at)))):
                if (rank > 0) <= left:
                    stack.append((mention.end, left - (rank > 0), (*done, mention)))

    def _at(self, at: int) -> list[Mention]:
        """Return the mentions that may begin at `at`, the longest first."""
        if at not in self._beginning:
            self._beginning[at] = list(self._find(at))
        return self._beginning[at]

    def _find(self, at: int) -> Iterator[Mention]:
        token = self.tokens[at]
        for time in self._times:
            if time.start <= token.start < time.end:
                yield self._mention(at, self._behind(at, time), Time(time))
                return
        if at in self.imperatives:
            yield self._mention(at, at + 1, self.imperatives[at])
            return
        if self._is_one_by_one(at):
            yield self._mention(at, at + 3, Phrase((), frozenset([phrases.WordClass.FILLER])))
            return
        found = self._phrases(at)
        if token.key == "one" and max(found, default=0) == at + 1 and self._begins_things(at + 1):
            yield self._mention(at, at + 1, Number(1, None))
            return
        if found:
            longest = max(found)
            # a general phrase hides nothing: only what the catalogue says can be meant otherwise
            for end in sorted(found, reverse=True):
                if end == longest or found[longest].readings:
                    yield self._mention(at, end, self._settled(at, end, found[end]))
            return
        yield self._other(at, token)

    def _is_one_by_one(self, at: int) -> bool:
        """Return whether "box by box" stands here, and other words speak of boxes."""
        row = [token.key for token in self.tokens[at : at + 3]]
        if len(row) < 3 or row[1] != "by" or row[0] != row[2] or at == 0:
            return False
        return any(isinstance(each, Noun) for each in self._catalogue.lexicon.get((row[0],), ()))

    def _begins_things(self, at: int) -> bool:
        """Return whether a thing, or a value that stands before one, is named at `at`."""
        phrases_here = self._phrases(at) if at < len(self.tokens) else {}
        readings = [each for phrase in phrases_here.values() for each in phrase.readings]
        return any(isinstance(each, Noun | ValueOf) for each in readings)

    def _settled(self, at: int, end: int, phrase: Phrase) -> Phrase:
        """Settle whether a word is a thing or the verb of asking for one: "look", "two looks"."""
        things = [each for each in phrase.readings if isinstance(each, Noun | ColumnOf)]
        if not things or phrases.WordClass.READ not in phrase.classes or end > at + 1:
            return phrase
        token = self.tokens[at]
        begins = at == 0 or self.tokens[at - 1].text.casefold() in _BEFORE_VERBS
        begins = begins and self.tokens[at + 1 : at + 2] and self.tokens[at + 1].key != "of"
        if begins and words.fold(token.text) == token.key:
            return Phrase(tuple(r for r in phrase.readings if r not in things), phrase.classes)
        return Phrase(phrase.readings, phrase.classes - {phrases.WordClass.READ})

    def _behind(self, at: int, time: TimeMention) -> int:
        while at < len(self.tokens) and self.tokens[at].start < time.end:
            at += 1
        return at

    def _phrases(self, at: int) -> dict[int, Phrase]:
        found: dict[int, Phrase] = {}
        longest = max(self._catalogue.longest, phrases.LONGEST)
        gathered: list[str] = []
        for end in range(at, len(self.tokens)):
            token = self.tokens[end]
            if (
                len(gathered) >= longest
                or self._is_taken(token, end > at)
                or end in self.imperatives
            ):
                break
            if gathered and token.key in words.SKIPPED_INSIDE:
                # "without any x" is "without x", but a phrase may also hold the article itself
                self._note(found, (*gathered, token.key), end + 1)
                continue
            gathered.append(token.key)
            self._note(found, tuple(gathered), end + 1)
        if at + 1 in found and any(isinstance(r, ValueOf) for r in found[at + 1].readings):
            # "sold to": a state that is also a verb is said, whatever stands behind it
            found = {e: each for e, each in found.items() if e == at + 1 or not _only_ties(each)}
        return found

    def _is_taken(self, token: Token, later: bool) -> bool:
        if token.text[:1] in '"“' and len(token.text) > 1:
            return True
        return later and any(time.start <= token.start < time.end for time in self._times)

    def _note(self, found: dict[int, Phrase], phrase: tuple[str, ...], end: int) -> None:
        readings = self._catalogue.lexicon.get(phrase, ())
        classes = phrases.PHRASES.get(phrase, frozenset())
        if readings and len(phrase) == 1 and len(phrase[0]) > 1 and phrase[0] in words.UNITS:
            classes |= {phrases.WordClass.UNIT}  # "hours" of opening, and of a duration
        if readings or classes:
            found[end] = Phrase(readings, classes)

    def _other(self, at: int, token: Token) -> Mention:
        if number := _number(token):
            return self._quantity(at, number)
        if token.text[0] in "\"“'" and len(token.text) > 2:
            return self._mention(at, at + 1, self._quoted(token.text[1:-1].strip()))
        if any(char.isdigit() for char in token.text):
            return self._mention(at, at + 1, Code(token.text))
        if token.key in words.UNITS and len(token.key) > 1:
            return self._mention(at, at + 1, Phrase((), frozenset([phrases.WordClass.UNIT])))
        # the first word of a sentence has a capital anyway, but not inside of it
        if token.text[0].isupper() and (token.word > 0 or not token.text[1:].islower()):
            return self._name(at)
        if readings := self._verb(at, token):
            return self._mention(at, at + 1, Phrase(readings, frozenset()))
        return self._mention(at, at + 1, Unknown(token.text))

    def _verb(self, at: int, token: Token) -> tuple[Reading, ...]:
        """Return what a verb asks for: "did any fail" the failed ones, "lent" what was lent.

        Without "did" or "does" before it, its plain form is an imperative.
        """
        if token.key != words.stem(token.text) and self._ends_in(at):
            return self._catalogue.stems.get(words.stem(token.text), ())
        asked = any(earlier.key in ("did", "does") for earlier in self.tokens[:at])
        stem = words.stem(token.text)
        plain = stem == token.key
        if plain and not asked:
            return ()
        if plain and (values := self._catalogue.stems.get(token.key)):
            return values
        asked_or_past = plain or token.key.endswith("ed")
        action = self._catalogue.verbs.get(stem)
        return (action,) if asked_or_past and action is not None else ()

    def _ends_in(self, at: int) -> bool:
        """Return whether "ended in a" or the like stands before `at`."""
        before = [token.key for token in self.tokens[max(0, at - 3) : at]]
        return "in" in before and not _ENDING.isdisjoint(before)

    def _quoted(self, text: str) -> What:
        """Read quoted text: a value that is known, or what it says itself."""
        known = self._catalogue.lexicon.get(words.keys(text), ())
        values = tuple(reading for reading in known if isinstance(reading, ValueOf))
        return Phrase(values, frozenset()) if values else Quoted(text)

    def _quantity(self, at: int, value: float) -> Mention:
        following = self.tokens[at + 1 : at + 4]
        for length in (3, 2, 1):
            unit = " ".join(token.key for token in following[:length])
            if len(following) >= length and unit in words.UNITS:
                return self._mention(at, at + 1 + length, Number(value, unit))
        return self._mention(at, at + 1, Number(value, None))

    def _name(self, at: int) -> Mention:
        end = at
        while end < len(self.tokens) and self._belongs_to_name(at, end):
            end += 1
        text = self.text[self.tokens[at].start : self.tokens[end - 1].end]
        return self._mention(at, end, Name(text))

    def _belongs_to_name(self, at: int, end: int) -> bool:
        token = self.tokens[end]
        if end == at:
            return True
        gap = self.text[self.tokens[end - 1].end : token.start]
        return token.text[:1].isupper() and gap == " " and not self._phrases(end)

    def _mention(self, first: int, end: int, what: What) -> Mention:
        one, last = self.tokens[first], self.tokens[end - 1]
        return Mention(first, end, self.text[one.start : last.end], (one.word, last.word), what)


def _only_ties(phrase: Phrase) -> bool:
    """Return whether `phrase` says nothing but how what stands behind it belongs here.

    Where tools say that "sold by" stands before whoever did it, it says that.
    """
    by = any(isinstance(r, CueOf) and r.phrase.endswith(" by") for r in phrase.readings)
    cues = all(isinstance(reading, CueOf) for reading in phrase.readings)
    return cues and not by and phrase.classes <= {phrases.WordClass.CUE, phrases.WordClass.LINK}


def _tokens(text: str) -> Iterator[Token]:
    starts = [match.start() for match in re.finditer(r"\S+", text)]
    word = 0
    for match in _TOKEN.finditer(text):
        while word + 1 < len(starts) and starts[word + 1] <= match.start():
            word += 1
        shown = match[0]
        if shown in _SIGNS or match.lastgroup == "possessive":
            continue
        if match.lastgroup == "word":
            yield from _words(shown, match.start(), word)
        else:
            yield Token(shown, words.fold(shown), match.start(), match.end(), word)


def _words(shown: str, start: int, word: int) -> Iterator[Token]:
    folded = words.fold(shown)
    end = start + len(shown)
    if folded in _FOLDED_NEGATIONS or folded.endswith("n't"):
        verb = _FOLDED_NEGATIONS.get(folded, folded.removesuffix("n't"))
        yield Token(shown, words.key(verb), start, end, word)
        yield Token(shown, "n't", start, end, word)
        return
    bare = re.split(r"['’]", shown)[0]  # what follows it is "is", "have" or a possessive
    yield Token(bare, words.key(bare), start, start + len(bare), word)


def _number(token: Token) -> float | None:
    if _GROUPED.fullmatch(token.text):
        return None  # twelve thousand to some, twelve to others
    if re.fullmatch(r"[\d,]+(?:\.\d+)?", token.text):
        return float(token.text.replace(",", ""))
    return words.NUMBER_WORDS.get(token.key)


def text_of(mentions: Sequence[Mention]) -> str:
    """Return the words of `mentions`, as they were written."""
    return " ".join(mention.text for mention in mentions)
