"""What a question wants computed, read from its mentions: counts, rates, statistics, groups, order.

This comes before frames are made, because the words of a computation stand where things stand:
"which colours have the highest share" speaks of no thing at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolplan.planners import words
from toolplan.planners.catalogue import Catalogue, ColumnOf, ValueOf
from toolplan.planners.mentions import Code, Mention, Number
from toolplan.planners.noun_phrase import is_singular
from toolplan.planners.requests import (
    ByColumn,
    ByPeriod,
    Computation,
    Count,
    Distinct,
    Listed,
    Rate,
    Statistic,
)
from toolplan.planners.words import DIMENSIONS, EXTREMES, UNITS, Sort, stem

_FUNCTIONS = {
    "average": "avg", "mean": "avg", "avg": "avg", "typical": "avg", "averaged": "avg",
    "total": "sum", "sum": "sum", "combined": "sum", "overall": "sum", "summed": "sum",
    "cumulative": "sum", "maximum": "max", "max": "max", "minimum": "min", "min": "min",
    "median": "median", "sum of": "sum",
}  # fmt: skip
_PERIODS = {
    "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter",
    "yearly": "year", "annual": "year", "day": "day", "week": "week", "month": "month",
    "quarter": "quarter", "year": "year",
}  # fmt: skip


class Computing:
    """Reads one row of mentions; `taken` are the indexes of those that are used up by it."""

    def __init__(self, mentions: Sequence[Mention], catalogue: Catalogue) -> None:
        """Hold `mentions`."""
        self._all = mentions
        self._catalogue = catalogue
        self.found = Computation()
        self.taken: set[int] = set()

    def read(self) -> Computation | None:
        """Give the computation, None where none is asked for."""
        for read in (
            self._rates,
            self._counts,
            self._statistics,
            self._ranks,
            self._extremes,
            self._trends,
            self._groups,
            self._compared,
            self._heads,
        ):
            read()
        found = self.found
        if found.measure is None and not found.groups and found.descending is None:
            return None
        if found.measure is None:
            found.measure = Count()
        found.mentions = [self._all[at] for at in sorted(self.taken)]
        return found

    def _take(self, *indexes: int) -> None:
        self.taken.update(indexes)

    def _does(self, at: int, *sorts: Sort) -> bool:
        return 0 <= at < len(self._all) and at not in self.taken and self._all[at].does(*sorts)

    def _skip(self, at: int, *sorts: Sort, step: int = 1) -> int:
        """Give the first index from `at` on that does none of `sorts`."""
        while 0 <= at < len(self._all) and (self._all[at].does(*sorts) or at in self.taken):
            at += step
        return at

    def _at(self, at: int) -> Mention | None:
        return self._all[at] if 0 <= at < len(self._all) and at not in self.taken else None

    def _each(self, *sorts: Sort) -> list[int]:
        return [at for at in range(len(self._all)) if self._does(at, *sorts)]

    def _rates(self) -> None:
        for at in self._each(Sort.RATE):
            if self.found.measure is not None or isinstance(self._before(at), Number):
                continue
            before = self._at(at - 1)
            having = self._having(before) if before is not None else ()
            if having:
                self._set(Rate(having), at - 1, at)
                continue
            behind = self._skip(at + 1, Sort.FILLER)
            if self._cue(behind) in ("of", "for"):
                said = self._at(self._skip(behind + 1, Sort.FILLER))
                having = self._having(said) if said is not None and not said.nouns else ()
                after = self._skip(behind + 1, Sort.FILLER)
                if having and not self._noun_after(after):
                    self._set(Rate(having), at, behind, after)
                    continue
                self._set(Rate(()), at, behind)
            elif self._all[at].text.casefold() not in ("rate", "rates", "ratio"):
                self._set(Rate(()), at)

    def _before(self, at: int) -> object:
        mention = self._at(at - 1)
        return mention.what if mention is not None else None

    def _noun_after(self, at: int) -> bool:
        following = self._at(self._skip(at + 1, Sort.FILLER))
        return following is not None and bool(following.nouns)

    def _cue(self, at: int) -> str | None:
        mention = self._at(at)
        return mention.cue if mention is not None else None

    def _having(self, mention: Mention) -> tuple[ValueOf, ...]:
        """Give the values that "return", "rejection", "rejected" speak of in a rate."""
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

    def _set(self, measure: Count | Rate | Statistic | Listed | Distinct, *indexes: int) -> None:
        self.found.measure = measure
        self._take(*indexes)

    def _counts(self) -> None:
        for at in self._each(Sort.COUNT):
            if self.found.measure is not None:
                return
            behind = self._skip(at + 1, Sort.FILLER, Sort.DETAIL)
            if self._noun_comes(behind):
                self._set(Count(), at)

    def _noun_comes(self, at: int) -> bool:
        """Whether a thing, or something that is counted like one, is spoken of from `at` on."""
        return any(mention.nouns or mention.columns for mention in self._all[at:])

    def _statistics(self) -> None:
        for at in self._each(Sort.STATISTIC):
            if self.found.measure is not None:
                return
            behind = self._skip(at + 1, Sort.FILLER)
            behind = self._skip(behind, Sort.FILLER) if self._cue(behind) != "of" else behind + 1
            behind = self._skip(behind, Sort.FILLER)
            noun = self._at(behind)
            if noun is not None and noun.nouns and not self._numeric(behind):
                behind += 1
                if self._all[at].text.casefold() == "total" and not self._numeric(behind):
                    self._set(Count(), at)  # "total loans": of things there is nothing but a number
                    return
            if self._numeric(behind):
                function = _FUNCTIONS[" ".join(words.keys(self._all[at].text))]
                self._set(Statistic(function, self._all[behind].columns), at, behind)
                if self._cue(at + 1) == "of":
                    self._take(at + 1)

    def _numeric(self, at: int) -> tuple[ColumnOf, ...]:
        mention = self._at(at)
        if mention is None:
            return ()
        return tuple(
            each for each in mention.columns if self._catalogue.attribute(each).shape.is_number
        )

    def _ranks(self) -> None:
        for at in self._each(
            Sort.HIGHEST, Sort.LOWEST, Sort.MOST, Sort.FEWEST, Sort.TOP, Sort.RANK
        ):
            if self.found.descending is not None or self._does(at, Sort.COUNT):
                continue
            if self._does(at, Sort.TOP, Sort.RANK):
                self._top(at)
            elif self._does(at, Sort.HIGHEST, Sort.LOWEST):
                self._superlative(at)
            else:
                self._most(at)

    def _superlative(self, at: int) -> None:
        descending = self._does(at, Sort.HIGHEST)
        behind = self._skip(at + 1, Sort.FILLER)
        if isinstance(self._before(at + 2), Number):
            self._top(at, descending)
            return
        if self.found.measure is not None and (at + 1 in self.taken or behind != at + 1):
            self._order(at, descending)
            self._subject(at)
            return
        while (said := self._at(behind)) is not None and said.values and not said.columns:
            behind += 1
        if (columns := self._numeric(behind)) and not self.found.groups:
            self._extreme(at, behind, columns, descending)

    def _extreme(
        self, at: int, column: int, columns: tuple[ColumnOf, ...], descending: bool
    ) -> None:
        """Rank things by a number of theirs, or give its highest value where none are named."""
        before = [m for i, m in enumerate(self._all[:at]) if i not in self.taken]
        following = self._at(column + 1)
        if any(m.nouns for m in before) or (following is not None and following.nouns):
            self._order(at, descending)
            self._set(Listed(columns), column)
            self._subject(at)
        elif not any(m.columns for m in before) and self.found.measure is None:
            # a colour has many weights: which of its figures is meant is not said
            self._set(Statistic("max" if descending else "min", columns), at, column)

    def _order(self, at: int, descending: bool) -> None:
        self.found.descending = descending
        self._take(at)

    def _most(self, at: int) -> None:
        descending = self._does(at, Sort.MOST)
        behind = self._skip(at + 1, Sort.FILLER)
        mention = self._at(behind)
        words_ = self._all[at].text.casefold().split()
        if self.found.measure is not None:
            return
        if words_[-1] in ("common", "frequent") and mention is not None:
            if mention.columns and not mention.nouns:
                self._order(at, descending)
                self._set(Count())
                self._group_by(behind)
                self.found.single = is_singular(mention)
        elif words_[-1] in ("often", "frequently"):
            if self._subject_anywhere():
                self._order(at, descending)
                self._set(Count())
        elif self._countable(behind) and self._subject(at):
            self._order(at, descending)
            self._set(Count())

    def _countable(self, at: int) -> bool:
        """Whether a thing, with what is said before it, starts at `at`."""
        for mention in self._all[at : at + 4]:
            if mention.nouns:
                return True
            if not mention.values:
                return False
        return False

    def _top(self, at: int, descending: bool = True) -> None:
        """Read "top 5 colours by share"."""
        if self._does(at, Sort.RANK) and self._measured_behind(at):
            self._order(at, True)
            self._subject(at)
            return
        number = self._at(at + 1)
        subject = at + 2 if number is not None and isinstance(number.what, Number) else at + 1
        subject = self._skip(subject, Sort.FILLER)
        by = next(
            (i for i in self._each(Sort.BY) if i > subject and self._measured_behind(i)), None
        )
        if by is None:
            return
        mention = self._at(subject)
        if mention is None:
            return
        columns = self._numeric(self._skip(by + 1, Sort.FILLER))
        if self.found.measure is None and columns:
            self._set(Listed(columns), self._skip(by + 1, Sort.FILLER))
        self._order(at, descending)
        self._take(by)
        if number is not None and isinstance(number.what, Number):
            self.found.count = int(number.what.value)
            self._take(at + 1)
        elif is_singular(mention) and not self._does(at, Sort.RANK):
            self.found.single = True
        if (mention.columns and not mention.nouns) or not isinstance(self.found.measure, Listed):
            self._group_by(subject)

    def _measured_behind(self, at: int) -> bool:
        """Whether what stands behind `at` is measured rather than grouped by."""
        behind = at + 1
        while behind < len(self._all) and self._all[behind].does(Sort.FILLER):
            behind += 1
        return behind in self.taken or bool(self._numeric(behind))

    def _subject(self, at: int) -> bool:
        """Take what is ranked: the column or thing before the superlative."""
        before = self._skip(
            at - 1, Sort.HAVE, Sort.FILLER, Sort.LINK, Sort.RELATIVE, Sort.BE, step=-1
        )
        mention = self._at(before)
        if mention is None or before < 0:
            return False
        listed = isinstance(self.found.measure, Listed)
        number = self._at(before - 1)
        if (mention.columns and not mention.nouns) or (mention.nouns and not listed):
            self._group_by(before)
        elif not (mention.nouns and listed):
            return False
        self.found.single = is_singular(mention)
        if number is not None and isinstance(number.what, Number):
            self.found.count = int(number.what.value)
            self._take(before - 1)
            if self._does(before - 2, Sort.TOP):
                self._take(before - 2)
        for index in range(before + 1, at):
            if self._all[index].does(Sort.HAVE, Sort.LINK, Sort.RELATIVE, Sort.BE):
                self._take(index)
        return True

    def _subject_anywhere(self) -> bool:
        for at, mention in enumerate(self._all):
            if at not in self.taken and mention.columns and not mention.nouns:
                self._group_by(at)
                self.found.single = is_singular(mention)
                return True
        return False

    def _group_by(self, at: int) -> None:
        mention = self._all[at]
        self.found.groups.append(ByColumn(mention.columns, mention.nouns, mention))
        self._take(at)

    def _extremes(self) -> None:
        for at in self._each(Sort.EXTREME):
            *names, descending = EXTREMES[" ".join(self._all[at].text.casefold().split())]
            number, noun_at = self._around(at)
            noun = self._at(noun_at)
            if noun is None or not noun.nouns or self.found.measure is not None:
                continue
            columns = self._measured_by(names[0], names[1], noun.nouns[0])
            if len(columns) != 1:
                continue
            self._set(Listed(columns), at)
            self.found.descending = descending
            self.found.single = is_singular(noun)
            if number is not None:
                what = self._all[number].what
                self.found.count = int(what.value) if isinstance(what, Number) else None
                self._take(number)

    def _around(self, at: int) -> tuple[int | None, int]:
        """Give the index of the number beside `at`, and of the noun behind it."""
        behind = self._at(at + 1)
        if behind is not None and isinstance(behind.what, Number) and behind.what.unit is None:
            return at + 1, self._noun_index(at + 2)
        before = self._at(at - 1)
        if before is not None and isinstance(before.what, Number) and before.what.unit is None:
            return at - 1, self._noun_index(at + 1)
        return None, self._noun_index(at + 1)

    def _noun_index(self, at: int) -> int:
        while at < len(self._all) and not self._all[at].nouns and self._all[at].values:
            at += 1
        return at

    def _measured_by(self, adjective: str, noun: str, entity: str) -> tuple[ColumnOf, ...]:
        named = tuple(
            each
            for word in (adjective, noun)
            for each in self._catalogue.lexicon.get((words.key(word),), ())
            if isinstance(each, ColumnOf) and each.entity == entity
        )
        named = tuple(dict.fromkeys(named))
        if named or adjective not in DIMENSIONS:
            return named
        attributes = self._catalogue.kinds[entity].attributes.values()
        return tuple(
            ColumnOf(entity, a.name)
            for a in attributes
            if a.column
            and UNITS.get(words.key(a.shape.unit or ""), ("",))[0] == DIMENSIONS[adjective]
        )

    def _trends(self) -> None:
        for at in self._each(Sort.EACH_PERIOD):
            period = _PERIODS[words.key(self._all[at].text.split()[-1])]
            self.found.groups.append(ByPeriod(period, self._all[at]))
            self._take(at)
        for at in self._each(Sort.TREND):
            self._take(at)
            if not any(isinstance(group, ByPeriod) for group in self.found.groups):
                self.found.groups.append(ByPeriod(None, self._all[at]))
            if self._cue(at + 1) in ("of", "in", "for") and self._noun_after(at + 1):
                self._take(at + 1)

    def _groups(self) -> None:
        for at in self._each(Sort.BY, Sort.EACH):
            needs_measure = self._does(at, Sort.EACH) or self._all[at].cue in ("from each",)
            if needs_measure and self.found.measure is None:
                continue
            self._group_items(at, self._skip(at + 1, Sort.FILLER))

    def _group_items(self, by: int, at: int) -> None:
        """Take the group behind "by", and what is coordinated with it."""
        while (end := self._group_item(at)) is not None:
            self._take(by)
            joined = end
            while self._does(joined, Sort.AND, Sort.COMMA):
                joined += 1
            joined = self._skip(joined, Sort.FILLER) if joined > end else end
            if joined == end or not self._is_group(joined):
                return
            self._take(*range(end, joined))
            at = joined

    def _is_group(self, at: int) -> bool:
        mention = self._at(at)
        if mention is None or self._value_behind(at):
            return False
        column = bool(mention.columns) and (not mention.nouns or is_singular(mention))
        return column or mention.does(Sort.PERIOD)

    def _group_item(self, at: int) -> int | None:
        """Take one group at `at`; give the index behind it, or None where there is none."""
        mention = self._at(at)
        if mention is None:
            return None
        if mention.does(Sort.PERIOD):
            self._replace_period(ByPeriod(_PERIODS[words.key(mention.text)], mention))
            self._take(at)
            return at + 1
        following = self._at(at + 1)
        if mention.nouns and following is not None and following.columns and not following.nouns:
            # "by library city": the column of that thing
            inner = tuple(c for c in following.columns if c.entity in mention.nouns)
            if inner and not self._value_behind(at + 1):
                self.found.groups.append(ByColumn(inner, (), following))
                self._take(at, at + 1)
                return at + 2
        if (mention.nouns or mention.columns) and not self._value_behind(at):
            if self._numeric(at) and not mention.nouns:
                return None  # nearly every row has a number of its own
            self._group_by(at)
            return at + 1
        return None

    def _replace_period(self, period: ByPeriod) -> None:
        kept = [g for g in self.found.groups if not isinstance(g, ByPeriod)]
        self.found.groups[:] = [*kept, period]

    def _value_behind(self, at: int) -> bool:
        following = self._at(at + 1)
        return following is not None and following.is_value and not following.nouns

    def _compared(self) -> None:
        """Take the group of "compare … between colours", "… of the colours"."""
        if not self._each(Sort.COMPARE) or self.found.measure is None or self.found.groups:
            return
        for at, mention in enumerate(self._all):
            if at in self.taken or mention.cue not in (
                "between",
                "of",
                "for",
                "across",
                "among",
                "in",
            ):
                continue
            behind = self._skip(at + 1, Sort.FILLER)
            said = self._at(behind)
            if said is None or is_singular(said) or self._value_behind(behind):
                continue
            if said.columns and not said.nouns:
                self._take(at)
                self._group_by(behind)
                return

    def _heads(self) -> None:
        """Take a column that is asked for itself: "which colours are there"."""
        if self.found.groups or self.found.descending is not None:
            return
        at = self._skip(0, Sort.FILLER, Sort.READ, Sort.WHICH, Sort.DETAIL, Sort.BE)
        counts = isinstance(self.found.measure, Count)
        if self.found.measure is not None and not counts:
            return
        opened = any(self._all[i].does(Sort.READ, Sort.WHICH, Sort.COUNT) for i in range(at))
        mention = self._at(at)
        if mention is None or not opened or mention.nouns or not mention.columns:
            return
        if is_singular(mention) and not self._all[max(at - 1, 0)].does(Sort.WHICH, Sort.READ):
            return
        if self._value_behind(at) or any(isinstance(m.what, Code) for m in self._all):
            return
        if self._cue(at + 1) == "of" and is_singular(mention):
            return
        if not all(self._catalogue.attribute(c).shape.is_text for c in mention.columns):
            return
        self._take(*(i for i in range(at) if self._all[i].does(Sort.WHICH)))
        self._group_by(at)
        self.found.measure = Distinct()
        self.found.single = counts
