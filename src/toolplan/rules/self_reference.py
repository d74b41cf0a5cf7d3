"""The rule `self-reference`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.diagnostics import REMOVED, Edit, Fix
from toolplan.plan import step_refs
from toolplan.rules._facts import Facts
from toolplan.rules._rule import Problem, rule


@rule()
def self_reference(facts: Facts) -> Iterator[Problem]:
    """A step refers to itself.

    It would wait for its own end. A step that waits for itself through others is a `cycle`.

    Way out: refer to another step.
    """
    for position, step in enumerate(facts.plan.steps):
        told: set[str] = set()
        for pointer, ref in step_refs(step):
            if ref.step == step.id and pointer not in told:
                told.add(pointer)
                yield Problem(
                    f"The step {step.id!r} refers to its own output.",
                    f"/steps/{position}{pointer}",
                    step.id,
                    "Refer to an earlier step, or split this one in two.",
                )
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
