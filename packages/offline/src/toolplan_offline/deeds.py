"""Single calls: tools that change something, and tools that neither list nor get things.

The question begins with the verb of a tool and gives it every value; all words are used.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, cast

from toolplan.schema import flat
from toolplan.schema.tool import Tool
from toolplan_offline import schemas
from toolplan_offline.lexicon import Lexicon, Val, Word
from toolplan_offline.meaning import When
from toolplan_offline.words import singular, spoken
from toolplan_offline.world import Out, Part, World

Given = tuple[str, Any]
_NUMBERS: Final = ("number", "integer")
_CHANGES: Final = ("create", "update", "delete")


class Do(NamedTuple):
    """A call while it is read: its tool, its arguments, and the field that will be set."""

    tool: str
    args: frozenset[Given] = frozenset()
    about: str = ""


class Give(NamedTuple):
    """A value that a call may be given; `field`: for that field; `kind`: of that kind of thing."""

    value: Part
    field: Word | None = None
    kind: str = ""


class Deeds(schemas.Schemas):
    """The tools that are called singly, each as an entity whose fields are its arguments."""

    def __init__(self, tools: Iterable[Tool], reading: Lexicon) -> None:
        """Read the schemas of the tools that `reading` does not read."""
        self.entities: dict[str, schemas.Entity] = {}
        self.reports, self.rates = {}, set()
        self.verbs: dict[str, set[str]] = {}
        self.reads: set[str] = set()
        self.updates: set[str] = set()
        nouns = [noun for e in reading.entities.values() for noun in e.nouns]
        self._things = {word for noun in nouns for word in noun.split()}
        taken = {e.list_tool for e in reading.entities.values()} | set(reading.reports)
        for tool in tools:
            if tool.name not in taken:
                self._tool(tool)

    def _tool(self, tool: Tool) -> None:
        schema = schemas.as_node(flat(tool.raw_input))
        verb, noun = schema.get("x-verb"), schema.get("x-entity")
        if schemas.reads(tool):
            if noun or not schema.get("required"):
                return
            self.reads.add(tool.name)
        words = spoken(tool.name).split()
        nouns = [spoken(str(noun)), *schemas.texts_of(schema, "x-synonyms")] if noun else []
        things = {word for noun in nouns for word in noun.split()} or self._things
        own = {w for w in words if not {w, singular(w)} & things}
        if not noun:  # the words of its name that are no thing's are its verb, or the first one
            own = own if len(own) < len(words) else {words[0]}
            nouns = [" ".join(map(singular, [w for w in words if w not in own]))]
        own = own or {words[0]}
        said = schemas.ENGLISH.classes[verb] if verb in _CHANGES else frozenset[str]()
        self.verbs[tool.name] = own | said
        if verb == "update" or own & schemas.ENGLISH.classes["update"]:
            self.updates.add(tool.name)
        entity = schemas.Entity(
            tool.name,
            [noun for noun in nouns if noun],
            required=tuple(schemas.texts_of(schema, "required")),
        )
        for name, node in schemas.as_node(schema.get("properties")).items():
            found = schemas.read_field(entity, name, schemas.as_node(node))
            found.equal, found.column = name, False
            kinds = (kind for kind in schemas.types_of(schemas.as_node(node)) if kind != "null")
            found.json = next(kinds, found.json)
        self.entities[tool.name] = entity


class DeedLexicon(Lexicon):
    """The meanings of phrases in a question that calls one tool."""

    def __init__(self, tools: Iterable[Tool], reading: Lexicon) -> None:
        """Compile the lexicon; identities are those of the things that `reading` knows."""
        deeds = Deeds(tools, reading)
        super().__init__(deeds)
        self._reading = reading
        self.reads, self.updates = deeds.reads, deeds.updates
        for tool, verbs in deeds.verbs.items():
            for verb in verbs:
                self.add(verb, "VERB", tool)
        for name, entity in reading.entities.items():
            for noun in entity.nouns:
                self.add(noun, "N1", f"of {name}")
        self.light = set()

    def identities(self, text: str) -> list[tuple[str, str]]:
        """Return the things that an identity can be."""
        return self._reading.identities(text)

    def begins(self, words: Iterable[str]) -> bool:
        """Return whether the first word that means something is the verb of a tool."""
        asks = ("please", "kindly", "can", "could", "you", "i", "want", "to", "would", "like")
        first = next((w for w in words if w not in asks), "")
        return any(category == "VERB" for category, _ in self.entries.get(first, ()))


# --- the functions that deeds.txt names


def do(w: World, tool: str, noun: str | None = None, given: Give | None = None) -> Out:
    """Call the tool of a verb; the noun may be missing, and a value may stand before it."""
    if noun in (None, tool):
        yield from with_value(w, Do(tool), given) if given else [(Do(tool), int(noun is None))]


def do_read(w: World, noun: str) -> Out:
    """Call a tool that only reads by its noun."""
    if noun in getattr(w.lex, "reads", ()):
        yield Do(noun), 0


def begin(w: World, tool: str, field: Word, given: Give | None = None) -> Out:
    """Begin to set a field, perhaps of a thing that is named first."""
    call = Do(tool, about=field.field)
    if field.entity == tool:
        yield from with_value(w, call, given) if given else [(call, 0)]


def give(w: World, value: Part, field: Word | None = None, kind: str = "") -> Out:
    """Parse a value, with its field if one is named; `kind`: a name is given."""
    yield Give(value, field, kind), 0


def give_of_noun(w: World, noun: str, text: Part) -> Out:
    """Parse the word after an entity noun as an identity."""
    if noun.startswith("of ") and (not isinstance(text, tuple) or noun == f"of {text[0]}"):
        yield Give(text, kind=noun[3:]), 0


def with_value(w: World, call: Do, given: Give) -> Out:
    """Add a value to a call; yield every argument that accepts it."""
    for f in w.lex.entities[call.tool].fields.values():
        if f.name in dict(call.args) or f.name == call.about:
            continue
        value = _fitting(f, call.tool, given)
        if value is not None:
            yield call._replace(args=call.args | {(f.name, value)}), 0


def with_text(w: World, call: Do, text: Part) -> Out:
    """Add the identity of the call's object, or its only required text."""
    e = w.lex.entities[call.tool]
    open_ = [e.fields[name] for name in e.required if name not in dict(call.args)]
    if len(open_) == 1 and (value := _plain(open_[0], text)) is not None:
        yield call._replace(args=call.args | {(open_[0].name, value)}), 0


