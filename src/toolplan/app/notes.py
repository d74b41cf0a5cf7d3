"""What is noted in a plan's metadata: advice, and no part of its digest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from toolplan.approval import INVENTED
from toolplan.diagnostics import Diagnostic
from toolplan.engines import RunOptions
from toolplan.execution_plan import ExecutionPlan
from toolplan.forecast import Forecast, forecast
from toolplan.path import Json
from toolplan.planners import Question
from toolplan.rules.invented_literal import EARLIER
from toolplan.storage.journal import Store
from toolplan.tools import Toolbox

_MOST_EARLIER: Final = 40
_LONGEST_EARLIER: Final = 1_000
"""Most texts of a conversation that a plan keeps, and the most characters of each."""

_SAID: Final = frozenset(("query", "text", "entities"))


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


def said_to(question: Question) -> dict[str, Json]:
    """Return what a plan's metadata keeps of the conversation before its question."""
    texts = [each[:_LONGEST_EARLIER] for each in _texts_of(question.context, said=False)]
    kept = tuple(dict.fromkeys(texts))[:_MOST_EARLIER]
    return {EARLIER: [*kept]} if kept else {}


def _texts_of(context: Json, *, said: bool) -> Iterator[str]:
    """Yield the texts of a conversation's context, without its plans."""
    match context:
        case str() if said:
            yield context
        case list():
            for each in context:
                yield from _texts_of(each, said=said)
        case dict():
            for name, inner in context.items():
                if name != "plan":
                    yield from _texts_of(inner, said=name in _SAID)
        case _:
            return


def with_invented(plan: ExecutionPlan, found: Sequence[Diagnostic]) -> ExecutionPlan:
    """Return `plan` with the places of `found`, values that a model invented, in its metadata."""
    if not found:
        return plan
    known = plan.plan.metadata.get("provenance")
    invented: dict[str, Json] = {each.pointer: dict(INVENTED) for each in found}
    return noted(plan, {"provenance": {**(known if isinstance(known, dict) else {}), **invented}})
