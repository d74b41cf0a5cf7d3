"""The lineage of a statement: which columns each column of its result is made of and picked by.

It is read from the syntax tree, not from a bound plan, so that it holds for tables of which only
some columns are known. A name that may mean several columns means all of them. What is not
understood depends on everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from toolplan.path import EVERY, Json, Path
from toolplan.tools import Lineage

Node: TypeAlias = dict[str, Json]
Paths: TypeAlias = frozenset[Path]

_NOTHING: Final[Paths] = frozenset()
_NO_LINEAGE: Final = Lineage(_NOTHING)
_POSITIONS: Final = frozenset({"CONSTANT", "STAR", "POSITIONAL_REFERENCE"})
_UNION: Final = "UNION"


class Lost(Exception):
    """The statement has something that is not understood."""


class KnownTable(NamedTuple):
    """The names of a table's columns; `is_open`: it may have more."""

    columns: Collection[str] = ()
    is_open: bool = True


class Item(NamedTuple):
    """A column of a relation; a column without a name has one of the database's making."""

    name: str | None
    lineage: Lineage


@dataclass(frozen=True, slots=True)
class _Relation:
    """Rows with columns.

    `items` are the columns in order; `base` is the table that has more of them than these.
    `is_blurred`: a column of another name may be made of any of `everything`. `rows` decides which
    rows there are, `membership` too where the rows are those of whole tables.
    """

    alias: str
    items: tuple[Item, ...] = ()
    base: str | None = None
    is_blurred: bool = False
    rows: Paths = _NOTHING
    membership: Paths = _NOTHING

    @property
    def everything(self) -> Paths:
        own = frozenset({("tables", self.base)}) if self.base is not None else _NOTHING
        values = (each.lineage.values | each.lineage.picks for each in self.items)
        return own.union(self.rows, self.membership, *values)

    @property
    def is_open(self) -> bool:
        return self.base is not None or self.is_blurred

    def column(self, name: str) -> Lineage | None:
        """Return the lineage of a column, None where there is none of that name."""
        folded = name.casefold()
        found = [each.lineage for each in self.items if each.name == folded]
        if self.base is not None and not any(self._is_own(each, folded) for each in found):
            found.append(Lineage(frozenset({("tables", self.base, EVERY, name)}), self.rows))
        if not found and self.is_blurred:
            found.append(Lineage(self.everything))
        return _merged(found) if found else None

    def has(self, name: str) -> bool:
        """Return whether it certainly has a column of this name."""
        return any(each.name == name.casefold() for each in self.items)

    def _is_own(self, lineage: Lineage, folded: str) -> bool:
        """Return whether this is the column of that name of `base` itself."""
        return any(
            path[1] == self.base and str(path[-1]).casefold() == folded
            for path in lineage.values
            if len(path) == len(("tables", self.base, EVERY, folded)) and len(lineage.values) == 1
        )


@dataclass(frozen=True, slots=True)
class _Scope:
    """What names stand for at a place of the statement."""

    relations: tuple[_Relation, ...] = ()
    aliases: Mapping[str, _Read] = field(default_factory=dict[str, "_Read"])
    outer: _Scope | None = None
    loose: frozenset[str] = frozenset()


class _Read(NamedTuple):
    """What an expression reads, and what decides which of it.

    `over_rows`: it computes over many rows; `no_columns`: it counts rows, whatever they hold.
    """

    paths: Paths = _NOTHING
    picks: Paths = _NOTHING
    over_rows: bool = False
    no_columns: bool = False

    @property
    def all(self) -> Paths:
        return self.paths | self.picks

    def item(self, name: str | None, rows: Paths, membership: Paths) -> Item:
        """Return the column of a result that the expression gives."""
        if not self.over_rows:
            return Item(name, Lineage(self.paths, self.picks | rows))
        counted = membership if self.no_columns else _NOTHING
        return Item(name, Lineage(self.all | rows | counted))


def _read_all(reads: Iterable[_Read]) -> _Read:
    listed = list(reads)
    return _Read(
        _NOTHING.union(*(each.paths for each in listed)),
        _NOTHING.union(*(each.picks for each in listed)),
        any(each.over_rows for each in listed),
        any(each.no_columns for each in listed),
    )


