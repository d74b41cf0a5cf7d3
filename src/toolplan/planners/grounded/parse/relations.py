"""How a new thing relates to those before it, also where no noun names it.

In "towns that got oak" and "boxes opened by Ann" a verb, a value that only such a thing has, or the
word before that value stands for the other thing.
"""

from __future__ import annotations

from collections.abc import Collection

from toolplan.planners.grounded.catalogue.connections import connect, shown
from toolplan.planners.grounded.catalogue.kinds import ValueOf
from toolplan.planners.grounded.catalogue.schemas import Shape
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Code, Mention, Time, present
from toolplan.planners.grounded.parse.noun_phrase import asks_for_details, opens_clause
from toolplan.planners.grounded.parse.requests import Link, Modifier, ThingRequest
from toolplan.planners.grounded.parse.state import VERBS, ParseState

_HABITS = frozenset({"process", "handle", "take", "make", "do", "offer", "provide", "produce"})
_ONE = frozenset({"a", "an", "the"})
_ASKING_WHICH = frozenset({"which", "what"})
_PLACES = frozenset({"in", "at", "on"})


def same_as_before(state: ParseState, entity: str) -> ThingRequest | None:
    """Return the request that "those a" or "each a" speaks of again."""
    if (state.their is None and state.each is None) or state.before:
        return None
    same = [request for request in state.parsed.requests if request.entity == entity]
    return same[-1] if same else None


def says_way_again(state: ParseState, entity: str) -> bool:
    """Return whether "of those b" only says by which b the present thing belongs to another."""
    current = state.current
    if current is None or state.their is None or state.cue is None or state.before:
        return False
    kinds = state.catalogue.kinds
    for link in current.links:
        to = kinds[link.to.entity]
        way = connect(state.catalogue, kinds[current.entity], to.entity, shown(to))
        if link.loose and way is not None and way.attribute.shape.ref == f"{entity}.id":
            return True
    earlier = state.last_main(before=current) if not current.nested else None
    if earlier is None or current.links or state.cue.does(*VERBS):
        return False
    way = connect(state.catalogue, kinds[current.entity], earlier.entity, _columns(state, earlier))
    if way is None or way.attribute.shape.ref != f"{entity}.id":
        return False
    current.links.append(Link(earlier, None, False, True, ()))
    return True


def _columns(state: ParseState, request: ThingRequest) -> dict[str, Shape]:
    return shown(state.catalogue.kinds[request.entity])


def return_to(state: ParseState, earlier: ThingRequest) -> None:
    """Return to a thing named before, or tie the present one to it."""
    current = state.current
    pointer = state.their or state.each
    evidence = present(state.cue, pointer, state.mentions[state.at])
    again = current is not None and any(link.to is earlier for link in current.links)
    if again and state.negation is None:
        state.parsed.again.extend(evidence)  # "then the copies of these books": that was known
    elif current is not None and current is not earlier and _goes_on(state):
        if current.links or state.negation is not None:
            state.parsed.unexplained.extend(evidence)
        cue = state.cue.cue if state.cue is not None else None
        current.links.append(Link(earlier, cue, False, True, evidence))
    else:
        state.current = state.scope = earlier
        state.parsed.again.extend(evidence)
    state.forget_place()


def _goes_on(state: ParseState) -> bool:
    """Return whether something ties the thing that is spoken of again: "which a is that b in"."""
    if state.cue is not None:
        return True
    pointer = state.their
    return pointer is not None and not state.boundary and words.fold(pointer.text) == "that"


def relate(state: ParseState, request: ThingRequest) -> None:
    """Link `request` and the things before it by what stands between them."""
    current = state.current
    own = {mention for modifier in request.modifiers for mention in modifier.mentions}
    negation = take_negation(state, adjacent_only=False, besides=own)
    evidence = present(state.cue, state.verb, negation, state.each)
    cue = state.cue.cue if state.cue is not None else None
    last = state.last_main()
    if state.their is not None and last is None and state.scope is None:
        state.mark_unexplained(state.their)
    if state.their is not None and _points_past(state, last):
        _relate_past(state, request, cue)
    elif state.their is not None and last is not None:
        request.links.append(Link(_owner(state, last), None, False, True, (state.their,)))
    elif current is not None and state.search and cue == "for" and not current.nested:
        request.links.append(Link(current, cue, False, False, evidence))
        current.nested = True
    elif _is_scope(state, current):
        said = present(state.their, state.each)
        request.links.extend(Link(f, None, False, False, said) for f in (state.scope,) if f)
        state.apply_leading(request)
    elif current is not None and _possesses(state, current, request):
        request.links.append(Link(current, None, False, False, evidence))
        current.nested = True
    elif current is not None and (
        _ties(state, negation) or _begins_clause(request) or _state_is_verb(state, request)
    ):
        request.nested = True
        _reject_count(state, request)
        state.parents[id(request)] = current
        current.links.append(Link(request, cue, negation is not None, False, evidence))
        negation = None
    elif current is None and _opens_scope(state):
        request.nested = True
        state.scope = request
    else:
        _relate_main(state, request, last, current)
    if negation is not None:
        state.mark_unexplained(negation)


