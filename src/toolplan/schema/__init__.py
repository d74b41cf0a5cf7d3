"""JSON Schema read as types.

`Schema.load` takes a schema from anywhere and refuses what could hurt; `at` follows a path through
it, as `toolplan.path.select` follows one through a value; `assignable` says whether what one schema
gives fits what another takes. `UNKNOWN` is a verdict: where nothing is declared, nothing is said.
"""

from toolplan.schema._document import SchemaError
from toolplan.schema._example import NoExample
from toolplan.schema._fit import Verdict, assignable
from toolplan.schema._schema import Absent, JsonType, Schema, Violation
from toolplan.schema._types import at, describe, elements, required, types_of

__all__ = [
    "Absent",
    "JsonType",
    "NoExample",
    "Schema",
    "SchemaError",
    "Verdict",
    "Violation",
    "assignable",
    "at",
    "describe",
    "elements",
    "required",
    "types_of",
]
