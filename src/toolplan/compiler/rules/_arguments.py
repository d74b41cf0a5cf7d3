"""The literal arguments of a step against its tool's input schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from toolplan.plan.model import Array, Literal, Object, Ref, Step, Template, Value, escape_pointer
from toolplan.plan.path import Json
from toolplan.schema import Absent, Schema, Violation, accepted, at, required, types_of

_DYNAMIC = (Ref, Template)


def argument_violations(step: Step, schema: Schema) -> list[Violation]:
    """Return the violations in the arguments with literal values; references are not checked.

    Pointers are relative to the step's arguments.
    """
    literals = {name: v.value for name, v in step.args.items() if isinstance(v, Literal)}
    if len(literals) == len(step.args):
        return schema.violations(literals)
    if (parts := schema.of_parts) is None:
        return [*_missing(step.args, schema, ""), *_of_fields(step.args, schema, "")]
    others = {name: value for name, value in step.args.items() if name not in literals}
    return [
        *_missing(step.args, schema, ""),
        *parts.violations(literals),
        *_of_fields(others, schema, ""),
    ]


def literal_part(value: Value) -> Json:
    """Return the literal part of `value`: of an object the fields that hold no reference."""
    match value:
        case Literal(constant):
            return constant
        case Object(fields):
            return {key: inner.value for key, inner in fields if isinstance(inner, Literal)}
        case _:
            return None


def _missing(fields: Mapping[str, Value], schema: Schema, pointer: str) -> Iterator[Violation]:
    for name in required(schema):
        if name not in fields:
            yield Violation("missing", pointer, f"The required {name!r} is missing.", name)


def _of_fields(fields: Mapping[str, Value], schema: Schema, pointer: str) -> Iterator[Violation]:
    for name, value in fields.items():
        part = at(schema, (name,))
        if isinstance(part, Absent):
            yield Violation("unknown", pointer, f"There is no {name!r} here.", name)
        elif part is not None and not isinstance(value, _DYNAMIC):
            yield from _of_value(value, part, f"{pointer}/{escape_pointer(name)}")


def _of_value(value: Value, schema: Schema, pointer: str) -> Iterator[Violation]:
    match value:
        case Literal(constant):
            for found in schema.violations(constant):
                yield replace(found, pointer=pointer + found.pointer)
        case Object(fields) if "object" in types_of(schema):
            yield from _missing(dict(fields), schema, pointer)
            yield from _of_fields(dict(fields), schema, pointer)
        case Array(items) if "array" in types_of(schema):
            for position, item in enumerate(items):
                part = at(schema, (position,))
                if isinstance(part, Schema):
                    yield from _of_value(item, part, f"{pointer}/{position}")
        case Object() | Array():
            kind = "an object" if isinstance(value, Object) else "a list"
            yield Violation("type", pointer, f"It is {kind}, not {accepted(schema)}.")
        case _:
            return
