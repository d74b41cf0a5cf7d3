"""What each piece of a question is to one tool: its noun, the name of an argument, a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.path import Json
from toolplan.planners.grounded.language.phrases import LEADING_IMPERATIVES, PHRASES
from toolplan.planners.grounded.language.verbs import IMPERATIVE_VERBS
from toolplan.planners.grounded.language.words import keys, word_set
from toolplan.planners.grounded.unhinted.cards import CUES, NEUTRAL, PlainCard, Takes
from toolplan.planners.grounded.unhinted.said import Form, Piece

_FILLERS: Final = word_set("""
    a an the please kindly me us i we you my our your can could will would do does want like need to
    know tell give show get list find fetch display look up see view check retrieve search pull
    bring return provide what which is are was were be been there current currently now right hi
    hello hey thanks thank ok okay also just let have has all any some it them i'd d'you out
    """)
AND: Final = frozenset({"and", "&", ","})
_CUE_WORDS: Final = frozenset(CUES) | NEUTRAL | AND
_DEMANDING: Final = frozenset({*IMPERATIVE_VERBS, *LEADING_IMPERATIVES}) | word_set("""
    add create insert append update change modify calculate compute filter count rank mute greet
    review vote wake arrest marry
    """)
_INSIDE_NAMES: Final = word_set("de van von da del la le den der el al bin di du")
_POLITE: Final = r"hi|hello|hey|ok|okay|please|kindly|just|also|now|then|thanks|quickly"
_OPENING: Final = re.compile(
    rf"""(?:(?:{_POLITE})\b\ ?)*
    (?:(?:can|could|would|will)\ you\b\ ?)?
    (?:(?:i|we)\ (?:want|need|like|wish|would\ like|d\ like)\ (?:you\ )?to\b\ ?
      |i'd\ like\ (?:you\ )?to\b\ ?)?
    (?:(?:{_POLITE})\b\ ?|go\ ahead\ and\ ?|let\ us\ ?|help\ me\ (?:to\ )?)*""",
    re.VERBOSE,
)
"""What may stand before the verb of a demand: "could you please", "I want to". Behind "should I",
"who can" or an article it demands nothing."""
_MOST_WORDS: Final = 6


class Role(StrEnum):
    """What a piece is to a tool."""

    NOUN = "noun"
    VERB = "verb"
    LABEL = "name of an argument"
    CUE = "cue"
    FILLER = "filler"
    DESCRIBED = "word of the description"
    VALUE = "value"
    UNKNOWN = "unknown"


class Value(Struct, frozen=True):
    """A value in a question, and what stands around it.

    Attributes:
        pieces: what it is made of.
        text: the text of it.
        choices: for the values of enums: pairs of argument and value.
        cue: the word before it that says how it belongs, "and" or a comma where it stands beside
            another value; empty where there is none.
        before: the keys of labels and nouns between the cue, or the last value, and it.
        beside: whether such a word stands right before it.
        after: the key of the word behind it.
        plain: words in small letters, which only their place makes a value.
    """

    pieces: tuple[Piece, ...]
    text: str
    choices: tuple[tuple[str, Json], ...] = ()
    cue: str = ""
    before: frozenset[str] = frozenset()
    beside: bool = False
    after: str = ""
    plain: bool = False

    @property
    def form(self) -> Form:
        """The form of a single piece; several are words."""
        return self.pieces[0].form if len(self.pieces) == 1 else Form.WORD


class Marked(Struct, frozen=True):
    """A question as one tool sees it: the role of each piece, and the values."""

    roles: tuple[tuple[Piece, Role], ...]
    values: tuple[Value, ...]
    begins_with_verb: bool

    def keys(self, role: Role) -> frozenset[str]:
        """Return the keys of the pieces that have `role`."""
        return frozenset(piece.key for piece, each in self.roles if each is role)


def mark(said: Sequence[Piece], card: PlainCard) -> Marked:
    """Return `said` as `card` sees it."""
    marker = _Marker(said, card)
    marker.run()
    return Marked(tuple(marker.roles), tuple(marker.values), _begins_with(said, card.verb))


def _begins_with(said: Sequence[Piece], verb: str | None) -> bool:
    """Return whether the first word that is no politeness is `verb`."""
    at = next((at for at, piece in enumerate(said) if piece.key == verb), None)
    if at is None:
        return False
    return _OPENING.fullmatch(" ".join(p.key for p in said[:at] if not p.is_quiet)) is not None


class _Marker:
    """Goes over the pieces once, from left to right."""

    def __init__(self, said: Sequence[Piece], card: PlainCard) -> None:
        self._said = said
        self._card = card
        self._choices = tuple(_choices(card))
        self.roles: list[tuple[Piece, Role]] = []
        self.values: list[Value] = []
        self._behind = 0  # the roles behind the last value begin here

    def run(self) -> None:
        """Mark all pieces."""
        at = 0
        while at < len(self._said):
            at = self._next(at)

    def _next(self, at: int) -> int:
        piece = self._said[at]
        if piece.form is Form.SIGN:
            known = piece.is_quiet or piece.text in AND
            role = Role.FILLER if known else Role.UNKNOWN
            self.roles.append((piece, role))
            return at + 1
        if piece.form is not Form.WORD:
            return self._value(at, at + 1)
        if (end := self._choice(at)) is not None:
            return end
        role = self._role(at)
        if role is not Role.UNKNOWN:
            if role is Role.LABEL:
                piece = replace(piece, key=self._labelled(piece) or piece.key)
            self.roles.append((piece, role))
            return at + 1
        if self._demands(at):
            self.roles.append((piece, Role.UNKNOWN))
            return at + 1
        end = self._run(at)
        opened = self._said[at].is_capital or self._is_opened()
        general = any(map(_is_general, self._said[at:end]))
        if not opened or general or end - at > _MOST_WORDS:
            self.roles.extend((each, Role.UNKNOWN) for each in self._said[at:end])
            return end
        return self._value(at, end)

    def _demands(self, at: int) -> bool:
        """Return whether it is a verb that another tool would have to obey, and no value.

        "Save person", "person save": a capital at the beginning makes no name of it.
        """
        piece = self._said[at]
        if piece.key not in _DEMANDING:
            return False
        if _OPENING.fullmatch(" ".join(p.key for p in self._said[:at] if not p.is_quiet)):
            return True
        return not piece.is_capital and self._last_role() in (Role.NOUN, Role.VERB)

    def _role(self, at: int) -> Role:
        piece, card = self._said[at], self._card
        if piece.key == card.verb and piece.key not in card.nouns:
            return Role.VERB
        if piece.key in card.nouns:
            return Role.NOUN
        if piece.key not in _CUE_WORDS and self._labelled(piece) is not None:
            return Role.LABEL
        if piece.key in _CUE_WORDS and not (piece.key == "to" and self._opens(at)):
            return Role.FILLER if piece.key == "is" else Role.CUE
        if piece.key in _FILLERS or (piece.key == "how" and self._is_be(at + 1)):
            return Role.FILLER
        if piece.is_capital and at > 0:
            return Role.UNKNOWN
        if piece.key in card.described and piece.key not in IMPERATIVE_VERBS:
            return Role.DESCRIBED
        return Role.UNKNOWN

    def _labelled(self, piece: Piece) -> str | None:
        """Return the word of an argument's name that it is, or is made of: "labelled", `labels`."""
        word = piece.key.removesuffix("ed")
        doubled = word[:-1] if word[-1:] == word[-2:-1] else word
        made = (piece.key,) if word == piece.key else (piece.key, word, doubled, f"{word}e")
        return next((each for each in made if each in self._card.argument_words), None)

    def _is_be(self, at: int) -> bool:
        return at < len(self._said) and self._said[at].key in ("is", "are")

    def _opens(self, at: int) -> bool:
        """Return whether only politeness stands before `at`: "I want to …"."""
        return all(piece.key in _FILLERS for piece in self._said[:at])

    def _run(self, at: int) -> int:
        """Return the end of the words from `at` on that make one name, or one run of words."""
        capital = self._said[at].is_capital
        end = at + 1
        while end < len(self._said):
            piece = self._said[end]
            if self._is_initial(end - 1) and self._is_capital(end + 1):
                end += 1
                continue
            if piece.form is not Form.WORD or self._choice_at(end) is not None:
                break
            linked = piece.key in _INSIDE_NAMES and self._is_capital(end + 1)
            if capital and not (piece.is_capital or linked):
                break
            if not capital and (piece.is_capital or self._role(end) is not Role.UNKNOWN):
                break
            end += 1
        return end

    def _is_initial(self, at: int) -> bool:
        """Return whether it is the "K" of "Ursula K. Le Guin", and a stop follows."""
        one, stop = self._said[at : at + 2]
        return len(one.text) == 1 and one.is_capital and stop.text == "." and stop.start == one.end

    def _is_capital(self, at: int) -> bool:
        return at < len(self._said) and self._said[at].is_capital

    def _is_opened(self) -> bool:
        """Return whether words in small letters may be a value here: behind a cue or a label."""
        return self._last_role() in (Role.CUE, Role.LABEL, Role.NOUN, Role.VERB)

    def _last_role(self) -> Role | None:
        """Return the role of the last piece that is no article."""
        return next((r for p, r in reversed(self.roles) if p.key not in ("a", "an", "the")), None)

    def _value(self, at: int, end: int, choices: tuple[tuple[str, Json], ...] = ()) -> int:
        found = tuple(self._said[at:end])
        cue, before, beside = self._before()
        behind = next((p for p in self._said[end:] if p.key not in ("a", "an", "the")), None)
        text = found[0].value if len(found) == 1 else _joined(found)
        plain = all(p.form is Form.WORD and not p.is_capital for p in found) and not choices
        after = behind.key if behind is not None and behind.form is Form.WORD else ""
        self.values.append(Value(found, text, choices, cue, before, beside, after, plain))
        self.roles.extend((piece, Role.VALUE) for piece in found)
        self._behind = len(self.roles)
        return end

    def _before(self) -> tuple[str, frozenset[str], bool]:
        cue, said = "", list[str]()
        nearest: Role | None = None
        for piece, role in reversed(self.roles[self._behind :]):
            if piece.text == "," and nearest is None:
                cue = ","
            if role is Role.FILLER or piece.text == ":":
                continue
            if role is Role.CUE:
                cue = piece.key
                nearest = nearest or role
                break
            nearest = nearest or role
            if role not in (Role.LABEL, Role.NOUN):
                break
            said.append(piece.key)
        return cue, frozenset(said), nearest in (Role.LABEL, Role.NOUN)

    def _choice(self, at: int) -> int | None:
        found = self._choice_at(at)
        if found is None:
            return None
        end, choices = found
        return self._value(at, end, choices)

    def _choice_at(self, at: int) -> tuple[int, tuple[tuple[str, Json], ...]] | None:
        """Return the end of the longest value of an enum at `at`, and whose it is."""
        best: dict[int, list[tuple[str, Json]]] = {}
        for words, argument, value in self._choices:
            end = at + len(words)
            said = tuple(piece.key for piece in self._said[at:end])
            if said == words and all(p.form is Form.WORD for p in self._said[at:end]):
                best.setdefault(end, []).append((argument, value))
        if not best:
            return None
        end = max(best)
        return end, tuple(best[end])


def _is_general(piece: Piece) -> bool:
    """Return whether it is a word of general English, which is never a part of a value."""
    return piece.form is Form.WORD and not piece.is_capital and (piece.key,) in PHRASES


def _joined(found: Sequence[Piece]) -> str:
    """Return the words of `found` with one blank where blanks stood between them."""
    text = found[0].text
    for before, piece in pairwise(found):
        text += f" {piece.text}" if piece.start > before.end else piece.text
    return text


def _choices(card: PlainCard) -> Iterator[tuple[tuple[str, ...], str, Json]]:
    for name, argument in card.arguments.items():
        if argument.takes is Takes.CHOICE:
            for value in argument.shape.enum:
                yield keys(value), name, value
                for phrase in argument.shape.values.get(value, ()):
                    yield keys(phrase), name, value
