"""All lints, in the order in which their findings are reported.

A lint is a function that yields what it finds about one tool. Its name is the code, its docstring
the page.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from toolplan.diagnostics import words
from toolplan.path import Json
from toolplan.schema import types_of
from toolplan.tool_lint._catalogue import ID_WORDS, Argument, Catalogue, Finding
from toolplan.tools import Effects, Tool, Toolbox

HUGE_ENUM: Final = 100
"""An enumeration with more values takes more room in a prompt than it is worth."""

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
_TELLING: Final = ID_WORDS | {"code", "key", "name", "names", "number", "slug", "token"}


class Said(NamedTuple):
    """What a lint says: the place in the tool object, a sentence of fact, and the way out."""

    pointer: str
    message: str
    help: str


LintFunction: TypeAlias = Callable[[Tool, Catalogue], Iterable[Said]]


@dataclass(frozen=True, slots=True)
class Lint:
    """A habit of good catalogues. `code` is its one name; `page` is what is told of it."""

    code: str
    page: str
    find: LintFunction

    def check(self, tool: Tool, catalogue: Catalogue) -> Iterator[Finding]:
        """Yield what this lint finds about `tool`."""
        for pointer, message, help_ in self.find(tool, catalogue):
            yield Finding(self.code, tool.name, pointer, message, help_)


def _lint(function: LintFunction) -> Lint:
    name = getattr(function, "__name__", "")
    return Lint(name.replace("_", "-"), inspect.getdoc(function) or "", function)


@_lint
def unusable_schema(tool: Tool, _: Catalogue) -> Iterator[Said]:
    """Mend a schema that cannot be used.

    With an unusable input schema the tool cannot be called; with an unusable output schema nothing
    that refers to its results is checked.
    """
    if tool.unusable is not None:
        yield Said("/input_schema", f"It cannot be used: {tool.unusable}.", "Mend the schema.")
    if tool.output_fault is not None:
        yield Said("/output_schema", f"It is not used: {tool.output_fault}.", "Mend the schema.")


@_lint
def no_description(tool: Tool, _: Catalogue) -> Iterator[Said]:
    """Describe what a tool does: it says nothing, or only repeats its name.

    Planners choose by descriptions, and search finds tools by them.
    """
    said = [word for word in words(tool.description) if word not in words(tool.name)]
    if len(said) < _SHORTEST_DESCRIPTION:
        told = "nothing" if not tool.description.strip() else "little more than its name"
        yield Said(
            "/description",
            f"The description says {told}.",
            "Say in a sentence what it gives or changes, and of what.",
        )


@_lint
def no_output_schema(tool: Tool, _: Catalogue) -> Iterator[Said]:
    """Declare what a tool gives.

    A reference to its result can only be checked when the result is there, in the middle of a run.
    """
    if tool.raw_output is None and tool.compute_output is None:
        yield Said(
            "/output_schema",
            "It does not say what it gives.",
            "Declare an output schema (MCP: outputSchema); until then one is learned from results.",
        )


@_lint
def unknown_effects(tool: Tool, _: Catalogue) -> Iterator[Said]:
    """Say whether a call changes anything.

    It is then treated as destructive: every plan that calls it needs an approval.
    """
    if tool.effects is Effects.UNKNOWN:
        yield Said(
            "/annotations",
            "It does not say whether a call changes anything.",
            "Annotate it (MCP: readOnlyHint, destructiveHint), or label it: --effects TOOL=read.",
        )


@_lint
def untyped_argument(tool: Tool, catalogue: Catalogue) -> Iterator[Said]:
    """Yield every argument a type.

    Neither a planner nor the check can tell what belongs there.
    """
    for each in catalogue.arguments[tool.name]:
        if each.schema is None or (not each.node and len(types_of(each.schema)) > 1):
            yield Said(each.pointer, f"{each.name!r} has no type.", "Give its type in the schema.")


@_lint
def date_as_text(tool: Tool, catalogue: Catalogue) -> Iterator[Said]:
    """Let the schema say that an argument is a date, as its name or description does.

    "last week" passes the check then, and fails in the tool.
    """
    for each in catalogue.arguments[tool.name]:
        named = _DATE_WORDS & set(words(each.name))
        if each.is_free and (named or _SAYS_DATE.search(each.description)):
            yield Said(
                each.pointer,
                f"{each.name!r} seems to be a date, and takes any text.",
                'Add "format": "date" or "date-time".',
            )


@_lint
def choice_as_text(tool: Tool, catalogue: Catalogue) -> Iterator[Said]:
    """Let the schema list the few values that the description of an argument names.

    A value that is none of them passes the check then, and fails in the tool or finds nothing.
    """
    for each in catalogue.arguments[tool.name]:
        said = each.description
        if each.is_free and _SAYS_CHOICE.search(said) and not _SAYS_EXAMPLE.search(said):
            yield Said(
                each.pointer,
                f"{each.name!r} seems to be one of a few values, and takes any text.",
                'List the values: "enum": [...].',
            )


@_lint
def identifier_as_text(tool: Tool, catalogue: Catalogue) -> Iterator[Said]:
    """Name an argument after what it identifies, as its description does.

    Planners connect tools by names: `facility_id` is what a facility has as `id`.
    """
    for each in catalogue.arguments[tool.name]:
        tells = _TELLING & set(words(each.name)) or each.name.casefold().endswith("id")
        if each.is_free and not tells and _SAYS_ID.match(each.description):
            yield Said(
                each.pointer,
                f"{each.name!r} seems to be an identifier, which its name does not say.",
                "Name it after what it identifies, as in facility_id.",
            )


@_lint
def indistinguishable_arguments(tool: Tool, catalogue: Catalogue) -> Iterator[Said]:
    """Describe arguments of one tool that take the same.

    Nothing but their names tells a planner which is which.
    """
    alike: dict[str, list[Argument]] = {}
    for each in catalogue.arguments[tool.name]:
        if each.schema is not None and not each.description:
            alike.setdefault(repr(each.schema.node), []).append(each)
    for group in alike.values():
        if len(group) > 1:
            names = ", ".join(repr(each.name) for each in group[:_MOST_SHOWN])
            more = " …" if len(group) > _MOST_SHOWN else ""
            yield Said(
                group[0].pointer,
                f"Only their names tell these arguments apart: {names}{more}.",
                "Describe each of them.",
            )


@_lint
def huge_enum(tool: Tool, catalogue: Catalogue) -> Iterator[Said]:
    """Keep enumerations short.

    They take room in every prompt, and models choose badly among so many.
    """
    for each in catalogue.arguments[tool.name]:
        values = each.node.get("enum")
        if isinstance(values, list) and len(values) > HUGE_ENUM:
            yield Said(
                each.pointer,
                f"{each.name!r} lists {len(values)} values.",
                "Take a text, and offer a tool that finds the right one.",
            )


@_lint
def unproduced_reference(tool: Tool, catalogue: Catalogue) -> Iterator[Said]:
    """Offer a tool that gives the identifiers that another one requires.

    A plan cannot find it out; somebody has to write it into the question.
    """
    for each in catalogue.arguments[tool.name]:
        if each.needed and not catalogue.gives(each):
            yield Said(
                each.pointer,
                f"No tool is known to give {each.name!r}.",
                f"Offer a tool that lists or finds what has it, with {each.name!r} or 'id' in its "
                "output schema.",
            )


@_lint
def similar_tools(tool: Tool, catalogue: Catalogue) -> Iterator[Said]:
    """Tell tools apart that have the same arguments and nearly the same words.

    A planner can only guess which one is meant.
    """
    others = catalogue.alike(tool)
    if others:
        names = ", ".join(repr(name) for name in others[:_MOST_SHOWN])
        more = " …" if len(others) > _MOST_SHOWN else ""
        yield Said(
            "/description",
            f"It reads nearly the same as {names}{more}.",
            "Say in each what the other does not do, or offer only one of them.",
        )


LINTS: Final = (
    unusable_schema,
    no_description,
    no_output_schema,
    unknown_effects,
    untyped_argument,
    date_as_text,
    choice_as_text,
    identifier_as_text,
    indistinguishable_arguments,
    huge_enum,
    unproduced_reference,
    similar_tools,
)

LINT_PAGES: Final = {lint.code: lint.page for lint in LINTS}
"""What each code means, for whoever asks."""


def lint_tools(toolbox: Toolbox, lints: Iterable[Lint] = LINTS) -> list[Finding]:
    """Return all that makes `toolbox` hard to plan over, tool by tool in its order."""
    catalogue = Catalogue(toolbox)
    chosen = tuple(lints)
    return [
        finding
        for tool in toolbox.values()
        for lint in chosen
        for finding in lint.check(tool, catalogue)
    ]


def finding_to_json(finding: Finding) -> dict[str, Json]:
    """Return the wire form of `finding`."""
    return dict(finding._asdict())
