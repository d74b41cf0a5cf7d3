"""What may stand before a noun, and which words go together there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.mentions import Code, Mention, Number, Time
from toolplan.planners.grounded.parse.requests import Modifier, ThingRequest

_DETAILS: Final = frozenset({"detail", "info", "information"})


class NounPhrases:
    """Looks ahead in one row of mentions."""

    def __init__(self, mentions: Sequence[Mention], catalogue: Catalogue) -> None:
        """Hold `mentions`."""
        self._all = mentions
        self._catalogue = catalogue

    def entity_of(self, mention: Mention) -> str:
        """Return the kind of thing that `mention` is a noun for."""
        return mention.nouns[0]

    def noun_from(self, at: int, current: ThingRequest | None) -> int | None:
        """Return the index of the noun that what stands at `at` is said of, or None.

        `current` is the thing spoken of before; what only that one can have is not said of the
        next.
        """
        values: list[Mention] = []
        previous: Mention | None = None
        index = at
        while index < len(self._all):
            mention = self._all[index]
            if mention.nouns and not (values and self._names_last(mention, values)):
                fits = all(self.accepts(self.entity_of(mention), value) for value in values)
                return index if fits else None
            if not self._may_stand_before(mention, previous, index, at):
                return None
            if mention.is_value and not mention.does(WordClass.FILLER):
                values.append(mention)
            if not mention.does(WordClass.FILLER):
                previous = mention
            index += 1
        return None

    def accepts(self, entity: str, mention: Mention) -> bool:
        """Whether `mention`, without a word before it, may be said of a thing of kind `entity`."""
        return any(
            value.entity == entity or self._catalogue.attribute(value).shape.kind == "place"
            for value in mention.values
        )

    def alike(self, one: Modifier, other: Modifier) -> bool:
        """Whether two things coordinated by "and" are alternatives: values of one attribute."""
        # "not a or b", "except a and b": the denial is of both
        if (other.negated and not one.negated) or one.operator != "=" or other.operator != "=":
            return False
        if other.cue is not None and one.cue != other.cue:
            return False
        if other.column is not None or one.before != other.before:
            return False
        return self.same_attribute(one.mention, other.mention)

    def same_attribute(self, one: Mention, other: Mention) -> bool:
        """Whether both may be values of one attribute."""
        if isinstance(one.what, Time) and isinstance(other.what, Time):
            return True
        if isinstance(one.what, Code) and isinstance(other.what, Code):
            return True
        return not _attributes(one).isdisjoint(_attributes(other))

    def names(self, column: Mention, modifier: Modifier) -> bool:
        """Whether `column` names the attribute of the value right before it."""
        return column.first == modifier.mention.end and self._names_last(column, [modifier.mention])

    def codes_from(self, at: int) -> tuple[list[Mention], int]:
        """Return the identities coordinated from `at` on, and the index behind them."""
        found = [self._all[at]]
        at += 1
        while at < len(self._all):
            ahead = at
            while ahead < len(self._all) and self._all[ahead].does(
                WordClass.AND, WordClass.OR, WordClass.COMMA
            ):
                ahead += 1
            if ahead == at or ahead >= len(self._all):
                break
            if not isinstance(self._all[ahead].what, Code):
                break
            found.append(self._all[ahead])
            at = ahead + 1
        return found, at

    def _names_last(self, mention: Mention, values: list[Mention]) -> bool:
        named = {(each.entity, each.attribute) for each in mention.columns}
        return not named.isdisjoint(_attributes(values[-1]))

    def _may_stand_before(
        self, mention: Mention, previous: Mention | None, index: int, start: int
    ) -> bool:
        if isinstance(mention.what, Time | Number):
            return not (isinstance(mention.what, Number) and mention.what.unit is not None)
        if mention.values:
            return True
        if mention.does(WordClass.AND, WordClass.OR, WordClass.COMMA):
            after_cue = start > 0 and self._all[start - 1].cue is not None
            return index > start and self._coordinates(index, previous, after_cue)
        if mention.columns and previous is not None and previous.values:
            return self._names_last(mention, [previous])
        return mention.does(
            WordClass.FILLER,
            WordClass.LATEST,
            WordClass.OLDEST,
            WordClass.FIRST,
            WordClass.TOP,
            WordClass.NOT,
        )

    def _coordinates(self, index: int, previous: Mention | None, after_cue: bool) -> bool:
        rest = self._all[index + 1 :]
        following = next((m for m in rest if not m.does(WordClass.AND, WordClass.FILLER)), None)
        if previous is None or following is None:
            return False
        if not previous.values or not following.values:
            return False
        if self.same_attribute(previous, following):
            return True
        if after_cue or self._all[index].does(WordClass.OR):
            return False
        # "red and long things": one thing that is both
        kinds = {value.entity for value in previous.values}
        return not kinds.isdisjoint(value.entity for value in following.values)


def asks_for_details(noun: Mention, following: Mention | None) -> bool:
    """Whether what is asked for are details of what was spoken of before."""
    if words.keys(noun.text)[-1] in _DETAILS:
        return True
    return following is not None and words.key(following.text) in _DETAILS


def is_singular(noun: Mention) -> bool:
    """Whether the noun is in the singular."""
    last = noun.text.split()[-1]
    return words.fold(last) == words.key(last)


def _attributes(mention: Mention) -> set[tuple[str, str]]:
    return {(each.entity, each.attribute) for each in mention.values}
