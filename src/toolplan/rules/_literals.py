"""Problems of arguments that are written out, with what the tool accepts and a corrected value."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan import schema as schemas
from toolplan.diagnostics import REMOVED, Edit, Fix
from toolplan.path import Path, Segment
from toolplan.plan import Array, Literal, Object, Step, Value, object_, split_pointer
from toolplan.plan_json import dump_value
from toolplan.rules import _spelling
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem
from toolplan.schema import Schema


def literal_problems(context: PlanContext, kind: str) -> Iterator[Problem]:
    """Yield a problem for each violation of this `kind` in the literal arguments."""
    for position, step, found in context.violations:
        tool = context.tool(step)
        if found.kind != kind or tool is None:
            continue
        pointer = f"/steps/{position}/args{found.pointer}"
        name = ".".join(split_pointer(found.pointer)) or "The arguments"
        path, value = _written_at(step, found.pointer)
        part = schemas.at(tool.input, path)
        wanted = fix = None
        if isinstance(part, Schema):
            wanted = schemas.accepted(part)
            other = (
                _spelling.respelt(value.value, schemas.without_null(part))
                if path and isinstance(value, Literal)
                else None
            )
            if isinstance(value, Literal) and value.value is None:
                fix = _left_out(tool.input, path, pointer)
            elif other:
                fix = Fix(True, (Edit(pointer, dump_value(Literal(other[0]))),))
        yield Problem(
            f"{name}: {found.message}",
            pointer,
            step.id,
            None if wanted in (None, "any value") else f"Expected: {wanted}.",
            fix,
        )


def _left_out(schema: Schema, path: Path, pointer: str) -> Fix | None:
    """Return the fix that leaves out a null, if it stands for an optional argument."""
    around = schemas.at(schema, path[:-1])
    if not path or not isinstance(path[-1], str) or not isinstance(around, Schema):
        return None
    for node in around.nodes():
        needed = node.get("required")
        if isinstance(needed, list) and path[-1] in needed:
            return None
    return Fix(True, (Edit(pointer, REMOVED),))


def _written_at(step: Step, inside: str) -> tuple[Path, Value | None]:
    """Return the path that the pointer `inside` spells, and the value there, None if none."""
    value: Value | None = object_(tuple(step.args.items()))
    path: list[Segment] = []
    for token in split_pointer(inside):
        key: Segment = token
        match value:
            case Literal(list() as items):
                key = int(token)
                value = Literal(items[key])
            case Array(parts):
                key = int(token)
                value = parts[key]
            case Literal(dict() as fields) if token in fields:
                value = Literal(fields[token])
            case Object(named):
                value = dict(named).get(token)
            case _:
                value = None
        path.append(key)
    return tuple(path), value
