"""From a meaning to the steps of a plan.

A filter that a tool has an argument for is that argument; the rest is one step of SQL.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from toolplan_offline import sql
from toolplan_offline.lexicon import Lexicon
from toolplan_offline.meaning import Agg, Call, Cond, Link, Meaning, Rank, Set, Show
from toolplan_offline.schemas import Entity, Field
from toolplan_offline.sql import Cannot

SQL: Final = "sql"
NOT_COMPUTED: Final = "This has to be computed, and there is no tool that computes"
_MOST_CALLS: Final = 3
"""Maximum number of calls that a list of values becomes; more are one list and a statement."""
Step = dict[str, Any]


class Source(NamedTuple):
    """Rows, or one record, in the output of a step; `at` is the path to them."""

    step: str
    entity: str
    single: bool
    at: str

    @property
    def table(self) -> str:
        """A reference to all rows, or to the record."""
        return f"${{{self.step}{self.at}}}"

    def column(self, name: str) -> str:
        """Return a reference to a column of each row, or of the record."""
        each = "" if self.single or self.at.endswith("[*]") else "[*]"
        return f"${{{self.step}{self.at}{each}.{name}}}"


class Route(NamedTuple):
    """That a field of one thing and a field of another carry the same identity."""

    ref: str
    mine: Field
    theirs: Field


class Builder:
    """The steps of one plan."""

    def __init__(self, lex: Lexicon, *, computes: bool = True) -> None:
        """Build with a lexicon; `computes`: there is the tool `sql`."""
        self.lex = lex
        self.steps: list[Step] = []
        self._computes = computes
        self._made: dict[Set, Source] = {}

    def build(self, said: Meaning) -> list[Step]:
        """Return the steps for a meaning."""
        match said:
            case Show(sets=sets):
                for each in sets:
                    for one in self._spread(each):
                        self.rows(one)
            case Agg():
                self._aggregate(said)
            case Rank():
                self._rank(said)
            case Call():
                self._report(said)
        return self.steps

    def _spread(self, s: Set) -> list[Set]:
        """Return a set for each value of a list, where the tool takes one value."""
        e = self.lex.entities[s.entity]
        for c in s.conditions:
            if c.op not in ("in", "each") or len(c.value) > _MOST_CALLS:
                continue
            found = e.fields.get(c.field)
            by_get = s.is_record and e.get_tool and not (found and found.many)
            if by_get or (found and found.equal and not found.many and not self._computed(s, c)):
                return [
                    s._replace(parts=s.parts - {c} | {c._replace(op="=", value=v)}) for v in c.value
                ]
        return [s]

    def _computed(self, s: Set, but: Cond) -> bool:
        """Return whether a set needs a statement, even without the condition `but`."""
        e = self.lex.entities[s.entity]
        others = [c for c in s.conditions if c != but]
        rest = [c for c in others if not _argument(e, c) or c.op in (">", "<")]
        return bool(rest) or any(link.negated for link in s.links) or s.limit is not None

    # --- sets

    def rows(self, s: Set) -> Source:
        """Return where the things of a set are; make the steps that list them."""
        if s.has_hole:
            raise Cannot("A word refers to something that was not named")
        if s not in self._made:
            e = self.lex.entities[s.entity]
            if s.is_record and s.conditions[0].op == "=" and e.get_tool:
                args: Step = {e.get_arg: s.conditions[0].value}
                self._made[s] = self._step(e, e.get_tool, args, single=True)
            else:
                self._made[s] = self._listing(s, e)
        return self._made[s]

    def _listing(self, s: Set, e: Entity) -> Source:
        args, rest = _filters(s, e)
        tables: dict[str, Source] = {}
        each = ""
        for link in s.links:
            each_of = any(c.op == "each" for c in link.to.conditions)
            if each_of and not self.lex.reach(e.name, link.to.entity):
                raise Cannot("Is it both of them, or either? Say or.")
            tied = None if link.negated else self._tie(e, link.to, args, each)
            if tied is None:
                rest.append(self._semi_join(e, link, tables))
            elif tied and tied.get("record"):
                if not rest and not args and len(s.links) == 1:
                    return self._step(e, e.get_tool, {e.get_arg: tied["record"]}, single=True)
                rest.append(self._semi_join(e, link, tables))
            elif tied:
                each = tied["each"]
        if not e.list_tool:
            raise Cannot(f"No tool lists {e.name}s")
        if missing := [r for r in e.required if r not in args]:
            raise Cannot(f"{e.list_tool} needs {missing[0]}")
        by_tool = s.limit is not None and e.limit and not rest and not each
        if by_tool:
            args[e.limit] = s.limit
        source = self._step(e, e.list_tool, args, each=each)
        if not rest and (s.limit is None or by_tool):
            return source
        text = f"SELECT * FROM {sql.name(source.step)}"
        text += f" WHERE {' AND '.join(rest)}" if rest else ""
        text += f" LIMIT {s.limit}" if s.limit is not None else ""
        return Source(self._statement(text, [source, *tables.values()]), e.name, False, ".data")

    def _step(
        self, e: Entity, tool: str, args: Step, *, single: bool = False, each: str = ""
    ) -> Source:
        args = {name: args[name] for name in (*e.arguments, e.get_arg) if name in args}
        path = e.record if single else e.rows or ""
        at = ("[*]" if each else "") + (f".{path}" if path else "") + ("[*]" if each else "")
        step: Step = {"tool": tool, **({"args": args} if args else {})}
        step |= {"for_each": each} if each else {}
        for made in self.steps:
            if {k: v for k, v in made.items() if k != "id"} == step:
                return Source(made["id"], e.name, single, at)
        own = tool.rpartition(".")[2].replace("-", "_")  # without the name of its source
        words = [w for w in own.split("_") if w not in ("list", "get")]
        identity = self._free("_".join(words) or own)
        self.steps.append({"id": identity, **step})
        return Source(identity, e.name, single, at)

    def _free(self, wanted: str) -> str:
        base = "".join(c if c.isalnum() else "_" for c in wanted)[:40]
        taken = {step["id"] for step in self.steps} | {"item", "index"}
        numbered = (f"{base}_{n}" for n in range(2, len(taken) + 3))
        return base if base not in taken else next(each for each in numbered if each not in taken)

    def _statement(self, text: str, sources: list[Source]) -> str:
        """Add a step of SQL; the types of its columns are for tables without rows."""
        if not self._computes:
            raise Cannot(NOT_COMPUTED)
        columns: Step = {}
        for source in sources:
            e = self.lex.entities[source.entity]
            if e.rows is None or source.single:
                raise Cannot(f"The rows of {e.list_tool or e.get_tool} are not declared")
            used = {*re.findall(r"\w+", re.sub(r"'[^']*'", "", text))}  # without its texts
            typed = {f.name: f.json for f in e.fields.values() if f.column and f.json}
            if found := {name: kind for name, kind in typed.items() if name in used}:
                columns[source.step] = found
        tables = {source.step: source.table for source in sources}
        args: Step = {"sql": text, "tables": tables, **({"columns": columns} if columns else {})}
        identity = self._free("result")
        self.steps.append({"id": identity, "tool": SQL, "args": args})
        return identity

    # --- links over keys

    def routes(self, here: Entity, there: Entity) -> list[Route]:
        """Return the ways from one thing to another, the closest first."""
        pairs = ((m, t) for m in here.keys for t in there.keys if m.ref == t.ref)
        found, own = [Route(m.ref, m, t) for m, t in pairs], there.fields.get("id")
        owned = {r.ref for r in found if r.theirs is own}
        return sorted(
            (r for r in found if r.theirs is own or r.ref not in owned),
            key=lambda r: (self._distance(r.ref, here, there), r.ref, r.mine.name, r.theirs.name),
        )

    def _distance(self, ref: str, here: Entity, there: Entity) -> int:
        owner = ref.split(".")[0]
        if owner in (there.name, here.name):
            return 0 if owner == there.name else 1
        # of two shared identities the one that itself names another thing is more specific
        keys = self.lex.entities[owner].keys
        return 2 if any(not f.ref.startswith(f"{owner}.") for f in keys) else 3

    def _checked(self, here: Entity, there: Entity) -> list[Route]:
        found = self.routes(here, there)
        first = [r for r in found if found and r.ref == found[0].ref]
        ends = ({r.mine.name for r in first}, here), ({r.theirs.name for r in first}, there)
        for fields, of in ends:
            if len(fields) > 1:
                raise Cannot(f"{' or '.join(sorted(fields))} of a {of.name}: which is meant?")
        return [r for r in found if r in first or self._distance(r.ref, here, there) < 2]

    def _tie(self, e: Entity, to: Set, args: Step, each: str) -> Step | None:
        """Pass the identities of `to` to the list tool of `e`; return None if only SQL can do it.

        Once the argument of the closest identity is taken, one further away means something else.

        The result says whether the one record is asked for, or the list that is run for each.
        """
        there = self.lex.entities[to.entity]
        found = self._checked(e, there)
        if not found:
            return self._tie_over(e, to, args, each)
        for route in found:
            argument, mine = route.mine.equal, route.mine
            given = _identities(to, route.ref)
            fits = argument and given and (len(given) == 1 or mine.many)
            if argument in args:
                return None
            if fits:
                alone = len(given) == 1 and not mine.lists_only
                args[argument] = given[0] if alone else given
                return {"each": each}
            if not route.theirs.column and not self._is_single(to):
                continue
            single = self._is_single(to)
            if route.ref == f"{e.name}.id" and single and e.get_tool and not args:
                return {"record": self.rows(to).column(route.theirs.name)}
            if not argument or mine.literal:
                continue
            if mine.many or single:
                args[argument] = self.rows(to).column(route.theirs.name)
                return {"each": each}
            unique = route.theirs is there.fields.get("id")
            if unique and not each and e.rows is not None:
                args[argument] = "${item}"
                return {"each": self.rows(to).column(route.theirs.name)}
        return None

    def _tie_over(self, e: Entity, to: Set, args: Step, each: str) -> Step | None:
        """Tie two things over a third: the one that is nearest to both."""
        there = self.lex.entities[to.entity]
        ways = [
            (self._distance(one[0].ref, e, m) + self._distance(two[0].ref, m, there), m.name)
            for m in self.lex.entities.values()
            if m not in (e, there) and (one := self.routes(e, m)) and (two := self.routes(m, there))
        ]
        near = [name for far, name in ways if far == min(ways)[0]]
        if len(near) != 1:
            which = f"Which of {' and '.join(near)}" if near else "Nothing"
            raise Cannot(f"{which} ties {e.name}s to {there.name}s")
        return self._tie(e, Set(near[0]).linked(to), args, each)

    def _is_single(self, s: Set) -> bool:
        """Return whether a set is one record."""
        e = self.lex.entities[s.entity]
        if s.is_record and s.conditions[0].op == "=" and e.get_tool:
            return True
        if len(s.parts) != 1 or not s.links or s.links[0].negated or not e.get_tool:
            return False
        to = s.links[0].to
        there = self.lex.entities[to.entity]
        return self._is_single(to) and any(r.ref == f"{s.entity}.id" for r in self.routes(e, there))

    def _semi_join(self, e: Entity, link: Link, tables: dict[str, Source]) -> str:
        """Return the SQL that a row belongs to a record of the linked set; negated, to none."""
        for route in self._checked(e, self.lex.entities[link.to.entity]):
            if not route.mine.column or not route.theirs.column:
                continue
            column, given = sql.name(route.mine.name), _identities(link.to, route.ref)
            if given:
                texts = ", ".join(map(sql.literal, given))
                missing = f"{column} IS NULL OR {column} NOT"
                return f"({missing} IN ({texts}))" if link.negated else f"{column} IN ({texts})"
            source = self.rows(link.to)
            tables[source.step] = source
            theirs = sql.name(route.theirs.name)
            inner = f"SELECT {theirs} FROM {sql.name(source.step)} WHERE {theirs} IS NOT NULL"
            none = f"({column} IS NULL OR {column} NOT IN ({inner}))"
            return none if link.negated else f"{column} IN ({inner})"
        raise Cannot(f"Nothing ties {e.name}s to {link.to.entity}s")

    # --- computing

    def _rank(self, r: Rank) -> None:
        source = self.rows(r.set)
        order = f"{sql.name(r.field)} {r.order.upper()} NULLS LAST"
        share = ""
        if r.of:
            share = f", {sql.name(r.field)} / nullif({sql.name(r.of)}, 0) AS share"
            order = f"share {r.order.upper()} NULLS LAST"
        text = f"SELECT *{share} FROM {sql.name(source.step)}"
        text += f" QUALIFY rank() OVER (ORDER BY {order}) <= {r.top}" if r.top else ""
        self._statement(f"{text} ORDER BY {order}", [source])

    def _aggregate(self, a: Agg) -> None:
        e = self.lex.entities[a.set.entity]
        only = ""
        # the fewest: groups that have none count, too
        outer = a.fn == "count" and a.order == "asc" and a.by[0][1] == "id"
        if a.order == "asc" and a.by[0][0] != e.name and not outer:
            raise Cannot("The fewest needs all groups, and those that have none are in no row")
        if a.fn == "count" and a.order == "asc" and a.set.parts and not outer:
            if a.set.links or any(c.field == e.day for c in a.set.conditions):
                raise Cannot("The fewest of a part needs all groups")
            kept = " AND ".join(sql.where(e, c) for c in a.set.conditions)
            only, a = f" FILTER (WHERE {kept})", a._replace(set=Set(e.name))
        sets = [] if a.order else [a.set, *(k.to for k in a.set.links)]
        each = [(s.entity, c.field) for s in sets for c in s.conditions if c.op == "each"]
        if each and a.fn in ("sum", "total", "different"):
            raise Cannot("Is the figure of all together meant, or that of each?")
        by = (*a.by, *(g for g in each if g not in a.by))  # a figure of each that is named
        source = self.rows(a.set)
        if source.single:
            raise Cannot("There is one record only")
        table, joins, sources = sql.name(source.step), "", [source]
        columns: list[str] = []
        for group in by:
            column, join, other = self._group(e, group, table, outer)
            columns.append(column)
            joins += join
            sources += [other] if other and other not in sources else []
        value, alias = sql.figure(a, e, table, only)
        value = f"count({joins.rpartition(' = ')[2]})" if outer and joins else value
        text = f"SELECT {', '.join([*columns, f'{value} AS {alias}'])} FROM {table}{joins}"
        if a.order or not a.said:  # rows without a group are in no requested group
            keys = [column.rpartition(" AS ")[0] or column for column in columns]
            text += f" WHERE {' AND '.join(f'{key} IS NOT NULL' for key in keys)}" if keys else ""
        self._statement(text + _grouping(a, columns, value, alias), sources)

    def _group(
        self, e: Entity, group: tuple[str, str], table: str, outer: bool
    ) -> tuple[str, str, Source | None]:
        """Return the column of a group, the join that it needs, and the rows that are joined."""
        entity, field = group
        if entity == "time":
            day = sql.day(e.fields[e.day], f"{table}.")
            return f"CAST(date_trunc('{field}', {day}) AS DATE) AS {field}", "", None
        if entity == e.name:
            return f"{table}.{sql.name(e.fields[field].name)}", "", None
        routes, own = self._checked(e, (there := self.lex.entities[entity])), there.fields.get("id")
        route = next((r for r in routes if r.theirs is own and r.mine.column), None)
        if route is None:
            raise Cannot(f"Nothing ties {e.name}s to one {entity}")
        mine = f"{table}.{sql.name(route.mine.name)}"
        if field == "id" and not outer:
            return mine, "", None
        other = self.rows(Set(entity))
        theirs, key = sql.name(other.step), sql.name(route.theirs.name)
        join = f"{' RIGHT' * outer} JOIN {theirs} ON {theirs}.{key} = {mine}"
        if field == "id":
            return f"{theirs}.{key} AS {sql.name(route.mine.name)}", join, other
        return f"{theirs}.{sql.name(field)} AS {sql.name(f'{entity}_{field}')}", join, other

    def _report(self, call: Call) -> None:
        report = self.lex.reports[call.name]
        args: Step = {}
        if call.when and call.when.days and report.days:
            args[report.days] = call.when.days
        elif call.when:
            for name, day in ((report.start, call.when.lo), (report.end, call.when.hi)):
                if day and not name:
                    raise Cannot(f"{call.name} takes no such period")
                args |= {name: day.isoformat()} if day else {}
        self.steps.append({"id": "report", "tool": call.name, **({"args": args} if args else {})})


def _filters(s: Set, e: Entity) -> tuple[Step, list[str]]:
    """Return the arguments that filter by the conditions of a set, and SQL for the others."""
    args: Step = {}
    rest: list[str] = []
    for c in s.conditions:
        given = _argument(e, c)
        if given and given[0] not in args:
            args[given[0]] = given[1]
        if not given or args[given[0]] != given[1] or c.op in (">", "<"):
            rest.append(sql.where(e, c))
    return args, rest


def _argument(e: Entity, c: Cond) -> tuple[str, Any] | None:
    """Return the argument that filters by a condition, and its value.

    Bounds of tools include themselves: of > and < they leave some rows to a statement.
    """
    found = e.fields.get(c.field)
    if not found:
        return None
    if c.op == "=" and found.equal:
        return found.equal, [c.value] if found.lists_only else c.value
    if c.op in ("in", "each") and found.many:
        return found.equal, list(c.value)
    if c.op in (">=", ">") and found.least:
        return found.least, f"{c.value}T00:00:00Z" if found.timed else c.value
    if c.op in ("<=", "<") and found.most:
        return found.most, f"{c.value}T23:59:59Z" if found.timed else c.value
    return None


def _identities(to: Set, ref: str) -> list[Any]:
    """Return the identities by which a set is named, or none."""
    if ref != f"{to.entity}.id" or not to.is_record:
        return []
    c = to.conditions[0]
    return [c.value] if c.op == "=" else list(c.value) if c.op in ("in", "each") else []


def _grouping(a: Agg, columns: list[str], value: str, alias: str) -> str:
    """Return the clauses behind FROM for groups."""
    if not columns:
        return ""
    keys = ", ".join(str(n) for n in range(1, len(columns) + 1))
    text = f" GROUP BY {keys}"
    text += f" HAVING count(*) {a.having[0]} {a.having[1]}" if a.having else ""
    order = f"{(a.order or 'desc').upper()} NULLS LAST"
    text += f" QUALIFY rank() OVER (ORDER BY {value} {order}) <= {a.top}" if a.top else ""
    plain = not a.said or any(entity == "time" for entity, _ in a.by)
    return text + (
        f" ORDER BY {keys}" if plain and not a.order else f" ORDER BY {alias} {order}, {keys}"
    )
