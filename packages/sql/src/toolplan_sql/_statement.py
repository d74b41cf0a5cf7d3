"""The rules for a statement: one SELECT over its tables, by pure functions, and nothing else.

A statement is judged by its syntax tree, the JSON that DuckDB gives for it, against lists of the
allowed parts. The locked connection would refuse most of the rest as well; this comes first, costs
nothing, and has words for the reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field

from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.path import Json
from toolplan_sql._functions import Functions
from toolplan_sql._values import Use

Node: TypeAlias = dict[str, Json]

COLUMNS: Final = frozenset({"COLUMN_REF", "SUBQUERY", "STAR", "POSITIONAL_REFERENCE"})
"""The classes of expressions that read columns."""
_OPERANDS: Final = ("left", "right", "input", "lower", "upper", "child")
_COMPARISONS: Final = frozenset({"COMPARISON", "BETWEEN", "COMPARE_IN", "COMPARE_NOT_IN"})
_KNOWS_NULL: Final = frozenset({"COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM"})
_LIKES: Final = frozenset({"~~", "!~~", "~~*", "!~~*", "like_escape", "ilike_escape", "~~~"})
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
    """Return the object at a path of keys, or empty if there is none."""
    for key in keys:
        inner = node.get(key)
        node = inner if isinstance(inner, dict) else {}
    return node


def list_at(node: Node, key: str) -> list[Json]:
    """Return a field that is a list; empty where it is not."""
    value = node.get(key)
    return value if isinstance(value, list) else []


def nodes_at(node: Node, key: str) -> list[Node]:
    return [each for each in list_at(node, key) if isinstance(each, dict)]


def texts_at(node: Node, key: str) -> list[str]:
    return list(map(str, list_at(node, key)))


def arguments_of(node: Node) -> list[Node]:
    return [node_at(each, "expression") for each in nodes_at(node, "arguments")]


def literal_of(expression: Node) -> str | None:
    """Return the text of a literal, None where it is none."""
    literal = node_at(expression, "literal")
    return text_of(literal, "text") if expression.get("class") == "CONSTANT" and literal else None


def string_of(expression: Node) -> str | None:
    """Return the text of a literal that is a text, or None."""
    is_text = node_at(expression, "literal").get("kind") == "STRING"
    return literal_of(expression) if is_text else None


def column_names(nodes: list[Node], aliases: Mapping[str, str]) -> frozenset[str] | None:
    """Return the names of columns in `nodes`, case-folded; None where it takes all, as by `*`."""
    names: set[str] = set()
    for node in nodes:
        if node.get("class") in ("STAR", "POSITIONAL_REFERENCE") or node.get("type") == "PIVOT":
            return None
        if node.get("type") == "JOIN" and node.get("ref_type") == "NATURAL":
            return None
        if node.get("type") == "BASE_TABLE" and texts_at(node, "column_name_alias"):
            return None  # names of its own for columns by their position
        names.update(name.casefold() for name in texts_at(node, "using_columns"))
        if node.get("class") == "FUNCTION":  # `carrier` of `carrier.upper()`
            called_on = texts_at(node_at(node, "qualified_name"), "path")[:-1]
            names.update(name.casefold() for name in called_on)
        named = [name.casefold() for name in texts_at(node, "column_names")]
        if len(named) == 1 and named[0] in aliases:
            return None  # a whole row
        names.update(named)
    return frozenset(names)


def name_of(item: Node) -> str | None:
    """Return the name of an item of a SELECT, case-folded; None where the database makes it."""
    named = text_of(item, "alias")
    if not named and item.get("class") == "COLUMN_REF":
        named = "".join(texts_at(item, "column_names")[-1:])
    return named.casefold() or None


def operands_of(node: Node) -> list[Node]:
    """Return the expressions that an operator, a comparison or a function takes."""
    operands = [inner for key in _OPERANDS if (inner := node_at(node, key))]
    return [*operands, *nodes_at(node, "children"), *arguments_of(node)]


def _compares(node: Node) -> bool:
    return not _COMPARISONS.isdisjoint({str(node.get("class")), str(node.get("type"))})


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
        inner = {str(each.get("class")) for each in nodes_of(others)}
        is_alone = len(columns) == 1 and inner.isdisjoint(("COLUMN_REF", "SUBQUERY"))
        is_asked = is_alone and _compares(node)
    return columns if is_asked else []


_NODES: Final = frozenset({
    "SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE", "BASE_TABLE",
    "SUBQUERY", "JOIN", "EMPTY", "EXPRESSION_LIST", "TABLE_FUNCTION", "PIVOT", "ORDER_MODIFIER",
    "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER", "ORDER_DEFAULT", "ASCENDING",
    "DESCENDING"
})  # fmt: skip
_NODES_IN_WORDS: Final[Mapping[str, str]] = {
    "SHOW_REF": "DESCRIBE, SHOW and SUMMARIZE",
    "INSERT_QUERY_NODE": "INSERT",
    "UPDATE_QUERY_NODE": "UPDATE",
    "DELETE_QUERY_NODE": "DELETE",
    "MERGE_QUERY_NODE": "MERGE",
}
_TABLE_FUNCTION: Final = "TABLE_FUNCTION"
_TABLE_FUNCTIONS: Final = frozenset({"entries", "unnest", "range", "generate_series"})
_CLOCK: Final = frozenset({
    "ago", "current_date", "current_localtime", "current_localtimestamp", "current_time",
    "current_timestamp", "get_current_time", "get_current_timestamp", "localtime",
    "localtimestamp", "now", "today", "transaction_timestamp"
})  # fmt: skip
_FROM_TODAY: Final = frozenset({"age"})  # with one argument, since today
# These read the clock without brackets too, where no column has their name.
_CLOCK_WORDS: Final = frozenset(
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}
)
_CHANCE: Final = frozenset({"gen_random_uuid", "random", "setseed", "uuid", "uuidv4", "uuidv7"})
_COUNTS: Final = frozenset({"count", "count_star"})

# DuckDB counts a negative share from the top, so that a percentile of -5 is quietly that of 95.
_PERCENTILES: Final = frozenset({"quantile", "quantile_cont", "quantile_disc"})
_ESTIMATES: Final = re.compile(r"((list|array)_)?approx_\w+|reservoir_quantile")
_OF_LISTS: Final = frozenset({"aggregate", "array_aggr", "array_aggregate", "list_aggr"}) | {
    "list_aggregate"
}
_READS_ENTRIES: Final = frozenset(
    {"entries", "cardinality", "element_at", "map_entries", "map_keys", "map_values"}
)
_READS_KEYS: Final = re.compile(r"json.*|to_json|(array|row)_to_json|struct_(keys|values)")
TEXT_TYPES: Final = frozenset({"json", "varchar", "text", "string", "char", "map"})
"""The names of types that are text, or may hold any."""
_EXTRACTS: Final = frozenset({"struct_extract", "array_extract", "struct_extract_at"})
MAX_DEPTH: Final = 100
"""Maximum number of brackets and CASEs open at one place of a statement."""

MAX_WITHS: Final = 3
"""Maximum depth of nested WITHs: the parser takes five times as long for each more."""
MAX_JOINS: Final = 100
"""Maximum number of JOINs of a statement: the time to bind it grows with their square and more."""

TOO_DEEP: Final = (
    f"The statement nests more than {MAX_DEPTH} levels deep; name parts of it by WITH."
)
TOO_MANY_WITHS: Final = (
    f"More than {MAX_WITHS} WITHs stand inside each other; put them one after another in one WITH."
)
TOO_MANY_JOINS: Final = f"The statement has more than {MAX_JOINS} JOINs."

_TOKEN: Final = re.compile(
    r"""
    '(?:[^']|'')*'                # text
    | "(?:[^"]|"")*"              # a name
    | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$
    | --[^\n]*
    | /\*.*?\*/
    | (?P<join>\bjoin\b)
    | (?P<with>\bwith\b)
    | (?P<opens>[(\[{]|\bcase\b)
    | (?P<closes>[)\]}]|\bend\b)
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


