"""Entities of a question, of the thirteen types: names that agents know, and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from msgspec import Struct

from toolplan.planners.contract.contracts import Contracts
from toolplan.planners.contract.fields import ENTITY_TYPES
from toolplan.planners.contract.state import Entity

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
