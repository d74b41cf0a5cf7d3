"""Computations as one SELECT over the rows of steps: groups, rates, statistics, order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolplan import extras
from toolplan.planners.grounded.build.compared import group_alternatives, linked_sides
from toolplan.planners.grounded.build.drafts import Source
from toolplan.planners.grounded.build.plan_builder import PlanBuilder
from toolplan.planners.grounded.build.selection import (
    columns_read,
    computing,
    cut_behind_order,
    first_places,
)
from toolplan.planners.grounded.build.statements import Statement, grouped, in_unit
from toolplan.planners.grounded.catalogue.connections import column_of, join_columns, shown
from toolplan.planners.grounded.catalogue.kinds import (
    SQL_TOOL,
    Attribute,
    Catalogue,
    ColumnOf,
    Kind,
)
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.parse.conditions import (
    Among,
    Condition,
    identifier,
    sql,
)
from toolplan.planners.grounded.parse.linker import Binding, Filter, Where
from toolplan.planners.grounded.parse.mentions import Mention, Time
from toolplan.planners.grounded.parse.ranks import RANKING
from toolplan.planners.grounded.parse.requests import (
    ByColumn,
    ByPeriod,
    BySpans,
    Computation,
    Count,
    Distinct,
    Group,
    Listed,
    Measure,
    Modifier,
    Rate,
    Statistic,
    ThingRequest,
)
from toolplan.planners.grounded.parse.spans import case, covering, inside, spans_of

_PREFIXES = {
    "avg": "average", "sum": "total", "max": "highest", "min": "lowest", "median": "median"
}  # fmt: skip


class Aggregates:
    """Makes the computing step of one question."""

    def __init__(self, catalogue: Catalogue, builder: PlanBuilder) -> None:
        """Create a builder of the computing step behind the steps of `builder`."""
        self._catalogue = catalogue
        self._builder = builder
        self._linker = builder.linker

    def make(self, computation: Computation, request: ThingRequest) -> None:
        """Add the steps for `computation` over the rows of `request`."""
        having = self._having(computation, request)
        if isinstance(computation.measure, Count) and computation.descending is False:
            having = self._counted(computation, request)
        if not cut_behind_order(computation, request):
            reason = "it is not clear which of the rows these are"
            self._builder.reject(request.cut.mentions if request.cut else (), reason)
        self._set_side_by_side(computation, request)
        sides = linked_sides(computation, request, self._builder, self._catalogue)
        built = self._builder.built(request, conditions_for_alternatives=True)
        if not self._catalogue.computes:
            needed = f"computing needs the tool `sql`: {extras.install_command('sql')}"
            self._builder.reject(computation.mentions, needed)
            return
        if _is_shown(built.sources, computation):
            self._builder.draft.account(computation.mentions)  # the one record shows it
            return
        if len(built.sources) != 1 or not built.sources[0].many or built.cut is not None:
            self._builder.reject(
                computation.mentions, "this would need a computation over several lists"
            )
            return
        kind = self._catalogue.kinds[request.entity]
        if isinstance(computation.measure, Statistic) and computation.measure.function == "avg":
            # the average for each thing is the average of the things
            things = [g for g in computation.groups if _is_thing(g, kind)]
            if things and computation.descending is not None:
                reason = f"each of the {kind.plural} has one such number, and no average"
                self._builder.reject((g.said for g in things if isinstance(g, ByColumn)), reason)
            computation.groups = [g for g in computation.groups if g not in things]
        self._refuse_ranks(computation, kind)
        joined = self._joined(kind, computation)
        tables = {kind.plural: built.sources[0], **joined}
        statement = Statement(kind.plural, {**tables, **built.others})
        for other in joined:
            self._join(statement, kind, other)
        group_alternatives(computation, request, self._linker)
        statement.where = [self._condition(statement, each) for each, _ in built.conditions]
        for group in computation.groups:
            self._group(statement, kind, group)
        for owner, condition in sides:
            statement.used.add(condition.column)
            statement.where.append(sql(condition, owner.plural))
        text = self._text(statement, kind, computation, having)
        said = [*computation.mentions, *(m for _, each in built.conditions for m in each)]
        self._add(statement, computation, text, said)

    def _add(
        self,
        statement: Statement,
        computation: Computation,
        text: str | None,
        said: Sequence[Mention],
    ) -> None:
        """Add the step that computes `text`, which the words `said` ask for."""
        draft = self._builder.draft
        if text is None:
            self._builder.reject(
                computation.mentions, "what is measured is not a column of the rows"
            )
            return
        for note in computation.notes:
            draft.note(note)
        arguments = computing(text, statement.tables, statement.used, draft.words(said))
        draft.add(_name(computation), SQL_TOOL, arguments)

    def _set_side_by_side(self, computation: Computation, request: ThingRequest) -> None:
        """Group by the times that are compared, and ask for the rows of all of them at once."""
        if not isinstance(computation.measure, Rate | Statistic | Count):
            return
        for at, modifier in enumerate(request.modifiers):
            if modifier.alternatives and (spans := spans_of(modifier)):
                request.modifiers[at] = covering(modifier, spans)
                computation.groups.append(BySpans(spans))
                return

    def _having(self, computation: Computation, request: ThingRequest) -> Condition | None:
        """Return the condition whose share is asked for, and take it away from the rows."""
        match computation.measure:
            case Rate(()):
                chosen = _said_of_all(request, computation.predicate)
                if chosen is None:
                    self._builder.reject(
                        computation.mentions, "the question does not say what the share is of"
                    )
                    return None
                request.modifiers.remove(chosen)
                computation.mentions.extend(chosen.mentions)
                binding = self._linker.bind(request.entity, chosen)
                if binding is None:
                    self._builder.reject(chosen.mentions)
                return _condition_of(binding)
            case Rate(values):
                own = [v for v in values if v.entity == request.entity]
                attributes = {v.attribute for v in own}
                if len(attributes) != 1:
                    self._builder.reject(
                        computation.mentions, "it is not clear what the rate is of"
                    )
                    return None
                return _is(self._catalogue.attribute(own[0]), tuple(v.value for v in own))
            case _:
                return None

    def _counted(self, computation: Computation, request: ThingRequest) -> Condition | None:
        """Move what is said of the rows into the count: a group without such rows counts 0."""
        for modifier in [m for m in request.modifiers if m.mention.values]:
            binding = self._linker.bind(request.entity, modifier)
            found = _condition_of(binding)
            if binding is None:
                continue
            if found is not None and len([m for m in request.modifiers if m.mention.values]) == 1:
                request.modifiers.remove(modifier)
                computation.mentions.extend(modifier.mentions)
                return found
            self._builder.reject(modifier.mentions, "the fewest of several kinds of rows")
        return None

    def _refuse_ranks(self, computation: Computation, kind: Kind) -> None:
        """Refuse a rank of nothing, "the highest share", and "the town of most letters per box".

        The first is one figure; and a box has one town.
        """
        if computation.descending is None:
            return
        if not computation.groups and isinstance(computation.measure, Rate | Count | Statistic):
            ranking = [m for m in computation.mentions if m.does(*RANKING)]
            self._builder.reject(ranking, "say of what: '… of each …', 'which … has …'")
        groups = [each for each in computation.groups if isinstance(each, ByColumn)]
        if not (computation.single or computation.count):
            return
        for group in groups[1:]:
            owners = [self._catalogue.kinds[each] for each in group.entities]
            if any(self._has_one(owner, groups[0], kind) for owner in owners):
                reason = f'each "{group.said.text}" has one "{groups[0].said.text}"'
                self._builder.reject([group.said], reason)

    def _has_one(self, owner: Kind, group: ByColumn, kind: Kind) -> bool:
        """Return whether each thing of `owner` is in one of the groups; rows are of `kind`."""
        own = any(c.entity == owner.entity for c in group.columns)
        refers = any(column_of(f"{entity}.id", shown(owner)) for entity in group.entities)
        return owner is kind or own or refers

    def _joined(self, kind: Kind, computation: Computation) -> dict[str, Source]:
        """Return the tables of other kinds of things whose columns are grouped by."""
        found: dict[str, Source] = {}
        for group in computation.groups:
            other = self._other(kind, group)
            if other is None:
                continue
            sources = self._builder.rows(ThingRequest(other.entity, None))
            if len(sources) == 1:
                found[other.plural] = sources[0]
        return found

    def _other(self, kind: Kind, group: Group) -> Kind | None:
        if not isinstance(group, ByColumn) or self._own(kind, group) is not None:
            return None
        if _kinds_of(kind, group):
            return None  # a box has kinds of its own: those of its town are not meant by "by kind"
        owners = {c.entity for c in group.columns if self._catalogue.attribute(c).column}
        kinds = [self._catalogue.kinds[owner] for owner in sorted(owners)]
        reachable = [other for other in kinds if join_columns(kind, other) is not None]
        return reachable[0] if len(reachable) == 1 else None

    def _own(self, kind: Kind, group: ByColumn) -> str | None:
        """Return the column of `kind` that `group` speaks of."""
        for entity in group.entities:
            if entity != kind.entity and (found := column_of(f"{entity}.id", shown(kind))):
                return found
        own = [c for c in group.columns if c.entity == kind.entity]
        names = {self._catalogue.attribute(c).column for c in own} - {None}
        if not names and f"{kind.entity}_{words.key(group.said.text)}" in _kinds_of(kind, group):
            return f"{kind.entity}_{words.key(group.said.text)}"
        return next(iter(names)) if len(names) == 1 else None

    def _join(self, statement: Statement, kind: Kind, other: str) -> None:
        target = next(k for k in self._catalogue.kinds.values() if k.plural == other)
        columns = join_columns(kind, target)
        if columns is not None:
            mine = statement.column(columns[0])
            its = statement.column(columns[1], other)
            statement.joins.append(f"JOIN {identifier(other)} ON {mine} = {its}")

    def _condition(self, statement: Statement, condition: Condition) -> str:
        statement.used.update(columns_read([condition]))
        return sql(condition, statement.table if len(statement.tables) > 1 else "")

    def _group(self, statement: Statement, kind: Kind, group: Group) -> None:
        match group:
            case ByPeriod(period, said):
                if kind.date_column is None:
                    self._builder.reject([said], f"{kind.plural} have no date")
                    return
                column = statement.column(kind.date_column)
                if period is None:
                    self._builder.draft.note(f"{said.text} = for each day")
                if period == "weekday":
                    statement.groups.append((f"dayname(CAST({column} AS DATE))", period))
                    statement.keys.append(f"isodow(CAST({column} AS DATE))")
                else:
                    part = period or "day"
                    expression = f"CAST(date_trunc('{part}', {column}) AS DATE)"
                    statement.groups.append((expression, part))
            case BySpans(spans):
                if kind.date_column is None:
                    return
                column = statement.column(kind.date_column)
                statement.groups.append((case(column, spans), "period"))
                statement.order = [f"min({column})"]
                if only := inside(column, spans):
                    statement.where.append(only)
            case ByColumn():
                own = self._own(kind, group)
                if own is not None:
                    self._add_group(statement, kind, own)
                    return
                other = self._other(kind, group)
                column = other and _column(self._catalogue, other, group.columns)
                if other is None or column is None:
                    self._builder.reject([group.said], f"{kind.plural} cannot be grouped by that")
                    return
                self._add_group(statement, other, column)

    def _add_group(self, statement: Statement, kind: Kind, column: str) -> None:
        shape = kind.attributes[column].shape if column in kind.attributes else None
        name = statement.column(column, kind.plural)
        statement.groups.append((name, column))
        if shape is None or shape.nullable:
            statement.where.append(f"{name} IS NOT NULL")

    def _text(
        self,
        statement: Statement,
        kind: Kind,
        computation: Computation,
        having: Condition | None,
    ) -> str | None:
        measured = self._measured(statement, kind, computation.measure, having)
        if measured is None:
            return None
        expression, name = measured
        source = " ".join([f"FROM {identifier(statement.table)}", *statement.joins])
        where = " WHERE " + " AND ".join(statement.where) if statement.where else ""
        limit = computation.count or (1 if computation.single else None)
        match computation.measure:
            case Listed():
                direction = "DESC" if computation.descending is not False else "ASC"
                by = f"{expression} {direction} NULLS LAST"
                within = [column for column, _ in statement.groups]
                cut = first_places(limit, by, within)
                return f"SELECT * {source}{where}{cut} ORDER BY {', '.join([*within, by])}"
            case Distinct() if computation.is_none_of:
                return self._none_of(statement, kind, computation, source + where)
            case Distinct():
                if not (columns := ", ".join(column for column, _ in statement.groups)):
                    return None
                if computation.single:
                    name = "_".join(words.plural(label) for _, label in statement.groups)
                    counted = f"count(DISTINCT {columns}) AS {identifier(name)}"
                    return f"SELECT {counted} {source}{where}"
                return f"SELECT DISTINCT {columns} {source}{where} ORDER BY {columns}"
            case _:
                return grouped(statement, computation, measured, source + where, limit)

    def _none_of(
        self, statement: Statement, kind: Kind, computation: Computation, some: str
    ) -> str | None:
        """Return the SELECT of the values that no row of `some` has, of those that any row has."""
        sources = self._builder.rows(ThingRequest(kind.entity, None))
        if len(statement.groups) != 1 or len(statement.tables) != 1 or len(sources) != 1:
            return None
        ((column, label),) = statement.groups
        every = f"all_{kind.plural}"
        statement.tables[every] = sources[0]
        plural = words.plural(label)
        self._builder.draft.note(f"{plural}: of those that any of the {kind.plural} has")
        none = f"WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT {column} {some})"
        source = f"FROM {identifier(every)} {none}"
        if computation.single:
            return f"SELECT count(DISTINCT {column}) AS {identifier(plural)} {source}"
        return f"SELECT DISTINCT {column} {source} ORDER BY {column}"

    def _measured(
        self, statement: Statement, kind: Kind, measure: Measure | None, having: Condition | None
    ) -> tuple[str, str] | None:
        match measure:
            case Rate():
                if having is None:
                    return None
                condition = self._condition(statement, having)
                self._exclude_undecided(statement, having)
                return f"avg(CASE WHEN {condition} THEN 1.0 ELSE 0.0 END)", "rate"
            case Statistic(function, columns):
                column = _column(self._catalogue, kind, columns)
                if column is None:
                    return None
                name = f"{_PREFIXES[function]}_{column}"
                expression = f"{function}({statement.column(column)})"
                if measure.unit is not None:
                    name = re.sub(r"\W+", "_", f"{_PREFIXES[function]}_{measure.unit}")
                    return in_unit(expression, kind.attributes[column].shape, measure.unit), name
                return expression, name
            case Listed(columns):
                moment = kind.date_column if not columns else None
                column = moment or _column(self._catalogue, kind, columns)
                return None if column is None else (statement.column(column), column)
            case _ if having is not None:
                only = self._condition(statement, having)
                return f"count(*) FILTER (WHERE {only})", kind.plural
            case _:
                return "count(*)", kind.plural

    def _exclude_undecided(self, statement: Statement, having: Condition) -> None:
        """Keep rows out of a share that are neither: a result that is not there yet is no no."""
        match having:
            case Among(column=column, values=[bool()], nullable=True):
                statement.where.append(f"{statement.column(column)} IS NOT NULL")
                self._builder.draft.note(f"the share is of those for which '{column}' is known")
            case _:
                pass


def _is_shown(sources: Sequence[Source], computation: Computation) -> bool:
    """Return whether what is asked for stands in the one record that is got."""
    figure = isinstance(computation.measure, Distinct | Statistic)
    return figure and len(sources) == 1 and not sources[0].many


def base_entities(catalogue: Catalogue, computation: Computation) -> list[str]:
    """Return the kinds of things whose rows can be computed over; only the likeliest if sure.

    Where the measure does not name the kind, the groups do.
    """
    found = measured_entities(computation)
    columns = [g.columns for g in computation.groups if isinstance(g, ByColumn) and not g.entities]
    grouped = [{c.entity for c in each if catalogue.attribute(c).column} for each in columns]
    if not found:
        found = set[str]().union(*grouped)
    narrowed = [entity for entity in found if all(entity in each for each in grouped)]
    return sorted(narrowed or found)


def measured_entities(computation: Computation) -> set[str]:
    """Return the kinds of things that have what is measured; none where rows are counted."""
    match computation.measure:
        case Rate(values):
            return {value.entity for value in values}
        case Statistic(columns=columns) | Listed(columns=columns):
            return {column.entity for column in columns}
        case _:
            return set()


def _is_thing(group: Group, kind: Kind) -> bool:
    """Return whether `group` says the things themselves, and no column of theirs by that word."""
    if not isinstance(group, ByColumn) or kind.entity not in group.entities:
        return False
    return all(column.entity != kind.entity for column in group.columns)


def _condition_of(binding: Binding | None) -> Condition | None:
    match binding:
        case Filter(attribute=attribute, condition=condition, choices=choices):
            return condition or _is(attribute, tuple(v for c in choices for v in c.values()))
        case Where(condition=condition):
            return condition
        case None:
            return None


def _is(attribute: Attribute, values: tuple[object, ...]) -> Condition | None:
    texts = tuple(v for v in values if isinstance(v, str | bool))
    if attribute.column is None or not texts:
        return None
    return Among(attribute.column, texts, True, attribute.shape.nullable)


def _said_of_all(request: ThingRequest, predicate: int | None) -> Modifier | None:
    """Return what a share is of: what is said behind the verb, or else last."""
    if predicate is None:
        return _said_last(request.modifiers)
    said = [m for m in request.modifiers if m.mention.first >= predicate]
    if any(m.first >= predicate for link in request.links for m in link.mentions):
        return None
    timeless = [m for m in said if not isinstance(m.mention.what, Time)]
    chosen = timeless or said
    return chosen[0] if len(chosen) == 1 else None


def _said_last(modifiers: list[Modifier]) -> Modifier | None:
    """Return what is said of the rows last: that is what the share is of."""
    values = [m for m in modifiers if m.mention.values and m.cue is None and m.column is None]
    behind = [m for m in values if not m.before]
    if len(behind) == 1:
        return behind[0]
    return values[0] if len(values) == 1 else None


def _kinds_of(kind: Kind, group: ByColumn) -> list[str]:
    """Return the columns of `kind` whose name ends with the one word that is grouped by."""
    said = words.keys(group.said.text)
    if len(said) != 1 or group.entities:
        return []
    return [name for name in shown(kind) if name.split("_")[1:][-1:] == [said[0]]]


def _column(catalogue: Catalogue, kind: Kind, columns: Sequence[ColumnOf]) -> str | None:
    own = {catalogue.attribute(c).column for c in columns if c.entity == kind.entity} - {None}
    return next(iter(own)) if len(own) == 1 else None


def _name(computation: Computation) -> str:
    match computation.measure:
        case Rate():
            return "rates" if computation.groups else "rate"
        case Statistic(function):
            name = _PREFIXES[function]
            return f"{name}_values" if computation.groups else name
        case Listed():
            return "ranking"
        case Distinct():
            return "count" if computation.single else "values"
        case _:
            return "counts" if computation.groups else "count"