class Statement(Struct, frozen=True):
    """A statement, and the facts from its syntax tree. Names of columns are case-folded.

    Attributes:
        text: the statement as written.
        problems: why it may not run, each one sentence; empty where it may.
        tree: its syntax tree.
        aliases: the names under which it reads tables, case-folded, with the tables; not its CTEs.
        columns: the columns that it mentions; None where it also takes those that it does not name
            (`*`).
        counts: the positions of the result's columns that are counts, so never null.
        width: the number of columns of the result, None where that is not written out.
        use: how it uses objects.
    """

    text: str
    problems: tuple[str, ...]
    tree: Node = field(default_factory=dict[str, Json])
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    columns: frozenset[str] | None = None
    counts: frozenset[int] = frozenset()
    width: int | None = None
    use: Use = Use()

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.aliases.values()))

    def mentions(self, column: str) -> bool:
        """Return whether the statement may read a column of this name."""
        return self.columns is None or column.casefold() in self.columns


def examine(
    text: str, tree: Node, tables: Collection[str] | None, functions: Functions
) -> Statement:
    """Return the statement `text`, with the facts from its syntax tree `tree`.

    `tables` are the names that it may read, None where they are not known.
    """
    nodes = list(nodes_of(tree))
    ctes = [text_of(entry, "key") for node in nodes for entry in nodes_at(node, "map")]
    recursive = (node for node in nodes if node.get("type") == "RECURSIVE_CTE_NODE")
    own = {name.casefold() for name in (*ctes, *(text_of(e, "cte_name") for e in recursive))}
    problems = [problem for node in nodes for problem in _shape_problems(node)]
    aliases: dict[str, str] = {}
    for node in nodes:
        name = text_of(node, "table_name")
        qualified = text_of(node, "schema_name") or text_of(node, "catalog_name")
        if node.get("type") != "BASE_TABLE" or (name.casefold() in own and not qualified):
            continue
        known = {each.casefold(): each for each in ((name,) if tables is None else tables)}
        if qualified or name.casefold() not in known:
            problems.append(no_table(f"{qualified}.{name}" if qualified else name, tables or ()))
        else:
            aliases[(text_of(node, "alias") or name).casefold()] = known[name.casefold()]
    problems.extend(_function_problems(nodes, functions))
    counts, width = _counts(tree)
    return Statement(
        text,
        tuple(dict.fromkeys(problems)),
        tree,
        aliases,
        column_names(nodes, aliases),
        counts,
        width,
        _use(nodes, own),
    )


