"""A follow-up made into a plan: the plan before it, edited, or grown with a planner's help."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from toolplan.path import Json
from toolplan.plan import Literal, Plan, sinks
from toolplan.planners.grounded.catalogue.kinds import SQL_TOOL
from toolplan.planners.grounded.dialogue.constraints import (
    adds,
    denied,
    is_listed,
    keeps,
    notes_of,
    words_by_step,
)
from toolplan.planners.grounded.dialogue.exchange import Exchange, Revised, Revision, Unsure
from toolplan.planners.grounded.dialogue.insert import (
    Anchor,
    Conflict,
    anchors,
    closure,
    cut_at,
    fits,
    graft,
    inner_anchors,
    is_cut_after,
)
from toolplan.planners.grounded.dialogue.messages import read_message, says
from toolplan.planners.grounded.dialogue.origins import words_of
from toolplan.planners.grounded.dialogue.reading import Placed, without
from toolplan.planners.grounded.dialogue.remove import drop
from toolplan.planners.grounded.dialogue.replace import spots_of, swap
from toolplan.planners.grounded.dialogue.rewordings import (
    about,
    joined,
    regrouped,
    renumbered,
    restated,
    several,
)
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import plural
from toolplan.planners.grounded.parse.mentions import Code, Time

Texts: TypeAlias = Mapping[str, str | None]
"""Short questions, each with what the whole question grows by; None where that is not known."""

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
        """Return the plan that comes of it, or what must be asked.

        None where it is no follow-up of this plan that could be understood.
        """
        message = self._message
        if (dropped := drop(self._exchange, message)) is not None:
            return dropped
        if message.orders:
            return await self._ordered()
        if message.compares:
            return None
        found = anchors(self._exchange.turn.plan, self._exchange.catalogue)
        named = {noun for mention in message.nouns for noun in mention.nouns}
        own = [anchor for anchor in found if anchor.card.entity in named]
        if named and not own and not message.points_back and message.mode == "narrows":
            inner = inner_anchors(self._exchange.turn.plan, self._exchange.catalogue)
            own = [anchor for anchor in inner if anchor.card.entity in named]
        if named and not own and (message.same or not message.restricts):
            return await self._onwards(found)
        return await self._edited(own or list(found))

    # what is put in the place of something

    async def _edited(self, found: list[Anchor]) -> Revision | None:
        message = self._message
        spans: list[tuple[int, int]] = []
        if message.mode != "narrows" and not message.denies:
            for reworded in (regrouped, several, joined, restated):
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
            again = message.same and not message.nouns
            return self._revised() if spans or again else self._listed(found)
        if message.old is not None:
            return Unsure(f"The plan before has no {message.old.mention.text} to be replaced.")
        if spans:  # the plan is not what it was
            found = list(anchors(self._exchange.turn.plan, self._exchange.catalogue))
        lists = [anchor for anchor in found if anchor.identity is None]
        return await self._one_of(lists, rest)

    def _listed(self, found: list[Anchor]) -> Revised | None:
        """Show the things themselves, of which only figures were shown: "list them"."""
        turn = self._exchange.turn
        figures = [anchor for anchor in found if anchor.rows is None]
        if not self._message.asks_for_them or len(found) != 1 or not figures:
            return None
        kept = closure(turn.plan, [figures[0].target.id])
        steps = tuple(step for step in turn.plan.steps if step.id in kept)
        return Revised(replace(turn.plan, steps=steps, output=None), None)

    def _swapped(self, placed: Placed) -> Revision | None:
        mention = placed.mention
        if not (mention.values or isinstance(mention.what, Time | Code)):
            return None
        if self._has_way(placed) and self._message.old is None:
            return self._unsure_of_way(placed)
        return swap(self._exchange, placed, self._message.old)

    def _with_cue(self, placed: Placed) -> tuple[int, int]:
        """Return where a value stands, with the word before it that only says what it is."""
        before = [each for each in self._message.placed if each.end <= placed.start]
        if before and (
            before[-1].mention.does(WordClass.CUE) or before[-1].mention.cue is not None
        ):
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
            if self._exchange.catalogue.attribute(value).is_endpoint
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

        def texts(anchor: Anchor) -> Texts:
            return self._texts(anchor, rest)

        if self._message.groups and any(anchor.rows is None for anchor in found):
            return await self._grouped(found, rest)
        fitting = await self._fitting(found, texts)
        if len(fitting) == 1:
            return fitting[0][1]
        if fitting:
            named = dict.fromkeys(plural(anchor.card.entity) for anchor, _ in fitting)
            if len(named) == 1 and (revised := await self._of_all(fitting, texts)) is not None:
                return revised
            if len(named) == 1:
                things = next(iter(named))
                return Unsure(f"The plan before lists {things} {len(fitting)} times. Which ones?")
            return Unsure("Which of them?", tuple(map(self._message.naming, named)))
        inner = inner_anchors(self._exchange.turn.plan, self._exchange.catalogue)
        for anchor, _ in await self._fitting(inner, texts):
            things = plural(anchor.card.entity)
            return Unsure(f"Are the {things} meant?", (self._message.naming(things),))
        whole = self._exchange.turn.whole
        if whole is None or len(found) != 1:
            return None
        numbered = await renumbered(self._exchange, self._message)
        if numbered is not None:
            return numbered
        planned = await self._exchange.ask_whole(f"{whole.rstrip(' .?!')}, {rest}")
        if planned is None or not all(is_listed(planned.plan, anchor) for anchor in found):
            return None
        made = anchors(planned.plan, self._exchange.catalogue)
        return planned if all(fits(each, each.target, planned.plan) for each in made) else None

    async def _grouped(self, found: list[Anchor], rest: str) -> Revision | None:
        """Ask for the figure that was shown once for each group: "by month"."""
        whole = self._exchange.turn.whole
        planned = (
            None
            if whole is None
            else await self._exchange.ask_whole(f"{whole.rstrip(' .?!')} {rest}")
        )
        if planned is not None and all(is_listed(planned.plan, anchor) for anchor in found):
            return planned
        statements = [str(step.args.get("sql")) for step in self._exchange.turn.plan.steps]
        if len(found) != 1 or not any("SELECT count(*)" in each for each in statements):
            return None  # a graft would count, and no number of things is their weight
        return await self._first(found[0], self._texts(found[0], rest))

    async def _of_all(
        self,
        found: Sequence[tuple[Anchor, Revision]],
        texts: Callable[[Anchor], Texts],
    ) -> Revised | None:
        """Say the same of things that are listed several times, where that changes none of it."""
        plan = self._exchange.turn.plan
        tail: str | None = None
        for anchor, alone in found:
            if not isinstance(alone, Revised) or not keeps(anchor, alone.plan):
                return None
            now = anchors(plan, self._exchange.catalogue)
            here = next((each for each in now if each.sink == anchor.sink), None)
            addition = await self._addition(texts(anchor))
            if here is None or addition is None:
                return None
            limit = here.card.argument("limit")
            if any(limit in step.args for step in addition[0].steps):
                return None  # the first ten of all are not the first ten of each
            if any(step.tool == SQL_TOOL for step in addition[0].steps):
                longer = self._longer(addition[1])  # one order of all, not one of each
                return None if longer is None else await self._exchange.ask_whole(longer)
            beside = [end for end in sinks(plan) if end != here.sink]
            grown = graft(plan, here, addition[0], self._message.mode, beside)
            if not isinstance(grown, Plan):
                return None
            plan, tail = grown, addition[1]
        return Revised(plan, self._longer(tail), self._said, tuple(self._notes))

    async def _fitting(
        self, found: Iterable[Anchor], texts: Callable[[Anchor], Texts]
    ) -> list[tuple[Anchor, Revision]]:
        results = [(anchor, await self._first(anchor, texts(anchor))) for anchor in found]
        return [(anchor, each) for anchor, each in results if each is not None]

    def _texts(self, anchor: Anchor, rest: str) -> Texts:
        """Return ways to say `rest` of all things of a kind.

        Each with what the question grows by.
        """
        things = plural(anchor.card.entity)
        counted = self._message.counted
        if counted is not None:
            return {f"How many {things} {counted}".strip(): ""}
        if self._message.nouns:
            # said of the same things again, the noun would make them others
            tail = f", {rest.replace(self._message.nouns[0].text, 'ones', 1)}"
            return {f"Get {things}, {rest}": tail, f"Get {rest}": tail}
        if self._message.leaves_open:
            named = self._message.naming(things, anchor.card.entity)
            return {f"Get {things}, {rest}": f", {rest}", f"Get {named}": None}
        if self._message.points_back:
            return {f"Get {things}, {rest}": f", {rest}"}
        return {
            f"Get {things} {rest}": f" {rest}",
            f"Get {things}, {rest}": f", {rest}",
            f"Get {rest} {things}": f", {rest}",
        }

    async def _addition(self, texts: Texts) -> tuple[Plan, str | None] | None:
        for text, tail in texts.items():
            if (addition := await self._exchange.ask(text)) is not None:
                return addition, tail
        return None

    async def _first(self, anchor: Anchor, texts: Texts) -> Revision | None:
        """Graft the first of `texts` that the planner can plan and that fits.

        Each has behind it what it adds to the whole question.
        """
        for text, tail in texts.items():
            addition = await self._exchange.ask(text)
            if addition is not None:
                revision = self._grafted(anchor, addition, tail)
                if revision is not None:
                    return revision
        return None

    def _grafted(self, anchor: Anchor, addition: Plan, tail: str | None) -> Revision | None:
        turn, mode = self._exchange.turn, self._message.mode
        if self._is_of_others(anchor, addition) or not any(step.args for step in addition.steps):
            return None  # nothing was understood of it
        if (excluded := denied(anchor, addition)) is not None:
            return Unsure(f"The plan before is of those with {excluded} only. What shall change?")
        match graft(turn.plan, anchor, addition, mode):
            case None:
                return None
            case Conflict() as conflict:
                return self._unsure_of(conflict)
            case plan:
                if mode == "narrows" and self._is_cut(anchor) and adds(anchor, plan):
                    things = plural(anchor.card.entity)
                    question = (
                        f"The plan before gives only the first {things}. Asked anew,"
                        f" {self._message.rest!r}, the first ones may be others. Shall it be?"
                    )
                    return Unsure(question, plan=plan)
                said = {**self._said, **words_by_step(addition, anchor)}
                notes = (*self._notes, *notes_of(addition))
                return Revised(plan, self._whole(anchor, plan, tail), said, notes)

    def _is_of_others(self, anchor: Anchor, addition: Plan) -> bool:
        """Whether figures may be meant of all things, where only the first of them are there.

        After "the newest five", "the oldest" is none of the five; but "sort them" is about them.
        """
        computes = any(step.tool == SQL_TOOL for step in addition.steps)
        return computes and self._is_cut(anchor) and not self._message.points_back

    def _is_cut(self, anchor: Anchor) -> bool:
        """Whether only the first so many were wanted, so that choosing among them differs.

        "The ten longest, only the red ones" may be the red ones of ten, or ten red ones. A bound
        that nobody asked for (planners that are models like to set one) is none of that.
        """
        turn = self._exchange.turn
        if is_cut_after(anchor, turn.plan):
            return True
        match cut_at(anchor):
            case None:
                return False
            case Literal(value=number):
                limit = anchor.card.argument("limit") or ""
                said = words_of(turn.plan, anchor.target.id, limit) is not None
                return said or str(number) in re.findall(r"\d+", turn.whole or turn.query)
            case _:
                return True

    def _whole(self, anchor: Anchor, plan: Plan, tail: str | None) -> str | None:
        """Return the whole question that `plan` answers, where it is the old one and more."""
        turn = self._exchange.turn
        if plan.steps == turn.plan.steps:
            return turn.whole
        others = [step for step in turn.plan.steps if step.id != anchor.target.id]
        grown = all(step in plan.steps for step in others) and keeps(anchor, plan)
        return self._longer(tail) if grown and not self._is_cut(anchor) else None

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
        if not (message.points_back or message.denies or message.chooses) and (
            message.mode != "narrows"
        ):
            revision = await about(self._exchange, message, found)
            if revision is not None:
                return revision
        single = [anchor for anchor in found if anchor.identity is not None]
        several = [anchor for anchor in found if anchor.identity is None]
        preferred = (single or several) if message.is_singular else (several or single)
        rest = message.rest if message.points_back else f"their {self._named()}"
        fitting: list[tuple[Anchor, Revision]] = []
        for said in filter(None, (rest, self._belonging())):
            if fitting:
                break
            single_of = [(anchor, await self._of_one(anchor, said)) for anchor in preferred]
            fitting = [(a, each) for a, each in single_of if each is not None and self._gives(each)]
            named = dict.fromkeys(anchor.card.entity for anchor, _ in fitting)
            if len(fitting) > 1 and len(named) == 1:
                return await self._of_all(fitting, lambda anchor, said=said: _onward(anchor, said))
        if len(fitting) > 1:
            options = tuple(f"{plural(anchor.card.entity)}, then {rest}" for anchor, _ in fitting)
            return Unsure("Of which of them?", options)
        return fitting[0][1] if fitting else None

    def _gives(self, revision: Revision) -> bool:
        """Whether the things that were asked for are what is shown."""
        if isinstance(revision, Unsure):
            return True
        named = {noun for mention in self._message.nouns for noun in mention.nouns}
        ends = anchors(revision.plan, self._exchange.catalogue)
        return not ends or any(anchor.card.entity in named for anchor in ends)

    def _named(self) -> str:
        """Return the message from the first word on that says something: "b" of "at which b"."""
        message = self._message
        said = (p.start for p in message.placed if p.mention.nouns or says(p.mention))
        return message.rest[next(said, 0) :]

    def _belonging(self) -> str | None:
        """Say plainly what "which a were they at?" asks for, where it says nothing else."""
        nouns = self._message.nouns
        others = [p for p in self._message.placed if says(p.mention) and not p.mention.nouns]
        timed = all(isinstance(placed.mention.what, Time) for placed in others)
        if len(nouns) != 1 or not timed or not self._message.points_back:
            return None
        return " ".join(["their", nouns[0].text, *(placed.mention.text for placed in others)])

    async def _of_one(self, anchor: Anchor, rest: str) -> Revision | None:
        """Return the plan of things that belong to those of `anchor`."""
        if anchor.identity is None:
            return await self._first(anchor, _onward(anchor, rest))
        named = f"{anchor.card.entity} {anchor.identity}"
        return await self._exchange.ask_whole(f"Get {named}, then {rest}")

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

    def _longer(self, tail: str | None) -> str | None:
        """Return the whole question with more said at its end."""
        whole = self._exchange.turn.whole
        if whole is None or tail is None:
            return None
        counted = self._message.counted
        whole = whole.rstrip(" .?!")
        if counted is not None:
            verb = _VERB.match(whole)
            return None if verb is None else f"How many {whole[verb.end() :]} {counted}".strip()
        comma = ", " if tail.startswith(",") else " "
        return f"{whole}{comma}{_VERB.sub('', tail.lstrip(', '), count=1)}"


def _onward(anchor: Anchor, rest: str) -> Texts:
    """Return ways to go on from all things of a kind, each with what the question grows by."""
    things = plural(anchor.card.entity)
    return {f"Get {things}{tail}": tail for tail in (f", then {rest}", f", {rest}")}


def _shown(value: Json) -> str:
    return str(value) if isinstance(value, str) else json.dumps(value)
