"""Options that several commands have, each said once."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final, Literal, TypeAlias

from cyclopts import Parameter

from toolplan.cli._terminal import CommandError
from toolplan.dialects import DIALECTS

TOOLS_HELP: Final = (
    "A JSON file of tool objects, an MCP configuration, an OpenAPI document, or MODULE:ATTRIBUTE."
)

PlanFileArgument: TypeAlias = Annotated[
    str, Parameter(allow_leading_hyphen=True, help="The file of the plan; - is standard input.")
]
JsonFlag: TypeAlias = Annotated[
    bool, Parameter(name="--json", negative="", help="Print JSON on standard output.")
]
ToolsOption: TypeAlias = Annotated[
    str | None,
    Parameter(name="--tools", help=TOOLS_HELP),
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
    Literal["auto", "contract", "grounded", "llm"],
    Parameter(
        name="--planner",
        help="What proposes the plan: a rung, or auto: the cheapest that can, up to a model.",
    ),
]
ContractsOption: TypeAlias = Annotated[
    tuple[str, ...],
    Parameter(
        name="--contracts",
        negative="",
        help="A file or folder of contracts: which agent does what, and needs what (repeatable).",
    ),
]
ModelOption: TypeAlias = Annotated[
    tuple[str, ...],
    Parameter(
        name="--model",
        negative="",
        help="A model: openai:MODEL, anthropic:MODEL, ollama:MODEL, URL#MODEL (repeatable: the "
        "next one is asked where one fails).",
    ),
]
ConversationOption: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--conversation",
        help="A conversation: what was said in it before is known, as in 'the same for Munich'.",
    ),
]
BaseUrlOption: TypeAlias = Annotated[
    str | None,
    Parameter(name="--base-url", help="Where the service of an OpenAPI document is."),
]
RowsOption: TypeAlias = Annotated[
    int | None, Parameter(name="--rows", help="How many rows the demo's data shall have, about.")
]
YesFlag: TypeAlias = Annotated[
    bool,
    Parameter(name="--yes", negative="", help="Give leave to run a plan with effects."),
]


def _check_digest(_: object, digest: str | None) -> None:
    # as a rule a variable of the shell that is not set
    if digest is not None and not digest.strip():
        raise CommandError(
            "usage",
            "--approve has no digest.",
            "Give the digest that the command names where it asks for leave; without --approve it"
            " names it and runs nothing.",
        )


ApproveOption: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--approve",
        validator=_check_digest,
        help="Give leave to run the plan with effects of this digest.",
    ),
]
EffectsOption: TypeAlias = Annotated[
    tuple[str, ...],
    Parameter(
        name="--effects",
        negative="",
        help="TOOL=LABEL: what a tool may change, whatever its source says (repeatable).",
    ),
]
PortOption: TypeAlias = Annotated[
    int, Parameter(name="--port", help="The port of HTTP; 0 takes a free one.")
]

_FIRST_DAY: Final = date(1900, 1, 1)
_LAST_DAY: Final = date(2999, 12, 31)
_LAST_PORT: Final = 65_535


def known_port(port: int) -> int:
    """Return `port`, if it is one.

    Raises:
        CommandError: it is not.
    """
    if not 0 <= port <= _LAST_PORT:
        raise CommandError("usage", f"--port {port} is none.", f"Give 0 to {_LAST_PORT}.")
    return port


def day(text: str | None) -> date:
    """Return the day that `--today` names; without it, this day.

    Raises:
        CommandError: it names no day.
    """
    if text is None:
        return date.today()
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = date.min
    if not _FIRST_DAY <= found <= _LAST_DAY:
        raise CommandError(
            "bad-date",
            f"--today {text!r} is no day from {_FIRST_DAY} to {_LAST_DAY}.",
            "Write YYYY-MM-DD, as in 2025-10-12.",
        )
    return found


def known_dialect(name: str) -> str:
    """Return `name`, if it is that of a dialect.

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
