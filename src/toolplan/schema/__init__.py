"""JSON Schema read as types.

`Schema.load` reads a schema from outside and refuses harmful ones. `at` follows a path through it,
as `plan.path.select` does through a value. `assignable` says whether values of one schema fit
another; where nothing is declared, the verdict is `UNKNOWN`.
"""

from toolplan.schema._document import (
    ALL_TYPES,
    ANNOTATIONS,
    APPLIES,
    KEYWORDS,
    JsonType,
    SchemaError,
    flat,
    sub_schemas,
    tool_version,
    tool_without_words,
    types_stated,
    value_types,
)
from toolplan.schema._example import NoExample
from toolplan.schema._schema import Absent, Schema, Violation
from toolplan.schema._types import (
    Verdict,
    accepted,
    assignable,
    at,
    describe,
    elements,
    required,
    types_of,
    undecided,
    without_null,
)

__all__ = [
    "ALL_TYPES",
    "ANNOTATIONS",
    "APPLIES",
    "KEYWORDS",
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
    "flat",
    "required",
    "sub_schemas",
    "tool_version",
    "tool_without_words",
    "types_of",
    "types_stated",
    "undecided",
    "value_types",
    "without_null",
]
