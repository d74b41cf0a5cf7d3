"""The planner that reuses plans that worked for the same question."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from toolplan.dates import Weeks
from toolplan.plan.path import Json
from toolplan.planners._base import (
    Attempt,
    Draft,
    OnText,
    Planner,
    Proposal,
    Question,
    times_of,
)
from toolplan.planners.cache._keys import context_digest, question_key, tools_digest
from toolplan.policy import Policy
from toolplan.schema.tool import Toolbox
from toolplan.storage.plan_cache import Entry, PlanCache

NAME: Final = "cache"
"""The planner named by a draft whose planner is not known."""
_MOST_PROPOSED: Final = 256


class CachedPlanner:
    """Reuses plans that worked for the same question, and asks `inner` for all others.

    A draft is stored when `keep` reports that it worked, so never a failed one, a clarification or
    a refusal. It is reused for the same question, up to case, blanks and closing marks, on the same
    day, with the same tools, policy, planner and context. A reused draft is checked in full, like
    that of any planner. One that fails comes back in `attempts`; it is deleted, and `inner` is
    asked.

    The cache itself may be shared by threads and processes.
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
    ) -> None:
        """Wrap a planner.

        Args:
            inner: the planner to ask when there is no stored plan.
            cache: where drafts are stored.
            name: which planner or model `inner` is; drafts of another one are not reused.
            version: of its prompt, or whatever else its plans depend on.
            weeks: what *last week* means to `inner`.
            policy: what plans may use.
        """
        self.cache = cache
        self._inner = inner
        self._weeks: Weeks = weeks
        self._made_by: tuple[Json, ...] = (name, version, weeks, policy.to_json())
        self._proposed: OrderedDict[str, str] = OrderedDict()  # texts of drafts, and their keys
        self._digest: tuple[Toolbox, str] | None = None

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        """Return the draft that worked for `question`, or what `inner` proposes.

        After a failed attempt `inner` is asked.
        """
        for attempt in attempts:
            self._forget(attempt.draft)
        if not attempts and (draft := self.recall(question, tools)) is not None:
            return draft
        return await self._inner.propose(question, tools, attempts, on_text=on_text)

    def recall(self, question: Question, tools: Toolbox) -> Draft | None:
        """Return the stored draft for `question`, or None; counted as a hit or a miss."""
        entry = self.cache.get(self._key(question, tools))
        if entry is None:
            return None
        times = times_of(question, self._weeks)
        name = entry.planner or NAME
        draft = Draft(_with_origin(entry), entry.dialect, name, times=times)
        self._proposed[draft.text] = entry.key
        self._proposed.move_to_end(draft.text)
        while len(self._proposed) > _MOST_PROPOSED:
            self._proposed.popitem(last=False)
        return draft

    def keep(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Store `draft`, which worked for `question`; one that came from there stays as it is."""
        key = self._key(question, tools)
        if self._proposed.get(draft.text) != key:
            self.cache.put(
                Entry(key, question.text, question.today, draft.text, draft.dialect, draft.planner)
            )

    def drop(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        """Delete the stored draft for `question`."""
        self.cache.delete(self._key(question, tools))
        self._forget(draft)

    def _forget(self, draft: Draft) -> None:
        key = self._proposed.pop(draft.text, None)
        if key is not None:
            self.cache.delete(key)

    def _key(self, question: Question, tools: Toolbox) -> str:
        if self._digest is None or self._digest[0] is not tools:
            self._digest = (tools, tools_digest(tools))
        made_with = (*self._made_by, self._digest[1], context_digest(question.context))
        return question_key(made_with, question.today, question.text)


def _with_origin(entry: Entry) -> str:
    """Return the text of `entry` with its origin in the metadata, where it is canonical JSON."""
    try:
        document: Json = json.loads(entry.text) if entry.dialect == "toolplan" else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        return entry.text
    metadata = document.get("metadata")
    origin: Json = {"question": entry.question, "today": entry.today}
    known = metadata if isinstance(metadata, dict) else {}
    document["metadata"] = {**known, "cached_from": origin}
    return json.dumps(document, ensure_ascii=False, indent=2)
