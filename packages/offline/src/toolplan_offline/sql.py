"""The text of SQL statements, from conditions and figures."""

from __future__ import annotations

import re
from typing import Final

from toolplan_offline.meaning import Agg, Cond
from toolplan_offline.schemas import Entity, Field

_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_RESERVED: Final = frozenset([
    "all", "and", "any", "as", "asc", "by", "case", "cast", "check", "column", "create", "desc",
    "distinct", "do", "else", "end", "except", "exists", "for", "from", "full", "group", "having",
    "in", "inner", "into", "is", "join", "lateral", "left", "like", "limit", "natural", "not",
    "null", "offset", "on", "only", "or", "order", "outer", "primary", "qualify", "references",
    "right", "select", "some", "table", "then", "to", "union", "unique", "using", "values", "when",
    "where", "window", "with",
])  # fmt: skip
_TEXT: Final = ("name", "organisation", "place", "person", "enum", "")


class Cannot(Exception):
    """No tool, and no statement over outputs of tools, can do this; the message says why."""


def name(text: str) -> str:
    """Return an identifier, in quotes where it needs them."""
    if _PLAIN.fullmatch(text) and text not in _RESERVED:
        return text
    return '"' + text.replace('"', '""') + '"'


def literal(value: object) -> str:
    """Return a literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def day(found: Field, table: str = "") -> str:
    """Return the column of a date, cast where the schema declares a string."""
    column = table + name(found.name)
    return f"CAST({column} AS DATE)" if found.json == "string" else column


def where(e: Entity, c: Cond) -> str:
    """Return a condition on a column."""
    found = e.fields.get(c.field)
    if not found or not found.column:
        raise Cannot(f"No column tells {c.field.replace('_', ' ')} of {e.name}s")
    column, given, is_text = name(found.name), c.values, found.kind in _TEXT
    if found.kind == "list":
        holds = "list_has_all" if c.op == "all" else "list_has_any"
        text = f"{holds}({column}, [{', '.join(map(literal, given))}])"
        return text if c.op in ("=", "in", "all") else f"{text} IS DISTINCT FROM true"
    if is_text and c.op in ("=", "!=", "in", "each", "not in"):
        column, texts = f"lower({column})", [literal(str(v).lower()) for v in given]
    else:
        texts = [literal(v) for v in given]
        if found.json == "date-time":
            column = f"CAST({column} AS DATE)"
        column = day(found) if found.kind == "date" and found.json == "string" else column
    if c.op in ("in", "each"):
        return f"{column} IN ({', '.join(texts)})"
    if c.op == "not in":
        return f"({column} IS NULL OR {column} NOT IN ({', '.join(texts)}))"
    if c.op == "is":
        return f"({column} IS NULL OR {column} = '')" if is_text else f"{column} IS NULL"
    if c.op == "!=":
        return f"{column} IS DISTINCT FROM {texts[0]}"
    return f"{column} {c.op} {texts[0]}"


def figure(a: Agg, e: Entity, table: str, only: str) -> tuple[str, str]:
    """Return the expression of a figure, and its name; `only` filters the counted rows."""
    if a.fn in ("count", "total"):
        return f"count(*){only}", "count"
    if a.fn == "different":
        return f"count(DISTINCT {table}.{name(a.field)})", "count"
    if a.fn == "rate" and a.cond:
        holds = where(e, a.cond)
        return f"avg(CASE WHEN {holds} THEN 1.0 WHEN NOT ({holds}) THEN 0.0 END)", "rate"
    said, factor = a.unit or (a.field.lower(), 1.0)
    text = f"{a.fn}({table}.{name(a.field)})" + (f" / {factor}" if a.unit else "")
    return text, f"{a.fn}_{re.sub(r'[^a-z0-9]+', '_', said)}"
