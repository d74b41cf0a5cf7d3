"""What is ranked by a measure: superlatives, "top 5 colours by share", "the most loans"."""

from __future__ import annotations

from toolplan.planners.grounded.catalogue.kinds import ColumnOf
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import DIMENSIONS, EXTREMES, WordClass
from toolplan.planners.grounded.language.words import dimension, fold
from toolplan.planners.grounded.parse.computation_state import ComputationState
from toolplan.planners.grounded.parse.measures import weighed
from toolplan.planners.grounded.parse.mentions import Mention, Number, What
from toolplan.planners.grounded.parse.noun_phrase import is_singular
from toolplan.planners.grounded.parse.requests import ByColumn, Count, Listed, Rate, Statistic
from toolplan.planners.grounded.parse.state import VERBS

_HOPED = frozenset(map(words.stem, words.word_set("""
    acceptance accepted approval success successful pass passing completion completed
    recovery recycling arrival return satisfaction renewal
    """)))  # fmt: skip
_ADDITIVE = frozenset({"mass", "money", "dollars", "pages", "duration"})


RANKING = (
    WordClass.HIGHEST, WordClass.LOWEST, WordClass.MOST, WordClass.FEWEST, WordClass.TOP,
    WordClass.RANK, WordClass.WORST,
)  # fmt: skip


def read_ranks(state: ComputationState) -> None:
    """Read "the highest rate", "the most loans", "top 5 colours by share"."""
    for at in state.where(*RANKING):
        if state.found.descending is not None or state.does(at, WordClass.COUNT):
            continue
        if state.does(at, WordClass.TOP, WordClass.RANK):
            _top(state, at)
        elif state.does(at, WordClass.WORST):
            _worst(state, at)
        elif state.does(at, WordClass.HIGHEST, WordClass.LOWEST):
            _superlative(state, at)
        else:
            _most(state, at)


def _superlative(state: ComputationState, at: int) -> None:
    descending = state.does(at, WordClass.HIGHEST)
    behind = state.skip(at + 1)
    if isinstance(state.what(at + 1), Number):
        _top(state, at, descending)
        return
    if state.found.measure is not None and (at + 1 in state.taken or behind != at + 1):
        state.order(at, descending)
        take_subject(state, at)
        return
    while (said := state.free(behind)) is not None and said.values and not said.columns:
        behind += 1
    if (columns := state.numeric(behind)) and not state.found.groups:
        if state.mentions[at].text.casefold() == "least":
            _most_of(state, at, behind, columns, descending)
        else:
            _extreme(state, at, behind, columns, descending)


def _worst(state: ComputationState, at: int) -> None:
    """Read "the worst breakage rate": the highest, or the lowest of what one hopes for."""
    if not isinstance(state.found.measure, Rate) or at + 1 not in state.taken:
        return
    hoped = _is_hoped(state.mentions[at + 1])
    state.order(at, not hoped)
    take_subject(state, at)
    state.found.notes.append(f"worst = the {'lowest' if hoped else 'highest'}")


def _is_hoped(rate: Mention) -> bool:
    """Return whether `rate` is one of what one hopes for, as an acceptance rate is."""
    return any(stem in _HOPED for stem in map(words.stem, rate.text.split()))


def _extreme(
    state: ComputationState, at: int, column: int, columns: tuple[ColumnOf, ...], descending: bool
) -> None:
    """Rank things by a number of theirs, or give its highest value where none are named."""
    before = [m for i, m in enumerate(state.mentions[:at]) if i not in state.taken]
    following = state.free(column + 1)
    if any(m.nouns for m in before) or (following is not None and following.nouns):
        state.order(at, descending)
        state.measure(Listed(columns), column)
        take_subject(state, at)
    elif not any(m.columns for m in before) and state.found.measure is None:
        # a colour has many weights: which of its figures is meant is not said
        state.measure(Statistic("max" if descending else "min", columns), at, column)


