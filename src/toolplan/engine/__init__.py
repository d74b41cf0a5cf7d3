"""Engines: each takes an `ExecutionPlan` and runs exactly that."""

from toolplan.engine._calls import (
    CannotRun,
    RunOptions,
    SharedLimit,
    no_call_in_doubt,
    no_call_waits,
)
from toolplan.engine._detached import Prepared, cancel, prepare
from toolplan.engine._execution import Leaving
from toolplan.engine._runs import Decided
from toolplan.engine._values import filled_output
from toolplan.engine.local import StepStream, StreamRefused, resume, run, run_stream

__all__ = [
    "CannotRun",
    "Decided",
    "Leaving",
    "Prepared",
    "RunOptions",
    "SharedLimit",
    "StepStream",
    "StreamRefused",
    "cancel",
    "filled_output",
    "no_call_in_doubt",
    "no_call_waits",
    "prepare",
    "resume",
    "run",
    "run_stream",
]
