"""Engines: each takes an `ExecutionPlan` and runs exactly that."""

from toolplan.engines._calls import CannotRun
from toolplan.engines.local import run

__all__ = ["CannotRun", "run"]
