"""The rule `when-schema`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.rules._facts import Facts
from toolplan.rules._rule import Problem, rule
from toolplan.schema import Schema, SchemaError


@rule()
def when_schema(facts: Facts) -> Iterator[Problem]:
    """The condition of a step is not a usable JSON Schema.

    `when` is `{"value": …, "is": JSON Schema}`; the step runs if the value fits the schema. There
    is no expression language to learn, and none to be attacked.

    Way out: write a schema, such as `{"const": true}` or `{"minItems": 1}`.
    """
    for position, step in enumerate(facts.plan.steps):
        if step.when is None:
            continue
        try:
            Schema.load(step.when.schema)
        except SchemaError as error:
            yield Problem(
                f"The condition of {step.id!r} is no usable JSON Schema: {error}.",
                f"/steps/{position}/when/is",
                step.id,
                'Write one that the value must fit: {"const": true}, {"minItems": 1} …',
            )
