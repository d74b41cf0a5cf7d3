"""What a question wants computed, read from its mentions: counts, rates, statistics, groups, order.

This comes before requests are made, because the words of a computation stand where things stand:
"which colours have the highest share" speaks of no thing at all.
"""

from __future__ import annotations

from dataclasses import replace

from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.amounts import strictly
from toolplan.planners.grounded.parse.measures import PERIODS
from toolplan.planners.grounded.parse.mentions import Code, Mention, Number, Time
from toolplan.planners.grounded.parse.noun_phrase import is_singular
from toolplan.planners.grounded.parse.ranks import Ranks
from toolplan.planners.grounded.parse.requests import (
    ByColumn,
    ByPeriod,
    Computation,
    Count,
    Distinct,
    Least,
    Listed,
    Rate,
)

_ASKING = (WordClass.WHICH, WordClass.FILLER, WordClass.COUNT)


class Computing(Ranks):
    """Reads one row of mentions; `taken` are the indexes of those that are used up by it."""

    def read(self) -> Computation | None:
        """Return the computation, None where none is asked for."""
        for read in (
            self._rates,
            self._amounts,
            self._at_least,
            self._counts,
            self._statistics,
            self._ranks,
            self._extremes,
            self._orders,
            self._trends,
            self._groups,
            self._orders,
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

    def _trends(self) -> None:
        for at in self._each(WordClass.EACH_PERIOD):
            period = PERIODS[words.key(self._all[at].text.split()[-1])]
            self.found.groups.append(ByPeriod(period, self._all[at]))
            self._take(at)
            self._take_tie(at)
        for at in self._each(WordClass.TREND):
            self._take(at)
            if not any(isinstance(group, ByPeriod) for group in self.found.groups):
                self.found.groups.append(ByPeriod(None, self._all[at]))
            if self._cue(at + 1) in ("of", "in", "for") and self._noun_after(at + 1):
                self._take(at + 1)

    def _take_tie(self, period: int) -> None:
        """Take the "of" of "each month of 2025", which is each month in that time."""
        time = self._at(period + 2)
        if time is not None and isinstance(time.what, Time) and self._cue(period + 1) == "of":
            self._take(period + 1)

    def _groups(self) -> None:
        for at in self._each(WordClass.BY, WordClass.EACH):
            needs_measure = self._does(at, WordClass.EACH) or self._all[at].cue in ("from each",)
            if needs_measure and self.found.measure is None:
                continue
            self._group_items(at, self._skip(at + 1, WordClass.FILLER))

    def _group_items(self, by: int, at: int) -> None:
        """Take the group behind "by", and what is coordinated with it."""
        while (end := self._group_item(at)) is not None:
            self._take(by)
            joined = end
            while self._does(joined, WordClass.AND, WordClass.COMMA):
                joined += 1
            joined = self._skip(joined, WordClass.FILLER) if joined > end else end
            if joined == end or not self._is_group(joined):
                return
            self._take(*range(end, joined))
            at = joined

    def _is_group(self, at: int) -> bool:
        mention = self._at(at)
        if mention is None or self._value_behind(at):
            return False
        column = bool(mention.columns) and (not mention.nouns or is_singular(mention))
        return column or mention.does(WordClass.PERIOD)

    def _group_item(self, at: int) -> int | None:
        """Take one group at `at`; give the index behind it, or None where there is none."""
        mention = self._at(at)
        if mention is None:
            return None
        if mention.does(WordClass.PERIOD):
            self._group_by_period(at)
            self._take_tie(at)
            return at + 1
        following = self._at(at + 1)
        if mention.nouns and following is not None and following.columns and not following.nouns:
            # "by library city": the column of that thing
            inner = tuple(c for c in following.columns if c.entity in mention.nouns)
            if inner and not self._value_behind(at + 1):
                # said in both words: by "city" alone the library need not be meant
                said = replace(
                    following,
                    first=mention.first,
                    text=f"{mention.text} {following.text}",
                    words=(mention.words[0], following.words[1]),
                )
                self.found.groups.append(ByColumn(inner, (), said))
                self._take(at, at + 1)
                return at + 2
        if (mention.nouns or mention.columns) and not self._value_behind(at):
            if self._numeric(at) and not (mention.nouns and self._is_thing(mention)):
                return None  # nearly every row has a number of its own
            self._group_by(at)
            return at + 1
        return None

    def _compared(self) -> None:
        """Take the group of "compare … between colours", "… of the colours"."""
        if not self._each(WordClass.COMPARE) or self.found.measure is None or self.found.groups:
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
            behind = self._skip(at + 1, WordClass.FILLER)
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
        at = self._skip(
            0, WordClass.FILLER, WordClass.READ, WordClass.WHICH, WordClass.DETAIL, WordClass.BE
        )
        counts = isinstance(self.found.measure, Count)
        if self.found.measure is not None and not counts:
            return
        opened = any(
            self._all[i].does(WordClass.READ, WordClass.WHICH, WordClass.COUNT) for i in range(at)
        )
        mention = self._at(at)
        if mention is None or not opened or mention.nouns or not mention.columns:
            return
        if is_singular(mention) and not self._all[max(at - 1, 0)].does(
            WordClass.WHICH, WordClass.READ
        ):
            return
        if not is_singular(mention) and self._all[max(at - 1, 0)].does(*_ASKING):
            pass  # "which colours did B1 get": it is the colours that are asked for
        elif self._value_behind(at) or any(isinstance(m.what, Code) for m in self._all):
            return
        if self._cue(at + 1) == "of" and is_singular(mention):
            return
        if not all(self._catalogue.attribute(c).shape.is_text for c in mention.columns):
            return
        self._take(*(i for i in range(at) if self._all[i].does(WordClass.WHICH)))
        self._group_by(at)
        self.found.measure = Distinct()
        self.found.single = counts

    def _at_least(self) -> None:
        """Read "colours with more than 100 things", "… with a share above 20 %"."""
        for at in self._each(WordClass.ABOVE, WordClass.BELOW, WordClass.EXACTLY):
            number = self._at(at + 1)
            if number is None or not isinstance(number.what, Number):
                continue
            operator = _comparison(self._all[at])
            if isinstance(self.found.measure, Rate) and number.what.unit in ("%", "percent"):
                rate = max(self.taken)
                if rate < at and self._skip(rate + 1, WordClass.FILLER, WordClass.BE) == at:
                    self._hold(at, operator, number.what.value / 100, min(self.taken))
            elif number.what.unit is None and self.found.measure is None:
                held = self._countable(at + 2) and self._can_hold(at, operator)
                if held:
                    self._hold(at, operator, number.what.value, at)

    def _can_hold(self, at: int, operator: str) -> bool:
        """Whether what stands before has such things: who has none of them is in no group."""
        before = self._skip(
            at - 1, WordClass.HAVE, WordClass.FILLER, WordClass.LINK, WordClass.RELATIVE, step=-1
        )
        mention = self._at(before)
        if mention is None or before == at - 1 or self._all[at].does(WordClass.BY):
            return False
        if mention.nouns:
            return operator in (">", ">=", "=") and not self._held(at).issuperset(mention.nouns)
        return bool(mention.columns)

    def _held(self, at: int) -> set[str]:
        return {entity for m in self._all[at:] for entity in m.nouns}

    def _hold(self, at: int, operator: str, value: float, measured: int) -> None:
        """Keep the groups before `measured` whose figure compares so with `value`."""
        measure = self.found.measure or Count()
        self._set(measure)
        if not self._subject(measured):
            return
        self.found.single = False
        self.found.least = Least(operator, int(value) if value == int(value) else value)
        self.found.descending = True
        self._take(at, at + 1)

    def _orders(self) -> None:
        """Read "sorted by weight, heaviest first", and "newest first" alone."""
        for at in self._each(WordClass.SORTED):
            behind = next((i for i in self._each(WordClass.BY) if i > at), at)
            column = self._skip((behind if _is_bare(self._all[at]) else at) + 1, WordClass.FILLER)
            columns = self._numeric(column)
            dated = self._at(column)
            by_date = dated is not None and dated.text.casefold() in ("date", "day", "time")
            if self.found.measure is None and (columns or by_date):
                self._set(Listed(columns), at, column)
                self._take(*(i for i in (behind,) if i < column))
                self.found.descending = False
        for at in self._each(WordClass.DESCENDING, WordClass.ASCENDING):
            descending = self._does(at, WordClass.DESCENDING)
            self._ordered_by()
            if isinstance(self.found.measure, Listed) or self.found.groups:
                self._order(at, descending)
            elif self.found.measure is None and _is_about_time(self._all[at]):
                self._set(Listed(()), at)
                self.found.descending = descending
            for comma in (at - 1, at + 1):
                if self._does(comma, WordClass.COMMA):
                    self._take(comma)

    def _ordered_by(self) -> None:
        """Take "by weight", which no group can be, as the order where one is asked for."""
        for at in self._each(WordClass.BY):
            column = self._skip(at + 1, WordClass.FILLER)
            if self.found.measure is None and self._numeric(column) and not self.found.groups:
                self._set(Listed(self._numeric(column)), at, column)


def _is_bare(mention: Mention) -> bool:
    """Whether it is the verb alone: "sort the books by length"."""
    return len(mention.text.split()) == 1


def _comparison(mention: Mention) -> str:
    if mention.does(WordClass.EXACTLY):
        return "="
    operator = ">" if mention.does(WordClass.ABOVE) else "<"
    return operator if strictly(mention) else f"{operator}="


def _is_about_time(mention: Mention) -> bool:
    before = mention.text.casefold().split()[-2:-1]
    return bool(before) and before[0] in ("newest", "latest", "recent", "oldest", "earliest")
