"""The functions of SQL that a statement may call: the pure ones.

The database marks the overloads that always give equal results for equal arguments. Those are
allowed, except for a few that read the machine, the clock or the program, or that take
text for a plan. It states nothing about macros, so the pure ones are named here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct, field

_NOT_PURE: Final = frozenset({
    "current_localtime", "current_localtimestamp", "getenv", "hive_partition_component",
    "json_deserialize_sql", "json_serialize_plan", "json_serialize_sql",
    "parse_duckdb_log_message", "version"
})  # fmt: skip
_INTERNAL: Final = "__internal"
_PURE_MACROS: Final = re.compile(
    r"list_\w+|array_(append|prepend|reverse|to_string|(push|pop)_(back|front))|date_add"
    r"|days_in_month|entries|fdiv|fmod|geomean|geometric_mean|if|nullif|json|json_group_(array|object)"
    r"|map_contains_(entry|value)|md5_number_(lower|upper)|split_part|wavg|weighted_avg"
)
_OF_WINDOWS: Final = frozenset({
    "cume_dist", "dense_rank", "fill", "first_value", "lag", "last_value", "lead", "nth_value",
    "ntile", "percent_rank", "rank", "rank_dense", "row_number"
})  # fmt: skip
_ZONED: Final[Mapping[str, str]] = {
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "TIMESTAMPTZ_NS": "TIMESTAMP_NS",
}
ORDER: Final = "__order"
CAST: Final = "__cast"
TRY_CAST: Final = "__try_cast"
_GENERIC: Final = frozenset({"ANY", "T", "K", "V"})
_OF_SUBQUERIES: Final = "error"
"""What a subquery of more rows than one calls where one value is needed."""
_OF_SYNTAX: Final = frozenset({"unnest", "grouping", "grouping_id", "coalesce", "ifnull"})


class Call(NamedTuple):
    """A function that a bound statement calls, with the types of the overload that was chosen.

    Casts are called `CAST` or `TRY_CAST`, and have the text that they read, if it stands in the
    statement. A comparison or sort of JSON is called `ORDER`, and has the name of the value.
    `drops_zone`: it turns times into text without their zone, `spells`: numbers into text in the
    form of their type. `is_whole`: it makes a double of integers and decimals only. `place` is
    where it stands in the statement, as start and length in bytes: (0, 0) for what stands nowhere,
    as in a join by USING, and None where that is not known.
    """

    name: str
    types: tuple[str, ...]
    result: str = ""
    literal: str = ""
    is_scalar: bool = True
    drops_zone: bool = False
    spells: bool = False
    is_whole: bool = False
    place: tuple[int, int] | None = None


Overload: TypeAlias = tuple[str, str, str, tuple[str, ...]]
"""A function of the catalogue: name, `scalar`, `aggregate` or `macro`, stability, and types."""


class Functions(Struct, frozen=True):
    """The names of the functions that a statement may call, and of those that exist besides.

    `over_rows` are those that may compute over many rows: aggregates, and `macros`.
    `overloads` lists for each overload of a name whether it is allowed, where not all of them are.
    """

    allowed: frozenset[str]
    refused: frozenset[str]
    over_rows: frozenset[str] = frozenset()
    macros: frozenset[str] = frozenset()
    overloads: Mapping[str, Mapping[tuple[str, ...], bool]] = field(
        default_factory=dict[str, Mapping[tuple[str, ...], bool]]
    )

    def problem(self, calls: Iterable[Call]) -> str | None:
        """Return why a bound statement that makes `calls` may not run, or None."""
        for call in calls:
            if call.name == ORDER:
                return (
                    f"{call.literal!r} is JSON, which has the order of texts: 9 is more than 100."
                    " Turn it into numbers or texts: CAST(… AS DOUBLE), CAST(… AS VARCHAR)."
                )
            if call.name in (CAST, TRY_CAST) and call.result == "FLOAT":
                return "A FLOAT keeps seven digits; write DOUBLE, or DECIMAL(38, 4)."
            if self._is_refused(call):
                types = ", ".join(call.types)
                return (
                    f"The function {call.name!r} is not allowed for ({types}): it reads the clock,"
                    " chance or a setting, not only its arguments."
                )
        return None

    def _is_refused(self, call: Call) -> bool:
        if call.name in self.refused:
            return call.name != _OF_SUBQUERIES  # a statement that calls it itself was refused
        overloads = self.overloads.get(call.name, {})
        if call.types in overloads:
            return not overloads[call.types]
        # an overload of wider types may have been bound
        impure = (t for t, is_pure in overloads.items() if not is_pure)
        return any(
            all(
                wide.partition("(")[0] == narrow or wide in _GENERIC or wide.endswith("]")
                for wide, narrow in zip(types, call.types, strict=True)
            )
            for types in impure
            if len(types) == len(call.types)
        )


def functions_of(catalogue: Iterable[Overload]) -> Functions:
    """Sort the functions of `catalogue`.

    A name may be called if one of its overloads always gives the same for the same arguments, or
    would but for the time zone, which is UTC here. Which overload a statement calls is known once
    it is bound; the others are refused then.
    """
    pure: dict[str, set[tuple[str, ...]]] = {}
    other: dict[str, set[tuple[str, ...]]] = {name: set() for name in _NOT_PURE}
    over_rows: set[str] = set(_OF_WINDOWS)
    macros: set[str] = set()
    for name, kind, stability, types in catalogue:
        if kind in ("aggregate", "macro"):
            over_rows.add(name)
        if kind == "macro":
            macros.add(name)
        if kind == "macro":
            is_pure = _PURE_MACROS.fullmatch(name) is not None
        else:
            is_pure = stability == "CONSISTENT"
        is_pure = is_pure and not name.startswith(_INTERNAL) and name not in _NOT_PURE
        (pure if is_pure else other).setdefault(name, set()).add(types)
    for name in pure.keys() & other.keys():
        zoned = {
            types
            for types in other[name]
            if tuple(_ZONED.get(each, each) for each in types) in pure[name]
        }
        pure[name] |= zoned
        other[name] -= zoned
    allowed = frozenset(pure) | _OF_WINDOWS | _OF_SYNTAX
    return Functions(
        allowed,
        frozenset(other) - allowed,
        frozenset(over_rows),
        frozenset(macros),
        {
            name: {**dict.fromkeys(pure[name], True), **dict.fromkeys(other[name], False)}
            for name in pure.keys() & other.keys()
        },
    )
