"""Output schemas that nobody declared, learned from the results that tools gave.

Most tools of MCP servers say nothing of what they give. What they have given is folded into a
schema, one for each tool as it is pinned: a tool that changes has another digest, and begins anew.
No result is kept, only types, formats and the names of fields. A learned schema says what was seen
and not what will be, so it is good for warnings only.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self, cast

from toolplan.events import Run, StepState
from toolplan.path import Json
from toolplan.plan import Plan, Step
from toolplan.sources._drift import drift
from toolplan.sources._shapes import (
    FORMATS,
    MOST_DEPTH,
    Learned,
    Shape,
    TooLarge,
    Widths,
    cut_at,
    learned_from,
    places_of,
    schema_of,
)
from toolplan.storage.database_file import ForgettableConnection
from toolplan.tools import Tool, Toolbox

VERSION: Final = 1
"""Of the file; one that is newer than this program is left alone."""

MOST_TOOLS: Final = 2_000
"""So many tools are remembered, those that gave something last."""

MOST_SCHEMA: Final = 5_000
"""Schemas in a learned schema, one inside of the other counted."""

_WAIT_S: Final = 10.0
_COUNTS: Final = (
    "null",
    "true_or_false",
    "whole",
    "fraction",
    "text",
    "lists",
    "objects",
    "hidden",
)


class LearnedError(Exception):
    """What was learned cannot be read or written; `help` is the way out. Nothing else is hurt."""

    def __init__(self, message: str, help_: str) -> None:
        super().__init__(message)
        self.help = help_


class LearnedSchema(NamedTuple):
    """A JSON Schema that accepts every result that was seen, and how many there were."""

    schema: Json
    samples: int


class Drift(NamedTuple):
    """A step got from its tool what that had never given before: `sentences` say what."""

    step: str
    tool: str
    sentences: tuple[str, ...]


class LearnedSchemas:
    """What tools have given, in one file, by the digest of the tool.

    Any number of processes may use one file, and any thread one object. Its methods block for as
    long as the disk takes.
    """

    def __init__(self, path: Path | str, *, clock: Callable[[], float] = time.time) -> None:
        """Open the file at `path`; it is made where there is none. `clock` gives seconds.

        Raises:
            LearnedError: it cannot be opened, or a newer version of this program has written it.
        """
        self.path = Path(path)
        self._clock = clock
        self._lock = threading.Lock()
        with self._told():
            self._connection = sqlite3.connect(
                self.path,
                timeout=_WAIT_S,
                isolation_level=None,
                check_same_thread=False,
                factory=ForgettableConnection,
            )
        try:
            self._prepare()
        except LearnedError:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def observe(self, tool_digest: str, value: Json) -> bool:
        """Fold a result of a tool into what is known of it; say whether it was small enough.

        Raises:
            LearnedError: the file cannot be written.
        """
        try:
            seen = learned_from(value)
        except TooLarge:
            return False
        with self._written() as connection:
            known = self._read(connection, tool_digest)
            known.take(seen)
            connection.execute(
                "INSERT OR REPLACE INTO learned VALUES (?, ?, ?, ?)",
                (tool_digest, known.samples, self._clock(), _dump(known)),
            )
            connection.execute(
                "DELETE FROM learned WHERE tool NOT IN "
                "(SELECT tool FROM learned ORDER BY seen_at DESC, tool LIMIT ?)",
                (MOST_TOOLS,),
            )
        return True

    def schema(self, tool_digest: str) -> LearnedSchema | None:
        """Return what the results of a tool have looked like; None where none was seen.

        Raises:
            LearnedError: the file cannot be read.
        """
        known = self._known(tool_digest)
        if not known.samples:
            return None
        shape = known.shape
        depth = MOST_DEPTH
        while places_of(shape) > MOST_SCHEMA and depth > 0:
            depth -= 1
            shape = cut_at(known.shape, depth)
        return LearnedSchema(schema_of(shape), known.samples)

    def drift(self, tool_digest: str, value: Json) -> tuple[str, ...]:
        """Say what is otherwise in `value` than in all results of the tool before, a few sentences.

        Ask before the value is observed. Where nothing was seen before, nothing is said.

        Raises:
            LearnedError: the file cannot be read.
        """
        known = self._known(tool_digest)
        try:
            return drift(known, learned_from(value)) if known.samples else ()
        except TooLarge:
            return ()

    def forget(self, tool_digest: str | None = None) -> None:
        """Forget what is known of a tool; of all where none is named.

        Raises:
            LearnedError: the file cannot be written.
        """
        with self._written() as connection:
            connection.execute(
                "DELETE FROM learned WHERE ? IS NULL OR tool = ?", (tool_digest, tool_digest)
            )

    def _known(self, tool_digest: str) -> Learned:
        with self._lock, self._told():
            return self._read(self._connection, tool_digest)

    def _prepare(self) -> None:
        with self._told():
            # what a power cut takes of the last moments is seen again
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
        with self._written() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise LearnedError(
                    f"{self.path.name} was written by a newer version of toolplan.",
                    "Use that version, or set the file aside: it is made anew.",
                )
            connection.execute(
                "CREATE TABLE IF NOT EXISTS learned (tool TEXT PRIMARY KEY, samples INTEGER "
                "NOT NULL, seen_at REAL NOT NULL, shape TEXT NOT NULL) WITHOUT ROWID"
            )
            connection.execute(f"PRAGMA user_version = {VERSION:d}")

    def _read(self, connection: sqlite3.Connection, tool_digest: str) -> Learned:
        """Return what is known of a tool; what cannot be read is as if it had not been seen."""
        row = connection.execute(
            "SELECT shape FROM learned WHERE tool = ?", (tool_digest,)
        ).fetchone()
        return Learned() if row is None else _load(str(row[0]))

    @contextmanager
    def _written(self) -> Generator[sqlite3.Connection]:
        with self._lock, self._told():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _told(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise LearnedError(
                f"What was learned of tools ({self.path.name}) cannot be used: {error}.",
                "Set the file aside: it is made anew, and learned again.",
            ) from None


def learn(schemas: LearnedSchemas, plan: Plan, run: Run, tools: Toolbox) -> list[Drift]:
    """Fold what the steps of `run` gave into `schemas`, and say what was not as it was before.

    Only tools that declare no output are learned about; what a failed call left is not a result.

    Raises:
        LearnedError: the file cannot be read or written.
    """
    found: list[Drift] = []
    for step in plan.steps:
        tool = tools.get(step.tool)
        if tool is None or tool.raw_output is not None or tool.compute_output is not None:
            continue
        digest = tool_digest(tool)
        told: dict[str, None] = {}
        for result in _results(step, run):
            told.update(dict.fromkeys(schemas.drift(digest, result)))
            schemas.observe(digest, result)
        if told:
            found.append(Drift(step.id, tool.name, tuple(told)))
    return found


def tool_digest(tool: Tool) -> str:
    """Return the digest under which results of `tool` are folded: of all that its source says.

    How the tool is labelled is no part of it, for that changes nothing about what it gives.
    """
    told = {name: part for name, part in tool.to_json().items() if name != "annotations"}
    text = json.dumps({**told, "source": tool.source}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _results(step: Step, run: Run) -> list[Json]:
    """Return what the calls of a step gave, as far as they succeeded."""
    ended = run.steps.get(step.id)
    if ended is None or ended.state is not StepState.SUCCEEDED:
        return []
    if step.for_each is None:
        return [ended.output] if ended.error is None else []
    items = ended.output if isinstance(ended.output, list) else []
    # with on_error: continue the place of a call that failed is null
    return [item for item in items if item is not None or step.on_error == "fail"]


def _dump(learned: Learned) -> str:
    widths = learned.widths
    document: dict[str, Json] = {
        "samples": learned.samples,
        "names": [None if names is None else [*sorted(names)] for names in widths.names],
        "nested": [*widths.nested],
        "shape": _shape_to_json(learned.shape),
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _shape_to_json(shape: Shape) -> dict[str, Json]:
    document: dict[str, Json] = {name: times for name in _COUNTS if (times := getattr(shape, name))}
    if shape.text:
        document["formats"] = [*sorted(shape.formats)]
    if shape.items is not None:
        document["items"] = _shape_to_json(shape.items)
    if shape.rest is not None:
        document["rest"] = _shape_to_json(shape.rest)
    if shape.fields:
        document["fields"] = {name: _shape_to_json(each) for name, each in shape.fields.items()}
    return document


def _load(text: str) -> Learned:
    try:
        document = cast("dict[str, Json]", json.loads(text))
        names = cast("list[list[str] | None]", document["names"])
        nested = cast("list[Json]", document["nested"])
        widths = Widths(
            [None if each is None else set(each) for each in names],
            [_count(each) for each in nested],
        )
        shape = _shape_from_json(cast("dict[str, Json]", document["shape"]))
        return Learned(shape, widths, _count(document["samples"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Learned()  # it is learned again


def _shape_from_json(document: dict[str, Json]) -> Shape:
    shape = Shape()
    for name in _COUNTS:
        setattr(shape, name, _count(document.get(name, 0)))
    if shape.text:
        shape.formats = frozenset(FORMATS) & set(cast("list[str]", document["formats"]))
    if "items" in document:
        shape.items = _shape_from_json(cast("dict[str, Json]", document["items"]))
    if "rest" in document:
        shape.rest = _shape_from_json(cast("dict[str, Json]", document["rest"]))
    fields = cast("dict[str, dict[str, Json]]", document.get("fields", {}))
    shape.fields = {name: _shape_from_json(each) for name, each in fields.items()}
    return shape


def _count(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("This is no count.")
    return value
