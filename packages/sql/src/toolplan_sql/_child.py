"""The process that DuckDB runs in: started as a script, so it imports nothing of toolplan.

Requests come on standard input and replies go to standard output: each a line of JSON. A request
is a list of an operation and its arguments; a reply is `["ok", value]`, `["error", text]`,
`["result", text]` for a result without JSON, or `["memory"]`, after which the process ends.
It also ends with its input, even during a statement.
"""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime
from decimal import Context, Decimal
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    import duckdb

MEGABYTE = 1_000_000
KEPT_MEGABYTES = 64
"""Maximum growth of a process's memory since its start, in megabytes, to be used again."""

_MISSING = "__missing__"
"""The field of an object that lists its missing fields."""

_HIDDEN = ("__no_columns__", _MISSING)
"""Columns that are in no result: the first stands in tables without known columns."""

ENTRIES = (
    "CREATE MACRO entries(object) AS map_entries(object)",
    "CREATE MACRO entries(object) AS TABLE SELECT unnest(map_keys(object)) AS key,"
    " unnest(map_values(object)) AS value",
)

GUARDS = (
    # a CAST fails, not `error`, which is volatile: no window may be ordered by it
    "CREATE MACRO __unless(is_wrong, said, made) AS CASE WHEN CASE WHEN is_wrong"
    " THEN CAST('toolplan: ' || said AS BOOLEAN) ELSE false END THEN NULL ELSE made END",
    # the digits of the numbers in a text, without zeros around them and without exponents
    "CREATE MACRO __figures(given) AS list_transform(regexp_extract_all(CAST(given AS VARCHAR),"
    r" '([0-9][0-9._]*|\.[0-9]+)([eE][-+]?[0-9]+)?', 1), lambda each:"
    " trim(replace(replace(each, '.', ''), '_', ''), '0'))",
    # blank texts, and the null of JSON, are no values that could be lost
    "CREATE MACRO __kept(made, given, words) AS __unless(made IS NULL AND"
    " trim(CAST(given AS VARCHAR)) NOT IN ('', 'null'), words || ' a null of ' ||"
    " CAST(given AS VARCHAR) || '; write nullif(…, ''n/a'') for a text that means null.', made)",
    "CREATE MACRO __exact(made, given, words, advice) AS __unless(len(__figures(given)) > 0"
    " AND __figures(given) <> __figures(made), words || ' ' || CAST(made AS VARCHAR) || ' of ' ||"
    " CAST(given AS VARCHAR) || advice, __kept(made, given, words))",
    "CREATE MACRO __whole(made, name) AS __unless(abs(made) > 9007199254740992,"
    " name || ' gives ' || CAST(made AS VARCHAR) || ' of whole numbers, which is rounded:"
    " beyond 2**53 multiply HUGEINTs by *, and add by sum.', made)",
    "CREATE MACRO __counted(place, given) AS __unless(CAST(place AS VARCHAR) = '0' AND"
    " typeof(given) <> 'JSON' AND typeof(given) NOT LIKE 'MAP(%',"
    " 'Lists and texts count from 1: there is no place 0.', place)",
    "CREATE MACRO __known(made, words) AS __unless(made IS NULL, 'The rows that ' || words ||"
    " ' is compared with hold a null, so that no row passes; add WHERE … IS NOT NULL.', made)",
)
"""The macros of `_guards.py`."""

MOST_IN_DOUBLE = 2**53

_CLOCK_TYPE = re.compile(r'"id": "TIMESTAMP(_\w+)?"')
_EXACT = re.compile(r'"id": "(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL)"')
_NUMERIC = re.compile(r'"id": "(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL)"')
_PLAN = "SELECT json_serialize_plan(?, skip_null := true, skip_empty := true)"

_COMPARES = ("COMPARE_LESS", "COMPARE_GREATER")
_ORDERS = ("orders", "arg_orders")
_RANKS = re.compile(
    r"min|max|greatest|least|median|mad|quantile(_cont|_disc)?|(list|array)_\w*(sort|aggr\w*)"
)
_RANKS_BY = re.compile(r"arg_?(min|max)\w*|(min|max)_by")

_INTEGERS = ("tinyint", "smallint", "integer", "bigint", "hugeint")
_SCALARS = {
    **dict.fromkeys(_INTEGERS, "integer"),
    **dict.fromkeys((f"u{name}" for name in _INTEGERS), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("varchar", "enum", "uuid", "time"), "string"),
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms"), "date-time"),  # Python has no ns
    "timestamp with time zone": "date-time",
    "boolean": "boolean",
    "date": "date",
    "null": "unknown",
}