def set_value(w: World, call: Do, value: Part) -> Out:
    """Set the field that the call is about."""
    f = w.lex.entities[call.tool].fields[call.about]
    fitting = _fitting(f, call.tool, Give(value, Word(call.tool, call.about)))
    if fitting is not None:
        yield Do(call.tool, call.args | {(call.about, fitting)}), 0


def _fitting(f: schemas.Field, tool: str, given: Give) -> str | float | None:
    """Return the value as the argument takes it; None where it does not fit."""
    if given.field is not None and given.field[:2] != (tool, f.name):
        return None
    match given.value:
        case Val(entity=entity, field=field, value=value):
            return value if (entity, field) == (tool, f.name) else None
        case When(lo=lo, hi=hi):
            return lo.isoformat() if f.kind == "date" and lo and lo == hi else None
        case (str(kind), str(identity)):
            return identity if f.ref == f"{kind}.id" else None
        case (float(number), units):
            unit = next(iter(cast("frozenset[Word]", units)), None)
            return _amount(f, number, unit, named=given.field is not None)
        case str() | float() as text:
            named = given.kind == f.name or (given.kind and f.name in ("id", f"{given.kind}_id"))
            return _plain(f, text) if given.field is not None or named else None
        case _:
            return None


def _amount(f: schemas.Field, number: float, unit: Word | None, *, named: bool) -> float | None:
    if f.json not in _NUMBERS or not (named or unit):
        return None
    if unit is not None and unit[:2] != (f.entity, f.name):
        return None
    value = number * (unit.factor if unit else 1.0)
    if value == int(value):
        return int(value)
    return value if f.json == "number" else None


def _plain(f: schemas.Field, text: str | float) -> str | float | None:
    """Return a text or a number as an argument without known values takes it."""
    if isinstance(text, float):
        whole = int(text) if text.is_integer() else text
        if f.json == "string":
            return str(whole)
        fits = f.json == "number" or (f.json == "integer" and text.is_integer())
        return whole if fits else None
    free = f.json == "string" and f.kind not in ("enum", "date", "bool")
    return text if free else None
