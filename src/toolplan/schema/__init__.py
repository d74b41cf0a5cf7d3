"""JSON Schema read as types.

`Schema.load` reads a schema from outside and refuses harmful ones. `at` follows a path through it,
as `toolplan.path.select` does through a value. `assignable` says whether values of one schema fit
another; where nothing is declared, the verdict is `UNKNOWN`.
"""

from typing import TYPE_CHECKING

from toolplan.lazy import names_of

if TYPE_CHECKING:
    from toolplan.schema._document import JsonType, SchemaError, value_types
    from toolplan.schema._example import NoExample
    from toolplan.schema._fit import Verdict, assignable
    from toolplan.schema._schema import Absent, Schema, Violation
    from toolplan.schema._types import (
        accepted,
        at,
        describe,
        elements,
        required,
        types_of,
        without_null,
    )
else:
    __getattr__ = names_of(
        __name__,
        _document="JsonType SchemaError value_types",
        _example="NoExample",
        _fit="Verdict assignable",
        _schema="Absent Schema Violation",
        _types="accepted at describe elements required types_of without_null",
    )

__all__ = [
    "Absent",
    "JsonType",
    "NoExample",
    "Schema",
    "SchemaError",
    "Verdict",
    "Violation",
    "accepted",
    "assignable",
    "at",
    "describe",
    "elements",
    "required",
    "types_of",
    "value_types",
    "without_null",
]
