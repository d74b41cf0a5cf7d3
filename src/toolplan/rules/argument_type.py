"""The rule `argument-type`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.plan import Step, split_pointer
from toolplan.rules._facts import Facts
from toolplan.rules._rule import Problem, rule
from toolplan.schema import Schema, at, describe


@rule()
def argument_type(facts: Facts) -> Iterator[Problem]:
    """An argument is written out with a value of the wrong JSON type.

    What is filled in later by references is checked by `reference-type`.

        {"tool": "shipments_list", "args": {"limit": "ten"}}

    Way out: write a value of the type that the message names.
    """
    for position, step in enumerate(facts.plan.steps):
        for found in facts.violations(position):
            if found.kind == "type":
                pointer = f"/steps/{position}/args{found.pointer}"
                yield Problem(
                    f"{_named(found.pointer)}: {found.message}",
                    pointer,
                    step.id,
                    _way_out(facts, step, found.pointer),
                )


def _named(inside: str) -> str:
    return ".".join(split_pointer(inside)) or "The arguments"


def _way_out(facts: Facts, step: Step, inside: str) -> str | None:
    tool = facts.tool(step)
    if tool is None:
        return None
    path = tuple(int(key) if key.isdigit() else key for key in split_pointer(inside))
    part = at(tool.input, path)
    if not isinstance(part, Schema):
        return None
    wanted = describe(part)
    return None if wanted == "any value" else f"It takes {wanted}."