def _most(state: ComputationState, at: int) -> None:
    descending = state.does(at, WordClass.MOST)
    behind = state.skip(at + 1)
    mention = state.free(behind)
    last = state.mentions[at].text.casefold().split()[-1]
    if state.found.measure is not None:
        return
    if last in ("common", "frequent") and mention is not None:
        if mention.columns and not mention.nouns:
            state.order(at, descending)
            state.measure(Count())
            state.group_by(behind)
            state.found.single = is_singular(mention)
    elif last in ("often", "frequently"):
        _most_often(state, at, descending)
    elif countable(state, behind) and take_subject(state, at):
        state.order(at, descending)
        state.measure(Count())
    elif state.does(behind, WordClass.UNIT):
        unit = state.mentions[behind].text.casefold()
        if columns := weighed(state, behind + 1, unit):
            _most_of(state, at, behind, columns, descending)
    elif (columns := state.numeric(behind)) and mention is not None:
        _most_of(state, at, behind, columns, descending)


def _most_often(state: ComputationState, at: int, descending: bool) -> None:
    """Read "most often": with a state behind it a rate of that state, else a count.

    "Which colour is broken most often" is not about the colour that most boxes have.
    """
    said = [i for i, m in enumerate(state.mentions) if i not in state.taken and m.values]
    states = [
        i
        for i in said
        if any(state.catalogue.attribute(v).shape.enum for v in state.mentions[i].values)
        or any(isinstance(v.value, bool) for v in state.mentions[i].values)
    ]
    if any(countable(state, i) for i in states):
        return  # "which colour has broken boxes most often": how many, or what share of them?
    if not _take_subject_anywhere(state):
        return
    state.order(at, descending)
    if len(states) == 1:
        state.measure(Rate(state.mentions[states[0]].values), *states)
    elif not states:
        state.measure(Count())


def _most_of(
    state: ComputationState, at: int, column: int, columns: tuple[ColumnOf, ...], descending: bool
) -> None:
    """Read "the boxes that hold the most weight": what can be added up is added up."""
    before = state.skip(at - 1, WordClass.FILLER, *VERBS, step=-1)
    ranked = state.free(before)
    figure = _figure(state, ranked, columns) if ranked is not None and before >= 0 else None
    if not isinstance(figure, Statistic):
        return
    state.measure(figure)
    if take_subject(state, at):
        state.order(at, descending)
        state.take(column)
    else:
        state.found.measure = None


def countable(state: ComputationState, at: int) -> bool:
    """Return whether a thing, with what is said before it, starts at `at`."""
    for mention in state.mentions[at : at + 4]:
        if mention.nouns:
            return True
        if not mention.values:
            return False
    return False


def _noun_behind(state: ComputationState, at: int) -> int:
    """Return where the thing is of which values begin at `at`: "boxes" of "top 5 full boxes"."""
    while (said := state.free(at)) is not None and said.values and not said.nouns:
        if not countable(state, at):
            break
        at += 1
    return at


def _top(state: ComputationState, at: int, descending: bool = True) -> None:
    """Read "top 5 colours by share"."""
    if state.does(at, WordClass.RANK) and _measured_behind(state, at):
        _ranked_by(state, at)
        return
    number = state.free(at + 1)
    subject = at + 2 if number is not None and isinstance(number.what, Number) else at + 1
    subject = _noun_behind(state, state.skip(subject))
    while (said := state.free(subject)) is not None and said.values and not said.columns:
        subject += 1
    by = next(
        (i for i in state.where(WordClass.BY) if i > subject and _measured_behind(state, i)), None
    )
    if by is None and (counted := _counted_behind(state, subject)) is not None:
        state.measure(Count())
        by = counted
    if by is None:
        return
    mention = state.free(subject)
    if mention is None or (state.numeric(subject) and not mention.nouns):
        return  # "top 5 weights": nearly every row has one of its own
    columns = state.numeric(state.skip(by + 1))
    if state.found.measure is None and columns:
        figure = _figure(state, mention, columns)
        if figure is None:
            return
        state.measure(figure, state.skip(by + 1))
    if fold(state.mentions[at].text) == "best" and isinstance(state.found.measure, Rate):
        rates = [m for m in state.mentions[by + 1 : by + 4] if not m.does(WordClass.FILLER)]
        descending = bool(rates) and _is_hoped(rates[0])
        state.found.notes.append(f"best = the {'highest' if descending else 'lowest'}")
    state.order(at, descending)
    state.take(by)
    if number is not None and isinstance(number.what, Number):
        state.found.count = int(number.what.value)
        state.take(at + 1)
    elif is_singular(mention) and not state.does(at, WordClass.RANK):
        state.found.single = True
    if (mention.columns and not mention.nouns) or not isinstance(state.found.measure, Listed):
        state.group_by(subject)


