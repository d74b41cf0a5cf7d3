"""What a message of a conversation is and names: Clear AI's intents, entities and references.

The words come from the schemas of the tools and their hints, times from `toolplan.dates`. Plans are
not made of this: it is for programs that read Clear AI's intents and entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, Final, Literal, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from toolplan.dates import Weeks, find_dates
from toolplan.storage.memory import Episode
from toolplan.tools import Toolbox

Kind: TypeAlias = Literal[
    "query", "question", "followup", "confirmation", "clarification", "unclear"
]
Act: TypeAlias = Literal["create", "read", "update", "delete", "analyze", "monitor"]

_YES: Final = "yes|ok|okay|sure|right|correct|confirmed|confirm|do it|go ahead"
_NO: Final = "no|don't|never mind|cancel that|stop|nope|not now"
_POLITE: Final = re.compile(r"\b(?:please|thanks|thank you|that's|then)\b|[,.!?]", re.I)
_QUESTION: Final = re.compile(
    r"(?:which|what|who|where|when|why|how|is|are|was|were|do|does|did|has|have|can)\b", re.I
)
_POINTS: Final = re.compile(
    r"\b(?:them|they|their|it|its|those|these|same)\b"
    r"|(?<!is )(?<!are )(?<!was )(?<!were )\bthere\b"
    r"|\b(?:that|this)\b(?!\s+\w+(?:ed|s)\b)",
    re.IGNORECASE,
)
_CONTINUES: Final = re.compile(
    r"(?:and|or|also|only|just|but|without|sort|what about|how about|instead|yes,|no,)\b", re.I
)
_ACTS: Final[Mapping[Act, str]] = {
    "create": "create add new register make",
    "update": "update change set edit modify",
    "delete": "delete remove erase drop",
    "analyze": "analyze analyse average compare trend rate",
    "monitor": "monitor track watch",
    "read": "get show list find fetch display",
}
_CODE: Final = re.compile(r"(?<![\w-])[A-Za-z]{1,12}[-_]?\d\w*(?:-\w+)*(?![\w-])")
_PHRASE: Final = 5
"""Maximum number of words of a name or a value."""
_TEXT: Final = 20_000


class Intent(Struct, frozen=True):
    """What a message is.

    `agrees` is the yes or no of a confirmation, `act` what is to be done, `action` the verb that
    says so, or None.
    """

    kind: Kind
    agrees: bool | None = None
    act: Act | None = None
    action: str | None = None


class EntityCount(Struct, frozen=True):
    """An entity, and the number of messages that name it.

    `first` and `last` are the times of the first and the latest of them, or empty; `kind` is what
    stands before its colon: `location` of `location:Oslo`, and `order` of `order`.
    """

    entity: str
    count: int
    first: str = ""
    last: str = ""

    @property
    def kind(self) -> str:
        """What it is one of."""
        return self.entity.partition(":")[0]


def read_intent(text: str, tools: Toolbox, *, awaiting: bool = False) -> Intent:
    """Return what a message is; `awaiting`: something was asked back before it."""
    words = _folded(_POLITE.sub(" ", text[:_TEXT]))
    for agrees, known in ((True, _YES), (False, _NO)):
        if re.fullmatch(rf"(?:{known})(?: (?:{known}))*", words):
            return Intent("confirmation", agrees=agrees)
    entities = read_entities(text, tools)
    names = any(":" not in entity for entity in entities)
    action = next((w for w in re.findall(r"\w+", words) if w in _VERBS), None)
    act: Act = _VERBS[action] if action else "read"
    points = _points_back(text, tools)
    if awaiting and (points or not names or len(words.split()) < 3):
        return Intent("clarification")
    if _CONTINUES.match(text) or points or (entities and not names):
        return Intent("followup", act=act, action=action)
    if not entities:
        return Intent("unclear")
    is_question = _QUESTION.match(text) is not None
    return Intent("question" if is_question else "query", act=act, action=action)


_VERBS: Final[Mapping[str, Act]] = {
    word: act for act, text in _ACTS.items() for word in text.split()
}


def _points_back(text: str, tools: Toolbox) -> bool:
    """Return whether a word points back before anything is named that it could mean."""
    first = _POINTS.search(text)
    return first is not None and not read_entities(text[: first.start()], tools)


def read_references(text: str) -> tuple[str, ...]:
    """Return the words of `text` that point at what was said before, in its order."""
    return tuple(found[0].lower() for found in _POINTS.finditer(text[:_TEXT]))


def read_entities(
    text: str, tools: Toolbox, *, today: date | None = None, weeks: Weeks = "rolling"
) -> tuple[str, ...]:
    """Return the entities of `text`, each once, in the order of the text.

    They are kinds of things (`shipment`), values after their field (`status:rejected`, every place
    as `location:Berlin`), identities (`shipment:S1`, `id:X9` where their thing is not said), and
    with `today` times (`temporal:2025-10-05..2025-10-12`).
    """
    known, text = _vocabulary(tools), text[:_TEXT]
    tokens, found, at = list(re.finditer(r"[^\W_]+", text)), dict[str, int](), 0
    while at < len(tokens):
        for end in range(min(at + _PHRASE, len(tokens)), at, -1):
            entity = known.get(" ".join(_folded(each[0]) for each in tokens[at:end]))
            if entity is not None:
                found.setdefault(entity, tokens[at].start())
                at = end - 1
                break
        at += 1
    for code in _CODE.finditer(text):
        before = text[: code.start()].split()[-1:]
        owner = known.get(_folded(before[0])) if before else None
        found.setdefault(f"{owner if owner and ':' not in owner else 'id'}:{code[0]}", code.start())
    for time in [] if today is None else find_dates(text, today, weeks):
        if time.range is not None:
            first, last = (side.isoformat() if side else "" for side in time.range)
            found.setdefault(f"temporal:{first}..{last}", time.start)
    return tuple(sorted(found, key=lambda entity: (found[entity], entity)))


def entity_record(messages: Iterable[str | Episode], tools: Toolbox) -> tuple[EntityCount, ...]:
    """Return the entities of `messages`, oldest message first, most frequent entity first.

    A message is a text, whose entities are read with `tools`, or a turn from memory. Entities that
    are named equally often are in the order in which they were first named.
    """
    record: dict[str, EntityCount] = {}
    for message in messages:
        is_text = isinstance(message, str)
        when = "" if is_text else message.timestamp
        for entity in dict.fromkeys(read_entities(message, tools) if is_text else message.entities):
            before = record.get(entity)
            if before is None:
                record[entity] = EntityCount(entity, 1, when, when)
            else:
                record[entity] = replace(before, count=before.count + 1, last=when)
    return tuple(sorted(record.values(), key=lambda each: -each.count))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _vocabulary(tools: Toolbox) -> dict[str, str]:
    """Return the entity that each phrase names; nouns come before values."""
    nouns, values = dict[str, str](), dict[str, str]()
    for tool in tools.values():
        for schema in (tool.raw_input, tool.raw_output):
            for name, node in _nodes("", schema):
                entity = node.get("x-entity")
                if isinstance(entity, str):
                    for noun in (entity, *_texts(node.get("x-synonyms"))):
                        for text in (noun, _plural(noun)):
                            nouns.setdefault(_folded(text), entity)
                else:
                    values.update(_values(name, node, values))
    return {**values, **nouns}


def _values(
    name: str, node: Mapping[str, Any], known: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    if name.endswith("_id") or node.get("x-ref"):
        return
    label = "location" if node.get("x-kind") == "place" else re.sub(r"_(?:level|type)$", "", name)
    said: Mapping[str, Any] = node.get("x-values") or {}
    listed = [*_texts(node.get("enum")), *_texts(node.get("x-gazetteer"))]
    for value in listed:
        for text in (value, value.replace("_", " "), *_texts(said.get(value))):
            if _folded(text) not in known:
                yield " ".join(re.findall(r"[^\W_]+", _folded(text))), f"{label}:{value}"


def _nodes(name: str, node: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each object of a schema, with the property that it is of."""
    if isinstance(node, list):
        for each in cast("list[object]", node):
            yield from _nodes(name, each)
    elif isinstance(node, dict):
        schema = cast("dict[str, Any]", node)
        yield name, schema
        for key, inner in schema.items():
            if key == "properties" and isinstance(inner, dict):
                for own, part in cast("dict[str, object]", inner).items():
                    yield from _nodes(own, part)
            elif not key.startswith("x-"):
                yield from _nodes(name, inner)


def _texts(value: object) -> list[str]:
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [each for each in listed if isinstance(each, str)]


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
