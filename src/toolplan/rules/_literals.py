"""Problems of arguments that are written out, with what the tool accepts and a corrected value."""

from __future__ import annotations

from collections.abc import Iterator

from toolplan import schema as schemas
from toolplan.dates import Times
from toolplan.diagnostics import REMOVED, Edit, Fix
from toolplan.path import Json, Path, Segment
from toolplan.plan import (
    Array,
    Literal,
    Object,
    Step,
    Value,
    escape_pointer,
    object_,
    split_pointer,
)
from toolplan.plan_json import dump_value
from toolplan.rules import _spelling
from toolplan.rules._context import PlanContext
from toolplan.rules._rule import Problem
from toolplan.rules._times import Days, days_for, is_date
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
        if context.times is not None and isinstance(value, Literal) and path:
            around = _written_at(step, found.pointer.rpartition("/")[0])[1]
            timed = _time(context.times, tool.input, path, value.value, _names(around))
            if timed is not None:
                yield _of_days(timed, pointer, step.id)
                continue
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


def _time(
    times: Times, schema: Schema, path: Path, value: Json, given: frozenset[str]
) -> Days | None:
    """Return the days of a value in the words of the question, where a date belongs."""
    name, around = path[-1], schemas.at(schema, path[:-1])
    if not (isinstance(name, str) and isinstance(value, str) and isinstance(around, Schema)):
        return None
    if not is_date(schemas.at(schema, path)):
        return None
    return days_for(value, name, around, given, times)


def _of_days(days: Days, pointer: str, step: str) -> Problem:
    above, name = pointer.rsplit("/", 1)
    if days.problem is not None:
        wanted = "Write the day as YYYY-MM-DD, or ask back."
        return Problem(f"{name}: {days.problem}", pointer, step, wanted)
    edits = (Edit(f"{above}/{escape_pointer(n)}", day) for n, day in days.values.items())
    return Problem(f"{name}: {days.said}.", pointer, step, None, Fix(True, tuple(edits)))


def _names(value: Value | None) -> frozenset[str]:
    match value:
        case Literal(dict() as fields):
            return frozenset(fields)
        case Object(named):
            return frozenset(name for name, _ in named)
        case _:
            return frozenset()


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
