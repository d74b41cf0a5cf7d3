"""The inputs of a step, filled from earlier outputs: arguments, condition, items."""

from __future__ import annotations

from toolplan.engines._failures import argument_failure
from toolplan.engines._values import NotAField, Outputs, field_of, resolve
from toolplan.events import Failure
from toolplan.path import Json, NotThere, json_type
from toolplan.plan import Limits, Literal, Ref, Step, Value, When, escape_pointer
from toolplan.schema import Schema, SchemaError
from toolplan.tools import Arguments, Tool


def filled(
    step: Step, tool: Tool, outputs: Outputs, item: Json = None, index: int | None = None
) -> Arguments | Failure:
    """Return the arguments of one call of `step`, checked against what `tool` accepts."""
    args: Arguments = {}
    name = ""
    try:
        for name, value in step.args.items():
            if type(value) is Literal and type(value.value) is str:
                args[name] = value.value  # immutable, so no copy is needed
                continue
            if type(value) is Ref and index is None:
                field = field_of(value, outputs)
                if not isinstance(field, NotAField):
                    args[name] = field
                    continue
            args[name] = resolve(value, outputs, item, index)
    except NotThere as error:
        return Failure("reference-missing", str(error), f"/args/{escape_pointer(name)}")
    failure = argument_failure(tool, args)
    return args if failure is None else failure


def holds(when: When, outputs: Outputs) -> bool | Failure:
    """Return whether the condition of a step holds."""
    try:
        value = resolve(when.value, outputs)
    except NotThere as error:
        return Failure("reference-missing", str(error), "/when/value")
    try:
        return Schema.load(when.schema).is_valid(value)
    except SchemaError as error:
        return Failure("when-schema", f"The condition's schema: {error}.", "/when/is")


def items_of(step: Step, for_each: Value, outputs: Outputs, limits: Limits) -> list[Json] | Failure:
    """Return the items of `for_each`, at most as many as the limits allow."""
    try:
        items = resolve(for_each, outputs)
    except NotThere as error:
        return Failure("reference-missing", str(error), "/for_each")
    if not isinstance(items, list):
        there = json_type(items)
        return Failure("not-a-list", f"A list is needed, and there is {there}.", "/for_each")
    most = min(step.max_items, limits.items)
    if len(items) > most:
        message = f"There are {len(items)} items, and at most {most} are allowed."
        return Failure("too-many-items", message, "/for_each")
    return items
