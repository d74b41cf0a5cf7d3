"""The rule `argument-value`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._context import PlanContext
from toolplan.rules._literals import literal_problems
from toolplan.rules._rule import Problem, rule


@rule()
def argument_value(context: PlanContext) -> Iterator[Problem]:
    """An argument has the right type, but a value that its tool does not accept.

    The value is outside of an enum or a range, or does not match a pattern or a format (a date is
    written YYYY-MM-DD). A tool may also refuse values itself: `sql` binds its statement against the
    columns of its tables before anything runs.

        {"tool": "shipments_list", "args": {"date_from": "last week"}}

    A value of an enum in other letter case, or a date in another spelling that can only mean one
    day, is corrected.

    How to fix: write a value that the message names.
    """
    return literal_problems(context, "value")
