"""The rules of calls as a whole: made twice, or over rows that decide the result."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable, Iterator

from toolplan.compiler.rules._context import PlanContext, Use
from toolplan.compiler.rules._rule import Problem, rule
from toolplan.plan.canonical import dump_value
from toolplan.plan.diagnostics import Severity
from toolplan.plan.model import Array, Literal, Object, Ref, Step, Template, Value


@rule(Severity.WARNING)
def duplicate_call(context: PlanContext) -> Iterator[Problem]:
    """Two steps make the same call, and the tool only reads.

    The second call returns what the first returned. Planners sometimes write dozens of such steps.

    How to fix: refer to the first step, or make the calls differ.
    """
    calls: list[tuple[int, Step, Hashable]] = []
    for position, step in enumerate(context.plan.steps):
        tool = context.tool(step)
        if step.tool and (tool is None or not tool.has_effects):
            calls.append((position, step, _plain_part(step)))
    alike = Counter(key for _, _, key in calls)
    first: dict[Hashable, Step] = {}
    for position, step, key in calls:
        earlier = first.setdefault(_call(step), step) if alike[key] > 1 else step
        if earlier is not step:
            yield Problem(
                f"{step.id!r} makes the same call as {earlier.id!r}.",
                f"/steps/{position}",
                step.id,
                f"Refer to {earlier.id!r} instead.",
            )


def _plain_part(step: Step) -> Hashable:
    """Return a cheap key, equal for the same call; most steps already differ in it."""
    return step.tool, frozenset(
        (name, value.value)
        for name, value in step.args.items()
        if isinstance(value, Literal) and not isinstance(value.value, list | dict)
    )


def _call(step: Step) -> Hashable:
    """Return a key that is equal exactly for the same call."""
    args = frozenset((name, _comparable(value)) for name, value in step.args.items())
    over = None if step.for_each is None else _comparable(step.for_each)
    when = step.when and (
        _comparable(step.when.value),
        json.dumps(step.when.schema, sort_keys=True),
    )
    return (step.tool, args, over, when, frozenset(step.after))


def _comparable(value: Value) -> Hashable:
    match value:
        case Array() | Object() | Literal(list() | dict()):
            return json.dumps(dump_value(value), sort_keys=True)
        case Literal(constant):
            return type(constant), constant  # 1 is not 1.0, nor true
        case Ref() | Template():
            return value


@rule(Severity.WARNING)
def ratio_over_filtered(context: PlanContext) -> Iterator[Problem]:
    """A rate is computed over rows that were filtered by the very thing that is rated.

    Of rows that are all contaminated, the share that is contaminated is always 100 %: the rows for
    the denominator were never fetched. There is no error, but the figure is wrong.

        shipments_list(has_contaminants: true), then avg(has_contaminants)

    How to fix: fetch all rows, and filter in the statement.
    """
    for use in context.uses:
        for text in _statements(context, use):
            for name, value in _filters(context.steps.get(use.ref.step)):
                if _is_rated(name, text):
                    yield Problem(
                        f"{use.step.id!r} computes over {name!r}, but {use.ref.step!r} fetches"
                        f" only rows where it is {json.dumps(value)}.",
                        use.pointer,
                        use.step.id,
                        f"Fetch all rows: remove {name!r} from {use.ref.step!r}.",
                    )


def _filters(step: Step | None) -> Iterator[tuple[str, bool | str]]:
    for name, value in () if step is None else step.args.items():
        if isinstance(value, Literal) and isinstance(value.value, bool | str):
            yield name, value.value


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
