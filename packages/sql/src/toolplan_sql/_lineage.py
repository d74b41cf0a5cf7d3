"""The lineage of a statement: which columns each column of its result is made of and picked by.

It is read from the syntax tree, not from a bound plan, so that it holds for tables of which only
some columns are known. A name that may mean several columns means all of them. What is not
understood depends on everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.plan.path import EVERY, Json, Path
from toolplan.schema.tool import Lineage
from toolplan_sql._tree import Node, node_at, nodes_at, nodes_of, text_of, texts_at
from toolplan_sql._types import Table

Paths: TypeAlias = frozenset[Path]

_NOTHING: Final[Paths] = frozenset()
_POSITIONS: Final = frozenset({"CONSTANT", "STAR", "POSITIONAL_REFERENCE"})
_COLUMNS: Final = frozenset({"COLUMN_REF", "SUBQUERY", "STAR", "POSITIONAL_REFERENCE"})
_BY_POSITION: Final = frozenset({"UNION", "EXCEPT", "INTERSECT"})


class Lost(Exception):
    """The statement has something that is not understood."""


def _union(parts: Iterable[Paths]) -> Paths:
    return _NOTHING.union(*parts)


def _merged(listed: Collection[Lineage]) -> Lineage:
    return Lineage(_union(each.values for each in listed), _union(each.picks for each in listed))


class Item(Struct, frozen=True):
    """A column of a relation; a column without a name has one of the database's making."""

    name: str | None
    lineage: Lineage


class Relation(Struct, frozen=True):
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
        own = _NOTHING if self.base is None else frozenset[Path]({("tables", self.base)})
        values = (each.lineage.values | each.lineage.picks for each in self.items)
        return own.union(self.rows, self.membership, *values)

    @property
    def whole(self) -> Lineage:
        return Lineage(self.everything)

    def column(self, name: str) -> Lineage | None:
        """Return the lineage of a column, None for an unknown name."""
        folded = name.casefold()
        found = [each.lineage for each in self.items if each.name == folded]
        own = (("tables", self.base, EVERY), folded)
        is_known = any(
            [(path[:3], str(path[-1]).casefold()) for path in each.values] == [own]
            for each in found
        )
        if self.base is not None and not is_known:
            found.append(Lineage(frozenset({("tables", self.base, EVERY, name)}), self.rows))
        if not found and self.is_blurred:
            found.append(self.whole)
        return _merged(found) if found else None

    def renamed(self, alias: str, names: list[str]) -> Relation:
        """Return it under another name, its first columns with other `names` if there are any."""
        if not names:
            return replace(self, alias=alias)
        if self.base is not None or self.is_blurred or len(names) > len(self.items):
            items = (Item(None, self.whole),)
            return Relation(alias, items, None, True, self.everything, self.membership)
        named = zip(names, self.items, strict=False)
        items = (*(Item(n.casefold(), i.lineage) for n, i in named), *self.items[len(names) :])
        return replace(self, alias=alias, items=items)


class Read(Struct, frozen=True):
    """The columns that an expression reads, and those that select among them.

    `over_rows`: it computes over many rows; `no_columns`: it counts rows, whatever they hold.
    """

    paths: Paths = _NOTHING
    picks: Paths = _NOTHING
    over_rows: bool = False
    no_columns: bool = False

    @classmethod
    def of(cls, column: Lineage) -> Read:
        return cls(column.values, column.picks)

    @classmethod
    def all_of(cls, reads: Iterable[Read]) -> Read:
        listed = list(reads)
        return cls(
            _union(each.paths for each in listed),
            _union(each.picks for each in listed),
            any(each.over_rows for each in listed),
            any(each.no_columns for each in listed),
        )

    @property
    def all(self) -> Paths:
        return self.paths | self.picks

    def item(self, name: str | None, rows: Paths, membership: Paths) -> Item:
        """Return the column of a result that the expression gives."""
        if not self.over_rows:
            return Item(name, Lineage(self.paths, self.picks | rows))
        counted = membership if self.no_columns else _NOTHING
        return Item(name, Lineage(self.all | rows | counted))


class Scope(Struct, frozen=True):
    """What names stand for at a place of the statement."""

    relations: tuple[Relation, ...] = ()
    aliases: Mapping[str, Read] = field(default_factory=dict[str, Read])
    outer: Scope | None = None
    loose: frozenset[str] = frozenset()
    ctes: Mapping[str, Relation] = field(default_factory=dict[str, Relation])

    def within(self, relations: tuple[Relation, ...]) -> Scope:
        """Return the scope of a query inside this one, over `relations`."""
        return Scope(relations, outer=self, ctes=self.ctes)

    def candidates(self, names: list[str]) -> tuple[list[Read], list[Read]]:
        """Return what a name certainly means in some relation, and all that it may mean there."""
        certain: list[Read] = []
        possible: list[Read] = []
        for relation in self.relations:
            for at, name in enumerate(names):
                if name.casefold() != relation.alias:
                    continue
                if at + 1 == len(names):
                    possible.append(Read.of(relation.whole))  # a whole row
                elif (column := relation.column(names[at + 1])) is not None:
                    possible.append(Read.of(column))
                    if at == 0 and names[1].casefold() in {each.name for each in relation.items}:
                        certain.append(Read.of(column))
            if names and (column := relation.column(names[0])) is not None:
                possible.append(Read.of(column))
        return certain, possible


