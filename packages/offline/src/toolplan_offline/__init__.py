"""The planner without a model: one grammar reads a question, or a question is asked back."""

from toolplan_offline.planner import OfflinePlanner

__all__ = ["OfflinePlanner"]
