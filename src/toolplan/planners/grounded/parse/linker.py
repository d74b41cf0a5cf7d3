"""Schema linking: what is said of a thing, bound to arguments of its tool or a condition on rows.

Where two attributes fit equally well, or none does, nothing is bound, and the words stay
unexplained.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from itertools import pairwise
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolplan.path import Json
from toolplan.planners.grounded.catalogue.connections import (
    held_and_capacity,
    is_cued_list,
    shows_column,
)
from toolplan.planners.grounded.catalogue.kinds import (
    Attribute,
    Catalogue,
    ColumnOf,
    Kind,
    ValueOf,
)
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.dates import DateRange, TimeMention
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse import amounts
from toolplan.planners.grounded.parse.conditions import (
    Among,
    Compared,
    Condition,
    Contains,
    Missing,
    Share,
    Within,
)
from toolplan.planners.grounded.parse.mentions import (
    Code,
    Mention,
    Name,
    Number,
    Quoted,
    Time,
    What,
)
from toolplan.planners.grounded.parse.misspelt import may_be_misspelt
from toolplan.planners.grounded.parse.requests import Modifier

_LOCATIVE: Final = words.phrase_list(
    "in|at|within|inside|from|of|for|located in|based in|situated in"
)
_DESCRIBING: Final = words.word_set("with at of in on have has having had")
_NAMING: Final = words.word_set("with by of from for named called have involving")
_CODED: Final = (None, "code")
_VAGUE: Final = frozenset({None, "of", "with", "on"})
"""Words before an unknown name that do not say what it is, even where an argument lists them."""
_ABOUT: Final = frozenset({"of", "for", "about", "on"})
"""Words before an identity that say no more than that it is meant."""


class Filter(Struct, frozen=True):
    """Arguments that say it; several sets of them where one call cannot say all alternatives."""

    attribute: Attribute
    choices: tuple[Mapping[str, Json], ...]
    condition: Condition | None
    note: str | None = None
    strict: Condition | None = None
    """what the words leave out and the arguments let in: the bound of "over 5 kg" itself"""


class Where(Struct, frozen=True):
    """A condition on rows: no argument says it, a computing step can."""

    attribute: Attribute
    condition: Condition
    note: str | None = None


Binding: TypeAlias = Filter | Where


class Linker:
    """Binds modifiers for one catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Create a linker."""
        self._catalogue = catalogue

    def bind(self, entity: str, modifier: Modifier) -> Binding | None:
        """Return how `modifier` is said of a thing of kind `entity`, or None."""
        kind = self._catalogue.kinds.get(entity)
        if kind is None or modifier.cue == "between":  # one end of a range alone says nothing
            return None
        match modifier.mention.what:
            case Time():
                return self._time(kind, modifier)
            case Number():
                return self._number(kind, modifier)
            case Code():
                return self._code(kind, modifier)
            case _ if modifier.mention.values:
                return self._value(kind, modifier)
            case Name(text) | Quoted(text):
                return self._text(kind, modifier, text)
            case _ if modifier.mention.columns:
                return self._presence(kind, modifier)
            case _:
                return None

    def identity(self, entity: str, modifier: Modifier) -> list[str] | None:
        """Return the identities that `modifier` names, if it names things of kind `entity`."""
        codes = [m.what.text for m in modifier.values if isinstance(m.what, Code)]
        if len(codes) != len(modifier.values) or modifier.negated:
            return None
        kind, column = self._catalogue.kinds.get(entity), modifier.column
        if column is not None and (column.nouns or modifier.cue != "of"):
            return codes if entity in column.nouns else None
        if column is None and kind is not None and self._says_another(kind, modifier.cue):
            return None
        if column is not None and not shows_column(kind, column.columns, column.text):
            return None  # "the weight of T1", of a town: it is that of what is there
        owners = {self.owner(code) for code in codes}
        return codes if owners == {entity} else None

    def _says_another(self, kind: Kind, cue: str | None, meant: Attribute | None = None) -> bool:
        """Return whether `cue` says an attribute: "with sender", and not `meant`.

        Where no attribute is meant but the thing itself, "to" and "by" say another one too.
        """
        if cue is None:
            return False
        others = [
            attribute
            for attribute in kind.attributes.values()
            if attribute is not meant and attribute.shape.ref != kind.identity
        ]
        if meant is not None and self._cue_names(cue, meant):
            return False
        own = meant is None and cue not in _ABOUT
        return any(
            self._cue_names(cue, each) or (own and cue in each.shape.cue_keys) for each in others
        )

    def owner(self, code: str) -> str | None:
        """Return the only kind of thing whose identities look like `code`, or None."""
        shapes = [(kind, _identity_shape(kind)) for kind in self._catalogue.kinds.values()]
        found = [k.entity for k, shape in shapes if shape and _matches(shape.pattern, code)]
        if not found:  # people shorten identities
            found = [k.entity for k, shape in shapes if shape and _begins(shape.pattern, code)]
        return found[0] if len(found) == 1 else None

    def _time(self, kind: Kind, modifier: Modifier) -> Binding | None:
        attribute = kind.moment
        if attribute is None or modifier.negated:
            return None
        if modifier.column is not None and not self._names(modifier.column, attribute):
            return None
        times = _merged([m.what.mention for m in modifier.values if isinstance(m.what, Time)])
        choices: list[dict[str, Json]] = []
        for time in times:
            choice: dict[str, Json] = {}
            start, end = time.range
            for argument, day in ((attribute.start, start), (attribute.end, end)):
                if day is not None and argument is None:
                    within = _where(attribute, lambda column: Within(column, *times[0].range))
                    return within if len(times) == 1 else None
                if day is not None and argument is not None:
                    choice[argument] = day.isoformat()
            choices.append(choice)
        note = "; ".join(dict.fromkeys(time.reading for time in times))
        return Filter(attribute, tuple(choices), None, note)

    def _number(self, kind: Kind, modifier: Modifier) -> Binding | None:
        if (share := self._share(kind, modifier)) is not None:
            return share
        fitting = [
            (attribute, value)
            for attribute in kind.attributes.values()
            if attribute.shape.is_number
            and (modifier.column is None or self._names(modifier.column, attribute))
            and (value := _converted(_lower(modifier), attribute)) is not None
            and (modifier.column is not None or _has_unit(modifier))
        ]
        if len(fitting) != 1:
            return None
        attribute, value = fitting[0]
        if modifier.upper is not None:
            return self._range(attribute, value, modifier)
        operator = modifier.operator
        if modifier.negated:
            if operator == "=":
                return None
            operator = "<=" if operator == ">=" else ">="
        arguments = {"=": attribute.equal, ">=": attribute.minimum, "<=": attribute.maximum}
        argument = arguments[operator]
        strict = modifier.negated != any(amounts.strictly(m) for m in modifier.evidence)
        shown = operator.rstrip("=") if strict and operator != "=" else operator
        column = attribute.column
        if argument is not None:
            excluded = shown != operator and column is not None and self._catalogue.computes
            only = Compared(column, shown, value) if excluded and column is not None else None
            inclusive = operator != "=" and only is None
            note = _bound_note(modifier, attribute, operator, value) if inclusive else None
            return Filter(attribute, ({argument: value},), None, note, only)
        return None if column is None else Where(attribute, Compared(column, shown, value))

    def _presence(self, kind: Kind, modifier: Modifier) -> Binding | None:
        """Say that a column is empty: "without a sender"."""
        own = [
            kind.attributes[c.attribute]
            for c in modifier.mention.columns
            if c.entity == kind.entity
        ]
        if len(own) != 1 or not own[0].shape.nullable:
            return None
        return _where(own[0], lambda column: Missing(column, modifier.negated))

    def _share(self, kind: Kind, modifier: Modifier) -> Binding | None:
        """Say that something is so full: what it holds, as a share of what it can hold."""
        what = modifier.mention.what
        if not isinstance(what, Number) or what.unit not in ("%", "percent"):
            return None
        if modifier.column is not None or modifier.upper is not None or modifier.negated:
            return None
        full = any(m.does(WordClass.FULL) for m in modifier.evidence)
        pair = held_and_capacity(kind) if full else None
        if pair is None:
            return None
        held, capacity = pair
        operator = modifier.operator
        if operator != "=" and any(amounts.strictly(m) for m in modifier.evidence):
            operator = operator.rstrip("=")
        condition = Share(held, capacity, operator, round(what.value / 100, 9))
        return Where(kind.attributes[held], condition, f"full = {held} as a share of {capacity}")

    def _range(self, attribute: Attribute, low: float, modifier: Modifier) -> Binding | None:
        high = _converted(modifier.upper.what, attribute) if modifier.upper is not None else None
        if high is None or modifier.negated or low > high:
            return None
        if attribute.minimum is not None and attribute.maximum is not None:
            return Filter(attribute, ({attribute.minimum: low, attribute.maximum: high},), None)
        return _where(attribute, lambda column: Within(column, low, high))

    def _code(self, kind: Kind, modifier: Modifier) -> Binding | None:
        codes = [m.what.text for m in modifier.values if isinstance(m.what, Code)]
        column = modifier.column
        for attribute in kind.attributes.values():
            own = attribute.shape.ref == kind.identity
            if column is not None and column.nouns:
                fits = any(attribute.shape.ref == f"{noun}.id" for noun in column.nouns)
            elif column is not None:
                named = attribute.shape.ref is not None or (
                    attribute.shape.kind in _CODED and self.owner(codes[0]) is None
                )
                fits = named and self._names(column, attribute)
            else:
                owner = self.owner(codes[0])
                meant = None if own else attribute
                fits = owner is not None and attribute.shape.ref == f"{owner}.id"
                fits = fits and not self._says_another(kind, modifier.cue, meant)
            if fits and (attribute.equal is not None or not own):
                return self._equal(attribute, list(codes), modifier)
        return None

    def _value(self, kind: Kind, modifier: Modifier) -> Binding | None:
        scored = [
            each
            for each in self._scored(kind, modifier)
            if all(len(_said_of(each[1], mention)) == 1 for mention in modifier.values)
        ]
        best = _best(scored)
        if len(best) > 1:
            # prefer the attribute that an argument filters by
            best = [attribute for attribute in best if attribute.equal is not None]
        if len(best) != 1:
            return None
        values = [_said_of(best[0], mention)[0] for mention in modifier.values]
        binding = self._equal(best[0], values, modifier)
        state = self._state_in_cue(kind, modifier.cue)
        if binding is None or state is None:
            return binding
        who = f'"{modifier.cue}" = by whom, whatever the {state}'
        return replace(binding, note=who)

    def _state_in_cue(self, kind: Kind, cue: str | None) -> str | None:
        """Return the attribute that the verb of "sold by" could also be a state of."""
        verb, _, last = (cue or "").partition(" ")
        found = self._catalogue.lexicon.get((verb,), ()) if last == "by" else ()
        states = (r.attribute for r in found if isinstance(r, ValueOf) and r.entity == kind.entity)
        return next(states, None)

    def _scored(self, kind: Kind, modifier: Modifier) -> list[tuple[int, Attribute]]:
        found: dict[str, tuple[int, Attribute]] = {}
        for value in modifier.mention.values:
            attribute = kind.attributes.get(value.attribute)
            if value.entity != kind.entity or attribute is None:
                continue
            score = self._score(attribute, modifier)
            if score > 0:
                found[attribute.name] = (score, attribute)
        return list(found.values())

    def _score(self, attribute: Attribute, modifier: Modifier) -> int:
        """Say how well the words before a value fit `attribute`: 0 is not at all."""
        if modifier.column is not None:
            return 3 if self._names(modifier.column, attribute) else 0
        shape = attribute.shape
        if modifier.cue is not None and self._cue_names(modifier.cue, attribute):
            return 3
        if attribute.equal is None and not (shape.takes_many or shape.is_boolean):
            return 0  # an attribute without an argument must be named; a truth names itself
        if is_cued_list(attribute):
            return 2 if modifier.cue in shape.cue_keys else 0
        if modifier.cue is None:
            return 0 if attribute.is_endpoint else 1
        if modifier.cue in shape.cue_keys:
            return 2
        if attribute.is_endpoint:
            return 0
        if shape.kind == "place":
            return 1 if modifier.cue in _LOCATIVE else 0
        if shape.enum or shape.is_boolean or shape.takes_many:
            return 1 if modifier.cue in _DESCRIBING else 0
        return 1 if modifier.cue in _NAMING else 0

    def _cue_names(self, cue: str, attribute: Attribute) -> bool:
        """Return whether the cue ends in a word for `attribute`: "with status"."""
        _, _, last = cue.rpartition(" ")
        readings = self._catalogue.lexicon.get((last,), ()) if " " in cue else ()
        return ColumnOf(attribute.entity, attribute.name) in readings

    def _text(self, kind: Kind, modifier: Modifier, text: str) -> Binding | None:
        """Bind an unknown name, where its column or a cue of the argument stands before it."""
        fitting = [
            attribute
            for attribute in kind.attributes.values()
            if attribute.shape.is_text
            and not (attribute.shape.enum or attribute.shape.ref)
            and attribute.equal is not None
            and self._takes_name(attribute, modifier)
        ]
        if len(fitting) != 1 or may_be_misspelt(text, modifier, fitting[0], self._catalogue):
            return None
        return self._equal(fitting[0], [text], modifier)

    def _takes_name(self, attribute: Attribute, modifier: Modifier) -> bool:
        if modifier.column is not None:
            return self._names(modifier.column, attribute)
        if modifier.cue in _VAGUE or attribute.shape.kind in ("text", "code"):
            return False
        located = attribute.shape.kind == "place" and modifier.cue in _LOCATIVE
        cued = modifier.cue != "for" and modifier.cue in attribute.shape.cue_keys
        return cued or (located and not attribute.is_endpoint)

    def _equal(
        self, attribute: Attribute, values: list[Json], modifier: Modifier
    ) -> Binding | None:
        if modifier.negated:
            return self._unequal(attribute, values)
        condition = _condition(attribute, values, True)
        argument = attribute.equal
        if argument is None or (attribute.shape.takes_many and not attribute.shape.takes_one):
            if isinstance(condition, Contains):  # "with oak and ash": of one list, both
                condition = replace(condition, every=not modifier.either)
            return Where(attribute, condition) if condition is not None else None
        if len(values) == 1:
            return Filter(attribute, ({argument: values[0]},), condition)
        if attribute.shape.takes_many:
            return Filter(attribute, ({argument: values},), condition)
        return Filter(attribute, tuple({argument: value} for value in values), condition)

    def _unequal(self, attribute: Attribute, values: list[Json]) -> Binding | None:
        known = attribute.equal is not None and not attribute.shape.nullable
        if len(values) == 1 and isinstance(values[0], bool) and known and attribute.equal:
            return Filter(attribute, ({attribute.equal: not values[0]},), None)
        condition = _condition(attribute, values, False)
        return Where(attribute, condition) if condition is not None else None

    def _names(self, column: Mention, attribute: Attribute) -> bool:
        return ColumnOf(attribute.entity, attribute.name) in column.columns


def _merged(times: list[TimeMention]) -> list[TimeMention]:
    """Return one time for times that follow each other without a gap: "May and June"."""
    ordered = sorted(times, key=lambda time: time.range.start or date.min)
    days = [time.range for time in ordered]
    joined = all(
        one.end is not None and other.start == one.end + timedelta(days=1)
        for one, other in pairwise(days)
    )
    if len(times) < 2 or not joined:
        return times
    whole = DateRange(days[0].start, days[-1].end)
    reading = "; ".join(dict.fromkeys(time.reading for time in ordered))
    return [replace(ordered[0], range=whole, reading=reading)]


def _where(attribute: Attribute, condition: Callable[[str], Condition]) -> Where | None:
    """Return `condition` on the column of `attribute`; None where rows do not show it."""
    return None if attribute.column is None else Where(attribute, condition(attribute.column))


def _condition(attribute: Attribute, values: list[Json], wanted: bool) -> Condition | None:
    if attribute.column is None:
        return None
    if attribute.shape.takes_many and not attribute.shape.takes_one:
        return Contains(attribute.column, tuple(values), wanted, nullable=attribute.shape.nullable)
    return Among(attribute.column, tuple(values), wanted, attribute.shape.nullable)


def _best(scored: list[tuple[int, Attribute]]) -> list[Attribute]:
    top = max((score for score, _ in scored), default=0)
    return [attribute for score, attribute in scored if score == top]


def _said_of(attribute: Attribute, mention: Mention) -> list[Json]:
    """Return the values of `attribute` that `mention` may be."""
    own = (attribute.entity, attribute.name)
    return [value.value for value in mention.values if (value.entity, value.attribute) == own]


def _identity_shape(kind: Kind) -> Shape | None:
    own = next((a for a in kind.attributes.values() if a.shape.ref == kind.identity), None)
    columns = [card.rows.columns for card in kind.cards if card.rows is not None]
    shown = [c for each in columns for c in each.values() if c.ref == kind.identity and c.pattern]
    if own is not None and own.shape.pattern:
        return own.shape
    return shown[0] if shown else None


def _matches(pattern: str | None, code: str) -> bool:
    """Return whether `code` fits `pattern`, where that is simple enough to be sure of its cost."""
    if pattern is None or len(code) > 64 or _SIMPLE.fullmatch(pattern) is None:
        return False
    return re.search(pattern, code) is not None


def _begins(pattern: str | None, code: str) -> bool:
    """Return whether `code` is a number behind the letters that `pattern` begins with."""
    letters = re.match(r"\^([A-Za-z]+)(?=[\[\\])", pattern or "")
    return letters is not None and re.fullmatch(rf"{letters[1]}\d[\d-]*", code) is not None


# an anchored row of literals, classes and bounded or single repetitions: linear by construction
_SIMPLE: Final = re.compile(
    r"\^(?:(?:[A-Za-z0-9_-]|\[[A-Za-z0-9_-]+\]|\\d)(?:\{\d+(?:,\d*)?\}|\+|\?)?)+\$"
)


def _has_unit(modifier: Modifier) -> bool:
    return any(
        isinstance(m.what, Number) and m.what.unit is not None
        for m in (modifier.mention, modifier.upper)
        if m is not None
    )


def _lower(modifier: Modifier) -> What:
    """Return the number itself, or the lower one of two with the unit of the other."""
    low = modifier.mention.what
    high = modifier.upper.what if modifier.upper is not None else None
    if isinstance(low, Number) and isinstance(high, Number) and low.unit is None:
        return Number(low.value, high.unit)
    return low


def _converted(number: What, attribute: Attribute) -> float | None:
    """Return `number` in the attribute's unit; None if it cannot be converted."""
    if not isinstance(number, Number):
        return None
    value = number.value
    if number.unit is not None:
        theirs = words.UNITS.get(words.key(attribute.shape.unit or ""))
        own = words.UNITS.get(number.unit)
        if theirs is None or own is None or theirs[0] != own[0]:
            return None
        value = round(value * own[1] / theirs[1], 9)
    return int(value) if value == int(value) else value


def _bound_note(modifier: Modifier, attribute: Attribute, operator: str, value: float) -> str:
    said = " ".join(m.text for m in modifier.mentions)
    side = "at least" if operator == ">=" else "at most"
    unit = f" {attribute.shape.unit}" if attribute.shape.unit else ""
    return f"{said} = {attribute.name} {side} {value}{unit}, itself included"
