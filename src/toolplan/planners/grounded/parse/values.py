"""What is said of a thing: values, numbers, attributes, and how many of it are wanted."""

from __future__ import annotations

from msgspec.structs import replace

from toolplan.planners.grounded.language import phrases, words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse import amounts, relations
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Code, Mention, Name, Number, Time, present
from toolplan.planners.grounded.parse.noun_phrase import (
    alike,
    is_singular,
    names,
    noun_from,
    same_attribute,
)
from toolplan.planners.grounded.parse.requests import Cut, Modifier, ThingRequest
from toolplan.planners.grounded.parse.state import VERBS, ParseState

ONES = frozenset({"one", "ones"})
_BEFORE_COLUMNS = frozenset({"with", "of", "in", "at", "by", "for", "on"})
_OF_ONE = frozenset({"when", "where", "who"})
"""Questions whose "last" and "first" ask for what one row says."""


def take_value(state: ParseState, mention: Mention) -> None:
    """Take `mention` as a value of the thing here, of the one to come, or of one it implies."""
    ahead = noun_from(state, state.at, state.current)
    if ahead is None and take_contrasted(state):
        return
    if ahead is None and (entity := relations.stands_for_itself(state, mention)) is not None:
        state.add(ThingRequest(entity, None, [Modifier(mention)]))
        state.forget_place()
        return
    if ahead is None and (entity := relations.implied_by_value(state, mention)) is not None:
        relations.modify_other(state, mention, entity)
        return
    if isinstance(mention.what, Code) and _lies_before_noun(state):
        drop_column(state)  # "the colour of the box that holds B1"
    if ahead is None and (entity := relations.implied_by_code(state, mention)) is not None:
        relations.modify_other(state, mention, entity)
        return
    if ahead is None and isinstance(mention.what, Time) and _is_of_either(state):
        state.parsed.problem = f"'{mention.text}'"
    negation = relations.take_negation(state, adjacent_only=ahead is not None)
    goes_before = ahead is not None and state.column is None
    cue = None if goes_before else state.cue
    modifier = Modifier(
        mention,
        cue=None if goes_before else _cue_text(state),
        column=state.column,
        negated=negation is not None,
        before=goes_before,
        evidence=present(cue, state.column, negation, _verb_before(state)),
    )
    state.column = None
    if not goes_before:
        state.cue = None
    _attach(state, state.before if goes_before else _behind(state), modifier)


def take_contrasted(state: ParseState) -> bool:
    """Take "red boxes in York, blue ones in Hull": other things of the same kind."""
    current = state.current
    end = state.at
    while end < len(state.mentions) and state.mentions[end].values:
        end += 1
    said = state.mentions[state.at : end]
    ones = state.mentions[end] if end < len(state.mentions) else None
    if current is None or not said or ones is None or words.fold(ones.text) not in ONES:
        return False
    modifiers = [Modifier(mention, before=True) for mention in said]
    own = [each.mention for each in current.modifiers]
    if not any(same_attribute(mention, other) for mention in said for other in own):
        return False
    state.add(ThingRequest(current.entity, ones, modifiers, coordinated=True))
    state.forget_place()
    state.at = end
    return True


def _is_of_either(state: ParseState) -> bool:
    """Return whether a time here may be that of both things: "boxes with their labels, today"."""
    current = state.current
    if current is None or state.verb is not None or state.column is not None:
        return False
    kinds = state.catalogue.kinds
    loose = [link.to for link in current.links if link.loose]
    owners = [owner for owner in loose if kinds[owner.entity].moment is not None]
    timed = any(isinstance(m.mention.what, Time) for owner in owners for m in owner.modifiers)
    return bool(owners) and not timed


def _lies_before_noun(state: ParseState) -> bool:
    """Return whether the thing spoken of stands between the column named and this place."""
    noun = state.current.noun if state.current is not None else None
    return noun is not None and state.column is not None and state.column.end <= noun.first


def _verb_before(state: ParseState) -> Mention | None:
    """Return the verb right before this place: "found since Monday" says when it was found."""
    before = state.mentions[max(state.at - 2, 0) : state.at]
    if before and before[-1] is state.cue:
        before = before[:-1]  # "found at F1"
    return before[-1] if before and before[-1] is state.verb else None


def _cue_text(state: ParseState) -> str | None:
    """Return the words before a value; a verb that says what is held is such a word too."""
    if state.cue is not None:
        return state.cue.cue
    if _opens_way(state):
        return "from"
    held = words.fold(state.verb.text) if state.verb is not None else ""
    return held if held in phrases.HOLDING and state.column is None else None