class _Couplings:
    """Columns that stand in one expression.

    What the rows of one of them hold may decide how the others are read: as a date or as text.
    """

    def __init__(self) -> None:
        self._found: list[dict[tuple[str, str], Path]] = []

    def add(self, paths: Iterable[Path]) -> None:
        """Note that these columns stand together."""
        columns = {_column_of(path): path for path in paths if len(path) > len(("tables", ""))}
        if len(columns) > 1:
            met = [each for each in self._found if not each.keys().isdisjoint(columns)]
            self._found = [each for each in self._found if each not in met]
            self._found.append(
                {key: path for each in (columns, *met) for key, path in each.items()}
            )

    def behind(self, paths: Paths) -> Paths:
        """Return the columns that stand together with any of these."""
        keys = set(map(_column_of, paths))
        met = (each for each in self._found if not each.keys().isdisjoint(keys))
        return frozenset(path for each in met for path in each.values())


def _column_of(path: Path) -> tuple[str, str]:
    return str(path[1]), str(path[-1]).casefold()


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
        self._couplings = _Couplings()
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
                    picks |= _unspoken(self._result.membership, found)
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
            relation = self._query(body, outer).renamed(name, texts_at(value, "aliases"))
            outer = replace(outer, ctes={**outer.ctes, name: relation})
        return outer

    def _select(self, node: Node, outer: Scope) -> Relation:
        relations, rows = self._from(node_at(node, "from_table"), outer)
        scope = outer.within(relations)
        reads: list[tuple[Node, Read]] = []
        for item in nodes_at(node, "select_list"):
            read = self._expression(item, scope)
            reads.append((item, read))
            called = {text_of(each, "function_name").casefold() for each in nodes_of(item)}
            if "unnest" in called:
                rows |= read.all  # each row is there as often as the list is long
            if alias := text_of(item, "alias").casefold():
                scope = replace(scope, aliases={**scope.aliases, alias: read})
        rows |= self._row_picks(node, scope, _union(read.all for _, read in reads))
        membership = _union(each.membership for each in relations)
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
            bases, is_blurred = [], True
        base = next(iter(bases), None)
        return Relation("", tuple(items), base, is_blurred, rows, membership)

    def _row_picks(self, node: Node, scope: Scope, listed: Paths) -> Paths:
        """Return what decides which rows there are, and in which order."""
        parts = [node_at(node, key) for key in ("where_clause", "having", "qualify")]
        groups = nodes_at(node, "group_expressions")
        is_listed = node.get("aggregate_handling") not in (None, "STANDARD_HANDLING")
        for modifier in nodes_at(node, "modifiers"):
            groups += (node_at(order, "expression") for order in nodes_at(modifier, "orders"))
            targets = nodes_at(modifier, "distinct_on_targets")
            groups += targets
            is_listed |= modifier.get("type") == "DISTINCT_MODIFIER" and not targets
            parts += [node_at(modifier, "limit"), node_at(modifier, "offset")]
        # also a column by its position
        is_listed = is_listed or any(each.get("class") in _POSITIONS for each in groups)
        found = (self._collect(part, scope).all for part in (*parts, *groups))
        return _union([listed if is_listed else _NOTHING, *found])

    def _expression(self, node: Node, scope: Scope) -> Read:
        """Return what an expression reads; conditions of a CASE only pick."""
        if node.get("class") != "CASE":
            return self._collect(node, scope)
        checks = nodes_at(node, "case_checks")
        results = [*(node_at(each, "then_expr") for each in checks), node_at(node, "else_expr")]
        made_of = Read.all_of(self._collect(each, scope) for each in results)
        self._couplings.add(made_of.paths)
        by = Read.all_of(self._collect(node_at(each, "when_expr"), scope) for each in checks)
        return Read.all_of((made_of, replace(by, paths=_NOTHING, picks=by.all)))

    def _collect(self, node: Node, scope: Scope) -> Read:
        """Return all that an expression reads."""
        lambdas = [each for each in nodes_of(node) if each.get("class") == "LAMBDA"]
        names = (texts_at(n, "column_names") for each in lambdas for n in nodes_of(each.get("lhs")))
        scope = replace(scope, loose=scope.loose.union(*(map(str.casefold, n) for n in names)))
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
                    if text_of(part, "function_name").casefold() in self._aggregates:
                        found.append(Read(over_rows=True, no_columns=not _has_columns(part)))
                    called_on = texts_at(node_at(part, "qualified_name"), "path")[:-1]
                    if called_on:  # `carrier.upper()`
                        found.append(self._resolve(called_on, scope))
                case _:
                    pass
            pending.extend(part.values())
        self._couplings.add(Read.all_of(found).paths)
        return Read.all_of([*found, *apart])

    def _resolve(self, names: list[str], scope: Scope) -> Read:
        """Return what a column's name may mean: every column that it could be.

        Raises:
            Lost: it could be none.
        """
        found: list[Read] = []
        level: Scope | None = scope
        while level is not None:
            certain, possible = level.candidates(names)
            if len(names) == 1 and names[0].casefold() in level.aliases:
                found.append(level.aliases[names[0].casefold()])
            found += certain or possible
            if certain:
                break  # what is named there for certain, no outer name can stand for
            level = level.outer
        if not found and (not names or names[0].casefold() not in scope.loose):
            raise Lost(".".join(names))
        return Read.all_of(found)

    def _from(self, node: Node, outer: Scope) -> tuple[tuple[Relation, ...], Paths]:
        """Return the relations behind FROM, and what decides which of their rows meet."""
        alias, names = text_of(node, "alias").casefold(), texts_at(node, "column_name_alias")
        match node.get("type"):
            case "JOIN":
                return self._join(node, outer)
            case "EMPTY":
                return (), _NOTHING
            case "BASE_TABLE":
                relation = self._table(node, outer)
                relation = relation.renamed(alias or relation.alias, names)
            case "SUBQUERY":
                relation = self._query(node_at(node, "subquery", "node"), outer)
                relation = relation.renamed(alias, names)
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
        rows = _union([left_rows, right_rows, *(each.membership for each in both)])
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
        tables = {each.casefold(): each for each in self._tables}
        if folded not in tables:
            raise Lost(name)
        table = tables[folded]
        known = self._tables[table]
        items = tuple(
            Item(column.casefold(), Lineage(frozenset({("tables", table, EVERY, column)})))
            for column in known.readings
        )
        base = table if known.is_open else None
        return Relation(folded, items, base, membership=frozenset({("tables", table)}))

    def _set_operation(self, node: Node, outer: Scope) -> Relation:
        children = nodes_at(node, "children") or [node_at(node, "left"), node_at(node, "right")]
        parts = [self._query(each, outer) for each in children]
        everything = _union(each.everything for each in parts)
        membership = _union(each.membership for each in parts)
        kind = node.get("setop_type")
        picks = kind != "UNION" or not node.get("setop_all") or node.get("modifiers")
        rows = everything if picks else _union(each.rows for each in parts)
        is_open = any(each.base is not None or each.is_blurred for each in parts)
        is_open = is_open or kind not in _BY_POSITION
        if is_open or len({len(each.items) for each in parts}) != 1:
            self._couplings.add(everything)
            whole = Item(None, _merged([each.whole for each in parts]))
            return Relation("", (whole,), None, True, rows, membership)
        items: list[Item] = []
        for columns in zip(*(each.items for each in parts), strict=True):
            # how many rows one part has decides where those of the next begin
            by = (_unspoken(p.membership, c.lineage) for p, c in zip(parts, columns, strict=True))
            ordered = Lineage(_NOTHING, rows.union(*by))
            column = _merged([*(each.lineage for each in columns), ordered])
            self._couplings.add(column.values)
            items.append(Item(columns[0].name, column))
        return Relation("", tuple(items), None, False, rows, membership)


