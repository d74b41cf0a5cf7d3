"""What is said of a thing bound to arguments of the tool that lists it, or to a condition on rows.

Nothing is bound that the words do not say: where two attributes fit equally, or none, the answer
is `None`, and the words stay unexplained.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeAlias

from toolplan.path import Json
from toolplan.planners.grounded.catalogue.kinds import Attribute, Catalogue, ColumnOf, Kind, ValueOf
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.amounts import strictly
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
from toolplan.planners.grounded.parse.requests import Modifier

_LOCATIVE: Final = frozenset(
    ["in", "at", "within", "inside", "from", "of", "for", "located in", "based in", "situated in"]
)
_DESCRIBING: Final = frozenset({"with", "at", "of", "in", "on", "have", "has", "having", "had"})
_NAMING: Final = frozenset(
    {"with", "by", "of", "from", "for", "named", "called", "have", "involving"}
)
_CAPACITY: Final = "capacity"


@dataclass(frozen=True, slots=True)
class Filter:
    """Arguments that say it; several sets of them where one call cannot say all alternatives."""

    attribute: Attribute
    choices: tuple[Mapping[str, Json], ...]
    condition: Condition | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Where:
    """A condition on rows: no argument says it, a computing step can."""

    attribute: Attribute
    condition: Condition
    note: str | None = None


Binding: TypeAlias = Filter | Where


class Linker:
    """Binds modifiers for one catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Hold `catalogue`."""
        self._catalogue = catalogue

    def bind(self, entity: str, modifier: Modifier) -> Binding | None:
        """Return how `modifier` is said of a thing of kind `entity`, or None."""
        kind = self._catalogue.kinds.get(entity)
        if kind is None:
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

    def ambiguous(self, entity: str, modifier: Modifier) -> list[Attribute]:
        """Return the attributes between which the words do not decide."""
        kind = self._catalogue.kinds[entity]
        return _best(self._scored(kind, modifier)) if modifier.mention.values else []

    def identity(self, entity: str, modifier: Modifier) -> list[str] | None:
        """Return the identities that `modifier` names, if it names things of kind `entity`."""
        codes = [m.what.text for m in modifier.values if isinstance(m.what, Code)]
        if len(codes) != len(modifier.values):
            return None
        if modifier.column is not None and modifier.column.nouns:
            return codes if entity in modifier.column.nouns else None
        owners = {self.owner(code) for code in codes}
        return codes if owners == {entity} else None

    def owner(self, code: str) -> str | None:
        """Return the only kind of thing whose identities look like `code`, or None."""
        found = [
            kind.entity
            for kind in self._catalogue.kinds.values()
            if (shape := _identity_shape(kind)) and _matches(shape.pattern, code)
        ]
        return found[0] if len(found) == 1 else None

    def _time(self, kind: Kind, modifier: Modifier) -> Binding | None:
        attribute = kind.moment
        if attribute is None or modifier.negated:
            return None
        if modifier.column is not None and not self._names(modifier.column, attribute):
            return None
        times = [m.what.mention for m in modifier.values if isinstance(m.what, Time)]
        choices: list[dict[str, Json]] = []
        for time in times:
            choice: dict[str, Json] = {}
            start, end = time.range
            for argument, day in ((attribute.start, start), (attribute.end, end)):
                if day is not None and argument is None:
                    return self._within(attribute, times[0].range) if len(times) == 1 else None
                if day is not None and argument is not None:
                    choice[argument] = day.isoformat()
            choices.append(choice)
        note = "; ".join(dict.fromkeys(time.reading for time in times))
        return Filter(attribute, tuple(choices), None, note)

    def _within(self, attribute: Attribute, span: tuple[date | None, date | None]) -> Where | None:
        if attribute.column is None:
            return None
        return Where(attribute, Within(attribute.column, span[0], span[1]))

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
        argument = {"=": attribute.equal, ">=": attribute.minimum, "<=": attribute.maximum}[
            operator
        ]
        strict = not modifier.negated and any(strictly(m) for m in modifier.evidence)
        if argument is not None:
            note = _bound_note(modifier, attribute, operator, value) if operator != "=" else None
            return Filter(attribute, ({argument: value},), None, note)
        if attribute.column is None:
            return None
        shown = operator.rstrip("=") if strict and operator != "=" else operator
        return Where(attribute, Compared(attribute.column, shown, value))

    def _presence(self, kind: Kind, modifier: Modifier) -> Binding | None:
        """Say that a column is empty: "without a sender"."""
        own = [
            kind.attributes[c.attribute]
            for c in modifier.mention.columns
            if c.entity == kind.entity
        ]
        if len(own) != 1 or own[0].column is None or not own[0].shape.nullable:
            return None
        return Where(own[0], Missing(own[0].column, modifier.negated))

    def _share(self, kind: Kind, modifier: Modifier) -> Binding | None:
        """Say that something is so full: what it holds, as a share of what it can hold."""
        what = modifier.mention.what
        if not isinstance(what, Number) or what.unit not in ("%", "percent"):
            return None
        if modifier.column is not None or modifier.upper is not None:
            return None
        if not any(m.does(WordClass.FULL) for m in modifier.evidence):
            return None
        pair = held_and_capacity(kind)
        if pair is None:
            return None
        strict = any(strictly(m) for m in modifier.evidence)
        operator = (
            {"=": "=", ">=": ">", "<=": "<"}[modifier.operator] if strict else modifier.operator
        )
        if modifier.negated:
            return None
        held, capacity = pair
        condition = Share(held, capacity, operator, round(what.value / 100, 9))
        return Where(kind.attributes[held], condition, f"full = {held} as a share of {capacity}")

    def _range(self, attribute: Attribute, low: float, modifier: Modifier) -> Binding | None:
        high = _converted(modifier.upper.what, attribute) if modifier.upper is not None else None
        if high is None or modifier.negated or low > high:
            return None
        if attribute.minimum is not None and attribute.maximum is not None:
            return Filter(attribute, ({attribute.minimum: low, attribute.maximum: high},), None)
        if attribute.column is None:
            return None
        return Where(attribute, Within(attribute.column, low, high))

    def _code(self, kind: Kind, modifier: Modifier) -> Binding | None:
        codes = [m.what.text for m in modifier.values if isinstance(m.what, Code)]
        column = modifier.column
        for attribute in kind.attributes.values():
            own = attribute.shape.ref == kind.identity
            if column is not None and column.nouns:
                fits = any(attribute.shape.ref == f"{noun}.id" for noun in column.nouns)
            elif column is not None:
                fits = self._names(column, attribute)
            else:
                owner = self.owner(codes[0])
                fits = owner is not None and attribute.shape.ref == f"{owner}.id"
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
            # a thing is asked for by what it can be asked for
            best = [attribute for attribute in best if attribute.equal is not None]
        if len(best) != 1:
            return None
        values = [_said_of(best[0], mention)[0] for mention in modifier.values]
        return self._equal(best[0], values, modifier)

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
        if attribute.equal is None and not shape.takes_many:
            return 0  # what nobody can filter by must be named to be meant
        if modifier.cue is None:
            return 0 if attribute.is_end_of_way else 1
        if modifier.cue in (" ".join(words.keys(cue)) for cue in shape.cues):
            return 2
        if attribute.is_end_of_way:
            return 0
        if shape.kind == "place":
            return 1 if modifier.cue in _LOCATIVE else 0
        if shape.enum or shape.is_boolean or shape.takes_many:
            return 1 if modifier.cue in _DESCRIBING else 0
        return 1 if modifier.cue in _NAMING else 0

    def _cue_names(self, cue: str, attribute: Attribute) -> bool:
        """Whether the cue ends in a word for `attribute`: "with status"."""
        _, _, last = cue.rpartition(" ")
        readings = self._catalogue.lexicon.get((last,), ()) if " " in cue else ()
        return ColumnOf(attribute.entity, attribute.name) in readings

    def _text(self, kind: Kind, modifier: Modifier, text: str) -> Binding | None:
        """Bind a name that nothing knows: only where its column or its very cue is said."""
        fitting = [
            attribute
            for attribute in kind.attributes.values()
            if attribute.shape.is_text
            and not attribute.shape.enum
            and attribute.shape.ref is None
            and attribute.equal is not None
            and self._takes_name(attribute, modifier)
        ]
        if len(fitting) != 1 or _is_near(text, fitting[0].shape.gazetteer):
            return None
        return self._equal(fitting[0], [text], modifier)

    def _takes_name(self, attribute: Attribute, modifier: Modifier) -> bool:
        if modifier.column is not None:
            return self._names(modifier.column, attribute)
        cues = {" ".join(words.keys(cue)) for cue in attribute.shape.cues}
        if modifier.cue is None or attribute.shape.kind in ("text", "code"):
            return False
        located = attribute.shape.kind == "place" and modifier.cue in _LOCATIVE
        return modifier.cue in cues or (located and not attribute.is_end_of_way)

    def _equal(
        self, attribute: Attribute, values: list[Json], modifier: Modifier
    ) -> Binding | None:
        if modifier.negated:
            return self._unequal(attribute, values)
        condition = _condition(attribute, values, True)
        argument = attribute.equal
        if argument is None or (attribute.shape.takes_many and not attribute.shape.takes_one):
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
        return any(
            each.entity == attribute.entity and each.attribute == attribute.name
            for each in column.columns
        )


def held_and_capacity(kind: Kind) -> tuple[str, str] | None:
    """Return the columns of what such a thing holds and can hold: the only two of that unit."""
    numbers = [
        (attribute.column, attribute.shape)
        for attribute in kind.attributes.values()
        if attribute.column is not None and attribute.shape.is_number
    ]
    for capacity, shape in numbers:
        if _CAPACITY not in (words.keys(capacity)[0], *map(words.key, shape.synonyms)):
            continue
        same = [name for name, its in numbers if name != capacity and its.unit == shape.unit]
        if len(same) == 1 and shape.unit is not None:
            return same[0], capacity
    return None


def attributes_named(catalogue: Catalogue, mention: Mention) -> Iterator[Attribute]:
    """Yield the attributes that `mention` may name."""
    return (catalogue.attribute(each) for each in mention.columns)


def _condition(attribute: Attribute, values: list[Json], wanted: bool) -> Condition | None:
    if attribute.column is None:
        return None
    if attribute.shape.takes_many and not attribute.shape.takes_one:
        return Contains(attribute.column, tuple(values), wanted)
    return Among(attribute.column, tuple(values), wanted, attribute.shape.nullable)


def _best(scored: list[tuple[int, Attribute]]) -> list[Attribute]:
    top = max((score for score, _ in scored), default=0)
    return [attribute for score, attribute in scored if score == top]


def _said_of(attribute: Attribute, mention: Mention) -> list[Json]:
    """Return the values of `attribute` that `mention` may be."""
    return [v.value for v in mention.values if _speaks_of(v, attribute)]


def _speaks_of(value: ValueOf, attribute: Attribute) -> bool:
    return value.entity == attribute.entity and value.attribute == attribute.name


def _identity_shape(kind: Kind) -> Shape | None:
    own = next((a for a in kind.attributes.values() if a.shape.ref == kind.identity), None)
    columns = [card.rows.columns for card in kind.cards if card.rows is not None]
    shown = [c for each in columns for c in each.values() if c.ref == kind.identity and c.pattern]
    if own is not None and own.shape.pattern:
        return own.shape
    return shown[0] if shown else None


def _matches(pattern: str | None, code: str) -> bool:
    """Whether `code` fits `pattern`, where that is simple enough to be sure of its cost."""
    if pattern is None or len(code) > 64 or _SIMPLE.fullmatch(pattern) is None:
        return False
    return re.search(pattern, code) is not None


# an anchored row of literals, classes and bounded or single repetitions: linear by construction
_SIMPLE: Final = re.compile(
    r"\^(?:(?:[A-Za-z0-9_-]|\[[A-Za-z0-9_-]+\]|\\d)(?:\{\d+(?:,\d*)?\}|\+|\?)?)+\$"
)


def _is_near(text: str, gazetteer: tuple[str, ...]) -> bool:
    folded = words.fold(text)
    return any(_distance_is_small(folded, words.fold(name)) for name in gazetteer)


def _distance_is_small(one: str, other: str) -> bool:
    """Whether at most two letters differ: more likely a slip than another name."""
    if one == other or abs(len(one) - len(other)) > 2 or min(len(one), len(other)) < 4:
        return False
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        previous, row[0] = row[0], at
        for to, its in enumerate(other, 1):
            cost = previous + (letter != its)
            previous, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, cost)
    return row[-1] <= 2


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


def _converted(what: What, attribute: Attribute) -> float | None:
    return _scaled(what, attribute) if isinstance(what, Number) else None


def _scaled(number: Number, attribute: Attribute) -> float | None:
    """Return `number` in the attribute's unit, None where it cannot be said in that unit."""
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