def _counted_behind(state: ComputationState, subject: int) -> int | None:
    """Return the "by" behind `subject` that a thing to be counted follows: "by red boxes"."""
    own = state.free(subject)
    for by in state.where(WordClass.BY):
        behind = state.skip(by + 1)
        if by <= subject or own is None or state.cue(by) != "by" or not countable(state, behind):
            continue
        counted = next(m for m in state.mentions[behind:] if m.nouns)
        if set(counted.nouns).isdisjoint(own.nouns):
            return by
    return None


def _ranked_by(state: ComputationState, at: int) -> None:
    """Read "colours ranked by weight": the figure stands behind, what is ranked before."""
    column = state.skip(at + 1)
    if state.found.measure is None:
        before = state.skip(
            at - 1, WordClass.FILLER, WordClass.BE, WordClass.HAVE, WordClass.RELATIVE, step=-1
        )
        mention, columns = state.free(before), state.numeric(column)
        figure = _figure(state, mention, columns) if mention is not None else None
        if figure is None:
            return
        state.measure(figure, column)
    state.order(at, True)
    take_subject(state, at)


def _figure(
    state: ComputationState, ranked: Mention, columns: tuple[ColumnOf, ...]
) -> Listed | Statistic | None:
    """Return what `ranked` is measured by: a thing by its own number, a group by the sum of it.

    What cannot be added up, a share for instance, is not a figure of a group.
    """
    owners = {column.entity for column in columns}
    if ranked.nouns and not owners.isdisjoint(ranked.nouns):
        return Listed(columns)
    if not ranked.nouns and not ranked.columns:
        return Listed(columns)
    shapes = [state.catalogue.attribute(column).shape for column in columns]
    return Statistic("sum", columns) if all(map(_adds_up, shapes)) else None


def _measured_behind(state: ComputationState, at: int) -> bool:
    """Return whether what stands behind `at` is measured rather than grouped by."""
    behind = at + 1
    while behind < len(state.mentions) and state.mentions[behind].does(WordClass.FILLER):
        behind += 1
    return behind in state.taken or bool(state.numeric(behind))


def take_subject(state: ComputationState, at: int) -> bool:
    """Take what is ranked: the column or thing before the superlative."""
    before = state.skip(at - 1, WordClass.FILLER, *VERBS, step=-1)
    mention = state.free(before)
    if mention is not None and mention.values and not (mention.columns or mention.nouns):
        # "which town refused the most boxes": the state stays with the boxes
        before = state.skip(before - 1, WordClass.FILLER, *VERBS, step=-1)
        mention = state.free(before)
    if before < 0 and at > 0 and state.mentions[0].text.casefold() == "who":
        return _take_who(state, at)
    if mention is None or before < 0:
        return False
    listed = isinstance(state.found.measure, Listed)
    number = state.free(before - 1)
    ends = _ends(state, before)
    if ends is not None and not ends:
        return False
    if mention.does(WordClass.PERIOD) and not listed:
        state.group_by_period(before)
    elif ends is not None and not listed:
        state.found.groups.append(ByColumn(ends, (), mention))
        state.take(before)
    elif (mention.columns and not mention.nouns) or (mention.nouns and not listed):
        state.group_by(before)
    elif not (mention.nouns and listed):
        return False
    state.found.single = is_singular(mention)
    if number is not None and isinstance(number.what, Number):
        state.found.count = int(number.what.value)
        state.take(before - 1)
        if state.does(before - 2, WordClass.TOP):
            state.take(before - 2)
    state.take(*(i for i in range(before + 1, at) if state.mentions[i].does(*VERBS)))
    return True


