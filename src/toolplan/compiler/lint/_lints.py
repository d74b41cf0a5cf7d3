"""A toolbox as lints see it, and all lints, in the order of their findings.

A lint is a function that yields its findings about one tool. Its name is the code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from typing import Final, NamedTuple, TypeAlias

from toolplan.plan.diagnostics import words
from toolplan.plan.model import escape_pointer
from toolplan.plan.path import Json
from toolplan.schema import JsonType, Schema, at, elements, required, types_of
from toolplan.schema.tool import Effects, Tool, Toolbox
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
        """The kind of thing it identifies: `facility` for `facility_ids`; None where unknown."""
        parts = words(self.name)
        return stem(parts[-2]) if len(parts) > 1 and parts[-1] in ID_WORDS else None


class Catalogue:
    """A toolbox, and the facts about it that lints need, each computed once."""

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
        """Return whether some tool may return values that `argument` takes."""
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


HUGE_ENUM: Final = 100
"""Maximum number of values of an enumeration that a prompt has room for."""

_SHORTEST_DESCRIPTION: Final = 3
_MOST_SHOWN: Final = 5

_DATE_WORDS: Final = frozenset(("date", "datetime", "timestamp", "day", "since", "until"))
_SAYS_DATE: Final = re.compile(
    r"\b(YYYY|ISO[ -]?8601|RFC[ -]?3339|timestamp|date(time)?s?)\b", re.IGNORECASE
)
_SAYS_CHOICE: Final = re.compile(
    r"\b(one of( the following)?:|enum\b|(allowed|possible|valid|supported) values?\b)"
    r"|(['\"`][\w .-]{1,30}['\"`](, ?| or |, or | ?/ ?| ?\| ?)){2}",
    re.IGNORECASE,
)
_SAYS_EXAMPLE: Final = re.compile(r"\be\.g\.|\b(such as|for example|like)\b", re.IGNORECASE)
_SAYS_ID: Final = re.compile(
    r"(?!(\S+ ){0,5}names?\b)(\S+ ){0,5}\(?(ids?|identifiers?|uuids?|guids?)\b", re.IGNORECASE
)
_NAMING: Final = ID_WORDS | {"code", "key", "name", "names", "number", "slug", "token"}


Report: TypeAlias = tuple[str, str, str]
"""The place of a finding in the tool object, a sentence of fact, and help."""
Lint: TypeAlias = Callable[[Tool, Catalogue], Iterator[Report]]
ArgumentTest: TypeAlias = Callable[[Argument, Catalogue], object]

LINTS: Final[dict[str, Lint]] = {}
"""All lints by their codes, in the order of their findings."""


def _lint(function: Lint) -> Lint:
    LINTS[getattr(function, "__name__", "").replace("_", "-")] = function
    return function


def _argument_lint(message: str, help: str) -> Callable[[ArgumentTest], Lint]:
    """Make a lint of a test of one argument, whose name stands for `{}` in message and help."""

    def made(test: ArgumentTest) -> Lint:
        @wraps(test)
        def find(tool: Tool, catalogue: Catalogue) -> Iterator[Report]:
            for each in catalogue.arguments[tool.name]:
                if test(each, catalogue):
                    name = repr(each.name)
                    yield each.pointer, message.replace("{}", name), help.replace("{}", name)

        return _lint(find)

    return made


@_lint
def unusable_schema(tool: Tool, _: Catalogue) -> Iterator[Report]:
    """Fix a schema that cannot be used.

    With an invalid input schema the tool cannot be called. With an invalid output schema references
    to its results are not checked.
    """
    faults = {"/input_schema": tool.unusable, "/output_schema": tool.output_fault}
    for place, fault in faults.items():
        if fault is not None:
            yield place, f"The schema is invalid: {fault}.", "Fix the schema."


@_lint
def no_description(tool: Tool, _: Catalogue) -> Iterator[Report]:
    """Describe what a tool does: it says nothing, or only repeats its name.

    Planners choose by descriptions, and search finds tools by them.
    """
    said = [word for word in words(tool.description) if word not in words(tool.name)]
    if len(said) < _SHORTEST_DESCRIPTION:
        content = "is empty" if not tool.description.strip() else "says little more than the name"
        yield (
            "/description",
            f"The description {content}.",
            "Say in a sentence what the tool returns or changes.",
        )


@_lint
def no_output_schema(tool: Tool, _: Catalogue) -> Iterator[Report]:
    """Declare what a tool returns.

    Without it, references to its result can only be checked during the run.
    """
    if tool.raw_output is None and tool.compute_output is None:
        yield (
            "/output_schema",
            "The tool declares no output schema.",
            "Declare an output schema (MCP: outputSchema); until then it is learned from results.",
        )


@_lint
def unknown_completeness(tool: Tool, _: Catalogue) -> Iterator[Report]:
    """Let a list with a limit show whether it is whole: a total, a cursor, a flag, a page number.

    Otherwise a full page may be all rows or the first of many, and what is computed from it can
    only be said to be over a part.
    """
    paging = None if tool.has_effects else tool.paging
    if paging is None or paging.limit is None or paging.can_page or paging.facts.shows_end:
        return
    if not paging.limit.gives_all and not paging.gives_headers:
        yield (
            f"/input_schema/properties/{escape_pointer(paging.limit.path[0])}",
            f"{paging.limit.name!r} limits the list, and nothing shows whether more rows follow.",
            "Return a total or `has_more`, or take a page, an offset or a cursor; or say in the"
            " schema that the list is whole: `x-pages` false.",
        )


@_lint
def unknown_effects(tool: Tool, _: Catalogue) -> Iterator[Report]:
    """Declare whether a call changes anything.

    A tool without it is treated as destructive: every plan that calls it needs approval.
    """
    if tool.effects is Effects.UNKNOWN:
        yield (
            "/annotations",
            "The tool does not declare whether a call changes anything.",
            "Annotate it (MCP: readOnlyHint, destructiveHint), or label it: --effects TOOL=read.",
        )


@_argument_lint("{} has no type.", "Add its type to the schema.")
def untyped_argument(argument: Argument, _: Catalogue) -> bool:
    """Give every argument a type.

    Without it, neither a planner nor the check knows what the argument takes.
    """
    schema = argument.schema
    return schema is None or (not argument.node and len(types_of(schema)) > 1)


@_argument_lint(
    "{} seems to be a date, but takes any text.",
    'Add "format": "date" or "date-time".',
)
def date_as_text(argument: Argument, _: Catalogue) -> object:
    """Declare in the schema that an argument is a date, as its name or description says.

    Otherwise "last week" passes the check, and fails in the tool.
    """
    named = _DATE_WORDS & set(words(argument.name))
    return argument.is_free and (named or _SAYS_DATE.search(argument.description))


@_argument_lint(
    "{} seems to be one of a few values, but takes any text.",
    'List the values: "enum": [...].',
)
def choice_as_text(argument: Argument, _: Catalogue) -> object:
    """List the few values of an argument in the schema, as its description does.

    Otherwise another value passes the check, and fails in the tool or finds nothing.
    """
    said = argument.description
    return argument.is_free and _SAYS_CHOICE.search(said) and not _SAYS_EXAMPLE.search(said)


@_argument_lint(
    "{} seems to be an identifier, but its name does not say so.",
    "Name it after what it identifies, for example facility_id.",
)
def identifier_as_text(argument: Argument, _: Catalogue) -> object:
    """Name an argument after what it identifies, as its description does.

    Planners connect tools by names: `facility_id` is what a facility has as `id`.
    """
    name = argument.name
    named = _NAMING & set(words(name)) or name.casefold().endswith("id")
    return argument.is_free and not named and _SAYS_ID.match(argument.description)


@_lint
def indistinguishable_arguments(tool: Tool, catalogue: Catalogue) -> Iterator[Report]:
    """Describe arguments of one tool that have the same type.

    A planner can distinguish them only by their names.
    """
    alike: dict[str, list[Argument]] = {}
    for each in catalogue.arguments[tool.name]:
        if each.schema is not None and not each.description:
            alike.setdefault(repr(each.schema.node), []).append(each)
    for group in alike.values():
        if len(group) > 1:
            names = _shown([each.name for each in group])
            message = f"These arguments differ only in their names: {names}."
            yield group[0].pointer, message, "Describe each of them."


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_MOST_SHOWN])) + (" …" if len(names) > _MOST_SHOWN else "")


@_lint
def huge_enum(tool: Tool, catalogue: Catalogue) -> Iterator[Report]:
    """Keep enumerations short.

    They take room in every prompt, and models choose badly among many values.
    """
    for each in catalogue.arguments[tool.name]:
        values = each.node.get("enum")
        if isinstance(values, list) and len(values) > HUGE_ENUM:
            yield (
                each.pointer,
                f"{each.name!r} lists {len(values)} values.",
                "Accept a text, and offer a tool that finds the right value.",
            )


@_argument_lint(
    "No tool is known to return {}.",
    "Offer a tool that lists or finds it, with {} or 'id' in its output.",
)
def unproduced_reference(argument: Argument, catalogue: Catalogue) -> bool:
    """Offer a tool that returns the identifiers that another tool requires.

    Otherwise a plan works only if the question names the identifier.
    """
    return argument.needed and not catalogue.returns(argument)


@_lint
def similar_tools(tool: Tool, catalogue: Catalogue) -> Iterator[Report]:
    """Distinguish tools with the same arguments and nearly the same description.

    A planner can only guess which one is meant.
    """
    if others := catalogue.alike.get(tool.name, ()):
        yield (
            "/description",
            f"The description is nearly the same as that of {_shown(others)}.",
            "Say in each how it differs, or offer only one of them.",
        )


def lint_tools(toolbox: Toolbox) -> list[Finding]:
    """Return all findings about `toolbox`, by tool, in its order."""
    catalogue = Catalogue(toolbox)
    return [
        Finding(code, tool.name, *report)
        for tool in toolbox.values()
        for code, find in LINTS.items()
        for report in find(tool, catalogue)
    ]
