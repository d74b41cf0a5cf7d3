"""Syntax trees: the JSON that DuckDB gives for a statement, and which columns it names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from toolplan.plan.path import Json

Node: TypeAlias = dict[str, Json]

_COLUMNS: Final = frozenset({"COLUMN_REF", "SUBQUERY", "STAR", "POSITIONAL_REFERENCE"})
_CLOCK_PARTS: Final = frozenset({
    "century", "date_part", "date_trunc", "datepart", "datetrunc", "day", "dayname", "dayofmonth",
    "dayofweek", "dayofyear", "decade", "hour", "isodow", "isoyear", "last_day", "minute",
    "month", "monthname", "quarter", "second", "strftime", "time_bucket", "week", "weekday",
    "weekofyear", "year", "yearweek"
})  # fmt: skip


def nodes_of(tree: Json) -> Iterator[Node]:
    """Yield all objects of `tree`, each before those within it."""
    pending: list[Json] = [tree]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
            pending.extend(reversed(list(value.values())))
        elif isinstance(value, list):
            pending.extend(reversed(value))


def text_of(node: Node, key: str) -> str:
    """Return a field that is text; empty where it is not."""
    value = node.get(key)
    return value if isinstance(value, str) else ""


def node_at(node: Node, *keys: str) -> Node:
    """Return the object at a path of keys, empty where there is none."""
    for key in keys:
        inner = node.get(key)
        node = inner if isinstance(inner, dict) else {}
    return node


def list_at(node: Node, key: str) -> list[Json]:
    """Return a field that is a list; empty where it is not."""
    value = node.get(key)
    return value if isinstance(value, list) else []


def nodes_at(node: Node, key: str) -> list[Node]:
    """Return the objects of a list."""
    return [each for each in list_at(node, key) if isinstance(each, dict)]


def texts_at(node: Node, key: str) -> list[str]:
    """Return a list as texts."""
    return list(map(str, list_at(node, key)))


def arguments_of(node: Node) -> list[Node]:
    """Return the arguments of a function."""
    return [node_at(each, "expression") for each in nodes_at(node, "arguments")]


def literal_of(expression: Node) -> str | None:
    """Return the text of a literal, None where it is none."""
    literal = node_at(expression, "literal")
    return text_of(literal, "text") if expression.get("class") == "CONSTANT" and literal else None


def integer_of(expression: Node) -> int | None:
    """Return the number that a literal of up to nine digits says, or None."""
    text = literal_of(expression)
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,9}", text) else None


def string_of(expression: Node) -> str | None:
    """Return the text of a literal that is a text, or None."""
    is_text = node_at(expression, "literal").get("kind") == "STRING"
    return literal_of(expression) if is_text else None


def operands_of(node: Node) -> list[Node]:
    """Return the operands of an expression."""
    found = (node_at(node, key) for key in ("left", "right", "input", "lower", "upper", "child"))
    return [*filter(None, found), *nodes_at(node, "children"), *arguments_of(node)]


def is_comparison(node: Node) -> bool:
    """Return whether an expression compares its operands."""
    kinds = {str(node.get("class")), str(node.get("type"))}
    return bool(kinds & {"COMPARISON", "BETWEEN", "COMPARE_IN", "COMPARE_NOT_IN"})


def column_names(nodes: list[Node], aliases: Mapping[str, str]) -> frozenset[str] | None:
    """Return the names of columns in `nodes`, case-folded; None where it takes all, as by `*`."""
    names: set[str] = set()
    for node in nodes:
        if node.get("class") in ("STAR", "POSITIONAL_REFERENCE") or node.get("type") == "PIVOT":
            return None
        if node.get("type") == "JOIN" and node.get("ref_type") == "NATURAL":
            return None
        names.update(name.casefold() for name in texts_at(node, "using_columns"))
        if node.get("class") == "FUNCTION":  # `carrier` of `carrier.upper()`
            called_on = texts_at(node_at(node, "qualified_name"), "path")[:-1]
            names.update(name.casefold() for name in called_on)
        named = [name.casefold() for name in texts_at(node, "column_names")]
        if len(named) == 1 and named[0] in aliases:
            return None  # a whole row
        names.update(named)
    return frozenset(names)


def has_columns(node: Node) -> bool:
    """Return whether an expression names a column or holds a query."""
    return any(each.get("class") in _COLUMNS for each in nodes_of(node))


def name_of(item: Node) -> str | None:
    """Return the name of an item of a SELECT, case-folded; None where the database makes it."""
    named = text_of(item, "alias")
    if not named and item.get("class") == "COLUMN_REF":
        named = "".join(texts_at(item, "column_names")[-1:])
    return named.casefold() or None


def is_plain_star(item: Node) -> bool:
    """Return whether an item of a SELECT is `*` and nothing else."""
    more = ("replace_list", "rename_list", "columns")
    return item.get("class") == "STAR" and not any(map(item.get, more))


def asked_by_clock(node: Node) -> list[Node]:
    """Return the columns that `node` asks for their day or hour, or compares with literals."""
    operands = operands_of(node)
    columns = [each for each in operands if each.get("class") == "COLUMN_REF"]
    if node.get("class") == "CAST":
        is_asked = text_of(node_at(node, "type_expr"), "type_name").casefold() == "date"
    elif node.get("class") == "FUNCTION":
        is_asked = text_of(node, "function_name").casefold() in _CLOCK_PARTS
    else:
        others: list[Json] = [each for each in operands if each not in columns]
        is_asked = (
            is_comparison(node)
            and len(columns) == 1
            and not any(
                each.get("class") in ("COLUMN_REF", "SUBQUERY") for each in nodes_of(others)
            )
        )
    return columns if is_asked else []
