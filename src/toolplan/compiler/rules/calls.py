"""The rules of calls as a whole: made twice, or over rows that decide the result."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator

from toolplan.compiler.rules._context import PlanContext, Problem, Use
from toolplan.compiler.rules._rule import rule
from toolplan.plan.diagnostics import Severity
from toolplan.plan.model import Literal, Step


@rule(Severity.WARNING)
def duplicate_call(context: PlanContext) -> Iterator[Problem]:
    """Two steps make the same call, and the tool only reads.

    The second call returns what the first returned. Planners sometimes write dozens of such steps.

    How to fix: refer to the first step, or make the calls differ.
    """
    first: dict[Hashable, Step] = {}
    for call in context.calls:
        step, tool = call.step, call.tool
        if not step.tool or (tool is not None and tool.has_effects):
            continue
        earlier = first.setdefault(_call(step), step)
        if earlier is not step:
            message = f"{step.id!r} makes the same call as {earlier.id!r}."
            yield call.problem(message, "", f"Refer to {earlier.id!r} instead.")


def _call(step: Step) -> Hashable:
    """Return a key that is equal exactly for the same call."""
    when = step.when and (step.when.value, json.dumps(step.when.schema, sort_keys=True))
    return step.tool, frozenset(step.args.items()), step.for_each, when, frozenset(step.after)


@rule(Severity.WARNING)
def ratio_over_filtered(context: PlanContext) -> Iterator[Problem]:
    """A rate is computed over rows that were filtered by the very thing that is rated.

    Of rows that are all contaminated, the share that is contaminated is always 100 %: the rows for
    the denominator were never fetched. There is no error, but the figure is wrong.

        shipments_list(has_contaminants: true), then avg(has_contaminants)

    How to fix: fetch all rows, and filter in the statement.
    """
    for use in context.uses:
        source = context.steps.get(use.ref.step)
        if source is None:
            continue
        for text in _statements(context, use):
            for name, value in source.args.items():
                constant = value.value if isinstance(value, Literal) else None
                if isinstance(constant, bool | str) and _is_rated(name, text):
                    yield use.problem(
                        f"{use.step.id!r} computes over {name!r}, but {source.id!r} fetches"
                        f" only rows where it is {json.dumps(constant)}.",
                        f"Fetch all rows: remove {name!r} from {source.id!r}.",
                    )


def _is_rated(name: str, text: str) -> bool:
    """Return whether an average of `name`, or a share by it, is computed."""
    column = rf"\b{re.escape(name)}\b"
    return re.search(rf"(?i)\bavg\s*\([^()]*{column}|/[^/]*{column}", text) is not None


def _statements(context: PlanContext, use: Use) -> Iterator[str]:
    """Yield the literal-only arguments of the call: those that say what is computed."""
    tool = context.tool(use.step) if use.in_arguments else None
    for name in () if tool is None else tool.input.literal_only:
        value = use.step.args.get(name)
        if isinstance(value, Literal) and isinstance(value.value, str):
            yield value.value
