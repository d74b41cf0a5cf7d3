"""The demo's toolbox."""

from __future__ import annotations

import datetime
from typing import Final

from toolplan.demo import analytics, contaminants, facilities, inspections, shipments
from toolplan.demo.database import Database
from toolplan.demo.rows import DEFAULT_ROWS, DEFAULT_SEED
from toolplan.tools import Toolbox, ToolObjectError

MOST_ROWS: Final = 1_000_000

OPERATIONS: Final = (
    *shipments.OPERATIONS,
    *facilities.OPERATIONS,
    *contaminants.OPERATIONS,
    *inspections.OPERATIONS,
    *analytics.OPERATIONS,
)


class DemoToolbox(Toolbox):
    """The demo's tools: over generated data, for any day and any number of rows."""

    def on_day(self, today: datetime.date, rows: int | None = None) -> Toolbox:
        """Return the same tools over data that ends on `today`, about `rows` shipments.

        Raises:
            ToolObjectError: `rows` is not from 1 to MOST_ROWS.
        """
        if rows is not None and not 1 <= rows <= MOST_ROWS:
            raise ToolObjectError(f"The demo has from 1 to {MOST_ROWS} rows, not {rows}.")
        return demo_tools(today, DEFAULT_ROWS if rows is None else rows)


def demo_tools(
    today: datetime.date | None = None, rows: int = DEFAULT_ROWS, seed: int = DEFAULT_SEED
) -> Toolbox:
    """Return the demo's tools over a database of their own, built on the first call.

    The data ends on `today`; None is the day of the first call by the system's clock. `rows` is
    about how many shipments there are. What one tool writes, all of them read from then on; other
    toolboxes do not see it.
    """
    database = Database(datetime.date.today if today is None else lambda: today, rows, seed)
    return DemoToolbox(operation.tool(database) for operation in OPERATIONS)


TOOLS: Final = demo_tools()
"""The toolbox for `--tools toolplan.demo:TOOLS`: it ends today, whichever day that is."""
