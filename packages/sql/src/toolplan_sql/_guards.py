"""Guards: parts of a statement that fail in a run where they would give a wrong value silently.

A statement runs with some of its parts put into macros of `_child.py`, which give the value of the
part, or an error that names it. Which value a part gives is known in the run only, so the check of
a plan does not need them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from toolplan.plan.path import Json
from toolplan_sql._functions import Call
from toolplan_sql._statement import (
    Node,
    arguments_of,
    literal_of,
    node_at,
    nodes_at,
    string_of,
    text_of,
    texts_at,
)

_INTEGER: Final = re.compile(r"u?(tiny|small|big|huge)?int(eger)?|u?int\d+|long|short|signed")
_FRACTION: Final = re.compile(r"double|float8|decimal|numeric|dec")
_ROUND: Final = "; write round(…), floor(…) or trunc(…) within it."
_KEEP: Final = "; DECIMAL(38, 4) and HUGEINT keep 38 digits."

# Of whole numbers they give whole numbers, but as doubles, which hold those up to 2**53 exactly.
_WHOLE: Final = frozenset({
    "power", "pow", "^", "**", "product", "fsum", "kahan_sum", "sumkahan", "floor", "ceil",
    "ceiling", "trunc", "round", "avg", "mean", "favg", "median", "quantile_cont"
})  # fmt: skip
_LISTS: Final = ("list_", "array_")
_OF_LISTS: Final = re.compile("|".join(_LISTS))
_TRIES: Final = frozenset({"try_strptime"})
_PLACES: Final = {
    **dict.fromkeys(("list_extract", "array_extract", "list_element", "substring", "substr"), 1),
    "nth_value": 1,
    "split_part": 2,
}
"""Functions that count from 1, with the position of the argument that counts."""


_ONE: Final[Node] = {
    "class": "CONSTANT",
    "type": "VALUE_CONSTANT",
    "literal": {"kind": "INTEGER", "text": "1"},
}


def guarded(tree: Node, calls: Iterable[Call]) -> Node | None:
    """Return the syntax tree `tree` with guards, None where it needs none; `calls` are its own."""
    found = _Guards({call.name for call in calls if call.is_whole})
    made = found.within(tree)
    return made if found.count and isinstance(made, dict) else None


class _Guards:
    def __init__(self, rounding: Collection[str]) -> None:
        self._rounding = rounding
        self.count = 0

    def within(self, part: Json) -> Json:
        if isinstance(part, list):
            return [self.within(each) for each in part]
        if not isinstance(part, dict):
            return part
        made: Node = {key: self.within(each) for key, each in part.items()}
        name = text_of(part, "function_name").casefold()
        if part.get("type") == "PIVOT":  # its aggregates stand by themselves
            made["aggregates"] = part.get("aggregates")
        match part.get("class"):
            case "CAST":
                return self._cast(made)
            case "OPERATOR" if part.get("type") == "OPERATOR_NOT":
                for each in nodes_at(made, "children"):
                    self._subquery(each)
            case "OPERATOR" if part.get("type") == "ARRAY_EXTRACT":
                made["children"] = self._counted(nodes_at(made, "children"), 1)
            case "FUNCTION" | "WINDOW" if name in _PLACES:
                self._place(made, _PLACES[name])
            case "FUNCTION" if name in _TRIES:
                words = _constant(f"The function {name!r} makes")
                return self._call("__kept", made, arguments_of(part)[0], words)
            case "FUNCTION" | "WINDOW" if self._rounds(name, arguments_of(part)):
                return self._call("__whole", made, _constant(f"The function {name!r}"))
            case _:
                pass
        return made

    def _rounds(self, name: str, arguments: list[Node]) -> bool:
        """Return whether a function makes doubles of whole numbers that would be whole, too."""
        if not name.startswith(_LISTS):
            return name in _WHOLE and name in self._rounding
        called = {name.partition("_")[2], *(string_of(each) or "" for each in arguments)}
        return not _WHOLE.isdisjoint(called) and any(map(_OF_LISTS.match, self._rounding))

    def _call(self, name: str, part: Node, *others: Node) -> Node:
        """Return a call of a macro in place of `part`, under its name."""
        self.count += 1
        alias, part["alias"] = text_of(part, "alias"), ""
        return {**_called(name, part, *others), "alias": alias}

    def _cast(self, cast: Node) -> Node:
        """Guard a cast that could round, or drop, a value.

        One to decimals of stated digits rounds to these, as it says.
        """
        source, kind = node_at(cast, "child"), node_at(cast, "type_expr")
        parts = {text_of(each, "type_name").casefold() for each in _loose(kind)}
        words = _constant(f"The CAST of {_words(source)} to {text_of(kind, 'type_name')} makes")
        given = _column(["__given"])
        made: Node = {**cast, "alias": "", "child": given}
        if any(map(_INTEGER.fullmatch, parts)):
            guard = _called("__exact", made, given, words, _constant(_ROUND))
        elif any(map(_FRACTION.fullmatch, parts)):
            guard = _called("__exact", made, given, words, _constant(_KEEP))
        elif cast.get("try_cast"):
            guard = _called("__kept", made, given, words)
        else:
            return cast
        self.count += 1
        # a list of one makes the operand stand there once, however deep casts are nested
        each: Node = {"class": "LAMBDA", "type": "LAMBDA", "lhs": given, "expr": guard}
        each["syntax_type"] = "LAMBDA_KEYWORD"
        listed = _called("list_transform", _called("list_value", source), each)
        return {**_called("list_extract", listed, _ONE), "alias": text_of(cast, "alias")}

    def _place(self, call: Node, at: int) -> None:
        listed = nodes_at(call, "arguments")
        called_on = texts_at(node_at(call, "qualified_name"), "path")[:-1]  # `v` of `v.substr(0)`
        first = [_column(called_on)] if called_on else []
        parts = [*first, *(node_at(each, "expression") for each in listed)]
        for each, part in zip(listed, self._counted(parts, at)[len(first) :], strict=True):
            each["expression"] = part

    def _counted(self, parts: list[Node], at: int) -> list[Json]:
        """Return the arguments of what counts from 1, the one at `at` guarded."""
        if len(parts) <= at or literal_of(parts[at]) not in (None, "0"):
            return list[Json](parts)
        guard = self._call("__counted", parts[at], parts[0])
        return [*parts[:at], guard, *parts[at + 1 :]]

    def _subquery(self, part: Node) -> None:
        """Guard the rows of a subquery behind NOT IN, or ALL: a null in them lets no row pass."""
        child = node_at(part, "child")
        if part.get("subquery_type") != "ANY" or text_of(child, "function_name") == "row":
            return
        inner: Json = {
            "type": "SUBQUERY",
            "alias": "__rows",
            "subquery": part.get("subquery"),
            "column_name_alias": ["c"],
        }
        node: Json = {
            "type": "SELECT_NODE",
            "modifiers": [],
            "cte_map": {"map": []},
            "select_list": [self._call("__known", _column(["c"]), _constant(_words(child)))],
            "from_table": inner,
            "aggregate_handling": "STANDARD_HANDLING",
        }
        part["subquery"] = {"node": node, "named_param_map": []}


def _loose(kind: Node) -> Iterator[Node]:
    """Yield a type and those within it, but decimals of stated digits."""
    inner = nodes_at(kind, "children")
    if not any(each.get("class") == "CONSTANT" for each in inner):
        yield kind
    for each in inner:
        yield from _loose(each)


def _words(expression: Node) -> str:
    """Return the words for an expression in a message."""
    names, name = texts_at(expression, "column_names"), text_of(expression, "function_name")
    return repr(".".join(names)) if names else f"{name}(…)" if name else "a value"


def _called(name: str, *arguments: Node) -> Node:
    given: list[Json] = [{"name": "", "expression": each} for each in arguments]
    return {
        "class": "FUNCTION",
        "type": "FUNCTION",
        "alias": "",
        "function_name": name,
        "order_bys": {"type": "ORDER_MODIFIER", "orders": []},
        "arguments": given,
        "qualified_name": {"path": [name]},
    }


def _column(names: list[str]) -> Node:
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "column_names": list[Json](names)}


def _constant(text: str) -> Node:
    literal: Json = {"kind": "STRING", "text": text}
    return {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "literal": literal}
