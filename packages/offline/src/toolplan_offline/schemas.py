"""The kinds of things that tools read, from the schemas of the tools.

An entity is a kind of thing with a list tool, a get tool and fields. A field joins an argument of
the list tool (how to filter) and a column of its rows (how to compute).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final, cast

import msgspec

from toolplan.schema import flat
from toolplan.schema.tool import Effects, Tool
from toolplan_offline.words import plural, singular, spoken

Node = Mapping[str, Any]
_EVENT: Final = re.compile(r"date|day|time(stamp)?|(?!updat|modif)\w+([eil]d|[hn]t|en|wn)_(on|at)")
_HAPPENED: Final = re.compile(_EVENT.pattern + r"|(?!updat|modif)\w+([eil]d|[hn]t|en|wn)")
_OPEN: Final = re.compile(r"\w+_(after|since|before|until|from|to)")
_JSON_TYPES: Final = ("string", "number", "integer", "boolean")


class English(msgspec.Struct, frozen=True):
    """The tables of `english.toml`."""

    units: dict[str, dict[str, float]]
    cues: dict[str, frozenset[str]]
    degrees: list[tuple[str, str, frozenset[str]]]
    classes: dict[str, frozenset[str]]


ENGLISH: Final = msgspec.toml.decode(
    files("toolplan_offline").joinpath("english.toml").read_bytes(), type=English
)


def _endings() -> dict[str, str]:
    """Return the units by what the name of a field in them ends with."""
    found = dict[str, str]()
    for unit, names in ENGLISH.units.items():
        own = [n for n, size in names.items() if size == 1 and n not in ("money", "degree")]
        said = [unit.lower(), *map(plural, own), *(own if unit.isupper() else ())]
        found |= dict.fromkeys(said, unit)
    return found


_ENDINGS: Final = _endings()


@dataclass(slots=True)
class Field:
    """A field of an entity.

    Attributes:
        kind: its `x-kind`, or "bool", "number", "date", "enum", "text", "list".
        ref: the identity that its values are, such as "thing.id".
        column: whether the rows of the list tool have it.
        cued: whether a value needs its cue: the two ends of a way, and elements of a list.
        equal: the argument that filters by equality; `many`: it takes a list; `lists_only`: and
            nothing else; `literal`: it takes no reference.
        least, most: the arguments that are its bounds.
        json: the type of the column, as the tool `sql` names types; a schema for lists of texts.
        lower: whether the known values are written in lower case.
        part_of: the field of which it is a part, as a load is of a capacity.
        timed: whether the arguments of its bounds take a time of day.
    """

    name: str
    entity: str
    kind: str = ""
    ref: str = ""
    unit: str = ""
    column: bool = False
    nullable: bool = False
    words: list[str] = field(default_factory=list[str])
    cues: list[str] = field(default_factory=list[str])
    values: dict[Any, list[str]] = field(default_factory=dict[Any, list[str]])
    cued: bool = False
    equal: str = ""
    many: bool = False
    lists_only: bool = False
    literal: bool = False
    least: str = ""
    most: str = ""
    json: Any = ""
    lower: bool = False
    timed: bool = False
    part_of: str = ""


@dataclass(slots=True)
class Entity:
    """A kind of thing.

    Attributes:
        rows: the path to the rows in the output of the list tool; None where it declares none.
        record: the path to the one record in the output of the get tool.
        day: the field that a date without a verb is about; "" where several are as likely.
        prefix: the letters with which identities begin.
        arguments: the arguments of the list tool, in their order; `required`: those it requires.
        fields: by their names; its own identity is "id" in all cases.
        order: the field by which its rows are sorted, and asc or desc.
    """

    name: str
    nouns: list[str] = field(default_factory=list[str])
    list_tool: str = ""
    get_tool: str = ""
    get_arg: str = ""
    limit: str = ""
    rows: str | None = None
    record: str = ""
    fields: dict[str, Field] = field(default_factory=dict[str, Field])
    day: str = ""
    prefix: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    order: tuple[str, str] = ("", "")

    def plans_ahead(self, day: str) -> bool:
        """Return whether the dates of a field can lie ahead, as those of things that are due."""
        values = [str(v) for f in self.fields.values() if f.kind == "enum" for v in f.values]
        said = " ".join(map(spoken, [day, self.name, *values])).split()
        return bool(ENGLISH.classes["ahead"] & {*said})

    @property
    def year(self) -> str:
        """The field that holds a year and no date, as a vintage; "" where none does."""
        fields = (f for f in self.fields.values() if f.kind in ("number", "text"))
        years = (f for f in fields for w in f.words if w.split()[-1] in ENGLISH.classes["years"])
        return next((f.name for f in years), "")

    @property
    def label(self) -> Field | None:
        """The field of its own name, if its list is filtered by that, or its rows have it."""
        own = (self.fields.get(name) for name in ("name", "title", f"{self.name}_name"))
        return next((f for f in own if f and (f.equal or f.column)), None)

    @property
    def keys(self) -> list[Field]:
        """The fields that carry an identity."""
        return [f for f in self.fields.values() if f.ref]


@dataclass(slots=True)
class Report:
    """A tool that answers a question by itself; `start`, `end` and `days` bound its period."""

    tool: str
    phrases: tuple[str, ...] = ()
    start: str = ""
    end: str = ""
    days: str = ""


class Schemas:
    """The entities and reports of tools that read."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        """Read the schemas of `tools`, except those that may change something."""
        self.entities: dict[str, Entity] = {}
        self.reports: dict[str, Report] = {}
        self.rates: set[str] = set()
        for tool in tools:
            if reads(tool):
                self._tool(tool)
        self.entities = {k: e for k, e in self.entities.items() if e.list_tool or e.get_tool}
        for entity in self.entities.values():
            _refer(entity, self.entities)
            entity.day = entity.day or _own_day(entity)
            own = [f.name for f in entity.fields.values() if f.ref == f"{entity.name}.id"]
            if own and "id" not in entity.fields:
                entity.fields["id"] = entity.fields.pop(own[0])

    def _tool(self, tool: Tool) -> None:
        schema = as_node(flat(tool.raw_input))
        self.rates |= {*re.findall(r"\b([a-z]+)_rate", str(flat(tool.raw_output)))}
        verb, noun = schema.get("x-verb"), schema.get("x-entity")
        required = tuple(texts_of(schema, "required"))
        if not noun:
            verb, noun = named_after(tool.name, needs=bool(required))
        if not isinstance(noun, str) or not noun:
            return
        props = as_node(schema.get("properties"))
        if verb == "report":
            self.reports[tool.name] = _report(tool.name, schema, props)
            return
        entity = self.entities.setdefault(noun, Entity(noun, [spoken(noun)]))
        if verb == "get" and len(required) == 1 and not entity.get_tool:
            entity.get_tool, entity.get_arg = tool.name, required[0]
            _read_prefix(entity, as_node(props.get(required[0])))
            entity.record = _read_columns(entity, tool, listing=False) or ""
        elif verb == "list" and not entity.list_tool:
            entity.list_tool, entity.required = tool.name, required
            entity.arguments = tuple(props)
            order = re.fullmatch(r"(\w+) (asc|desc)", str(schema.get("x-order")))
            entity.order = (order[1], order[2]) if order else ("", "")
            entity.nouns += [n for n in texts_of(schema, "x-synonyms") if n not in entity.nouns]
            entity.rows = _read_columns(entity, tool, listing=True)
            for name, node in props.items():
                _read_argument(entity, name, as_node(node))


def reads(tool: Tool) -> bool:
    """Return whether a tool only reads: as it states, or, where it states nothing, by its name."""
    named = bool(named_after(tool.name, needs=True)[0])
    return tool.effects is Effects.READ or (tool.effects is Effects.UNKNOWN and named)


def as_node(value: object) -> Node:
    """Return a JSON object, or an empty one in place of anything else."""
    return cast("Node", value) if isinstance(value, Mapping) else {}


def texts_of(node: Node, key: str) -> list[str]:
    """Return the texts of a list in a JSON object, without its other values."""
    given = node.get(key)
    listed = cast("list[object]", given) if isinstance(given, list) else []
    return [each for each in listed if isinstance(each, str)]


def types_of(node: Node) -> list[str]:
    """Return the JSON types that a schema names."""
    given = node.get("type")
    return [given] if isinstance(given, str) else texts_of(node, "type")


def named_after(name: str, *, needs: bool) -> tuple[str, str]:
    """Return the verb and the thing in the name of a tool, or nothing.

    `needs`: the tool requires an argument.
    """
    parts = spoken(name).split()
    for said in parts:
        verb = next((v for v in ("list", "get") if said in ENGLISH.classes[v]), None)
        rest = [p for p in parts if p not in (said, "by", "id")]
        if verb and rest:
            last = singular(rest[-1])
            plural = last != rest[-1]
            return "list" if plural and not needs else verb, "_".join([*rest[:-1], last])
    return "", ""


def _report(name: str, schema: Node, props: Node) -> Report:
    roles = {as_node(node).get("x-role"): arg for arg, node in props.items()}
    phrases = () if schema.get("required") else tuple(texts_of(schema, "x-synonyms"))
    start, end = roles.get("range.start", ""), roles.get("range.end", "")
    return Report(name, phrases, start, end, "days" if "days" in props else "")


def _read_prefix(entity: Entity, node: Node) -> None:
    for text in [str(node.get("pattern", "")).lstrip("^"), *texts_of(node, "examples")]:
        found = re.match(r"([A-Za-z]{1,4})-?(?:\d|\[0-9\]|\\d)", text)
        if found and not entity.prefix:
            entity.prefix = found[1]


def _read_columns(entity: Entity, tool: Tool, *, listing: bool) -> str | None:
    """Read the fields of a row; return the path to the rows or the record, or None."""
    at: list[str] = []
    row = as_node(flat(tool.raw_output))
    if "array" in types_of(row):
        row = as_node(row.get("items"))
    else:
        props = as_node(row.get("properties"))
        inner = {k: as_node(as_node(v).get("items")) for k, v in props.items()}
        lists = [k for k, v in inner.items() if as_node(v.get("properties"))]
        one = [k for k, v in props.items() if as_node(as_node(v).get("properties"))]
        if listing and not lists:
            return None
        if listing or (len(props) == 1 and one):
            at = [(lists if listing else one)[0]]
            row = as_node(props[at[0]])
            row = as_node(row.get("items")) if listing else row
    for name, node in as_node(row.get("properties")).items():
        found = read_field(entity, name, as_node(node))
        found.column = found.column or listing
        if as_node(node).get("x-ref") == f"{entity.name}.id" or name == "id":
            found.ref = found.ref or f"{entity.name}.id"
            _read_prefix(entity, as_node(node))
    return ".".join(at)


def _text(node: Node, key: str) -> str:
    given = node.get(key)
    return given if isinstance(given, str) else ""


def read_field(entity: Entity, name: str, node: Node) -> Field:
    """Return the field `name` of `entity`, with the facts in `node` about it added."""
    found = entity.fields.setdefault(name, Field(name, entity.name))
    kinds = types_of(node)
    found.ref = found.ref or _text(node, "x-ref")
    found.nullable = found.nullable or "null" in kinds
    dated = node.get("format") if node.get("format") in ("date", "date-time") else ""
    found.json = found.json or dated or next((k for k in kinds if k in _JSON_TYPES), "")
    found.unit = found.unit or _text(node, "x-unit")
    found.part_of = found.part_of or _text(node, "x-part-of")
    head, _, suffix = name.rpartition("_")
    unit = _ENDINGS.get(suffix, "")
    is_rate = head.rpartition("_")[2] in ("per", *_ENDINGS)  # "price_per_kg", "speed_km_h"
    if (head or len(suffix) > 3) and unit and not is_rate and {"number", "integer"} & {*kinds}:
        found.unit = found.unit or unit
        found.words += [spoken(head)] * (spoken(head) not in ("", *found.words))
    found.kind = found.kind or _kind(node, kinds)
    if found.kind == "list" and types_of(as_node(node.get("items"))) == ["string"]:
        found.json = {"type": "array", "items": {"type": "string"}}
    found.words += [
        w for w in [spoken(name), *texts_of(node, "x-synonyms")] if w not in found.words
    ]
    found.cues += [c for c in texts_of(node, "x-cue") if c not in found.cues]
    found.cued = found.cued or node.get("x-role") in ("from", "to") or found.kind == "list"
    _read_values(found, node)
    return found


def _kind(node: Node, kinds: list[str]) -> str:
    if {*kinds} - {"null"} == {"array"} and not node.get("x-ref"):
        return "list"
    if isinstance(node.get("x-kind"), str):
        return str(node["x-kind"])
    if "boolean" in kinds:
        return "bool"
    if "date" in str(node.get("format")):
        return "date"
    if {"number", "integer"} & set(kinds):
        return "number"
    if _enum(node):
        return "enum"
    return "text" if node.get("format") else ""


def _enum(node: Node) -> list[str | int | float]:
    given = node.get("enum")
    listed = cast("list[object]", given) if isinstance(given, list) else []
    return [v for v in listed if isinstance(v, str | int | float)]


def _read_values(found: Field, node: Node) -> None:
    enum = _enum(node) or _enum(as_node(node.get("items")))
    known = texts_of(node, "x-gazetteer")
    found.lower = found.lower or (bool(known) and all(k == k.lower() for k in known))
    for value in [*enum, *known]:
        found.values.setdefault(value, [spoken(str(value)) if value in enum else str(value)])
    for value, texts in as_node(node.get("x-values")).items():
        is_bool = found.kind == "bool"
        key: Any = value == "true" if is_bool else value
        said = found.values.setdefault(key, [] if is_bool else [str(value)])
        said += [t for t in texts_of({"": texts}, "") if t not in said]


def _role(name: str, node: Node) -> str:
    if isinstance(node.get("x-role"), str):
        return str(node["x-role"])
    classes = ENGLISH.classes
    for role, names in (("range.start", "start"), ("range.end", "end"), ("limit", "limit")):
        if name in classes[names]:
            return role
    bound = re.match(r"(min|max)(imum)?_", name)
    return bound[1] if bound else ""


def _read_argument(entity: Entity, name: str, node: Node) -> None:
    role, about = _role(name, node), str(node.get("x-field") or "")
    if role == "limit":
        entity.limit = name
    elif not role and "date" in str(node.get("format")) and _OPEN.fullmatch(name):
        return  # the schema does not state whether that day counts, and the rows have their dates
    elif role.startswith("range"):
        days = [f.name for f in entity.fields.values() if f.kind == "date"]
        about = about or (days[0] if len(days) == 1 else "date" if not days else "")
        if not about:
            return  # the schema does not state which of several dates it bounds
        found = read_field(entity, about, {"format": "date"})
        entity.day = entity.day or about
        found.timed = node.get("format") == "date-time"
        found.least, found.most = (
            (name, found.most) if role == "range.start" else (found.least, name)
        )
    elif role in ("min", "max"):
        bare = re.sub("^(min|max)(imum)?_", "", name)
        fits = (c for c in entity.fields if c == bare or c.startswith(bare + "_"))
        kept = {k: v for k, v in node.items() if k in ("type", "x-unit", "x-synonyms")}
        found = read_field(entity, about or next(fits, bare), kept)
        found.least, found.most = (name, found.most) if role == "min" else (found.least, name)
    else:
        # a list of identities is of the field that carries one
        of_one = name.endswith("_ids") and name[:-1] in entity.fields
        own = str(node.get("x-ref", "")).startswith(entity.name + ".")
        found = read_field(entity, about or ("id" if own else name[:-1] if of_one else name), node)
        found.equal, found.many = name, "array" in types_of(node)
        found.lists_only = {*types_of(node)} - {"null"} == {"array"}
        found.literal = bool(node.get("x-literal"))


def _refer(entity: Entity, entities: Mapping[str, Entity]) -> None:
    """Note which fields are identities of other things, by hint or by name."""
    for found in entity.fields.values():
        named = re.fullmatch(r"(\w+?)_ids?", found.name)
        if not found.ref and named and named[1] in entities:
            found.ref = f"{named[1]}.id"
        if found.ref and found.ref.split(".")[0] not in entities:
            found.ref = ""


def _own_day(entity: Entity) -> str:
    """Return the date on which a thing happened, if its name says so, and all things have it."""
    days = [f for f in entity.fields.values() if f.kind == "date"]
    needed = [f.name for f in days if not f.nullable or len(days) == 1]
    exact = [name for name in needed if name in ("date", "day")] or needed
    event = _EVENT if entity.label else _HAPPENED  # what has a name stays when it has happened
    return exact[0] if len(exact) == 1 and event.fullmatch(exact[0]) else ""
