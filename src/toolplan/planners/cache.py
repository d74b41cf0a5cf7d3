"""The cached planner: it reuses plans that worked for the same question.

The key of a stored plan is the normalised question, and everything that its plan depends on.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from toolplan.dates import Weeks
from toolplan.plan.path import Json
from toolplan.planners._base import Attempt, Draft, OnText, Planner, Proposal, Question, times_of
from toolplan.planners.context import PlannerContext
from toolplan.policy import Policy
from toolplan.schema.tool import Toolbox
from toolplan.storage.plan_cache import Entry, PlanCache

NAME: Final = "cache"
"""The planner named by a draft whose planner is not known."""
_MOST_PROPOSED: Final = 256
VERSION: Final = 2
"""The version of the keys; a new one finds nothing that was stored under the old one."""

_MARKS: Final = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-"})
_QUOTED: Final = re.compile(r'("[^"]*"|(?<!\w)\'[^\']+\'(?!\w))')
_ENDING: Final = " .?!…"
_LONGEST_ABBREVIATION: Final = 3


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
            version: of its prompt, or of anything else that its plans depend on.
            weeks: the meaning of *last week* to `inner`.
            policy: the policy for plans.
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
        """Return the draft that worked for `question`, or the proposal of `inner`.

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
            # tools are sorted; arguments keep their order, on which positional dialects depend
            objects = sorted(_digest(tool.to_json()) for tool in tools.values())
            self._digest = (tools, _digest([*objects]))
        made_with = (*self._made_by, self._digest[1], context_digest(question.context))
        return _digest([_digest([VERSION, *made_with]), question.today, normalised(question.text)])


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


def normalised(question: str) -> str:
    """Return `question` without case, spare blanks and closing marks, in Unicode form NFC.

    Quoted text, words with digits and short words in capitals keep their case: `S1` and `s1`, `US`
    and `us` may differ.

    >>> normalised("  Show Me the  order S1?")
    'show me the order S1'
    """
    text = unicodedata.normalize("NFC", question).translate(_MARKS).strip(_ENDING)
    shouting = text.upper() == text
    parts: list[str] = []
    for at, part in enumerate(_QUOTED.split(text)):
        if at % 2:
            parts.append(part)
        else:
            parts.extend(re.sub(r"\S+", lambda word: _cased(word[0], shouting), part))
    return " ".join("".join(parts).split())


def _cased(word: str, shouting: bool) -> str:
    if any(char.isdigit() for char in word):
        return word
    letters = "".join(char for char in word if char.isalpha())
    short = 1 < len(letters) <= _LONGEST_ABBREVIATION and letters.isupper()
    return word if short and not shouting else word.casefold()


def context_digest(context: Json) -> str:
    """Return the digest of a question's context, without timestamps and scores.

    All forms of an empty context have one digest. The draft that another planner left (`draft`)
    does not count: it follows from the question and the tools.

    >>> context_digest(None) == context_digest({"episodic": [], "entities": []})
    True
    """
    if isinstance(context, dict):
        context = {name: part for name, part in context.items() if name != "draft"}
    return _digest(_lasting(context))


def _lasting(value: Json) -> Json:
    match value:
        case dict():
            kept = {
                name: _lasting(inner)
                for name, inner in sorted(value.items())
                if name not in ("timestamp", "score")
            }
            return {name: inner for name, inner in kept.items() if inner not in (None, [], {})}
        case list():
            return [_lasting(inner) for inner in value]
        case None:
            return {}
        case _:
            return value


def _digest(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


FILE: Final = "plans.sqlite"


def cache(context: PlannerContext) -> CachedPlanner | None:
    """Return the planner that remembers plans of `inner`; None without caching.

    A planner that the user names does not get plans of another one.
    """
    if context.inner is None or not context.caching:
        return None
    plans = PlanCache(
        context.data / FILE, max_size=context.cache_max_size, ttl_s=context.cache_ttl_s
    )
    name = context.choice if context.model is None else f"{context.choice}/{context.model.name}"
    return CachedPlanner(
        context.inner,
        plans,
        name=name,
        version=context.inner_version,
        weeks=context.weeks,
        policy=context.policy,
    )