class StatementLineage:
    """The lineage of the result of a statement; `at` gives that of a path into the result."""

    def __init__(
        self, tree: Json, tables: Mapping[str, KnownTable], aggregates: Collection[str]
    ) -> None:
        """Follow the columns of a statement over `tables`.

        Raises:
            Lost: it has something that is not understood.
        """
        node = tree.get("node") if isinstance(tree, dict) else None
        reader = _Reader(tables, aggregates)
        self._result = reader.query(_dict(node), {}, None)

    def at(self, path: Path) -> Lineage:
        """Return the lineage of what `path` leads to in the result of the tool."""
        match path:
            case ("data", _, str(name), *_):
                found = self._result.column(name)
                return Lineage(self._result.everything) if found is None else found
            case ("count",):
                return Lineage(self._result.rows | self._result.membership)
            case _:
                return Lineage(self._result.everything)


class _Reader:
    def __init__(self, tables: Mapping[str, KnownTable], aggregates: Collection[str]) -> None:
        self._tables = tables
        self._aggregates = aggregates

    def query(self, node: Node, ctes: Mapping[str, _Relation], outer: _Scope | None) -> _Relation:
        """Return the result of a SELECT, or of several put together."""
        ctes = self._with_ctes(node, ctes, outer)
        match node.get("type"):
            case "SELECT_NODE":
                return self._select(node, ctes, outer)
            case "SET_OPERATION_NODE":
                return self._set_operation(node, ctes, outer)
            case "RECURSIVE_CTE_NODE":
                every = frozenset[Path]({("tables", name) for name in self._tables})
                return _Relation("", is_blurred=True, rows=every, membership=every)
            case other:
                raise Lost(str(other))

    def _with_ctes(
        self, node: Node, ctes: Mapping[str, _Relation], outer: _Scope | None
    ) -> Mapping[str, _Relation]:
        found = dict(ctes)
        for entry in _dicts(_dict(node.get("cte_map")).get("map")):
            value = _dict(entry.get("value"))
            body = _dict(value.get("query_node") or _dict(value.get("query")).get("node"))
            relation = self.query(body, found, outer)
            name = _text(entry, "key").casefold()
            found[name] = _renamed(relation, name, _texts(value.get("aliases")))
        return found

    # One SELECT

    def _select(self, node: Node, ctes: Mapping[str, _Relation], outer: _Scope | None) -> _Relation:
        relations, rows = self._from(_dict(node.get("from_table")), ctes, outer)
        scope = _Scope(relations, {}, outer)
        reads: list[tuple[Node, _Read]] = []
        for item in _dicts(node.get("select_list")):
            read = self._expression(item, scope, ctes)
            reads.append((item, read))
            if _calls(item, "unnest"):
                rows |= read.all  # each row is there as often as the list is long
            if alias := _text(item, "alias").casefold():
                scope = replace(scope, aliases={**scope.aliases, alias: read})
        listed = _NOTHING.union(*(read.all for _, read in reads))
        rows |= self._row_picks(node, scope, ctes, listed)
        membership = _NOTHING.union(*(each.membership for each in relations))
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
                    Item(each.name, Lineage(each.lineage.values, each.lineage.picks | rows))
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
            return _Relation("", tuple(items), None, True, rows, membership)
        return _Relation("", tuple(items), base, False, rows, membership)

    def _row_picks(
        self, node: Node, scope: _Scope, ctes: Mapping[str, _Relation], listed: Paths
    ) -> Paths:
        """Return what decides which rows there are, and in which order."""
        found = _NOTHING
        parts = [node.get(key) for key in ("where_clause", "having", "qualify")]
        groups = _dicts(node.get("group_expressions"))
        for modifier in _dicts(node.get("modifiers")):
            for order in _dicts(modifier.get("orders")):
                groups.append(_dict(order.get("expression")))
            targets = _dicts(modifier.get("distinct_on_targets"))
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

    def _expression(self, node: Node, scope: _Scope, ctes: Mapping[str, _Relation]) -> _Read:
        """Return what an expression reads; conditions of a CASE only pick."""
        if node.get("class") != "CASE":
            return self._collect(node, scope, ctes)
        checks = _dicts(node.get("case_checks"))
        results = [*(_dict(each.get("then_expr")) for each in checks), _dict(node.get("else_expr"))]
        made_of = _read_all(self._collect(each, scope, ctes) for each in results)
        by = _read_all(self._collect(_dict(each.get("when_expr")), scope, ctes) for each in checks)
        return _read_all((made_of, by._replace(paths=_NOTHING, picks=by.all)))

    def _collect(self, node: Node, scope: _Scope, ctes: Mapping[str, _Relation]) -> _Read:
        """Return all that an expression reads."""
        scope = replace(scope, loose=scope.loose | _lambda_names(node))
        found: list[_Read] = []
        pending: list[Json] = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, list):
                pending.extend(part)
            if not isinstance(part, dict):
                continue
            match part.get("class"):
                case "SUBQUERY":
                    inner = self.query(_dict(_dict(part.get("subquery")).get("node")), ctes, scope)
                    found.append(_Read(inner.everything))
                    pending.append(part.get("child"))
                    continue
                case "COLUMN_REF":
                    found.append(self._resolve(_texts(part.get("column_names")), scope))
                    continue
                case "STAR" | "POSITIONAL_REFERENCE":
                    found += (_Read(each.everything) for each in scope.relations)
                case "WINDOW":
                    found.append(_Read(over_rows=True, no_columns=not _has_columns(part)))
                case "FUNCTION":
                    found += self._called(part, scope)
                case _:
                    pass
            pending.extend(part.values())
        return _read_all(found)

    def _called(self, node: Node, scope: _Scope) -> Iterator[_Read]:
        if _text(node, "function_name").casefold() in self._aggregates:
            yield _Read(over_rows=True, no_columns=not _has_columns(node))
        called_on = _texts(_dict(node.get("qualified_name")).get("path"))[:-1]
        if called_on:  # `carrier.upper()`
            yield self._resolve(called_on, scope)

    def _resolve(self, names: list[str], scope: _Scope) -> _Read:
        """Return what a column's name may mean: every column that it could be.

        Raises:
            Lost: it could be none.
        """
        found: list[_Read] = []
        level: _Scope | None = scope
        while level is not None:
            certain, possible = _candidates(level.relations, names)
            if len(names) == 1 and names[0].casefold() in level.aliases:
                found.append(level.aliases[names[0].casefold()])
            found += certain or possible
            if certain:
                break  # what is named there for certain, no outer name can stand for
            level = level.outer
        if not found and (not names or names[0].casefold() not in scope.loose):
            raise Lost(".".join(names))
        return _read_all(found)

    # Where the rows come from

    def _from(
        self, node: Node, ctes: Mapping[str, _Relation], outer: _Scope | None
    ) -> tuple[tuple[_Relation, ...], Paths]:
        """Return the relations behind FROM, and what decides which of their rows meet."""
        match node.get("type"):
            case "JOIN":
                return self._join(node, ctes, outer)
            case "EMPTY":
                return (), _NOTHING
            case "BASE_TABLE":
                relation = self._table(node, ctes)
            case "SUBQUERY":
                relation = self.query(_dict(_dict(node.get("subquery")).get("node")), ctes, outer)
                relation = _renamed(
                    relation, _text(node, "alias").casefold(), _texts(node.get("column_name_alias"))
                )
            case "TABLE_FUNCTION" | "EXPRESSION_LIST":
                inner: Node = {"values": node.get("values"), "function": node.get("function")}
                read = self._collect(inner, outer or _Scope(), ctes).all
                alias = _text(node, "alias").casefold()
                relation = _Relation(alias, is_blurred=True, rows=read, membership=read)
            case other:
                raise Lost(str(other))
        return (relation,), relation.rows

    def _join(
        self, node: Node, ctes: Mapping[str, _Relation], outer: _Scope | None
    ) -> tuple[tuple[_Relation, ...], Paths]:
        left, left_rows = self._from(_dict(node.get("left")), ctes, outer)
        # the right side may speak of the left one
        lateral = _Scope(left, {}, outer)
        right, right_rows = self._from(_dict(node.get("right")), ctes, lateral)
        both = (*left, *right)
        rows = left_rows | right_rows
        rows = rows.union(*(each.membership for each in both))
        scope = _Scope(both, {}, outer)
        if isinstance(condition := node.get("condition"), dict):
            rows |= self._collect(condition, scope, ctes).all
        for name in _texts(node.get("using_columns")):
            rows |= self._resolve([name], scope).all
        if node.get("ref_type") == "NATURAL":
            rows = rows.union(*(each.everything for each in both))
        return both, rows

    def _table(self, node: Node, ctes: Mapping[str, _Relation]) -> _Relation:
        name = _text(node, "table_name")
        alias = (_text(node, "alias") or name).casefold()
        aliases = _texts(node.get("column_name_alias"))
        if name.casefold() in ctes:
            return _renamed(ctes[name.casefold()], alias, aliases)
        table = next((each for each in self._tables if each.casefold() == name.casefold()), None)
        if table is None:
            raise Lost(name)
        known = self._tables[table]
        items = tuple(
            Item(column.casefold(), Lineage(frozenset({("tables", table, EVERY, column)})))
            for column in known.columns
        )
        whole = frozenset[Path]({("tables", table)})
        base = table if known.is_open else None
        relation = _Relation(alias, items, base, False, _NOTHING, whole)
        return _renamed(relation, alias, aliases)

    def _set_operation(
        self, node: Node, ctes: Mapping[str, _Relation], outer: _Scope | None
    ) -> _Relation:
        children = _dicts(node.get("children")) or [
            _dict(node.get("left")),
            _dict(node.get("right")),
        ]
        parts = [self.query(each, ctes, outer) for each in children]
        everything = _NOTHING.union(*(each.everything for each in parts))
        rows = _NOTHING.union(*(each.rows for each in parts))
        picks = node.get("setop_type") != _UNION or not node.get("setop_all")
        if picks or node.get("modifiers"):
            rows = everything
        membership = _NOTHING.union(*(each.membership for each in parts))
        aligned = node.get("setop_type") in (_UNION, "EXCEPT", "INTERSECT") and not any(
            each.is_open for each in parts
        )
        lengths = {len(each.items) for each in parts}
        if not aligned or len(lengths) != 1:
            whole = Item(None, Lineage(everything))
            return _Relation("", (whole,), None, True, rows, membership)
        items = tuple(
            Item(columns[0].name, _merged([*(c.lineage for c in columns), Lineage(_NOTHING, rows)]))
            for columns in zip(*(each.items for each in parts), strict=True)
        )
        return _Relation("", items, None, False, rows, membership)


