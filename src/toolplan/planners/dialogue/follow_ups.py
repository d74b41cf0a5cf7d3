"""A follow-up made into a plan: the plan before it, edited, or grown with a planner's help."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from toolplan.path import Json
from toolplan.plan import Plan, sinks
from toolplan.planners.dialogue.drops import drop
from toolplan.planners.dialogue.exchange import Exchange, Revised, Revision, Unsure
from toolplan.planners.dialogue.grafts import (
    Anchor,
    Conflict,
    anchors,
    fits,
    graft,
    inner_anchors,
    is_cut,
)
from toolplan.planners.dialogue.messages import read_message, says
from toolplan.planners.dialogue.origins import words_of
from toolplan.planners.dialogue.reading import Placed, without
from toolplan.planners.dialogue.rewordings import about, regrouped, renumbered, several
from toolplan.planners.dialogue.swaps import spots_of, swap
from toolplan.planners.mentions import Code, Time
from toolplan.planners.phrases import Sort
from toolplan.planners.words import plural

_VERB: Final = re.compile(
    r"^\s*(?:get|show|list|give|find|fetch|display)(?:\s+(?:me|us))?\s+", re.I
)


class FollowUp:
    """One follow-up, on its way to a plan."""

    def __init__(self, exchange: Exchange) -> None:
        """Hold what was said."""
        self._exchange = exchange
        self._message = read_message(exchange.message, exchange.words)
        self._said: dict[tuple[str, str], str] = {}
        self._notes: list[str] = []

    async def revise(self) -> Revision | None:
        """Give the plan that comes of it, or what must be asked.

        None where it is no follow-up of this plan that could be understood.
        """
        message = self._message
        if (dropped := drop(self._exchange, message)) is not None:
            return dropped
        if message.orders:
            return await self._ordered()
        found = anchors(self._exchange.turn.plan, self._exchange.catalogue)
        named = {noun for mention in message.nouns for noun in mention.nouns}
        own = [anchor for anchor in found if anchor.card.entity in named]
        if named and not own and not message.points_back and message.mode == "narrows":
            inner = inner_anchors(self._exchange.turn.plan, self._exchange.catalogue)
            own = [anchor for anchor in inner if anchor.card.entity in named]
        if named and not own:
            return await self._onwards(found)
        return await self._edited(own or list(found))

    # what is put in the place of something

    async def _edited(self, found: list[Anchor]) -> Revision | None:
        message = self._message
        spans: list[tuple[int, int]] = []
        if message.mode != "narrows" and not message.denies:
            for reworded in (regrouped, several):
                if (revised := await reworded(self._exchange, message)) is not None:
                    return revised
            for placed in message.placed:
                swapped = self._swapped(placed)
                if isinstance(swapped, Unsure):
                    return swapped
                if swapped is not None:
                    spans.append(self._with_cue(placed))
                    self._take(swapped)
        rest = without(message.rest, spans)
        ends = {end for _, end in spans}
        left = [p for p in message.placed if p.end not in ends and says(p.mention)]
        if not left:
            return self._revised() if spans or message.same else None
        if message.old is not None:
            return Unsure(f"The plan before has no {message.old.mention.text} to be replaced.")
        if spans:  # the plan is not what it was
            found = list(anchors(self._exchange.turn.plan, self._exchange.catalogue))
        lists = [anchor for anchor in found if anchor.identity is None]
        return await self._one_of(lists, rest)

    def _swapped(self, placed: Placed) -> Revision | None:
        mention = placed.mention
        if not (mention.values or isinstance(mention.what, Time | Code)):
            return None
        if self._has_way(placed) and self._message.old is None:
            return self._unsure_of_way(placed)
        return swap(self._exchange, placed, self._message.old)

    def _with_cue(self, placed: Placed) -> tuple[int, int]:
        """Give where a value stands, with the word before it that only says what it is."""
        before = [each for each in self._message.placed if each.end <= placed.start]
        if before and (before[-1].mention.does(Sort.CUE) or before[-1].mention.cue is not None):
            return before[-1].start, placed.end
        return placed.start, placed.end

    def _cue(self, placed: Placed) -> str:
        before = re.findall(r"\w+", self._message.rest[: placed.start])
        return before[-1].lower() if before else ""

    def _has_way(self, placed: Placed) -> bool:
        """Whether the word before a place says that it is where something comes from or goes to."""
        ends = [
            value
            for value in placed.mention.values
            if self._exchange.catalogue.attribute(value).is_end_of_way
        ]
        return bool(ends) and self._cue(placed) in ("from", "to")

    def _unsure_of_way(self, placed: Placed) -> Unsure | None:
        """Ask, where the plan has a place that is no such end of a way."""
        cue, new = self._cue(placed), placed.mention.text
        olds: dict[str, None] = {}
        for spot in spots_of(self._exchange, placed):
            step = next(s for s in self._exchange.turn.plan.steps if s.id == spot.step)
            shape = self._exchange.catalogue.cards[step.tool].arguments[spot.argument]
            if shape.role == cue:
                return None  # it takes the place of that end
            olds[spot.old] = None
        if not olds:
            return None
        options = (*(f"{new} instead of {old}" for old in olds), f"only those {cue} {new}")
        return Unsure(f"Shall {new} stand for {' or '.join(olds)}, or be said besides?", options)

    # what is said of the same things, and what is done with them

    async def _one_of(self, found: list[Anchor], rest: str) -> Revision | None:
        """Say `rest` of the things of the one anchor that it can be said of."""
        fitting = await self._fitting(found, rest)
        if len(fitting) == 1:
            return fitting[0][1]
        if fitting:
            named = dict.fromkeys(plural(anchor.card.entity) for anchor, _ in fitting)
            if len(named) == 1 and (revised := await self._of_all(fitting, rest)) is not None:
                return revised
            if len(named) == 1:
                things = next(iter(named))
                return Unsure(f"The plan before lists {things} {len(fitting)} times. Which ones?")
            return Unsure("Which of them?", tuple(map(self._message.naming, named)))
        inner = inner_anchors(self._exchange.turn.plan, self._exchange.catalogue)
        for anchor, _ in await self._fitting(inner, rest):
            things = plural(anchor.card.entity)
            return Unsure(f"Are the {things} meant?", (self._message.naming(things),))
        whole = self._exchange.turn.whole
        if whole is None or len(found) > 1:
            return None
        numbered = await renumbered(self._exchange, self._message)
        if numbered is not None:
            return numbered
        planned = await self._exchange.ask_whole(f"{whole.rstrip(' .?!')}, {rest}")
        if planned is None or not all(_is_in(planned.plan, anchor) for anchor in found):
            return None
        made = anchors(planned.plan, self._exchange.catalogue)
        return planned if all(fits(each, each.target, planned.plan) for each in made) else None

    async def _of_all(self, found: list[tuple[Anchor, Revision]], rest: str) -> Revised | None:
        """Say `rest` of things that are listed several times, where that changes none of it."""
        turn = self._exchange.turn
        ends = sinks(turn.plan)
        plan = turn.plan
        for anchor, alone in found:
            if not isinstance(alone, Revised) or not _keeps(anchor, alone.plan):
                return None
            now = anchors(plan, self._exchange.catalogue)
            here = next((each for each in now if each.sink == anchor.sink), None)
            addition = await self._addition(anchor, rest)
            if here is None or addition is None:
                return None
            grown = graft(plan, here, addition, self._message.mode, ends)
            if not isinstance(grown, Plan):
                return None
            plan = grown
        return Revised(plan, self._longer(f" {rest}"), self._said, tuple(self._notes))

    async def _fitting(self, found: Iterable[Anchor], rest: str) -> list[tuple[Anchor, Revision]]:
        results = [(anchor, await self._of(anchor, rest)) for anchor in found]
        return [(anchor, each) for anchor, each in results if each is not None]

    async def _of(self, anchor: Anchor, rest: str) -> Revision | None:
        return await self._first(anchor, self._texts(anchor, rest))

    def _texts(self, anchor: Anchor, rest: str) -> dict[str, str]:
        """Give ways to say `rest` of all things of a kind, each with what the question grows by."""
        things = plural(anchor.card.entity)
        counted = self._message.counted
        if counted is not None:
            return {f"How many {things} {counted}".strip(): ""}
        if self._message.nouns:
            return {f"Get {things}, {rest}": f", {rest}", f"Get {rest}": f", {rest}"}
        if self._message.leaves_open or self._message.points_back:
            return {f"Get {things}, {rest}": f", {rest}"}
        return {
            f"Get {things} {rest}": f" {rest}",
            f"Get {things}, {rest}": f", {rest}",
            f"Get {rest} {things}": f", {rest}",
        }

    async def _addition(self, anchor: Anchor, rest: str) -> Plan | None:
        for text in self._texts(anchor, rest):
            if (addition := await self._exchange.ask(text)) is not None:
                return addition[1]
        return None

    async def _first(self, anchor: Anchor, texts: Mapping[str, str]) -> Revision | None:
        """Graft the first of `texts` that the planner can plan and that fits.

        Each has behind it what it adds to the whole question.
        """
        for text, tail in texts.items():
            addition = await self._exchange.ask(text)
            if addition is not None:
                revision = self._grafted(anchor, addition[1], tail)
                if revision is not None:
                    return revision
        return None

    def _grafted(self, anchor: Anchor, addition: Plan, tail: str) -> Revision | None:
        turn, mode = self._exchange.turn, self._message.mode
        match graft(turn.plan, anchor, addition, mode):
            case None:
                return None
            case Conflict() as conflict:
                return self._unsure_of(conflict)
            case plan:
                if mode == "narrows" and is_cut(anchor, turn.plan) and _adds(anchor, plan):
                    things = plural(anchor.card.entity)
                    question = (
                        f"The plan before gives only the first {things}. Asked anew,"
                        f" {self._message.rest!r}, the first ones may be others. Shall it be?"
                    )
                    return Unsure(question, plan=plan)
                said = {**self._said, **_words(addition, anchor)}
                notes = (*self._notes, *_notes(addition))
                return Revised(plan, self._whole(anchor, plan, tail), said, notes)

    def _whole(self, anchor: Anchor, plan: Plan, tail: str) -> str | None:
        """Give the whole question that `plan` answers, where it is the old one and more."""
        turn = self._exchange.turn
        if plan.steps == turn.plan.steps:
            return turn.whole
        there = {step.id for step in plan.steps}
        grown = all(step.id in there for step in turn.plan.steps) and _keeps(anchor, plan)
        return self._longer(tail) if grown and not is_cut(anchor, turn.plan) else None

    def _unsure_of(self, conflict: Conflict) -> Unsure:
        said = [p.mention for p in self._message.placed if says(p.mention)]
        option = f"{self._message.bare} instead"
        if isinstance(conflict.old, str) and len(said) == 1 and said[0].values:
            option = f"{said[0].text} instead of {conflict.old}"
        return Unsure(
            f"The plan before says {conflict.argument} = {_shown(conflict.old)}, which does not go"
            f" with {_shown(conflict.new)}.",
            (option,),
        )

    async def _onwards(self, found: tuple[Anchor, ...]) -> Revision | None:
        """Go on to things of another kind."""
        message = self._message
        if not (message.points_back or message.denies or message.mode == "narrows"):
            revision = await about(self._exchange, message, found)
            if revision is not None:
                return revision
        single = [anchor for anchor in found if anchor.identity is not None]
        several = [anchor for anchor in found if anchor.identity is None]
        preferred = (single or several) if message.is_singular else (several or single)
        rest = message.rest if message.points_back else f"their {message.rest}"
        fitting: list[tuple[Anchor, Revision]] = []
        for said in filter(None, (rest, self._belonging())):
            if not fitting:
                results = [(anchor, await self._from(anchor, said)) for anchor in preferred]
                fitting = [(anchor, each) for anchor, each in results if each is not None]
        if len(fitting) > 1:
            options = tuple(f"{plural(anchor.card.entity)}, then {rest}" for anchor, _ in fitting)
            return Unsure("Of which of them?", options)
        return fitting[0][1] if fitting else None

    def _belonging(self) -> str | None:
        """Say plainly what "which a were they at?" asks for, where it says nothing else."""
        said = [placed for placed in self._message.placed if says(placed.mention)]
        nouns = self._message.nouns
        others = [placed for placed in said if not placed.mention.nouns]
        if others or len(nouns) != 1 or not self._message.points_back:
            return None
        return f"their {nouns[0].text}"

    async def _from(self, anchor: Anchor, rest: str) -> Revision | None:
        """Give the plan of things that belong to those of `anchor`."""
        if anchor.identity is not None:
            named = f"{anchor.card.entity} {anchor.identity}"
            return await self._exchange.ask_whole(f"Get {named}, then {rest}")
        things = plural(anchor.card.entity)
        tails = (f", then {rest}", f", {rest}")
        return await self._first(anchor, {f"Get {things}{tail}": tail for tail in tails})

    async def _ordered(self) -> Revision | None:
        """Order something for the one thing that was spoken of: "mark it as …"."""
        found = anchors(self._exchange.turn.plan, self._exchange.catalogue)
        single = [anchor for anchor in found if anchor.identity is not None]
        if len(single) != 1:
            return None
        named = f"{single[0].card.entity} {single[0].identity}"
        text, count = re.subn(r"\b(?:it|this|that(?: one)?)\b", named, self._message.rest, count=1)
        return await self._exchange.ask_whole(text) if count else None

    # what was found so far

    def _take(self, revised: Revised) -> None:
        turn = replace(self._exchange.turn, plan=revised.plan, whole=revised.whole)
        self._exchange = replace(self._exchange, turn=turn)
        self._said.update(revised.said)
        self._notes.extend(revised.notes)

    def _revised(self) -> Revised:
        turn = self._exchange.turn
        return Revised(turn.plan, turn.whole, self._said, tuple(self._notes))

    def _longer(self, tail: str) -> str | None:
        """Give the whole question with more said at its end."""
        whole = self._exchange.turn.whole
        if whole is None:
            return None
        counted = self._message.counted
        whole = whole.rstrip(" .?!")
        if counted is not None:
            verb = _VERB.match(whole)
            return None if verb is None else f"How many {whole[verb.end() :]} {counted}".strip()
        comma = ", " if tail.startswith(",") else " "
        return f"{whole}{comma}{_VERB.sub('', tail.lstrip(', '), count=1)}"


def _words(addition: Plan, anchor: Anchor) -> dict[tuple[str, str], str]:
    """Give the words that the arguments of `addition` came from, by the steps that they go to."""
    return {
        (anchor.target.id if step.tool == anchor.target.tool else step.id, name): text
        for step in addition.steps
        for name in step.args
        if (text := words_of(addition, step.id, name)) is not None
    }


def _notes(addition: Plan) -> tuple[str, ...]:
    notes = addition.metadata.get("notes")
    return tuple(map(str, notes)) if isinstance(notes, list) else ()


def _is_in(plan: Plan, anchor: Anchor) -> bool:
    """Whether `plan` lists the things that `anchor` does."""
    return any(step.tool == anchor.target.tool for step in plan.steps)


def _adds(anchor: Anchor, plan: Plan) -> bool:
    """Whether more is said of the things in `plan` than before, besides how many are wanted."""
    limit = anchor.card.argument("limit")
    new = next((step for step in plan.steps if step.id == anchor.target.id), anchor.target)
    return any(name != limit and name not in anchor.target.args for name in new.args)


def _keeps(anchor: Anchor, plan: Plan) -> bool:
    """Whether all that was said of the things before still holds of them in `plan`."""
    new = next((step for step in plan.steps if step.id == anchor.target.id), anchor.target)
    return all(new.args.get(name) == value for name, value in anchor.target.args.items())


def _shown(value: Json) -> str:
    return str(value) if isinstance(value, str) else json.dumps(value)
