"""The built-in tool `sql` (extra `sql`): see `sql_tool`."""

from importlib.util import find_spec

if find_spec("duckdb") is None:  # another process loads it; its absence is reported now
    raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")

from toolplan_sql._tool import sql_tool, try_sql
from toolplan_sql._types import SqlLimits

__all__ = ["SqlLimits", "sql_tool", "try_sql"]
