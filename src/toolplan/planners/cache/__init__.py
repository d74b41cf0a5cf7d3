"""The cached planner: it reuses plans that worked for the same question."""

from toolplan.planners.cache._planner import CachedPlanner

__all__ = ["CachedPlanner"]
