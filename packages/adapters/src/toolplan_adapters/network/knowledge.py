"""The knowledge agent: passages of policies and notes that speak of what is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolplan.path import Json
from toolplan_adapters.contract import Briefing
from toolplan_adapters.network.estate import Note, estate

MOST_CHUNKS: Final = 4

WORTH_TELLING: Final = 0.3
"""The share of the best relevance below which a chunk is left out."""

_WORDS: Final = re.compile(r"[a-z0-9][a-z0-9-]*")
_FILLER_WORDS: Final = (
    "a about against all an and are as at best by configuration configurations do does for from"
    " give have how i in is it me not of on or our out say show still that the them these they this"
    " to was we what where which who why with you your"
)
_FILLERS: Final = frozenset(_FILLER_WORDS.split())


def knowledge(briefing: Briefing) -> Mapping[str, Json]:
    """Return `enterprise_context` and `retrieval_query` (F001-23).

    A chunk's relevance is the share of the words asked for that it has, its topic counting double;
    chunks without any, and those far below the best, are left out.
    """
    asked = _asked(briefing)
    scored = [(_score(note, asked), at, note) for at, note in enumerate(estate().knowledge)]
    best = max(score for score, _, _ in scored)
    ranked = sorted(
        (each for each in scored if each[0] > 0 and each[0] >= best * WORTH_TELLING),
        key=lambda each: (-each[0], each[1]),
    )
    query = " ".join(sorted(asked))
    chunks: list[Json] = [_chunk(note, score) for score, _, note in ranked[:MOST_CHUNKS]]
    return {
        "enterprise_context": {"retrieved_chunks": chunks, "query_used": query},
        "retrieval_query": query,
    }


def _asked(briefing: Briefing) -> frozenset[str]:
    goal = briefing.scope.get("goal")
    said = [goal if isinstance(goal, str) else "", *briefing.sites]
    said += briefing.named("asset_target")
    said += [item.data_path.replace("_", " ") for item in briefing.required_data]
    found = {_stem(word) for text in said for word in _WORDS.findall(text.casefold())}
    return frozenset(found - _FILLERS)


def _score(note: Note, asked: frozenset[str]) -> float:
    topic = {_stem(word) for word in _WORDS.findall(note.topic.casefold())}
    words = {_stem(word) for word in _WORDS.findall(note.content.casefold())}
    met = len(asked & words) + 2 * len(asked & topic)
    return round(min(1.0, met / max(len(asked), 1)), 2)


def _chunk(note: Note, score: float) -> Json:
    return {
        "content": note.content,
        "metadata": {
            "source": note.source,
            "topic": note.topic,
            "domain": note.domain,
            "relevance_score": score,
            "timestamp": note.timestamp,
        },
    }


def _stem(word: str) -> str:
    for ending, put in (("ies", "y"), ("es", "e"), ("s", "")):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            return word.removesuffix(ending) + put
    return word
