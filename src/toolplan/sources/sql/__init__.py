"""The built-in tool `sql` (extra `sql`): see `sql_tool`."""

from toolplan.sources.sql._database import MAX_TEXT
from toolplan.sources.sql._tool import NAME, SqlLimits, sql_tool
from toolplan.sources.sql._types import WORDS, declared_type, describe, row_type, schema_of

__all__ = [
    "MAX_TEXT",
    "NAME",
    "WORDS",
    "SqlLimits",
    "declared_type",
    "describe",
    "row_type",
    "schema_of",
    "sql_tool",
]
