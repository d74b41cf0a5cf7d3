"""A tool without hints, as its name, its arguments and its description show it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Final

from msgspec import Struct

from toolplan.path import Json
from toolplan.planners.grounded.catalogue.schemas import (
    Shape,
    as_node,
    properties,
    rows,
    texts,
)
from toolplan.planners.grounded.language.verbs import IMPERATIVE_VERBS
from toolplan.planners.grounded.language.words import key, word_set
from toolplan.tools import Effects, Tool

READING_VERBS: Final = word_set("""
    get list search find fetch read show query lookup look retrieve check view describe display
    browse count see give
    """)
_WRITING_VERBS: Final = word_set("create add insert new update set change modify")
_NOUN_AFTER_VERB: Final = word_set(
    "status detail info information list history count date number total price line item"
)
_OPTIONAL: Final = word_set("""
    current all by for of in from with on at to and the a an info information detail data record
    item list result latest name id api tool
    """)
_HEAD_ENDS: Final = word_set("by for of in from with on at to")
_WHEN_OR_WHO: Final = word_set("at on by")
_SOMETIMES: Final = re.compile(
    r"[.;:(]|\b(?:including|optional(?:ly)?|or|and/or|if|whether|unless|except|either|not|without"
    r"|even|only|also|such as|e\.g)\b",
    re.IGNORECASE,
)
"""Where a description ends to speak of all that a tool gives."""
_PARTS: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_WORDS: Final = re.compile(r"[^\W\d_]+")


class Takes(StrEnum):
    """What an argument takes, as far as its schema and its name show it."""

    CHOICE = "one of some words"
    FLAG = "true or false"
    NUMBER = "a number"
    DAY = "a day"
    EMAIL = "an address of mail"
    LINK = "an address of the web"
    IDENTITY = "an identity"
    PROSE = "a text of any length"
    NAME = "a name or word"
    OTHER = "something that a question cannot say"


_IDENTITIES: Final = word_set("""
    id uuid key code sku isbn iban symbol ticker number no nr ref reference hash sha slug handle
    plate vin imei timezone zone tz
    """)
_PROSE: Final = word_set("""
    body message content text note notes comment subject title description prompt summary
    caption reason expression code question sentence
    """)
_DAYS: Final = word_set("date day")
_DATED: Final = frozenset({"date", "date-time"})

STARTS: Final = word_set("since after start begin from min earliest")
ENDS: Final = word_set("until before end to till max latest")

CUES: Final[Mapping[str, frozenset[str]]] = {
    "from": word_set("from origin source start sender departure base"),
    "to": word_set("to destination target recipient receiver end language arrival email"),
    "into": word_set("language format target to currency unit"),
    "in": word_set("""
        city location place town country region area state province address zip language currency
        timezone zone where repo repository project channel folder directory list database table
        category board team workspace calendar market district continent room department unit units
        """),
    "at": word_set("location place address venue office site store hotel restaurant company time"),
    "near": word_set("city location place town address"),
    "by": word_set("author artist creator owner writer director user by singer composer name"),
    "about": word_set("topic subject query keyword q search term about theme"),
    "on": word_set("topic subject date day query keyword platform on"),
    "with": word_set("with"),
    "called": word_set("name title"),
    "named": word_set("name title username"),
    "titled": word_set("title name subject"),
    "saying": word_set("body message text content"),
    "since": STARTS,
    "until": ENDS,
    "under": word_set("folder directory path parent max maximum"),
}
"""For each word before a value the names of arguments that take it: general English."""

NEUTRAL: Final = frozenset({"of", "for", "is", ":", ""})
"""Words before a value that say nothing of where it belongs."""


class PlainArgument(Struct, frozen=True):
    """An argument: the keys of the words of its name, and what it takes."""

    name: str
    words: tuple[str, ...]
    shape: Shape
    takes: Takes
    required: bool
    described: frozenset[str]

    def wants(self, cue: str) -> bool:
        """Return whether `cue` stands before values of it."""
        if cue in self.shape.cue_keys or self.words[:1] == (cue,):
            return True
        names = CUES.get(cue, frozenset())
        if self.words[:1] and self.words[0] in ("from", "to"):
            return False  # the way is said already: `from_city` is not where something is
        return not names.isdisjoint(self.words) or (
            self.takes is not Takes.PROSE and not names.isdisjoint(self.described)
        )


class PlainCard(Struct, frozen=True, dict=True):
    """A tool without hints."""

    tool: Tool
    verb: str | None
    nouns: tuple[str, ...]
    described: frozenset[str]
    arguments: Mapping[str, PlainArgument]

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.tool.name

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the arguments without which it cannot be called."""
        return tuple(name for name, each in self.arguments.items() if each.required)

    @cached_property
    def reads(self) -> bool:
        """Whether it only reads, by its label, or by its verb where it has none."""
        if self.tool.effects is Effects.UNKNOWN:
            return self.verb in READING_VERBS
        return self.tool.effects is Effects.READ

    @property
    def harmless(self) -> bool:
        """Whether its label says that it only reads."""
        return self.tool.effects is Effects.READ

    @cached_property
    def acts(self) -> bool:
        """Whether its own verb must begin the question."""
        return not self.reads and self.verb is not None

    @cached_property
    def head(self) -> str | None:
        """The noun that says what it gives: "orders" of `get_customer_orders`."""
        said = self.name_words
        for at, word in enumerate(said):
            if word in _HEAD_ENDS and at > 0:
                said = said[:at]
                break
        left = [word for word in said if word in self.nouns]
        return left[-1] if left else None

    @cached_property
    def name_words(self) -> tuple[str, ...]:
        """The keys of the words of its name."""
        return split_name(self.tool.name)

    @cached_property
    def argument_words(self) -> frozenset[str]:
        """The words of all names of arguments."""
        return frozenset(word for each in self.arguments.values() for word in each.words)

    def may_mean(self, keys: frozenset[str]) -> bool:
        """Return whether a question of the words `keys` can mean this tool at all."""
        if self.verb in keys or self.head in keys:
            return True
        if self.needed_nouns and self.needed_nouns <= keys:
            return True
        return self.harmless and not self.described.isdisjoint(keys)

    @cached_property
    def needed_nouns(self) -> frozenset[str]:
        """The words of its name that a question must say, or else it says less than the name."""
        return frozenset(self.nouns) - _OPTIONAL - self.argument_words


