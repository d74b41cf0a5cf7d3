"""The planner that remembers: what worked is proposed again, and only else is anyone asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolplan.approval import Policy
from toolplan.path import Json
from toolplan.planners._base import Attempt, Draft, OnText, Planner, Proposal, Question
from toolplan.planners.cache._flights import Flights
from toolplan.planners.cache._form import Forms
from toolplan.planners.cache._keys import context_digest, key, scope, shape, tools_digest
from toolplan.planners.cache._recall import recalled, same_again, template_source
from toolplan.planners.grounded.dates import Weeks
from toolplan.storage.plan_cache import Entry, PlanCache
from toolplan.tools import Toolbox

_MOST_PROPOSED: Final = 256


@dataclass(frozen=True, slots=True)
class _Proposed:
    """Which entries a draft of ours came from: its own question's, or another's by a template."""

    entry: Entry
    by_template: bool


@dataclass(frozen=True, slots=True)
class _Known:
    """What is worked out once for each toolbox object."""

    tools: Toolbox
    digest: str
    forms: Forms


class CachedPlanner:
    """Proposes plans that worked before, and asks `inner` where there is none.

    A draft is kept when `keep` says that it worked, so never a failed one, and never a
    clarification or refusal. It is proposed again for the same question, and, fitted, for a
    question that differs only in harmless wording, or in times, values, identities and amounts
    whose place in the plan is sure. It is text like any other planner's: whoever asked checks it in
    full. One that fails comes back in `attempts`; then it is forgotten and `inner` is asked.

    The same question asked several times at once is one call of `inner`. That holds within one
    event loop; the cache itself may be shared by threads and processes.
    """

    def __init__(
        self,
        inner: Planner,
        cache: PlanCache,
        *,
        name: str,
        version: str,
        weeks: Weeks = "rolling",
        policy: Policy = Policy(),
        templates: bool = True,
    ) -> None:
        """Hold what plans, and what remembers.

        Args:
            inner: asked where nothing is remembered.
            cache: where drafts are kept.
            name: which planner or model `inner` is; drafts of another one are not found.
            version: of its prompt, or whatever else its plans depend on.
            weeks: what *last week* is, for `inner` as for templates.
            policy: what plans may use.
            templates: whether plans made for other words may be fitted.
        """
        self.cache = cache
        self._inner = inner
        self._made_by: tuple[Json, ...] = (name, version, weeks, policy.to_json())
        self._weeks: Weeks = weeks
        self._templates = templates
        self._flights: Flights = Flights()
        self._proposed: OrderedDict[str, _Proposed] = OrderedDict()
        self._known: _Known | None = None

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Return the draft that worked for `question`, or what `inner` proposes.

        Where there were attempts already, `inner` is asked, with all of them.
        """
        if attempts:
            for attempt in attempts:
                self._forget(attempt.draft)
            return await self._inner.propose(question, tools, attempts, on_text=on_text)
        if (draft := self.recall(question, tools)) is not None:
            return draft
        own = key(self._scope(question, tools), question.today, question.text)
        return await self._flights.join(
            own, lambda each: self._inner.propose(question, tools, (), on_text=each), on_text
        )

    def recall(self, question: Question, tools: Toolbox) -> Draft | None:
        """Return the draft that the cache has for `question`, or None; counted as hit or miss."""
        within = self._scope(question, tools)
        entry = self.cache.get(key(within, question.today, question.text))
        if entry is not None:
            draft = same_again(entry)
            self._note(draft, _Proposed(entry, by_template=False))
            return draft
        for entry in self.cache.alike(within, self._shape(question, tools)):
            draft = recalled(entry, question, tools, self._of(tools).forms)
            if draft is not None:
                self.cache.count_template(entry)
                self._note(draft, _Proposed(entry, by_template=True))
                return draft
        return None

    def keep(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Keep `draft`, which worked for `question`.

        One that came from the cache for this very question is there already. One that was fitted
        is kept for its own question, but is no template for others: the first one is.
        """
        within = self._scope(question, tools)
        own = key(within, question.today, question.text)
        proposed = self._proposed.get(draft.text)
        fitted = proposed is not None and proposed.by_template
        if proposed is not None and not fitted and proposed.entry.key == own:
            return
        usable = not fitted and template_source(draft, tools) is not None
        self.cache.put(
            Entry(
                key=own,
                scope=within,
                shape=self._shape(question, tools) if usable else "",
                question=question.text,
                today=question.today,
                text=draft.text,
                dialect=draft.dialect,
                planner=draft.planner,
            )
        )

    def drop(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Forget what is kept for `question`, and what `draft` was fitted from."""
        self.cache.delete(key(self._scope(question, tools), question.today, question.text))
        self._forget(draft)

    def _forget(self, draft: Draft) -> None:
        proposed = self._proposed.pop(draft.text, None)
        if proposed is not None:
            self.cache.delete(proposed.entry.key)

    def _note(self, draft: Draft, proposed: _Proposed) -> None:
        self._proposed[draft.text] = proposed
        self._proposed.move_to_end(draft.text)
        while len(self._proposed) > _MOST_PROPOSED:
            self._proposed.popitem(last=False)

    def _scope(self, question: Question, tools: Toolbox) -> str:
        digest = self._of(tools).digest
        return scope((*self._made_by, digest, context_digest(question.context)))

    def _of(self, tools: Toolbox) -> _Known:
        if self._known is None or self._known.tools is not tools:
            self._known = _Known(tools, tools_digest(tools), Forms(tools, self._weeks))
        return self._known

    def _shape(self, question: Question, tools: Toolbox) -> str:
        """Return what finds plans for like questions; empty where there can be none."""
        form = None
        if self._templates:
            form = self._of(tools).forms.of(question.text, question.today)
        return "" if form is None else shape(form.skeleton)
