"""Which functions of SQL a statement may call: the pure ones.

The database says of each function whether it always gives the same for the same arguments. That is
allowed, except for a few that read the machine, the clock or the program, or that take
text for a plan. Of macros it says nothing, so those that are pure are named here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

_NOT_PURE: Final = frozenset(
    {
        "current_localtime",
        "current_localtimestamp",
        "getenv",
        "hive_partition_component",
        "json_deserialize_sql",
        "json_serialize_plan",
        "json_serialize_sql",
        "parse_duckdb_log_message",
        "version",
    }
)
_INTERNAL: Final = "__internal"
_PURE_MACROS: Final = re.compile(
    r"list_\w+|array_(append|prepend|reverse|to_string|(push|pop)_(back|front))|date_add"
    r"|days_in_month|entries|fdiv|fmod|geomean|geometric_mean|if|nullif|json|json_group_(array|object)"
    r"|map_contains_(entry|value)|md5_number_(lower|upper)|split_part|wavg|weighted_avg"
)
_OF_WINDOWS: Final = frozenset(
    {
        "cume_dist",
        "dense_rank",
        "fill",
        "first_value",
        "lag",
        "last_value",
        "lead",
        "nth_value",
        "ntile",
        "percent_rank",
        "rank",
        "rank_dense",
        "row_number",
    }
)
_OF_SYNTAX: Final = frozenset({"unnest", "grouping", "grouping_id", "coalesce", "ifnull"})


class Functions(Struct, frozen=True):
    """The names of the functions that a statement may call, and of those that exist besides.

    `over_rows` are those that may compute over many rows: aggregates, and macros that may be.
    """

    allowed: frozenset[str]
    refused: frozenset[str]
    over_rows: frozenset[str] = frozenset()


def functions_of(catalogue: Iterable[tuple[str, str, str]]) -> Functions:
    """Sort the functions of `catalogue`: name, kind (`scalar`, `aggregate`, `macro`), stability.

    A name that has any impure reading is refused in all of them.
    """
    pure: set[str] = set()
    other: set[str] = set(_NOT_PURE)
    over_rows: set[str] = set(_OF_WINDOWS)
    for name, kind, stability in catalogue:
        if kind in ("aggregate", "macro"):
            over_rows.add(name)
        if name.startswith(_INTERNAL):
            is_pure = False
        elif kind == "macro":
            is_pure = _PURE_MACROS.fullmatch(name) is not None
        else:
            is_pure = stability == "CONSISTENT"
        (pure if is_pure else other).add(name)
    allowed = (pure - other) | _OF_WINDOWS | _OF_SYNTAX
    return Functions(frozenset(allowed), frozenset(other - allowed), frozenset(over_rows))
