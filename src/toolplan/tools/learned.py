"""Output schemas that tools do not declare, learned from their results.

Most tools of MCP servers declare no output schema. Their results are folded into one, for each
version of a tool: a tool that changes has another digest, and starts again. Only types, formats and
names of fields are kept, no value. A learned schema says what was seen, not what will come, so it
is good for warnings only.
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
from typing import Final, NamedTuple, Self

import msgspec

from toolplan.base.errors import ToolplanError
from toolplan.events import Run, StepState
from toolplan.plan.model import Plan, Step
from toolplan.plan.path import Json
from toolplan.schema.tool import Tool, Toolbox
from toolplan.storage.database_file import DatabaseFile, ForeignFile, NewerFile, transaction
from toolplan.tools._shapes import Learned, TooLarge, learned_from

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


class LearnedError(ToolplanError):
    """What was learned cannot be read or written. The code is `learned-unavailable`."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__("learned-unavailable", message, help)


class LearnedSchema(NamedTuple):
    """A JSON Schema that accepts every result that was seen, and how many there were."""

    schema: Json
    samples: int


class LearnedSchemas:
    """What tools have returned, in one file, by the digest of the tool.

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

    def schema(self, tool_digest: str) -> LearnedSchema | None:
        """Return the schema of a tool's results; None where none was seen.

        Raises:
            LearnedError: the file cannot be read.
        """
        with self._lock, self._faults():
            known = self._read(tool_digest)
        return LearnedSchema(known.shape.schema(), known.samples) if known.samples else None

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

    Only tools that declare no output are learned; what a failed call left is not a result.

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
