"""What the tools of a toolbox are about: kinds of things and their attributes.

Compiled once from schemas and hints; nothing else is known of a domain. A `Kind` is what `x-entity`
names. Its `Attribute`s are what may be said of such a thing: columns of the rows that its listing
tool returns, arguments by which that tool filters, or both in one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.path import Json
from toolplan.planners.grounded.catalogue.schemas import (
    Rows,
    Shape,
    as_node,
    bare_rows,
    properties,
    rows,
    text,
    texts,
)
from toolplan.planners.grounded.language import words
from toolplan.tools import Tool

SQL_TOOL: Final = "sql"
"""The name of the tool that computes; it is part of every plan that needs computing."""


class Verb(StrEnum):
    """What a tool does to its kind of thing."""

    LIST = "list"
    GET = "get"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REPORT = "report"


_VERB_WORDS: Final[Mapping[str, Verb]] = {
    **dict.fromkeys(("list", "search", "find", "query"), Verb.LIST),
    **dict.fromkeys(("get", "read", "fetch", "show"), Verb.GET),
    **dict.fromkeys(("create", "add", "insert", "new"), Verb.CREATE),
    **dict.fromkeys(("update", "edit", "modify", "set"), Verb.UPDATE),
    **dict.fromkeys(("delete", "remove", "cancel"), Verb.DELETE),
}


class ToolCard(Struct, frozen=True):
    """One tool as a planner sees it."""

    name: str
    entity: str
    verb: Verb
    synonyms: tuple[str, ...]
    arguments: Mapping[str, Shape]
    required: tuple[str, ...]
    rows: Rows | None
    order: str | None

    def argument(self, role: str) -> str | None:
        """Return the name of the argument with the role `role`, or None."""
        return next((name for name, each in self.arguments.items() if each.role == role), None)


class Attribute(Struct, frozen=True):
    """Something that may be said of a kind of thing.

    `column` is the name in the rows, None where rows do not show it. `equal`, `minimum`, `maximum`,
    `start` and `end` name the arguments of the listing tool that filter by it, None where there is
    none.
    """

    entity: str
    name: str
    shape: Shape
    column: str | None = None
    equal: str | None = None
    minimum: str | None = None
    maximum: str | None = None
    start: str | None = None
    end: str | None = None

    @property
    def is_endpoint(self) -> bool:
        """Whether it is an origin or a destination, which only the word before a value shows."""
        return self.shape.role in ("from", "to")


class Kind(Struct, frozen=True):
    """A kind of thing, in the singular, and the tools that know it."""

    entity: str
    cards: tuple[ToolCard, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])

    @property
    def plural(self) -> str:
        """The word for several of them."""
        return words.plural(self.entity)

    def card(self, verb: Verb) -> ToolCard | None:
        """Return the plainest tool that does `verb`: the one that requires fewest arguments."""
        fitting = [card for card in self.cards if card.verb is verb]
        return min(fitting, key=lambda card: (len(card.required), len(card.name)), default=None)

    @property
    def listing(self) -> ToolCard | None:
        """The tool that lists them."""
        return self.card(Verb.LIST)

    @property
    def identity(self) -> str:
        """What `x-ref` calls the identity of such a thing."""
        return f"{self.entity}.id"

    @property
    def moment(self) -> Attribute | None:
        """The attribute that says when; the one that can be filtered first."""
        dated = [each for each in self.attributes.values() if each.shape.is_date]
        return min(dated, key=lambda each: (each.start is None, each.column is None), default=None)

    @property
    def date_column(self) -> str | None:
        """The column that says when."""
        return self.moment.column if self.moment is not None else None


class Noun(Struct, frozen=True):
    """The phrase is a word for a kind of thing."""

    entity: str


class ValueOf(Struct, frozen=True):
    """The phrase says that an attribute has a value."""

    entity: str
    attribute: str
    value: Json


class ColumnOf(Struct, frozen=True):
    """The phrase names an attribute."""

    entity: str
    attribute: str


class ReportOf(Struct, frozen=True):
    """The phrase asks for what a reporting tool gives."""

    tool: str


class CueOf(Struct, frozen=True):
    """The phrase stands before values of some argument."""

    phrase: str


class VerbOf(Struct, frozen=True):
    """The word is a verb from which, or from which's noun, a word for a kind of thing is made."""

    entity: str


Reading = Noun | ValueOf | ColumnOf | ReportOf | CueOf | VerbOf


class Catalogue(Struct, frozen=True):
    """All that a planner knows of a toolbox.

    `lexicon` maps phrases, as keys of words, to all that they may mean; `longest` is the length of
    its longest phrase. `stems` maps stems of values to the values, `verbs` those of nouns to kinds
    of things.
    """

    kinds: Mapping[str, Kind]
    cards: Mapping[str, ToolCard]
    lexicon: Mapping[tuple[str, ...], tuple[Reading, ...]]
    stems: Mapping[str, tuple[ValueOf, ...]]
    verbs: Mapping[str, VerbOf]
    longest: int
    computes: bool

    def attribute(self, reading: ValueOf | ColumnOf) -> Attribute:
        """Return the attribute that `reading` speaks of."""
        return self.kinds[reading.entity].attributes[reading.attribute]


