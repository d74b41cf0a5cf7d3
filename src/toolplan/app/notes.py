"""What is noted in a plan's metadata: advice, and no part of its digest."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from toolplan.engines import RunOptions
from toolplan.execution_plan import ExecutionPlan
from toolplan.forecast import Forecast, forecast
from toolplan.path import Json
from toolplan.storage.journal import Store
from toolplan.tools import Toolbox


def foreseen(
    plan: ExecutionPlan, journal: Store, tools: Toolbox, run_options: RunOptions = RunOptions()
) -> Forecast:
    """Return the forecast of `plan`, from the durations in `journal`."""
    used = {step.tool for step in plan.plan.steps}
    return forecast(
        plan,
        journal.durations(used),
        concurrency=run_options.concurrency,
        tool_concurrency=run_options.tool_concurrency,
        source_concurrency=run_options.source_concurrency,
        sources={name: tools[name].source for name in used},
        timeout_s=run_options.timeout_s,
    )


def estimate(expected: Forecast) -> dict[str, Json]:
    """Return what a plan's metadata says of the forecast: nothing where tools are not known."""
    if not expected.is_known:
        return {}
    return {"estimated_duration_ms": round(expected.expected_s * 1000)}


def noted(plan: ExecutionPlan, notes: Mapping[str, Json]) -> ExecutionPlan:
    """Return `plan` with `notes` in its metadata, which is advice and no part of the digest."""
    metadata = {**plan.plan.metadata, **notes}
    return replace(plan, plan=replace(plan.plan, metadata=metadata))
