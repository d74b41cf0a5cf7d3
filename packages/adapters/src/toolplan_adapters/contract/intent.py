"""The offline intent reader: the words of a question become the intent of a STATE.

The words of each class of intent come from the contracts (`evidence`), so an added agent brings its
own. If two classes are equally likely, or none is, the intent has a clarification question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Final

from msgspec import Struct

from toolplan.path import Json
from toolplan.tool_search import terms
from toolplan_adapters.contract.contracts import Contracts, Skill
from toolplan_adapters.contract.files import ENTITY_TYPES
from toolplan_adapters.contract.state import (
    LEAST_CONFIDENCE,
    NEEDS_CLARIFICATION,
    Entity,
    Intent,
    MetaIntent,
    StateError,
    intent_of,
)

KNOWN: Final = 1.0
FORM: Final = 0.9
GUESSED: Final = 0.6
"""The confidence in an entity: a known name, a pattern, or a weak pattern."""

_RANKED: Final = r"(?:severity|risks?|findings?|issues?|violations?|problems?)"
_PERIOD: Final = r"(?:hours?|days?|weeks?|months?|quarters?|years?)"


class _Form(Struct, frozen=True):
    """A pattern for entities of `type`.

    The value is `value`; if that is None, the first group, or the whole match without groups.
    """

    type: str
    pattern: re.Pattern[str]
    value: str | None = None
    confidence: float = FORM


def _form(type: str, pattern: str, value: str | None = None, confidence: float = FORM) -> _Form:
    return _Form(type, re.compile(pattern, re.IGNORECASE), value, confidence)


_FORMS: Final = (
    _form("site", r"\bsite\s+(?-i:([A-Z][\w-]*))", confidence=GUESSED),
    _form("site", r"(?-i:\b([A-Z][\w]*-\d+))\s+site\b", confidence=GUESSED),
    _form("assessment_id", r"\b([A-Z]{2,5}-\d{4}-\d{2,})\b"),
    _form("vlan", r"\bvlan\s*#?(\d{1,4})\b"),
    _form("severity", r"\b(critical)\b"),
    _form("severity", rf"\b(high|medium|low)[\s-]+{_RANKED}\b"),
    _form("priority", r"\b(high|medium|low)[\s-]+priority\b"),
    _form("priority", r"\b(P[1-4])\b"),
    _form("device_type", r"\b(?:routers?)\b", "router"),
    _form("device_type", r"\b(?:switch(?:es)?)\b", "switch"),
    _form("device_type", r"\b(?:firewalls?)\b", "firewall"),
    _form("device_type", r"\b(?:access\s+points?)\b", "access point"),
    _form("environment", r"\b(production|staging|lab|test)\s+(?:environment|network|devices?)\b"),
    _form("timeframe", rf"\b((?:last|past|previous)\s+\d{{1,3}}\s+{_PERIOD})\b"),
    _form("timeframe", rf"\b((?:last|this|past|previous)\s+{_PERIOD})\b"),
    _form("timeframe", r"\b(since\s+(?:the\s+)?(?:last|previous)\s+assessment)\b"),
    _form("timeframe", r"\b(today|yesterday)\b"),
    _form("timeframe", r"\b(Q[1-4]\s+\d{4})\b"),
    _form("output_format", r"\b(?:as|in)\s+(?:an?\s+)?(table|json|csv|markdown)\b"),
    _form("assessment_type", r"\b(?:exceptions?|exemptions?|waivers?)\b", "exceptions"),
    _form(
        "assessment_type",
        r"\b(?:still\s+open|unresolved|open\s+issues|track(?:ed|ing)?)\b",
        "tracking",
    ),
    _form(
        "assessment_type",
        r"\b(?:compared?|comparison|trends?|changed|new\s+since|got\s+worse|improved)\b",
        "comparison",
    ),
)

_ADDRESS: Final = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)")
_MANY_FORMS: Final = frozenset(("device_type", "assessment_type", "environment", "severity"))


class EntityReader:
    """Finds entities in questions."""

    def __init__(self, contracts: Contracts) -> None:
        """Find the names in `contracts`, and patterns."""
        self._names = [
            (kind, name, _name_pattern(name))
            for kind in ENTITY_TYPES
            for name in sorted(contracts.known(kind), key=len, reverse=True)
        ]

    def read(self, text: str) -> tuple[Entity, ...]:
        """Return the entities of `text`, each once, by type, then in the order of the text."""
        found = sorted(self._found(text), key=lambda each: (each[0], each[1]))
        seen: set[tuple[str, str]] = set()
        entities: list[Entity] = []
        for _, _, entity in found:
            key = entity.type, entity.value.casefold()
            if key not in seen:
                seen.add(key)
                entities.append(entity)
        return tuple(entities)

    def _found(self, text: str) -> Iterator[tuple[int, int, Entity]]:
        taken: list[tuple[int, int]] = []
        for kind, name, pattern in self._names:
            for match in pattern.finditer(text):
                if not _overlaps(match.span(), taken):
                    taken.append(match.span())
                    yield ENTITY_TYPES.index(kind), match.start(), Entity(kind, name, KNOWN)
        for match in _ADDRESS.finditer(text):
            if _is_address(match[0]):
                rank = ENTITY_TYPES.index("ip_address")
                yield rank, match.start(), Entity("ip_address", match[0], FORM)
        ranges: list[tuple[int, int]] = []
        for form in _FORMS:
            for match in form.pattern.finditer(text):
                if form.type == "timeframe" and _overlaps(match.span(), ranges):
                    continue
                if form.type == "timeframe":
                    ranges.append(match.span())
                if form.type == "site" and _overlaps(match.span(), taken):
                    continue
                value = form.value or (match[1] if form.pattern.groups else match[0])
                if form.type in _MANY_FORMS:
                    value = value.casefold()
                entity = Entity(form.type, value, form.confidence)
                yield ENTITY_TYPES.index(form.type), match.start(), entity


def _name_pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a whole name, with spaces or hyphens between its words."""
    words = [re.escape(word) for word in re.split(r"[\s-]+", name) if word]
    return re.compile(r"(?<![\w-])" + r"[\s-]?".join(words) + r"(?![\w-]*\w)", re.IGNORECASE)


