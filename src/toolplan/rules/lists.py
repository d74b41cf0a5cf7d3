"""The rules of lists: one call for each item, and lists where one value stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from toolplan import schema as schemas
from toolplan.diagnostics import Edit, Fix, Severity
from toolplan.path import EVERY
from toolplan.plan import (
    ITEM,
    RESERVED_IDS,
    Limits,
    Literal,
    Ref,
    Step,
    located_refs,
    map_refs,
    value_at,
)
from toolplan.plan_json import dump_value
from toolplan.rules._context import PlanContext, Use
from toolplan.rules._rule import Problem, rule

_MOST_LAYERS: Final = 8
"""How deep lists of lists are followed: a schema may be recursive."""


@rule()
def list_into_scalar(context: PlanContext) -> Iterator[Problem]:
    """A reference gives a list where the tool accepts one value at a time.

    Planners often write this and mean one call for each element. Sent as it is, the tool would find
    nothing and report no error. Where the tool only reads and one argument of the step is
    concerned, the step becomes a `for_each` over that list, and every reference to the step gets a
    `[*]`, so that its readers see one list as before. Otherwise the change is only offered.

        {"tool": "orders_list", "args": {"customer_id": "${customers.data[*].id}"}}

    becomes

        {"for_each": "${customers.data[*].id}", "args": {"customer_id": "${item}"}, …}

    How to fix: use `for_each`, or select one element (`[0]`).
    """
    found = [use for use in context.doubtful if is_list_into_scalar(use)]
    if not found:
        return
    of_step = Counter(use.step.id for use in found)
    for use in found:
        yield Problem(
            f"{use.text} is a list, but the argument accepts one value.",
            use.pointer,
            use.step.id,
            "Use `for_each` to make one call for each element, or select one of them.",
            _fan_out(context, use) if of_step[use.step.id] == 1 else None,
        )


def is_list_into_scalar(use: Use) -> bool:
    """Return whether `use` gives a list of what the argument accepts one at a time."""
    return _layers(use) > 0


def _layers(use: Use) -> int:
    """Return how many levels of lists are too many: 0 where that is not the problem."""
    if not (
        use.whole
        and isinstance(use.given, schemas.Schema)
        and isinstance(use.taken, schemas.Schema)
    ):
        return 0
    if not _is_list(use.given) or "array" in schemas.types_of(use.taken):
        return 0
    layers, part = 1, schemas.elements(use.given)
    while layers < _MOST_LAYERS and isinstance(part, schemas.Schema) and _is_list(part):
        layers, part = layers + 1, schemas.elements(part)
    known = part if isinstance(part, schemas.Schema) else None
    return 0 if schemas.assignable(known, use.taken) is schemas.Verdict.NO else layers


def _is_list(schema: schemas.Schema) -> bool:
    types = schemas.types_of(schema)
    return "array" in types and not types - {"array", "null"}


def _fan_out(context: PlanContext, use: Use) -> Fix | None:
    if use.step.for_each is not None or context.steps.get(use.step.id) is not use.step:
        return None
    tool = context.tool(use.step)
    position = context.positions[use.step.id]
    inner = (EVERY,) * (_layers(use) - 1)
    # the first `[*]` of a path makes one flat list, so lists in lists need one more
    spread = inner if not inner or EVERY in use.ref.path else (EVERY, *inner)
    edits = [
        Edit(
            f"/steps/{position}/for_each",
            dump_value(replace(use.ref, path=(*use.ref.path, *spread))),
        ),
        Edit(use.pointer, dump_value(Ref(ITEM))),
        *_readers(context, use.step.id),
    ]
    return Fix(tool is not None and not tool.has_effects, tuple(edits))


def _readers(context: PlanContext, step_id: str) -> Iterator[Edit]:
    """Yield an edit for each value that refers to the step: its output is now a list."""

    def spread(ref: Ref) -> Ref:
        return replace(ref, path=(EVERY, *ref.path)) if ref.step == step_id else ref

    plan = context.plan
    places = [use.pointer for use in context.readers.get(step_id, ())]
    if plan.output is not None:
        places += [p for p, ref in located_refs(plan.output, "/output") if ref.step == step_id]
    for pointer in dict.fromkeys(places):
        value = value_at(plan, pointer)
        if value is not None:
            yield Edit(pointer, dump_value(map_refs(value, spread)))


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


LIMITS: Final = Limits()


@rule(Severity.WARNING)
def fan_out_large(context: PlanContext) -> Iterator[Problem]:
    """The steps with `for_each` may make more calls than a run is allowed to make.

    The limits of all steps (`max_items`) are added up before anything runs. The engine stops at the
    limit in any case, but then part of the work is done and part is not. A list that is written out
    and longer than `max_items` is reported too: its step would fail.

    How to fix: set `max_items` to the number that you expect.
    """
    for position, step in context.elaborate:
        listed = step.for_each
        if isinstance(listed, Literal) and isinstance(listed.value, list):
            most = min(step.max_items, LIMITS.items)
            if len(listed.value) > most:
                yield Problem(
                    f"The list has {len(listed.value)} items; the step takes at most {most}.",
                    f"/steps/{position}/for_each",
                    step.id,
                    f"Set `max_items` (at most {LIMITS.items}), or write a shorter list.",
                )
    fans = [step for _, step in context.elaborate if step.for_each is not None]
    total = sum(_items(context, step) for step in fans) + len(context.plan.steps) - len(fans)
    if total > LIMITS.calls:
        largest = max(fans, key=lambda step: _items(context, step), default=None)
        yield Problem(
            f"The steps may make {total} calls; a run may make {LIMITS.calls}.",
            "/steps",
            None if largest is None else largest.id,
            "Set `max_items` on the steps with `for_each`.",
        )


def _items(context: PlanContext, step: Step) -> int:
    """Return the most calls of a step with `for_each`: `max_items` or the length of the list."""
    listed = None if step.for_each is None else context.type_of_value(step.for_each, None)
    node = None if listed is None else listed.node
    longest = node.get("maxItems") if isinstance(node, dict) else None
    if isinstance(step.for_each, Literal) and isinstance(step.for_each.value, list):
        longest = len(step.for_each.value)
    most = min(step.max_items, LIMITS.items)
    return min(most, longest) if isinstance(longest, int) else most
