"""The literal arguments of a step against its tool's input schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolplan.path import Json
from toolplan.plan import Array, Literal, Object, Ref, Step, Template, Value, escape_pointer
from toolplan.schema import Absent, Schema, Violation, at, describe, required, types_of


def argument_violations(step: Step, schema: Schema) -> list[Violation]:
    """Give all that is wrong with what is written out; references are not looked at.

    Pointers are relative to the step's arguments.
    """
    literals = {
        name: value.value for name, value in step.args.items() if isinstance(value, Literal)
    }
    if len(literals) == len(step.args):
        return schema.violations(literals)
    return list(_of_fields(step.args, schema, ""))


def literal_part(value: Value) -> Json:
    """Give what of `value` is written out: of an object the fields that hold no reference."""
    match value:
        case Literal(constant):
            return constant
        case Object(fields):
            return {key: inner.value for key, inner in fields if isinstance(inner, Literal)}
        case Ref() | Template() | Array():
            return None


def _of_fields(fields: Mapping[str, Value], schema: Schema, pointer: str) -> Iterator[Violation]:
    for name in required(schema):
        if name not in fields:
            yield Violation("missing", pointer, f"The required {name!r} is missing.", name)
    for name, value in fields.items():
        match at(schema, (name,)):
            case Absent():
                yield Violation("unknown", pointer, f"There is no {name!r} here.", name)
            case None:
                continue
            case part:
                yield from _of_value(value, part, f"{pointer}/{escape_pointer(name)}")


def _of_value(value: Value, schema: Schema, pointer: str) -> Iterator[Violation]:
    match value:
        case Literal(constant):
            for found in schema.violations(constant):
                yield found._replace(pointer=pointer + found.pointer)
        case Object(fields):
            if "object" not in types_of(schema):
                yield _wrong_type(pointer, "an object", schema)
            else:
                yield from _of_fields(dict(fields), schema, pointer)
        case Array(items):
            if "array" not in types_of(schema):
                yield _wrong_type(pointer, "a list", schema)
                return
            for position, item in enumerate(items):
                part = at(schema, (position,))
                if isinstance(part, Schema):
                    yield from _of_value(item, part, f"{pointer}/{position}")
        case Ref() | Template():
            return


def _wrong_type(pointer: str, found: str, schema: Schema) -> Violation:
    return Violation("type", pointer, f"It is {found}, not {describe(schema)}.")