def _points_past(state: ParseState, last: ThingRequest | None) -> bool:
    """Return whether "their" stands behind a word that ties it here: "the a of their b"."""
    if last is None or state.current is not last or state.boundary or state.cue is None:
        return False
    return not state.cue.does(*VERBS)


def _relate_past(state: ParseState, request: ThingRequest, cue: str | None) -> None:
    """Let `request`, which is of the thing before the present one, select the present ones."""
    current = state.current
    earlier = state.last_main(before=current)
    if current is None or earlier is None or state.their is None:
        state.parsed.unexplained.extend(present(state.their))
        return
    request.nested = True
    request.links.append(Link(earlier, None, False, True, (state.their,)))
    state.parents[id(request)] = current
    current.links.append(Link(request, cue, False, False, present(state.cue)))


def _opens_scope(state: ParseState) -> bool:
    """Return whether the noun says where others are asked for; "details of b" asks for the b."""
    if state.cue is None:
        return state.each is not None
    before = [m for m in state.mentions if m.end <= state.cue.first]
    return not (state.cue.cue == "of" and before and before[-1].does(WordClass.DETAIL))


def _owner(state: ParseState, last: ThingRequest) -> ThingRequest:
    """Return what "their" speaks of: in "a, their b and their c", the a both times."""
    owners = [link.to for link in last.links if link.loose]
    goes_on = state.then is not None or state.verb_at_boundary
    return owners[0] if owners and not goes_on else last


def _reject_count(state: ParseState, request: ThingRequest) -> None:
    """Reject "two" of "boxes with two letters": it counts the letters of each box."""
    if request.cut is not None and not (request.cut.newest or request.cut.oldest):
        state.parsed.unexplained.extend(request.cut.mentions)
        request.cut = None


def _ties(state: ParseState, negation: Mention | None) -> bool:
    """Return whether a word here ties the noun to the thing before it."""
    asked = state.asked_by_verb and not state.boundary
    verb = state.verb is not None or state.relative
    tied = state.cue is not None or verb or negation is not None or asked
    return tied and not (state.boundary and state.cue is None)


def _state_is_verb(state: ParseState, request: ThingRequest) -> bool:
    """Return whether what is said of the noun is the verb: "which boxes failed a check"."""
    opening = state.mentions[0]  # "how many" has been taken out: it counts
    asks = opening.first > 0 or words.fold(opening.text) in _ASKING_WHICH
    if state.boundary or not asks or len(request.modifiers) != 1:
        return False
    (said,) = request.modifiers
    between = state.mentions[state.mentions.index(said.mention) + 1 : state.at]
    if not all(words.fold(each.text) in _ONE for each in between):
        return False  # "passed all checks" says more than that it passed one
    of = [value for value in said.mention.values if value.entity == request.entity]
    return said.before and any(state.catalogue.attribute(value).shape.is_boolean for value in of)


def _is_scope(state: ParseState, current: ThingRequest | None) -> bool:
    return state.scope is not None and (
        current is state.scope or state.boundary or id(current) in state.parents
    )


def _possesses(state: ParseState, current: ThingRequest, request: ThingRequest) -> bool:
    """Return whether the noun follows an identity directly: "loan L1's copies"."""
    return (
        not state.boundary
        and not state.relative
        and not _begins_clause(request)
        and state.cue is None
        and state.verb is None
        and any(isinstance(m.mention.what, Code) for m in current.modifiers)
    )


def _begins_clause(request: ThingRequest) -> bool:
    """Return whether the noun stands in a clause on what is before: "that failed a check"."""
    return any(modifier.before and opens_clause(modifier.mention) for modifier in request.modifiers)