def _shape_problems(node: Node) -> Iterator[str]:
    kind = node.get("type")
    if isinstance(kind, str) and "class" not in node and kind not in _NODES:
        yield f"{_NODES_IN_WORDS.get(kind, kind)} is not allowed in a statement, only SELECT."
    if node.get("sample") is not None:
        yield "A sample is not allowed in a statement: it would give other rows each time."
    if node.get("class") == "PARAMETER":
        yield "A statement has no parameters; write the value itself."
    is_tried = node.get("type") == "OPERATOR_TRY"
    if is_tried and any(each.get("class") == "CAST" for each in nodes_of(node)):
        yield "TRY makes a null of each value that CAST does not read; write TRY(…) within it."
    if _compares_null(node):
        yield "A comparison with NULL is true for no row; write IS NULL, or IS NOT NULL."
    if operator := _taken_by_arrow(node):
        yield (
            f"'->' takes all that follows, also {operator!r}; put brackets around what it reads:"
            " (v->'name')."
        )
    names = texts_at(node, "column_names")
    if (
        node.get("class") == "COLUMN_REF"
        and len(names) == 1
        and names[0].casefold() in _CLOCK_WORDS
    ):
        name = names[0]
        yield (
            f"{name!r} reads the clock; write the day as a literal: DATE '2025-10-12'. If it is a"
            f" column, put its table before it: t.{name}."
        )


def _compares_null(node: Node) -> bool:
    is_like = text_of(node, "function_name") in _LIKES
    is_comparison = _compares(node) and node.get("type") not in _KNOWS_NULL
    return (is_comparison or is_like) and any(map(_is_null, operands_of(node)))


def _is_null(expression: Node) -> bool:
    """Return whether an expression is NULL, of whatever type, or a row that has it."""
    if expression.get("class") == "CAST":
        return _is_null(node_at(expression, "child"))
    if text_of(expression, "function_name") == "row":
        return any(map(_is_null, arguments_of(expression)))
    return node_at(expression, "literal").get("kind") == "NULL_LITERAL"


def _taken_by_arrow(node: Node) -> str:
    """Return the operator that `->` takes into the name of a field, empty where it takes none.

    In a function of a list, which uses the name on the left, the arrow is of another kind.
    """
    taken = node_at(node, "expr")
    if node.get("syntax_type") != "SINGLE_ARROW" or not taken.get("is_operator"):
        return ""
    name = texts_at(node_at(node, "lhs"), "column_names")
    is_used = any(texts_at(each, "column_names")[:1] == name[:1] for each in nodes_of(taken))
    return "" if name and is_used else text_of(taken, "function_name")


def no_table(name: str, tables: Collection[str]) -> str:
    """Return the error message for an unknown table, with a suggestion if one is near."""
    hint = did_you_mean(near(name, tables))
    return f"There is no table {name!r} in 'tables'." + (f" {hint}" if hint else "")


def _function_problems(nodes: list[Node], functions: Functions) -> Iterator[str]:
    of_tables = [node_at(node, "function") for node in nodes if node.get("type") == _TABLE_FUNCTION]
    skipped = {id(node) for node in of_tables}
    for node in of_tables:
        name = text_of(node, "function_name").casefold()
        if name not in _TABLE_FUNCTIONS:
            yield (
                f"The table function {name!r} is not allowed; a statement reads the tables that"
                " 'tables' names."
            )
    for node in nodes:
        if node.get("class") in ("FUNCTION", "WINDOW") and id(node) not in skipped:
            yield from filter(None, [_function_problem(node, functions)])