_Driver: TypeAlias = Any
"""A value of the driver: it is loaded late, so none of its types can be named here."""

_Type: TypeAlias = Any
"""A word, `["list", type]`, `["map", type]` or `["struct", [[name, type], …]]`."""

_Json: TypeAlias = Any
_Reader: TypeAlias = Callable[[_Driver], _Json]
"""Turns a value as the driver gives it into JSON."""


class _Unsayable(Exception):
    """A type or a value of a result has no JSON."""


class Child:
    """One connection at a time, and the operations on it."""

    def __init__(self, library: _Driver) -> None:
        self._library = library
        self._connection: duckdb.DuckDBPyConnection
        self._is_open = False
        self._at_start = 0.0

    def open(self, config: dict[str, Any], memory_mb: int) -> None:
        """Open a database unless one is; the first sets the memory that this process may use."""
        if self._is_open:
            return
        self._connection = self._library.connect(":memory:", config=config)
        self._connection.execute("SET TimeZone = 'UTC'")
        for macro in (*ENTRIES, *GUARDS):
            self._connection.execute(macro)
        self._connection.execute("SET lock_configuration = true")  # last: no setting changes now
        self._is_open = True
        if not self._at_start:
            self._at_start = megabytes()
            bound_memory(self._at_start + memory_mb)

    def close(self) -> bool:
        """Close the database; return whether the process is as good as new."""
        self._is_open = False
        self._connection.close()
        del self._connection  # its memory is measured in the next line
        return megabytes() < self._at_start + KEPT_MEGABYTES

    def statements(self, text: str) -> list[str]:
        return [found.type.name for found in self._connection.extract_statements(text)]

    def execute(self, text: str, parameters: list[Any] | None) -> list[Any] | None:
        row = self._connection.execute(text, parameters).fetchone()
        return None if row is None else list(row)

    def functions(self) -> list[Any]:
        """Return name, kind, stability and types of arguments of each function."""
        return self._connection.execute(
            "SELECT lower(function_name), function_type, coalesce(stability, ''),"
            " [coalesce(each, 'ANY') for each in coalesce(parameter_types, [])] FROM"
            " duckdb_functions() WHERE function_type NOT IN ('table', 'table_macro', 'pragma')"
        ).fetchall()

    def bind(self, text: str) -> list[Any]:
        """Return the columns of the statement `text`, and the functions that it calls.

        A column has a name, a type and an SQL type; `_calls` describes functions.
        """
        columns = [each for _, each, _ in self._columns(text)]
        row = self._connection.execute(_PLAN, [text]).fetchone()
        # DuckDB writes a constant that is no number in its own way
        plan = json.loads(row[0].replace('"value":NAN', '"value":NaN')) if row else {"error": True}
        if plan["error"]:
            raise _Unsayable(f"The statement has no plan: {plan.get('error_message')}")
        return [columns, _calls(plan)]

    def run(self, text: str, most: int) -> list[list[Any]] | None:
        """Return the rows of the statement `text` as lists of JSON, None for more than `most`."""
        columns = self._columns(text)
        rows = self._connection.execute(text).fetchmany(most + 1)
        if len(rows) > most:
            return None
        return [[read(row[at]) for at, _, read in columns] for row in rows]

    def _columns(self, text: str) -> list[tuple[int, list[Any], Any]]:
        """Return index, description and reader of each column that is not hidden.

        The reader is None where JSON has no place for the values.
        """
        relation = self._connection.sql(text)
        found: list[tuple[int, list[Any], Any]] = []
        for at, (name, each) in enumerate(zip(relation.columns, relation.types, strict=True)):
            if name in _HIDDEN:
                continue
            try:
                described, read = _typed(each)
            except _Unsayable:
                found.append((at, [name, None, str(each)], None))
            else:
                found.append((at, [name, described, str(each)], read))
        return found


