"""Output schemas that tools do not declare, learned from their results.

Most tools of MCP servers declare no output schema. Their results are folded into a shape, for each
version of a tool: a tool that changes has another digest, and starts again. Only types, formats and
names of fields are kept, no value. A learned schema describes past results, not future ones, so
it is good for warnings only.

Shapes are folded from values and with each other; the outcome does not depend on order or grouping.
An object with more than `MOST_NAMES` names is a map: its names are data, and are not kept. Of a
shape with more than `MOST_PLACES` places only the outer levels are.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, Self, TypeAlias, get_args

import msgspec
from msgspec import Meta, Struct, field

from toolplan.base.errors import ToolplanError
from toolplan.events import Run, StepState
from toolplan.plan.model import Plan, Step
from toolplan.plan.path import Json
from toolplan.schema import JsonType, Schema
from toolplan.schema.tool import LearnedOutput, Tool, Toolbox
from toolplan.storage.database_file import DatabaseFile, ForeignFile, NewerFile, transaction

MOST_TOOLS: Final = 2_000
"""Maximum number of tools that are remembered; those used last stay."""

_FILE: Final = DatabaseFile(
    application_id=0x746C6C73,
    migrations=(
        "CREATE TABLE learned (tool TEXT PRIMARY KEY, seen_at REAL NOT NULL, shape TEXT NOT NULL)"
        " WITHOUT ROWID",
    ),
    busy_s=10.0,
)

MOST_NAMES: Final = 100
MOST_PLACES: Final = 12_000
MOST_DEPTH: Final = 12
MOST_VALUES: Final = 300_000
"""A result with more values than this, all places counted, is not learned from."""

Count: TypeAlias = Annotated[int, Meta(ge=0)]

KINDS: Final[tuple[JsonType, ...]] = get_args(JsonType)
FORMATS: Final = ("date", "date-time", "uuid", "email")

_NESTED: Final = frozenset[JsonType]({"array", "object"})
_KIND: Final[dict[type, JsonType]] = {
    type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string",
    list: "array", dict: "object",
}  # fmt: skip
_FITS: Final = {name: Schema.load({"type": "string", "format": name}).is_valid for name in FORMATS}
_LENGTHS: Final = {"date": (10, 10), "date-time": (20, 40), "uuid": (36, 36), "email": (3, 254)}


class LearnedError(ToolplanError):
    """The learned schemas cannot be read or written. The code is `learned-unavailable`."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__("learned-unavailable", message, help)


class TooLarge(ValueError):
    """A value has too many places to learn from it."""


