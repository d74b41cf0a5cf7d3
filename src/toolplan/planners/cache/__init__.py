"""The cached planner: plans that worked are proposed again, for the same or a like question."""

from toolplan.planners.cache._planner import CachedPlanner

__all__ = ["CachedPlanner"]
