"""Tools: named functions with schemas, and toolboxes of them.

A tool object is a tool as in MCP: name, description, input schema, optional output schema and
annotations. Hints for planners are `x-` keywords in the schemas; `x-aliases` are read here.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import ClassVar, Final, Protocol, TypeAlias, cast

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.errors import ToolplanError
from toolplan.own_code import plain_functions
from toolplan.paging import Paging, paging_of
from toolplan.path import Json, Path
from toolplan.plan import Signature
from toolplan.schema import Schema, SchemaError

_GIVE_TOOLS: Final = "Give a list of tools: functions with @toolplan.tool, or toolplan.Tool."

Arguments: TypeAlias = dict[str, Json]
Call: TypeAlias = Callable[[Arguments], Awaitable[Json]]


class Effects(StrEnum):
    """What a call may change; `unknown` is treated as `destructive`."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"
    UNKNOWN = "unknown"


EGRESS: Final = "egress"
"""The annotation of a tool whose calls somebody outside can read."""


class ToolError(ToolplanError):
    """Raised by a tool whose call failed; the message is for the person who reads the run."""

    _code: ClassVar[str] = "tool-error"

    def __init__(self, message: object = "", help: str | None = None) -> None:
        super().__init__(self._code, str(message), help)


class OutcomeUnknown(ToolError):
    """Raised by a tool that cannot know whether its call took effect: the connection broke, say.

    A call with effects that may not be repeated is then in doubt, and a person decides. `returned`
    is what came back and cannot be used, if anything did: a tuple of one; the person is shown it.
    """

    _code = "outcome-unknown"

    def __init__(
        self, message: object = "", help: str | None = None, *, returned: tuple[object, ...] = ()
    ) -> None:
        super().__init__(message, help)
        self.returned = returned


class ResultUnusable(OutcomeUnknown):
    """Raised when a function was called and returned what its tool does not declare.

    A call with effects that may not be repeated is then in doubt; any other one failed.
    """

    _code = "tool-error"

    def __init__(self, message: object, returned: object) -> None:
        super().__init__(message, returned=(returned,))


class ToolCall(Struct, frozen=True):
    """The identity of a call, for the tool that makes it.

    `item` is the position in `for_each`, or None. `key` is an idempotency key to pass on: SHA-256
    (hex) of run, step and item, the same for every attempt in every process.
    """

    run: str
    step: str
    item: int | None
    attempt: int
    key: str


class StatedLabel(Struct, frozen=True):
    """What a tool states about its result: that outsiders may have written it, or it is secret."""

    is_untrusted: bool = False
    is_secret: bool = False


class AttendedCall(Protocol):
    """The engine's side of a call in flight."""

    def identity(self) -> ToolCall:
        """Return which call it is."""
        ...

    def progress(self, done: float, total: float | None, message: str) -> None:
        """Report its progress."""

    def state_label(self, stated: StatedLabel) -> None:
        """Take the label that the tool states for the result."""

    def report_page(self, said: Mapping[str, Json]) -> None:
        """Take what the tool says beside its result about further pages."""


ATTENDED: Final[ContextVar[AttendedCall | None]] = ContextVar("attended_call", default=None)
"""The current call; engines set it, tools use the functions below."""


def current_call() -> ToolCall | None:
    """Return the current call, for the tool that makes it; None outside of a run."""
    attended = ATTENDED.get()
    return None if attended is None else attended.identity()


REFERENCE_DAY: Final[ContextVar[date | None]] = ContextVar("reference_day", default=None)


@contextmanager
def on_day(day: date) -> Generator[None]:
    """Treat `day` as today for the tools that are called in the block."""
    token = REFERENCE_DAY.set(day)
    try:
        yield
    finally:
        REFERENCE_DAY.reset(token)


def reference_day() -> date | None:
    """Return the date that counts as today, to a tool that needs one; None where none is set."""
    return REFERENCE_DAY.get()


