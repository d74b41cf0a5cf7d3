"""All lints, in the order of their findings.

A lint is a function that yields its findings about one tool. Its name is the code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Final, TypeAlias

from toolplan.compiler.lint._catalogue import ID_WORDS, Argument, Catalogue, Finding
from toolplan.plan.diagnostics import words
from toolplan.plan.model import escape_pointer
from toolplan.plan.path import Json
from toolplan.schema import types_of
from toolplan.schema.tool import Effects, Tool, Toolbox

HUGE_ENUM: Final = 100
"""The most values of an enumeration that a prompt has room for."""

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


def finding_to_json(finding: Finding) -> dict[str, Json]:
    """Return the wire form of `finding`."""
    return dict(finding._asdict())
