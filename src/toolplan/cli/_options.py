"""Options that several commands have, each said once."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter

from toolplan.cli._terminal import CommandError
from toolplan.dialects import DIALECTS

PlanFileArgument: TypeAlias = Annotated[
    str, Parameter(allow_leading_hyphen=True, help="The file of the plan; - is standard input.")
]
JsonFlag: TypeAlias = Annotated[
    bool, Parameter(name="--json", negative="", help="Print JSON on standard output.")
]
ToolsOption: TypeAlias = Annotated[
    str | None,
    Parameter(name="--tools", help="A JSON file of tool objects, or MODULE:ATTRIBUTE."),
]
DialectOption: TypeAlias = Annotated[
    str, Parameter(name="--dialect", help=f"How the plan is written: {', '.join(DIALECTS)}.")
]
TodayOption: TypeAlias = Annotated[
    str | None, Parameter(name="--today", help="The day that it is, YYYY-MM-DD.")
]
WeeksOption: TypeAlias = Annotated[
    Literal["rolling", "calendar"],
    Parameter(name="--weeks", help="Whether 'last week' is the last 7 days, or Monday to Sunday."),
]
PlannerOption: TypeAlias = Annotated[
    Literal["grounded"], Parameter(name="--planner", help="What proposes the plan.")
]
RowsOption: TypeAlias = Annotated[
    int | None, Parameter(name="--rows", help="How many rows the demo's data shall have, about.")
]
YesFlag: TypeAlias = Annotated[
    bool,
    Parameter(name="--yes", negative="", help="Give leave to run a plan with effects."),
]
ApproveOption: TypeAlias = Annotated[
    str | None,
    Parameter(name="--approve", help="Give leave to run the plan with effects of this digest."),
]
EffectsOption: TypeAlias = Annotated[
    tuple[str, ...],
    Parameter(
        name="--effects",
        negative="",
        help="TOOL=LABEL: what a tool may change, whatever its source says (repeatable).",
    ),
]


def day(text: str | None) -> date:
    """Give the day that `--today` names; without it, this day.

    Raises:
        CommandError: it names no day.
    """
    if text is None:
        return date.today()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise CommandError(
            "bad-date", f"--today {text!r} is no day.", "Write YYYY-MM-DD, as in 2025-10-12."
        ) from None


def known_dialect(name: str) -> str:
    """Give `name`, if it is that of a dialect.

    Raises:
        CommandError: it is not.
    """
    if name not in DIALECTS:
        raise CommandError(
            "unknown-dialect",
            f"There is no dialect {name!r}.",
            f"There are {', '.join(DIALECTS)}.",
        )
    return name
