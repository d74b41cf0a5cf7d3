"""The literal arguments of a step against its tool's input schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan import schema as schemas
from toolplan.path import Json
from toolplan.plan import Array, Literal, Object, Ref, Step, Template, Value, escape_pointer

_DYNAMIC: Final = (Ref, Template)
"""A tuple, because `isinstance` is slower with a union."""


class Arguments(Struct, frozen=True):
    """The arguments of a step: the literal ones, and those that hold references."""

    literals: dict[str, Json]
    others: list[tuple[str, Value]]


def arguments_of(step: Step) -> Arguments:
    """Return the arguments of `step`, each kind in the written order."""
    literals: dict[str, Json] = {}
    others: list[tuple[str, Value]] = []
    for name, value in step.args.items():
        if isinstance(value, Literal):
            literals[name] = value.value
        else:
            others.append((name, value))
    return Arguments(literals, others)


def argument_violations(
    step: Step, schema: schemas.Schema, arguments: Arguments | None = None
) -> list[schemas.Violation]:
    """Return what is wrong with the literal values; references are not looked at.

    Pointers are relative to the step's arguments. `arguments` are those of `step`, if known.
    """
    given = arguments or arguments_of(step)
    literals, others = given.literals, given.others
    if not others:
        return schema.violations(literals)
    parts = schema.of_parts
    if parts is None:
        return list(_of_fields(step.args, schema, ""))
    found = parts.violations(literals)
    if missing := _missing(step.args, schema, ""):
        found = [*missing, *found]
    known = schema.found
    for name, value in others:
        # the cache of the schema first: nearly always nothing more is needed
        if not (isinstance(value, _DYNAMIC) and isinstance(known.get((name,)), schemas.Schema)):
            found += _of_named(name, value, schema, "")
    return found


def literal_part(value: Value) -> Json:
    """Return the literal part of `value`: of an object the fields that hold no reference."""
    match value:
        case Literal(constant):
            return constant
        case Object(fields):
            return {key: inner.value for key, inner in fields if isinstance(inner, Literal)}
        case Ref() | Template() | Array():
            return None


def _of_fields(
    fields: Mapping[str, Value], schema: schemas.Schema, pointer: str
) -> Iterator[schemas.Violation]:
    yield from _missing(fields, schema, pointer)
    for name, value in fields.items():
        yield from _of_named(name, value, schema, pointer)


def _missing(
    fields: Mapping[str, Value], schema: schemas.Schema, pointer: str
) -> list[schemas.Violation]:
    names = schemas.required(schema)
    if all(map(fields.__contains__, names)):
        return []
    return [
        schemas.Violation("missing", pointer, f"The required {name!r} is missing.", name)
        for name in names
        if name not in fields
    ]


def _of_named(
    name: str, value: Value, schema: schemas.Schema, pointer: str
) -> Iterable[schemas.Violation]:
    part = schemas.at(schema, (name,))
    if isinstance(part, schemas.Absent):
        return [schemas.Violation("unknown", pointer, f"There is no {name!r} here.", name)]
    if part is None or isinstance(value, _DYNAMIC):
        return ()
    return _of_value(value, part, f"{pointer}/{escape_pointer(name)}")


def _of_value(value: Value, schema: schemas.Schema, pointer: str) -> Iterator[schemas.Violation]:
    match value:
        case Literal(constant):
            for found in schema.violations(constant):
                yield replace(found, pointer=pointer + found.pointer)
        case Object(fields):
            if "object" not in schemas.types_of(schema):
                yield _wrong_type(pointer, "an object", schema)
            else:
                yield from _of_fields(dict(fields), schema, pointer)
        case Array(items):
            if "array" not in schemas.types_of(schema):
                yield _wrong_type(pointer, "a list", schema)
                return
            for position, item in enumerate(items):
                part = schemas.at(schema, (position,))
                if isinstance(part, schemas.Schema):
                    yield from _of_value(item, part, f"{pointer}/{position}")
        case Ref() | Template():
            return


def _wrong_type(pointer: str, found: str, schema: schemas.Schema) -> schemas.Violation:
    return schemas.Violation("type", pointer, f"It is {found}, not {schemas.accepted(schema)}.")
