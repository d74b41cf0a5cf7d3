"""What may stand before a noun, and which words belong together there."""

from __future__ import annotations

from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.mentions import Code, Mention, Number, Time
from toolplan.planners.grounded.parse.requests import Modifier, ThingRequest
from toolplan.planners.grounded.parse.state import ParseState

_RELATIVE = frozenset({"that", "which", "who", "whose", "where"})
_DETAILS = frozenset({"detail", "info", "information"})
_BEFORE_NOUNS = (
    WordClass.FILLER, WordClass.LATEST, WordClass.OLDEST, WordClass.FIRST, WordClass.TOP,
    WordClass.NOT,
)  # fmt: skip


def noun_from(state: ParseState, at: int, current: ThingRequest | None) -> int | None:
    """Return the index of the noun that what stands at `at` is said of, or None.

    `current` is the thing spoken of before; what only that one can have is not said of the
    next.
    """
    values: list[Mention] = []
    previous: Mention | None = None
    for index, mention in enumerate(state.mentions[at:], at):
        if mention.nouns and not (values and _names_value(mention, values[-1])):
            entity = mention.nouns[0]
            fits = all(_accepts(state, entity, value) for value in values)
            return (
                index
                if fits and not _belongs_to_the_one_before(state, entity, values, current)
                else None
            )
        clause = index > at and opens_clause(mention)
        if clause or not _may_stand_before(state, mention, previous, index, at):
            return None
        if mention.is_value and not mention.does(WordClass.FILLER):
            values.append(mention)
        if not mention.does(WordClass.FILLER):
            previous = mention
    return None


def opens_clause(mention: Mention) -> bool:
    """Return whether a relative clause begins with `mention`: "that broke", which is a value."""
    return words.fold(mention.text).split()[0] in _RELATIVE


def _accepts(state: ParseState, entity: str, mention: Mention) -> bool:
    """Return whether `mention`, without a word before it, may be said of an `entity`."""
    return any(
        value.entity == entity or state.catalogue.attribute(value).shape.kind == "place"
        for value in mention.values
    )


def _belongs_to_the_one_before(
    state: ParseState, entity: str, values: list[Mention], current: ThingRequest | None
) -> bool:
    """Return whether the first of `values` is said of the thing before, not of an `entity`.

    "Boxes from Oslo failed checks": checks come from nowhere, and boxes do.
    """
    if current is None or state.cue is None or len(values) < 2:  # a place and a state
        return False
    cue, first = state.cue.cue, values[0].values
    owners = {each.entity for each in first}
    called = [each for each in first if cue in state.catalogue.attribute(each).shape.cue_keys]
    return entity not in owners and current.entity in {each.entity for each in called}


def alike(one: Modifier, other: Modifier) -> bool:
    """Return whether two things coordinated by "and" are alternatives: values of one attribute."""
    # "not a or b", "except a and b": the denial is of both
    if (other.negated and not one.negated) or one.operator != "=" or other.operator != "=":
        return False
    if other.cue is not None and one.cue != other.cue:
        return False
    if other.column is not None or one.before != other.before:
        return False
    return same_attribute(one.mention, other.mention)


def same_attribute(one: Mention, other: Mention) -> bool:
    """Return whether both may be values of one attribute."""
    if isinstance(one.what, Time) and isinstance(other.what, Time):
        return True
    if isinstance(one.what, Code) and isinstance(other.what, Code):
        return True
    return not _attributes(one).isdisjoint(_attributes(other))


def names(column: Mention, modifier: Modifier) -> bool:
    """Return whether `column` names the attribute of the value right before it."""
    return column.first == modifier.mention.end and _names_value(column, modifier.mention)


def codes_from(state: ParseState, at: int) -> tuple[list[Mention], int]:
    """Return the identities coordinated from `at` on, and the index behind them."""
    found = [state.mentions[at]]
    at += 1
    while at < len(state.mentions):
        ahead = at
        while ahead < len(state.mentions) and state.mentions[ahead].does(
            WordClass.AND, WordClass.OR, WordClass.COMMA
        ):
            ahead += 1
        if ahead == at or ahead >= len(state.mentions):
            break
        if not isinstance(state.mentions[ahead].what, Code):
            break
        found.append(state.mentions[ahead])
        at = ahead + 1
    return found, at


def _names_value(column: Mention, value: Mention) -> bool:
    """Return whether `column` names an attribute that `value` may be of."""
    named = {(each.entity, each.attribute) for each in column.columns}
    return not named.isdisjoint(_attributes(value))


def _may_stand_before(
    state: ParseState, mention: Mention, previous: Mention | None, index: int, start: int
) -> bool:
    if isinstance(mention.what, Number):
        return mention.what.unit is None
    if isinstance(mention.what, Time) or mention.values:
        return True
    if mention.does(WordClass.AND, WordClass.OR, WordClass.COMMA):
        after_cue = start > 0 and state.mentions[start - 1].cue is not None
        return index > start and _coordinates(state, index, previous, after_cue)
    if mention.columns and previous is not None and previous.values:
        return _names_value(mention, previous)
    return mention.does(*_BEFORE_NOUNS)


def _coordinates(state: ParseState, index: int, previous: Mention | None, after_cue: bool) -> bool:
    rest = state.mentions[index + 1 :]
    following = next((m for m in rest if not m.does(WordClass.AND, WordClass.FILLER)), None)
    if previous is None or following is None or not (previous.values and following.values):
        return False
    if same_attribute(previous, following):
        return True
    if after_cue or state.mentions[index].does(WordClass.OR):
        return False
    # "red and long things": one thing that is both
    kinds = {value.entity for value in previous.values}
    return not kinds.isdisjoint(value.entity for value in following.values)


def asks_for_details(noun: Mention, following: Mention | None) -> bool:
    """Return whether what is asked for are details of what was spoken of before."""
    if words.keys(noun.text)[-1] in _DETAILS:
        return True
    return following is not None and words.key(following.text) in _DETAILS


def is_pronoun(mention: Mention, following: Mention | None) -> bool:
    """Return whether "that" stands for what was spoken of: "which was that", "that box"."""
    if words.fold(mention.text) != "that":
        return False
    if following is None or following.does(WordClass.COMMA, WordClass.STOP, WordClass.AND):
        return True
    return bool(following.nouns) and is_singular(following)


def is_singular(noun: Mention) -> bool:
    """Return whether the noun is in the singular."""
    last = noun.text.split()[-1]
    return words.fold(last) == words.key(last)


def _attributes(mention: Mention) -> set[tuple[str, str]]:
    return {(each.entity, each.attribute) for each in mention.values}
