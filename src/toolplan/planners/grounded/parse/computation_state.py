"""The state of reading what a question wants computed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from toolplan.planners.grounded.catalogue.kinds import Catalogue, ColumnOf
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.mentions import Mention, What
from toolplan.planners.grounded.parse.noun_phrase import is_singular
from toolplan.planners.grounded.parse.requests import ByColumn, ByPeriod, Computation, Measure

PERIODS = {
    "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter",
    "yearly": "year", "annual": "year", "day": "day", "week": "week", "month": "month",
    "quarter": "quarter", "year": "year", "weekday": "weekday",
}  # fmt: skip


class ComputationState(Struct, eq=False):
    """The mentions of one question, the computation `found` in them so far, and what it used up.

    `taken` are the indexes of the mentions that are used up. An index may lie outside of the
    mentions everywhere here; nothing stands there.
    """

    mentions: Sequence[Mention]
    catalogue: Catalogue
    found: Computation = field(default_factory=Computation)
    taken: set[int] = field(default_factory=set[int])

    def take(self, *indexes: int) -> None:
        """Use up the mentions at `indexes`."""
        self.taken.update(indexes)

    def does(self, at: int, *classes: WordClass) -> bool:
        """Return whether the mention at `at`, if it is free, may be of one of `classes`."""
        mention = self.free(at)
        return mention is not None and mention.does(*classes)

    def skip(self, at: int, *classes: WordClass, step: int = 1) -> int:
        """Return the first index from `at` on that is free and in none of `classes` (or filler)."""
        skipped = classes or (WordClass.FILLER,)
        while 0 <= at < len(self.mentions) and (
            self.mentions[at].does(*skipped) or at in self.taken
        ):
            at += step
        return at

    def free(self, at: int) -> Mention | None:
        """Return the mention at `at`; None if it is used up."""
        return self.mentions[at] if 0 <= at < len(self.mentions) and at not in self.taken else None

    def where(self, *classes: WordClass) -> list[int]:
        """Return the indexes of the free mentions of one of `classes`."""
        return [at for at in range(len(self.mentions)) if self.does(at, *classes)]

    def what(self, at: int) -> What | None:
        """Return what the mention at `at` is; None if it is used up."""
        mention = self.free(at)
        return mention.what if mention is not None else None

    def noun_after(self, at: int) -> bool:
        """Return whether the next word that matters behind `at` is a noun."""
        following = self.free(self.skip(at + 1))
        return following is not None and bool(following.nouns)

    def cue(self, at: int) -> str | None:
        """Return the mention at `at` as a word before a value."""
        mention = self.free(at)
        return mention.cue if mention is not None else None

    def numeric(self, at: int) -> tuple[ColumnOf, ...]:
        """Return the columns of numbers that the mention at `at` may name."""
        mention = self.free(at)
        if mention is None or (mention.nouns and not is_singular(mention)):
            return ()
        return tuple(
            each for each in mention.columns if self.catalogue.attribute(each).shape.is_number
        )

    def measure(self, measure: Measure, *indexes: int) -> None:
        """Set what is measured, which the mentions at `indexes` say."""
        self.found.measure = measure
        self.take(*indexes)

    def order(self, at: int, descending: bool) -> None:
        """Set the order, which the mention at `at` says."""
        self.found.descending = descending
        self.take(at)

    def group_by(self, at: int) -> None:
        """Group by the column or thing at `at`."""
        mention = self.mentions[at]
        self.found.groups.append(ByColumn(mention.columns, mention.nouns, mention))
        self.take(at)

    def group_by_period(self, at: int) -> None:
        """Group by the period at `at`, and by no other one but a period that is ranked."""
        mention = self.mentions[at]
        period = PERIODS[words.key(mention.text.split()[-1])]
        ranked = self.found.descending is not None
        replaced = (None, period) if ranked else (None, *PERIODS.values())
        kept = [
            group
            for group in self.found.groups
            if not (isinstance(group, ByPeriod) and group.period in replaced)
        ]
        self.found.groups = [*kept, ByPeriod(period, mention)]
        self.take(at)

    def value_behind(self, at: int) -> bool:
        """Return whether a value stands right behind `at`."""
        following = self.free(at + 1)
        return following is not None and following.is_value and not following.nouns
