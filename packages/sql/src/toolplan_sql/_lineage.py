"""The lineage of a statement: which columns each column of its result is made of and picked by.

It is read from the syntax tree, not from a bound plan, so that it holds for tables of which only
some columns are known. A name that may mean several columns means all of them. A part that is not
understood depends on everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from msgspec.structs import replace

from toolplan.plan.path import EVERY, Json, Path
from toolplan.schema.tool import Lineage
from toolplan_sql._orders import Bounds, orderings, passed_on
from toolplan_sql._relations import NOTHING, Item, Paths, Read, Relation, Scope, merged, union
from toolplan_sql._statement import (
    COLUMNS,
    TEXT_TYPES,
    Node,
    asked_by_clock,
    literal_of,
    name_of,
    node_at,
    nodes_at,
    nodes_of,
    operands_of,
    text_of,
    texts_at,
)
from toolplan_sql._types import Table

_POSITIONS: Final = frozenset({"CONSTANT", "STAR", "POSITIONAL_REFERENCE"})
_BY_POSITION: Final = frozenset({"UNION", "EXCEPT", "INTERSECT"})


class Lost(Exception):
    """The statement has a part that is not understood."""


class StatementLineage:
    """The lineage of the result of a statement; `at` returns the lineage of one path into it.

    Attributes:
        computed: the columns that the statement compares or computes with. The others it passes on
            to its result and does nothing with.
        met: those of `computed` that it does not only compare with literals, or ask for their day
            or hour.
        ordered: the columns whose values the statement puts in an order, as table and case-folded
            name, with the literals that each is compared with; None where it is compared with
            other values.
    """

    def __init__(
        self, tree: Node, tables: Mapping[str, Table], aggregates: Collection[str]
    ) -> None:
        """Follow the columns of a statement over `tables`; or raise `Lost`."""
        if len({name.casefold() for name in tables}) < len(tables):
            raise Lost("two tables of one name")
        self.computed: Paths = NOTHING
        self.met: Paths = NOTHING
        self.ordered: dict[tuple[str, str], Bounds] = {}
        self._orderings = {id(each): bounds for each, bounds in orderings(tree)}
        self._reads: dict[int, Read] = {}
        self._places: dict[tuple[int, int] | None, list[Node]] = {}
        self._parents: dict[int, Node] = {}
        for node in nodes_of(tree):
            start, length = node.get("query_location"), node.get("query_location_length")
            if isinstance(start, int) and isinstance(length, int) and length:
                self._places.setdefault((start, length), []).append(node)
            for each in chain.from_iterable(map(_inner, node.values())):
                self._parents[id(each)] = node
        self._tables = tables
        self._aggregates = aggregates
        self._couplings: list[dict[tuple[str, str], Path]] = []
        self._root = node_at(tree, "node")
        self._result = self._query(self._root, Scope())

    def sources(self, name: str) -> Paths:
        """Return the columns that the values of a column of the result are made of."""
        found = self._result.column(name) or self._result.whole
        return found.made_of or found.values

    def at(self, path: Path) -> Lineage:
        """Return the lineage of the value at `path` in the result of the tool."""
        match path:
            case ("data", position, str(name), *_):
                found = self._result.column(name) or self._result.whole
                picks = found.picks | self.meeting(found.values | found.picks)
                if not isinstance(position, int):  # all of them: their number counts
                    picks |= _unspoken(self._result.membership, found)
                return Lineage(found.values, picks)
            case ("count",):
                return Lineage(self._result.rows | self._result.membership)
            case _:
                return Lineage(self._result.whole.values)

    def meeting(self, paths: Paths) -> Paths:
        """Return the columns that stand in one expression with any of `paths`.

        The values of one of them may decide how the others are read: as a date or as text.
        """
        keys = set(map(_column_of, paths))
        met = (each for each in self._couplings if not each.keys().isdisjoint(keys))
        return frozenset(path for each in met for path in each.values())

    def read_at(self, place: tuple[int, int] | None) -> Paths | None:
        """Return the columns that the expression at a place of the statement reads.

        Where it reads none, those of what it stands in; None where the place is not known.
        """
        for node in self._places.get(place, ()):
            outer: Node | None = node
            while outer is not None:
                reads = [read for each in nodes_of(outer) if (read := self._reads.get(id(each)))]
                if reads:
                    return union(each.values for each in reads)
                outer = self._parents.get(id(outer))
        return None

    def passed_at(self, place: tuple[int, int] | None) -> Paths | None:
        """Return the columns whose values the expression at a place takes as they are, or None."""
        nodes = self._places.get(place, ())
        taken = [part for node in nodes for part in (node, *_made_text(node))]
        passed = (each for part in taken for each in passed_on(part))
        reads = (self._reads.get(id(each)) for each in passed)
        return union(read.compared for read in reads if read is not None) if nodes else None

    def is_cast(self, place: tuple[int, int] | None) -> bool:
        """Return whether a CAST of the statement may stand at a place."""
        nodes = self._places.get(place, ())
        return place is None or any(each.get("class") == "CAST" for each in nodes)

    def _couple(self, paths: Iterable[Path]) -> None:
        columns = {_column_of(path): path for path in paths if len(path) > len(("tables", ""))}
        if len(columns) > 1:
            found = self._couplings
            met = [each for each in found if not each.keys().isdisjoint(columns)]
            joined = {key: path for each in (columns, *met) for key, path in each.items()}
            self._couplings = [*(each for each in found if each not in met), joined]

    def _use(self, paths: Paths, *, is_met: bool = True) -> None:
        """Note that the statement computes with these columns."""
        self.computed |= paths
        self.met |= paths if is_met else NOTHING

    def _order(self, paths: Paths, bounds: Bounds) -> None:
        for column in map(_column_of, paths):
            before = self.ordered.get(column, bounds)
            both = None if before is None or bounds is None else before | bounds
            self.ordered[column] = both

    def _query(self, node: Node, outer: Scope) -> Relation:
        """Return the result of a SELECT, or of several put together."""
        for entry in nodes_at(node_at(node, "cte_map"), "map"):
            value = node_at(entry, "value")
            body = node_at(value, "query_node") or node_at(value, "query", "node")
            name = text_of(entry, "key").casefold()
            relation = self._query(body, outer).renamed(name, texts_at(value, "aliases"))
            outer = replace(outer, ctes={**outer.ctes, name: relation})
        match node.get("type"):
            case "SELECT_NODE":
                return self._select(node, outer)
            case "SET_OPERATION_NODE":
                return self._set_operation(node, outer)
            case "RECURSIVE_CTE_NODE":
                every = frozenset[Path]({("tables", name) for name in self._tables})
                self._use(every)
                return Relation("", ((None, Read(every)),), rows=every, membership=every)
            case other:
                raise Lost(str(other))

    def _select(self, node: Node, outer: Scope) -> Relation:
        relations, rows = self._from(node_at(node, "from_table"), outer)
        scope = outer.within(relations)
        reads: list[tuple[Node, Read]] = []
        for item in nodes_at(node, "select_list"):
            read = self._item(item, scope, is_passed_on=node is self._root)
            reads.append((item, read))
            called = {text_of(each, "function_name").casefold() for each in nodes_of(item)}
            if "unnest" in called:
                rows |= read.all  # each row is there as often as the list is long
            if alias := text_of(item, "alias").casefold():
                scope = replace(scope, aliases={**scope.aliases, alias: read})
        rows |= self._row_picks(node, scope, reads)
        membership = union(each.membership for each in relations)
        items: list[Item] = []
        bases: set[str] = set()
        for item, read in reads:
            if item.get("class") != "STAR":
                items.append((name_of(item), _selected(read, rows, membership)))
                continue
            for relation in _starred(item, relations):
                items += (
                    (name, _selected(relation.read(each), rows, NOTHING))
                    for name, each in relation.items
                )
                bases |= set() if relation.base is None else {relation.base}
        made = Relation("", tuple(items), None, rows, membership)
        if len(bases) == 1 and not made.is_blurred:
            return replace(made, base=bases.pop())
        others = ((None, Lineage(frozenset({("tables", each)}), rows)) for each in bases)
        return replace(made, items=(*items, *others))

    def _row_picks(self, node: Node, scope: Scope, reads: list[tuple[Node, Read]]) -> Paths:
        """Return the paths that decide which rows there are, and in which order."""
        parts = [node_at(node, key) for key in ("where_clause", "having", "qualify")]
        groups = nodes_at(node, "group_expressions")
        is_listed = node.get("aggregate_handling") not in (None, "STANDARD_HANDLING")
        for modifier in nodes_at(node, "modifiers"):
            groups += (node_at(order, "expression") for order in nodes_at(modifier, "orders"))
            targets = nodes_at(modifier, "distinct_on_targets")
            groups += targets
            is_listed |= modifier.get("type") == "DISTINCT_MODIFIER" and not targets
            parts += [node_at(modifier, "limit"), node_at(modifier, "offset")]
        found = [self._collect(part, scope).all for part in (*parts, *groups)]
        every = [read for _, read in reads]
        listed = every if is_listed else []
        has_star = any(item.get("class") == "STAR" for item, _ in reads)
        for each in groups:  # also a column by its position
            text = literal_of(each) or ""
            position = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
            if position and not has_star and position <= len(reads):
                listed.append(read := reads[position - 1][1])
                if id(each) in self._orderings:
                    self._order(read.compared, None)
            elif each.get("class") in _POSITIONS:
                listed += every
        self._use(merged(listed).compared)
        return union([*found, merged(listed).all])

    def _item(self, node: Node, scope: Scope, *, is_passed_on: bool) -> Read:
        """Return the columns that an item of a SELECT reads; conditions of a CASE only pick."""
        if is_passed_on and scope.is_alone(node):
            if node.get("class") == "COLUMN_REF":
                read = self._reads[id(node)] = self._resolve(texts_at(node, "column_names"), scope)
                return read
            return merged(each.whole for each in scope.relations)
        if node.get("class") == "COLUMN_REF":
            return self._collect(node, scope)
        if node.get("class") != "CASE":
            return replace(self._collect(node, scope), compared=NOTHING)
        checks = nodes_at(node, "case_checks")
        results = [*(node_at(each, "then_expr") for each in checks), node_at(node, "else_expr")]
        made_of = merged(self._collect(each, scope) for each in results)
        self._couple(made_of.values)
        by = merged(self._collect(node_at(each, "when_expr"), scope) for each in checks)
        read = merged((made_of, replace(by, values=NOTHING, picks=by.all)))
        return replace(read, compared=NOTHING)

    def _collect(self, node: Node, scope: Scope) -> Read:
        """Return all columns that an expression reads."""
        lambdas = [each for each in nodes_of(node) if each.get("class") == "LAMBDA"]
        names = (texts_at(n, "column_names") for each in lambdas for n in nodes_of(each.get("lhs")))
        scope = replace(scope, loose=scope.loose.union(*(map(str.casefold, n) for n in names)))
        found: list[Lineage] = []
        apart: list[Lineage] = []
        asked: list[Node] = []
        pending: list[Json] = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, list):
                pending.extend(part)
            if not isinstance(part, dict):
                continue
            asked += asked_by_clock(part)
            match part.get("class"):
                case "SUBQUERY":
                    found.append(self._query(node_at(part, "subquery", "node"), scope).whole)
                    pending.append(part.get("child"))
                    continue
                case "COLUMN_REF":
                    found.append(read := self._resolve(texts_at(part, "column_names"), scope))
                    self._reads[id(part)] = read
                    is_met = not any(part is each for each in asked)
                    self._use(read.compared, is_met=is_met)
                    if id(part) in self._orderings:
                        self._order(read.compared, self._orderings[id(part)])
                    continue
                case "CONJUNCTION":
                    apart += (self._collect(each, scope) for each in nodes_at(part, "children"))
                    continue
                case "STAR" | "POSITIONAL_REFERENCE":
                    # `SELECT *` itself puts no two columns into one expression
                    every = merged(each.whole for each in scope.relations)
                    (apart if part is node else found).append(every)
                    self._reads[id(part)] = every
                    self._use(every.compared)
                case "WINDOW" | "FUNCTION":
                    found += self._called(part, scope)
                case _:
                    pass
            pending.extend(part.values())
        self._couple(merged(found).values)
        return merged([*found, *apart])

    def _called(self, node: Node, scope: Scope) -> Iterator[Read]:
        name = text_of(node, "function_name").casefold()
        if node.get("class") == "WINDOW" or name in self._aggregates:
            has_columns = any(each.get("class") in COLUMNS for each in nodes_of(node))
            yield Read(NOTHING, over_rows=True, no_columns=not has_columns)
        if called_on := texts_at(node_at(node, "qualified_name"), "path")[:-1]:
            read = self._resolve(called_on, scope)  # `carrier.upper()`
            self._use(read.compared)
            self._reads[id(node)] = read
            yield read

    def _resolve(self, names: list[str], scope: Scope) -> Read:
        """Return every column that a name could mean; `Lost` where it fits none."""
        found: list[Lineage] = []
        level: Scope | None = scope
        while level is not None:
            certain, possible = level.candidates(names)
            if len(names) == 1 and names[0].casefold() in level.aliases:
                found.append(level.aliases[names[0].casefold()])
            found += certain or possible
            if certain:
                break  # a certain match here hides the outer names
            level = level.outer
        if not found and (not names or names[0].casefold() not in scope.loose):
            raise Lost(".".join(names))
        return merged(found)

    def _from(self, node: Node, outer: Scope) -> tuple[tuple[Relation, ...], Paths]:
        """Return the relations behind FROM, and the paths that decide which of their rows meet."""
        alias, names = text_of(node, "alias").casefold(), texts_at(node, "column_name_alias")
        match node.get("type"):
            case "JOIN":
                return self._join(node, outer)
            case "EMPTY":
                return (), NOTHING
            case "BASE_TABLE":
                relation = self._table(node, outer)
                relation = relation.renamed(alias or relation.alias, names)
            case "SUBQUERY":
                relation = self._query(node_at(node, "subquery", "node"), outer)
                relation = relation.renamed(alias, names)
            case "TABLE_FUNCTION" | "EXPRESSION_LIST":
                inner: Node = {"values": node.get("values"), "function": node.get("function")}
                read = self._collect(inner, outer).all
                relation = Relation(alias, ((None, Read(read)),), rows=read, membership=read)
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
            self._couple(read.values)
            self._use(read.compared)
            rows |= read.all
        if node.get("ref_type") == "NATURAL":
            whole = merged(each.whole for each in both)
            self._use(whole.compared)
            rows |= whole.values
            self._couple(rows)
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
            (column.casefold(), Lineage(frozenset({("tables", table, EVERY, column)})))
            for column in known.readings
        )
        base = table if known.is_open else None
        whole = frozenset[Path]({("tables", table)})
        return Relation(folded, items, base, membership=whole, is_table=True)

    def _set_operation(self, node: Node, outer: Scope) -> Relation:
        children = nodes_at(node, "children") or [node_at(node, "left"), node_at(node, "right")]
        parts = [self._query(each, outer) for each in children]
        whole = merged(each.whole for each in parts)
        membership = union(each.membership for each in parts)
        kind = node.get("setop_type")
        picks = kind != "UNION" or not node.get("setop_all") or node.get("modifiers")
        rows = whole.values if picks else union(each.rows for each in parts)
        is_open = any(each.base is not None or each.is_blurred for each in parts)
        is_open = is_open or kind not in _BY_POSITION
        if is_open or len({len(each.items) for each in parts}) != 1:
            self._couple(whole.values)
            return Relation("", ((None, whole),), rows=rows, membership=membership)
        items: list[Item] = []
        for columns in zip(*(each.items for each in parts), strict=True):
            # the number of rows of one part decides where those of the next begin
            by = (_unspoken(p.membership, c) for p, (_, c) in zip(parts, columns, strict=True))
            ordered = Lineage(NOTHING, rows.union(*by))
            column = merged([*(each for _, each in columns), ordered])
            self._couple(column.values)
            items.append((columns[0][0], column))
        return Relation("", tuple(items), None, rows, membership)


def lineage_of(
    tree: Node, tables: Mapping[str, Table], aggregates: Collection[str]
) -> StatementLineage | None:
    """Return the lineage of the result of a statement, None where it cannot be followed."""
    try:
        return StatementLineage(tree, tables, aggregates)
    except (Lost, RecursionError):
        return None


def _made_text(node: Node) -> list[Node]:
    """Return the operands of `node`, none of a CAST to another type than a text."""
    kind = text_of(node_at(node, "type_expr"), "type_name").casefold()
    is_other = node.get("class") == "CAST" and kind not in TEXT_TYPES | {"list", "struct"}
    return [] if is_other else operands_of(node)


def _inner(value: Json) -> list[Node]:
    """Return the objects that stand in a field of a node, also as items of a list."""
    return [
        each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)
    ]


def _column_of(path: Path) -> tuple[str, str]:
    return str(path[1]), str(path[-1]).casefold()


def _selected(read: Read, rows: Paths, membership: Paths) -> Lineage:
    """Return the lineage of a result column that an expression computes."""
    if not read.over_rows:
        return Read(read.values, read.picks | rows, compared=read.compared)
    counted = membership if read.no_columns else NOTHING
    return Read(read.all | rows | counted, made_of=read.values)


def _starred(item: Node, relations: tuple[Relation, ...]) -> Iterator[Relation]:
    """Yield the relations whose columns `*` selects."""
    alias = text_of(item, "relation_name").casefold()
    if any(item.get(key) for key in ("replace_list", "rename_list", "expr", "columns")):
        yield Relation("", ((None, merged(each.whole for each in relations)),))
        return
    for relation in relations:
        if not alias or relation.alias == alias:
            whole = (None, relation.whole)
            yield replace(relation, items=(whole,)) if relation.is_blurred else relation


def _unspoken(membership: Paths, column: Lineage) -> Paths:
    """Return the tables of which a column reads nothing, though their rows make its rows.

    A label of `a[*].b` also applies to the row count of `a`.
    """
    spoken = {path[:2] for path in column.values | column.picks if len(path) > len(("tables", ""))}
    return frozenset(path for path in membership if path[:2] not in spoken)
