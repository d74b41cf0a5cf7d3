"""Planning with models: the settings, the cache of plans, and the rung that asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolplan.app.settings import Settings, SettingsError, read_settings
from toolplan.cli._home import home
from toolplan.cli._planning import Choice, Planning, report_escalation
from toolplan.cli._terminal import CommandError, note
from toolplan.planners import GroundedPlanner, LLMPlanner, Planner
from toolplan.planners.cache import CachedPlanner
from toolplan.planners.fallback import FallbackChain
from toolplan.planners.grounded.dates import Weeks
from toolplan.planners.llm import Style
from toolplan.providers import ModelError, UsageTracker, open_model
from toolplan.storage.plan_cache import PlanCache

CACHE: Final = "plans.sqlite"

_ENOUGH_TOKENS: Final = 10_000
"""The tokens of a plan, where the user has not said how many; a plan that is cut is no plan."""

_KIRHA = re.compile(r"\bkirha/planner")


def with_models(choice: Choice, specs: Sequence[str], weeks: Weeks) -> Planning:
    """Return what proposes plans where models are named, here or in the settings.

    Raises:
        CommandError: the settings or a model cannot be used.
    """
    try:
        settings = read_settings(home())
    except SettingsError as error:
        raise CommandError(error.code, str(error), error.help) from None
    for said in settings.notes:
        note(said)
    tracker = UsageTracker()
    try:
        model = open_model(
            list(specs) or list(settings.models),
            keys=settings.keys,
            addresses=settings.addresses,
            timeout_s=settings.timeout_s,
            max_calls=settings.max_calls,
            tracker=tracker,
        )
    except ModelError as error:
        raise CommandError(error.code, str(error), error.help or None) from None
    asked = settings.model_fields_set
    llm = LLMPlanner(
        model,
        weeks=weeks,
        style=_style(specs or settings.models),
        temperature=settings.temperature if "temperature" in asked else 0.0,
        max_tokens=settings.max_tokens if "max_tokens" in asked else _ENOUGH_TOKENS,
    )
    planner = _cached(_ladder(choice, llm, weeks), f"{choice}/{llm.name}", llm, settings, weeks)
    return Planning(planner, max(1, settings.max_retries), model, tracker)


def _ladder(choice: Choice, llm: LLMPlanner, weeks: Weeks) -> Planner:
    if choice == "llm":
        return llm
    planners = {"grounded": GroundedPlanner(weeks=weeks), "llm": llm}
    return FallbackChain(planners, on_escalation=report_escalation)


def _cached(
    planner: Planner, name: str, llm: LLMPlanner, settings: Settings, weeks: Weeks
) -> Planner:
    """Remember plans under `name`: a rung that is forced is not served by another one."""
    if not settings.enable_caching:
        return planner
    ttl_s = settings.cache_ttl_ms / 1000
    cache = PlanCache(home() / CACHE, max_size=settings.cache_max_size, ttl_s=ttl_s)
    return CachedPlanner(planner, cache, name=name, version=llm.version, weeks=weeks)


def _style(specs: Sequence[str]) -> Style:
    """Ask models of the kirha family in their own form (F002-22)."""
    return "kirha" if all(_KIRHA.search(spec) for spec in specs) else "toolplan"
