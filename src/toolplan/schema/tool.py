"""Tools: named functions with schemas, and toolboxes of them.

A tool object is a tool as in MCP: name, description, input schema, optional output schema and
annotations. Hints for planners are `x-` keywords in the schemas; `x-aliases` are read here.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import cached_property
from typing import ClassVar, Final, TypeAlias, cast

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.plan.exact_json import read_json
from toolplan.plan.model import Signature
from toolplan.plan.path import Json, Path
from toolplan.schema import Schema, SchemaError, flat, tool_version
from toolplan.schema.paging import Paging, may_give_pages, paging_of

_MOST_NAMED: Final = 5
_GIVE_TOOLS: Final = "Give a list of tools: functions with @toolplan.tool, or toolplan.Tool."

Arguments: TypeAlias = dict[str, Json]
Call: TypeAlias = Callable[[Arguments], Awaitable[Json]]


class Effects(StrEnum):
    """The changes that a call may make; `unknown` is treated as `destructive`."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"
    UNKNOWN = "unknown"


_SEVERITY: Final = {Effects.READ: 0, Effects.WRITE: 1, Effects.UNKNOWN: 2, Effects.DESTRUCTIVE: 2}

EGRESS: Final = "egress"
"""The annotation of a tool whose calls can be read outside."""


class ToolError(ToolplanError):
    """Raised by a tool whose call failed; the message is for the person who reads the run."""

    _code: ClassVar[str] = "tool-error"

    def __init__(self, message: object = "", help: str | None = None) -> None:
        super().__init__(self._code, str(message), help)


class OutcomeUnknown(ToolError):
    """Raised by a tool that cannot know whether its call took effect: the connection broke, say.

    A call with effects that may not be repeated is then in doubt, and a person decides. `returned`
    is the unusable return value, if there is one: a tuple of one; the person is shown it.
    """

    _code = "outcome-unknown"

    def __init__(
        self, message: object = "", help: str | None = None, *, returned: tuple[object, ...] = ()
    ) -> None:
        super().__init__(message, help)
        self.returned = returned


class ResultUnusable(OutcomeUnknown):
    """Raised when a function was called and returned a value that its tool does not declare.

    A call with effects that may not be repeated is then in doubt; any other one failed.
    """

    _code = "tool-error"

    def __init__(self, message: object, returned: object) -> None:
        super().__init__(message, returned=(returned,))


class ToolObjectError(ToolplanError, ValueError):
    """A tool object or a toolbox cannot be used; the message names the tool and the reason."""

    def __init__(self, message: str, help: str | None = None, code: str = "tool-object") -> None:
        super().__init__(code, message, help)


class ComputedOutput(Struct, frozen=True):
    """The output schema that a tool computes for one call before it is made.

    `schema` is None if it is not known yet. `problems` are faults of the arguments, each a pointer
    into them and a clause, as `("/sql", "no column 'tons'")`.
    """

    schema: Schema | None
    problems: tuple[tuple[str, str], ...] = ()


class LearnedOutput(Struct, frozen=True):
    """The JSON Schema of a tool's earlier results, and their number.

    Later results may differ, so it is used for warnings only.
    """

    raw: Json
    samples: int


Schemas: TypeAlias = Mapping[str, Schema | None]
ComputeOutput: TypeAlias = Callable[[Mapping[str, Json], Schemas], ComputedOutput]
"""Computes the output of the literal arguments, and the schemas of the others by JSON Pointer."""


class Lineage(Struct, frozen=True):
    """The parts of a call's arguments that a part of its result depends on, as paths into them.

    `values` are the parts it is made of; `picks` decide only which of the values it is. `is_made`:
    the tool makes it itself, so that it is never as good as a constant of the plan. `is_new`: it
    need not be one of the values, so that a list of these may lack it.
    """

    values: frozenset[Path]
    picks: frozenset[Path] = frozenset()
    is_made: bool = False
    is_new: bool = False


class Claim(Struct, frozen=True):
    """A statement of a source on its tool that would lower its guard; it counts once accepted."""

    effects: Effects
    idempotent: bool

    def __str__(self) -> str:
        """Return the claim as a clause: "it only reads"."""
        if self.effects is Effects.READ:
            return "it only reads"
        harmless = ["it destroys nothing"] if self.effects is Effects.WRITE else []
        repeats = ["a call may be repeated"] if self.idempotent or not harmless else []
        return " and ".join([*harmless, *repeats])


