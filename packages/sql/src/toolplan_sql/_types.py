"""Types of columns: read from JSON Schema, from values and from names, and written as SQL.

Nothing here knows a database; `toolplan_sql._database` speaks to one.

| column type | SQL | JSON Schema |
|---|---|---|
| `string` | `VARCHAR` | `string` |
| `integer` | `BIGINT`, `HUGEINT` where a value needs it | `integer` |
| `number` | `DOUBLE`; `DECIMAL(38, …)` where a double would round | `number` |
| `boolean` | `BOOLEAN` | `boolean` |
| `date` | `DATE` | `string`, `format: date` |
| `date-time` | `TIMESTAMP` (as the clock shows) | `string`, `format: date-time` |
| list | `T[]` | `array` with `items` |
| struct | `STRUCT(…)` | `object` with `properties` and no others |
| map | `MAP(VARCHAR, T)` | `object` with `additionalProperties` and no `properties` |
| `json` | `JSON` | anything else |
| `unknown` | `"NULL"` | nothing is known: no value was seen, or no type declared |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct, field

from toolplan.plan.path import Json
from toolplan.schema import Absent, Schema, SchemaError, at, elements, types_of

MAX_TEXT: Final = 20_000
"""Maximum length of a statement, in characters."""
MAX_TABLES: Final = 32
MAX_COLUMNS: Final = 1_000
MAX_NESTING: Final = 8
MISSING: Final = "__missing__"
"""The hidden field of a partial struct: the fields that are missing in this object."""

# a key that no schema declares: its schema shows whether undeclared ones are allowed
_UNDECLARED: Final = "\x00undeclared"


class Scalar(StrEnum):
    """A type without parts; the values are the words of the `columns` argument."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    DATE_TIME = "date-time"
    JSON = "json"
    UNKNOWN = "unknown"
    HUGE = "huge"
    """An integer beyond 64 bits."""


WORDS: Final = tuple(each.value for each in Scalar if each not in (Scalar.UNKNOWN, Scalar.HUGE))
"""The names that the `columns` argument of the tool may give to a type."""


class SqlLimits(Struct, frozen=True):
    """Bounds of one call: rows of the result, seconds, megabytes of memory."""

    rows: int = 100_000
    seconds: float = 30.0
    memory_mb: int = 512


class ListOf(Struct, frozen=True, array_like=True, tag="list"):
    """A list whose elements have one type."""

    item: ColumnType


class StructOf(Struct, frozen=True, array_like=True, tag="struct"):
    """An object with declared fields, in order.

    `is_partial`: some objects lack some of them, which each object then keeps in a hidden field.
    """

    fields: tuple[tuple[str, ColumnType], ...]
    is_partial: bool = False


class MapOf(Struct, frozen=True, array_like=True, tag="map"):
    """An object whose keys are data, and whose values have one type."""

    value: ColumnType


class DecimalOf(Struct, frozen=True, array_like=True, tag="decimal"):
    """Numbers of 38 digits, `scale` of them behind the point."""

    scale: int


ColumnType: TypeAlias = Scalar | DecimalOf | ListOf | StructOf | MapOf
Columns: TypeAlias = Mapping[str, ColumnType]


class Table(Struct, frozen=True):
    """The known facts about a table before the statement is bound.

    `readings` gives for each column the types that it may have, the best first. `is_open`: it may
    have columns besides, so that one that the statement reads is believed to be there.
    """

    readings: Mapping[str, tuple[ColumnType, ...]] = field(
        default_factory=dict[str, tuple[ColumnType, ...]]
    )
    is_open: bool = False


_SQL: Final[Mapping[Scalar, str]] = {
    Scalar.STRING: "VARCHAR",
    Scalar.INTEGER: "BIGINT",
    Scalar.HUGE: "HUGEINT",
    Scalar.NUMBER: "DOUBLE",
    Scalar.BOOLEAN: "BOOLEAN",
    Scalar.DATE: "DATE",
    Scalar.DATE_TIME: "TIMESTAMP",
    Scalar.JSON: "JSON",
    Scalar.UNKNOWN: '"NULL"',
}
_JSON_TYPES: Final[Mapping[frozenset[str], Scalar]] = {
    frozenset[str]({"integer"}): Scalar.INTEGER,
    frozenset({"integer", "number"}): Scalar.NUMBER,
    frozenset({"number"}): Scalar.NUMBER,
    frozenset({"boolean"}): Scalar.BOOLEAN,
}
_OF_FORMATS: Final = {
    frozenset({"date"}): Scalar.DATE,
    frozenset({"date-time"}): Scalar.DATE_TIME,
}
_WIDER: Final[Mapping[Scalar, frozenset[ColumnType]]] = {
    Scalar.INTEGER: frozenset({Scalar.NUMBER}),
    Scalar.HUGE: frozenset({Scalar.INTEGER, Scalar.NUMBER}),
    Scalar.DATE: frozenset({Scalar.STRING}),
    Scalar.DATE_TIME: frozenset({Scalar.STRING}),
}


