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
    """A rate is computed over rows that were filtered by the very thing that is rated.

    Of rows that are all contaminated, the share that is contaminated is always 100 %: the rows for
    the denominator were never fetched. There is no error, but the figure is wrong.

        shipments_list(has_contaminants: true), then avg(has_contaminants)

    How to fix: fetch all rows, and filter in the statement.
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
                        f"Fetch all rows: remove {name!r} from {source.id!r}.",
                    )


def _statements(tool: Tool, step: Step) -> Iterator[str]:
    """Yield the literal-only arguments: those that say what is computed."""
    for name in tool.input.literal_only:
        value = step.args.get(name)
        if isinstance(value, Literal) and isinstance(value.value, str):
            yield value.value


def _is_one(value: Json) -> bool:
    return isinstance(value, bool | str)


def _is_rated(name: str, text: str) -> bool:
    """Return whether an average of `name`, or a share by it, is computed."""
    column = re.escape(name)
    return re.search(rf"(?i)\bavg\s*\([^()]*\b{column}\b|/[^/]*\b{column}\b", text) is not None