def _opens_way(state: ParseState) -> bool:
    """Return whether the value here is where something goes from: "letters York to Hull"."""
    way = state.mentions[state.at : state.at + 3]
    if len(way) < 3 or way[1].cue != "to":
        return False
    one, _, other = way
    names = isinstance(one.what, Name) or isinstance(other.what, Name)
    return (names and not one.nouns and not other.nouns) or same_attribute(one, other)


def _behind(state: ParseState) -> list[Modifier]:
    """Return where to keep what stands behind a noun, or before any."""
    return state.leading if state.current is None else state.current.modifiers


def _attach(state: ParseState, target: list[Modifier], modifier: Modifier) -> None:
    joiner = state.joiner
    last = target[-1] if target else None
    if joiner is not None and (
        _denies_unsaid(joiner, last, modifier) or _denies_for_all(state, target, modifier)
    ):
        state.mark_unexplained(joiner)
        joiner = state.joiner = None
    if joiner is not None and _is_of_both(state, last, modifier):
        state.parsed.problem = f"'{modifier.mention.text}'"
    if joiner is not None and last is not None and alike(last, modifier):
        evidence = (*last.evidence, *modifier.evidence, joiner)
        alternatives = (*last.alternatives, modifier.mention)
        either = last.either or joiner.does(WordClass.OR)
        target[-1] = replace(last, alternatives=alternatives, either=either, evidence=evidence)
        state.joiner = None
    else:
        target.append(modifier)
        if joiner is not None and not joiner.does(WordClass.OR):
            state.joiner = None
    if target is not state.before:
        state.boundary = False


def _denies_unsaid(joiner: Mention, last: Modifier | None, modifier: Modifier) -> bool:
    """Return whether it is not clear how far a denial goes: "all a but b", "not red and long"."""
    if modifier.negated or not modifier.mention.is_value:
        return False
    if words.fold(joiner.text) == "but":
        return True
    if last is None or not last.negated or joiner.does(WordClass.COMMA):
        return False
    return modifier.cue is None and not alike(last, modifier)


def _denies_for_all(state: ParseState, target: list[Modifier], modifier: Modifier) -> bool:
    """Return whether a denial behind "but" or "and" is about all of a nested thing.

    "Boxes with labels but not red" has no box with a red label; "boxes with labels that are not
    red" has one with another label. A filter of the labels says the second only.
    """
    current = state.current
    if not modifier.negated or current is None or target is not current.modifiers:
        return False
    return current.nested


def _is_of_both(state: ParseState, last: Modifier | None, modifier: Modifier) -> bool:
    """Return whether either of two things may be meant: "boxes opened by Ann and broken"."""
    current = state.current
    outer = state.parents.get(id(current))
    parallel = last is not None and last.cue is None and not isinstance(last.mention.what, Time)
    if current is None or outer is None or parallel or modifier.cue or not modifier.mention.values:
        return False
    linker = Linker(state.catalogue)
    return all(linker.bind(each.entity, modifier) is not None for each in (current, outer))


def take_number(state: ParseState, mention: Mention) -> None:
    """Take a number: a bound, how many things are wanted, or the value of a column."""
    bound = amounts.bound_from_number(state.mentions, state.at) or amounts.share_at(
        state.mentions, state.at
    )
    ahead = noun_from(state, state.at + 1, None)
    match mention.what:
        case Number() if bound is not None:
            _add_bound(state, bound)
        case Number(value, None) if ahead is not None and value >= 1 and state.cut is None:
            state.cut = Cut(int(value), False, False, (mention,))
        case _ if state.column is not None and not _numbers_a_thing(state):
            take_value(state, mention)
        case _:
            state.mark_unexplained(mention)


def _numbers_a_thing(state: ParseState) -> bool:
    """Return whether the number here says which thing: "the weight of box 12" is not 12."""
    before = state.mentions[state.at - 1] if state.at else None
    return before is not None and bool(before.nouns) and before is not state.column


def take_bound(state: ParseState) -> bool:
    """Take "over 5 kg", "between 1 and 2 kg"; False where there is no such thing here."""
    bound = amounts.bound_at(state.mentions, state.at)
    following = state.following()
    if bound is None and following is not None and following.columns and not following.nouns:
        bound = amounts.bound_behind(state.mentions, state.at)
        state.column = following if bound is not None else state.column
    if bound is not None:
        _add_bound(state, bound)
    return bound is not None


def _add_bound(state: ParseState, bound: amounts.Bound) -> None:
    negation = relations.take_negation(state, adjacent_only=False)
    modifier = Modifier(
        bound.number,
        column=state.column,
        operator=bound.operator,
        upper=bound.upper,
        negated=negation is not None,
        evidence=(*bound.said, *present(state.column, state.cue, negation)),
    )
    state.column = state.cue = None
    state.at = bound.last
    _attach(state, _behind(state), modifier)


