"""The rule `item-outside-for-each`."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan.plan import RESERVED_IDS, located_refs
from toolplan.rules._context import PlanContext, Use
from toolplan.rules._rule import Problem, rule


@rule()
def item_outside_for_each(context: PlanContext) -> Iterator[Problem]:
    """`${item}` or `${index}` is used where there is no item.

    They exist only in the arguments of a step with `for_each`. Its `when` is decided once, before
    there is any item.

    How to fix: give the step a `for_each`, or refer to a step.
    """
    reported: set[str] = set()
    for use in _of_items(context):
        if use.step.for_each and use.in_arguments:
            continue
        if use.pointer not in reported:
            reported.add(use.pointer)
            yield Problem(
                f"There is no {use.ref.step!r} here.",
                use.pointer,
                use.step.id,
                "`item` and `index` exist only in the arguments of a step with `for_each`."
                if use.step.for_each is None
                else "`when` and `for_each` are decided before there is an item.",
            )
    if context.plan.output is not None:
        for pointer, ref in located_refs(context.plan.output, "/output"):
            if ref.step in RESERVED_IDS:
                yield Problem(
                    f"There is no {ref.step!r} here.",
                    pointer,
                    None,
                    "`item` and `index` exist only in the arguments of a step with `for_each`.",
                )


def _of_items(context: PlanContext) -> list[Use]:
    """Return the references to `item` and `index`, in the order of reading."""
    if RESERVED_IDS.isdisjoint(context.readers):
        return []
    return [use for use in context.uses if use.ref.step in RESERVED_IDS]
