"""A follow-up becomes a plan: the previous plan, edited, or extended by a planner."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.path import Json
from toolplan.plan import Plan, sinks
from toolplan.planners.grounded.catalogue.kinds import SQL_TOOL
from toolplan.planners.grounded.dialogue.constraints import (
    adds,
    denied,
    first_of_a_time,
    is_cut,
    is_listed,
    keeps,
    notes_of,
    words_by_step,
)
from toolplan.planners.grounded.dialogue.doubts import doubtful
from toolplan.planners.grounded.dialogue.exchange import Exchange, Revised, Revision, Unsure
from toolplan.planners.grounded.dialogue.insert import (
    Anchor,
    Conflict,
    anchors,
    closure,
    fits,
    inner_anchors,
    insert,
)
from toolplan.planners.grounded.dialogue.judgements import judgement
from toolplan.planners.grounded.dialogue.messages import Message, read_message, says
from toolplan.planners.grounded.dialogue.reading import Placed, without
from toolplan.planners.grounded.dialogue.remove import remove
from toolplan.planners.grounded.dialogue.replace import replace_value, spots_of
from toolplan.planners.grounded.dialogue.rewordings import (
    about,
    joined,
    regrouped,
    renumbered,
    renumbered_throughout,
    restated,
    several,
)
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import plural
from toolplan.planners.grounded.parse.mentions import Code, Time

Texts: TypeAlias = Mapping[str, str | None]
"""Short questions, each with its addition to the whole question, None where not known."""

_VERB: Final = re.compile(
    r"^\s*(?:get|show|list|give|find|fetch|display)(?:\s+(?:me|us))?\s+", re.I
)


class _State(Struct):
    """The state of a follow-up: its message, the plan so far, the words of new arguments."""

    exchange: Exchange
    message: Message
    said: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    notes: list[str] = field(default_factory=list[str])


async def revise(exchange: Exchange) -> Revision | None:
    """Return the plan that a follow-up makes of the previous one, or a question back.

    None where it is not understood as a follow-up of that plan.
    """
    message = read_message(exchange.message, exchange.words)
    state = _State(exchange, message)
    if (removed := remove(state.exchange, message)) is not None:
        return removed
    if (judged := judgement(state.exchange, message)) is not None:
        return judged
    if message.commands:
        return await _commanded(state)
    if (doubt := await doubtful(exchange, message)) is not None:
        return doubt
    if message.compares:
        return None
    found = anchors(state.exchange.turn.plan, state.exchange.catalogue)
    named = {noun for mention in message.nouns for noun in mention.nouns}
    own = [anchor for anchor in found if anchor.card.entity in named]
    if named and not own and not message.points_back and message.mode == "narrows":
        inner = inner_anchors(state.exchange.turn.plan, state.exchange.catalogue)
        own = [anchor for anchor in inner if anchor.card.entity in named]
    if named and not own and (message.same or not message.restricts):
        return await _onwards(state, found)
    return await _edited(state, own or list(found))


async def _edited(state: _State, found: list[Anchor]) -> Revision | None:
    message = state.message
    spans: list[tuple[int, int]] = []
    if message.mode != "narrows" and not message.denies:
        for reworded in (regrouped, several, joined, restated):
            if (revised := await reworded(state.exchange, message)) is not None:
                return revised
        for placed in message.placed:
            replaced = _replaced(state, placed)
            if isinstance(replaced, Unsure):
                return replaced
            if replaced is not None:
                spans.append(_with_cue(state, placed))
                _take(state, replaced)
    rest = without(message.rest, spans)
    ends = {end for _, end in spans}
    left = [p for p in message.placed if p.end not in ends and says(p.mention)]
    if not left:
        again = message.same and not message.nouns
        return _revised(state) if spans or again else _listed(state, found)
    if message.old is not None:
        return Unsure(f"The previous plan has no {message.old.mention.text} to replace.")
    if spans:  # the plan is not what it was
        found = list(anchors(state.exchange.turn.plan, state.exchange.catalogue))
    lists = [anchor for anchor in found if anchor.identity is None]
    return await _one_of(state, lists, rest)


def _listed(state: _State, found: list[Anchor]) -> Revised | None:
    """List the things of which only figures were shown: "list them"."""
    turn = state.exchange.turn
    figures = [anchor for anchor in found if anchor.rows is None]
    if not state.message.asks_for_them or len(found) != 1 or not figures:
        return None
    kept = closure(turn.plan, [figures[0].target.id])
    steps = tuple(step for step in turn.plan.steps if step.id in kept)
    return Revised(replace(turn.plan, steps=steps, output=None), None)


def _replaced(state: _State, placed: Placed) -> Revision | None:
    mention = placed.mention
    if not (mention.values or isinstance(mention.what, Time | Code)):
        return None
    if _has_way(state, placed) and state.message.old is None:
        return _unsure_of_way(state, placed)
    return replace_value(state.exchange, placed, state.message.old)


def _with_cue(state: _State, placed: Placed) -> tuple[int, int]:
    """Return the place of a value, with a word like *in* before it."""
    before = [each for each in state.message.placed if each.end <= placed.start]
    if before and (before[-1].mention.does(WordClass.CUE) or before[-1].mention.cue is not None):
        return before[-1].start, placed.end
    return placed.start, placed.end


def _cue(state: _State, placed: Placed) -> str:
    before = re.findall(r"\w+", state.message.rest[: placed.start])
    return before[-1].lower() if before else ""


def _has_way(state: _State, placed: Placed) -> bool:
    """Return whether *from* or *to* stands before a place that has both."""
    ends = [
        value
        for value in placed.mention.values
        if state.exchange.catalogue.attribute(value).is_endpoint
    ]
    return bool(ends) and _cue(state, placed) in ("from", "to")


def _unsure_of_way(state: _State, placed: Placed) -> Unsure | None:
    """Ask, where the plan has a place that is neither origin nor destination."""
    cue, new = _cue(state, placed), placed.mention.text
    olds: dict[str, None] = {}
    for spot in spots_of(state.exchange, placed):
        step = next(s for s in state.exchange.turn.plan.steps if s.id == spot.step)
        shape = state.exchange.catalogue.cards[step.tool].arguments[spot.argument]
        if shape.role == cue:
            return None  # it replaces that value
        olds[spot.old] = None
    if not olds:
        return None
    options = (*(f"{new} instead of {old}" for old in olds), f"only those {cue} {new}")
    return Unsure(f"Should {new} replace {' or '.join(olds)}, or be added?", options)


async def _one_of(state: _State, found: list[Anchor], rest: str) -> Revision | None:
    """Insert `rest` at the one anchor where it fits."""

    def texts(anchor: Anchor) -> Texts:
        return _texts(state, anchor, rest)

    if state.message.groups and any(anchor.rows is None for anchor in found):
        return await _grouped(state, found, rest)
    if (numbered := await renumbered_throughout(state.exchange, state.message)) is not None:
        return numbered
    fitting = await _fitting(state, found, texts)
    if len(fitting) == 1:
        return fitting[0][1]
    if fitting:
        named = dict.fromkeys(plural(anchor.card.entity) for anchor, _ in fitting)
        if len(named) == 1 and (revised := await _of_all(state, fitting, texts)) is not None:
            return revised
        if len(named) == 1:
            things = next(iter(named))
            return Unsure(
                f"The previous plan lists {things} {len(fitting)} times. Which ones do you mean?"
            )
        return Unsure("Which of them do you mean?", tuple(map(state.message.naming, named)))
    inner = inner_anchors(state.exchange.turn.plan, state.exchange.catalogue)
    for anchor, _ in await _fitting(state, inner, texts):
        things = plural(anchor.card.entity)
        return Unsure(f"Do you mean the {things}?", (state.message.naming(things),))
    whole = state.exchange.turn.whole
    if whole is None or len(found) != 1:
        return None
    numbered = await renumbered(state.exchange, state.message)
    if numbered is not None:
        return numbered
    planned = await state.exchange.ask_whole(f"{whole.rstrip(' .?!')}, {rest}")
    if planned is None or not all(is_listed(planned.plan, anchor) for anchor in found):
        return None
    made = anchors(planned.plan, state.exchange.catalogue)
    return planned if all(fits(each, each.target, planned.plan) for each in made) else None


async def _grouped(state: _State, found: list[Anchor], rest: str) -> Revision | None:
    """Ask for the figure of each group: "by month"."""
    whole = state.exchange.turn.whole
    planned = (
        None if whole is None else await state.exchange.ask_whole(f"{whole.rstrip(' .?!')} {rest}")
    )
    if planned is not None and all(is_listed(planned.plan, anchor) for anchor in found):
        return planned
    statements = [str(step.args.get("sql")) for step in state.exchange.turn.plan.steps]
    if len(found) != 1 or not any("SELECT count(*)" in each for each in statements):
        return None  # a insert would count, and no number of things is their weight
    return await _first(state, found[0], _texts(state, found[0], rest))


async def _of_all(
    state: _State,
    found: Sequence[tuple[Anchor, Revision]],
    texts: Callable[[Anchor], Texts],
) -> Revised | None:
    """Insert the same at several lists of one kind, where nothing else changes."""
    plan = state.exchange.turn.plan
    tail: str | None = None
    for anchor, alone in found:
        if not isinstance(alone, Revised) or not keeps(anchor, alone.plan):
            return None
        now = anchors(plan, state.exchange.catalogue)
        here = next((each for each in now if each.sink == anchor.sink), None)
        addition = await _addition(state, texts(anchor))
        if here is None or addition is None:
            return None
        limit = here.card.argument("limit")
        if any(limit in step.args for step in addition[0].steps):
            return None  # the first ten of all are not the first ten of each
        if any(step.tool == SQL_TOOL for step in addition[0].steps):
            longer = _longer(state, addition[1])  # one order of all, not one of each
            return None if longer is None else await state.exchange.ask_whole(longer)
        beside = [end for end in sinks(plan) if end != here.sink]
        grown = insert(plan, here, addition[0], state.message.mode, beside)
        if not isinstance(grown, Plan):
            return None
        plan, tail = grown, addition[1]
    return Revised(plan, _longer(state, tail), state.said, tuple(state.notes))


async def _fitting(
    state: _State, found: Iterable[Anchor], texts: Callable[[Anchor], Texts]
) -> list[tuple[Anchor, Revision]]:
    results = [(anchor, await _first(state, anchor, texts(anchor))) for anchor in found]
    return [(anchor, each) for anchor, each in results if each is not None]


def _texts(state: _State, anchor: Anchor, rest: str) -> Texts:
    """Return short questions for `rest` about all things of a kind."""
    things = plural(anchor.card.entity)
    counted = state.message.counted
    if counted is not None:
        return {f"How many {things} {counted}".strip(): ""}
    if state.message.nouns:
        # with the noun again, they would be other things
        tail = f", {rest.replace(state.message.nouns[0].text, 'ones', 1)}"
        return {f"Get {things}, {rest}": tail, f"Get {rest}": tail}
    if state.message.leaves_open:
        named = state.message.naming(things, anchor.card.entity)
        return {f"Get {things}, {rest}": f", {rest}", f"Get {named}": None}
    if state.message.points_back:
        return {f"Get {things}, {rest}": f", {rest}"}
    return {
        f"Get {things} {rest}": f" {rest}",
        f"Get {things}, {rest}": f", {rest}",
        f"Get {rest} {things}": f", {rest}",
    }


async def _addition(state: _State, texts: Texts) -> tuple[Plan, str | None] | None:
    for text, tail in texts.items():
        if (addition := await state.exchange.ask(text)) is not None:
            return addition, tail
    return None


async def _first(state: _State, anchor: Anchor, texts: Texts) -> Revision | None:
    """Insert the first of `texts` that the planner can plan and that fits."""
    for text, tail in texts.items():
        addition = await state.exchange.ask(text)
        if addition is not None:
            revision = _inserted(state, anchor, addition, tail)
            if revision is not None:
                return revision
    return None


def _inserted(state: _State, anchor: Anchor, addition: Plan, tail: str | None) -> Revision | None:
    turn, mode = state.exchange.turn, state.message.mode
    if _is_of_others(state, anchor, addition) or not any(step.args for step in addition.steps):
        return None  # nothing was understood
    if (excluded := denied(anchor, addition)) is not None:
        return Unsure(f"The previous plan only has those with {excluded}. What should change?")
    if (asked := first_of_a_time(state.message, anchor)) is not None:
        return asked
    match insert(turn.plan, anchor, addition, mode):
        case None:
            return None
        case Conflict() as conflict:
            return _unsure_of(state, conflict)
        case plan:
            if mode == "narrows" and is_cut(anchor, state.exchange.turn) and adds(anchor, plan):
                things = plural(anchor.card.entity)
                question = (
                    f"The previous plan returns only the first {things}. With"
                    f" {state.message.rest!r}, these may be other ones. Do you want to continue?"
                )
                return Unsure(question, plan=plan)
            said = {**state.said, **words_by_step(addition, anchor)}
            notes = (*state.notes, *notes_of(addition))
            return Revised(plan, _whole(state, anchor, plan, tail), said, notes)


def _is_of_others(state: _State, anchor: Anchor, addition: Plan) -> bool:
    """Return whether a figure may be about all things, where the plan limits them.

    After "the newest five", "the oldest" is not one of the five; but "sort them" is about them.
    """
    computes = any(step.tool == SQL_TOOL for step in addition.steps)
    return computes and is_cut(anchor, state.exchange.turn) and not state.message.points_back


def _whole(state: _State, anchor: Anchor, plan: Plan, tail: str | None) -> str | None:
    """Return the whole question that `plan` answers, where it extends the old one."""
    turn = state.exchange.turn
    if plan.steps == turn.plan.steps:
        return turn.whole
    others = [step for step in turn.plan.steps if step.id != anchor.target.id]
    grown = all(step in plan.steps for step in others) and keeps(anchor, plan)
    return _longer(state, tail) if grown and not is_cut(anchor, state.exchange.turn) else None


def _unsure_of(state: _State, conflict: Conflict) -> Unsure:
    said = [p.mention for p in state.message.placed if says(p.mention)]
    option = f"{state.message.bare} instead"
    if isinstance(conflict.old, str) and len(said) == 1 and said[0].values:
        option = f"{said[0].text} instead of {conflict.old}"
    return Unsure(
        f"The previous plan has {conflict.argument} = {_shown(conflict.old)}, which"
        f" contradicts {_shown(conflict.new)}.",
        (option,),
    )


async def _onwards(state: _State, found: tuple[Anchor, ...]) -> Revision | None:
    """Continue with things of another kind."""
    message = state.message
    if not (message.points_back or message.denies or message.chooses) and (
        message.mode != "narrows"
    ):
        revision = await about(state.exchange, message, found)
        if revision is not None:
            return revision
    single = [anchor for anchor in found if anchor.identity is not None]
    several = [anchor for anchor in found if anchor.identity is None]
    preferred = (single or several) if message.is_singular else (several or single)
    rest = message.rest if message.points_back else f"their {_named(state)}"
    fitting: list[tuple[Anchor, Revision]] = []
    for said in filter(None, (rest, _belonging(state))):
        if fitting:
            break
        single_of = [(anchor, await _of_one(state, anchor, said)) for anchor in preferred]
        fitting = [(a, each) for a, each in single_of if each is not None and _gives(state, each)]
        named = dict.fromkeys(anchor.card.entity for anchor, _ in fitting)
        if len(fitting) > 1 and len(named) == 1:
            return await _of_all(state, fitting, lambda anchor, said=said: _onward(anchor, said))
    if len(fitting) > 1:
        options = tuple(f"{plural(anchor.card.entity)}, then {rest}" for anchor, _ in fitting)
        return Unsure("Of which of them?", options)
    return fitting[0][1] if fitting else None


def _gives(state: _State, revision: Revision) -> bool:
    """Return whether the result is of the kind that was asked for."""
    if isinstance(revision, Unsure):
        return True
    named = {noun for mention in state.message.nouns for noun in mention.nouns}
    ends = anchors(revision.plan, state.exchange.catalogue)
    return not ends or any(anchor.card.entity in named for anchor in ends)


def _named(state: _State) -> str:
    """Return the message from its first content word on: "b" of "at which b"."""
    message = state.message
    said = (p.start for p in message.placed if p.mention.nouns or says(p.mention))
    return message.rest[next(said, 0) :]


def _belonging(state: _State) -> str | None:
    """Return "their a" for "which a were they at?", or None."""
    nouns = state.message.nouns
    others = [p for p in state.message.placed if says(p.mention) and not p.mention.nouns]
    timed = all(isinstance(placed.mention.what, Time) for placed in others)
    if len(nouns) != 1 or not timed or not state.message.points_back:
        return None
    return " ".join(["their", nouns[0].text, *(placed.mention.text for placed in others)])


async def _of_one(state: _State, anchor: Anchor, rest: str) -> Revision | None:
    """Return the plan for things that belong to those of `anchor`."""
    if anchor.identity is None:
        return await _first(state, anchor, _onward(anchor, rest))
    named = f"{anchor.card.entity} {anchor.identity}"
    return await state.exchange.ask_whole(f"Get {named}, then {rest}")


async def _commanded(state: _State) -> Revision | None:
    """Plan an imperative for the one thing of before: "mark it as …"."""
    found = anchors(state.exchange.turn.plan, state.exchange.catalogue)
    single = [anchor for anchor in found if anchor.identity is not None]
    if len(single) != 1:
        return None
    named = f"{single[0].card.entity} {single[0].identity}"
    text, count = re.subn(r"\b(?:it|this|that(?: one)?)\b", named, state.message.rest, count=1)
    return await state.exchange.ask_whole(text) if count else None


def _take(state: _State, revised: Revised) -> None:
    turn = replace(state.exchange.turn, plan=revised.plan, whole=revised.whole)
    state.exchange = replace(state.exchange, turn=turn)
    state.said.update(revised.said)
    state.notes.extend(revised.notes)


def _revised(state: _State) -> Revised:
    turn = state.exchange.turn
    return Revised(turn.plan, turn.whole, state.said, tuple(state.notes))


def _longer(state: _State, tail: str | None) -> str | None:
    """Return the whole question with an addition at its end."""
    whole = state.exchange.turn.whole
    if whole is None or tail is None:
        return None
    counted = state.message.counted
    whole = whole.rstrip(" .?!")
    if counted is not None:
        verb = _VERB.match(whole)
        return None if verb is None else f"How many {whole[verb.end() :]} {counted}".strip()
    comma = ", " if tail.startswith(",") else " "
    return f"{whole}{comma}{_VERB.sub('', tail.lstrip(', '), count=1)}"


def _onward(anchor: Anchor, rest: str) -> Texts:
    """Return short questions that continue from all things of a kind."""
    things = plural(anchor.card.entity)
    return {f"Get {things}{tail}": tail for tail in (f", then {rest}", f", {rest}")}


def _shown(value: Json) -> str:
    return str(value) if isinstance(value, str) else json.dumps(value)