class Shape(Struct):
    """The types, formats and names of the values at one place.

    Attributes:
        kinds: the JSON types; `integer` and `number` are distinct.
        formats: those of `FORMATS` that every string had.
        items: the elements of all lists.
        fields: by name.
        always: the fields that every object had.
        rest: all fields of a map; None where objects have fields of their own.
        hidden: whether something was too deep to look into.
    """

    kinds: set[JsonType] = field(default_factory=set[JsonType])
    formats: set[str] = field(default_factory=lambda: {*FORMATS})
    items: Shape | None = None
    fields: dict[str, Shape] = field(default_factory=dict[str, "Shape"])
    always: set[str] = field(default_factory=set[str])
    rest: Shape | None = None
    hidden: bool = False

    def take(self, other: Shape) -> None:
        """Fold `other` into this; `other` stays as it is."""
        if "object" in other.kinds:
            known = "object" in self.kinds
            self.always = self.always & other.always if known else {*other.always}
        self.kinds |= other.kinds
        self.hidden |= other.hidden
        self.formats &= other.formats
        if other.items is not None:
            self.items = self.items or Shape()
            self.items.take(other.items)
        for name, inner in other.fields.items():
            self._part(name).take(inner)
        if other.rest is not None:
            self._as_map().take(other.rest)

    def see(self, value: Json, depth: int, places: Iterator[int]) -> None:
        """Fold a value into this, with `depth` more levels; each value takes one of `places`."""
        if next(places, None) is None:
            raise TooLarge(f"It has more than {MOST_VALUES} values.")
        kind = _KIND[type(value)]
        if depth == 0 and kind in _NESTED:
            self.hidden = True
            return
        if isinstance(value, str):
            self.formats = {each for each in self.formats if _has(value, each)}
        elif isinstance(value, list):
            for item in value:
                self.items = self.items or Shape()
                self.items.see(item, depth - 1, places)
        elif isinstance(value, dict):
            known = "object" in self.kinds
            self.always = self.always & value.keys() if known else {*value}
            for name, part in value.items():
                self._part(name).see(part, depth - 1, places)
            if self.rest is not None:
                self.always.clear()
        self.kinds.add(kind)

    def cut(self, depth: int) -> None:
        """Forget the shape of levels deeper than `depth`."""
        if depth == 0:
            self.hidden |= bool(self.kinds & _NESTED)
            self.kinds -= _NESTED
            self.items, self.fields, self.always, self.rest = None, {}, set(), None
        for inner in self._inner():
            inner.cut(depth - 1)

    def places(self) -> int:
        """Return the maximum number of places of a value here; a map counts `MOST_NAMES` fields."""
        of_map = 0 if self.rest is None else MOST_NAMES * self.rest.places()
        return 1 + of_map + sum(inner.places() for inner in self._inner())

    def schema(self) -> dict[str, Json]:
        """Return a JSON Schema that accepts every value that was folded into this.

        Texts never become an enumeration: that few values were seen does not mean that there are
        no others. A field is required where every object had it.
        """
        if self.hidden or not self.kinds:
            return {}
        types = [each for each in KINDS if each in self.kinds]
        if "number" in types and "integer" in types:
            types.remove("integer")
        schema: dict[str, Json] = {"type": types[0] if len(types) == 1 else [*types]}
        if "string" in types and self.formats:
            # of two formats that all texts have, the first is the narrower
            schema["format"] = next(name for name in FORMATS if name in self.formats)
        if self.items is not None:
            schema["items"] = self.items.schema()
        if self.rest is not None:
            schema["additionalProperties"] = self.rest.schema()
        elif "object" in types:
            schema["properties"] = {n: each.schema() for n, each in sorted(self.fields.items())}
            if self.always:
                schema["required"] = [*sorted(self.always)]
        return schema

    def _inner(self) -> list[Shape]:
        return [*self.fields.values(), *(each for each in (self.items, self.rest) if each)]

    def _part(self, name: str) -> Shape:
        """Return the shape of a field, where the names of more than `MOST_NAMES` are data."""
        if self.rest is None and (name in self.fields or len(self.fields) < MOST_NAMES):
            return self.fields.setdefault(name, Shape())
        return self._as_map()

    def _as_map(self) -> Shape:
        rest = self.rest = self.rest or Shape()
        for inner in self.fields.values():
            rest.take(inner)
        self.fields, self.always = {}, set()
        return rest


class Learned(Struct):
    """A shape, the number of levels that are kept, and the number of results folded into it."""

    shape: Shape = field(default_factory=Shape)
    depth: Count = MOST_DEPTH
    samples: Count = 0

    def take(self, other: Learned) -> None:
        """Fold `other` into this; `other` stays as it is."""
        self.shape.take(other.shape)
        self.depth = min(self.depth, other.depth)
        self.samples += other.samples
        self.bound()

    def bound(self) -> None:
        """Cut the shape to the limits."""
        self.shape.cut(self.depth)
        while self.shape.places() > MOST_PLACES:
            self.depth -= 1
            self.shape.cut(self.depth)


def learned_from(value: Json) -> Learned:
    """Return the shape of one result, cut to the limits."""
    seen = Learned(depth=MOST_DEPTH, samples=1)
    seen.shape.see(value, MOST_DEPTH, iter(range(MOST_VALUES)))
    seen.bound()
    return seen


