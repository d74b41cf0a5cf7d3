"""Which argument of a tool takes which value of a question, and which words are left over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from toolplan.path import Json
from toolplan.planners.grounded.dates import TimeMention
from toolplan.planners.grounded.language.words import word_set
from toolplan.planners.grounded.unhinted.cards import (
    ENDS,
    NEUTRAL,
    READING_VERBS,
    STARTS,
    PlainArgument,
    PlainCard,
    Takes,
    split_name,
)
from toolplan.planners.grounded.unhinted.roles import AND, Marked, Role, Value, mark
from toolplan.planners.grounded.unhinted.said import Form, Piece
from toolplan.tools import Effects

_LIMITS: Final = word_set("limit count top n max number size page")
_NAMES: Final = word_set("name title username path file filename word term user")
_LABEL, _CUE, _POSSIBLE = 3, 2, 1


class Given(Struct, frozen=True):
    """The value of an argument, and the pieces that said it."""

    value: Json
    pieces: tuple[Piece, ...]


class Fit(Struct):
    """How one tool fits a question.

    Attributes:
        arguments: what the words give.
        left: the pieces that are not accounted for.
        missing: required arguments that no word gives.
        unclear: values that several arguments could take, with the names of these.
        asked: sentences that ask what a value means.
        assumed: sentences about what the words do not say for certain.
        level: 3 where the words name what the tool gives, 2 where they name the last part of it, 1
            where only its description does, 0 where nothing does.
    """

    card: PlainCard
    arguments: dict[str, Given] = field(default_factory=dict[str, Given])
    left: list[Piece] = field(default_factory=list[Piece])
    missing: list[str] = field(default_factory=list[str])
    unclear: list[tuple[str, tuple[str, ...]]] = field(
        default_factory=list[tuple[str, tuple[str, ...]]]
    )
    asked: list[str] = field(default_factory=list[str])
    assumed: list[str] = field(default_factory=list[str])
    level: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether every word is accounted for, and the tool can be called."""
        return self.level > 0 and not (self.left or self.missing or self.unclear or self.asked)


def fit(said: Sequence[Piece], card: PlainCard) -> Fit:
    """Return how `card` fits the question `said`."""
    marked = mark(said, card)
    fitting = _Fitting(card, marked)
    fitting.run()
    return fitting.fit


