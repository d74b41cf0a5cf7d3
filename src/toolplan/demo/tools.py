"""The demo's toolbox."""

from __future__ import annotations

import datetime
from typing import Final

from toolplan.demo import analytics, contaminants, facilities, inspections, shipments
from toolplan.demo.database import Database
from toolplan.demo.rows import DEFAULT_ROWS, DEFAULT_SEED
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
    today: datetime.date | None = None, rows: int = DEFAULT_ROWS, seed: int = DEFAULT_SEED
) -> Toolbox:
    """Return the demo's tools over a database of their own, built on the first call.

    The data ends on `today`; None is the date that counts as today in the run, else the date of the
    first call. `rows` is about how many shipments there are. What one tool writes, all of them read
    from then on; other toolboxes do not see it.

    Raises:
        ToolObjectError: `rows` is not from 1 to MOST_ROWS.
    """
    if not 1 <= rows <= MOST_ROWS:
        raise ToolObjectError(f"The demo has from 1 to {MOST_ROWS} rows, not {rows}.")
    database = Database(reference_day if today is None else lambda: today, rows, seed)
    return Toolbox(operation.tool(database) for operation in OPERATIONS)


TOOLS: Final = demo_tools()
"""The toolbox for `--tools toolplan.demo:TOOLS`: it ends today, whichever day that is."""