def _calls(plan: _Json) -> list[list[Any]]:
    """Return the functions that a bound plan calls: the fields of `Call` in `_functions.py`."""
    found: list[list[Any]] = []
    pending: list[_Json] = [plan]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending.extend(cast("list[_Json]", part))
        elif isinstance(part, dict):
            node = cast("dict[str, _Json]", part)
            found.extend(["__order", ["JSON"], "", each] for each in _ordered_json(node))
            kind = str(node.get("expression_class"))
            if kind.startswith("BOUND_") and "qname" in node:
                types = [str(each.get("id")) for each in node.get("arguments", [])]
                name = str(node["qname"]["path"][-1]).lower()
                if node.get("function_data", {}).get("try_cast"):
                    name = "__try_cast"
                # comparisons are functions too, of any types
                is_scalar = kind == "BOUND_FUNCTION" and not node["type"].startswith("COMPARE")
                result = str(node.get("return_type", {}).get("id"))
                spells = [_spells(node, _CLOCK_TYPE), _spells(node, _NUMERIC)]
                length = node.get("query_location_length", 0)
                place = [node.get("query_location", 0), length] if length else [0, 0]
                more = [_constant(node), is_scalar, *spells, _is_whole(node), place]
                found.append([name, types, result, *more])
            pending.extend(node.values())
    return found


def _ordered_json(node: dict[str, _Json]) -> Iterator[str]:
    """Yield the names of JSON values that a node of a bound plan orders: JSON sorts as text."""
    kind = str(node.get("type"))
    name = str(node["qname"]["path"][-1]).lower() if "qname" in node else ""
    orders: list[list[_Json]] = [node.get(key) or [] for key in _ORDERS]
    ordered: list[_Json] = [each["expression"] for listed in orders for each in listed]
    if kind.startswith(_COMPARES) or _RANKS.fullmatch(name):
        ordered += node.get("children", ())
    elif _RANKS_BY.fullmatch(name):
        ordered += node["children"][1:]
    if str(node.get("comparison")).startswith(_COMPARES):  # of a join
        ordered += [node["left"], node["right"]]
    for each in ordered:
        if '"alias": "JSON"' in json.dumps(each.get("return_type")):
            yield each.get("alias") or name or "a value"


def _spells(node: dict[str, _Json], kind: re.Pattern[str]) -> bool:
    """Return whether a function makes text of times, or numbers, and chooses its form itself."""
    given, made = (json.dumps(node.get(key)) for key in ("arguments", "return_type"))
    taken, left = (len(list(kind.finditer(text))) for text in (given, made))
    name = str(node["qname"]["path"][-1]).lower()
    if name in ("strftime", "format"):
        constants: list[_Json] = [each.get("value") for each in node.get("children", [])]
        formats = [str(each["value"]) for each in constants if each and not each["is_null"]]
        loose = "%[zZ]" if name == "strftime" else r"\{\d*\}"
        return taken > 0 and (not formats or any(re.search(loose, each) for each in formats))
    if node["type"] == "OPERATOR_CAST":
        return taken > left and '"VARCHAR"' in made
    return taken > 0 and "json" in name


def _is_whole(node: dict[str, _Json]) -> bool:
    """Return whether a function makes a double of nothing but integers and decimals."""
    if node.get("return_type", {}).get("id") != "DOUBLE":
        return False
    pending: list[_Json] = list(node.get("children", []))
    types: list[str] = []
    while pending:
        child = pending.pop()
        if child.get("type") == "OPERATOR_CAST":
            pending += child.get("children", [])
        else:
            types.append(json.dumps(child.get("return_type") or child.get("value", {}).get("type")))
    texts = ('{"id": "VARCHAR"}', '{"id": "NULL"}')  # also the name of what a list is put through
    exact = [_EXACT.search(each) is not None for each in types if each not in texts]
    return bool(exact) and all(exact)


def _constant(node: dict[str, _Json]) -> str:
    """Return the text, or the number that becomes a double, that a cast reads as a constant."""
    if node["type"] != "OPERATOR_CAST" or not node.get("children"):
        return ""
    value: _Json = node["children"][0].get("value") or {}
    constant: _Json = value.get("value")
    if isinstance(constant, dict):
        halves = cast("dict[str, int]", constant)
        constant = (halves["upper"] << 64) + halves["lower"]
    if type(constant) is int and node["return_type"]["id"] == "DOUBLE":
        scale = value["type"].get("type_info", {}).get("scale", 0)
        return format(Decimal(constant).scaleb(-scale, Context(prec=60)), "f")
    return constant if isinstance(constant, str) else ""