ComputeFlow: TypeAlias = Callable[[Mapping[str, Json], Schemas], Callable[[Path], Lineage] | None]
"""Computes, of the parameters of `ComputeOutput`, the lineage of each path into the result.

None where it cannot be followed: then each part depends on all arguments.
"""


class Tool(Struct, frozen=True, dict=True, weakref=True):
    """A named function with schemas.

    `call` is None if only the description is known, which is enough to plan and check. `raw_output`
    is None if the tool declares no output schema; `learned` is then the schema of earlier results,
    if there are any. `unusable` is the reason why the tool cannot be called.
    `reports_pages`: it reports further pages beside its results, as headers do.
    `remote`: a server or service of others makes the call, so its own statements may only
    raise `effects`; `claim` is a statement beyond that which no person has accepted.
    `short_name`: its name at its source, where a tool of another open source has the same one.
    `recorded`: the tool object of the run that it continues, where only words differ.
    """

    name: str
    description: str
    raw_input: Json
    raw_output: Json = None
    effects: Effects = Effects.UNKNOWN
    idempotent: bool = False
    annotations: Mapping[str, Json] = field(default_factory=dict[str, Json])
    call: Call | None = None
    compute_output: ComputeOutput | None = None
    compute_flow: ComputeFlow | None = None
    source: str = ""
    learned: LearnedOutput | None = None
    reports_pages: bool = False
    remote: bool = False
    claim: Claim | None = None
    short_name: str = ""
    recorded: Mapping[str, Json] | None = None

    @cached_property
    def has_effects(self) -> bool:
        """Whether a call may change something, so that it needs an approval."""
        return self.effects is not Effects.READ

    @cached_property
    def may_repeat(self) -> bool:
        """Whether a second call with the same arguments has no further effect."""
        return self.effects is Effects.READ or self.idempotent

    def doubted(self, effects: Effects = Effects.UNKNOWN, idempotent: bool = False) -> Tool:
        """Return this tool of a source that is not trusted: its statements may only raise effects.

        `effects` and `idempotent` hold where nothing is stated; a word that would lower them is
        kept as the `claim`.
        """
        # of two words that contradict, the worse
        said = Effects.DESTRUCTIVE if _is_destructive(self.annotations) else self.effects
        lowers = _SEVERITY[said] < _SEVERITY[effects] or (self.idempotent and not idempotent)
        return replace(
            self,
            effects=max(said, effects, key=_SEVERITY.__getitem__),
            idempotent=self.idempotent and idempotent,
            remote=True,
            claim=Claim(said, self.idempotent) if lowers else None,
        )

    def believed(self) -> Tool:
        """Return this tool with the effects that its source claims, which a person accepted."""
        if self.claim is None:
            return self
        claimed = {"effects": self.claim.effects, "idempotent": self.claim.idempotent}
        return replace(self, **claimed, claim=None)

    @cached_property
    def input(self) -> Schema:
        """The schema of the arguments; closed against undeclared ones unless it opens itself.

        Raises:
            SchemaError: it is not valid (see `unusable`).
        """
        return Schema.load(self.raw_input).closed()

    @property
    def output(self) -> Schema | None:
        """The schema of the result, or None if the tool declares no valid one."""
        return self._declared_output[0]

    @property
    def output_fault(self) -> str | None:
        """Why the declared output schema is not valid, or None."""
        return self._declared_output[1]

    @cached_property
    def _declared_output(self) -> tuple[Schema | None, str | None]:
        return (None, None) if self.raw_output is None else _loaded(self.raw_output)

    @cached_property
    def learned_schema(self) -> Schema | None:
        """The schema of the earlier results of the tool, or None."""
        return None if self.learned is None else _loaded(self.learned.raw)[0]

    @cached_property
    def unusable(self) -> str | None:
        """Why the tool cannot be called (its input schema is not valid), or None."""
        try:
            _ = self.input
        except SchemaError as error:
            return f"input schema: {error}"
        return None

    @property
    def remedy(self) -> str:
        """Advice on a tool that is `unusable`."""
        return "Correct the schema where the tool is defined."

    @cached_property
    def aliases(self) -> tuple[str, ...]:
        """Other names under which plans may call the tool (`x-aliases` of its input schema)."""
        names = self.raw_input.get("x-aliases") if isinstance(self.raw_input, dict) else None
        return tuple(n for n in names if isinstance(n, str)) if isinstance(names, list) else ()

    @cached_property
    def stated_needs(self) -> Mapping[str, list[Json]]:
        """The needs of the tool's arguments as it states them (`x-needs`), by argument."""
        return {} if self.unusable is not None else self.input.stated("x-needs")

    @cached_property
    def flat_input(self) -> Mapping[str, Json]:
        """The schema of the arguments with references and combinations written out."""
        return flat(self.raw_input)

    @cached_property
    def paging(self) -> Paging | None:
        """The paging of the tool's list, or None where nothing shows any."""
        return paging_of(self.raw_input, self.raw_output, headers=self.reports_pages)

    @cached_property
    def may_give_pages(self) -> bool:
        """Whether a result may be a page of a list, as far as the schemas show it."""
        return self.paging is not None or may_give_pages(self.raw_input, self.raw_output)

    @cached_property
    def signature(self) -> Signature:
        """The names of arguments and of the output's fields, in declared order."""
        return Signature(tuple(_properties(self.raw_input)), tuple(_properties(self.raw_output)))

    def to_json(self) -> dict[str, Json]:
        """Return the tool object, which the approval of a plan covers."""
        if self.recorded is not None:
            return dict(self.recorded)
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.raw_input,
            "output_schema": self.raw_output,
            "annotations": {
                **self.annotations,
                "effects": self.effects.value,
                "idempotent": self.idempotent,
            },
        }

    @cached_property
    def version(self) -> str:
        """The digest of everything that calls depend on: of the tool object without its words."""
        return tool_version(self.to_json())

    @classmethod
    def from_json(cls, item: object) -> Tool:
        """Read a tool object as MCP or a model provider writes it; null and JSON text are accepted.

        Raises:
            ToolObjectError: it is not an object, has no name, or has a field of a wrong type.
        """
        if not isinstance(item, dict):
            raise ToolObjectError(f"A tool must be an object, not {type(item).__name__}.")
        fields = cast("dict[str, Json]", item)
        name = fields.get("name")
        if not isinstance(name, str) or not name:
            raise ToolObjectError("A tool has no 'name'.")
        description, hints = fields.get("description"), fields.get("annotations")
        if not isinstance(description, str | None):
            raise ToolObjectError(f"The 'description' of the tool {name!r} is no text.")
        hints = {} if hints is None else hints
        if not isinstance(hints, dict):
            raise ToolObjectError(f"The 'annotations' of the tool {name!r} are no object.")
        raw_input = _read_schema(fields, "input_schema", "inputSchema", "parameters")
        is_own = "idempotent" in hints  # of `to_json`
        repeats = ("idempotent",) if is_own else ("idempotentHint", "idempotent_hint")
        return cls(
            name=name,
            description=description or "",
            raw_input={"type": "object"} if raw_input is None else raw_input,
            raw_output=_read_schema(fields, "output_schema", "outputSchema"),
            effects=_effects(hints),
            idempotent=_is_true(hints, *repeats),
            annotations=hints,
        )


