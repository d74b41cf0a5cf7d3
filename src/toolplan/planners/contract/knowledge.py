"""When optional knowledge is asked for: predicates over the intent (C-19)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from toolplan.planners.contract.state import Intent, MetaIntent

KnowledgeMode: TypeAlias = Literal["always", "auto", "never"]
"""When agents with optional knowledge are asked: always, if a predicate is true, or never."""

KNOWLEDGE_MODES: Final[tuple[KnowledgeMode, ...]] = ("always", "auto", "never")
SURE: Final = 0.7
"""The least confidence of a question that is not ambiguous."""

_SURE_OF_SCOPE: Final = 0.5
_LINKED: Final = frozenset((MetaIntent.FOLLOW_UP, MetaIntent.REFINEMENT, MetaIntent.EXPLANATION))
_POLICY_WORDS: Final = re.compile(
    r"\b(?:polic(?:y|ies)|standards?|guidelines?|exceptions?|exemptions?|waivers?)\b", re.IGNORECASE
)


class Predicate(Struct, frozen=True):
    """A reason to ask for knowledge, and its test of an intent."""

    name: str
    holds: Callable[[Intent], bool]


def _is_follow_up(intent: Intent) -> bool:
    return intent.meta_intent in _LINKED


def _is_about_policy(intent: Intent) -> bool:
    said = [intent.goal, *intent.named("asset_target"), *intent.named("assessment_type")]
    is_asked = intent.meta_intent is MetaIntent.POLICY_QUESTION
    return is_asked or any(_POLICY_WORDS.search(text) for text in said)


def _is_ambiguous(intent: Intent) -> bool:
    return intent.confidence < SURE


def _has_ambiguous_scope(intent: Intent) -> bool:
    named = [each for each in intent.entities if each.type in ("site", "device")]
    return any(each.confidence < _SURE_OF_SCOPE for each in named)


PREDICATES: Final = (
    Predicate("follow_up", _is_follow_up),
    Predicate("policy", _is_about_policy),
    Predicate("ambiguous_query", _is_ambiguous),
    Predicate("ambiguous_scope", _has_ambiguous_scope),
)
"""The four triggers of F001-10."""


def reasons(intent: Intent, mode: KnowledgeMode) -> list[str]:
    """Return the reasons to ask for optional knowledge.

    >>> reasons(Intent("cbp_assessment", MetaIntent.FOLLOW_UP), "auto")
    ['follow_up']
    """
    match mode:
        case "always":
            return ["always"]
        case "auto":
            return [each.name for each in PREDICATES if each.holds(intent)]
        case "never":
            return []
