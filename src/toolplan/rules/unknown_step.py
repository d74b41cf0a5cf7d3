"""The rule `unknown-step`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolplan.diagnostics import Edit, Fix, did_you_mean, near, nearest
from toolplan.plan import RESERVED_IDS, Ref, located_refs, map_refs, value_at
from toolplan.plan_json import dump_value
from toolplan.rules._facts import Facts
from toolplan.rules._rule import Problem, rule


@rule()
def unknown_step(facts: Facts) -> Iterator[Problem]:
    """A reference, or `after`, names a step that is not in the plan.

    There would be nothing to wait for. Steps may be written in any order, so a step that is written
    later is fine. A name that surely was meant is put in its place.

        {"id": "b", "tool": "…", "args": {"ids": "${facilites.data[*].id}"}}

    Way out: name a step of the plan.
    """
    ids = facts.steps
    for pointer, holder, ref in _references(facts):
        if ref.step in ids or ref.step in RESERVED_IDS:
            continue
        sure = nearest(ref.step, ids)
        yield Problem(
            f"There is no step {ref.step!r}.",
            pointer,
            holder,
            did_you_mean(near(ref.step, ids)) or _list(facts),
            None if sure is None else _point_to(facts, pointer, ref.step, sure),
        )
    for position, step in enumerate(facts.plan.steps):
        for at, name in enumerate(step.after):
            if name in ids:
                continue
            pointer = f"/steps/{position}/after/{at}"
            sure = nearest(name, ids)
            yield Problem(
                f"There is no step {name!r}.",
                pointer,
                step.id,
                did_you_mean(near(name, ids)) or _list(facts),
                None if sure is None else Fix(True, (Edit(pointer, sure),)),
            )


def _references(facts: Facts) -> Iterator[tuple[str, str | None, Ref]]:
    seen: set[tuple[str, str]] = set()
    for use in facts.uses:
        if (use.pointer, use.ref.step) not in seen:
            seen.add((use.pointer, use.ref.step))
            yield use.pointer, use.step.id, use.ref
    if facts.plan.output is not None:
        for pointer, ref in located_refs(facts.plan.output, "/output"):
            yield pointer, None, ref


def _point_to(facts: Facts, pointer: str, old: str, new: str) -> Fix | None:
    value = value_at(facts.plan, pointer)
    if value is None:
        return None
    mended = map_refs(value, lambda ref: replace(ref, step=new) if ref.step == old else ref)
    return Fix(True, (Edit(pointer, dump_value(mended)),))


def _list(facts: Facts) -> str:
    names = list(facts.steps)
    return f"The steps are {', '.join(map(repr, names[:12]))}{' …' if len(names) > 12 else ''}."