def _has(text: str, name: str) -> bool:
    least, most = _LENGTHS[name]
    return least <= len(text) <= most and _FITS[name](text)


class LearnedSchemas:
    """The shapes of the results of tools, in one file, by the digest of the tool.

    Any number of processes may use one file, and any thread one object. Methods block.
    """

    def __init__(self, path: Path | str, *, clock: Callable[[], float] = time.time) -> None:
        """Open the file at `path`, made where there is none. `clock` returns seconds.

        Raises:
            LearnedError: it cannot be opened, or a newer version of this program has written it.
        """
        self.path = Path(path)
        self._clock = clock
        self._lock = threading.Lock()
        with self._faults():
            self._connection = _FILE.connect(None if path == ":memory:" else self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def observe(self, tool_digest: str, value: Json) -> None:
        """Fold a result of a tool into its shape, unless it is too large.

        Raises:
            LearnedError: the file cannot be written.
        """
        try:
            seen = learned_from(value)
        except TooLarge:
            return
        with self._lock, self._faults(), transaction(self._connection):
            known = self._read(tool_digest)
            known.take(seen)
            self._connection.execute(
                "INSERT OR REPLACE INTO learned VALUES (?, ?, ?)",
                (tool_digest, self._clock(), msgspec.json.encode(known).decode()),
            )
            self._connection.execute(
                "DELETE FROM learned WHERE tool NOT IN "
                "(SELECT tool FROM learned ORDER BY seen_at DESC, tool LIMIT ?)",
                (MOST_TOOLS,),
            )

    def schema(self, tool_digest: str) -> LearnedOutput | None:
        """Return the schema of a tool's results; None where none was seen.

        Raises:
            LearnedError: the file cannot be read.
        """
        with self._lock, self._faults():
            known = self._read(tool_digest)
        return LearnedOutput(known.shape.schema(), known.samples) if known.samples else None

    def _read(self, tool_digest: str) -> Learned:
        row = self._connection.execute(
            "SELECT shape FROM learned WHERE tool = ?", (tool_digest,)
        ).fetchone()
        try:
            return Learned() if row is None else msgspec.json.decode(row[0], type=Learned)
        except (msgspec.MsgspecError, RecursionError):
            return Learned()  # it is learned again

    @contextmanager
    def _faults(self) -> Generator[None]:
        try:
            yield
        except (NewerFile, ForeignFile, OSError, sqlite3.Error) as error:
            reason = str(error) or "it is another kind of file"
            if isinstance(error, NewerFile):
                reason = "a newer version of toolplan has written it"
            raise LearnedError(
                f"What was learned of tools ({self.path.name}) cannot be used: {reason}.",
                "Move the file away: it is made again, and learned again.",
            ) from None


def learn(schemas: LearnedSchemas, plan: Plan, run: Run, tools: Toolbox) -> None:
    """Fold the results of `run` into `schemas`.

    Only tools that declare no output are learned; the output of a failed call is not a result.

    Raises:
        LearnedError: the file cannot be read or written.
    """
    for step in plan.steps:
        tool = tools.get(step.tool)
        if tool is None or tool.raw_output is not None or tool.compute_output is not None:
            continue
        for result in _results(step, run):
            schemas.observe(tool_digest(tool), result)


def tool_digest(tool: Tool) -> str:
    """Return the digest under which results of `tool` are kept: of all but its labels."""
    parts = {name: part for name, part in tool.to_json().items() if name != "annotations"}
    text = json.dumps({**parts, "source": tool.source}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _results(step: Step, run: Run) -> list[Json]:
    """Return the results of a step's calls that succeeded."""
    ended = run.steps.get(step.id)
    if ended is None or ended.state is not StepState.SUCCEEDED:
        return []
    if step.for_each is None:
        return [ended.output] if ended.error is None else []
    items = ended.output if isinstance(ended.output, list) else []
    # with on_error: continue the place of a call that failed is null
    return [item for item in items if item is not None or step.on_error == "fail"]