def _relate_main(
    state: ParseState,
    request: ThingRequest,
    last: ThingRequest | None,
    current: ThingRequest | None,
) -> None:
    if last is None or current is None:
        state.apply_leading(request)
        return
    if not state.boundary and request.noun is not None:
        state.mark_unexplained(request.noun)
        return
    if (current.nested or _follows_with(state, current, request)) and (
        not state.verb_at_boundary and state.then is None
    ):  # "a of b and c": c may stand beside a or b; "a with red lids and c" may have c
        state.parsed.problem = f"'{_name(request)}'"
    details = request.noun is not None and asks_for_details(request.noun, state.following())
    if state.then is not None or details:
        request.links.append(Link(last, None, False, True, present(state.then)))
    else:
        request.coordinated = not state.verb_at_boundary
        if request.coordinated and any(link.loose for link in last.links):
            state.shared.append((request, last))
        if state.verb_at_boundary and state.mentions[state.at - 1].text.casefold() == "the":
            state.definite.append(request)


def _follows_with(state: ParseState, current: ThingRequest, request: ThingRequest) -> bool:
    """Return whether "with" opens what is said of the thing before, up to an "and" here.

    "And all boxes" begins anew.
    """
    before = [state.mentions.index(m.mention) for m in request.modifiers if m.before]
    opening = state.mentions[min([state.at, *before]) - 1]
    if words.fold(opening.text).split()[-1] in ("all", "the"):
        return False
    start = 0 if current.noun is None else state.mentions.index(current.noun)
    said = state.mentions[start : state.at]
    opened = [at for at, mention in enumerate(said) if mention.cue == "with"]
    return bool(opened) and not any(
        m.does(WordClass.COMMA, WordClass.STOP) for m in said[opened[-1] :]
    )


def settle_definite(state: ParseState) -> None:
    """Tie "and list the b" to the a before it, where a chain of such things has begun."""
    for request, before in state.shared:
        if request.modifiers or request.links or request.cut:
            state.parsed.problem = f"'{_name(request)}'"
        else:  # "their a and b" are both theirs
            request.links.extend(link for link in before.links if link.loose)
    for request in state.definite:
        before = state.last_main(before=request)
        if request.modifiers or request.links or request.cut or before is None:
            continue
        if any(link.loose for link in before.links):
            request.links.append(Link(before, None, False, True, ()))
        else:
            state.parsed.problem = f"'the {_name(request)}': all of them?"


def _name(request: ThingRequest) -> str:
    return request.noun.text if request.noun else request.entity


def take_negation(
    state: ParseState, adjacent_only: bool, besides: Collection[Mention] = ()
) -> Mention | None:
    """Return the negation that belongs to what stands here, and use it up."""
    negation = state.negation
    if negation is None or (negation.words[0] == 0 and negation.text.casefold() != "non"):
        return None  # "weren't there any" expects them rather than denies them
    here = state.mentions[state.at].first
    between = [m for m in state.mentions if negation.end <= m.first < here and m not in besides]
    if adjacent_only and (between or not negation.does(WordClass.NOT)):
        return None  # "no red things" are things that are not there, not things not red
    benign = (WordClass.FILLER, *VERBS, WordClass.CUE)
    if not all(m.does(*benign) or m is state.cue or m is state.column for m in between):
        return None
    state.negation = None
    return negation


def take_verb(state: ParseState, mention: Mention) -> None:
    """Take a verb made from a noun: what was "reviewed" is what has a review."""
    entity = mention.verbs[0]
    current = state.current
    state.asked_by_verb = True
    if current is None:
        request = ThingRequest(entity, mention)
        state.apply_leading(request)
        state.add(request)
        state.forget_place()
    elif current.entity != entity and current.noun is None and _is_one(current):
        # "was B1 reviewed": its reviews
        request = ThingRequest(entity, mention, links=[Link(current, None, False, False, ())])
        current.nested = True
        state.add(request)
        state.forget_place()
    elif current.entity != entity:
        _nest(state, ThingRequest(entity, mention), (mention,))
    elif current.noun is None:
        current.noun = mention


def _is_one(request: ThingRequest) -> bool:
    """Return whether nothing but an identity is said of a thing."""
    said = [modifier.mention.what for modifier in request.modifiers]
    return len(said) == 1 and isinstance(said[0], Code) and not request.links


def implied_by_value(state: ParseState, mention: Mention) -> str | None:
    """Return the kind of thing, other than the present one, that a value here must be of."""
    current = state.current
    if current is None or state.column is not None or not mention.values:
        return None
    if any(value.entity == current.entity for value in mention.values):
        return None
    found = {value.entity for value in mention.values if _names_thing(state, value)}
    near = [entity for entity in found if _leads_to(state, entity, current.entity)]
    return near[0] if len(near) == 1 else None


