"""What is measured: counts, rates and statistics, read from the mentions of a question."""

from __future__ import annotations

from collections.abc import Sequence

from toolplan.planners.grounded.catalogue.kinds import Catalogue, ColumnOf, ValueOf
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import UNITS, stem
from toolplan.planners.grounded.parse.mentions import Mention, Number
from toolplan.planners.grounded.parse.noun_phrase import is_singular
from toolplan.planners.grounded.parse.requests import (
    ByColumn,
    ByPeriod,
    Computation,
    Count,
    Distinct,
    Listed,
    Rate,
    Statistic,
)

FUNCTIONS = {
    "average": "avg", "mean": "avg", "avg": "avg", "typical": "avg", "averaged": "avg",
    "total": "sum", "sum": "sum", "combined": "sum", "overall": "sum", "summed": "sum",
    "cumulative": "sum", "maximum": "max", "max": "max", "minimum": "min", "min": "min",
    "median": "median", "sum of": "sum",
}  # fmt: skip
PERIODS = {
    "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter",
    "yearly": "year", "annual": "year", "day": "day", "week": "week", "month": "month",
    "quarter": "quarter", "year": "year", "weekday": "weekday",
}  # fmt: skip


class Measures:
    """Reads one row of mentions; `taken` are the indexes of those that are used up by it."""

    def __init__(self, mentions: Sequence[Mention], catalogue: Catalogue) -> None:
        """Hold `mentions`."""
        self._all = mentions
        self._catalogue = catalogue
        self.found = Computation()
        self.taken: set[int] = set()

    def _take(self, *indexes: int) -> None:
        self.taken.update(indexes)

    def _does(self, at: int, *classes: WordClass) -> bool:
        return 0 <= at < len(self._all) and at not in self.taken and self._all[at].does(*classes)

    def _skip(self, at: int, *classes: WordClass, step: int = 1) -> int:
        """Return the first index from `at` on that does none of `classes`."""
        while 0 <= at < len(self._all) and (self._all[at].does(*classes) or at in self.taken):
            at += step
        return at

    def _at(self, at: int) -> Mention | None:
        return self._all[at] if 0 <= at < len(self._all) and at not in self.taken else None

    def _each(self, *classes: WordClass) -> list[int]:
        return [at for at in range(len(self._all)) if self._does(at, *classes)]

    def _before(self, at: int) -> object:
        mention = self._at(at - 1)
        return mention.what if mention is not None else None

    def _behind_values(self, at: int) -> int:
        """Return the index behind the values that stand before a number of theirs: "oak weight"."""
        behind = at
        while (said := self._at(behind)) is not None and said.values and not said.columns:
            behind += 1
        return behind if self._numeric(behind) else at

    def _noun_after(self, at: int) -> bool:
        following = self._at(self._skip(at + 1, WordClass.FILLER))
        return following is not None and bool(following.nouns)

    def _noun_after_values(self, at: int) -> bool:
        """Whether a thing stands behind the values joined from `at` on: "oak and ash books"."""
        joined = self._skip(at + 1, WordClass.AND, WordClass.OR, WordClass.COMMA)
        while joined > at + 1 and (said := self._at(joined)) is not None and said.values:
            at = joined
            joined = self._skip(at + 1, WordClass.AND, WordClass.OR, WordClass.COMMA)
        return self._noun_after(at)

    def _cue(self, at: int) -> str | None:
        mention = self._at(at)
        return mention.cue if mention is not None else None

    def _numeric(self, at: int) -> tuple[ColumnOf, ...]:
        mention = self._at(at)
        if mention is None or (mention.nouns and not is_singular(mention)):
            return ()
        return tuple(
            each for each in mention.columns if self._catalogue.attribute(each).shape.is_number
        )

    def _set(self, measure: Count | Rate | Statistic | Listed | Distinct, *indexes: int) -> None:
        self.found.measure = measure
        self._take(*indexes)

    def _group_by(self, at: int) -> None:
        mention = self._all[at]
        self.found.groups.append(ByColumn(mention.columns, mention.nouns, mention))
        self._take(at)

    def _group_by_period(self, at: int) -> None:
        mention = self._all[at]
        self._replace_period(ByPeriod(PERIODS[words.key(mention.text.split()[-1])], mention))
        self._take(at)

    def _replace_period(self, period: ByPeriod) -> None:
        kept = [g for g in self.found.groups if not isinstance(g, ByPeriod)]
        self.found.groups[:] = [*kept, period]

    def _is_thing(self, mention: Mention) -> bool:
        """Whether `mention` speaks of things rather than of a number that others here have."""
        others = {entity for m in self._all if m is not mention for entity in m.nouns}
        return not any(column.entity in others for column in mention.columns)

    def _value_behind(self, at: int) -> bool:
        following = self._at(at + 1)
        return following is not None and following.is_value and not following.nouns

    def _rates(self) -> None:
        for at in self._each(WordClass.RATE):
            if self.found.measure is not None or isinstance(self._before(at), Number):
                continue
            before = self._at(at - 1)
            having = self._having(before) if before is not None else ()
            if having:
                self._set(Rate(having), at - 1, at)
                continue
            behind = self._skip(at + 1, WordClass.FILLER)
            if self._cue(behind) in ("of", "for"):
                said = self._at(self._skip(behind + 1, WordClass.FILLER))
                having = self._having(said) if said is not None and not said.nouns else ()
                after = self._skip(behind + 1, WordClass.FILLER)
                if having and not self._noun_after_values(after):
                    self._set(Rate(having), at, behind, after)
                    continue
                self._set(Rate(()), at, behind)
            elif self._all[at].text.casefold() not in ("rate", "rates", "ratio"):
                self._set(Rate(()), at)

    def _having(self, mention: Mention) -> tuple[ValueOf, ...]:
        """Return the values that "return", "rejection", "rejected" speak of in a rate."""
        named = tuple(
            ValueOf(each.entity, each.attribute, True)
            for each in mention.columns
            if self._catalogue.attribute(each).shape.is_boolean
        )
        if named:
            return named
        if mention.values:
            return mention.values
        if len(mention.text.split()) > 1:
            return ()
        return self._catalogue.stems.get(stem(mention.text), ())

    def _counts(self) -> None:
        for at in self._each(WordClass.COUNT):
            if self.found.measure is not None:
                return
            behind = self._skip(at + 1, WordClass.FILLER, WordClass.DETAIL)
            if self._noun_comes(behind):
                self._set(Count(), at)

    def _noun_comes(self, at: int) -> bool:
        """Whether a thing, or something that is counted like one, is spoken of from `at` on."""
        return any(mention.nouns or mention.columns for mention in self._all[at:])

    def _statistics(self) -> None:
        for at in self._each(WordClass.STATISTIC):
            if self.found.measure is not None:
                return
            behind = self._skip(at + 1, WordClass.FILLER)
            behind = (
                self._skip(behind, WordClass.FILLER) if self._cue(behind) != "of" else behind + 1
            )
            behind = self._skip(behind, WordClass.FILLER)
            noun = self._at(behind)
            if noun is not None and noun.nouns and not self._numeric(behind):
                behind += 1
                if self._all[at].text.casefold() == "total" and not self._numeric(behind):
                    self._set(Count(), at)  # "total loans": of things there is nothing but a number
                    return
            behind = self._behind_values(behind)
            if self._numeric(behind):
                function = FUNCTIONS[" ".join(words.keys(self._all[at].text))]
                self._set(Statistic(function, self._all[behind].columns), at, behind)
                if self._cue(at + 1) == "of":
                    self._take(at + 1)

    def _amounts(self) -> None:
        """Read "how much oak", "how many tonnes": the sum of what is measured in that way."""
        for at in self._each(WordClass.HOW_MUCH, WordClass.COUNT, WordClass.STATISTIC):
            behind = self._skip(at + 1, WordClass.FILLER)
            if self.found.measure is not None or self._at(behind) is None:
                continue
            asked = self._does(behind, WordClass.UNIT)
            much = self._does(at, WordClass.HOW_MUCH) and self._is_stuff(behind)
            if not asked and not much:
                continue
            stuff = self._skip(behind + asked, WordClass.FILLER)
            if asked and self._cue(stuff) == "of":
                stuff = self._skip(stuff + 1, WordClass.FILLER)
            said = self._all[behind].text.casefold() if asked else None
            columns = self._numeric(stuff) or self._weighed(stuff, said)
            if len(columns) != 1:
                continue
            function = FUNCTIONS.get(self._all[at].text.casefold(), "sum")
            self._set(Statistic(function, columns, said), at)
            if asked:
                self._take(*range(behind, stuff if self._cue(stuff - 1) == "of" else behind + 1))
            if self._is_bare_stuff(stuff) or self._numeric(stuff):
                self._take(stuff)

    def _is_stuff(self, at: int) -> bool:
        mention = self._at(at)
        return mention is not None and bool(mention.values or self._is_bare_stuff(at))

    def _is_bare_stuff(self, at: int) -> bool:
        """Whether a column stands here for what is measured: "how much timber came"."""
        mention = self._at(at)
        if mention is None or not mention.columns or mention.nouns or self._numeric(at):
            return False
        return not self._value_behind(at)

    def _weighed(self, at: int, unit: str | None) -> tuple[ColumnOf, ...]:
        """Return the one number that is measured in `unit`, of what is spoken of.

        That is told by what is measured, else by the nouns, and else, where something happened, by
        what can happen: the only thing with a date that is measured so.
        """
        dimension = UNITS[words.key(unit)][0] if unit is not None else "mass"
        stuff = self._at(at)
        said = (*stuff.values, *stuff.columns) if stuff is not None else ()
        told = {each.entity for each in said}
        nouns = {entity for m in self._all for entity in m.nouns}
        others = {c.entity for m in self._all for c in m.columns} if not nouns else set[str]()
        happened = any(m.does(WordClass.LINK) or m.values for m in self._all)
        dated = {e for e, kind in self._catalogue.kinds.items() if kind.moment is not None}
        for entities in (told, nouns, others, dated if happened else set[str]()):
            found = self._measured_in(entities, dimension)
            if len(found) == 1:
                return found
        return ()

    def _measured_in(self, entities: set[str], dimension: str) -> tuple[ColumnOf, ...]:
        return tuple(
            ColumnOf(entity, attribute.name)
            for entity in sorted(entities)
            for attribute in self._catalogue.kinds[entity].attributes.values()
            if attribute.column is not None
            and UNITS.get(words.key(attribute.shape.unit or ""), ("", 1.0))[0] == dimension
        )
