"""The demo's toolbox."""

from __future__ import annotations

import datetime
from functools import partial
from typing import Final

from toolplan.base.threads import run_in_thread, threads_of
from toolplan.plan.path import Json
from toolplan.schema import Violation
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox, ToolError, ToolObjectError
from toolplan.schema.tool_call import reference_day
from toolplan_demo.database import DEFAULT_ROWS, DEFAULT_SEED, Database
from toolplan_demo.domain import TOOLS as DECLARED
from toolplan_demo.domain import Declared
from toolplan_demo.operations import ANSWERS

MOST_ROWS: Final = 1_000_000
SOURCE: Final = "demo"


def demo_tools(
    today: datetime.date | None = None,
    rows: int = DEFAULT_ROWS,
    seed: int = DEFAULT_SEED,
    *,
    lasts: bool = False,
) -> Toolbox:
    """Return the demo's tools over a database of their own, built on the first call.

    The data ends on `today`; None is the date that counts as today in the run, else the date of the
    first call. `rows` is the approximate number of shipments. Writes of one tool are read by all
    from then on; other toolboxes do not see them. Where it `lasts`, later processes do: they are
    kept in `TOOLPLAN_HOME`.

    Raises:
        ToolObjectError: `rows` is not from 1 to MOST_ROWS.
    """
    if not 1 <= rows <= MOST_ROWS:
        raise ToolObjectError(f"The demo has from 1 to {MOST_ROWS} rows, not {rows}.")
    day = reference_day if today is None else lambda: today
    database = Database(day, rows, seed, lasts=lasts)
    return Toolbox(_tool(name, declared, database) for name, declared in DECLARED.items())


def _tool(name: str, declared: Declared, database: Database) -> Tool:
    async def call(arguments: Arguments) -> Json:
        # engines validate too; a filter that were ignored would silently widen an answer (C-36)
        if wrong := wrong_arguments(tool, arguments):
            raise ToolError(wrong)
        return await run_in_thread(partial(ANSWERS[name], database, arguments), threads_of(SOURCE))

    tool = Tool(
        name=name,
        description=declared.description,
        raw_input=declared.input(),
        raw_output=declared.output(),
        effects=Effects(declared.effects),
        idempotent=declared.idempotent,
        call=call,
        source=SOURCE,
    )
    return tool


def wrong_arguments(tool: Tool, arguments: Arguments) -> str:
    """Return the faults of a call's arguments; empty where there are none."""
    return " ".join(map(_sentence, tool.input.violations(arguments)))


def _sentence(violation: Violation) -> str:
    if violation.kind == "unknown" and not violation.pointer:
        return f"There is no argument {violation.name!r}."
    place = violation.pointer.lstrip("/")
    return f"{place}: {violation.message}" if place else violation.message


TOOLS: Final = demo_tools(lasts=True)
"""The toolbox for `--tools toolplan_demo:TOOLS`: it ends on the current day, and
its changes last."""
