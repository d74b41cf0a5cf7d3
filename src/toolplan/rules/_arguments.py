"""The literal arguments of a step against its tool's input schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from toolplan.diagnostics import Edit, Fix
from toolplan.path import Json, Path, Segment
from toolplan.plan import (
    Array,
    Literal,
    Object,
    Ref,
    Step,
    Template,
    Value,
    escape_pointer,
    object_,
    split_pointer,
)
from toolplan.plan_json import dump_value
from toolplan.rules._spelling import respelt
from toolplan.schema import Absent, Schema, Violation, at, describe, required, types_of

_FILLED_IN: Final = (Ref, Template)
"""A tuple, because `isinstance` is slower with a union."""


class Arguments(NamedTuple):
    """The arguments of a step: those that are written out, and those that hold references."""

    literals: dict[str, Json]
    others: list[tuple[str, Value]]


def arguments_of(step: Step) -> Arguments:
    """Return the arguments of `step`, each kind in the order in which it is written."""
    literals: dict[str, Json] = {}
    others: list[tuple[str, Value]] = []
    for name, value in step.args.items():
        if isinstance(value, Literal):
            literals[name] = value.value
        else:
            others.append((name, value))
    return Arguments(literals, others)


def argument_violations(
    step: Step, schema: Schema, arguments: Arguments | None = None
) -> list[Violation]:
    """Return all that is wrong with what is written out; references are not looked at.

    Pointers are relative to the step's arguments. `arguments` are those of `step`, where they are
    known already.
    """
    literals, others = arguments or arguments_of(step)
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
        # what is known of it already, before it is asked for: nearly always that is all
        if not (isinstance(value, _FILLED_IN) and isinstance(known.get((name,)), Schema)):
            found += _of_named(name, value, schema, "")
    return found


def literal_part(value: Value) -> Json:
    """Return what of `value` is written out: of an object the fields that hold no reference."""
    match value:
        case Literal(constant):
            return constant
        case Object(fields):
            return {key: inner.value for key, inner in fields if isinstance(inner, Literal)}
        case Ref() | Template() | Array():
            return None


def place_name(inside: str) -> str:
    """Return the name of a place in the arguments for a message: `lines.0.count`."""
    return ".".join(split_pointer(inside)) or "The arguments"


def wanted_at(schema: Schema, step: Step, inside: str) -> str | None:
    """Say what `schema` takes at the pointer `inside` of the arguments, None if anything."""
    part = at(schema, _written_at(step, inside).path)
    if not isinstance(part, Schema):
        return None
    wanted = describe(part)
    return None if wanted == "any value" else f"It takes {wanted}."


def respelling(schema: Schema, step: Step, inside: str, pointer: str) -> Fix | None:
    """Return the safe fix that spells what is written at `inside` as `schema` takes it, if any."""
    path, value = _written_at(step, inside)
    part = at(schema, path)
    if not path or not isinstance(value, Literal) or not isinstance(part, Schema):
        return None
    other = respelt(value.value, part)
    return other and Fix(True, (Edit(pointer, dump_value(Literal(other[0]))),))


class _Written(NamedTuple):
    path: Path
    value: Value | None


def _written_at(step: Step, inside: str) -> _Written:
    """Return the path that the pointer `inside` spells, and the value there, None if none."""
    value: Value | None = object_(tuple(step.args.items()))
    path: list[Segment] = []
    for token in split_pointer(inside):
        match value:
            case Literal(list() as items):
                value = Literal(items[int(token)])
                path.append(int(token))
            case Array(parts):
                value = parts[int(token)]
                path.append(int(token))
            case Literal(dict() as fields):
                value = Literal(fields[token]) if token in fields else None
                path.append(token)
            case Object(named):
                value = dict(named).get(token)
                path.append(token)
            case _:
                value = None
                path.append(token)
    return _Written(tuple(path), value)


def _of_fields(fields: Mapping[str, Value], schema: Schema, pointer: str) -> Iterator[Violation]:
    yield from _missing(fields, schema, pointer)
    for name, value in fields.items():
        yield from _of_named(name, value, schema, pointer)


def _missing(fields: Mapping[str, Value], schema: Schema, pointer: str) -> list[Violation]:
    names = required(schema)
    if all(map(fields.__contains__, names)):
        return []
    return [
        Violation("missing", pointer, f"The required {name!r} is missing.", name)
        for name in names
        if name not in fields
    ]


def _of_named(name: str, value: Value, schema: Schema, pointer: str) -> Iterable[Violation]:
    part = at(schema, (name,))
    if isinstance(part, Absent):
        return [Violation("unknown", pointer, f"There is no {name!r} here.", name)]
    if part is None or isinstance(value, _FILLED_IN):
        return ()
    return _of_value(value, part, f"{pointer}/{escape_pointer(name)}")


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
