"""The offline intent reader: the words of a question become the intent of a STATE.

The words of each class of intent come from the contracts (`evidence`), so an added agent brings its
own. If two classes are equally likely, or none is, the intent has a clarification question.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

from msgspec import to_builtins

from toolplan.plan.path import Json
from toolplan.tools.search import terms
from toolplan_adapters.contract.contracts import ENTITY_TYPES, Contracts, EntityType, Skill
from toolplan_adapters.contract.state import (
    LEAST_CONFIDENCE,
    NEEDS_CLARIFICATION,
    Entity,
    Intent,
    MetaIntent,
    StateError,
    intent_of,
)

_DATA: Final[dict[str, Any]] = tomllib.loads(
    files("toolplan_adapters.contract").joinpath("words.toml").read_text("utf-8")
)

KNOWN: Final = 1.0
FORM: Final = 0.9
"""The confidence in an entity: a known name, or a pattern if it does not say."""


class _Form(NamedTuple):
    """A pattern for entities of a type, and their value if it is not in the match."""

    type: EntityType
    pattern: re.Pattern[str]
    value: str | None = None
    confidence: float = FORM


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_FORMS: Final = tuple(
    _Form(e["type"], _pattern(e["pattern"]), e.get("value"), e.get("confidence", FORM))
    for e in _DATA["forms"]
)
_LOWER_CASE: Final = frozenset(("device_type", "assessment_type", "environment", "severity"))
_APART: Final = frozenset(("site", "timeframe"))
"""Types whose matches do not overlap each other, or a known name."""


def _known_names(contracts: Contracts) -> Iterator[_Form]:
    """Yield the patterns of whole names, with spaces or hyphens between their words."""
    for kind in ENTITY_TYPES:
        for name in sorted(contracts.known(kind), key=len, reverse=True):
            words = r"[\s-]?".join(re.escape(each) for each in re.split(r"[\s-]+", name) if each)
            yield _Form(kind, _pattern(rf"(?<![\w-]){words}(?![\w-]*\w)"), name, KNOWN)


MOST_CHARACTERS: Final = 2_000
"""The longest question that is read; the rest of a longer one is ignored."""

_LEAST_SCORE: Final = 2
_CLEAR_LEAD: Final = 2
_WHOLE_NAME: Final = 4
_GENERAL: Final = frozenset(terms(_DATA["general"]))
_PLACES: Final = re.compile(r"\{\w+\}")
_DOUBT: Final = 0.85
_UNCLEAR: Final = 0.45
_UNKNOWN: Final = 0.2
_INHERITED: Final = 0.75
_SCOPE_TYPES: Final = frozenset(("site", "device", "ip_address"))

_WORDS: Final = re.compile(r"[^\W_]+")
_FOLLOW_UP: Final = _pattern(_DATA["follow_up"])
_META: Final = {MetaIntent(name): _pattern(text) for name, text in _DATA["meta_intent"].items()}
_URGENCY: Final = {name: _pattern(text) for name, text in _DATA["urgency"].items()}


class IntentReader:
    """Reads intents from words; the same words give the same intent."""

    def __init__(self, contracts: Contracts) -> None:
        """Use the classes of intent, the words and the names of `contracts`."""
        self._skills = [skill for contract in contracts for skill in contract.skills]
        self._forms = (*_known_names(contracts), *_FORMS)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of intent, by their first names."""
        return tuple(dict.fromkeys(skill.classes[0] for skill in self._skills))

    def read(self, text: str, conversation: Json = None) -> dict[str, Json]:
        """Return the intent of `text`: the six fields of `STATE.intent`.

        `conversation` is that of a STATE: `{"history": [{"intent": {…}}, …]}`, the latest last. A
        question that only names another scope takes the class from there.
        """
        asked = text[:MOST_CHARACTERS]
        entities = self.entities(asked)
        previous = _previous(conversation)
        meta = _meta_intent(asked, entities, is_linked=previous is not None)
        scores = self._scores(asked, entities)
        name, confidence = _chosen(scores)
        if previous is not None and meta is MetaIntent.FOLLOW_UP:
            if name == NEEDS_CLARIFICATION:
                name, confidence = previous.intent_class, _INHERITED
            if not _scoped(entities):
                entities = (*_scoped(previous.entities), *entities)
        question = None
        if name == NEEDS_CLARIFICATION:
            choice = ", ".join(scores or self.classes).replace("_", " ")
            where = ", ".join(f"{each.value}" for each in _scoped(entities))
            question = f"What would you like{f' for {where}' if where else ''}: {choice}?"
        first = {each.type: each.value for each in reversed(entities)}
        urgency = (name for name, words in _URGENCY.items() if words.search(asked))
        details: Json = {
            "assessment_goal": " ".join(asked.split()),
            "scope": {
                "site": first.get("site"),
                "environment": first.get("environment"),
                "time_range": first.get("timeframe"),
            },
            "urgency": next(urgency, "normal"),
        }
        return {
            "intent_class": name,
            "meta_intent": meta.value,
            "domain_details": details,
            "entities": to_builtins([*entities]),
            "confidence": confidence,
            "clarification_question": question,
        }

    def entities(self, text: str) -> tuple[Entity, ...]:
        """Return the entities of `text`, each once, by type, then in the order of the text."""
        found: list[tuple[int, int, Entity]] = []
        taken: list[tuple[int, int]] = []
        for kind, pattern, named, confidence in self._forms:
            for match in pattern.finditer(text):
                start, end = match.span()
                if confidence == KNOWN or kind in _APART:
                    if any(start < other_end and other < end for other, other_end in taken):
                        continue
                    taken.append((start, end))
                value = named or (match[1] if pattern.groups else match[0])
                value = value.casefold() if kind in _LOWER_CASE and confidence != KNOWN else value
                entity = Entity(kind, value, confidence)
                found.append((ENTITY_TYPES.index(kind), start, entity))
        found.sort(key=lambda each: each[:2])
        seen: dict[tuple[str, str], Entity] = {}
        for *_, entity in found:
            seen.setdefault((entity.type, f"{entity.value}".casefold()), entity)
        return tuple(seen.values())

    def _scores(self, text: str, entities: Sequence[Entity]) -> dict[str, int]:
        """Return the scores of the likely classes, the highest first."""
        said = f" {' '.join(_WORDS.findall(text.casefold()))} "
        named = {each.type for each in entities}
        scores: dict[str, int] = {}
        for skill in self._skills:
            evidence = skill.evidence
            words = sum(n for phrase, n in evidence.words.items() if _is_said(phrase, said))
            words = words or _named_score(skill, said)
            score = words + sum(n for kind, n in evidence.entities.items() if kind in named)
            if words > 0 and score > scores.get(skill.classes[0], 0):
                scores[skill.classes[0]] = score
        return dict(sorted(scores.items(), key=lambda each: -each[1]))