def _overlaps(span: tuple[int, int], taken: list[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in taken)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


MOST_CHARACTERS: Final = 2_000
"""The longest question that is read; the rest of a longer one is ignored."""

_LEAST_SCORE: Final = 2
_CLEAR_LEAD: Final = 2
_WHOLE_NAME: Final = 4
_GENERAL: Final = frozenset(
    terms("assess assessment check analyse analyze review get list show find report make run give")
)
"""What agents do in general: no evidence for one of them."""
_PLACES: Final = re.compile(r"\{\w+\}")
_DOUBT: Final = 0.85
_UNCLEAR: Final = 0.45
_INHERITED: Final = 0.75
_SCOPE_TYPES: Final = frozenset(("site", "device", "ip_address"))

_WORDS: Final = re.compile(r"[^\W_]+")
_FOLLOW_UP: Final = re.compile(
    r"^\s*(?:and|also|what about|how about|same for|now)\b"
    r"|\b(?:those|these|them|that one|the same)\b",
    re.IGNORECASE,
)
_META: Final = (
    (
        MetaIntent.POLICY_QUESTION,
        re.compile(r"\b(?:polic(?:y|ies)|guidelines?|standards?)\b", re.IGNORECASE),
    ),
    (MetaIntent.REFINEMENT, re.compile(r"^\s*(?:only|just|narrow)\b", re.IGNORECASE)),
    (MetaIntent.EXPLANATION, re.compile(r"^\s*(?:why|explain)\b", re.IGNORECASE)),
)
_URGENCY: Final = (
    ("critical", re.compile(r"\b(?:outage|emergency|immediately)\b", re.IGNORECASE)),
    ("high", re.compile(r"\b(?:urgent(?:ly)?|asap|as soon as possible)\b", re.IGNORECASE)),
    ("low", re.compile(r"\b(?:no hurry|no rush|when(?:ever)? you have time)\b", re.IGNORECASE)),
)


class _Candidate(Struct, frozen=True):
    intent_class: str
    words: int
    score: int


class IntentReader:
    """Reads intents from words; the same words give the same intent."""

    def __init__(self, contracts: Contracts) -> None:
        """Use the classes of intent, the words and the names of `contracts`."""
        self._classes: dict[str, list[Skill]] = {}
        for contract in contracts:
            for skill in contract.skills:
                self._classes.setdefault(skill.intent_classes[0], []).append(skill)
        self._entities = EntityReader(contracts)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of intent, by their first names."""
        return tuple(self._classes)

    def read(self, text: str, conversation: Json = None) -> dict[str, Json]:
        """Return the intent of `text`: the six fields of `STATE.intent`.

        `conversation` is that of a STATE: `{"history": [{"intent": {…}}, …]}`, the latest last. A
        question that only names another scope takes the class from there.
        """
        asked = text[:MOST_CHARACTERS]
        entities = self._entities.read(asked)
        previous = _previous(conversation)
        meta = _meta_intent(asked, entities, is_linked=previous is not None)
        candidates = self._candidates(asked, entities)
        name, confidence = _chosen(candidates)
        if name == NEEDS_CLARIFICATION and previous is not None and meta is MetaIntent.FOLLOW_UP:
            name, confidence = previous.intent_class, _INHERITED
        if meta is MetaIntent.FOLLOW_UP and previous is not None:
            entities = _inherited(entities, previous)
        question = self._question(name, candidates, entities)
        listed: list[Json] = [each.to_json() for each in entities]
        return {
            "intent_class": name,
            "meta_intent": meta.value,
            "domain_details": _details(asked, entities),
            "entities": listed,
            "confidence": confidence,
            "clarification_question": question,
        }

    def _candidates(self, text: str, entities: Sequence[Entity]) -> list[_Candidate]:
        """Return the likely classes, the likeliest first."""
        said = f" {' '.join(_WORDS.findall(text.casefold()))} "
        named = {each.type for each in entities}
        found: list[_Candidate] = []
        for intent_class, skills in self._classes.items():
            for skill in skills:
                each = skill.evidence
                words = _words_score(each.words, said) or self._named_score(skill, said)
                score = words + sum(each.entities.get(kind, 0) for kind in named)
                found.append(_Candidate(intent_class, words, score))
        likely = [each for each in found if each.words > 0 and each.score > 0]
        best: dict[str, _Candidate] = {}
        for each in sorted(likely, key=lambda each: -each.score):
            best.setdefault(each.intent_class, each)
        return list(best.values())

    def _named_score(self, skill: Skill, said: str) -> int:
        """Return the weight of words that name a skill, where its evidence has none of them.

        Its whole name is sure. Where its contract declares no words, a word of its name is enough,
        and so are two of its description.
        """
        names = (skill.name, *skill.intent_classes)
        if any(f" {' '.join(_WORDS.findall(name.casefold()))} " in said for name in names):
            return _WHOLE_NAME
        if skill.evidence.words:
            return 0
        asked = set(terms(said)) - _GENERAL
        named = asked.intersection(terms(" ".join(names)))
        described = asked.intersection(terms(_PLACES.sub(" ", skill.description)))
        return _LEAST_SCORE * len(named) + len(described - named)

    def _question(
        self, name: str, candidates: Sequence[_Candidate], entities: Sequence[Entity]
    ) -> Json:
        if name != NEEDS_CLARIFICATION:
            return None
        open_ = [each.intent_class for each in candidates] or list(self._classes)
        choice = ", ".join(each.replace("_", " ") for each in open_)
        where = [each.value for each in entities if each.type in _SCOPE_TYPES]
        of_what = f" for {', '.join(where)}" if where else ""
        return f"What would you like{of_what}: {choice}?"


def _words_score(weights: Mapping[str, int], said: str) -> int:
    return sum(
        weight
        for phrase, weight in weights.items()
        if f" {' '.join(_WORDS.findall(phrase))} " in said
    )


def _chosen(candidates: Sequence[_Candidate]) -> tuple[str, float]:
    """Return the class and its confidence, from 0 to 1.

    A score of n has the confidence n / (n + 1), less with a small lead; without a lead the intent
    is not clear.
    """
    if not candidates or candidates[0].score < _LEAST_SCORE:
        return NEEDS_CLARIFICATION, 0.2 if not candidates else _UNCLEAR
    first, *others = candidates
    lead = first.score - others[0].score if others else first.score
    if lead < 1:
        return NEEDS_CLARIFICATION, _UNCLEAR
    confidence = first.score / (first.score + 1) * (1 if lead >= _CLEAR_LEAD else _DOUBT)
    return first.intent_class, max(LEAST_CONFIDENCE, round(confidence, 2))


def _meta_intent(text: str, entities: Sequence[Entity], *, is_linked: bool) -> MetaIntent:
    if is_linked and _FOLLOW_UP.search(text):
        return MetaIntent.FOLLOW_UP
    for meta, pattern in _META:
        if pattern.search(text) and (is_linked or meta is not MetaIntent.REFINEMENT):
            return meta
    if any(each.type == "assessment_type" and each.value == "comparison" for each in entities):
        return MetaIntent.COMPARISON
    return MetaIntent.NEW_REQUEST


def _inherited(entities: Sequence[Entity], previous: Intent) -> tuple[Entity, ...]:
    """Return `entities`, with the scope of the previous intent where none is named."""
    if any(each.type in _SCOPE_TYPES for each in entities):
        return tuple(entities)
    return (*(each for each in previous.entities if each.type in _SCOPE_TYPES), *entities)


def _details(text: str, entities: Sequence[Entity]) -> dict[str, Json]:
    def first(kind: str) -> Json:
        return next((each.value for each in entities if each.type == kind), None)

    urgency = next((name for name, pattern in _URGENCY if pattern.search(text)), "normal")
    return {
        "assessment_goal": " ".join(text.split()),
        "scope": {
            "site": first("site"),
            "environment": first("environment"),
            "time_range": first("timeframe"),
        },
        "urgency": urgency,
    }


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
