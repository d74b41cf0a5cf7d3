"""The plan cache: drafts that worked, kept in SQLite and found again by key or by shape."""

from toolplan.storage.plan_cache._cache import CacheStats, Entry, PlanCache

__all__ = ["CacheStats", "Entry", "PlanCache"]