def quoted(name: str) -> str:
    """Return `name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def sql_type(column: ColumnType) -> str:
    """Return the SQL name of `column`."""
    match column:
        case Scalar():
            return _SQL[column]
        case DecimalOf(scale):
            return f"DECIMAL(38, {scale})"
        case ListOf(item):
            return f"{sql_type(item)}[]"
        case MapOf(value):
            return f"MAP(VARCHAR, {sql_type(value)})"
        case StructOf(fields):
            inner = [f"{quoted(name)} {sql_type(each)}" for name, each in fields]
            if column.is_partial:
                inner.append(f"{quoted(MISSING)} VARCHAR[]")
            return f"STRUCT({', '.join(inner)})"


def describe(column: ColumnType) -> str:
    """Return the name of `column` for people."""
    match column:
        case Scalar.HUGE:
            return "integer"
        case Scalar():
            return column.value
        case DecimalOf():
            return "number"
        case ListOf(item):
            return f"list of {describe(item)}"
        case MapOf(value):
            return f"object of {describe(value)}"
        case StructOf(fields):
            return "object with " + ", ".join(f"{name}: {describe(each)}" for name, each in fields)


def schema_of(column: ColumnType, *, nullable: bool = True) -> dict[str, Json]:
    """Return the JSON Schema of the values that a result column of this type gives."""

    def typed(name: str, **more: Json) -> dict[str, Json]:
        return {"type": [name, "null"] if nullable else name, **more}

    match column:
        case Scalar.JSON | Scalar.UNKNOWN:
            return {}
        case Scalar.DATE | Scalar.DATE_TIME:
            return typed("string", format=column.value)
        case Scalar() | DecimalOf():
            return typed(describe(column))
        case ListOf(item):
            return typed("array", items=schema_of(item))
        case MapOf(value):
            return typed("object", additionalProperties=schema_of(value))
        case StructOf(fields):
            # none is required: without declared columns, a field that no row has is not in the type
            properties: Json = {name: schema_of(each) for name, each in fields}
            return typed("object", properties=properties, additionalProperties=False)


_TEXT_ONLY: Final = frozenset({"string"})


def row_type(table: Schema) -> Table | None:
    """Return the columns of `table`, None where its schema names none.

    A table is a list of objects. A text or a list of texts has the columns text and index.
    """
    row = table if types_of(table) == _TEXT_ONLY else elements(table)
    if not isinstance(row, Schema):
        return None
    if types_of(row) - {"null"} == _TEXT_ONLY:
        return Table({"text": (Scalar.STRING,), "index": (Scalar.INTEGER,)})
    names = _property_names(row)
    if not names or len(names) > MAX_COLUMNS:
        return None
    columns = {name: (_type_at(row, name, 0),) for name in names}
    return Table(columns, not isinstance(at(row, (_UNDECLARED,)), Absent))


def column_type(schema: Schema, depth: int = 0) -> ColumnType:
    """Return the type of a column whose values fit `schema`."""
    types = types_of(schema) - {"null"}
    if scalar := _JSON_TYPES.get(frozenset(types)):
        return scalar
    if types == _TEXT_ONLY:
        formats: set[str] = set()
        for node in schema.nodes():
            named = node.get("type")
            if "format" in node or "string" in (named if isinstance(named, list) else [named]):
                formats.add(str(node.get("format")))
        return _OF_FORMATS.get(frozenset(formats), Scalar.STRING)
    if depth >= MAX_NESTING:
        return Scalar.JSON
    if types == frozenset({"array"}):
        item = elements(schema)
        return ListOf(column_type(item, depth + 1)) if isinstance(item, Schema) else Scalar.JSON
    if types == frozenset({"object"}):
        return _object_type(schema, depth)
    return Scalar.UNKNOWN if len(types) > 5 else Scalar.JSON


def _object_type(schema: Schema, depth: int) -> ColumnType:
    names = _property_names(schema)
    others = at(schema, (_UNDECLARED,))
    if not names and isinstance(others, Schema):
        value = column_type(others, depth + 1)
        return Scalar.JSON if value is Scalar.UNKNOWN else MapOf(value)
    is_open = not isinstance(others, Absent)
    if not names or is_open or clash(names, ""):
        return Scalar.JSON
    fields = ((name, _type_at(schema, name, depth + 1)) for name in names)
    return StructOf(tuple((n, Scalar.JSON if t is Scalar.UNKNOWN else t) for n, t in fields))


def _type_at(schema: Schema, name: str, depth: int) -> ColumnType:
    part = at(schema, (name,))
    return column_type(part, depth) if isinstance(part, Schema) else Scalar.UNKNOWN


def _property_names(schema: Schema) -> list[str]:
    names: dict[str, None] = {}
    for node in schema.nodes():
        if isinstance(properties := node.get("properties"), dict):
            names.update(dict.fromkeys(properties))
    return [name for name in names if not isinstance(at(schema, (name,)), Absent)]


def clash(names: Iterable[str], what: str) -> str | None:
    """Return a sentence on two of `names` that SQL cannot distinguish, or None."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            return f"{what} {other!r} and {name!r} differ in letter case only: rename one of them."
    return None


