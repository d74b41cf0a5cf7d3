"""Mentions parsed into requests: which things are asked for, and what is said of which.

English puts what is said of a thing right before its noun, or behind it. So there is one pass from
left to right, and the only look ahead is from something that may stand before a noun to that noun.
What does not fit is marked as unexplained, and then there is no plan.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolplan.planners.grounded.catalogue.connections import list_cues
from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.language import phrases, words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import key
from toolplan.planners.grounded.parse import amounts, predicates, relations, values
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Code, Mention, Number, Time, present
from toolplan.planners.grounded.parse.noun_phrase import codes_from, is_pronoun, noun_from
from toolplan.planners.grounded.parse.requests import Link, Modifier, ParsedQuestion, ThingRequest
from toolplan.planners.grounded.parse.state import VERBS, ParseState

_BENIGN = (
    WordClass.FILLER, WordClass.DETAIL, WordClass.WHICH, WordClass.READ, WordClass.COMPARE
)  # fmt: skip
_SEARCHES = frozenset({"check", "search", "examine", "analyze", "review", "investigate"})


def parse(
    mentions: Sequence[Mention], catalogue: Catalogue, implied: str | None = None
) -> ParsedQuestion:
    """Return what `mentions` ask for, with those that were not understood.

    `implied` is the kind of thing that is spoken of where no noun names it.
    """
    state = ParseState(mentions, catalogue)
    if implied is not None:
        state.add(ThingRequest(implied, None))
        state.boundary = False
    while state.at < len(state.mentions):
        _take(state, state.mentions[state.at])
        state.at += 1
    _finish(state)
    return state.parsed


def _take(state: ParseState, mention: Mention) -> None:
    match mention.what:
        case Time():
            values.take_value(state, mention)
        case Number():
            values.take_number(state, mention)
        case _ if state.at == 0 and words.fold(mention.text) in phrases.ASKING:
            state.parsed.asked.append(mention)
        case _ if mention.nouns and _is_imperative(state, mention):
            state.mark_unexplained(mention)
        case _ if mention.nouns and values.measures_here(state, mention):
            values.name_column(state, mention)
        case _ if mention.nouns and not _is_value_here(state, mention):
            _take_noun(state, mention)
        case _ if mention.is_value and _is_value_here(state, mention):
            values.take_value(state, mention)
        case _ if mention.verbs and state.cue is None:
            relations.take_verb(state, mention)
        case _ if mention.columns and not mention.nouns and _is_in_a_list(state):
            state.parsed.asked.append(mention)
        case _ if mention.columns and not values.is_only_a_word(state, mention):
            values.name_column(state, mention)
        case _:
            _take_word(state, mention)


def _is_in_a_list(state: ParseState) -> bool:
    """Return whether the verb of a column that holds lists ends it: "which woods does T1 take"."""
    ending = [m for m in state.mentions[state.at + 1 :] if not m.does(WordClass.STOP)][-1:]
    return any(m.cue in list_cues(state.catalogue) for m in ending)


def _is_value_here(state: ParseState, mention: Mention) -> bool:
    """Return whether `mention`, which may also be a noun or a verb, is a value in this place."""
    if not mention.is_value or mention.nouns:
        return False
    if mention.does(WordClass.LINK, WordClass.AND, WordClass.FILLER, WordClass.CUE):
        if state.at > 0 and state.mentions[state.at - 1].does(WordClass.BE, WordClass.NOT):
            return True
        following = state.following()
        if following is not None and words.fold(following.text) in values.ONES:
            return True
        ahead = noun_from(state, state.at, state.current)
        return ahead is not None or state.column is not None
    return True


def _is_imperative(state: ParseState, mention: Mention) -> bool:
    """Return whether `mention` demands an action that no tool here is known for."""
    folded = words.fold(mention.text)
    if not state.boundary or state.asked_by_verb or folded not in phrases.LEADING_IMPERATIVES:
        return False
    if mention.does(WordClass.FILLER):
        return False
    following = state.following()
    if not mention.does(WordClass.READ, WordClass.DETAIL):
        return True
    # "report a fault", but "report of", "report on"
    return following is not None and words.fold(following.text) in ("a", "an", "the", "new")


def _take_word(state: ParseState, mention: Mention) -> None:
    if _is_imperative(state, mention):
        state.mark_unexplained(mention)
        return
    if words.fold(mention.text.split()[0]) in phrases.AUXILIARIES:
        state.asked_by_verb = True
    _climb(state, mention)
    if mention.does(WordClass.STOP, WordClass.COMMA, WordClass.AND, WordClass.OR, WordClass.THEN):
        _separate(state, mention)
        state.then = mention if mention.does(WordClass.THEN) else state.then
    elif _points_back(state, mention):
        _point_back(state, mention)
    elif mention.does(WordClass.NOT, WordClass.WITHOUT):
        _take_negative(state, mention)
    elif (
        mention.does(*amounts.CUTS)
        and (values.take_cut(state, mention) or _comes_first(state, mention))
    ) or (
        mention.does(WordClass.ABOVE, WordClass.BELOW, WordClass.BETWEEN, WordClass.EXACTLY)
        and values.take_bound(state)
    ):
        pass
    elif mention.does(WordClass.EACH):
        _take_each(state, mention)
    elif mention.does(*VERBS) and not _is_asked(state, mention):
        state.verb = mention if mention.does(WordClass.LINK, WordClass.HAVE) else state.verb
        state.cue = mention if mention.cue else state.cue
    elif mention.cue is not None:
        _take_cue(state, mention)
    elif mention.does(*_BENIGN):
        _benign(state, mention)
    else:
        state.mark_unexplained(mention)


def _points_back(state: ParseState, mention: Mention) -> bool:
    """Return whether `mention` is a word for what was spoken of before: "their", "that box"."""
    if mention.does(WordClass.THEIR):
        return not (mention.cue and state.value_follows())
    return is_pronoun(mention, state.following()) or _is_a_place(state, mention)


def _is_a_place(state: ParseState, mention: Mention) -> bool:
    """Return whether it is a "there" that says where, not the one of "there are"."""
    beside = (state.mentions[state.at - 1] if state.at else None, state.following())
    exists = any(m is not None and m.does(WordClass.BE, WordClass.HAVE) for m in beside)
    return words.fold(mention.text) == "there" and state.at > 0 and not exists


def _take_each(state: ParseState, mention: Mention) -> None:
    """Keep "for each", and an "each" that points back; else it only says "all"."""
    plain = words.fold(mention.text) in ("each", "every")
    spoken = state.current is not None and state.current.noun is not None
    if not plain or state.cue is not None or spoken:
        state.each = mention


def _climb(state: ParseState, mention: Mention) -> None:
    """Return to the thing asked for where its verb comes: "which a of b were …"."""
    if mention.does(WordClass.RELATIVE):
        state.relative = True
    finite = words.fold(mention.text.split()[0]) in phrases.FINITE
    closes = state.asked_by_verb and mention.does(WordClass.LINK)  # "which a did b receive …"
    if not (finite or closes) or mention.does(WordClass.RELATIVE):
        return
    while not state.relative and id(state.current) in state.parents:
        state.current = state.parents[id(state.current)]
    state.relative = False


def _is_asked(state: ParseState, mention: Mention) -> bool:
    """Return whether a word that may be a verb opens a request here, or stands before a value."""
    if mention.does(WordClass.READ):
        return state.boundary and not state.asked_by_verb
    return mention.cue is not None and state.value_follows()


def _comes_first(state: ParseState, mention: Mention) -> bool:
    """Return whether it only begins a sequence: "first get …, then …"."""
    following = state.following()
    first = mention.does(WordClass.FIRST) and state.boundary
    if not first or following is None:
        return False
    if any(m.does(WordClass.THEN) for m in state.mentions) and words.fold(following.text) == "the":
        state.parsed.again.append(mention)
        return True
    return following.does(WordClass.READ)


def _benign(state: ParseState, mention: Mention) -> None:
    if mention.does(WordClass.READ, WordClass.WHICH):
        if state.negation is not None:  # "don't show": nothing here can mean that
            state.mark_unexplained(state.negation)
            state.negation = None
        state.verb_at_boundary = state.boundary
        state.search = key(mention.text.split()[0]) in _SEARCHES


def _take_cue(state: ParseState, mention: Mention) -> None:
    if state.cue is not None and not state.cue.does(*VERBS):
        state.mark_unexplained(state.cue)
    state.cue = mention


def _separate(state: ParseState, mention: Mention) -> None:
    if state.before and mention.does(WordClass.AND, WordClass.OR, WordClass.COMMA):
        state.joiner = mention  # "red and blue things": the same noun is still to come
        return
    _release_cue(state)
    values.drop_column(state)
    state.drop_joiner()
    state.joiner = mention
    state.boundary = True
    state.verb_at_boundary = state.search = state.asked_by_verb = False
    state.verb = None


def _release_cue(state: ParseState) -> None:
    cue = state.cue
    if (
        cue is not None
        and not cue.does(*VERBS, WordClass.READ)
        and not relations.closes_relation(state, cue)
    ):
        if cue.cue in list_cues(state.catalogue):  # "which woods does T1 take"
            state.parsed.asked.append(cue)
        else:
            state.mark_unexplained(cue)
    state.cue = None


def _take_negative(state: ParseState, mention: Mention) -> None:
    if state.negation is not None:
        state.mark_unexplained(mention)
    state.negation = mention


def _point_back(state: ParseState, mention: Mention) -> None:
    last, following = state.last_main(), state.following()
    column_follows = following is not None and following.columns
    if noun_from(state, state.at + 1, None) is not None or (column_follows and last is None):
        state.their = mention
    elif column_follows:
        state.parsed.again.append(mention)
    elif last is None:
        state.mark_unexplained(mention)
    else:
        earlier = state.last_main(before=last)
        scoped = [link for link in last.links if link.to is state.scope and not link.cue]
        if earlier is not None and last.links == scoped:
            last.links = [Link(earlier, None, False, True, (mention,))]
        elif any(link.loose for link in last.links):
            state.parsed.again.append(mention)  # that was known already
        elif _is_a_place(state, mention):
            state.mark_unexplained(mention)
        state.cue = None


def _take_noun(state: ParseState, mention: Mention) -> None:
    entity = mention.nouns[0]
    earlier = relations.same_as_before(state, entity)
    if earlier is not None:
        relations.return_to(state, earlier)
        return
    if relations.says_way_again(state, entity):
        state.parsed.again.extend(present(state.their, state.cue, mention))
        state.forget_place()
        return
    request = ThingRequest(
        entity, mention, state.before, [], values.take_pending_cut(state, mention)
    )
    state.before = []
    relations.relate(state, request)
    state.add(request)
    state.forget_place()
    _take_codes(state, request)


def _take_codes(state: ParseState, request: ThingRequest) -> None:
    """Take the identities behind a noun: "loans L1 and L2"."""
    at = state.at + 1
    while at < len(state.mentions) and state.mentions[at].does(WordClass.DETAIL, WordClass.FILLER):
        at += 1
    if at >= len(state.mentions) or not isinstance(state.mentions[at].what, Code):
        return
    codes, end = codes_from(state, at)
    owners = {Linker(state.catalogue).owner(m.what.text) for m in codes if isinstance(m.what, Code)}
    if not owners <= {None, request.entity}:
        return  # "the letter about box B1": the box is named, not the letter
    request.modifiers.append(
        Modifier(codes[0], column=request.noun, alternatives=tuple(codes[1:]), either=True)
    )
    state.at = end - 1


def _finish(state: ParseState) -> None:
    relations.settle_definite(state)
    _release_cue(state)
    values.drop_column(state)
    state.parsed.unexplained.extend(present(state.negation, state.their, state.each))
    state.parsed.unexplained.extend(predicates.unknown_states(state.mentions))
    state.drop_joiner()
    for modifier in (*state.before, *state.leading):
        state.parsed.unexplained.extend(modifier.mentions)
    if state.cut is not None:
        state.parsed.unexplained.extend(state.cut.mentions)
    if state.scope is not None and state.last_main() is None:
        state.scope.nested = False  # "in the a that …": there was nothing else to be asked for
