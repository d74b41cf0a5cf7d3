"""Options that several commands have, each declared once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter, Token, validators

from toolplan.app._approve import VALUES
from toolplan.cli.terminal import CommandError
from toolplan.dialects import DIALECTS
from toolplan.policy.execution_plan import is_digest

_TOOLS_HELP: Final = (
    "A JSON file of tool objects, an MCP configuration, an OpenAPI document, or MODULE:ATTRIBUTE."
    " Repeatable: all of them together."
)


def refuse_options(_: object, value: str | tuple[str, ...] | None) -> None:
    """Refuse a word that looks like an option where `-` is a file, unless a file has this name.

    Raises:
        ValueError: it is an option that the command does not have; its text is the word.
    """
    for each in (value,) if isinstance(value, str) else value or ():
        if each.startswith("-") and each != "-" and not Path(each).exists():
            raise ValueError(each)


_FILE: Final = Parameter(allow_leading_hyphen=True, validator=refuse_options)
PlanFileArgument = Annotated[
    str, _FILE, Parameter(help="The file of the plan; - is standard input.")
]
_FILE_OR_RUN: Final = (
    "The file of a plan, - for standard input; or a run, or the beginning of its name."
)
FileOrRun = Annotated[str, _FILE, Parameter(help=_FILE_OR_RUN)]
JsonFlag = Annotated[bool, Parameter(name="--json", help="Print JSON on standard output.")]
ToolsOption = Annotated[tuple[str, ...], Parameter(help=_TOOLS_HELP)]
DialectOption = Annotated[str, Parameter(help=f"The form of the plan: {', '.join(DIALECTS)}.")]
JournalOption = Annotated[
    str | None,
    Parameter(
        help="Where runs are kept: a file, or postgres://USER@HOST/DATABASE; by default"
        " runs.sqlite in the user's folder."
    ),
]
TodayOption = Annotated[str | None, Parameter(help="Treat this date as today: YYYY-MM-DD.")]
WeeksOption = Annotated[
    Literal["rolling", "calendar"],
    Parameter(help="Whether 'last week' is the last 7 days, or Monday to Sunday."),
]
PlannerOption = Annotated[
    str,
    Parameter(
        help="The planner: contract, offline, llm or an installed one; auto: the cheapest that can"
        " plan the question, up to a model."
    ),
]
ContractsOption = Annotated[
    tuple[str, ...],
    Parameter(
        help="A file or folder of contracts: which agent does what, and needs what (repeatable)."
    ),
]
ModelOption = Annotated[
    tuple[str, ...],
    Parameter(
        help="A model: openai:MODEL, anthropic:MODEL, ollama:MODEL, URL#MODEL. Repeatable: the"
        " next one is asked where one fails. The model is called only when it is needed."
    ),
]


def for_given_plans(model: tuple[str, ...]) -> dict[str, Any]:
    """Return what an app is opened with that plans nothing: a model is for `extract` only."""
    return {"planner": "auto" if model else "offline", "model": model or None}


ConversationOption = Annotated[
    str | None,
    Parameter(
        help="A conversation: earlier questions in it are known, as in 'the same for Munich'."
    ),
]
BaseUrlOption = Annotated[
    str | None, Parameter(help="The address of the service of an OpenAPI document.")
]
PolicyOption = Annotated[
    str | None,
    Parameter(
        help="The file that says where values may come from; by default toolplan.policy.toml"
        " beside the settings."
    ),
]
YesFlag = Annotated[bool, Parameter(help="Approve a plan with effects without asking.")]
StrictFlag = Annotated[
    bool, Parameter(help="Exit 1 where the result may be over a part of a list.")
]
ApproveValuesFlag = Annotated[
    bool,
    Parameter(
        help="Run what only reads first, then ask about each call with effects with its values."
    ),
]
ConcurrencyOption = Annotated[
    tuple[str, ...],
    Parameter(
        help="N: the most calls at the same time (32). NAME=N: of one tool, or of all tools of one"
        " source (repeatable). When a limit is reached, steps on the critical path start"
        " first."
    ),
]
TimeoutOption = Annotated[
    float | None, Parameter(help="The most seconds of each try of a call (60).")
]


ApproveOption = Annotated[
    str | None, Parameter(help="Approve the plan with effects that has this digest, for one run.")
]


def _whole(_: object, tokens: Sequence[Token]) -> int:
    return int(tokens[0].value)  # without it 1.5 is 2


TimesOption = Annotated[
    int | None,
    Parameter(
        converter=_whole,
        help="With --approve: how many runs the digest approves in all, with those before (1).",
    ),
]


def wanted(digest: str | None, values: bool, times: int | None = None) -> str | None:
    """Return what is to be approved: the plan of a digest, `VALUES`, or what is asked for.

    Raises:
        CommandError: both are given, or `times` without a digest or out of its bounds.
    """
    if times is not None and (digest is None or not 1 <= times <= 1_000):
        said = f"--times {times} says how many runs --approve DIGEST approves: 1 to 1,000."
        help_ = "Give it with --approve DIGEST, or leave it out for one run."
        raise CommandError("usage", said, help_)
    if values and digest is not None:
        said = "--approve approves a plan as it stands, --approve-values its calls one by one."
        raise CommandError("usage", said, "Give one of them.")
    if digest is not None and not is_digest(digest):
        help_ = "Give the digest that the command prints when it needs an approval."
        raise CommandError(
            "usage", f"--approve {digest!r:.200} is not the digest of a plan.", help_
        )
    return VALUES if values else digest


EffectsOption = Annotated[
    tuple[str, ...],
    Parameter(help="TOOL=LABEL: what a tool may change, whatever its source says (repeatable)."),
]
PortOption = Annotated[
    int,
    Parameter(
        help="The port of HTTP; 0 takes a free one.", validator=validators.Number(gte=0, lte=65_535)
    ),
]
