"""The built-in tool `sql` (extra `sql`): see `sql_tool`."""

from importlib.util import find_spec

if find_spec("duckdb") is None:  # another process loads it; that it is missing is said now
    raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")

from toolplan.sources.sql._calls import call_sql
from toolplan.sources.sql._check import Check
from toolplan.sources.sql._tool import NAME, sql_tool, try_sql
from toolplan.sources.sql._types import (
    MAX_TEXT,
    WORDS,
    SqlLimits,
    declared_type,
    describe,
    row_type,
    schema_of,
)

__all__ = [
    "MAX_TEXT",
    "NAME",
    "WORDS",
    "Check",
    "SqlLimits",
    "call_sql",
    "declared_type",
    "describe",
    "row_type",
    "schema_of",
    "sql_tool",
    "try_sql",
]
