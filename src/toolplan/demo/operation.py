"""What a tool of the demo does: its schemas, and the function over the database behind it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from msgspec import Struct

from toolplan.demo.database import Database, Row, SqlValue
from toolplan.path import Json
from toolplan.schema import Violation
from toolplan.threads import run_in_thread, threads_of
from toolplan.tools import Arguments, Effects, Tool, ToolError

Answer: TypeAlias = Callable[[Database, Arguments], Json]

SOURCE: Final = "demo"


class Operation(Struct, frozen=True):
    """A tool before it has a database. `answer` may raise `ToolError`; it runs in a thread."""

    name: str
    description: str
    input: Json
    output: Json
    answer: Answer
    effects: Effects = Effects.READ
    idempotent: bool = False

    def tool(self, database: Database) -> Tool:
        """Return the tool that works on `database`."""

        async def call(arguments: Arguments) -> Json:
            # engines validate too; a filter that were ignored would silently widen an answer (C-36)
            wrong = tool.input.violations(arguments)
            if wrong:
                raise ToolError(" ".join(map(_sentence, wrong)))
            return await run_in_thread(
                partial(self.answer, database, arguments), threads_of(SOURCE)
            )

        tool = Tool(
            name=self.name,
            description=self.description,
            raw_input=self.input,
            raw_output=self.output,
            effects=self.effects,
            idempotent=self.idempotent,
            call=call,
            source=SOURCE,
        )
        return tool


def existing(database: Database, entity: str, sql: str, identity: SqlValue) -> Row:
    """Return the one row that `sql` finds for `identity`.

    Raises:
        ToolError: there is none; the text names `entity`, `Shipment` for instance, and `identity`.
    """
    found = database.row(sql, (identity,))
    if found is None:
        raise ToolError(f"{entity} {str(identity)!r} not found.")
    return found


def getter(entity: str, sql: str) -> Answer:
    """Return the answer of a tool that takes an `id` and gives the record that `sql` finds."""

    def answer(database: Database, arguments: Arguments) -> Json:
        return {"data": dict(existing(database, entity, sql, str(arguments["id"])))}

    return answer


def _sentence(violation: Violation) -> str:
    if violation.kind == "unknown" and not violation.pointer:
        return f"There is no argument {violation.name!r}."
    place = violation.pointer.lstrip("/")
    return f"{place}: {violation.message}" if place else violation.message