def _starred(item: Node, relations: tuple[_Relation, ...]) -> Iterator[_Relation]:
    """Yield the relations whose columns `*` stands for."""
    alias = _text(item, "relation_name").casefold()
    if any(item.get(key) for key in ("replace_list", "rename_list", "expr", "columns")):
        everything = _NOTHING.union(*(each.everything for each in relations))
        yield _Relation("", is_blurred=True, items=(Item(None, Lineage(everything)),))
        return
    for relation in relations:
        if not alias or relation.alias == alias:
            whole = Item(None, Lineage(relation.everything))
            yield replace(relation, items=(whole,)) if relation.is_blurred else relation


def _candidates(
    relations: Iterable[_Relation], names: list[str]
) -> tuple[list[_Read], list[_Read]]:
    """Return what a name certainly means in some relation, and all that it may mean there."""
    certain: list[_Read] = []
    possible: list[_Read] = []
    for relation in relations:
        for at, name in enumerate(names):
            if name.casefold() != relation.alias:
                continue
            if at + 1 == len(names):
                possible.append(_Read(relation.everything))  # a whole row
                continue
            if (column := relation.column(names[at + 1])) is not None:
                possible.append(_Read(*column))
                if relation.has(names[at + 1]) and at == 0:
                    certain.append(_Read(*column))
        if names and (column := relation.column(names[0])) is not None:
            possible.append(_Read(*column))
    return certain, possible


