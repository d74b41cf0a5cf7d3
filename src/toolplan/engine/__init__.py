"""Engines: each takes an `ExecutionPlan` and runs exactly that."""

from toolplan.engine._calls import CannotRun as CannotRun
from toolplan.engine._calls import RunOptions as RunOptions
from toolplan.engine._calls import SharedLimit as SharedLimit
from toolplan.engine._calls import no_call_in_doubt as no_call_in_doubt
from toolplan.engine._calls import no_call_waits as no_call_waits
from toolplan.engine._detached import Prepared as Prepared
from toolplan.engine._detached import cancel as cancel
from toolplan.engine._detached import prepare as prepare
from toolplan.engine._execution import Leaving as Leaving
from toolplan.engine._runs import Decided as Decided
from toolplan.engine._values import filled_output as filled_output
from toolplan.engine.local import StepStream as StepStream
from toolplan.engine.local import StreamRefused as StreamRefused
from toolplan.engine.local import resume as resume
from toolplan.engine.local import run as run
from toolplan.engine.local import run_stream as run_stream