def report_progress(done: float, total: float | None = None, message: str = "") -> None:
    """Report the progress of the current call; do nothing outside of a run.

    Thread-safe; of many reports in a short time one is shown.
    """
    attended = ATTENDED.get()
    if attended is not None:
        attended.progress(done, total, message)


def state_label(*, untrusted: bool = False, secret: bool = False) -> None:
    """State that the result of the current call is worth less than a policy may say.

    A result that is `untrusted` although the policy trusts it cannot be used, nor one that is
    `secret` where the policy names tools of [egress] and not this secret. Nothing raises a label.
    Call it before the tool returns; it does nothing outside of a run.
    """
    attended = ATTENDED.get()
    if attended is not None and (untrusted or secret):
        attended.state_label(StatedLabel(untrusted, secret))


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


ComputeOutput: TypeAlias = Callable[
    [Mapping[str, Json], Mapping[str, Schema | None]], ComputedOutput
]
"""Computes the output of the literal arguments, and the schemas of the others by JSON Pointer."""


class Lineage(Struct, frozen=True):
    """Which parts of a call's arguments a part of its result depends on, as paths into them.

    `values` are what it is made of; `picks` decide only which of the values it is. `is_made`: the
    tool makes it itself, so that it is never as good as what stands in the plan. `is_new`: it need
    not be one of the values, so that no list has it that has these.
    """

    values: frozenset[Path]
    picks: frozenset[Path] = frozenset()
    is_made: bool = False
    is_new: bool = False


ComputeFlow: TypeAlias = Callable[
    [Mapping[str, Json], Mapping[str, Schema | None]], Callable[[Path], Lineage] | None
]
"""Computes, of what `ComputeOutput` takes, the lineage of each path into the result.

None where it cannot be followed: then each part depends on all arguments.
"""


