"""The form of a question: what is left of it when harmless wording and free order are taken away.

Two questions of one skeleton ask for the same but for what stands in their slots. The words of a
skeleton are in the order of the question; only what is said of the one kind of thing that the
question speaks of is free to stand anywhere, and nothing is free where a word is not understood,
or where words such as *and*, *not*, *their* make order matter.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Final

from toolplan.planners.cache import _wording as wording
from toolplan.planners.cache._slots import Amount, Slot
from toolplan.planners.cache._units import Part, Unit, UnitReader, narrowed
from toolplan.planners.grounded.catalogue.kinds import Attribute, Catalogue, ColumnOf
from toolplan.planners.grounded.catalogue.lexicon import compile_catalogue
from toolplan.planners.grounded.dates import Weeks, find_bad_dates
from toolplan.planners.grounded.language.words import UNITS, keys
from toolplan.planners.grounded.parse.reader import Reader
from toolplan.tools import Toolbox

LONGEST: Final = 400
"""Characters; a longer question has no form, so that reading it costs little."""

_REMEMBERED: Final = 256

_AGGREGATING: Final = frozenset(["count", "mean", "sum", "share", "rate"])
_MEASURING: Final = frozenset(["mean", "sum", "maximum", "minimum", "max", "min", "median"])
_COMPARING: Final = frozenset(["above", "below"])
_RANKING: Final = frozenset(["latest", "oldest", "largest", "heaviest", "lightest", "longest",
                             "shortest", "smallest"])  # fmt: skip
_STATED: Final = (Part.VALUE, Part.FLAG)
_PERIODS: Final = frozenset(["day", "week", "month", "quarter", "year", "weekday"])
_AGENTS: Final = frozenset(["organisation", "organization", "person", "company"])


@dataclass(frozen=True, slots=True)
class Form:
    """What a question asks for: the words that must be the same, and what may be another."""

    skeleton: tuple[str, ...]
    slots: tuple[Slot, ...]


class Forms:
    """Reads the forms of questions over one toolbox, and remembers the latest of them."""

    def __init__(self, tools: Toolbox, weeks: Weeks) -> None:
        """Hold what questions are read against; `weeks` says what *last week* is."""
        self._tools = tools
        self._weeks: Weeks = weeks
        self._read: OrderedDict[tuple[str, str], Form | None] = OrderedDict()

    @cached_property
    def catalogue(self) -> Catalogue:
        """What is known of the tools, compiled when the first form is read."""
        return compile_catalogue(self._tools)

    def of(self, text: str, today: str) -> Form | None:
        """Return the form of the question `text`, asked on the day `today`; None where it has none.

        A question has none that is very long, or names a day that does not exist, or is asked on
        one.
        """
        if (text, today) not in self._read:
            self._read[text, today] = read_form(text, today, self.catalogue, self._weeks)
            while len(self._read) > _REMEMBERED:
                self._read.popitem(last=False)
        return self._read[text, today]


def read_form(text: str, today: str, catalogue: Catalogue, weeks: Weeks) -> Form | None:
    """Do what `Forms.of` does, remembering nothing."""
    if len(text) > LONGEST or find_bad_dates(text):
        return None
    try:
        day = date.fromisoformat(today)
    except ValueError:
        return None
    mentions = next(Reader(text, catalogue, day, weeks).readings(), ())
    reader = UnitReader(catalogue, mentions)
    units = _Rewriting(reader.units(), reader.entity, catalogue).result()
    return _form(units, reader.entity) if units else None


class _Rewriting:
    """Rewrites a row of units until each thing is said in one way, pass by pass."""

    def __init__(self, units: list[Unit], entity: str | None, catalogue: Catalogue) -> None:
        self._units = units
        self._entity = entity
        self._catalogue = catalogue

    def result(self) -> list[Unit]:
        """Return what all passes leave."""
        self._join_columns()
        self._drop_moving()
        self._join_cues()
        self._drop_deeds()
        self._join_amounts()
        self._group()
        self._own()
        self._rank()
        return self._units

    def _at(self, at: int) -> Unit | None:
        return self._units[at] if 0 <= at < len(self._units) else None

    def _says(self, at: int, *texts: str) -> bool:
        unit = self._at(at)
        return unit is not None and unit.slot is None and unit.text in texts

    def _join_columns(self) -> None:
        """Make one of *status lent*, *high price*: a value with the name of its attribute."""
        for at in range(len(self._units) - 1, -1, -1):
            unit = self._units[at]
            if unit.part is not Part.VALUE:
                continue
            for beside in (at - 1, at + 1):
                column = self._at(beside)
                if column is None or column.part is not Part.COLUMN:
                    continue
                both = column.attributes & unit.attributes
                if len(both) != 1 or not column.settled or self._says(beside - 1, "by", "per"):
                    continue
                self._units[at] = narrowed(unit, both)
                del self._units[beside]
                break

    def _drop_moving(self) -> None:
        """Leave *from* of *coming from*, *to* of *sent to*, where a value follows."""
        for at in range(len(self._units) - 3, -1, -1):
            value = self._units[at + 2]
            moving = self._units[at].text in wording.MOVING
            if moving and self._says(at + 1, "from", "to") and value.part is Part.VALUE:
                del self._units[at]

    def _join_cues(self) -> None:
        """Make one of a value and the word before it; none is left where only one is meant."""
        for at in range(len(self._units) - 1, 0, -1):
            unit, cue = self._units[at], self._units[at - 1]
            if unit.part is not Part.VALUE or cue.slot is not None:
                continue
            attribute = self._only_attribute(unit)
            if attribute is not None and self._is_neutral(cue, attribute):
                del self._units[at - 1]
            elif cue.part is Part.CUE or cue.text in wording.NEUTRAL_CUES:
                self._units[at] = replace(unit, text=f"{cue.text} {unit.text}")
                del self._units[at - 1]

    def _only_attribute(self, unit: Unit) -> Attribute | None:
        """Return the attribute of the one kind of thing spoken of that `unit` can be meant of."""
        if len(unit.attributes) != 1:
            return None
        entity, name = next(iter(unit.attributes))
        return self._catalogue.kinds[entity].attributes[name] if entity == self._entity else None

    def _is_neutral(self, cue: Unit, attribute: Attribute) -> bool:
        if cue.text in wording.NEUTRAL_CUES:
            return True
        if cue.part is not Part.CUE or cue.text in ("from", "to", "for"):
            return False
        words = tuple(cue.text.split())
        if words in {keys(each) for each in attribute.shape.cues}:
            return True
        named = self._catalogue.lexicon.get(words[1:], ())  # "with status", "of author"
        return words[0] in ("with", "of") and _column(attribute) in named

    def _drop_deeds(self) -> None:
        """Drop verbs that add nothing: loans *found*, books that an author *wrote*."""
        if self._entity is None:
            return
        aggregates = _aggregates(self._units)
        flagged = any(unit.part is Part.FLAG for unit in self._units)
        agents = any(self._is_agent(unit) for unit in self._units)
        for at in range(len(self._units) - 1, -1, -1):
            unit, before, behind = self._units[at], self._at(at - 1), self._at(at + 1)
            if unit.part in _STATED or unit.slot is not None:
                continue
            stated = behind is not None and behind.part in _STATED
            happened = unit.text in wording.HAPPENING and not flagged and _is_thing(before)
            done = unit.text in wording.DOING and agents and _is_thing(before)
            is_now = unit.text in wording.NOW and (stated or (behind is None and _states(before)))
            got = unit.text == "got" and stated
            each = unit.text == "every" and not aggregates and before is None
            if happened or done or is_now or got or each:
                del self._units[at]

    def _is_agent(self, unit: Unit) -> bool:
        attribute = self._only_attribute(unit) if unit.part is Part.VALUE else None
        return attribute is not None and attribute.shape.kind in _AGENTS

    def _join_amounts(self) -> None:
        """Make one of *more than* and an amount, without what its unit says already."""
        for at in range(len(self._units) - 1, 0, -1):
            slot = self._units[at].slot if at < len(self._units) else None
            if not isinstance(slot, Amount) or slot.dimension is None:
                continue
            if not self._says(at - 1, *_COMPARING):
                continue
            comparison = self._units[at - 1].text
            self._units[at] = replace(self._units[at], text=f"{comparison} {self._units[at].text}")
            del self._units[at - 1]
            self._drop_measure(at - 1, slot.dimension)

    def _drop_measure(self, at: int, dimension: str) -> None:
        """Drop, before the amount at `at`, the name of the only thing measured in its unit."""
        measured = self._measured(dimension)
        column = self._at(at - 1)
        if column is not None and column.part is Part.COLUMN:
            if self._says(at - 2, "have", "whose"):
                del self._units[at - 2]
                at -= 1
            if len(measured) == 1 and column.attributes == measured:
                del self._units[at - 1]
        elif len(measured) == 1 and self._says(at - 1, "weigh", "weighing"):
            del self._units[at - 1]

    def _measured(self, dimension: str) -> frozenset[tuple[str, str]]:
        kind = self._catalogue.kinds.get(self._entity or "")
        if kind is None:
            return frozenset()
        return frozenset(
            (kind.entity, name)
            for name, attribute in kind.attributes.items()
            if UNITS.get(attribute.shape.unit or "", ("", 0.0))[0] == dimension
        )

    def _group(self) -> None:
        """Say *per* for all words that group, and *price of books* for *book price*."""
        aggregates = _aggregates(self._units)
        for at in range(len(self._units) - 1):
            following = self._units[at + 1]
            named = following.part in (Part.COLUMN, Part.NOUN) and aggregates
            if self._says(at, "by", "per") and (named or following.text in _PERIODS):
                self._units[at] = Unit(Part.WORD, "per")
            if following.text == "count" and self._units[at].part is Part.NOUN:
                self._units[at : at + 2] = [following, self._units[at]]
            one = self._units[at]
            measured = following.part is Part.COLUMN and self._says(at - 1, *_MEASURING)
            if one.part is Part.NOUN and measured and self._is_of(following):
                self._units[at : at + 2] = [following, Unit(Part.CUE, "of"), one]

    def _is_of(self, column: Unit) -> bool:
        return {entity for entity, _ in column.attributes} == {self._entity}

    def _own(self) -> None:
        """Say *of* for *in* and *for* between a thing and the one that it belongs to."""
        for at in range(len(self._units) - 3, -1, -1):
            noun, identity = self._units[at + 1 : at + 3]
            named = noun.part is Part.NOUN and identity.part is Part.IDENTITY
            if named and self._says(at, "the"):
                del self._units[at]
        for at in range(len(self._units) - 3):
            one, _, other, identity = self._units[at : at + 4]
            named = other.part is Part.NOUN and identity.part is Part.IDENTITY
            if one.part is Part.NOUN and named and self._says(at + 1, "in", "for"):
                self._units[at + 1] = Unit(Part.CUE, "of")

    def _rank(self) -> None:
        """Say *heaviest 10* for *10 heaviest*."""
        for at in range(len(self._units) - 1):
            slot, following = self._units[at].slot, self._units[at + 1]
            if isinstance(slot, Amount) and slot.dimension is None and following.text in _RANKING:
                self._units[at], self._units[at + 1] = following, self._units[at]


def _form(units: Sequence[Unit], entity: str | None) -> Form:
    free = _free(units, entity)
    bound = [unit for at, unit in enumerate(units) if at not in free]
    loose = sorted((units[at] for at in free), key=lambda unit: unit.text)
    ordered = [*bound, *loose]
    skeleton = (*(unit.text for unit in bound), "|", *(unit.text for unit in loose))
    return Form(skeleton, tuple(unit.slot for unit in ordered if unit.slot is not None))


def _free(units: Sequence[Unit], entity: str | None) -> frozenset[int]:
    """Return the indexes of the units that mean the same wherever they stand."""
    parts = [unit.part for unit in units]
    if Part.FIXED in parts or (entity is None and Part.NOUN in parts):
        return frozenset()
    times = [at for at, unit in enumerate(units) if unit.part is Part.TIME]
    said = [at for at, unit in enumerate(units) if _is_said_of(unit, entity)]
    aggregates = _aggregates(units)
    if aggregates and len(said) > 1:
        said = []  # of two values, the one is what is counted and the other what is counted in
    amounts = [] if aggregates else [at for at, unit in enumerate(units) if _is_bound(unit)]
    found = [*(times if len(times) == 1 else []), *said, *amounts]
    if len({units[at].text for at in found}) < len(found):
        return frozenset()
    return frozenset(found)


def _is_thing(unit: Unit | None) -> bool:
    return unit is not None and unit.part in (Part.NOUN, Part.VALUE, Part.TIME)


def _states(unit: Unit | None) -> bool:
    return unit is not None and unit.part in _STATED


def _aggregates(units: Sequence[Unit]) -> bool:
    return any(unit.text in _AGGREGATING or unit.part is Part.REPORT for unit in units)


def _column(attribute: Attribute) -> ColumnOf:
    return ColumnOf(attribute.entity, attribute.name)


def _is_said_of(unit: Unit, entity: str | None) -> bool:
    own = all(each == entity for each, _ in unit.attributes)
    return unit.part in (Part.VALUE, Part.FLAG) and own and unit.settled


def _is_bound(unit: Unit) -> bool:
    return unit.part is Part.AMOUNT and unit.text.split()[0] in _COMPARING