def plain_cards(tools: Iterable[Tool]) -> tuple[PlainCard, ...]:
    """Return the cards of those of `tools` that can be called and have no hints."""
    return tuple(_card(tool) for tool in tools if _is_plain(tool))


def split_name(name: str) -> tuple[str, ...]:
    """Return the keys of the words of an identifier.

    >>> split_name("getUserOrders"), split_name("list_open-issues")
    (('get', 'user', 'order'), ('list', 'open', 'issue'))
    """
    return tuple(key(part) for part in _PARTS.findall(name))


def spoken_name(card: PlainCard) -> str:
    """Return the name without its verb, up to the first preposition, as it is written.

    `books` of `list_books_by_author`.
    """
    said: list[str] = []
    for part in _PARTS.findall(card.tool.name):
        if key(part) in _HEAD_ENDS and said:
            break
        if key(part) in card.nouns:
            said.append(part.lower())
    return " ".join(said)


def _is_plain(tool: Tool) -> bool:
    root = as_node(tool.raw_input)
    return tool.unusable is None and tool.compute_output is None and "x-entity" not in root


def _card(tool: Tool) -> PlainCard:
    root = as_node(tool.raw_input)
    required = frozenset(texts(root.get("required")))
    words = split_name(tool.name)
    verb = _verb(words)
    origin = frozenset(split_name(tool.source)) if tool.source else frozenset[str]()
    arguments = {
        name: _argument(name, shape, name in required, as_node(root.get("properties")).get(name))
        for name, shape in properties(root, root).items()
    }
    return PlainCard(
        tool=tool,
        verb=verb,
        nouns=tuple(word for word in words if word != verb and word not in origin),
        described=_described(tool),
        arguments=arguments,
    )


def _verb(words: tuple[str, ...]) -> str | None:
    """Return the verb of a name: `get` of `get_user`, `create` of `calendar_create`."""
    known = (READING_VERBS, _WRITING_VERBS, IMPERATIVE_VERBS)
    for at in (0, len(words) - 1) if words else ():
        word = words[at]
        if not any(word in each for each in known):
            continue
        behind = words[at + 1 : at + 2]
        if word not in READING_VERBS and behind and behind[0] in _NOUN_AFTER_VERB:
            continue  # "order_status" orders nothing
        if at > 0 and word not in READING_VERBS | _WRITING_VERBS:
            continue  # "send_message": only the first word of a name is a verb for certain
        return word
    return None


def _described(tool: Tool) -> frozenset[str]:
    """Return the words that hold for all that the tool gives, and those of what it says of it.

    "Free" of a column `is_free` does not: it would say which of the rooms are wanted. Nor does
    "sold" of `sold_at`, or what stands behind the "or" of a description.
    """
    always = _SOMETIMES.split(tool.description, maxsplit=1)[0]
    said = set(map(key, _WORDS.findall(always)))
    output = rows(as_node(tool.raw_output))
    if output is not None:
        for name, shape in output.columns.items():
            parts = split_name(name)
            if not (shape.is_boolean or (len(parts) > 1 and parts[-1] in _WHEN_OR_WHO)):
                said.update(parts)
    return frozenset(said)


def _argument(name: str, shape: Shape, required: bool, raw: Json) -> PlainArgument:
    node = as_node(raw)
    description = node.get("description")
    words = split_name(name)
    described = _WORDS.findall(description) if isinstance(description, str) else []
    return PlainArgument(
        name=name,
        words=words,
        shape=shape,
        takes=_takes(words, shape),
        required=required,
        described=frozenset(map(key, described)),
    )


def _takes(words: tuple[str, ...], shape: Shape) -> Takes:
    last = words[-1] if words else ""
    if shape.enum:
        return Takes.CHOICE
    if shape.is_boolean:
        return Takes.FLAG
    if shape.is_number:
        identity = last in ("id", "number", "no", "nr")
        return Takes.IDENTITY if identity else Takes.NUMBER
    if shape.is_date:
        return Takes.DAY
    if shape.types != frozenset(["string"]):
        return Takes.OTHER
    if shape.format == "email" or last in ("email", "mail"):
        return Takes.EMAIL
    if shape.format in ("uri", "url", "iri") or last in ("url", "uri", "link"):
        return Takes.LINK
    if shape.format == "uuid" or last in _IDENTITIES or shape.kind == "code":
        return Takes.IDENTITY
    if last in _DAYS:
        return Takes.DAY
    if shape.format is not None:
        return Takes.OTHER
    return Takes.PROSE if last in _PROSE else Takes.NAME