def take_cut(state: ParseState, mention: Mention) -> bool:
    """Take "latest 20", "limit 5"; False where there is no such thing here."""
    found = amounts.cut_at(state.mentions, state.at)
    if found is None:
        return False
    cut, behind = found.cut, found.behind
    if cut.count is None and words.fold(state.mentions[0].text) in _OF_ONE:
        one = replace(cut, count=1)  # "when was lead last found": the time of the latest one
        if noun_from(state, behind, None) is None and state.current is not None:
            state.current.cut = one
            state.at = behind - 1
            return True
        cut = one if "time" in words.fold(mention.text).split() else cut
    if mention.does(WordClass.FIRST) and cut.count is None and not _one_comes(state, behind):
        return False
    if state.cut is not None:
        said = (*state.cut.mentions, *cut.mentions)
        cut = replace(cut, count=cut.count or state.cut.count, mentions=said)
    if noun_from(state, behind, None) is not None:
        state.cut = cut
    elif mention.does(WordClass.LIMIT) and state.current is not None and cut.count is not None:
        state.current.cut = cut
        state.cue = None
    else:
        return False
    state.at = behind - 1
    return True


def _one_comes(state: ParseState, at: int) -> bool:
    """Return whether the noun from `at` on is one thing: "the first box of May"."""
    noun = noun_from(state, at, None)
    return noun is not None and is_singular(state.mentions[noun])


def take_pending_cut(state: ParseState, noun: Mention) -> Cut | None:
    """Return how many things `noun` are wanted, where words before it say so."""
    cut, state.cut = state.cut, None
    if cut is not None and cut.count is None and is_singular(noun):
        return replace(cut, count=1)
    return cut


def name_column(state: ParseState, mention: Mention) -> None:
    """Take the name of an attribute, whose value stands before it or behind it."""
    last = state.before[-1] if state.before else None
    if last is None and state.current is not None and state.current.modifiers:
        last = state.current.modifiers[-1]
    if last is not None and names(mention, last):
        # "red colour": of all attributes that can be red, it is that one
        own = state.before or state.current is None or _has_column(state.current, mention)
        column = last.column or (mention if own else None)
        said = replace(last, column=column, evidence=(*last.evidence, mention))
        (state.before or _behind(state))[-1] = said
        return
    if _takes_number(state, last, mention) or _is_missing(state, mention):
        return
    drop_column(state)
    state.column = mention
    if state.cue is not None and (state.cue.does(*VERBS) or state.cue.cue in _BEFORE_COLUMNS):
        state.cue = None


def _has_column(thing: ThingRequest, column: Mention) -> bool:
    return any(each.entity == thing.entity for each in column.columns)


def _takes_number(state: ParseState, last: Modifier | None, column: Mention) -> bool:
    """Take "at least 5 kg weight", "5 kg of weight": the number is that column's."""
    if last is None or state.current is None or not isinstance(last.mention.what, Number):
        return False
    behind = [m for m in state.mentions if last.mention.end <= m.first < column.first]
    if last.column is not None or any(m.cue != "of" for m in behind):
        return False
    evidence = (*last.evidence, column, *behind)
    state.current.modifiers[-1] = replace(last, column=column, evidence=evidence)
    state.cue = None
    return True


def _is_missing(state: ParseState, column: Mention) -> bool:
    """Take "without a sender": no value of that column is there."""
    negation = state.negation
    if negation is None or not negation.does(WordClass.WITHOUT) or state.current is None:
        return False
    between = [m for m in state.mentions if negation.end <= m.first < column.first]
    if state.value_follows() or any(not m.does(WordClass.FILLER) for m in between):
        return False
    state.negation = state.cue = None
    state.current.modifiers.append(Modifier(column, negated=True, evidence=(negation,)))
    return True


def drop_column(state: ParseState) -> None:
    """Note that a column was named for itself: the asker wants to see it."""
    if state.column is not None:
        state.parsed.asked.append(state.column)
    state.column = None


def measures_here(state: ParseState, mention: Mention) -> bool:
    """Return whether `mention`, which may also be a noun, names a number of the thing before it."""
    owners = {c.entity for c in mention.columns if state.catalogue.attribute(c).shape.is_number}
    if not owners or not is_singular(mention) or state.before:
        return False
    if state.boundary:  # "the length and height of …"
        named = {c.entity for asked in state.parsed.asked[-1:] for c in asked.columns}
        return not named.isdisjoint(owners)
    return state.current is not None and state.current.entity in owners


def is_only_a_word(state: ParseState, mention: Mention) -> bool:
    """Return whether the name of a column says nothing here: "the result", "the record"."""
    return mention.does(WordClass.DETAIL, WordClass.FILLER) and not state.value_follows()
