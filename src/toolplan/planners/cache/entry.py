"""The entry point `cache` of the group `toolplan.planners`."""

from __future__ import annotations

from typing import Final

from toolplan.planners.cache._planner import CachedPlanner
from toolplan.planners.context import PlannerContext
from toolplan.storage.plan_cache import PlanCache

FILE: Final = "plans.sqlite"


def cache(context: PlannerContext) -> CachedPlanner | None:
    """Return the planner that remembers plans of `inner`; None without caching.

    A planner that the user names does not get plans of another one.
    """
    if context.inner is None or not context.caching:
        return None
    plans = PlanCache(
        context.data / FILE, max_size=context.cache_max_size, ttl_s=context.cache_ttl_s
    )
    name = context.choice if context.model is None else f"{context.choice}/{context.model.name}"
    return CachedPlanner(
        context.inner,
        plans,
        name=name,
        version=context.inner_version,
        weeks=context.weeks,
        policy=context.policy,
    )
