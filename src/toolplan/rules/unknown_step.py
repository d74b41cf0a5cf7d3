"""The rule `unknown-step`."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from toolplan.diagnostics import Edit, Fix, available, did_you_mean
from toolplan.plan import RESERVED_IDS, Ref, located_refs, map_refs, value_at
from toolplan.plan_json import dump_value
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem, rule


@rule()
def unknown_step(context: PlanContext) -> Iterator[Problem]:
    """A reference, or `after`, names a step that is not in the plan.

    Steps may be written in any order, so a step that is written later is fine. A name that was
    surely meant is corrected.

        {"id": "b", "tool": "…", "args": {"ids": "${facilites.data[*].id}"}}

    How to fix: name a step of the plan.
    """
    ids = context.steps
    for pointer, holder, ref in _unknown(context):
        offers = context.suggest(ref.step, ids)
        yield Problem(
            f"There is no step {ref.step!r}.",
            pointer,
            holder,
            did_you_mean(offers.near) or available("steps", ids),
            None if offers.sure is None else _point_to(context, pointer, ref.step, offers.sure),
        )
    for position, step in enumerate(context.plan.steps):
        for at, name in enumerate(step.after):
            if name in ids:
                continue
            pointer = f"/steps/{position}/after/{at}"
            offers = context.suggest(name, ids)
            yield Problem(
                f"There is no step {name!r}.",
                pointer,
                step.id,
                did_you_mean(offers.near) or available("steps", ids),
                None if offers.sure is None else Fix(True, (Edit(pointer, offers.sure),)),
            )


def _unknown(context: PlanContext) -> Iterator[tuple[str, str | None, Ref]]:
    """Yield the references to unknown steps, each name once for each value."""
    seen: set[tuple[str, str]] = set()
    ids = context.steps
    for use in context.uses:
        name = use.ref.step
        if name in ids or name in RESERVED_IDS or (use.pointer, name) in seen:
            continue
        seen.add((use.pointer, name))
        yield use.pointer, use.step.id, use.ref
    if context.plan.output is not None:
        for pointer, ref in located_refs(context.plan.output, "/output"):
            if ref.step not in context.steps and ref.step not in RESERVED_IDS:
                yield pointer, None, ref


def _point_to(context: PlanContext, pointer: str, old: str, new: str) -> Fix | None:
    value = value_at(context.plan, pointer)
    if value is None:
        return None
    corrected = map_refs(value, lambda ref: replace(ref, step=new) if ref.step == old else ref)
    return Fix(True, (Edit(pointer, dump_value(corrected)),))
