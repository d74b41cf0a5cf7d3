"""The rule `when-schema`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.path import Json
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule
from toolplan.schema import Schema, SchemaError


@rule()
def when_schema(context: PlanContext) -> Iterator[Problem]:
    """The condition of a step is not a usable JSON Schema.

    `when` is `{"value": …, "is": JSON Schema}`; the step runs if the value fits the schema. There
    is not an expression language.

    How to fix: write a schema, such as `{"const": true}` or `{"minItems": 1}`.
    """
    for position, step in enumerate(context.plan.steps):
        if step.when is None:
            continue
        fault = _fault(step.when.schema)
        if fault is not None:
            yield Problem(
                f"The condition of {step.id!r} is not a usable JSON Schema: {fault}.",
                f"/steps/{position}/when/is",
                step.id,
                'Write a schema that the value must fit: {"const": true}, {"minItems": 1} …',
            )


def _fault(raw: Json) -> str | None:
    try:
        schema = Schema.load(raw)
    except SchemaError as error:
        return str(error)
    if schema.is_whole:
        return None
    # a pattern left out of a tool's schema only lets more through; here it would decide
    return "a pattern in it uses look-around or back-references, which are not supported"
