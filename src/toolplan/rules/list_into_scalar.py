"""The rule `list-into-scalar`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from toolplan.diagnostics import Edit, Fix
from toolplan.path import EVERY
from toolplan.plan import ITEM, Plan, Ref, located_refs, map_refs, step_values, value_at
from toolplan.plan_json import dump_value
from toolplan.rules._facts import Facts, Use
from toolplan.rules._rule import Problem, rule
from toolplan.schema import Schema, Verdict, assignable, elements, types_of


@rule()
def list_into_scalar(facts: Facts) -> Iterator[Problem]:
    """A reference gives a list where the tool takes one value at a time.

    Many planners write it so and mean a call for each element; sent as it is, the tool would find
    nothing, and say so without an error. Where the tool only reads and one argument of the step is
    concerned, the step becomes a `for_each` over that list, and every reference to the step gets
    its `[*]`, so that readers see one list as before. Otherwise the change is offered.

        {"tool": "orders_list", "args": {"customer_id": "${customers.data[*].id}"}}

    becomes

        {"for_each": "${customers.data[*].id}", "args": {"customer_id": "${item}"}, …}

    Way out: use `for_each`, or select one element (`[0]`).
    """
    found = [use for use in facts.uses if is_list_into_scalar(use)]
    of_step = Counter(use.step.id for use in found)
    for use in found:
        yield Problem(
            f"{use.text} is a list, but one value at a time is wanted.",
            use.pointer,
            use.step.id,
            "Make a call for each element with `for_each`, or select one of them.",
            _fan_out(facts, use) if of_step[use.step.id] == 1 else None,
        )


def is_list_into_scalar(use: Use) -> bool:
    """Say whether `use` gives a list of what is wanted one at a time."""
    if not (use.whole and isinstance(use.given, Schema) and isinstance(use.taken, Schema)):
        return False
    if "array" in types_of(use.taken) or types_of(use.given) - {"array", "null"}:
        return False
    element = elements(use.given)
    known = element if isinstance(element, Schema) else None
    return assignable(known, use.taken) is not Verdict.NO and "array" in types_of(use.given)


def _fan_out(facts: Facts, use: Use) -> Fix | None:
    if use.step.for_each is not None or facts.steps.get(use.step.id) is not use.step:
        return None
    tool = facts.tool(use.step)
    position = facts.positions[use.step.id]
    edits = [
        Edit(f"/steps/{position}/for_each", dump_value(use.ref)),
        Edit(use.pointer, dump_value(Ref(ITEM))),
        *_readers(facts.plan, use.step.id),
    ]
    return Fix(tool is not None and not tool.has_effects, tuple(edits))


def _readers(plan: Plan, step_id: str) -> Iterator[Edit]:
    """Yield an edit for each value that refers to the step: what was one output is now a list."""

    def spread(ref: Ref) -> Ref:
        return replace(ref, path=(EVERY, *ref.path)) if ref.step == step_id else ref

    places = [
        pointer
        for position, step in enumerate(plan.steps)
        for start, value in step_values(step)
        for pointer, ref in located_refs(value, f"/steps/{position}{start}")
        if ref.step == step_id
    ]
    if plan.output is not None:
        places += [p for p, ref in located_refs(plan.output, "/output") if ref.step == step_id]
    for pointer in dict.fromkeys(places):
        value = value_at(plan, pointer)
        if value is not None:
            yield Edit(pointer, dump_value(map_refs(value, spread)))
