"""The planner of an app: one that the user names, or the cheapest that can plan a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from toolplan.app.settings import Settings
from toolplan.approval import Policy
from toolplan.diagnostics import did_you_mean, near
from toolplan.errors import ToolplanError
from toolplan.extensions import Extensions
from toolplan.planners import Planner
from toolplan.planners.context import PlannerContext, PlannerFactory
from toolplan.planners.fallback import Escalation, FallbackChain
from toolplan.providers import Model, UsageTracker, open_model

DEFAULT_ATTEMPTS: Final = 3
PLANNERS: Final = Extensions[PlannerFactory]("toolplan.planners")
_MISSING: Final = {
    "llm": (
        "no-model",
        "--planner llm needs a model, and none is named.",
        "Name one: --model ollama:mistral, --model openai:MODEL, or --model URL#MODEL.",
    ),
    "contract": (
        "usage",
        "--planner contract needs contracts.",
        "Name them: --contracts FOLDER.",
    ),
}


@dataclass(frozen=True, slots=True)
class Planning:
    """What proposes plans.

    Attributes:
        planner: the planner, with all that it may ask.
        attempts: the most drafts for one question.
        model: the model that is named, or None.
        tracker: what models have used.
    """

    planner: Planner
    attempts: int
    model: Model | None
    tracker: UsageTracker


def planning(
    choice: str,
    model: str | Sequence[str] | Model | None,
    settings: Settings,
    data: Path,
    *,
    weeks: Literal["rolling", "calendar"],
    contracts: Sequence[str],
    policy: Policy,
    note: Callable[[str], None],
) -> Planning:
    """Return what proposes plans. Without `model`, the models of the settings are used.

    Raises:
        ToolplanError: there is no such planner, it cannot be used so, or a setting is wrong.
    """
    tracker = UsageTracker()
    specs = _specs(model)
    if choice == "grounded" and (specs or _is_model(model)):
        raise ToolplanError(
            "usage", "--planner grounded asks no model.", "Leave --model out, or --planner."
        )
    attempts = DEFAULT_ATTEMPTS
    context = PlannerContext(data, choice, weeks=weeks, contracts=tuple(contracts), policy=policy)
    if choice not in ("grounded", "contract"):
        if specs or (model is None and settings.names_model):
            models = settings.models
            specs = specs or models.models
            for sentence in models.notes:
                note(sentence)
            model = open_model(
                specs,
                keys=models.keys,
                addresses=models.addresses,
                timeout_s=models.timeout_s,
                max_calls=models.max_calls,
                tracker=tracker,
            )
        if _is_model(model):
            given = settings.models
            attempts = max(1, given.max_retries)
            context = replace(
                context,
                model=model,
                models=specs,
                temperature=given.temperature if "temperature" in given.given else 0.0,
                max_tokens=given.max_tokens if "max_tokens" in given.given else 10_000,
                caching=given.enable_caching,
                cache_max_size=given.cache_max_size,
                cache_ttl_s=given.cache_ttl_ms / 1000,
            )

    def report(step: Escalation) -> None:
        note(f"No plan from {step.planner}: {step.reason}")

    planner = _chain(choice, context, report)
    return Planning(planner, attempts, context.model, tracker)


def _chain(choice: str, context: PlannerContext, report: Callable[[Escalation], None]) -> Planner:
    # a planner is loaded only where it may apply
    contract = _made("contract", context) if context.contracts else None
    if choice == "contract":
        return contract or _refuse(choice)
    if choice == "auto":
        planner = grounded = _made("grounded", context) or _refuse("grounded")
        llm = None if context.model is None else _made("llm", context)
        if llm is not None:
            chain = FallbackChain({"grounded": grounded, "llm": llm}, on_escalation=report)
            planner = _cached(chain, llm, context)
    else:
        planner = _made(choice, context) or _refuse(choice)
        if choice == "llm":
            planner = _cached(planner, planner, context)
    if contract is None:
        return planner
    return FallbackChain({"contract": contract, choice: planner}, on_escalation=report)


def _cached(planner: Planner, llm: Planner, context: PlannerContext) -> Planner:
    version = getattr(llm, "version", "")
    return _made("cache", replace(context, inner=planner, inner_version=str(version))) or planner


def _made(name: str, context: PlannerContext) -> Planner | None:
    if name not in PLANNERS:
        raise ToolplanError(
            "usage",
            f"There is no planner {name!r}.",
            did_you_mean(near(name, PLANNERS)) or f"There are auto, {', '.join(PLANNERS)}.",
        )
    return PLANNERS[name](context)


def _refuse(name: str) -> Planner:
    code, message, help_ = _MISSING.get(
        name, ("usage", f"The planner {name!r} does not apply here.", None)
    )
    raise ToolplanError(code, message, help_)


def _specs(model: object) -> tuple[str, ...]:
    if isinstance(model, str):
        return (model,)
    if isinstance(model, list | tuple):
        return tuple(map(str, model))
    return ()


def _is_model(model: object) -> bool:
    return model is not None and not isinstance(model, str | list | tuple)