def _is_said(phrase: str, said: str) -> bool:
    return f" {' '.join(_WORDS.findall(phrase.casefold()))} " in said


def _named_score(skill: Skill, said: str) -> int:
    """Return the weight of words that name a skill, where its evidence has none of them.

    Its whole name is sure. Where its contract declares no words, a word of its name is enough, and
    so are two of its description.
    """
    names = (skill.name, *skill.classes)
    if any(_is_said(name, said) for name in names):
        return _WHOLE_NAME
    if skill.evidence.words:
        return 0
    asked = set(terms(said)) - _GENERAL
    named = asked.intersection(terms(" ".join(names)))
    described = asked.intersection(terms(_PLACES.sub(" ", skill.description)))
    return _LEAST_SCORE * len(named) + len(described - named)


def _chosen(scores: Mapping[str, int]) -> tuple[str, float]:
    """Return the class and its confidence, from 0 to 1.

    A score of n has the confidence n / (n + 1), less with a small lead; without a lead the intent
    is not clear.
    """
    best_first = [*scores.values(), 0, 0]
    first, second = best_first[0], best_first[1]
    if first < _LEAST_SCORE or first == second:
        return NEEDS_CLARIFICATION, _UNCLEAR if scores else _UNKNOWN
    confidence = first / (first + 1) * (1 if first - second >= _CLEAR_LEAD else _DOUBT)
    return next(iter(scores)), max(LEAST_CONFIDENCE, round(confidence, 2))


def _meta_intent(text: str, entities: Sequence[Entity], *, is_linked: bool) -> MetaIntent:
    if is_linked and _FOLLOW_UP.search(text):
        return MetaIntent.FOLLOW_UP
    for meta, pattern in _META.items():
        if pattern.search(text) and (is_linked or meta is not MetaIntent.REFINEMENT):
            return meta
    if any(each.type == "assessment_type" and each.value == "comparison" for each in entities):
        return MetaIntent.COMPARISON
    return MetaIntent.NEW_REQUEST


def _scoped(entities: Sequence[Entity]) -> list[Entity]:
    return [each for each in entities if each.type in _SCOPE_TYPES]


def _previous(conversation: Json) -> Intent | None:
    """Return the latest clear intent of a conversation, or None."""
    history = conversation.get("history") if isinstance(conversation, dict) else None
    for turn in reversed(history if isinstance(history, list) else []):
        fields = turn.get("intent") if isinstance(turn, dict) else None
        if isinstance(fields, dict):
            try:
                intent = intent_of(fields)
            except StateError:
                continue  # another system wrote it; the question can still be read alone
            if intent.intent_class != NEEDS_CLARIFICATION:
                return intent
    return None
