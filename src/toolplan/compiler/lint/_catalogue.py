"""A toolbox as lints see it, and their findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from toolplan.plan.diagnostics import words
from toolplan.plan.model import escape_pointer
from toolplan.plan.path import Json
from toolplan.schema import JsonType, Schema, at, elements, required, types_of
from toolplan.schema.tool import Tool, Toolbox
from toolplan.tools.search import stem, terms

ID_WORDS: Final = frozenset(("id", "ids", "uuid", "uuids", "guid", "guids"))

_NARROWED: Final = frozenset(("format", "enum", "const", "pattern", "anyOf", "oneOf", "allOf"))
_LISTS: Final[frozenset[JsonType]] = frozenset(("array",))
_TEXTS: Final[frozenset[JsonType]] = frozenset(("string",))
_VALUES: Final = frozenset(("enum", "const", "examples", "default"))
_MOST_DEPTH: Final = 24
_FEWEST_TERMS: Final = 3
_NEARLY_ALL: Final = 0.9
_MOST_COMPARED: Final = 300


class Finding(NamedTuple):
    """Something that makes a tool hard to plan with.

    `code` is the lint, `pointer` the place in the tool object (`Tool.to_json`), `help` what to do.
    """

    code: str
    tool: str
    pointer: str
    message: str
    help: str


class Argument(NamedTuple):
    """One argument of a tool.

    `texts` is true where it takes only texts, or lists of texts; `node` is then the schema of one.
    """

    tool: Tool
    name: str
    schema: Schema | None
    node: Mapping[str, Json]
    texts: bool
    needed: bool

    @property
    def pointer(self) -> str:
        """The place in the tool object."""
        return f"/input_schema/properties/{escape_pointer(self.name)}"

    @property
    def description(self) -> str:
        """The description; for a list of texts, that of the list and of its items."""
        outer = self.schema.node if self.schema is not None else {}
        said = [part.get("description") for part in (outer, self.node) if isinstance(part, Mapping)]
        return " ".join(dict.fromkeys(text for text in said if isinstance(text, str)))

    @property
    def is_free(self) -> bool:
        """Whether it takes any text at all."""
        return self.texts and not _NARROWED & self.node.keys()

    @property
    def thing(self) -> str | None:
        """What it identifies: `facility` for `facility_ids`; None where the name does not say."""
        parts = words(self.name)
        return stem(parts[-2]) if len(parts) > 1 and parts[-1] in ID_WORDS else None


class Catalogue:
    """A toolbox, and what lints need to know of it, each computed once."""

    def __init__(self, toolbox: Toolbox) -> None:
        self.toolbox = toolbox

    @cached_property
    def arguments(self) -> Mapping[str, tuple[Argument, ...]]:
        """The arguments of every usable tool, by its name."""
        return {name: tuple(_arguments(tool)) for name, tool in self.toolbox.items()}

    @cached_property
    def fields(self) -> Mapping[str, frozenset[str]]:
        """The output fields of every tool, in lower case, singular, as one word."""
        tools = self.toolbox.items()
        return {name: frozenset(map(_joined, _fields(tool.raw_output))) for name, tool in tools}

    @cached_property
    def output_fields(self) -> frozenset[str]:
        """The output fields of all tools."""
        return frozenset[str]().union(*self.fields.values())

    @cached_property
    def listing_tools(self) -> Mapping[str, tuple[Tool, ...]]:
        """The tools that may list things, by each term of their names.

        They only read, do not require the identifier of that thing, and return an `id` or declare
        no output.
        """
        found: dict[str, tuple[Tool, ...]] = {}
        for tool in self.toolbox.values():
            has_ids = tool.raw_output is None or bool(self.fields[tool.name] & ID_WORDS)
            if tool.has_effects or not has_ids:
                continue
            first = {each.thing for each in self.arguments[tool.name] if each.needed}
            for word in {stem(word) for word in words(tool.name)} - first:
                found[word] = (*found.get(word, ()), tool)
        return found

    @cached_property
    def alike(self) -> Mapping[str, tuple[str, ...]]:
        """For each tool the names of those before it with nearly the same description."""
        found: dict[str, tuple[str, ...]] = {}
        groups: dict[tuple[str, ...], list[tuple[str, frozenset[str]]]] = {}
        for tool in self.toolbox.values():
            spoken = frozenset(terms(tool.description))
            if len(spoken) < _FEWEST_TERMS:
                continue  # another lint finds this
            # only tools with the same arguments are compared
            group = groups.setdefault(tuple(sorted(tool.signature.inputs)), [])
            found[tool.name] = tuple(
                name
                for name, other in group[:_MOST_COMPARED]
                if len(spoken & other) >= _NEARLY_ALL * len(spoken | other)
            )
            group.append((tool.name, spoken))
        return found

    def returns(self, argument: Argument) -> bool:
        """Return whether some tool may return what `argument` takes."""
        thing = argument.thing
        if thing is None or _joined(argument.name) in self.output_fields:
            return True
        return any(tool.name != argument.tool.name for tool in self.listing_tools.get(thing, ()))


def _arguments(tool: Tool) -> Iterator[Argument]:
    needed = required(tool.input) if tool.unusable is None else ()
    for name in tool.signature.inputs if tool.unusable is None else ():
        found = at(tool.input, (name,))
        schema = one = found if isinstance(found, Schema) else None
        if schema is not None and types_of(schema) - {"null"} == _LISTS:
            inner = elements(schema)
            one = inner if isinstance(inner, Schema) else None
        texts = one is not None and types_of(one) - {"null"} == _TEXTS
        node = one.node if one is not None and isinstance(one.node, dict) else {}
        yield Argument(tool, name, schema, node, texts, name in needed)


def _fields(schema: Json, depth: int = 0) -> Iterator[str]:
    """Yield the names of all properties anywhere in `schema`."""
    parts = schema if isinstance(schema, list) and depth < _MOST_DEPTH else []
    if isinstance(schema, dict) and depth < _MOST_DEPTH:
        properties = schema.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        parts = [each for key, each in schema.items() if key not in _VALUES]
    for part in parts:
        yield from _fields(part, depth + 1)


def _joined(name: str) -> str:
    return "".join(words(name)).removesuffix("s")
