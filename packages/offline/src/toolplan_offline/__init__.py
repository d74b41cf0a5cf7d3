"""The planner without a model: a question is read by one grammar, or it is asked back."""

from toolplan_offline.planner import OfflinePlanner

__all__ = ["OfflinePlanner"]
