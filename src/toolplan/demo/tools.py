"""The demo's toolbox."""

from __future__ import annotations

import datetime
from typing import Final

from toolplan.demo import analytics, contaminants, facilities, inspections, shipments
from toolplan.demo.database import DEFAULT_ROWS, DEFAULT_SEED, Database
from toolplan.tools import Toolbox, ToolObjectError, reference_day

MOST_ROWS: Final = 1_000_000

OPERATIONS: Final = (
    *shipments.OPERATIONS,
    *facilities.OPERATIONS,
    *contaminants.OPERATIONS,
    *inspections.OPERATIONS,
    *analytics.OPERATIONS,
)


def demo_tools(
    today: datetime.date | None = None,
    rows: int = DEFAULT_ROWS,
    seed: int = DEFAULT_SEED,
    *,
    lasts: bool = False,
) -> Toolbox:
    """Return the demo's tools over a database of their own, built on the first call.

    The data ends on `today`; None is the date that counts as today in the run, else the date of the
    first call. `rows` is about how many shipments there are. What one tool writes, all of them read
    from then on; other toolboxes do not see it. Where it `lasts`, later processes do: it is
    kept in `TOOLPLAN_HOME`.

    Raises:
        ToolObjectError: `rows` is not from 1 to MOST_ROWS.
    """
    if not 1 <= rows <= MOST_ROWS:
        raise ToolObjectError(f"The demo has from 1 to {MOST_ROWS} rows, not {rows}.")
    day = reference_day if today is None else lambda: today
    database = Database(day, rows, seed, lasts=lasts)
    return Toolbox(operation.tool(database) for operation in OPERATIONS)


TOOLS: Final = demo_tools(lasts=True)
"""The toolbox for `--tools toolplan.demo:TOOLS`: it ends today, whichever day that is, and
what is written lasts."""
