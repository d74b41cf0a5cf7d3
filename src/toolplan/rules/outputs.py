"""The rules of references into outputs: what is not there, and what is no list."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from msgspec.structs import replace

from toolplan import schema as schemas
from toolplan.diagnostics import Edit, Fix, available, did_you_mean
from toolplan.path import Path
from toolplan.plan import Ref, Value, located_refs, map_refs, value_at
from toolplan.plan_json import dump_value
from toolplan.rules._context import PlanContext, Use
from toolplan.rules._rule import Problem, rule
from toolplan.rules.lists import is_list_into_scalar

WRAPPERS: Final = frozenset(
    ("data", "result", "results", "output", "response", "body", "payload", "content", "items")
)
"""Names of fields that only wrap what a tool returns."""
_ONLY_A_LIST: Final = frozenset[schemas.JsonType](("array",))


@rule()
def unknown_output(context: PlanContext) -> Iterator[Problem]:
    """A reference selects a part that the step's output does not have.

    The path is followed through the tool's output schema. References to a tool without an output
    schema are not reported; they are counted as not type-checked. A path with an extra or missing
    wrapper (`data.items` for `items`), one that takes an output for the only list in it (`[0]` for
    `data[0]` of `sql`), or with a typing error in one key, is corrected where only
    one other path leads anywhere.

        "${shipments.items[*].id}"     the output has no field 'items'

    How to fix: use a field that the message names.
    """
    for use in context.doubtful:
        if isinstance(use.given, schemas.Absent) and not use.given.not_a_list:
            yield Problem(
                f"{use.text} does not exist: {use.given.message}.",
                use.pointer,
                use.step.id,
                did_you_mean(_near(context, use.ref, use.given)) or _help(use.given),
                redirect(context, use),
            )
    if context.plan.output is not None:
        for pointer, ref in located_refs(context.plan.output, "/output"):
            found = context.type_of(ref, None)
            if isinstance(found, schemas.Absent):
                yield Problem(
                    f"The plan's output does not exist: {found.message}.",
                    pointer,
                    None,
                    _help(found),
                )


def _near(context: PlanContext, ref: Ref, absent: schemas.Absent) -> Collection[str]:
    last = ref.path[-1] if ref.path else ""
    return context.suggest(last, absent.names).near if isinstance(last, str) else ()


def redirect(context: PlanContext, use: Use) -> Fix | None:
    """Return the fix that selects the one other place that was surely meant, if any."""
    whole = context.type_of(Ref(use.ref.step), use.step)
    value = value_at(context.plan, use.pointer)
    if not isinstance(whole, schemas.Schema) or value is None:
        return None
    paths = dict.fromkeys(_other_paths(context, whole, use.ref.path))
    fitting = [path for path in paths if _fits(use, schemas.at(whole, path))]
    if len(fitting) != 1:
        return None
    right = Ref(use.ref.step, fitting[0])
    corrected = map_refs(value, lambda ref: right if ref == use.ref else ref)
    return Fix(True, (Edit(use.pointer, dump_value(corrected)),))


def _other_paths(context: PlanContext, whole: schemas.Schema, path: Path) -> Iterator[Path]:
    """Yield `path` with its first wrong key corrected, or a wrapper removed or inserted."""
    for wrong in range(len(path)):
        found = schemas.at(whole, path[: wrong + 1])
        if not isinstance(found, schemas.Absent):
            continue
        before, key, rest = path[:wrong], path[wrong], path[wrong + 1 :]
        if isinstance(key, str):
            sure = context.suggest(key, found.names).sure
            if sure is not None:
                yield (*before, sure, *rest)
            if key in WRAPPERS and rest:
                yield (*before, *rest)
        else:
            around = schemas.at(whole, before)
            name = only_list(around) if isinstance(around, schemas.Schema) else None
            if name is not None:
                yield (*before, name, key, *rest)
        yield from ((*before, name, key, *rest) for name in found.names if name in WRAPPERS)
        return


def only_list(schema: schemas.Schema) -> str | None:
    """Return the name of the one field of `schema` that is a list; None where none or several."""
    lists = list_fields(schema)
    return lists[0] if len(lists) == 1 else None


def list_fields(schema: schemas.Schema) -> list[str]:
    """Return the names of the fields that are always lists, behind references too."""
    found: dict[str, None] = {}
    for node in schema.nodes():
        fields = node.get("properties")
        for name in fields if isinstance(fields, dict) else ():
            part = schemas.at(schema, (name,))
            if isinstance(part, schemas.Schema) and schemas.types_of(part) == _ONLY_A_LIST:
                found[name] = None
    return list(found)


def _fits(use: Use, given: schemas.Schema | schemas.Absent | None) -> bool:
    if not isinstance(given, schemas.Schema):
        return False
    taken = use.taken if isinstance(use.taken, schemas.Schema) else None
    if schemas.assignable(given, taken) is not schemas.Verdict.NO:
        return True
    return not use.whole or is_list_into_scalar(replace(use, given=given))


def _help(absent: schemas.Absent) -> str | None:
    if absent.is_a_list:
        return "Select from the list first: `[*]` for every element, `[0]` for the first."
    return available("fields", absent.names)


@rule()
def not_a_list(context: PlanContext) -> Iterator[Problem]:
    """`[*]` or `for_each` is used on something that is never a list.

    `[*]` stands for every element of a list, and `for_each` makes one call for each element.

        "for_each": "${shipments}"     the list is at ${shipments.data}

    Where the output has exactly one list, as that of `sql`, the reference is corrected to it.

    How to fix: name the field that is a list.
    """
    for use in context.doubtful:
        if isinstance(use.given, schemas.Absent) and use.given.not_a_list:
            yield Problem(
                f"`[*]` in {use.text} is not on a list: {use.given.message}.",
                use.pointer,
                use.step.id,
                "Remove the `[*]`, or name the field that is a list.",
                redirect(context, use),
            )
    for position, step in context.elaborate:
        if step.for_each is None:
            continue
        listed = context.type_of_value(step.for_each, None)
        if listed is not None and "array" not in schemas.types_of(listed):
            yield Problem(
                f"`for_each` is {schemas.describe(listed)}, not a list.",
                f"/steps/{position}/for_each",
                step.id,
                available("lists", list_fields(listed)) or "Refer to a list.",
                _at_the_list(step.for_each, listed, f"/steps/{position}/for_each"),
            )


def _at_the_list(value: Value, listed: schemas.Schema, pointer: str) -> Fix | None:
    """Return the fix that takes the only list in what `for_each` refers to."""
    name = only_list(listed)
    if name is None or not isinstance(value, Ref):
        return None
    return Fix(True, (Edit(pointer, dump_value(Ref(value.step, (*value.path, name)))),))
