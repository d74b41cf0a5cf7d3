"""Engines: each takes an `ExecutionPlan` and runs exactly that."""

from toolplan.engines._calls import (
    CannotRun,
    RunOptions,
    SharedLimit,
    no_call_in_doubt,
    no_call_waits,
)
from toolplan.engines._detached import Prepared, cancel, prepare
from toolplan.engines._execution import Leaving
from toolplan.engines._runs import Decided
from toolplan.engines._streamed import StepStream, StreamRefused
from toolplan.engines._values import filled_output
from toolplan.engines.local import resume, run, run_stream

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
