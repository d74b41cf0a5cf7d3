"""The rules of lists: one call for each item, and lists where one value stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from toolplan.compiler.rules._context import PlanContext, Problem, Use
from toolplan.compiler.rules._rule import rule
from toolplan.plan.canonical import dump_value
from toolplan.plan.diagnostics import Edit, Fix, Severity
from toolplan.plan.model import ITEM, RESERVED_IDS, Limits, Literal, Ref, Step
from toolplan.plan.path import EVERY
from toolplan.schema import Schema, Verdict, assignable, elements, types_of

_MOST_LAYERS: Final = 8
"""Maximum nesting of lists that is followed: a schema may be recursive."""


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
    found = [use for use in context.uses if is_list_into_scalar(use)]
    of_step = Counter(use.step.id for use in found)
    for use in found:
        yield use.problem(
            f"{use.text} is a list, but the argument accepts one value.",
            "Use `for_each` to make one call for each element, or select one of them.",
            _fan_out(context, use) if of_step[use.step.id] == 1 else None,
        )


def is_list_into_scalar(use: Use) -> bool:
    """Return whether `use` gives a list to an argument that accepts one element at a time."""
    return _layers(use) > 0


def _layers(use: Use) -> int:
    """Return the number of excess levels of lists: 0 where that is not the problem."""
    part, taken = use.given, use.taken
    if not use.whole or not isinstance(taken, Schema) or "array" in types_of(taken):
        return 0
    layers = 0
    while layers < _MOST_LAYERS and isinstance(part, Schema):
        if not {"array"} <= types_of(part) <= {"array", "null"}:
            break
        layers, part = layers + 1, elements(part)
    known = part if isinstance(part, Schema) else None
    return layers if layers and assignable(known, taken) is not Verdict.NO else 0


def _fan_out(context: PlanContext, use: Use) -> Fix | None:
    step, ref = use.step, use.ref
    if step.for_each is not None or context.steps[step.id] is not step:
        return None

    def spread(reader: Ref) -> Ref:
        return replace(reader, path=(EVERY, *reader.path)) if reader.step == step.id else reader

    inner = (EVERY,) * (_layers(use) - 1)
    # the first `[*]` of a path makes one flat list, so lists in lists need one more
    if inner and EVERY not in ref.path:
        inner = (EVERY, *inner)
    # the output is now a list, so each value that refers to it changes
    places = [reader.pointer for reader in context.readers.get(step.id, ())]
    places += [pointer for pointer, reader in context.output_refs if reader.step == step.id]
    readers = (
        edit for each in dict.fromkeys(places) for edit in context.edits_of_refs(each, spread)
    )
    listed = dump_value(replace(ref, path=(*ref.path, *inner)))
    edits = (
        Edit(f"/steps/{use.position}/for_each", listed),
        Edit(use.pointer, dump_value(Ref(ITEM))),
        *readers,
    )
    tool = context.tool(step)
    return Fix(tool is not None and not tool.has_effects, edits)


@rule()
def item_outside_for_each(context: PlanContext) -> Iterator[Problem]:
    """`${item}` or `${index}` is used where there is no item.

    They exist only in the arguments of a step with `for_each`. Its `when` is decided once, before
    there is any item.

    How to fix: give the step a `for_each`, or refer to a step.
    """
    elsewhere = "`item` and `index` exist only in the arguments of a step with `for_each`."
    before = "`when` and `for_each` are decided before there is an item."
    reported: set[str] = set()
    for use in context.uses:
        exists = use.step.for_each is not None and use.in_arguments
        if use.ref.step in RESERVED_IDS and not exists and use.pointer not in reported:
            reported.add(use.pointer)
            help = elsewhere if use.step.for_each is None else before
            yield use.problem(f"There is no {use.ref.step!r} here.", help)
    for pointer, ref in context.output_refs:
        if ref.step in RESERVED_IDS:
            yield Problem(f"There is no {ref.step!r} here.", pointer, None, elsewhere)


LIMITS: Final = Limits()


@rule(Severity.WARNING)
def fan_out_large(context: PlanContext) -> Iterator[Problem]:
    """The steps with `for_each` may make more calls than a run is allowed to make.

    The limits of all steps (`max_items`) are added up before anything runs. The engine stops at the
    limit in any case, but then part of the work is done and part is not. A list that is written out
    and longer than `max_items` is reported too: its step would fail.

    How to fix: set `max_items` to the number that you expect.
    """
    total, largest, most_calls = 0, None, 0
    for call in context.calls:
        step = call.step
        if step.for_each is None:
            total += 1
            continue
        most = min(step.max_items, LIMITS.items)
        length = _length(context, step)
        if isinstance(step.for_each, Literal) and length is not None and length > most:
            yield call.problem(
                f"The list has {length} items; the step takes at most {most}.",
                "/for_each",
                f"Set `max_items` (at most {LIMITS.items}), or write a shorter list.",
            )
        calls = most if length is None else min(most, length)
        total += calls
        if largest is None or calls > most_calls:
            largest, most_calls = step, calls
    if total > LIMITS.calls:
        yield Problem(
            f"The steps may make {total} calls; a run may make {LIMITS.calls}.",
            "/steps",
            largest and largest.id,
            "Set `max_items` on the steps with `for_each`.",
        )


def _length(context: PlanContext, step: Step) -> int | None:
    """Return the length of the list of a step with `for_each`, or its maximum by the schema."""
    if isinstance(step.for_each, Literal) and isinstance(step.for_each.value, list):
        return len(step.for_each.value)
    listed = None if step.for_each is None else context.type_of_value(step.for_each, None)
    node = None if listed is None else listed.node
    longest = node.get("maxItems") if isinstance(node, dict) else None
    return longest if isinstance(longest, int) else None
