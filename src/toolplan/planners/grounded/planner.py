"""The grounded planner: offline, deterministic, from the tools' schemas and hints alone.

It plans only where it understands every word of the question, and asks otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date

from msgspec.structs import replace

from toolplan.path import Json
from toolplan.plan_json import dump
from toolplan.planners._base import (
    Attempt,
    Clarification,
    Draft,
    OnText,
    Proposal,
    Question,
    Refusal,
)
from toolplan.planners.context import PlannerContext
from toolplan.planners.grounded import examples as questions
from toolplan.planners.grounded import unhinted
from toolplan.planners.grounded.build import typos
from toolplan.planners.grounded.build.coverage import clarification, refused_deletion
from toolplan.planners.grounded.build.drafts import DraftPlan, Outcome
from toolplan.planners.grounded.build.outcome import outcome
from toolplan.planners.grounded.catalogue.kinds import SQL_TOOL, Catalogue
from toolplan.planners.grounded.catalogue.lexicon import compile_catalogue
from toolplan.planners.grounded.dates import Weeks, find_bad_dates
from toolplan.planners.grounded.language.words import key
from toolplan.planners.grounded.parse.mentions import Imperative, Name, Unknown
from toolplan.planners.grounded.parse.reader import Reader
from toolplan.tools import Toolbox

NAME = "grounded"
MAX_CHARACTERS = 2_000
"""The longest question that is read."""


class GroundedPlanner:
    """Plan without a model; `weeks` says what *last week* means.

    See `toolplan.planners.grounded.dates`.
    """

    def __init__(self, *, weeks: Weeks = "rolling") -> None:
        """Create a planner; it remembers only the catalogue of the last toolbox."""
        self._weeks: Weeks = weeks
        self._compiled: tuple[Toolbox, Catalogue] | None = None
        self._plain: tuple[Toolbox, tuple[unhinted.PlainCard, ...]] | None = None
        self._examples: tuple[Toolbox, tuple[str, ...]] | None = None

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Return a draft, a question back, or a refusal; a draft in `attempts` is not repeated."""
        proposal = self.plan(question, tools)
        if not isinstance(proposal, Draft):
            return proposal
        tried = next((each for each in attempts if each.draft.text == proposal.text), None)
        return proposal if tried is None else _tried(tried)

    def plan(self, question: Question, tools: Toolbox) -> Proposal:
        """Return what `propose` returns where nothing was tried, without awaiting."""
        proposal = self._read(question, tools)
        if isinstance(proposal, Clarification) and proposal.partial_plan is None:
            return replace(proposal, examples=self.examples(tools, question.today))
        return proposal

    def examples(self, tools: Toolbox, today: str) -> tuple[str, ...]:
        """Return up to three questions that there are plans for."""
        if self._examples is None or self._examples[0] is not tools:
            found = questions.example_questions(
                self.catalogue(tools),
                self._cards(tools),
                lambda text: isinstance(self._read(Question(text, today), tools), Draft),
            )
            self._examples = (tools, found)
        return self._examples[1]

    def _read(self, question: Question, tools: Toolbox) -> Proposal:
        """Return what comes of `question` by hints, or by the names of tools without them."""
        proposal = self._planned(question, self.catalogue(tools))
        if isinstance(proposal, Draft) or not self._readable(question.text):
            return proposal
        cards = self._cards(tools)
        if not cards:
            return proposal
        today = date.fromisoformat(question.today)
        match unhinted.propose_call(question.text, cards, today, self._weeks):
            case DraftPlan() as draft:
                return Draft(self._text(question, draft))
            case Clarification() as asked:
                if isinstance(proposal, Clarification) and _are_verbs_of(
                    proposal.unexplained, cards
                ):
                    return asked
                hinted = len(cards) < len(tools) - (SQL_TOOL in tools)
                return proposal if hinted or isinstance(proposal, Refusal) else asked

    def _planned(self, question: Question, catalogue: Catalogue, offered: bool = False) -> Proposal:
        """Return what the hints of the tools make of `question`.

        `offered`: it was made of another question, which had unknown words.
        """
        text = question.text
        if not text.strip():
            return Clarification("What would you like to know?")
        if len(text) > MAX_CHARACTERS:
            return Clarification(f"Please ask in at most {MAX_CHARACTERS:,} characters.")
        today = date.fromisoformat(question.today)
        if bad := find_bad_dates(text):
            named = tuple(dict.fromkeys(text[start:end] for start, end, _ in bad))
            return Clarification(" ".join(dict.fromkeys(why for _, _, why in bad)), (), named)
        reader = Reader(text, catalogue, today, self._weeks)
        best: Outcome | None = None
        for mentions in reader.readings():
            if refusal := refused_deletion(mentions, catalogue):
                return refusal
            found = outcome(text, mentions, catalogue, today)
            if found.refusal is not None:
                return Refusal(found.refusal)
            if found.complete:
                return Draft(self._text(question, found.draft))
            if best is None or found.cost < best.cost:
                best = found
            if any(isinstance(mention.what, Unknown | Imperative) for mention in found.unexplained):
                break  # no other reading would know that word
        if best is None:
            return Clarification("What would you like to know?")
        if not offered:
            self._offer(question, best, catalogue)
        partial: Json = json.loads(self._text(question, best.draft)) if best.draft.steps else None
        return clarification(best, catalogue, partial)

    def _offer(self, question: Question, found: Outcome, catalogue: Catalogue) -> None:
        """Offer the question without its typing errors, if that can be planned."""
        better = typos.corrected(found, catalogue)
        if better is None:
            return
        if isinstance(
            self._planned(replace(question, text=better), catalogue, offered=True), Draft
        ):
            found.reasons = [f'did you mean "{better}"?']
            one = len({m for m in found.unexplained if isinstance(m.what, Unknown | Name)}) == 1
            found.options = [] if one else [better]  # of one word, the word is offered

    def catalogue(self, tools: Toolbox) -> Catalogue:
        """Return the catalogue of `tools`, compiled once for each toolbox object."""
        if self._compiled is None or self._compiled[0] is not tools:
            self._compiled = (tools, compile_catalogue(tools))
        return self._compiled[1]

    def _cards(self, tools: Toolbox) -> tuple[unhinted.PlainCard, ...]:
        """Return the cards of the tools without hints, made once for each toolbox object."""
        if self._plain is None or self._plain[0] is not tools:
            self._plain = (tools, unhinted.plain_cards(tools.values()))
        return self._plain[1]

    def _readable(self, text: str) -> bool:
        return len(text.strip()) > 0 and len(text) <= MAX_CHARACTERS and not find_bad_dates(text)

    def _text(self, question: Question, draft: DraftPlan) -> str:
        metadata: dict[str, Json] = {
            "query": question.text,
            "reference_date": question.today,
            "planner": NAME,
        }
        return json.dumps(dump(draft.plan(metadata)), ensure_ascii=False, indent=2)


def _are_verbs_of(unexplained: Sequence[str], cards: Sequence[unhinted.PlainCard]) -> bool:
    """Return whether words that were not understood are the verb of a tool without hints."""
    return not {key(word) for word in unexplained}.isdisjoint(card.verb for card in cards)


def _tried(attempt: Attempt) -> Clarification:
    """Return why the only plan for a question is not proposed again."""
    refused = next((each.message for each in attempt.diagnostics if each.blocks), None)
    said = "The only plan for these words has been tried. Please ask in other words."
    if refused is not None:
        said = f"The only plan for these words does not pass the check: {refused}"
    return Clarification(question=said, partial_plan=json.loads(attempt.draft.text))


def grounded(context: PlannerContext) -> GroundedPlanner:
    """Return the planner for the entry point `grounded` of the group `toolplan.planners`."""
    return GroundedPlanner(weeks=context.weeks)
