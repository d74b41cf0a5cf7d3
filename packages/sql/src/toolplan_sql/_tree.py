"""Syntax trees: the JSON that DuckDB gives for a statement, and which columns it names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from toolplan.plan.path import Json

Node: TypeAlias = dict[str, Json]

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


def computed_names(
    tree: Node, aliases: Mapping[str, str], *, by_clock: bool
) -> frozenset[str] | None:
    """Return the names of columns that stand elsewhere than alone in the list of the one SELECT.

    Without `by_clock`, those do not count that are only asked for their day or hour, or compared
    with literals.
    """
    root = node_at(tree, "node")
    if "select_list" not in root:
        return None
    selected = nodes_at(root, "select_list")
    alone = [each for each in selected if _is_alone(each, aliases)]
    rest = {key: value for key, value in root.items() if key != "select_list"}
    pending: list[Json] = [rest, *(each for each in selected if each not in alone)]
    nodes: list[Node] = []
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending.extend(part)
        elif isinstance(part, dict):
            nodes.append(part)
            skipped = () if by_clock else _asked_by_clock(part)
            listed = operands_of(part) if skipped else part.values()
            pending.extend(each for each in listed if each not in skipped)
    names = column_names(nodes, aliases)
    if names is None:
        return None
    together = root.get("aggregate_handling") not in (None, "STANDARD_HANDLING") or any(
        each.get("type") == "DISTINCT_MODIFIER" for each in nodes
    )
    orders = [node_at(each, "expression") for each in nodes if "null_order" in each]
    at = {integer_of(each) for each in (*orders, *nodes_at(root, "group_expressions"))} - {None}
    if (together or at) and any(each.get("class") == "STAR" for each in alone):
        return None
    return names.union(
        texts_at(each, "column_names")[-1].casefold()
        for place, each in enumerate(selected, 1)
        if each in alone and each.get("class") == "COLUMN_REF"
        if together or place in at or text_of(each, "alias").casefold() in names
    )


def _is_alone(item: Node, aliases: Mapping[str, str]) -> bool:
    """Return whether an item of a list is a column, or `*`, and nothing else."""
    match item.get("class"), item.get("column_names"):
        case "STAR", _:
            return not any(item.get(key) for key in ("replace_list", "rename_list", "columns"))
        case "COLUMN_REF", [name]:
            return str(name).casefold() not in aliases
        case "COLUMN_REF", [table, _]:
            return str(table).casefold() in aliases
        case _:
            return False


def _asked_by_clock(node: Node) -> list[Node]:
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
