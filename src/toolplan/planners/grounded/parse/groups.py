"""What a measure is grouped by: "by colour", "each month", "which colours"."""

from __future__ import annotations

from msgspec.structs import replace

from toolplan.planners.grounded.catalogue.connections import list_cues
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import fold, word_set
from toolplan.planners.grounded.parse.computation_state import PERIODS, ComputationState
from toolplan.planners.grounded.parse.mentions import Code, Mention, Time
from toolplan.planners.grounded.parse.noun_phrase import is_singular
from toolplan.planners.grounded.parse.requests import ByColumn, ByPeriod, Count, Distinct

DIFFERENT = word_set("different distinct unique various")
_COMPARED_CUES = frozenset({"between", "of", "for", "across", "among", "in"})


def read_trends(state: ComputationState) -> None:
    """Read "daily", "over time"."""
    for at in state.where(WordClass.EACH_PERIOD):
        period = PERIODS[words.key(state.mentions[at].text.split()[-1])]
        state.found.groups.append(ByPeriod(period, state.mentions[at]))
        state.take(at)
        _take_tie(state, at)
    for at in state.where(WordClass.TREND):
        state.take(at)
        if not any(isinstance(group, ByPeriod) for group in state.found.groups):
            state.found.groups.append(ByPeriod(None, state.mentions[at]))
        if state.cue(at + 1) in ("of", "in", "for") and state.noun_after(at + 1):
            state.take(at + 1)


def _take_tie(state: ComputationState, period: int) -> None:
    """Take the "of" of "each month of 2025", which is each month in that time."""
    time = state.free(period + 2)
    if time is not None and isinstance(time.what, Time) and state.cue(period + 1) == "of":
        state.take(period + 1)


def read_groups(state: ComputationState) -> None:
    """Read "by colour and month", "for each town"."""
    for at in state.where(WordClass.BY, WordClass.EACH):
        needs_measure = state.does(at, WordClass.EACH) or state.mentions[at].cue == "from each"
        if state.found.measure is not None or not needs_measure:
            _group_items(state, at, state.skip(at + 1))


def _group_items(state: ComputationState, by: int, at: int) -> None:
    """Take the group behind "by", and what is coordinated with it."""
    while (end := _group_item(state, at)) is not None:
        state.take(by)
        joined = end
        while state.does(joined, WordClass.AND, WordClass.COMMA):
            joined += 1
        joined = state.skip(joined) if joined > end else end
        if joined == end or not _is_group(state, joined):
            return
        state.take(*range(end, joined))
        at = joined


def _is_group(state: ComputationState, at: int) -> bool:
    mention = state.free(at)
    if mention is None or state.value_behind(at):
        return False
    column = bool(mention.columns) and (not mention.nouns or is_singular(mention))
    return column or mention.does(WordClass.PERIOD)


def _group_item(state: ComputationState, at: int) -> int | None:
    """Take one group at `at`; return the index behind it, or None where there is none."""
    mention = state.free(at)
    if mention is None:
        return None
    if mention.does(WordClass.PERIOD):
        state.group_by_period(at)
        _take_tie(state, at)
        return at + 1
    following = state.free(at + 1)
    if mention.nouns and following is not None and following.columns and not following.nouns:
        # "by library city": the column of that thing
        inner = tuple(c for c in following.columns if c.entity in mention.nouns)
        if inner and not state.value_behind(at + 1):
            # said in both words: by "city" alone the library need not be meant
            said = replace(
                following,
                first=mention.first,
                text=f"{mention.text} {following.text}",
                words=(mention.words[0], following.words[1]),
            )
            state.found.groups.append(ByColumn(inner, (), said))
            state.take(at, at + 1)
            return at + 2
    if (mention.nouns or mention.columns) and not state.value_behind(at):
        if state.numeric(at) and not (mention.nouns and _is_thing(state, mention)):
            return None  # nearly every row has a number of its own
        state.group_by(at)
        return at + 1
    return None


def _is_thing(state: ComputationState, mention: Mention) -> bool:
    """Return whether `mention` speaks of things rather than of a number that others here have."""
    others = {entity for m in state.mentions if m is not mention for entity in m.nouns}
    return not any(column.entity in others for column in mention.columns)


def read_compared(state: ComputationState) -> None:
    """Take the group of "compare … between colours", "… of the colours"."""
    if not state.where(WordClass.COMPARE) or state.found.measure is None or state.found.groups:
        return
    for at, mention in enumerate(state.mentions):
        if at in state.taken or mention.cue not in _COMPARED_CUES:
            continue
        behind = state.skip(at + 1)
        said = state.free(behind)
        if said is None or is_singular(said) or state.value_behind(behind):
            continue
        if said.columns and not said.nouns:
            state.take(at)
            state.group_by(behind)
            return


def read_heads(state: ComputationState) -> None:
    """Take a column that is asked for itself: "which colours are there"."""
    if state.found.groups or state.found.descending is not None:
        return
    at = state.skip(
        0, WordClass.FILLER, WordClass.READ, WordClass.WHICH, WordClass.DETAIL, WordClass.BE
    )
    measure = state.found.measure
    if not (measure is None or isinstance(measure, Count)):
        return
    opening = state.mentions[:at]
    listed = list_cues(state.catalogue)
    if any(m.cue in listed for m in state.mentions[at:]):
        return  # "which woods does T1 take": those in the list of one column
    opened = any(m.does(WordClass.READ, WordClass.WHICH, WordClass.COUNT) for m in opening)
    mention = state.free(at)
    if mention is None or not opened or not mention.columns:
        return
    if not {column.entity for column in mention.columns}.issuperset(mention.nouns):
        return
    different = fold(opening[-1].text) in DIFFERENT
    if mention.nouns and not (opening[-1].does(WordClass.WHICH) or different):
        return
    last, singular = opening[-1], is_singular(mention)
    if singular and (not last.does(WordClass.WHICH, WordClass.READ) or state.cue(at + 1) == "of"):
        return
    # "which colours did B1 get": it is the colours that are asked for
    asked = not singular and last.does(WordClass.WHICH, WordClass.FILLER, WordClass.COUNT)
    if not asked and (
        state.value_behind(at) or any(isinstance(m.what, Code) for m in state.mentions)
    ):
        return
    if not all(state.catalogue.attribute(c).shape.is_text for c in mention.columns):
        return
    state.take(*(i for i, m in enumerate(opening) if m.does(WordClass.WHICH)))
    # "different woods": the column, and not the things
    things = () if different else mention.nouns
    state.found.groups.append(ByColumn(mention.columns, things, mention))
    state.take(at)
    state.found.measure = Distinct()
    state.found.single = measure is not None