def implied_by_code(state: ParseState, mention: Mention) -> str | None:
    """Return the kind, other than the present one, that an identity here can only be of."""
    current = state.current
    if current is None or state.column is not None or not isinstance(mention.what, Code):
        return None
    owner = Linker(state.catalogue).owner(mention.what.text)
    cue = state.cue.cue if state.cue is not None else None
    tied = state.verb is not None or state.relative or state.asked_by_verb
    if owner is None or owner == current.entity or not (tied or cue in (None, "of", "for")):
        return None
    attributes = state.catalogue.kinds[current.entity].attributes.values()
    if any(each.shape.ref == f"{owner}.id" and each.equal for each in attributes):
        return None
    return owner if _leads_to(state, owner, current.entity) else None


def _names_thing(state: ParseState, value: ValueOf) -> bool:
    """Return whether a verb, or the very word before the value, says which thing has it."""
    shape = state.catalogue.attribute(value).shape
    if state.catalogue.attribute(value).equal is None or shape.kind == "place":
        return False
    cue = state.cue.cue if state.cue is not None else None
    if cue is not None and " " in cue:
        return cue in shape.cue_keys
    if shape.is_boolean or shape.enum:
        return False
    return cue in (None, "of") and (state.relative or _verb_is_near(state))


def _verb_is_near(state: ParseState) -> bool:
    """Return whether a verb ties the value here to the thing: "that got a", "was a found"."""
    if state.verb is not None and state.verb.does(WordClass.LINK):
        # what a place "handles" may be what it could: only what it "handled" was there
        return words.fold(state.verb.text) not in _HABITS
    for mention in state.mentions[state.at + 1 : state.at + 4]:
        if mention.does(WordClass.LINK) or mention.verbs:
            return True
        if not mention.does(WordClass.BE, WordClass.FILLER, WordClass.HAVE):
            return False
    return False


def _leads_to(state: ParseState, entity: str, to: str) -> bool:
    kinds = state.catalogue.kinds
    if kinds[entity].listing is None:
        return False
    way = connect(state.catalogue, kinds[to], entity, shown(kinds[entity]))
    return way is not None and way.direct


def _nest(state: ParseState, request: ThingRequest, said: tuple[Mention, ...]) -> None:
    """Let `request` select which of the present things are meant."""
    current = state.current
    negation = take_negation(state, adjacent_only=False)
    request.nested = True
    if current is not None:
        state.parents[id(request)] = current
        evidence = dict.fromkeys((*present(state.cue, state.verb, negation), *said))
        current.links.append(Link(request, None, negation is not None, False, tuple(evidence)))
    state.add(request)
    state.forget_place()


def modify_other(state: ParseState, mention: Mention, entity: str) -> None:
    """Take a value of another thing, which it alone stands for."""
    cue = state.cue.cue if state.cue is not None else None
    text = cue if cue is not None and " " in cue else None
    evidence = present(state.cue)
    _nest(state, ThingRequest(entity, None, [Modifier(mention, text, evidence=evidence)]), evidence)


def closes_relation(state: ParseState, cue: Mention) -> bool:
    """Return whether a cue without a value ends a relation: "the town that box B1 went to"."""
    current = state.current
    parent = state.parents.get(id(current))
    text = (cue.cue or "").rpartition(" ")[2]
    if current is None or parent is None or cue.first != _last_said(state):
        return False
    if text in _PLACES:
        return True
    wanted = f"{parent.entity}.id"
    cards = state.catalogue.kinds[current.entity].cards
    taking = [a for card in cards for a in card.arguments.values() if a.ref == wanted]
    return any(text in argument.cue_keys for argument in taking)


def _last_said(state: ParseState) -> int:
    """Return the index of the first token of the last mention before this place."""
    at = min(state.at, len(state.mentions)) - 1
    while at > 0 and isinstance(state.mentions[at].what, Time):
        at -= 1
    return state.mentions[at].first


def stands_for_itself(state: ParseState, mention: Mention) -> str | None:
    """Return the kind of thing that an identity alone speaks of: "show L1 with its copies"."""
    if not isinstance(mention.what, Code) or state.current is not None:
        return None
    if state.cue is not None or state.column is not None or state.negation is not None:
        return None
    following = state.following()
    if following is not None and following.does(WordClass.COMMA, WordClass.AND, WordClass.OR):
        return None
    return Linker(state.catalogue).owner(mention.what.text)
