"""How plans are made and run, whoever asks."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from toolplan.answer import InsightFunction
from toolplan.approval import Approver, Policy
from toolplan.engines import RunOptions
from toolplan.events import Run
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.plan import Limits


def _no_advice() -> Mapping[str, Json]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Options:
    """How plans are made and run.

    Attributes:
        policy: what plans may use.
        limits: the limits of plans and runs.
        run_options: concurrency and timeouts of each run.
        insights: functions that find more in rows than holds for any rows.
        metadata: advice that is put into every plan.
        approval: called with each plan with effects; None lets the run wait for a person.
        on_ended: called in a thread with every run that is over, and its plan; what it raises is
            logged, and nothing else.
        clock: seconds since the epoch.
        new_id: gives the name of a run.
    """

    policy: Policy = field(default_factory=Policy)
    limits: Limits = field(default_factory=Limits)
    run_options: RunOptions = field(default_factory=RunOptions)
    insights: Sequence[InsightFunction] = ()
    metadata: Mapping[str, Json] = field(default_factory=_no_advice)
    approval: Approver | None = None
    on_ended: Callable[[ExecutionPlan, Run], None] | None = None
    clock: Callable[[], float] = time.time
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex
