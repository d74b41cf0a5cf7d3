"""A planner for conversations, which asks another planner for whole questions."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from datetime import date
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan import Step
from toolplan.plan_json import dump_value
from toolplan.planners._base import (
    Attempt,
    Clarification,
    Draft,
    OnText,
    Planner,
    Proposal,
    Question,
    Refusal,
    Remembering,
)
from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.dates import Weeks
from toolplan.planners.grounded.dialogue.doubts import forgets, keeps_chosen
from toolplan.planners.grounded.dialogue.exchange import Exchange, Revised, Unsure, plan_of
from toolplan.planners.grounded.dialogue.follow_ups import revise
from toolplan.planners.grounded.dialogue.intent import (
    asks_for_the_past,
    names_a_kind,
    only_points_back,
    read_intent,
    vague_words,
)
from toolplan.planners.grounded.dialogue.origins import (
    NAME,
    is_of_dialogue,
    metadata,
    read_as,
    relabelled,
)
from toolplan.planners.grounded.dialogue.reading import Words
from toolplan.planners.grounded.dialogue.replies import choose, completed
from toolplan.planners.grounded.dialogue.turns import (
    NO,
    YES,
    AskedBack,
    Conversation,
    Pending,
    Turn,
    draft_of,
    read_conversation,
)
from toolplan.planners.grounded.parse.mentions import Code, Imperative, Name, Unknown
from toolplan.planners.grounded.planner import GroundedPlanner
from toolplan.tools import Toolbox

_MODEL: Final = "llm"  # the names of planners with a model begin with it
_MOST_QUESTIONS: Final = 3
_MOST_DRAFTS: Final = 64
_FRAGMENT: Final = 0.6  # the confidence in a follow-up without a word that points back


class _Request(Struct, frozen=True):
    """The arguments of one call of `propose`."""

    question: Question
    tools: Toolbox
    attempts: Sequence[Attempt]
    on_text: OnText | None


class DialoguePlanner:
    """Plans the messages of a conversation.

    A whole question goes to `planner` as it is. A follow-up becomes an edit of the previous plan,
    or a whole question. A follow-up with effects is confirmed first.
    """

    def __init__(
        self, planner: Planner, *, weeks: Weeks = "rolling", small: Planner | None = None
    ) -> None:
        """Wrap a planner.

        Args:
            planner: plans whole questions. It also gets follow-ups that could not be related to the
                previous plan, with the whole context; for these only a draft of a model is used,
                since other planners do not read contexts.
            weeks: what *last week* means; see `toolplan.planners.grounded.dates`.
            small: plans the short questions that follow-ups consist of, several for each message;
                None is the grounded planner.
        """
        self._planner = planner
        self._grounded = GroundedPlanner(weeks=weeks)
        self._small: Planner = self._grounded if small is None else small
        self._weeks: Weeks = weeks
        self._made: OrderedDict[str, tuple[Question, Draft]] = OrderedDict()

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Return a draft for `question`, a clarification, or a refusal.

        The draft of a follow-up has `follow_up_of` in its metadata.
        """
        request = _Request(question, tools, attempts, on_text)
        conversation = read_conversation(question.context)
        proposal = await self._reply(request, conversation)
        tried_texts = {attempt.draft.text for attempt in attempts}
        if isinstance(proposal, Draft) and proposal.text in tried_texts:
            return await self._another(request, proposal)
        return proposal

    def keep(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Pass on that `draft` worked to the planner that made it; edited plans have none."""
        made = self._maker(question, draft)
        if made is not None and isinstance(self._planner, Remembering):
            self._planner.keep(made[0], tools, made[1])

    def drop(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Pass on that the run of `draft` failed to the planner that made it."""
        made = self._maker(question, draft)
        if made is not None and isinstance(self._planner, Remembering):
            self._planner.drop(made[0], tools, made[1])

    async def _reply(self, request: _Request, before: Conversation) -> Proposal:
        """Answer a message, which may be an answer to a clarification."""
        pending = before.pending
        intent = read_intent(
            request.question.text, self._catalogue(request.tools), awaiting=pending is not None
        )
        if intent.kind == "confirmation":
            return await self._confirmed(request, before, agrees=intent.agrees is True)
        if intent.kind == "clarification" and pending is not None and not pending.awaits_approval:
            return await self._answered(request, before, pending)
        return await self._message(request, replace(before, pending=None))

    async def _message(
        self, request: _Request, before: Conversation, *, chosen: bool = False
    ) -> Proposal:
        """Answer a message that is a question or a follow-up, or was `chosen` of the options."""
        intent = read_intent(request.question.text, self._catalogue(request.tools))
        match intent.kind:
            case "followup" if before.last is not None:
                return await self._follow(request, before.last)
            case "followup" if intent.confidence > _FRAGMENT:
                # only its form is that of a follow-up; another planner may understand it
                alone = await self._ask(request)
                if isinstance(alone, Draft):
                    return alone
                return AskedBack(
                    "There is no earlier question that this could continue. What is it about?",
                    about=request.question.text,
                )
            case "unclear" if (vague := self._vague(request, before)) is not None:
                return vague
            case _:
                return await self._asked_anew(request, None if chosen else before.last)

    async def _asked_anew(self, request: _Request, last: Turn | None) -> Proposal:
        """Answer a whole question; confirm first that it is about all things."""
        proposal = await self._ask(request)
        text = request.question.text
        if last is None or not isinstance(proposal, Draft) or request.attempts:
            return proposal
        plan = plan_of(proposal)
        if plan is not None and keeps_chosen(plan, last):
            return proposal
        if not forgets(text, self._words(request).read(text), last):
            return proposal
        before = last.whole or last.query
        question = f'This is about all, and not only about "{before}". Do you want to continue?'
        return _asking_approval(question, proposal)

    def _words(self, request: _Request) -> Words:
        today = date.fromisoformat(request.question.today)
        return Words(self._catalogue(request.tools), today, self._weeks)

    async def _confirmed(
        self, request: _Request, before: Conversation, *, agrees: bool
    ) -> Proposal:
        pending = before.pending
        if pending is None:
            return Clarification(
                "There is no open yes-or-no question. What would you like to know?"
            )
        if not agrees:
            return Clarification("Nothing is run. What would you like to know?")
        if pending.awaits_approval:
            return Draft(json.dumps(pending.plan, ensure_ascii=False, indent=2), planner=NAME)
        if len(pending.options) == 1:
            return await self._answered(request, before, pending, pending.options[0])
        return AskedBack(
            pending.asked,
            pending.options,
            pending.unexplained,
            pending.plan,
            about=pending.question,
        )

    async def _answered(
        self,
        request: _Request,
        before: Conversation,
        pending: Pending,
        chosen: str | None = None,
    ) -> Proposal:
        """Continue the question that the clarification was about."""
        if chosen is None:
            chosen = choose(pending.options, request.question.text)
        before = replace(before, pending=None)
        if chosen is None and only_points_back(
            request.question.text, self._catalogue(request.tools)
        ):  # "how many?" is about what is still open
            return AskedBack(
                pending.asked,
                pending.options,
                pending.unexplained,
                pending.plan,
                about=pending.question,
            )
        if chosen is None and self._goes_on(request.question.text, request.tools, before, pending):
            return await self._message(replace(request, attempts=()), before)
        first: Proposal | None = None
        for text in completed(pending, request.question.text, chosen):
            resumed = replace(request.question, text=text, context=None)
            proposal = await self._message(
                replace(request, question=resumed, attempts=()), before, chosen=chosen is not None
            )
            match proposal:
                case Draft():
                    return self._resumed(proposal, resumed, request.question, pending)
                case Clarification(options=options) if options == (YES, NO):
                    return proposal
                case Clarification() if first is None:
                    first = _about(proposal, text)
                case Refusal() if first is None:
                    first = proposal
                case _:
                    pass
        if first is not None and (chosen is not None or self._hangs_on(request, before, pending)):
            return first
        fresh = await self._message(replace(request, attempts=()), before)
        return fresh if first is None or isinstance(fresh, Draft) else first

    def _hangs_on(self, request: _Request, before: Conversation, pending: Pending) -> bool:
        """Return whether a reply is half a question, and the other half was never planned.

        "And paper?" behind a question that was not understood does not ask for all paper.
        """
        text, catalogue = request.question.text, self._catalogue(request.tools)
        if not self._continues(text, catalogue) or names_a_kind(text, catalogue):
            return False
        return before.last is None or not self._continues(pending.question, catalogue)

    def _goes_on(self, text: str, tools: Toolbox, before: Conversation, pending: Pending) -> bool:
        """Return whether a reply follows up on the last plan, and answers no clarification.

        Behind a whole question that was not understood it would be about that one.
        """
        catalogue = self._catalogue(tools)
        intent = read_intent(text, catalogue)
        points_back = intent.confidence > _FRAGMENT or bool(pending.unexplained)
        goes_on = intent.kind == "followup" and points_back and before.last is not None
        return goes_on and (
            names_a_kind(text, catalogue)
            or read_intent(pending.question, catalogue).kind == "followup"
        )

    def _continues(self, text: str, catalogue: Catalogue) -> bool:
        intent = read_intent(text, catalogue)
        return intent.kind == "followup" and intent.confidence > _FRAGMENT

    def _vague(self, request: _Request, before: Conversation) -> Clarification | None:
        """Ask what a message without any names is about; None where tools list nothing."""
        if before.asked and asks_for_the_past(request.question.text):
            options = before.asked[:_MOST_QUESTIONS]
            return Clarification("Which question do you mean?", options)
        kinds = self._catalogue(request.tools).kinds.values()
        things = tuple(kind.plural for kind in kinds if kind.listing is not None)
        if not things:
            return None
        return Clarification(
            f"What would you like to see? Available: {', '.join(things)}.",
            things,
            vague_words(request.question.text),
            examples=self._grounded.examples(request.tools, request.question.today),
        )

    async def _follow(self, request: _Request, turn: Turn) -> Proposal:
        words = self._words(request)
        revision = await revise(Exchange(request.question, turn, request.tools, words, self._small))
        match revision:
            case Revised():
                return self._proposed(request.question, request.tools, turn, revision)
            case Unsure(plan=plan) if plan is not None:
                draft = draft_of(plan, metadata(request.question, turn, Revised(plan, None)))
                return _asking_approval(revision.question, draft)
            case Unsure():
                return Clarification(revision.question, revision.options, revision.unexplained)
            case None:
                return await self._not_understood(request, turn, words)

    def _proposed(
        self, question: Question, tools: Toolbox, turn: Turn, revised: Revised
    ) -> Proposal:
        draft = draft_of(revised.plan, metadata(question, turn, revised))
        effects = [s for s in revised.plan.steps if s.tool in tools and tools[s.tool].has_effects]
        if not effects:
            return draft
        calls = "; ".join(f"{step.tool}({_spelled(step)})" for step in effects)
        return _asking_approval(f"This would change data: {calls}. Do you want to continue?", draft)

    async def _not_understood(self, request: _Request, turn: Turn, words: Words) -> Proposal:
        """Ask the planner about a message that could not be related to the previous plan."""
        proposal = await self._ask(request)
        unknown = any(
            isinstance(placed.mention.what, Unknown | Name | Code | Imperative)
            for placed in words.read(request.question.text)
        )
        match proposal:
            case Draft(planner=name) if name.partition("/")[0] == _MODEL:
                return self._of_model(request.question, request.tools, turn, proposal)
            case Refusal():
                return proposal
            case Clarification(unexplained=unexplained) if unknown or not unexplained:
                return proposal
            case Draft() | Clarification():
                # that planner does not read what was said before
                return Clarification(
                    f"I did not understand what '{request.question.text}' changes in the plan for"
                    f" '{turn.whole or turn.query}'. Please ask the whole question."
                )

    def _of_model(
        self, question: Question, tools: Toolbox, turn: Turn, proposal: Draft
    ) -> Proposal:
        """Return a model's draft for a follow-up; one with effects is confirmed first."""
        plan = plan_of(proposal)
        if plan is None:
            return proposal
        made = self._proposed(question, tools, turn, Revised(plan, None, source=proposal))
        if isinstance(made, Draft):
            self._note(made, question, proposal)
        return made

    def _resumed(
        self, draft: Draft, resumed: Question, question: Question, pending: Pending
    ) -> Draft:
        """Return the draft for a completed question as the draft for what was said."""
        if draft.dialect != "toolplan":
            return draft
        text = relabelled(draft.text, question.text, pending.question, resumed.text)
        if text is None:
            return draft
        made = Draft(text, planner=draft.planner)
        theirs = self._maker(resumed, draft)
        if theirs is not None:
            self._note(made, *theirs)
        return made

    async def _another(self, request: _Request, draft: Draft) -> Proposal:
        """Ask for another plan than `draft`, which was tried."""
        whole = read_as(draft)
        if whole is not None:
            asked = replace(request.question, text=whole, context=None)
            proposal = await self._ask(replace(request, question=asked))
            if not isinstance(proposal, Draft):
                return proposal
            text = relabelled(proposal.text, request.question.text, request.question.text, whole)
            made = proposal if text is None else Draft(text, planner=proposal.planner)
            if all(attempt.draft.text != made.text for attempt in request.attempts):
                self._note(made, asked, proposal)
                return made
        return Clarification(
            "The only plan for these words was tried already. Please say it in other words."
        )

    async def _ask(self, request: _Request) -> Proposal:
        """Ask the planner for whole questions."""
        return await self._planner.propose(
            request.question,
            request.tools,
            self._theirs(request.attempts),
            on_text=request.on_text,
        )

    def _theirs(self, attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
        """Return the attempts with the drafts as the planner wrote them."""
        return tuple(
            replace(attempt, draft=made[1])
            if (made := self._made.get(attempt.draft.text)) is not None
            else attempt
            for attempt in attempts
        )

    def _note(self, draft: Draft, question: Question, theirs: Draft) -> None:
        self._made[draft.text] = (question, theirs)
        while len(self._made) > _MOST_DRAFTS:
            self._made.popitem(last=False)

    def _maker(self, question: Question, draft: Draft) -> tuple[Question, Draft] | None:
        """Return the question and the draft as the planner knows them, or None."""
        if (made := self._made.get(draft.text)) is not None:
            return made
        return None if is_of_dialogue(draft) else (question, draft)

    def _catalogue(self, tools: Toolbox) -> Catalogue:
        return self._grounded.catalogue(tools)


def _asking_approval(question: str, draft: Draft) -> Clarification:
    return Clarification(question, (YES, NO), partial_plan=json.loads(draft.text))


def _about(proposal: Clarification, text: str) -> Clarification:
    """Return `proposal` as one about `text`, unless it is about another question."""
    if isinstance(proposal, AskedBack) and proposal.about:
        return proposal
    said = proposal
    return AskedBack(
        said.question,
        said.options,
        said.unexplained,
        said.partial_plan,
        said.examples,
        about=text,
    )


def _spelled(step: Step) -> str:
    """Return the arguments of a call for a message."""
    shown = {name: dump_value(value) for name, value in step.args.items()}
    return ", ".join(f"{n}={json.dumps(v, ensure_ascii=False)}" for n, v in shown.items())