class Toolbox(Mapping[str, Tool]):
    """An immutable mapping of tool names to tools, in order."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        """Make a toolbox of `tools`.

        Raises:
            ToolObjectError: two of them have the same name, or one is not a tool.
        """
        self._tools: dict[str, Tool] = {}
        self.derived: dict[type, object] = {}
        """Indexes over the tools, by their class."""
        if isinstance(tools, str | bytes):
            message = f"A Toolbox is made of tools, not of a text: {tools[:60]!r}."
            raise ToolObjectError(message, _GIVE_TOOLS)
        listed: list[object] = [*tools]
        if functions := [(at, each) for at, each in enumerate(listed) if inspect.isroutine(each)]:
            names = ", ".join(f"{one.__name__!r} at [{at}]" for at, one in functions[:_MOST_NAMED])
            more = f", and {left} more" if (left := len(functions) - _MOST_NAMED) > 0 else ""
            raise ToolObjectError(
                f"The list holds functions that are not tools: {names}{more}."
                " Put @toolplan.tool above the definition of each."
            )
        for tool in listed:
            if not isinstance(tool, Tool):
                raise ToolObjectError(f"{repr(tool)[:100]} is not a tool.", _GIVE_TOOLS)
            if tool.name in self._tools:
                raise ToolObjectError(f"Two tools are named {tool.name!r}.", "Rename one of them.")
            self._tools[tool.name] = tool
        claimed: dict[str, dict[str, None]] = {}
        for tool in self._tools.values():
            for other in (*tool.aliases, tool.short_name):
                if other and other not in self._tools:
                    claimed.setdefault(other, {})[tool.name] = None
        # an ambiguous name stays so where only one of the tools remains, as in a search
        short = {tool.short_name for tool in self._tools.values()}
        self._ambiguous = {n: tuple(of) for n, of in claimed.items() if len(of) > 1 or n in short}
        self._aliases = {n: next(iter(of)) for n, of in claimed.items() if n not in self._ambiguous}
        self.signatures: Mapping[str, Signature] = {
            **{alias: self._tools[name].signature for alias, name in self._aliases.items()},
            **{name: tool.signature for name, tool in self._tools.items()},
        }

    @classmethod
    def from_json(cls, items: object) -> Toolbox:
        """Read a list of tool objects.

        Raises:
            ToolObjectError: it is not such a list; the message names the tool.
        """
        if isinstance(items, dict) and "tools" in items:  # the result of `tools/list` of MCP
            items = tools_of_page(cast("dict[str, object]", items))
        if not isinstance(items, list):
            raise ToolObjectError("Tools must be a list of tool objects.")
        return cls(Tool.from_json(item) for item in cast("list[object]", items))

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"Toolbox({', '.join(self._tools)})"

    def alias(self, name: str) -> str | None:
        """Return the name of the tool that has `name` as an alias, or None."""
        return self._aliases.get(name)

    def labelled(self, effects: Mapping[str, Effects]) -> Toolbox:
        """Return the tools with the `effects` of the user, by name, in place of their own.

        Raises:
            ToolObjectError: there is no such tool.
        """
        for name in effects:
            if name not in self._tools:
                raise ToolObjectError(f"There is no tool {name!r} to label.")
        return Toolbox(
            replace(tool, effects=effects[name], claim=None) if name in effects else tool
            for name, tool in self._tools.items()
        )

    def full_names(self, name: str) -> tuple[str, ...]:
        """Return the tools that `name` may mean where it is the short name or alias of several."""
        return self._ambiguous.get(name, ())

    def ambiguity(self, name: str) -> str | None:
        """Return a sentence that names the tools that `name` may mean; None where it is clear."""
        full_names = " and ".join(map(repr, self.full_names(name)))
        return f"{name!r} is ambiguous: the tools are {full_names}." if full_names else None

    def with_tools(self, *more: Tool) -> Toolbox:
        """Return a toolbox with `more` tools."""
        return Toolbox([*self._tools.values(), *more])


def tools_of_page(page: Mapping[str, object]) -> object:
    """Return the tools in a result of `tools/list` of MCP.

    Raises:
        ToolObjectError: the result is not the whole list.
    """
    if page.get("nextCursor"):
        help_ = "Add the tools of the pages behind it, and take out 'nextCursor'."
        raise ToolObjectError("The tools are one page of a list: it has a 'nextCursor'.", help_)
    return page["tools"]


def _read_schema(fields: Mapping[str, Json], *names: str) -> Json:
    schema = next((fields[name] for name in names if fields.get(name) is not None), None)
    if isinstance(schema, str):
        with suppress(ValueError, RecursionError):  # `Tool.unusable` reports an invalid schema
            return read_json(schema)
    return schema


def _effects(hints: Mapping[str, Json]) -> Effects:
    """Return the effects that `hints` state; of two that contradict each other, the worse."""
    stated = hints.get("effects")
    if stated is not None:  # what `to_json` writes, which counts a person's word
        return next((each for each in Effects if each == stated), Effects.UNKNOWN)
    if _is_destructive(hints):
        return Effects.DESTRUCTIVE
    if _is_true(hints, "readOnlyHint", "read_only_hint"):
        return Effects.READ
    is_stated = False in (hints.get("destructiveHint"), hints.get("destructive_hint"))
    return Effects.WRITE if is_stated else Effects.UNKNOWN


def _is_destructive(hints: Mapping[str, Json]) -> bool:
    stated = (hints.get("destructiveHint"), hints.get("destructive_hint"))
    return any(each is not None and each is not False for each in stated)


def _is_true(hints: Mapping[str, Json], *names: str) -> bool:
    """Return whether a hint is true in every spelling in which it is given."""
    stated = [hints[name] for name in names if name in hints]
    return bool(stated) and all(each is True for each in stated)


def _properties(schema: Json) -> Mapping[str, Json]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _loaded(raw: Json) -> tuple[Schema | None, str | None]:
    """Return a schema, or why it is not valid."""
    try:
        return Schema.load(raw), None
    except SchemaError as error:
        return None, str(error)
