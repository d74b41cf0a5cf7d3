"""The lineage of a statement: which columns each column of its result is made of and picked by.

It is read from the syntax tree, not from a bound plan, so that it holds for tables of which only
some columns are known. A name that may mean several columns means all of them. What is not
understood depends on everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from toolplan.path import EVERY, Json, Path
from toolplan.tools import Lineage
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
    unspoken,
)
from toolplan_sql._tree import Node, dict_of, dicts_of, nodes_of, text_of, texts_of
from toolplan_sql._types import Table

_POSITIONS: Final = frozenset({"CONSTANT", "STAR", "POSITIONAL_REFERENCE"})
_UNION: Final = "UNION"


class Lost(Exception):
    """The statement has something that is not understood."""


class StatementLineage:
    """The lineage of the result of a statement; `at` gives that of a path into the result."""

    def __init__(
        self, tree: Json, tables: Mapping[str, Table], aggregates: Collection[str]
    ) -> None:
        """Follow the columns of a statement over `tables`.

        Raises:
            Lost: it has something that is not understood.
        """
        node = tree.get("node") if isinstance(tree, dict) else None
        if len({name.casefold() for name in tables}) < len(tables):
            raise Lost("two tables of one name")
        reader = _Reader(tables, aggregates)
        self._result = reader.query(dict_of(node), {}, None)
        self._couplings = reader.couplings

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


class _Reader:
    def __init__(self, tables: Mapping[str, Table], aggregates: Collection[str]) -> None:
        self._tables = tables
        self._aggregates = aggregates
        self.couplings = Couplings()

    def query(self, node: Node, ctes: Mapping[str, Relation], outer: Scope | None) -> Relation:
        """Return the result of a SELECT, or of several put together."""
        ctes = self._with_ctes(node, ctes, outer)
        match node.get("type"):
            case "SELECT_NODE":
                return self._select(node, ctes, outer)
            case "SET_OPERATION_NODE":
                return self._set_operation(node, ctes, outer)
            case "RECURSIVE_CTE_NODE":
                every = frozenset[Path]({("tables", name) for name in self._tables})
                return Relation("", is_blurred=True, rows=every, membership=every)
            case other:
                raise Lost(str(other))

    def _with_ctes(
        self, node: Node, ctes: Mapping[str, Relation], outer: Scope | None
    ) -> Mapping[str, Relation]:
        found = dict(ctes)
        for entry in dicts_of(dict_of(node.get("cte_map")).get("map")):
            value = dict_of(entry.get("value"))
            body = dict_of(value.get("query_node") or dict_of(value.get("query")).get("node"))
            relation = self.query(body, found, outer)
            name = text_of(entry, "key").casefold()
            found[name] = renamed(relation, name, texts_of(value.get("aliases")))
        return found

    # One SELECT

    def _select(self, node: Node, ctes: Mapping[str, Relation], outer: Scope | None) -> Relation:
        relations, rows = self._from(dict_of(node.get("from_table")), ctes, outer)
        scope = Scope(relations, {}, outer)
        reads: list[tuple[Node, Read]] = []
        for item in dicts_of(node.get("select_list")):
            read = self._expression(item, scope, ctes)
            reads.append((item, read))
            if _calls(item, "unnest"):
                rows |= read.all  # each row is there as often as the list is long
            if alias := text_of(item, "alias").casefold():
                scope = replace(scope, aliases={**scope.aliases, alias: read})
        listed = NOTHING.union(*(read.all for _, read in reads))
        rows |= self._row_picks(node, scope, ctes, listed)
        membership = NOTHING.union(*(each.membership for each in relations))
        items: list[Item] = []
        bases: list[str | None] = []
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
                bases.append(relation.base)
                is_blurred = is_blurred or relation.is_blurred
        names = [each.name for each in items]
        base = next((each for each in bases if each is not None), None)
        others = [each for each in bases if each is not None and each != base]
        if is_blurred or others or len(set(names)) < len(names):
            tables = (Lineage(frozenset({("tables", each)}), rows) for each in bases if each)
            items += (Item(None, each) for each in tables)
            return Relation("", tuple(items), None, True, rows, membership)
        return Relation("", tuple(items), base, False, rows, membership)

    def _row_picks(
        self, node: Node, scope: Scope, ctes: Mapping[str, Relation], listed: Paths
    ) -> Paths:
        """Return what decides which rows there are, and in which order."""
        found = NOTHING
        parts = [node.get(key) for key in ("where_clause", "having", "qualify")]
        groups = dicts_of(node.get("group_expressions"))
        for modifier in dicts_of(node.get("modifiers")):
            for order in dicts_of(modifier.get("orders")):
                groups.append(dict_of(order.get("expression")))
            targets = dicts_of(modifier.get("distinct_on_targets"))
            groups += targets
            if modifier.get("type") == "DISTINCT_MODIFIER" and not targets:
                found |= listed
            parts += [modifier.get("limit"), modifier.get("offset")]
        if any(each.get("class") in _POSITIONS for each in groups):
            found |= listed  # a column by its position
        if node.get("aggregate_handling") not in (None, "STANDARD_HANDLING"):
            found |= listed
        for part in (*parts, *groups):
            if isinstance(part, dict):
                found |= self._collect(part, scope, ctes).all
        return found

    def _expression(self, node: Node, scope: Scope, ctes: Mapping[str, Relation]) -> Read:
        """Return what an expression reads; conditions of a CASE only pick."""
        if node.get("class") != "CASE":
            return self._collect(node, scope, ctes)
        checks = dicts_of(node.get("case_checks"))
        results = [
            *(dict_of(each.get("then_expr")) for each in checks),
            dict_of(node.get("else_expr")),
        ]
        made_of = read_all(self._collect(each, scope, ctes) for each in results)
        self.couplings.add(made_of.paths)
        by = read_all(self._collect(dict_of(each.get("when_expr")), scope, ctes) for each in checks)
        return read_all((made_of, replace(by, paths=NOTHING, picks=by.all)))

    def _collect(self, node: Node, scope: Scope, ctes: Mapping[str, Relation]) -> Read:
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
                    inner = self.query(
                        dict_of(dict_of(part.get("subquery")).get("node")), ctes, scope
                    )
                    found.append(Read.of(inner.whole))
                    pending.append(part.get("child"))
                    continue
                case "COLUMN_REF":
                    found.append(self._resolve(texts_of(part.get("column_names")), scope))
                    continue
                case "CONJUNCTION":
                    children = dicts_of(part.get("children"))
                    apart += (self._collect(each, scope, ctes) for each in children)
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
        self.couplings.add(read_all(found).paths)
        return read_all([*found, *apart])

    def _called(self, node: Node, scope: Scope) -> Iterator[Read]:
        if text_of(node, "function_name").casefold() in self._aggregates:
            yield Read(over_rows=True, no_columns=not _has_columns(node))
        called_on = texts_of(dict_of(node.get("qualified_name")).get("path"))[:-1]
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

    def _from(
        self, node: Node, ctes: Mapping[str, Relation], outer: Scope | None
    ) -> tuple[tuple[Relation, ...], Paths]:
        """Return the relations behind FROM, and what decides which of their rows meet."""
        match node.get("type"):
            case "JOIN":
                return self._join(node, ctes, outer)
            case "EMPTY":
                return (), NOTHING
            case "BASE_TABLE":
                relation = self._table(node, ctes)
            case "SUBQUERY":
                relation = self.query(
                    dict_of(dict_of(node.get("subquery")).get("node")), ctes, outer
                )
                relation = renamed(
                    relation,
                    text_of(node, "alias").casefold(),
                    texts_of(node.get("column_name_alias")),
                )
            case "TABLE_FUNCTION" | "EXPRESSION_LIST":
                inner: Node = {"values": node.get("values"), "function": node.get("function")}
                read = self._collect(inner, outer or Scope(), ctes).all
                alias = text_of(node, "alias").casefold()
                relation = Relation(alias, is_blurred=True, rows=read, membership=read)
            case other:
                raise Lost(str(other))
        return (relation,), relation.rows

    def _join(
        self, node: Node, ctes: Mapping[str, Relation], outer: Scope | None
    ) -> tuple[tuple[Relation, ...], Paths]:
        left, left_rows = self._from(dict_of(node.get("left")), ctes, outer)
        # the right side may speak of the left one
        lateral = Scope(left, {}, outer)
        right, right_rows = self._from(dict_of(node.get("right")), ctes, lateral)
        both = (*left, *right)
        rows = left_rows | right_rows
        rows = rows.union(*(each.membership for each in both))
        scope = Scope(both, {}, outer)
        if isinstance(condition := node.get("condition"), dict):
            rows |= self._collect(condition, scope, ctes).all
        for name in texts_of(node.get("using_columns")):
            read = self._resolve([name], scope)
            self.couplings.add(read.paths)
            rows |= read.all
        if node.get("ref_type") == "NATURAL":
            rows = rows.union(*(each.everything for each in both))
            self.couplings.add(rows)
        return both, rows

    def _table(self, node: Node, ctes: Mapping[str, Relation]) -> Relation:
        name = text_of(node, "table_name")
        if text_of(node, "schema_name") or text_of(node, "catalog_name"):
            raise Lost(name)  # `main.a` is not the `a` of a WITH
        alias = (text_of(node, "alias") or name).casefold()
        aliases = texts_of(node.get("column_name_alias"))
        if name.casefold() in ctes:
            return renamed(ctes[name.casefold()], alias, aliases)
        table = next((each for each in self._tables if each.casefold() == name.casefold()), None)
        if table is None:
            raise Lost(name)
        known = self._tables[table]
        items = tuple(
            Item(column.casefold(), Lineage(frozenset({("tables", table, EVERY, column)})))
            for column in known.readings
        )
        whole = frozenset[Path]({("tables", table)})
        base = table if known.is_open else None
        relation = Relation(alias, items, base, False, NOTHING, whole)
        return renamed(relation, alias, aliases)

    def _set_operation(
        self, node: Node, ctes: Mapping[str, Relation], outer: Scope | None
    ) -> Relation:
        children = dicts_of(node.get("children")) or [
            dict_of(node.get("left")),
            dict_of(node.get("right")),
        ]
        parts = [self.query(each, ctes, outer) for each in children]
        everything = NOTHING.union(*(each.everything for each in parts))
        rows = NOTHING.union(*(each.rows for each in parts))
        picks = node.get("setop_type") != _UNION or not node.get("setop_all")
        if picks or node.get("modifiers"):
            rows = everything
        membership = NOTHING.union(*(each.membership for each in parts))
        aligned = node.get("setop_type") in (_UNION, "EXCEPT", "INTERSECT") and not any(
            each.is_open for each in parts
        )
        lengths = {len(each.items) for each in parts}
        if not aligned or len(lengths) != 1:
            self.couplings.add(everything)
            whole = Item(None, merged([each.whole for each in parts]))
            return Relation("", (whole,), None, True, rows, membership)
        items: list[Item] = []
        for columns in zip(*(each.items for each in parts), strict=True):
            listed = [each.lineage for each in columns]
            by = rows.union(  # how many rows one part has decides where those of the next begin
                *(unspoken(p.membership, each) for p, each in zip(parts, listed, strict=True))
            )
            column = merged([*listed, Lineage(NOTHING, by)])
            self.couplings.add(column.values)
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
        names = texts_of(item.get("column_names"))
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
        for inner in nodes_of(dict_of(each.get("lhs")))
        for name in texts_of(inner.get("column_names"))
    )