def _starred(item: Node, relations: tuple[Relation, ...]) -> Iterator[Relation]:
    """Yield the relations whose columns `*` stands for."""
    alias = text_of(item, "relation_name").casefold()
    if any(item.get(key) for key in ("replace_list", "rename_list", "expr", "columns")):
        whole = _merged([each.whole for each in relations])
        yield Relation("", is_blurred=True, items=(Item(None, whole),))
        return
    for relation in relations:
        if not alias or relation.alias == alias:
            whole = Item(None, relation.whole)
            yield replace(relation, items=(whole,)) if relation.is_blurred else relation


def _name_of(item: Node) -> str | None:
    named = text_of(item, "alias")
    if not named and item.get("class") == "COLUMN_REF":
        named = "".join(texts_at(item, "column_names")[-1:])
    return named.casefold() or None


def _has_columns(node: Node) -> bool:
    """Return whether an expression names a column or holds a query."""
    return any(each.get("class") in _COLUMNS for each in nodes_of(node))


def _unspoken(membership: Paths, column: Lineage) -> Paths:
    """Return the tables of which a column reads nothing, though their rows make its rows.

    A label of `a[*].b` also applies to the row count of `a`.
    """
    spoken = {path[:2] for path in column.values | column.picks if len(path) > len(("tables", ""))}
    return frozenset(path for path in membership if path[:2] not in spoken)
