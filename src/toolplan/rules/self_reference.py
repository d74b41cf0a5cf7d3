"""The rule `self-reference`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import REMOVED, Edit, Fix
from toolplan.rules import _counting
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def self_reference(context: PlanContext) -> Iterator[Problem]:
    """A step refers to itself.

    It would wait for its own end. A step that waits for itself through others is a `cycle`. If a
    plan without ids counts its steps from 1 where the dialect counts from 0, a fix that corrects
    all numbers is offered.

    How to fix: refer to another step.
    """
    reported: set[str] = set()
    for use in context.uses:
        if use.ref.step == use.step.id and use.pointer not in reported:
            fix = None if reported else _counting.counted_from_one(context)
            reported.add(use.pointer)
            yield Problem(
                f"The step {use.step.id!r} refers to its own output.",
                use.pointer,
                use.step.id,
                "Refer to an earlier step, or split this step in two.",
                fix,
            )
    for position, step in context.elaborate:
        for at, name in enumerate(step.after):
            if name == step.id:
                pointer = f"/steps/{position}/after/{at}"
                yield Problem(
                    f"The step {step.id!r} waits for itself.",
                    pointer,
                    step.id,
                    "Remove it from `after`.",
                    Fix(True, (Edit(pointer, REMOVED),)),
                )