def _function_problem(node: Node, functions: Functions) -> str | None:
    name = text_of(node, "function_name").casefold()
    if name in _CLOCK or (name in _FROM_TODAY and len(arguments_of(node)) < 2):
        return f"{name!r} reads the clock; write the day as a literal: DATE '2025-10-12'."
    if name in _CHANCE:
        return f"The function {name!r} gives something else each time, which a plan may not."
    if name in functions.allowed:
        return _argument_problem(name, arguments_of(node))
    if name in functions.refused:
        return f"The function {name!r} is not allowed; a statement reads its tables, nothing else."
    hint = did_you_mean(near(name, functions.allowed))
    return f"There is no function {name!r}." + (f" {hint}" if hint else "")


def _argument_problem(name: str, arguments: list[Node]) -> str | None:
    if name in _OF_LISTS and len(arguments) > 1:
        name = (string_of(arguments[1]) or "").casefold()
    if _ESTIMATES.fullmatch(name):
        return f"{name!r} gives an estimate; write count(DISTINCT …), quantile_cont or mode."
    if name not in _PERCENTILES or not arguments:
        return None
    shares = _shares(arguments[-1])
    if shares is not None and all(0 <= share <= 1 for share in shares):
        return None
    return f"{name!r} needs its share as a number from 0 to 1: 0.95 for the 95th percentile."


def _shares(expression: Node) -> list[float] | None:
    """Return the number of a literal, or the numbers of a list of literals, else None."""
    if text_of(expression, "function_name") == "list_value":
        parts = [_shares(each) for each in arguments_of(expression)]
        return None if None in parts else [n for part in parts for n in part or ()]
    try:
        return [float(literal_of(expression) or "")]
    except ValueError:
        return None


def _use(nodes: list[Node], own: set[str]) -> Use:
    """Return how the statement uses objects; `own` are the names of its CTEs."""
    tables = own | {
        name.casefold()
        for node in nodes
        if "class" not in node
        for key in ("alias", "table_name")
        if (name := text_of(node, key))
    }
    called = {text_of(node, "function_name").casefold() for node in nodes}
    casts = {text_of(node, "type_name").casefold() for node in nodes if node.get("class") == "TYPE"}
    return Use(
        fields=any(_reads_field(node, tables) for node in nodes),
        keys=any(_READS_KEYS.fullmatch(name) for name in called) or bool(casts & TEXT_TYPES),
        entries=bool(called & _READS_ENTRIES),
    )


def _reads_field(node: Node, tables: set[str]) -> bool:
    names = texts_at(node, "column_names")
    if node.get("class") == "COLUMN_REF" and names:
        return len(names) > (2 if names[0].casefold() in tables else 1)
    if text_of(node, "function_name").casefold() in _EXTRACTS:
        return True
    is_extract = node.get("type") in ("STRUCT_EXTRACT", "ARRAY_EXTRACT")
    children = nodes_at(node, "children")
    return is_extract and bool(children) and string_of(children[-1]) is not None


def _counts(tree: Node) -> tuple[frozenset[int], int | None]:
    """Return the columns of the result that are counts, and the number of columns."""
    root = node_at(tree, "node")
    shown = nodes_at(root, "select_list")
    # `*`, `COLUMNS(…)` and `unnest` give any number of columns
    is_open = any(each.get("class") == "STAR" for each in nodes_of(list_at(root, "select_list")))
    is_open = is_open or any(each.get("function_name") == "unnest" for each in shown)
    if root.get("type") != "SELECT_NODE" or is_open:
        return frozenset(), None
    counts = (
        at
        for at, each in enumerate(shown)
        if each.get("class") in ("FUNCTION", "WINDOW") and each.get("function_name") in _COUNTS
    )
    return frozenset(counts), len(shown)


def too_deep(text: str) -> str | None:
    """Return why `text` cannot be parsed safely, or None."""
    depth = joins = 0
    withs: list[int] = []  # the depths of the WITHs
    for token in _TOKEN.finditer(text):
        if token["opens"]:
            depth += 1
            if depth > MAX_DEPTH:
                return TOO_DEEP
        elif token["join"]:
            joins += 1
            if joins > MAX_JOINS:
                return TOO_MANY_JOINS
        elif token["with"]:
            if not withs or withs[-1] < depth:
                withs.append(depth)
            if len(withs) > MAX_WITHS:
                return TOO_MANY_WITHS
        elif token["closes"]:
            depth -= 1
            while withs and withs[-1] > depth:
                withs.pop()
    return None