def read_card(tool: Tool) -> ToolCard | None:
    """Read `tool`; None if it is not about one kind of thing, or its schemas are unusable."""
    if tool.unusable is not None or tool.name == SQL_TOOL:
        return None
    root = as_node(tool.raw_input)
    guessed_verb, guessed_entity = name_of_kind(tool.name)
    stated = text(root.get("x-verb"))
    verb = Verb(stated) if stated in set(Verb) else guessed_verb
    node = as_node(tool.raw_output)
    output = rows(node)
    if (stated or guessed_verb) == Verb.LIST and not (output and output.many):
        output = bare_rows(node) or output
    entity = text(root.get("x-entity")) or (output and output.entity) or guessed_entity
    if verb is None or not entity:
        return None
    return ToolCard(
        name=tool.name,
        entity=entity,
        verb=verb,
        synonyms=texts(root.get("x-synonyms")),
        arguments=properties(root, root),
        required=texts(root.get("required")),
        rows=output,
        order=text(root.get("x-order")),
    )


def read_kinds(cards: Iterable[ToolCard]) -> dict[str, Kind]:
    """Gather `cards` by kind of thing, with the attributes that listing shows or filters by."""
    gathered: dict[str, list[ToolCard]] = {}
    for card in cards:
        gathered.setdefault(card.entity, []).append(card)
    return {
        entity: Kind(entity, tuple(of_it), _attributes(entity, of_it))
        for entity, of_it in gathered.items()
    }


def name_of_kind(name: str) -> tuple[Verb | None, str | None]:
    """Return the verb and the one noun of the name of a tool: `list_orders` lists orders."""
    parts = words.keys(name)
    verb = next((_VERB_WORDS[part] for part in parts if part in _VERB_WORDS), None)
    rest = [part for part in parts if part not in _VERB_WORDS]
    return verb, rest[0] if len(rest) == 1 else None


def _attributes(entity: str, cards: Sequence[ToolCard]) -> dict[str, Attribute]:
    kind = Kind(entity, tuple(cards))
    card = kind.listing
    if card is None:
        listed = next((c.rows for c in cards if c.verb is Verb.GET and c.rows), None)
        shown = listed.columns if listed is not None else dict[str, Shape]()
        return {name: Attribute(entity, name, each, name) for name, each in shown.items()}
    columns = card.rows.columns if card.rows and card.rows.many else dict[str, Shape]()
    found = {name: Attribute(entity, name, each, name) for name, each in columns.items()}
    for name, argument in card.arguments.items():
        if _role(argument) != "limit":
            _add_argument(found, kind, name, argument)
    return found


_FILTERS: Final = {"range.start": "start", "range.end": "end", "min": "minimum", "max": "maximum"}
"""The field of `Attribute` that keeps the argument with a role."""


def _add_argument(found: dict[str, Attribute], kind: Kind, name: str, argument: Shape) -> None:
    role = _role(argument)
    target = _field(found, kind, argument, role)
    old = found.get(target) or Attribute(kind.entity, target, argument)
    shape = _merged(argument, old.shape)
    found[target] = replace(old, shape=shape, **{_FILTERS.get(role or "", "equal"): name})


def _role(argument: Shape) -> str | None:
    if argument.role is not None:
        return argument.role
    first = words.keys(argument.name)[:1]
    if argument.name == "limit" and argument.is_number:
        return "limit"
    if argument.is_number and first in (("min",), ("max",)):
        return first[0]
    return None


def _field(found: Mapping[str, Attribute], kind: Kind, argument: Shape, role: str | None) -> str:
    if argument.field is not None:
        return argument.field
    if role in ("range.start", "range.end"):
        dated = (name for name, each in found.items() if each.column and each.shape.is_date)
        return next(dated, "date")
    if argument.name in found:
        return argument.name
    if argument.ref is not None:
        own = "id" if argument.ref == kind.identity else None
        same = (n for n, each in found.items() if each.shape.ref == argument.ref and n != own)
        return own if own is not None and own in found else next(same, argument.name)
    bare = argument.name.removeprefix("min_").removeprefix("max_")
    if role in ("min", "max"):
        return next((name for name in found if name.startswith(bare)), bare)
    return argument.name


def _merged(argument: Shape, column: Shape) -> Shape:
    """Return what both say, the argument first: its words are those by which one may filter."""
    said: dict[str, tuple[str, ...]] = dict(column.values)
    for value, phrases in argument.values.items():
        said[value] = tuple(dict.fromkeys((*phrases, *said.get(value, ()))))
    return replace(
        argument,
        nullable=column.nullable,
        synonyms=tuple(dict.fromkeys((*argument.synonyms, *column.synonyms))),
        values=said,
        cues=argument.cues or column.cues,
        gazetteer=tuple(dict.fromkeys((*argument.gazetteer, *column.gazetteer))),
        enum=argument.enum or column.enum,
        format=argument.format or column.format,
        unit=argument.unit or column.unit,
        kind=argument.kind or column.kind,
        ref=argument.ref or column.ref,
        role=argument.role if argument.role in ("from", "to") else None,
    )