class _Fitting:
    """Assigns the values of a question to the arguments of one tool, the surest first."""

    def __init__(self, card: PlainCard, marked: Marked) -> None:
        self._card = card
        self._marked = marked
        self._open = list(marked.values)
        self.fit = Fit(card)

    def run(self) -> None:
        """Fill the arguments, and say what is left."""
        self._choose()
        for value in [each for each in self._open if each.form is Form.TIME]:
            self._time(value)
        for wanted in (_LABEL, _CUE):
            for value in list(self._open):
                self._give(value, wanted)
        self._join()
        self._eliminate()
        self._flags()
        self._leave()
        self.fit.missing = [name for name in self._card.required if name not in self.fit.arguments]
        self.fit.level = self._level()

    def _unfilled(self) -> list[PlainArgument]:
        return [a for name, a in self._card.arguments.items() if name not in self.fit.arguments]

    def _choose(self) -> None:
        for value in [each for each in self._open if each.choices]:
            named = [c for c in value.choices if self._labelled(self._card.arguments[c[0]], value)]
            choices = named or [c for c in value.choices if c[0] not in self.fit.arguments]
            if len(choices) == 1:
                self._fill(choices[0][0], choices[0][1], value)
            elif choices:
                self.fit.unclear.append((value.text, tuple(name for name, _ in choices)))
                self._open.remove(value)

    def _time(self, value: Value) -> None:
        time = value.pieces[0].time
        days = [each for each in self._unfilled() if each.takes is Takes.DAY]
        if time is None or not days or (self._card.acts and days[0].shape.format == "date-time"):
            return
        starts = [each for each in days if not STARTS.isdisjoint(each.words)]
        ends = [each for each in days if not ENDS.isdisjoint(each.words)]
        others = [each for each in days if each not in starts and each not in ends]
        first, last = time.range
        both = len(starts) == 1 and len(ends) == 1 and not others and not self._card.acts
        if both and (first or last):
            self._bounds(value, time, starts[0], ends[0])
        elif len(others) == 1 and not (starts or ends) and first is not None and first == last:
            self._fill(others[0].name, _day(others[0], first.isoformat()), value)
            if time.floating or time.ambiguous:
                # rows are looked for in the past, but a flight is taken in the future
                self.fit.asked.append(
                    f'Which day is "{time.text}"? Please write it whole, such as {first}.'
                )
        elif len(starts) == 1 and not others and not ends and _only_starts(time) and first:
            self._fill(starts[0].name, _day(starts[0], first.isoformat()), value)
        elif len(ends) == 1 and not others and not starts and first is None and last:
            self._fill(ends[0].name, _day(ends[0], last.isoformat(), "23:59:59"), value)
        else:
            return
        self.fit.assumed.append(time.reading)

    def _bounds(
        self, value: Value, time: TimeMention, start: PlainArgument, end: PlainArgument
    ) -> None:
        first, last = time.range
        if first is not None:
            self._fill(start.name, _day(start, first.isoformat()), value)
        if last is not None and not (_only_starts(time) and not end.required):
            self._fill(end.name, _day(end, last.isoformat(), "23:59:59"), value)

    def _give(self, value: Value, wanted: int) -> None:
        """Assign `value` to the one argument that it fits best, if it fits that well."""
        if value not in self._open:
            return
        scores = {a.name: self._score(a, value) for a in self._unfilled()}
        best = max(scores.values(), default=0)
        if best < wanted:
            return
        names = [name for name, score in scores.items() if score == best]
        needed = [name for name in names if name in self._card.required] or names
        if len(needed) == 1:
            self._fill(needed[0], self._typed(needed[0], value), value)
            if wanted == _CUE and needed[0] not in self._card.required and not value.cue:
                self.fit.assumed.append(f'assumed: "{value.text}" is the {needed[0]}')
        else:
            self.fit.unclear.append((value.text, tuple(needed)))
            self._open.remove(value)

    def _join(self) -> None:
        """Add "and Oslo" to the list that the value before it went to."""
        values = self._marked.values
        for at, value in enumerate(values[1:], 1):
            if value not in self._open or value.cue not in AND:
                continue
            for name, given in self.fit.arguments.items():
                argument = self._card.arguments[name]
                if given.pieces[-1] is values[at - 1].pieces[-1] and argument.shape.takes_many:
                    before = given.value if isinstance(given.value, list) else [given.value]
                    if _accepts(argument, value):
                        joined: list[Json] = [*before, value.text]
                        self.fit.arguments[name] = Given(joined, (*given.pieces, *value.pieces))
                        self._open.remove(value)
                        break

    def _eliminate(self) -> None:
        """Assign values to required arguments where nothing else could take either of them."""
        if self._card.tool.effects in (Effects.WRITE, Effects.DESTRUCTIVE):
            return
        for value in list(self._open):
            possible = self._possible(value)
            needed = [each for each in possible if each.required]
            if len(needed) > 1:
                self.fit.unclear.append((value.text, tuple(each.name for each in needed)))
                self._open.remove(value)
                continue
            for argument in needed:
                if not any(
                    argument in self._possible(other) for other in self._open if other != value
                ):
                    self._fill(argument.name, self._typed(argument.name, value), value)
                    self.fit.assumed.append(f'assumed: "{value.text}" is the {argument.name}')

    def _possible(self, value: Value) -> list[PlainArgument]:
        return [each for each in self._unfilled() if self._score(each, value) == _POSSIBLE]

    def _score(self, argument: PlainArgument, value: Value) -> int:
        """Return how well `value` fits `argument`; 0 where it does not."""
        if not _accepts(argument, value):
            return 0
        if self._labelled(argument, value):
            return _LABEL
        if self._counts(argument, value) or self._stands_beside(argument, value):
            return _CUE
        if value.cue and argument.wants(value.cue):
            return _CUE
        if self._is_only_one(argument, value):
            return _CUE
        strict = argument.takes is Takes.PROSE and value.form is not Form.QUOTED
        return 0 if value.cue not in NEUTRAL or strict else _POSSIBLE

    def _labelled(self, argument: PlainArgument, value: Value) -> bool:
        named = set(argument.words) & value.before
        if argument.takes is Takes.IDENTITY and argument.words[-1:] == ("id",):
            owner = argument.words[:-1] or self._card.nouns
            named = {*named, *(set(owner) & value.before)}
        if value.form is Form.NUMBER and argument.takes is Takes.NUMBER:
            named = {*named, *(set(argument.words) & {value.after})}
        return bool(named) and (value.beside or value.cue in NEUTRAL or bool(value.after))

    def _counts(self, argument: PlainArgument, value: Value) -> bool:
        """Return whether it says how many: "5 books"."""
        limits = argument.takes is Takes.NUMBER and not _LIMITS.isdisjoint(argument.words)
        return limits and value.form is Form.NUMBER and value.after in self._card.nouns

    def _stands_beside(self, argument: PlainArgument, value: Value) -> bool:
        """Return whether it names the thing right behind the noun of the tool: "user ada"."""
        if not value.beside or value.before.isdisjoint(self._card.nouns):
            return False
        if argument.takes is Takes.IDENTITY:
            return len(argument.words) == 1
        texts = [a for a in self._card.arguments.values() if a.takes in (Takes.NAME, Takes.PROSE)]
        named = not _NAMES.isdisjoint(argument.words)
        return argument.takes is Takes.NAME and named and len(texts) == 1

    def _is_only_one(self, argument: PlainArgument, value: Value) -> bool:
        """Return whether nothing else of the tool takes values of this form."""
        forms = {
            Form.EMAIL: Takes.EMAIL, Form.LINK: Takes.LINK, Form.QUOTED: Takes.PROSE,
            Form.NUMBER: Takes.NUMBER,
        }  # fmt: skip
        wanted = forms.get(value.form)
        if wanted is None or argument.takes is not wanted:
            return False
        if wanted is Takes.NUMBER and not _LIMITS.isdisjoint(argument.words):
            return False
        if wanted is Takes.NUMBER and not argument.required and self._numbers_noun(value):
            return False  # "room 203" says which room, not which floor
        same = [each for each in self._card.arguments.values() if each.takes is wanted]
        return len(same) == 1 and value.cue in NEUTRAL

    def _numbers_noun(self, value: Value) -> bool:
        return value.beside and not value.before.isdisjoint(self._card.nouns)

    def _typed(self, name: str, value: Value) -> Json:
        shape = self._card.arguments[name].shape
        number = value.pieces[0].number if len(value.pieces) == 1 else None
        result: Json = value.text
        if shape.is_number and number is not None:
            result = int(number) if number == int(number) else number
        return [result] if shape.takes_many and not shape.takes_one else result

    def _fill(self, name: str, value: Json, said: Value) -> None:
        self.fit.arguments[name] = Given(value, said.pieces)
        if said in self._open:
            self._open.remove(said)

    def _flags(self) -> None:
        """Set the flags whose whole name is said: "include archived"."""
        labels = self._marked.keys(Role.LABEL)
        for argument in self._unfilled():
            if argument.takes is Takes.FLAG and set(argument.words) <= labels:
                pieces = [p for p, _ in self._marked.roles if p.key in argument.words]
                self.fit.arguments[argument.name] = Given(True, tuple(pieces))

    def _leave(self) -> None:
        """Note the pieces that nothing accounts for, in their order."""
        filled = [self._card.arguments[name] for name in self.fit.arguments]
        named = {word for argument in filled for word in argument.words}
        unclear = {text for text, _ in self.fit.unclear}
        for value in self._open:
            if value.text not in unclear:
                self.fit.left.extend(value.pieces)
        for at, (piece, role) in enumerate(self._marked.roles):
            loose = role is Role.LABEL and piece.key not in named | self._card.described
            dangling = role is Role.CUE and not self._leads(at)
            if role is Role.UNKNOWN or loose or dangling:
                self.fit.left.append(piece)
        self.fit.left.sort(key=lambda piece: piece.start)

    def _leads(self, at: int) -> bool:
        """Return whether a word follows the cue at `at` that it may belong to.

        What only describes the tool does so behind a word such as "of": in "rooms by price" it
        would say how the rooms are to be ordered.
        """
        roles = self._marked.roles
        cue = roles[at][0].key
        behind = [(piece, role) for piece, role in roles[at + 1 :] if role is not Role.FILLER]
        piece, role = behind[0] if behind else (None, None)
        if cue in NEUTRAL or cue in AND:
            return role not in (None, Role.UNKNOWN, Role.CUE)
        if piece is not None and role is Role.LABEL:
            needed = {word for name in self._card.required for word in split_name(name)}
            values = (each for _, each in behind if each is not Role.LABEL)
            return piece.key in needed or next(values, None) is Role.VALUE
        return role in (Role.VALUE, Role.NOUN, Role.VERB)

    def _level(self) -> int:
        card, said = self._card, self._marked.keys(Role.NOUN)
        verb = self._marked.begins_with_verb
        if card.acts and not verb:
            return 0
        needed = card.needed_nouns
        if needed:
            if needed <= said:
                return 3
            if not card.acts and card.reads and card.head in said:
                return 2
        elif (card.head is not None and card.head in said) or (
            verb and (card.acts or not card.nouns or card.verb not in READING_VERBS)
        ):
            return 3
        surely = card.harmless and bool(self.fit.arguments) and not self.fit.assumed
        return 1 if surely and not said and self._marked.keys(Role.DESCRIBED) else 0


def _accepts(argument: PlainArgument, value: Value) -> bool:
    form = value.form
    if value.choices or form is Form.TIME:
        return False
    match argument.takes:
        case Takes.NUMBER:
            return form is Form.NUMBER
        case Takes.EMAIL:
            return form is Form.EMAIL
        case Takes.LINK:
            return form is Form.LINK
        case Takes.PROSE:
            return form in (Form.QUOTED, Form.WORD, Form.CODE)
        case Takes.IDENTITY:
            if argument.shape.is_number:
                return form is Form.NUMBER
            coded = form in (Form.CODE, Form.NUMBER, Form.QUOTED)
            return coded or (len(value.pieces) == 1 and value.pieces[0].is_symbol)
        case Takes.NAME:
            return form in (Form.QUOTED, Form.WORD, Form.CODE, Form.EMAIL)
        case _:
            return False


def _only_starts(time: TimeMention) -> bool:
    said, (first, last) = time.text.casefold(), time.range
    if said.startswith("from"):
        return last is None or first == last  # "from 1 to 5 May" says where it ends, too
    return said.startswith(("since", "after"))


def _day(argument: PlainArgument, day: str, clock: str = "00:00:00") -> Json:
    return f"{day}T{clock}" if argument.shape.format == "date-time" else day
