"""What proposes plans, as the options of a command say: the rungs of the ladder."""

from __future__ import annotations

import importlib
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, TypeAlias, cast

from toolplan.app import DEFAULT_ATTEMPTS
from toolplan.cli._home import SETTINGS, home
from toolplan.cli._terminal import CommandError, Exit, note
from toolplan.engines import CannotRun
from toolplan.planners import GroundedPlanner, Planner
from toolplan.planners.fallback import Escalation, FallbackChain
from toolplan.planners.grounded.dates import Weeks
from toolplan.planners.grounded.dialogue import DialoguePlanner
from toolplan.providers import Model, ModelError, UsageTracker
from toolplan.render.printable import printable

Choice: TypeAlias = Literal["auto", "contract", "grounded", "llm"]

_VARIABLE: Final = "TOOLPLAN_MODEL"
_SETTING: Final = "toolplan_model"
_CONTRACTS: Final = "toolplan.cli._contracts"
_MODELS: Final = "toolplan.cli._models"
"""What models need is imported where one is named: it takes longer than all else together."""


@dataclass(frozen=True, slots=True)
class Planning:
    """What proposes plans.

    Attributes:
        planner: all rungs.
        attempts: the most drafts for one question.
        model: what may put an answer into words.
        tracker: what the models used.
    """

    planner: Planner
    attempts: int = DEFAULT_ATTEMPTS
    model: Model | None = None
    tracker: UsageTracker | None = None


class OpensPlanning(Protocol):
    """What `_models` gives."""

    def __call__(self, choice: Choice, specs: Sequence[str], weeks: Weeks) -> Planning: ...


def planning(
    choice: Choice, specs: Sequence[str], weeks: Weeks, contracts: Sequence[str] = ()
) -> Planning:
    """Return what proposes plans.

    `specs` name models; without any, those of the settings. `contracts` are files and folders of
    contracts, which are asked first.

    Raises:
        CommandError: a rung is forced and has nothing to go by, or one cannot be used.
    """
    if not contracts:
        if choice == "contract":
            raise CommandError(
                "usage", "--planner contract needs contracts.", "Name them: --contracts FOLDER."
            )
        return _without_contracts(choice, specs, weeks)
    rung = importlib.import_module(_CONTRACTS).contract_planner(contracts)
    if choice == "contract":
        return Planning(rung)
    higher = _without_contracts(choice, specs, weeks)
    planners = {"contract": rung, "grounded": higher.planner}
    return replace(higher, planner=FallbackChain(planners, on_escalation=report_escalation))


def report_escalation(step: Escalation) -> None:
    """Tell why the next rung is asked."""
    note(printable(f"No plan from {step.planner}: {step.reason}"))


def _without_contracts(choice: Choice, specs: Sequence[str], weeks: Weeks) -> Planning:
    if choice == "grounded" or not (specs or _is_set()):
        if choice == "llm":
            raise CommandError(
                "no-model",
                "--planner llm needs a model, and none is named.",
                "Name one: --model ollama:mistral, --model openai:MODEL, or --model URL#MODEL.",
            )
        if specs:
            raise CommandError("usage", "--planner grounded asks no model; leave --model away.")
        return Planning(GroundedPlanner(weeks=weeks))
    with_models = cast("OpensPlanning", importlib.import_module(_MODELS).with_models)
    return with_models(choice, specs, weeks)


def talking(planner: Planner, session: str | None, weeks: Weeks) -> Planner:
    """Return `planner` as one that takes up what was said before, where a conversation is named."""
    return planner if session is None else DialoguePlanner(planner, weeks=weeks)


def _is_set() -> bool:
    """Whether the settings may name models; whoever reads them says what they are."""
    if os.environ.get(_VARIABLE):
        return True
    try:
        return _SETTING in (home() / SETTINGS).read_text("utf-8").lower()
    except (OSError, ValueError):
        return False


@contextmanager
def report_planning_errors() -> Generator[None]:
    """Tell of a model that gave no plan, or tools that cannot be called, as a command does.

    Raises:
        CommandError: one of these.
    """
    try:
        yield
    except ModelError as error:
        raise CommandError(error.code, str(error), error.help or None, Exit.FAILED) from None
    except CannotRun as error:
        raise CommandError(
            "cannot-run", str(error), "Give tools that can be called; --plan-only needs none."
        ) from None


def report_usage(tracker: UsageTracker | None) -> None:
    """Tell what models have used, where any was asked."""
    usage = None if tracker is None else tracker.usage
    if usage is None or not usage.calls:
        return
    calls = f"{usage.calls} call{'s' if usage.calls > 1 else ''} of models"
    cost = "" if usage.cost_usd is None else f", ${usage.cost_usd:.4f}"
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    note(f"{calls}: {tokens}{cost}.")
