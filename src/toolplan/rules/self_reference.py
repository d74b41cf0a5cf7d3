"""The rule `self-reference`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import REMOVED, Edit, Fix
from toolplan.rules._context import PlanContext
from toolplan.rules._counting import counted_from_one
from toolplan.rules._rule import Problem, rule


@rule()
def self_reference(context: PlanContext) -> Iterator[Problem]:
    """A step refers to itself.

    It would wait for its own end. A step that waits for itself through others is a `cycle`. Where
    every reference of a plan without ids would lead to an earlier step if it were counted from 1,
    counting them from 0 is offered.

    Way out: refer to another step.
    """
    told: set[str] = set()
    for use in context.uses:
        if use.ref.step == use.step.id and use.pointer not in told:
            fix = None if told else counted_from_one(context)
            told.add(use.pointer)
            yield Problem(
                f"The step {use.step.id!r} refers to its own output.",
                use.pointer,
                use.step.id,
                "Refer to an earlier step, or split this one in two.",
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
                    "Leave it out of `after`.",
                    Fix(True, (Edit(pointer, REMOVED),)),
                )
