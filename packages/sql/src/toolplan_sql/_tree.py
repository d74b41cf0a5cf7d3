"""Reading syntax trees: the JSON that DuckDB gives for a statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from toolplan.path import Json

Node: TypeAlias = dict[str, Json]


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