def _renamed(relation: _Relation, alias: str, names: list[str]) -> _Relation:
    if not names:
        return replace(relation, alias=alias)
    if relation.is_open or len(names) > len(relation.items):
        everything = relation.everything
        return _Relation(alias, (), None, True, relation.rows | everything, relation.membership)
    items = (
        *(Item(n.casefold(), i.lineage) for n, i in zip(names, relation.items, strict=False)),
        *relation.items[len(names) :],
    )
    return replace(relation, alias=alias, items=items)


def _merged(lineages: Iterable[Lineage]) -> Lineage:
    listed = list(lineages)
    return Lineage(
        _NOTHING.union(*(each.values for each in listed)),
        _NOTHING.union(*(each.picks for each in listed)),
    )


def _name_of(item: Node) -> str | None:
    if alias := _text(item, "alias"):
        return alias.casefold()
    if item.get("class") == "COLUMN_REF":
        names = _texts(item.get("column_names"))
        return names[-1].casefold() if names else None
    return None


def _calls(node: Node, function: str) -> bool:
    return any(_text(each, "function_name").casefold() == function for each in _nodes(node))


def _has_columns(node: Node) -> bool:
    """Return whether an expression names a column or holds a query."""
    return any(
        each.get("class") in ("COLUMN_REF", "SUBQUERY", "STAR", "POSITIONAL_REFERENCE")
        for each in _nodes(node)
    )


def _lambda_names(node: Node) -> frozenset[str]:
    return frozenset(
        name.casefold()
        for each in _nodes(node)
        if each.get("class") == "LAMBDA"
        for inner in _nodes(_dict(each.get("lhs")))
        for name in _texts(inner.get("column_names"))
    )


def _nodes(tree: Json) -> Iterator[Node]:
    pending: list[Json] = [tree]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)


def _dict(value: Json) -> Node:
    return value if isinstance(value, dict) else {}


def _dicts(value: Json) -> list[Node]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _texts(value: Json) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _text(node: Node, key: str) -> str:
    value = node.get(key)
    return value if isinstance(value, str) else ""
