"""Engines: each takes an `ExecutionPlan` and runs exactly that."""

from toolplan.engines._calls import Bounds, CannotRun
from toolplan.engines._runs import Approver, Decided
from toolplan.engines.local import resume, run

__all__ = ["Approver", "Bounds", "CannotRun", "Decided", "resume", "run"]
