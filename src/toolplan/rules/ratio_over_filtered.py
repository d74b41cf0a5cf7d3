"""The rule `ratio-over-filtered`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from toolplan.diagnostics import Severity
from toolplan.path import Json
from toolplan.plan import Literal, Step
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule
from toolplan.tools import Tool


@rule(Severity.WARNING)
def ratio_over_filtered(context: PlanContext) -> Iterator[Problem]:
    """A rate is computed over rows that a filter has already chosen by what is rated.

    Of rows that are all contaminated, the share that is contaminated is all of them: the rows that
    make the denominator are missing. The figure comes out without an error, and it is 100 %.

        shipments_list(has_contaminants: true), then avg(has_contaminants)

    Way out: fetch all rows, and let the statement choose.
    """
    if not any(tool is not None and tool.input.literal_only for tool in context.called.values()):
        return
    for use in context.uses:
        tool = context.tool(use.step)
        if tool is None or not tool.input.literal_only or not use.in_arguments:
            continue
        source = context.steps.get(use.ref.step)
        if source is None:
            continue
        for text in _statements(tool, use.step):
            for name, value in source.args.items():
                if isinstance(value, Literal) and _is_one(value.value) and _is_rated(name, text):
                    yield Problem(
                        f"{use.step.id!r} computes over {name!r}, but {source.id!r} fetches only "
                        f"rows where it is {json.dumps(value.value)}.",
                        use.pointer,
                        use.step.id,
                        f"Fetch all rows: leave {name!r} out of {source.id!r}.",
                    )


def _statements(tool: Tool, step: Step) -> Iterator[str]:
    """Yield the arguments that must be written out: those that say what is computed."""
    for name in tool.input.literal_only:
        value = step.args.get(name)
        if isinstance(value, Literal) and isinstance(value.value, str):
            yield value.value


def _is_one(value: Json) -> bool:
    return isinstance(value, bool | str)


def _is_rated(name: str, text: str) -> bool:
    """Say whether an average of something about `name` is computed, or a share of a count."""
    column = re.escape(name)
    return re.search(rf"(?i)\bavg\s*\([^()]*\b{column}\b|/[^/]*\b{column}\b", text) is not None