class Tool(Struct, frozen=True, dict=True, weakref=True):
    """A named function with schemas.

    `call` is None if only the description is known, which is enough to plan and check. `raw_output`
    is None if the tool declares no output schema; `learned` is then the schema of earlier results,
    if there are any. `unusable` is the reason why the tool cannot be called.
    `reports_pages`: beside its results it reports whether there are more, as headers do.
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

    @cached_property
    def has_effects(self) -> bool:
        """Whether a call may change something, so that it needs an approval."""
        return self.effects is not Effects.READ

    @cached_property
    def may_repeat(self) -> bool:
        """Whether a second call with the same arguments has no further effect."""
        return self.effects is Effects.READ or self.idempotent

    @cached_property
    def input(self) -> Schema:
        """The schema of the arguments; closed against undeclared ones unless it opens itself.

        Raises:
            SchemaError: it is not valid (see `unusable`).
        """
        return Schema.load(self.raw_input).closed()

    @cached_property
    def output(self) -> Schema | None:
        """The schema of the result, or None if the tool declares no valid one."""
        if self.raw_output is None or self.output_fault is not None:
            return None
        return Schema.load(self.raw_output)

    @cached_property
    def output_fault(self) -> str | None:
        """Why the declared output schema is not valid, or None."""
        if self.raw_output is None:
            return None
        try:
            Schema.load(self.raw_output)
        except SchemaError as error:
            return str(error)
        return None

    @cached_property
    def learned_schema(self) -> Schema | None:
        """The schema of the earlier results of the tool, or None."""
        if self.learned is None:
            return None
        try:
            return Schema.load(self.learned.raw)
        except SchemaError:
            return None

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
        """What to do about a tool that is `unusable`."""
        return "Correct the schema where the tool is defined."

    @cached_property
    def aliases(self) -> tuple[str, ...]:
        """Other names under which plans may call the tool (`x-aliases` of its input schema)."""
        if not isinstance(self.raw_input, dict):
            return ()
        names = self.raw_input.get("x-aliases")
        return tuple(n for n in names if isinstance(n, str)) if isinstance(names, list) else ()

    @cached_property
    def stated_needs(self) -> Mapping[str, Json]:
        """What the tool says that its arguments need of values (`x-needs`), by argument."""
        properties = self.raw_input.get("properties") if isinstance(self.raw_input, dict) else None
        return {
            name: node["x-needs"]
            for name, node in (properties.items() if isinstance(properties, dict) else ())
            if isinstance(node, dict) and "x-needs" in node
        }

    @cached_property
    def paging(self) -> Paging | None:
        """How the tool gives its list in pages, or None where nothing says so."""
        return paging_of(self.raw_input, self.raw_output, headers=self.reports_pages)

    @cached_property
    def signature(self) -> Signature:
        """The names of arguments and of the output's fields, in declared order."""
        return Signature(_property_names(self.raw_input), _property_names(self.raw_output))

    def to_json(self) -> dict[str, Json]:
        """Return the tool object, which the approval of a plan covers."""
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

    @classmethod
    def from_json(cls, item: object) -> Tool:
        """Read a tool object; MCP spellings, null and schemas as JSON text are accepted.

        Raises:
            ToolObjectError: it is not an object, or has no name.
        """
        if not isinstance(item, dict):
            raise ToolObjectError(f"A tool must be an object, not {type(item).__name__}.")
        fields = cast("dict[str, Json]", item)
        name = fields.get("name")
        if not isinstance(name, str) or not name:
            raise ToolObjectError("A tool has no 'name'.")
        description = fields.get("description")
        annotations = fields.get("annotations")
        hints = annotations if isinstance(annotations, dict) else {}
        return cls(
            name=name,
            description=description if isinstance(description, str) else "",
            raw_input=_read_schema(
                fields, "input_schema", "inputSchema", absent={"type": "object"}
            ),
            raw_output=_read_schema(fields, "output_schema", "outputSchema", absent=None),
            effects=_effects(hints),
            idempotent=_hint(hints, "idempotent", "idempotentHint", "idempotent_hint") is True,
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
        if isinstance(tools, str | bytes):
            raise ToolObjectError(
                f"A Toolbox is made of tools, not of a text: {tools[:60]!r}.", _GIVE_TOOLS
            )
        listed: list[object] = [*tools]
        if functions := plain_functions(listed):
            raise ToolObjectError(f"The list holds {functions}")
        for tool in listed:
            if not isinstance(tool, Tool):
                raise ToolObjectError(f"{repr(tool)[:100]} is not a tool.", _GIVE_TOOLS)
            if tool.name in self._tools:
                raise ToolObjectError(f"Two tools are named {tool.name!r}.", "Rename one of them.")
            self._tools[tool.name] = tool
        self._aliases = {
            alias: tool.name
            for tool in self._tools.values()
            for alias in tool.aliases
            if alias not in self._tools
        }
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
            items = cast("dict[str, object]", items)["tools"]
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
            replace(tool, effects=effects[name]) if name in effects else tool
            for name, tool in self._tools.items()
        )

    def with_tools(self, *more: Tool) -> Toolbox:
        """Return a toolbox with `more` tools."""
        return Toolbox([*self._tools.values(), *more])


def _read_schema(fields: Mapping[str, Json], *names: str, absent: Json) -> Json:
    for name in names:
        schema = fields.get(name)
        if isinstance(schema, str):
            try:
                return json.loads(schema)
            except (ValueError, RecursionError):
                return schema  # not valid, as `Tool.unusable` reports
        if schema is not None:
            return schema
    return absent


def _effects(hints: Mapping[str, Json]) -> Effects:
    stated = hints.get("effects")
    if isinstance(stated, str) and stated in set(Effects):
        return Effects(stated)
    if _hint(hints, "readOnlyHint", "read_only_hint") is True:
        return Effects.READ
    destructive = _hint(hints, "destructiveHint", "destructive_hint")
    if destructive is None:
        return Effects.UNKNOWN
    return Effects.DESTRUCTIVE if destructive else Effects.WRITE


def _hint(hints: Mapping[str, Json], *names: str) -> Json:
    return next((hints[name] for name in names if name in hints), None)


def _property_names(schema: Json) -> tuple[str, ...]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return tuple(properties) if isinstance(properties, dict) else ()