def _ends(state: ComputationState, at: int) -> tuple[ColumnOf, ...] | None:
    """Return the columns that "from which city" asks for; None where no such words stand there."""
    before = state.skip(at - 1, step=-1)
    if before < 0:
        return None
    mention, opening = state.mentions[at], state.mentions[before]
    end = words.fold(opening.text).split()[0]
    if not opening.does(WordClass.RELATIVE) or end not in ("from", "to") or mention.nouns:
        return None
    entities = {entity for m in state.mentions[at:] for entity in m.nouns}
    return tuple(
        ColumnOf(entity, attribute.name)
        for entity in sorted(entities)
        for attribute in state.catalogue.kinds[entity].attributes.values()
        if attribute.shape.role == end and attribute.column is not None
    )


def _take_who(state: ComputationState, at: int) -> bool:
    """Take "who" as the only person that what is counted has: "who made the most visits"."""
    entities = {entity for m in state.mentions[at:] for entity in m.nouns}
    people = tuple(
        ColumnOf(entity, attribute.name)
        for entity in sorted(entities)
        for attribute in state.catalogue.kinds[entity].attributes.values()
        if attribute.shape.kind == "person" and attribute.column is not None
    )
    if len(people) != 1:
        return False
    state.found.groups.append(ByColumn(people, (), state.mentions[0]))
    state.found.single = True
    state.take(*range(at))
    return True


def _take_subject_anywhere(state: ComputationState) -> bool:
    for at, mention in enumerate(state.mentions):
        if at not in state.taken and mention.columns and not mention.nouns:
            state.group_by(at)
            state.found.single = is_singular(mention)
            return True
    return False


def read_extremes(state: ComputationState) -> None:
    """Read superlatives that name their measure: "heaviest"."""
    for at in state.where(WordClass.EXTREME):
        *names, descending = EXTREMES[" ".join(state.mentions[at].text.casefold().split())]
        number, noun_at = _around(state, at)
        noun = state.free(noun_at)
        if noun is None or not noun.nouns or state.found.measure is not None:
            continue
        columns = _measured_by(state, names[0], names[1], noun.nouns[0])
        if len(columns) != 1:
            continue
        state.measure(Listed(columns), at)
        state.found.descending = descending
        state.found.single = is_singular(noun)
        if number is not None:
            what = state.mentions[number].what
            state.found.count = int(what.value) if isinstance(what, Number) else None
            state.take(number)


def _around(state: ComputationState, at: int) -> tuple[int | None, int]:
    """Return the index of the number beside `at`, and of the noun behind it."""
    number = next((i for i in (at + 1, at - 1) if _is_plain_number(state.what(i))), None)
    noun = at + 2 if number == at + 1 else at + 1
    while noun < len(state.mentions) and not state.mentions[noun].nouns:
        if not state.mentions[noun].values:
            break
        noun += 1
    return number, noun


def _is_plain_number(what: What | None) -> bool:
    return isinstance(what, Number) and what.unit is None


def _measured_by(
    state: ComputationState, adjective: str, noun: str, entity: str
) -> tuple[ColumnOf, ...]:
    named = tuple(
        each
        for word in (adjective, noun)
        for each in state.catalogue.lexicon.get((words.key(word),), ())
        if isinstance(each, ColumnOf) and each.entity == entity
    )
    named = tuple(dict.fromkeys(named))
    if named or adjective not in DIMENSIONS:
        return named
    attributes = state.catalogue.kinds[entity].attributes.values()
    return tuple(
        ColumnOf(entity, a.name)
        for a in attributes
        if a.column and dimension(a.shape.unit) == DIMENSIONS[adjective]
    )


def _adds_up(shape: Shape) -> bool:
    """Return whether the sum of such numbers means something."""
    counted = shape.unit is None and shape.types == frozenset(["integer"])
    return counted or dimension(shape.unit) in _ADDITIVE