def declared_type(declared: Json) -> ColumnType:
    """Return the type of `declared`, a word or a JSON Schema; a SchemaError if it is neither."""
    if isinstance(declared, dict):
        return column_type(Schema.load(declared))
    if isinstance(declared, str) and declared in WORDS:
        return Scalar(declared)
    raise SchemaError(f"it is none of {', '.join(WORDS)}, and no JSON Schema")


def parts_of(column: ColumnType) -> Iterator[ColumnType]:
    """Yield `column` and the types within it."""
    yield column
    match column:
        case Scalar() | DecimalOf():
            return
        case ListOf(item):
            yield from parts_of(item)
        case MapOf(value):
            yield from parts_of(value)
        case StructOf(fields):
            for _, each in fields:
                yield from parts_of(each)


def refined(
    column: ColumnType,
    values: Iterable[Json],
    leaf: Callable[[Scalar | DecimalOf, list[Json]], ColumnType],
) -> ColumnType:
    """Return `column` with `leaf(type, its values)` in place of each type without parts.

    A struct is partial if some of its values lack a field; nulls are not passed on.
    """
    seen: list[Json] = [value for value in values if value is not None]
    match column:
        case Scalar() | DecimalOf():
            return leaf(column, seen)
        case ListOf(item):
            inner = [v for each in seen if isinstance(each, list) for v in each]
            return ListOf(refined(item, inner, leaf))
        case MapOf(value):
            inner = [v for each in seen if isinstance(each, dict) for v in each.values()]
            return MapOf(refined(value, inner, leaf))
        case StructOf(fields, is_partial):
            objects = [each for each in seen if isinstance(each, dict)]
            parts = tuple(
                (name, refined(each, [value.get(name) for value in objects], leaf))
                for name, each in fields
            )
            lacking = any(len(value) < len(fields) for value in objects)
            return StructOf(parts, is_partial or lacking)


class Misfit(Exception):
    """A value is not of a type."""


def converter(
    column: ColumnType,
    leaf: Callable[[Scalar | DecimalOf], Callable[[Json], Json]],
    *,
    all_fields: bool = False,
) -> Callable[[Json], Json]:
    """Return the converter for values of `column`: `leaf` gives it for each type without parts.

    Nulls stay, and a value of another type raises `Misfit`. With `all_fields`, objects get the
    fields that they lack, and say in a hidden one which.
    """

    def converted(value: Json) -> Json:
        match column, value:
            case _, None:
                return None
            case ((Scalar() | DecimalOf()), _):
                return whole(value)
            case ListOf(), list():
                return [part(each) for each in value]
            case MapOf(), dict():
                return {key: part(each) for key, each in value.items()}
            case StructOf(), dict() if value.keys() <= of.keys():
                if not all_fields:
                    return {name: of[name](each) for name, each in value.items()}
                found = {name: each(value.get(name)) for name, each in of.items()}
                lacks: dict[str, Json] = {MISSING: [name for name in of if name not in value]}
                return found | lacks if column.is_partial else found
            case _:
                raise Misfit

    of: dict[str, Callable[[Json], Json]] = {}
    part = whole = converted
    match column:
        case Scalar() | DecimalOf():
            whole = leaf(column)
        case ListOf(inner) | MapOf(inner):
            part = converter(inner, leaf, all_fields=all_fields)
        case StructOf(fields):
            of = {name: converter(each, leaf, all_fields=all_fields) for name, each in fields}
    return converted


def is_partial(column: ColumnType) -> bool:
    """Return whether some objects of `column` lack keys that others have."""
    return any(isinstance(part, StructOf) and part.is_partial for part in parts_of(column))


def agrees(declared: ColumnType, known: ColumnType) -> bool:
    """Return whether every value of type `known` can be held by a column declared as `declared`."""
    if declared == known or Scalar.UNKNOWN in (declared, known):
        return True
    match declared, known:
        case Scalar.JSON, _:
            return True
        case _, Scalar.JSON:
            return True  # anything may come, so it shows when it is there
        case _, Scalar():
            return declared in _WIDER.get(known, frozenset())
        case ListOf(item), ListOf(other):
            return agrees(item, other)
        case MapOf(value), MapOf(other):
            return agrees(value, other)
        case MapOf(value), StructOf(fields):
            return all(agrees(value, each) for _, each in fields)
        case StructOf(fields), MapOf(other):
            return all(agrees(each, other) for _, each in fields)
        case StructOf(fields), StructOf(others):
            theirs = dict(others)
            return all(agrees(each, theirs.get(name, Scalar.UNKNOWN)) for name, each in fields)
        case _:
            return False
