"""What a question wants computed: counts, rates, statistics, groups and order.

This is read before the requests, because the words of a computation stand where things stand:
"which colours have the highest share" speaks of no thing at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse import amounts, groups, measures, ranks
from toolplan.planners.grounded.parse.computation_state import ComputationState
from toolplan.planners.grounded.parse.mentions import Mention, Number
from toolplan.planners.grounded.parse.requests import Computation, Count, Least, Listed, Rate


def read_computation(
    mentions: Sequence[Mention], catalogue: Catalogue
) -> tuple[Computation | None, set[int]]:
    """Return what is to be computed, None where nothing is, and the indexes of its mentions."""
    state = ComputationState(mentions, catalogue)
    for read in _READERS:
        read(state)
    found = state.found
    if found.measure is None and not found.groups and found.descending is None:
        return None, state.taken
    if found.measure is None:
        found.measure = Count()
    found.mentions = [mentions[at] for at in sorted(state.taken)]
    return found, state.taken


def _read_at_least(state: ComputationState) -> None:
    """Read "colours with more than 100 things", "… with a share above 20 %"."""
    for at in state.where(WordClass.ABOVE, WordClass.BELOW, WordClass.EXACTLY):
        number = state.free(at + 1)
        if number is None or not isinstance(number.what, Number):
            continue
        operator = _comparison(state.mentions[at])
        if isinstance(state.found.measure, Rate) and number.what.unit in ("%", "percent"):
            rate = max(state.taken)
            if rate < at and state.skip(rate + 1, WordClass.FILLER, WordClass.BE) == at:
                _keep_groups(state, at, operator, number.what.value / 100, min(state.taken))
            continue
        counts = number.what.unit is None and state.found.measure is None
        if counts and ranks.countable(state, at + 2) and _can_have(state, at, operator):
            _keep_groups(state, at, operator, number.what.value, at)


def _can_have(state: ComputationState, at: int, operator: str) -> bool:
    """Return whether what stands before can have such things; without any it is in no group."""
    before = state.skip(
        at - 1, WordClass.HAVE, WordClass.FILLER, WordClass.LINK, WordClass.RELATIVE, step=-1
    )
    mention = state.free(before)
    if mention is None or before == at - 1 or state.mentions[at].does(WordClass.BY):
        return False
    if mention.nouns:
        held = {entity for m in state.mentions[at:] for entity in m.nouns}
        return operator in (">", ">=", "=") and not held.issuperset(mention.nouns)
    return bool(mention.columns)


def _keep_groups(
    state: ComputationState, at: int, operator: str, value: float, measured: int
) -> None:
    """Keep the groups before `measured` whose figure compares so with `value`."""
    state.found.measure = state.found.measure or Count()
    if not ranks.take_subject(state, measured):
        return
    state.found.single = False
    state.found.least = Least(operator, int(value) if value == int(value) else value)
    state.found.descending = True
    state.take(at, at + 1)


def _read_orders(state: ComputationState) -> None:
    """Read "sorted by weight, heaviest first", and "newest first" alone."""
    for at in state.where(WordClass.SORTED):
        behind = next((i for i in state.where(WordClass.BY) if i > at), at)
        bare = len(state.mentions[at].text.split()) == 1  # "sort the books by length"
        column = state.skip((behind if bare else at) + 1)
        columns = state.numeric(column)
        dated = state.free(column)
        by_date = dated is not None and dated.text.casefold() in ("date", "day", "time")
        if state.found.measure is None and (columns or by_date):
            state.measure(Listed(columns), at, column)
            if behind < column:
                state.take(behind)
            state.found.descending = False
    for at in state.where(WordClass.DESCENDING, WordClass.ASCENDING):
        descending = state.does(at, WordClass.DESCENDING)
        _ordered_by(state)
        if isinstance(state.found.measure, Listed) or state.found.groups:
            state.order(at, descending)
        elif state.found.measure is None and _is_about_time(state.mentions[at]):
            state.measure(Listed(()), at)
            state.found.descending = descending
        for comma in (at - 1, at + 1):
            if state.does(comma, WordClass.COMMA):
                state.take(comma)


def _ordered_by(state: ComputationState) -> None:
    """Take "by weight", which no group can be, as the order where one is asked for."""
    for at in state.where(WordClass.BY):
        column = state.skip(at + 1)
        if state.found.measure is None and state.numeric(column) and not state.found.groups:
            state.measure(Listed(state.numeric(column)), at, column)


def _comparison(mention: Mention) -> str:
    if mention.does(WordClass.EXACTLY):
        return "="
    operator = ">" if mention.does(WordClass.ABOVE) else "<"
    return operator if amounts.strictly(mention) else f"{operator}="


def _is_about_time(mention: Mention) -> bool:
    before = mention.text.casefold().split()[-2:-1]
    return bool(before) and before[0] in ("newest", "latest", "recent", "oldest", "earliest")


_READERS = (
    measures.read_rates, measures.read_amounts, measures.read_durations, _read_at_least,
    measures.read_counts, measures.read_statistics, ranks.read_ranks, ranks.read_extremes,
    _read_orders, groups.read_trends, groups.read_groups, _read_orders, groups.read_compared,
    groups.read_heads,
)  # fmt: skip
"""In this order: what is read first uses up its words. Groups may open the way to an order."""
