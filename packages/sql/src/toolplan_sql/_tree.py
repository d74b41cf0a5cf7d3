"""Syntax trees: the JSON that DuckDB gives for a statement, and which columns it names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from toolplan.path import Json

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


def dict_of(value: Json) -> Node:
    """Return `value`, empty where it is no object."""
    return value if isinstance(value, dict) else {}


def dicts_of(value: Json) -> list[Node]:
    """Return the objects of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def texts_of(value: Json) -> list[str]:
    """Return a list as texts."""
    return [str(each) for each in value] if isinstance(value, list) else []


def arguments_of(node: Node) -> list[Json]:
    """Return the arguments of a function."""
    listed = node.get("arguments")
    if not isinstance(listed, list):
        return []
    return [each.get("expression") if isinstance(each, dict) else None for each in listed]


def literal_of(expression: Json) -> str | None:
    """Return the text of a literal, None where it is none."""
    if not isinstance(expression, dict) or expression.get("class") != "CONSTANT":
        return None
    literal = expression.get("literal")
    return text_of(literal, "text") if isinstance(literal, dict) else None


def integer_of(expression: Json) -> int | None:
    """Return the number that a literal of up to nine digits says, or None."""
    text = literal_of(expression)
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,9}", text) else None


def string_of(expression: Json) -> str | None:
    """Return the text of a literal that is a text, or None."""
    literal = expression.get("literal") if isinstance(expression, dict) else None
    is_text = isinstance(literal, dict) and literal.get("kind") == "STRING"
    return literal_of(expression) if is_text else None


def operands_of(node: Node) -> list[Json]:
    """Return the operands of an expression."""
    found = [node.get(key) for key in ("left", "right", "input", "lower", "upper", "child")]
    children = node.get("children")
    return [*found, *(children if isinstance(children, list) else ()), *arguments_of(node)]


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
        if isinstance(using := node.get("using_columns"), list):
            names.update(str(name).casefold() for name in using)
        if node.get("class") == "FUNCTION":
            names.update(_called_on(node))
        if isinstance(listed := node.get("column_names"), list):
            named = [str(name).casefold() for name in listed]
            if len(named) == 1 and named[0] in aliases:
                return None  # a whole row
            names.update(named)
    return frozenset(names)


def _called_on(node: Node) -> Iterator[str]:
    """Yield the names in front of a function's: `carrier` of `carrier.upper()`."""
    qualified = node.get("qualified_name")
    path = qualified.get("path") if isinstance(qualified, dict) else None
    for name in path[:-1] if isinstance(path, list) else ():
        yield str(name).casefold()


def computed_names(
    tree: Json, aliases: Mapping[str, str], *, by_clock: bool
) -> frozenset[str] | None:
    """Return the names of columns that stand elsewhere than alone in the list of the one SELECT.

    Without `by_clock`, those do not count that are only asked for their day or hour, or compared
    with literals.
    """
    root = tree.get("node") if isinstance(tree, dict) else None
    selected = root.get("select_list") if isinstance(root, dict) else None
    if not isinstance(root, dict) or not isinstance(selected, list):
        return None
    alone = [each for each in selected if isinstance(each, dict) and _is_alone(each, aliases)]
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
    orders = [each.get("expression") for each in nodes if "null_order" in each]
    groups = root.get("group_expressions")
    placed = [*orders, *(groups if isinstance(groups, list) else ())]
    at = {integer_of(each) for each in placed} - {None}
    starred = any(each.get("class") == "STAR" for each in alone)
    if starred and (together or at):
        return None
    added = (
        str(listed[-1]).casefold()
        for place, each in enumerate(selected, 1)
        if isinstance(each, dict) and each in alone
        if isinstance(listed := each.get("column_names"), list)
        if together or place in at or text_of(each, "alias").casefold() in names
    )
    return names.union(added)


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


def _asked_by_clock(node: Node) -> list[Json]:
    """Return the columns that `node` asks for their day or hour, or compares with literals."""
    operands = operands_of(node)
    columns = [
        each for each in operands if isinstance(each, dict) and each.get("class") == "COLUMN_REF"
    ]
    if node.get("class") == "CAST":
        to = node.get("type_expr")
        is_day = isinstance(to, dict) and text_of(to, "type_name").casefold() == "date"
        return list[Json](columns) if is_day else []
    if node.get("class") == "FUNCTION":
        return (
            list[Json](columns) if text_of(node, "function_name").casefold() in _CLOCK_PARTS else []
        )
    if not is_comparison(node) or len(columns) != 1:
        return []
    others = [each for each in operands if each not in columns]
    has_more = any(each.get("class") in ("COLUMN_REF", "SUBQUERY") for each in nodes_of(others))
    return [] if has_more else list[Json](columns)
