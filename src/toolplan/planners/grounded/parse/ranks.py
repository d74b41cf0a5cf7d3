"""What is ranked by a measure: superlatives, "top 5 colours by share", "the most loans"."""

from __future__ import annotations

from toolplan.planners.grounded.catalogue.kinds import ColumnOf
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import DIMENSIONS, EXTREMES, WordClass
from toolplan.planners.grounded.language.words import UNITS
from toolplan.planners.grounded.parse.measures import Measures
from toolplan.planners.grounded.parse.mentions import Mention, Number
from toolplan.planners.grounded.parse.noun_phrase import is_singular
from toolplan.planners.grounded.parse.requests import (
    Count,
    Listed,
    Statistic,
)

_ADDITIVE = frozenset({"mass", "money", "dollars", "pages", "duration"})


class Ranks(Measures):
    """Reads which of the things or groups are wanted, and in which order."""

    def _ranks(self) -> None:
        for at in self._each(
            WordClass.HIGHEST,
            WordClass.LOWEST,
            WordClass.MOST,
            WordClass.FEWEST,
            WordClass.TOP,
            WordClass.RANK,
        ):
            if self.found.descending is not None or self._does(at, WordClass.COUNT):
                continue
            if self._does(at, WordClass.TOP, WordClass.RANK):
                self._top(at)
            elif self._does(at, WordClass.HIGHEST, WordClass.LOWEST):
                self._superlative(at)
            else:
                self._most(at)

    def _superlative(self, at: int) -> None:
        descending = self._does(at, WordClass.HIGHEST)
        behind = self._skip(at + 1, WordClass.FILLER)
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
            if self._all[at].text.casefold() == "least":
                self._most_of(at, behind, columns, descending)
            else:
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
        descending = self._does(at, WordClass.MOST)
        behind = self._skip(at + 1, WordClass.FILLER)
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
        elif (columns := self._numeric(behind)) and mention is not None:
            self._most_of(at, behind, columns, descending)

    def _most_of(
        self, at: int, column: int, columns: tuple[ColumnOf, ...], descending: bool
    ) -> None:
        """Read "the boxes that hold the most weight": what can be added up is added up."""
        before = self._skip(
            at - 1,
            WordClass.HAVE,
            WordClass.FILLER,
            WordClass.LINK,
            WordClass.RELATIVE,
            WordClass.BE,
            step=-1,
        )
        ranked = self._at(before)
        figure = self._figure(ranked, columns) if ranked is not None and before >= 0 else None
        if not isinstance(figure, Statistic):
            return
        self._set(figure)
        if self._subject(at):
            self._order(at, descending)
            self._take(column)
        else:
            self.found.measure = None

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
        if self._does(at, WordClass.RANK) and self._measured_behind(at):
            self._ranked_by(at)
            return
        number = self._at(at + 1)
        subject = at + 2 if number is not None and isinstance(number.what, Number) else at + 1
        subject = self._skip(subject, WordClass.FILLER)
        by = next(
            (i for i in self._each(WordClass.BY) if i > subject and self._measured_behind(i)), None
        )
        if by is None:
            return
        mention = self._at(subject)
        if mention is None:
            return
        columns = self._numeric(self._skip(by + 1, WordClass.FILLER))
        if self.found.measure is None and columns:
            figure = self._figure(mention, columns)
            if figure is None:
                return
            self._set(figure, self._skip(by + 1, WordClass.FILLER))
        self._order(at, descending)
        self._take(by)
        if number is not None and isinstance(number.what, Number):
            self.found.count = int(number.what.value)
            self._take(at + 1)
        elif is_singular(mention) and not self._does(at, WordClass.RANK):
            self.found.single = True
        if (mention.columns and not mention.nouns) or not isinstance(self.found.measure, Listed):
            self._group_by(subject)

    def _ranked_by(self, at: int) -> None:
        """Read "colours ranked by weight": the figure stands behind, what is ranked before."""
        column = self._skip(at + 1, WordClass.FILLER)
        if self.found.measure is None:
            before = self._skip(
                at - 1, WordClass.FILLER, WordClass.BE, WordClass.HAVE, WordClass.RELATIVE, step=-1
            )
            mention, columns = self._at(before), self._numeric(column)
            figure = self._figure(mention, columns) if mention is not None else None
            if figure is None:
                return
            self._set(figure, column)
        self._order(at, True)
        self._subject(at)

    def _figure(self, ranked: Mention, columns: tuple[ColumnOf, ...]) -> Listed | Statistic | None:
        """Return what `ranked` is measured by: a thing by its own number, a group by the sum of it.

        What cannot be added up, a share for instance, is no figure of a group.
        """
        owners = {column.entity for column in columns}
        if ranked.nouns and not owners.isdisjoint(ranked.nouns):
            return Listed(columns)
        if not ranked.nouns and not ranked.columns:
            return Listed(columns)
        shapes = [self._catalogue.attribute(column).shape for column in columns]
        return Statistic("sum", columns) if all(map(_adds_up, shapes)) else None

    def _measured_behind(self, at: int) -> bool:
        """Whether what stands behind `at` is measured rather than grouped by."""
        behind = at + 1
        while behind < len(self._all) and self._all[behind].does(WordClass.FILLER):
            behind += 1
        return behind in self.taken or bool(self._numeric(behind))

    def _subject(self, at: int) -> bool:
        """Take what is ranked: the column or thing before the superlative."""
        before = self._skip(
            at - 1,
            WordClass.HAVE,
            WordClass.FILLER,
            WordClass.LINK,
            WordClass.RELATIVE,
            WordClass.BE,
            step=-1,
        )
        mention = self._at(before)
        if mention is None or before < 0:
            return False
        listed = isinstance(self.found.measure, Listed)
        number = self._at(before - 1)
        if mention.does(WordClass.PERIOD) and not listed:
            self._group_by_period(before)
        elif (mention.columns and not mention.nouns) or (mention.nouns and not listed):
            self._group_by(before)
        elif not (mention.nouns and listed):
            return False
        self.found.single = is_singular(mention)
        if number is not None and isinstance(number.what, Number):
            self.found.count = int(number.what.value)
            self._take(before - 1)
            if self._does(before - 2, WordClass.TOP):
                self._take(before - 2)
        for index in range(before + 1, at):
            if self._all[index].does(
                WordClass.HAVE, WordClass.LINK, WordClass.RELATIVE, WordClass.BE
            ):
                self._take(index)
        return True

    def _subject_anywhere(self) -> bool:
        for at, mention in enumerate(self._all):
            if at not in self.taken and mention.columns and not mention.nouns:
                self._group_by(at)
                self.found.single = is_singular(mention)
                return True
        return False

    def _extremes(self) -> None:
        for at in self._each(WordClass.EXTREME):
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
        """Return the index of the number beside `at`, and of the noun behind it."""
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


def _adds_up(shape: Shape) -> bool:
    """Whether numbers of this shape may be added to one that says something."""
    dimension, _ = UNITS.get(words.key(shape.unit or ""), ("", 1.0))
    return dimension in _ADDITIVE or (shape.unit is None and shape.types == frozenset(["integer"]))