def _typed(found: _Driver) -> tuple[_Type, _Reader]:
    """Return the description of a type, and the reader of its values; or raise `_Unsayable`."""
    name = str(found.id)
    if name in ("list", "array"):
        described, read = _typed(found.child)
        return ["list", described], _nullable(lambda value: [read(each) for each in value])
    if name == "map":
        (_, key), (_, part) = found.children
        if str(key.id) != "varchar":
            raise _Unsayable(str(found))
        described, read = _typed(part)
        return ["map", described], _nullable(lambda v: {k: read(each) for k, each in v.items()})
    if name == "struct":
        parts = [(key, *_typed(part)) for key, part in found.children if key != _MISSING]
        fields = [[key, described] for key, described, _ in parts]
        readers = [(key, read) for key, _, read in parts]
        return ["struct", fields], _nullable(lambda value: _object(value, readers))
    word = "json" if str(found) == "JSON" else _SCALARS.get(name)
    if word is None:
        raise _Unsayable(str(found))
    return word, _nullable(_READERS.get(word, lambda value: value))


def _nullable(read: _Reader) -> _Reader:
    return lambda value: None if value is None else read(value)


def _object(value: _Driver, readers: list[tuple[str, _Reader]]) -> _Json:
    missing = value.get(_MISSING) or ()
    return {
        name: read(value[name])
        for name, read in readers
        if name not in missing or value[name] is not None
    }


def _number(value: _Driver) -> _Json:
    if isinstance(value, Decimal):
        if abs(value) > MOST_IN_DOUBLE and value == value.to_integral_value():
            return int(value)
        return _float(str(value))
    if not isfinite(value):
        raise _Unsayable(
            f"A number of the result is {value}, which JSON cannot say; turn it into null by"
            " CASE WHEN isfinite(…) THEN … END, or into text by CAST(… AS VARCHAR)."
        )
    return value


def _float(text: str) -> float:
    number = float(text)
    if Decimal(repr(number)) != Decimal(text):
        raise _Unsayable(
            f"The number {text} of the result has more digits than a JSON number keeps; round it,"
            " or turn it into text by CAST(… AS VARCHAR)."
        )
    return number


def _document(text: str) -> _Json:
    return json.loads(text, parse_float=_float, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, _Json]]) -> _Json:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Unsayable(f"An object of the result has the key {twice[:60]!r} twice.")
    return found


def _time(value: _Driver) -> _Json:
    if isinstance(value, str):  # the driver's form of dates that Python lacks
        raise _Unsayable(
            f"The date or time {value!r} of the result is outside the years 1 to 9999."
        )
    if not isinstance(value, datetime):
        return value.isoformat() if isinstance(value, date) else None
    text = value.replace(tzinfo=None).isoformat()
    return text if value.tzinfo is None else f"{text}Z"


_READERS: dict[str, _Reader] = {
    **dict.fromkeys(("date", "date-time"), _time),
    "number": _number,
    "json": _document,
    "string": str,
}


def megabytes() -> float:
    """Return the memory that this process holds, as far as the system says."""
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[5]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE
    if sys.platform == "win32":
        return 1.0
    unit = 1 if sys.platform == "darwin" else 1_024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MEGABYTE


def bound_memory(most: float) -> None:
    """Make this process end when it uses more than `most` megabytes, where the system can."""
    if sys.platform == "win32":  # only the limit of the database holds there
        return
    if sys.platform.startswith("linux"):
        limit = int(most * MEGABYTE)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        return

    def watch() -> None:  # other systems do not hold such a limit
        while megabytes() < most:
            time.sleep(0.02)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _read(source: BinaryIO, requests: queue.SimpleQueue[bytes]) -> None:
    """Pass on the requests; end the process with its input, also in the middle of a statement."""
    for line in source:
        requests.put(line)
    os._exit(0)


def _answer(child: Child, request: bytes) -> bytes:
    try:
        operation, *arguments = json.loads(request)
        return _written(["ok", getattr(child, operation)(*arguments)])
    except MemoryError:
        return _written(["memory"])
    except _Unsayable as error:
        return _written(["result", str(error)])
    except Exception as error:
        return _written(["error", str(error)])


def _written(reply: list[Any]) -> bytes:
    return json.dumps(reply, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def main() -> None:
    """Serve requests until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides which process to stop
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output printed by a library is no reply
    requests = queue.SimpleQueue[bytes]()
    threading.Thread(target=_read, args=(sys.stdin.buffer, requests), daemon=True).start()
    sys.path[:] = json.loads(sys.argv[1])
    child = Child(import_module("duckdb"))
    while True:
        replies.write(_answer(child, requests.get()))
        replies.flush()


if __name__ == "__main__":
    main()
