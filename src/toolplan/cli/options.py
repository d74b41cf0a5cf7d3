"""Options that several commands have, each declared once.

Those that go together are a class. Its fields have the names of the arguments that they are for, so
that `vars` of its objects are arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import Parameter, Token, validators

from toolplan.app._toolset import Toolset, open_tools
from toolplan.app.resume import VALUES
from toolplan.app.settings import home, read_settings, user_journal
from toolplan.cli.terminal import CommandError, ask_claim, note
from toolplan.dialects import DIALECTS
from toolplan.policy.execution_plan import is_digest
from toolplan.providers import Model, ModelError
from toolplan.show.printable import printable
from toolplan.storage.journal import Store, open_journal


def refuse_options(_: object, value: str | tuple[str, ...] | None) -> None:
    """Refuse a word that looks like an option where `-` is a file, unless a file has this name.

    Raises:
        ValueError: it is an option that the command does not have; its text is the word.
    """
    for each in (value,) if isinstance(value, str) else value or ():
        if each.startswith("-") and each != "-" and not Path(each).exists():
            raise ValueError(each)


def whole(_: object, tokens: Sequence[Token]) -> int:
    """Read a whole number; cyclopts by itself takes 1.5 for 2.

    Raises:
        ValueError: it is none.
    """
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number.") from None


_FILE: Final = Parameter(allow_leading_hyphen=True, validator=refuse_options)
PlanFileArgument = Annotated[
    str, _FILE, Parameter(help="The file of the plan; - is standard input.")
]
_FILE_OR_RUN: Final = (
    "The file of a plan, - for standard input; or a run, or the beginning of its name."
)
FileOrRun = Annotated[str, _FILE, Parameter(help=_FILE_OR_RUN)]
RunArgument = Annotated[str, Parameter(help="The run, or the beginning of its name.")]
ToolsOption = Annotated[
    tuple[str, ...] | None,
    Parameter(
        help="A JSON file of tool objects, an MCP configuration, an OpenAPI document, or"
        " MODULE:ATTRIBUTE. Repeatable: all of them together."
    ),
]
JsonFlag = Annotated[bool, Parameter(name="--json", help="Print JSON on standard output.")]
DialectOption = Annotated[str, Parameter(help=f"The form of the plan: {', '.join(DIALECTS)}.")]
JournalOption = Annotated[
    str | None,
    Parameter(
        help="Where runs are kept: a file, or postgres://USER@HOST/DATABASE; by default"
        " runs.sqlite in the user's folder."
    ),
]
TodayOption = Annotated[str | None, Parameter(help="Treat this date as today: YYYY-MM-DD.")]
ConversationOption = Annotated[
    str | None,
    Parameter(
        help="A conversation: earlier questions in it are known, as in 'the same for Munich'."
    ),
]
ContractsOption = Annotated[
    tuple[str, ...],
    Parameter(
        help="A file or folder of contracts: which agent does what, and needs what (repeatable)."
    ),
]
ModelOption = Annotated[
    tuple[str, ...] | None,
    Parameter(
        help="A model: openai:MODEL, anthropic:MODEL, ollama:MODEL, URL#MODEL. Repeatable: the"
        " next one is asked where one fails. The model is called only when it is needed."
    ),
]
PolicyOption = Annotated[
    str | None,
    Parameter(
        help="The file that says where values may come from; by default toolplan.policy.toml"
        " beside the settings."
    ),
]
PlannerOption = Annotated[
    str,
    Parameter(
        help="The planner: contract, offline, llm or an installed one; auto: the cheapest that can"
        " plan the question, up to a model."
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
StrictFlag = Annotated[
    bool, Parameter(help="Exit 1 where the result may be over a part of a list.")
]
PortOption = Annotated[
    int,
    Parameter(
        help="The port of HTTP; 0 takes a free one.",
        converter=whole,
        validator=validators.Number(gte=0, lte=65_535),
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ToolOptions:
    """The options of commands that open tools.

    Attributes:
        effects: TOOL=LABEL: what a tool may change, whatever its source says (repeatable).
    """

    tools: ToolsOption = None
    effects: tuple[str, ...] = ()

    def opened(
        self, base_url: str | None = None, *, for_plans: bool = False, accepts: bool = False
    ) -> AbstractContextManager[Toolset]:
        """Open the tools of `--tools`, by default the demo's.

        The built-in `extract` is among them where a model is named, or `for_plans`: to check a
        plan, or to show it, no model is needed.
        """
        settings = read_settings(home())
        return open_tools(
            self.tools,
            settings,
            lambda sentence: note(printable(sentence)),
            effects=self.effects,
            base_url=base_url,
            reading=_no_model if for_plans or settings.names_model else None,
            ask=ask_claim,
            accepts=accepts,
        )

    def opened_if_given(self) -> AbstractContextManager[Toolset | None]:
        """Open the tools of `--tools`, or None."""
        return self.opened(for_plans=True) if self.tools else nullcontext()


@dataclass(frozen=True, kw_only=True)
class ShowOptions(ToolOptions):
    """The options of commands that show plans and runs."""

    dialect: DialectOption = "toolplan"
    journal: JournalOption = None
    as_json: JsonFlag = False


@dataclass(frozen=True, kw_only=True)
class SourceOptions(ToolOptions):
    """The options of commands whose tools may be those of an OpenAPI document.

    Attributes:
        base_url: The address of the service of an OpenAPI document.
    """

    base_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class AppOptions(SourceOptions):
    """The options of commands that open an app."""

    policy: PolicyOption = None
    model: ModelOption = None


@dataclass(frozen=True, kw_only=True)
class PlannerOptions(AppOptions):
    """The options of commands that plan.

    Attributes:
        weeks: Whether 'last week' is the last 7 days, or Monday to Sunday.
    """

    planner: PlannerOption = "auto"
    weeks: Literal["rolling", "calendar"] = "rolling"


@dataclass(frozen=True, kw_only=True)
class QuestionOptions(PlannerOptions):
    """The options of commands that plan one question."""

    contracts: ContractsOption = ()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """The limits of one run.

    Attributes:
        timeout: The most seconds of each try of a call (60).
    """

    concurrency: ConcurrencyOption = ()
    timeout: float | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ApprovalOptions:
    """The options of commands whose plans may have effects.

    Attributes:
        yes: Approve a plan with effects without asking.
        approve: Approve the plan with effects that has this digest, for one run.
        times: With --approve: how many runs the digest approves in all, with those before (1).
        approve_values: Run what only reads first; calls with effects are approved with values.
    """

    yes: bool = False
    approve: str | None = None
    times: Annotated[int | None, Parameter(converter=whole)] = None
    approve_values: bool = False

    @property
    def approved(self) -> str | None:
        """The stated approval: the digest of a plan, `VALUES`, or None to ask.

        Raises:
            CommandError: both are given, or `times` without a digest or out of its bounds.
        """
        digest, times = self.approve, self.times
        if times is not None and (digest is None or not 1 <= times <= 1_000):
            said = f"--times {times} says how many runs --approve DIGEST approves: 1 to 1,000."
            help_ = "Give it with --approve DIGEST, or leave it out for one run."
            raise CommandError("usage", said, help_)
        if self.approve_values and digest is not None:
            said = "--approve approves a plan as it stands, --approve-values its calls one by one."
            raise CommandError("usage", said, "Give one of them.")
        if digest is not None and not is_digest(digest):
            help_ = "Give the digest that the command prints when it needs an approval."
            said = f"--approve {digest!r:.200} is not the digest of a plan."
            raise CommandError("usage", said, help_)
        return VALUES if self.approve_values else digest


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Decisions:
    """Decisions about the calls of a run.

    Attributes:
        retry: STEP or STEP:ITEM: make the call again.
        resolve: STEP=JSON or STEP:ITEM=JSON: the call succeeded, with this result.
        abort: STEP or STEP:ITEM: the call failed.
        allow: STEP: make its calls that wait, as shown.
        deny: STEP: its calls that wait are not made.
        reason: Why they are not; it is kept with the run.
    """

    retry: tuple[str, ...] = ()
    resolve: tuple[str, ...] = ()
    abort: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    reason: str = ""


def for_given_plans(model: Sequence[str] | None) -> str:
    """Return the planner of an app that plans nothing: a model is for `extract` only."""
    return "auto" if model else "offline"


def _no_model() -> Model:
    raise ModelError("llm-spec", "No model is named.", "Name one: --model MODEL.")


def opened_journal(place: str | None = None) -> Store:
    """Open the journal at `place`, by default the user's own, and print its notes.

    Raises:
        ToolplanError: it cannot be opened.
    """
    journal = open_journal(user_journal(place))
    for sentence in journal.notes:
        note(printable(sentence))
    return journal
