"""The plan cache: drafts that worked, stored in SQLite by key."""

from toolplan.storage.plan_cache._cache import CacheStats, Entry, PlanCache

__all__ = ["CacheStats", "Entry", "PlanCache"]
