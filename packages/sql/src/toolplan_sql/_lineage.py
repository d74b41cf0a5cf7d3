"""The lineage of a statement: which columns each column of its result is made of and picked by.

It is read from the syntax tree, not from a bound plan, so that it holds for tables of which only
some columns are known. A name that may mean several columns means all of them. What is not
understood depends on everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from toolplan.plan.path import EVERY, Json, Path
from toolplan.schema.tool import Lineage
from toolplan_sql._relations import (
    NOTHING,
    Couplings,
    Item,
    Paths,
    Read,
    Relation,
    Scope,
    candidates,
    merged,
    read_all,
    renamed,
    union,
    unspoken,
)
from toolplan_sql._tree import Node, node_at, nodes_at, nodes_of, text_of, texts_at
from toolplan_sql._types import Table

_POSITIONS: Final = frozenset({"CONSTANT", "STAR", "POSITIONAL_REFERENCE"})
_UNION: Final = "UNION"


class Lost(Exception):
    """The statement has something that is not understood."""


class StatementLineage:
    """The lineage of the result of a statement; `at` gives that of a path into the result."""

    def __init__(
        self, tree: Node, tables: Mapping[str, Table], aggregates: Collection[str]
    ) -> None:
        """Follow the columns of a statement over `tables`.

        Raises:
            Lost: it has something that is not understood.
        """
        if len({name.casefold() for name in tables}) < len(tables):
            raise Lost("two tables of one name")
        self._tables = tables
        self._aggregates = aggregates
        self._couplings = Couplings()
        self._result = self._query(node_at(tree, "node"), Scope())

    def at(self, path: Path) -> Lineage:
        """Return the lineage of what `path` leads to in the result of the tool."""
        match path:
            case ("data", position, str(name), *_):
                found = self._result.column(name)
                if found is None:
                    return self._result.whole
                picks = found.picks | self._couplings.behind(found.values | found.picks)
                if not isinstance(position, int):  # all of them: how many there are
                    picks |= unspoken(self._result.membership, found)
                return replace(found, picks=picks)
            case ("count",):
                return Lineage(self._result.rows | self._result.membership)
            case _:
                return self._result.whole

    def meeting(self, paths: Paths) -> Paths:
        """Return the columns that stand in one expression with any of `paths`."""
        return self._couplings.behind(paths)

    def _query(self, node: Node, outer: Scope) -> Relation:
        """Return the result of a SELECT, or of several put together."""
        outer = self._with_ctes(node, outer)
        match node.get("type"):
            case "SELECT_NODE":
                return self._select(node, outer)
            case "SET_OPERATION_NODE":
                return self._set_operation(node, outer)
            case "RECURSIVE_CTE_NODE":
                every = frozenset[Path]({("tables", name) for name in self._tables})
                return Relation("", is_blurred=True, rows=every, membership=every)
            case other:
                raise Lost(str(other))

    def _with_ctes(self, node: Node, outer: Scope) -> Scope:
        for entry in nodes_at(node_at(node, "cte_map"), "map"):
            value = node_at(entry, "value")
            body = node_at(value, "query_node") or node_at(value, "query", "node")
            name = text_of(entry, "key").casefold()
            relation = renamed(self._query(body, outer), name, texts_at(value, "aliases"))
            outer = replace(outer, ctes={**outer.ctes, name: relation})
        return outer

    # One SELECT

    def _select(self, node: Node, outer: Scope) -> Relation:
        relations, rows = self._from(node_at(node, "from_table"), outer)
        scope = outer.within(relations)
        reads: list[tuple[Node, Read]] = []
        for item in nodes_at(node, "select_list"):
            read = self._expression(item, scope)
            reads.append((item, read))
            if _calls(item, "unnest"):
                rows |= read.all  # each row is there as often as the list is long
            if alias := text_of(item, "alias").casefold():
                scope = replace(scope, aliases={**scope.aliases, alias: read})
        rows |= self._row_picks(node, scope, union(read.all for _, read in reads))
        membership = union(each.membership for each in relations)
        items: list[Item] = []
        bases: list[str] = []
        is_blurred = False
        for item, read in reads:
            if item.get("class") != "STAR":
                items.append(read.item(_name_of(item), rows, membership))
                is_blurred = is_blurred or items[-1].name is None
                continue
            for relation in _starred(item, relations):
                items += (
                    Item(each.name, replace(each.lineage, picks=each.lineage.picks | rows))
                    for each in relation.items
                )
                bases += [] if relation.base is None else [relation.base]
                is_blurred = is_blurred or relation.is_blurred
        if is_blurred or len(set(bases)) > 1 or len({each.name for each in items}) < len(items):
            items += (Item(None, Lineage(frozenset({("tables", each)}), rows)) for each in bases)
            return Relation("", tuple(items), None, True, rows, membership)
        return Relation("", tuple(items), next(iter(bases), None), False, rows, membership)

    def _row_picks(self, node: Node, scope: Scope, listed: Paths) -> Paths:
        """Return what decides which rows there are, and in which order."""
        found = NOTHING
        parts = [node_at(node, key) for key in ("where_clause", "having", "qualify")]
        groups = nodes_at(node, "group_expressions")
        for modifier in nodes_at(node, "modifiers"):
            groups += (node_at(order, "expression") for order in nodes_at(modifier, "orders"))
            targets = nodes_at(modifier, "distinct_on_targets")
            groups += targets
            if modifier.get("type") == "DISTINCT_MODIFIER" and not targets:
                found |= listed
            parts += [node_at(modifier, "limit"), node_at(modifier, "offset")]
        if any(each.get("class") in _POSITIONS for each in groups):
            found |= listed  # a column by its position
        if node.get("aggregate_handling") not in (None, "STANDARD_HANDLING"):
            found |= listed
        return found.union(*(self._collect(part, scope).all for part in (*parts, *groups)))

    def _expression(self, node: Node, scope: Scope) -> Read:
        """Return what an expression reads; conditions of a CASE only pick."""
        if node.get("class") != "CASE":
            return self._collect(node, scope)
        checks = nodes_at(node, "case_checks")
        results = [*(node_at(each, "then_expr") for each in checks), node_at(node, "else_expr")]
        made_of = read_all(self._collect(each, scope) for each in results)
        self._couplings.add(made_of.paths)
        by = read_all(self._collect(node_at(each, "when_expr"), scope) for each in checks)
        return read_all((made_of, replace(by, paths=NOTHING, picks=by.all)))

    def _collect(self, node: Node, scope: Scope) -> Read:
        """Return all that an expression reads."""
        scope = replace(scope, loose=scope.loose | _lambda_names(node))
        found: list[Read] = []
        apart: list[Read] = []
        pending: list[Json] = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, list):
                pending.extend(part)
            if not isinstance(part, dict):
                continue
            match part.get("class"):
                case "SUBQUERY":
                    inner = self._query(node_at(part, "subquery", "node"), scope)
                    found.append(Read.of(inner.whole))
                    pending.append(part.get("child"))
                    continue
                case "COLUMN_REF":
                    found.append(self._resolve(texts_at(part, "column_names"), scope))
                    continue
                case "CONJUNCTION":
                    apart += (self._collect(each, scope) for each in nodes_at(part, "children"))
                    continue
                case "STAR" | "POSITIONAL_REFERENCE":
                    # `SELECT *` itself puts no two columns into one expression
                    every = apart if part is node else found
                    every += (Read.of(each.whole) for each in scope.relations)
                case "WINDOW":
                    found.append(Read(over_rows=True, no_columns=not _has_columns(part)))
                case "FUNCTION":
                    found += self._called(part, scope)
                case _:
                    pass
            pending.extend(part.values())
        self._couplings.add(read_all(found).paths)
        return read_all([*found, *apart])

    def _called(self, node: Node, scope: Scope) -> Iterator[Read]:
        if text_of(node, "function_name").casefold() in self._aggregates:
            yield Read(over_rows=True, no_columns=not _has_columns(node))
        called_on = texts_at(node_at(node, "qualified_name"), "path")[:-1]
        if called_on:  # `carrier.upper()`
            yield self._resolve(called_on, scope)

    def _resolve(self, names: list[str], scope: Scope) -> Read:
        """Return what a column's name may mean: every column that it could be.

        Raises:
            Lost: it could be none.
        """
        found: list[Read] = []
        level: Scope | None = scope
        while level is not None:
            certain, possible = candidates(level.relations, names)
            if len(names) == 1 and names[0].casefold() in level.aliases:
                found.append(level.aliases[names[0].casefold()])
            found += certain or possible
            if certain:
                break  # what is named there for certain, no outer name can stand for
            level = level.outer
        if not found and (not names or names[0].casefold() not in scope.loose):
            raise Lost(".".join(names))
        return read_all(found)

    # Where the rows come from

    def _from(self, node: Node, outer: Scope) -> tuple[tuple[Relation, ...], Paths]:
        """Return the relations behind FROM, and what decides which of their rows meet."""
        alias, names = text_of(node, "alias").casefold(), texts_at(node, "column_name_alias")
        match node.get("type"):
            case "JOIN":
                return self._join(node, outer)
            case "EMPTY":
                return (), NOTHING
            case "BASE_TABLE":
                relation = self._table(node, outer)
                relation = renamed(relation, alias or relation.alias, names)
            case "SUBQUERY":
                relation = self._query(node_at(node, "subquery", "node"), outer)
                relation = renamed(relation, alias, names)
            case "TABLE_FUNCTION" | "EXPRESSION_LIST":
                inner: Node = {"values": node.get("values"), "function": node.get("function")}
                read = self._collect(inner, outer).all
                relation = Relation(alias, is_blurred=True, rows=read, membership=read)
            case other:
                raise Lost(str(other))
        return (relation,), relation.rows

    def _join(self, node: Node, outer: Scope) -> tuple[tuple[Relation, ...], Paths]:
        left, left_rows = self._from(node_at(node, "left"), outer)
        # the right side may speak of the left one
        right, right_rows = self._from(node_at(node, "right"), outer.within(left))
        both = (*left, *right)
        rows = union([left_rows, right_rows, *(each.membership for each in both)])
        scope = outer.within(both)
        rows |= self._collect(node_at(node, "condition"), scope).all
        for name in texts_at(node, "using_columns"):
            read = self._resolve([name], scope)
            self._couplings.add(read.paths)
            rows |= read.all
        if node.get("ref_type") == "NATURAL":
            rows = rows.union(*(each.everything for each in both))
            self._couplings.add(rows)
        return both, rows

    def _table(self, node: Node, outer: Scope) -> Relation:
        name = text_of(node, "table_name")
        if text_of(node, "schema_name") or text_of(node, "catalog_name"):
            raise Lost(name)  # `main.a` is not the `a` of a WITH
        folded = name.casefold()
        if folded in outer.ctes:
            return replace(outer.ctes[folded], alias=folded)
        table = next((each for each in self._tables if each.casefold() == folded), None)
        if table is None:
            raise Lost(name)
        known = self._tables[table]
        items = tuple(
            Item(column.casefold(), Lineage(frozenset({("tables", table, EVERY, column)})))
            for column in known.readings
        )
        base = table if known.is_open else None
        return Relation(folded, items, base, False, NOTHING, frozenset({("tables", table)}))

    def _set_operation(self, node: Node, outer: Scope) -> Relation:
        children = nodes_at(node, "children") or [node_at(node, "left"), node_at(node, "right")]
        parts = [self._query(each, outer) for each in children]
        everything = union(each.everything for each in parts)
        membership = union(each.membership for each in parts)
        picks = node.get("setop_type") != _UNION or not node.get("setop_all")
        has_picks = picks or node.get("modifiers")
        rows = everything if has_picks else union(each.rows for each in parts)
        aligned = node.get("setop_type") in (_UNION, "EXCEPT", "INTERSECT") and not any(
            each.is_open for each in parts
        )
        lengths = {len(each.items) for each in parts}
        if not aligned or len(lengths) != 1:
            self._couplings.add(everything)
            whole = Item(None, merged([each.whole for each in parts]))
            return Relation("", (whole,), None, True, rows, membership)
        items: list[Item] = []
        for columns in zip(*(each.items for each in parts), strict=True):
            listed = [each.lineage for each in columns]
            by = rows.union(  # how many rows one part has decides where those of the next begin
                *(unspoken(p.membership, each) for p, each in zip(parts, listed, strict=True))
            )
            column = merged([*listed, Lineage(NOTHING, by)])
            self._couplings.add(column.values)
            items.append(Item(columns[0].name, column))
        return Relation("", tuple(items), None, False, rows, membership)


def _starred(item: Node, relations: tuple[Relation, ...]) -> Iterator[Relation]:
    """Yield the relations whose columns `*` stands for."""
    alias = text_of(item, "relation_name").casefold()
    if any(item.get(key) for key in ("replace_list", "rename_list", "expr", "columns")):
        whole = merged([each.whole for each in relations])
        yield Relation("", is_blurred=True, items=(Item(None, whole),))
        return
    for relation in relations:
        if not alias or relation.alias == alias:
            whole = Item(None, relation.whole)
            yield replace(relation, items=(whole,)) if relation.is_blurred else relation


def _name_of(item: Node) -> str | None:
    if alias := text_of(item, "alias"):
        return alias.casefold()
    if item.get("class") == "COLUMN_REF":
        names = texts_at(item, "column_names")
        return names[-1].casefold() if names else None
    return None


def _calls(node: Node, function: str) -> bool:
    return any(text_of(each, "function_name").casefold() == function for each in nodes_of(node))


def _has_columns(node: Node) -> bool:
    """Return whether an expression names a column or holds a query."""
    return any(
        each.get("class") in ("COLUMN_REF", "SUBQUERY", "STAR", "POSITIONAL_REFERENCE")
        for each in nodes_of(node)
    )


def _lambda_names(node: Node) -> frozenset[str]:
    return frozenset(
        name.casefold()
        for each in nodes_of(node)
        if each.get("class") == "LAMBDA"
        for inner in nodes_of(node_at(each, "lhs"))
        for name in texts_at(inner, "column_names")
    )
