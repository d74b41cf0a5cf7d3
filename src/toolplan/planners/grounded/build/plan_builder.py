"""Requests turned into steps, each after the steps whose results it needs.

Steps are connected by arguments and columns that carry identities (`x-ref`). Where a tool has no
argument for what is said, a place for instance, the listing of another thing that has one and that
leads to it is put before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan import extras
from toolplan.path import Json
from toolplan.plan import Literal, Ref, array
from toolplan.planners.grounded.build import both
from toolplan.planners.grounded.build.bounds import exclude_all
from toolplan.planners.grounded.build.drafts import (
    Argument,
    Outcome,
    Source,
    item,
    ordered,
    source_of,
)
from toolplan.planners.grounded.build.reasons import words_of
from toolplan.planners.grounded.build.selection import cut_of, selection_arguments
from toolplan.planners.grounded.catalogue.connections import (
    Connection,
    between,
    connect,
    shared_columns,
    shown,
)
from toolplan.planners.grounded.catalogue.kinds import SQL_TOOL, Catalogue, Kind, ToolCard, Verb
from toolplan.planners.grounded.language import phrases
from toolplan.planners.grounded.parse.conditions import Condition, Linked
from toolplan.planners.grounded.parse.linker import Binding, Filter, Linker, Where
from toolplan.planners.grounded.parse.mentions import Mention, Name
from toolplan.planners.grounded.parse.requests import Cut, Link, Modifier, ThingRequest

_HELD = phrases.HOLDING | {"with", "carrying"}
_TIES = frozenset({None, "of", "from", "in", "for", "on", "at"})


class Built(Struct):
    """The result of building a request: rows of each call, and what no argument could express."""

    sources: list[Source]
    conditions: list[tuple[Condition, tuple[Mention, ...]]] = field(
        default_factory=list["tuple[Condition, tuple[Mention, ...]]"]
    )
    cut: Cut | None = None
    others: dict[str, Source] = field(default_factory=dict[str, Source])
    """further tables that the conditions speak of"""


class Bound(Struct):
    """What is said of one request, bound to its tool."""

    links: list[Link]
    also: list[Link] = field(default_factory=list[Link])
    """what rows must belong to as well: the ash of "boxes with oak and ash" """
    filters: list[tuple[Filter, Modifier]] = field(default_factory=list[tuple[Filter, Modifier]])
    wheres: list[tuple[Where, Modifier]] = field(default_factory=list[tuple[Where, Modifier]])
    identities: list[tuple[list[str], Modifier]] = field(
        default_factory=list[tuple[list[str], Modifier]]
    )

    @property
    def forks(self) -> bool:
        """Whether several calls are needed for alternatives."""
        return any(len(found.choices) > 1 for found, _ in self.filters)

    def say_alternatives_as_conditions(self) -> None:
        """Turn alternatives into conditions, so that one call returns the rows of all."""
        for found, modifier in list(self.filters):
            if len(found.choices) > 1 and found.condition is not None:
                self.filters.remove((found, modifier))
                where = Where(found.attribute, found.condition, found.note)
                self.wheres.append((where, modifier))


class PlanBuilder:
    """Makes the steps of one question."""

    def __init__(self, catalogue: Catalogue, outcome: Outcome, asks_whether: bool = False) -> None:
        """Create a builder; `asks_whether`: the question is to be answered by yes or no."""
        self._catalogue = catalogue
        self.linker = Linker(catalogue)
        self._asks_whether = asks_whether
        self._done: dict[int, list[Source]] = {}
        self.draft = outcome.draft
        self.reject = outcome.reject
        self._missing = outcome.missing

    def rows(self, request: ThingRequest) -> list[Source]:
        """Return the rows of `request`, one source for each call, after making their steps."""
        if id(request) not in self._done:
            self._done[id(request)] = []  # a thing that leads to itself gets nothing from itself
            self._done[id(request)] = self._selected(request, self.built(request))
        return self._done[id(request)]

    def accepts(self, entity: str, modifier: Modifier) -> bool:
        """Return whether `modifier` can be said of things of kind `entity`, or through others."""
        kind = self._catalogue.kinds[entity]
        if self.linker.bind(entity, modifier) is not None:
            return True
        return self.producer(kind, modifier) is not None

    @property
    def made(self) -> list[Source]:
        """What the steps give so far, in their order."""
        return [source for each in self._done.values() for source in each]

    def built(self, request: ThingRequest, *, conditions_for_alternatives: bool = False) -> Built:
        """Make the steps of `request`; return what no argument expresses with their rows."""
        kind = self._catalogue.kinds[request.entity]
        self.draft.account([request.noun])
        bound = self._bind(kind, request)
        if conditions_for_alternatives:
            bound.say_alternatives_as_conditions()
        conditions = [(where.condition, modifier.mentions) for where, modifier in bound.wheres]
        for where, _ in bound.wheres:
            self.draft.note(where.note)
        conditions.extend((f.strict, each.mentions) for f, each in bound.filters if f.strict)
        if (single := self._single(kind, request, bound)) is not None:
            return Built(single)
        card = kind.listing
        if card is None or card.rows is None or not card.rows.many:
            reason = f"no tool lists {kind.plural}"
            if card is not None:
                reason = f"tool {card.name} declares no list in its output schema"
            self.reject(request.mentions, reason)
            return Built([])
        bound.links, bound.also = both.split_both(bound.links, kind, self._catalogue, self.draft)
        chosen = bool(conditions or bound.also) or any(link.negated for link in bound.links)
        cut = self._cut(kind, card, request, forked=bound.forks, conditions=chosen)
        sources = [
            source
            for choice, forks in self._choices(bound)
            for source in self._calls(
                kind, card, request, choice, bound.links, cut, _step_name(kind, forks)
            )
        ]
        made = Built(sources, conditions, cut.rest)
        self._exclude(kind, bound, made)
        return made

    def _exclude(self, kind: Kind, bound: Bound, built: Built) -> None:
        """Say what rows must not belong to, or must belong to as well."""
        for link in (*(link for link in bound.links if link.negated), *bound.also):
            mentions = (*link.mentions, *link.to.mentions)
            self.draft.account(link.mentions)
            sources = self.rows(link.to)
            source = sources[0] if len(sources) == 1 and sources[0].many else None
            columns = source and shared_columns(kind, source.entity, source.columns)
            if source is None or columns is None:
                self.reject(mentions, f"no column says which {kind.plural} these are")
                continue
            plural = self._catalogue.kinds[source.entity].plural
            other = source.step if plural in (kind.plural, *built.others) else plural
            built.others[other] = source
            own = next((a for a in kind.attributes.values() if a.column == columns[0]), None)
            nullable = own is not None and own.shape.nullable and own.shape.ref != kind.identity
            condition = Linked(columns[0], other, columns[1], not link.negated, nullable)
            built.conditions.append((condition, mentions))

    def _bind(self, kind: Kind, request: ThingRequest) -> Bound:
        bound = Bound([*request.links])
        for modifier in request.modifiers:
            codes = self.linker.identity(kind.entity, modifier)
            if codes is not None:
                bound.identities.append((codes, modifier))
                continue
            match self.linker.bind(kind.entity, modifier):
                case Filter() as found:
                    if modifier.cue == "for" and isinstance(modifier.mention.what, Name):
                        name = f'"for {modifier.mention.text}"'
                        self.draft.note(f"{name} is taken as the {words_of(found.attribute)}")
                    bound.filters.append((found, modifier))
                case Where() as found:
                    bound.wheres.append((found, modifier))
                case None:
                    producer = self.producer(kind, modifier)
                    if producer is None:
                        self.reject(modifier.mentions)
                    else:
                        bound.links.append(producer)
        taken: set[str] = set()
        for found, modifier in bound.filters:
            names = {name for choice in found.choices for name in choice}
            if not taken.isdisjoint(names):
                self.reject(modifier.mentions, f"two values for {', '.join(sorted(names))}")
            taken |= names
        if exclude_all(each for each, _ in (*bound.filters, *bound.wheres)):
            _, modifier = [*bound.filters, *bound.wheres][-1]
            self.reject(modifier.mentions, "nothing keeps both bounds: ask for each alone")
        return bound

    def producer(self, kind: Kind, modifier: Modifier) -> Link | None:
        """Find the thing that has such a place and leads to `kind`: exactly one, or none."""
        if modifier.negated:
            return None
        found: list[tuple[Kind, Binding]] = []
        for other in self._catalogue.kinds.values():
            connection = connect(self._catalogue, kind, other.entity, shown(other))
            binding = self._said_through(other, modifier)
            if other is kind or binding is None or connection is None or not connection.direct:
                continue
            if other.listing is not None and binding.attribute.equal is not None:
                found.append((other, binding))
        plain = [each for each in found if not each[1].attribute.is_endpoint] or found
        if len(plain) != 1:
            return None
        held = plain[0][1].attribute.shape.kind == "name"
        said = replace(modifier, before=False, cue=None if held else modifier.cue)
        placed = ThingRequest(plain[0][0].entity, None, [said], nested=True)
        return Link(placed, None, False, False, modifier.mentions)

    def _said_through(self, other: Kind, modifier: Modifier) -> Binding | None:
        """Bind a place of `other`, or the name of what a thing holds: "boxes with oak"."""
        if modifier.cue == "for" and not (modifier.column or modifier.mention.values):
            return None  # "boxes for Smith": a town, a person?
        binding = self.linker.bind(other.entity, modifier)
        if binding is not None and binding.attribute.shape.kind == "place":
            return binding
        if modifier.cue not in _HELD:
            return None
        binding = self.linker.bind(other.entity, replace(modifier, cue=None))
        named = binding is not None and binding.attribute.shape.kind == "name"
        return binding if named else None

    def _single(self, kind: Kind, request: ThingRequest, bound: Bound) -> list[Source] | None:
        """Get things by the identities that are said, where nothing else is said of them."""
        card = kind.card(Verb.GET)
        if card is None or card.rows is None or not bound.identities:
            return None
        said = [*bound.filters, *bound.wheres]
        if said and not self._asks_whether:
            return None
        if bound.links or request.cut is not None or len(bound.identities) != 1:
            return None
        codes, modifier = bound.identities[0]
        listing = kind.listing
        by_list = listing is not None and self._identity_argument(kind) is not None
        if (len(codes) > 1 and by_list) or len(card.required) != 1:
            return None
        # "is it red?": the record that is got shows it
        self.draft.account(m for f, each in said if f.attribute.column for m in each.mentions)
        sources: list[Source] = []
        for code in codes:
            reason = self.draft.words(
                (*modifier.mentions, *((request.noun,) if request.noun else ()))
            )
            arguments = {card.required[0]: Argument(Literal(code), reason)}
            name = kind.entity if len(codes) == 1 else f"{kind.entity}_{code}"
            step = self.draft.add(name, card.name, arguments)
            sources.append(source_of(step, kind.entity, card.rows, False))
        return sources

    def _identity_argument(self, kind: Kind) -> str | None:
        own = (a for a in kind.attributes.values() if a.shape.ref == kind.identity)
        return next((a.equal for a in own if a.equal is not None), None)

    def _choices(
        self, bound: Bound
    ) -> Iterator[tuple[dict[str, Argument], tuple[dict[str, Argument], ...]]]:
        """Yield the arguments of each call, and those that distinguish it from the others."""
        fixed: dict[str, Argument] = {}
        for found, modifier in bound.filters:
            self.draft.note(found.note)
            if len(found.choices) == 1:
                fixed |= self._arguments(found.choices[0], modifier)
        forks = [
            [self._arguments(choice, modifier) for choice in found.choices]
            for found, modifier in bound.filters
            if len(found.choices) > 1
        ]
        for combination in product(*forks):
            chosen = dict(fixed)
            for each in combination:
                chosen |= each
            yield chosen, combination

    def _arguments(self, choice: Mapping[str, Json], modifier: Modifier) -> dict[str, Argument]:
        reason = self.draft.words(modifier.mentions)
        return {name: Argument(Literal(value), reason) for name, value in choice.items()}

    def _calls(
        self,
        kind: Kind,
        card: ToolCard,
        request: ThingRequest,
        choice: dict[str, Argument],
        links: Sequence[Link],
        cut: _Cut,
        name: str,
    ) -> Iterator[Source]:
        arguments = {**choice, **self._own_identities(kind, request)}
        if cut.argument and request.cut is not None and request.cut.count is not None:
            reason = self.draft.words(request.cut.mentions)
            arguments[cut.argument] = Argument(Literal(request.cut.count), reason)
        literal = [link for link in links if self._by_identity(kind, link, arguments)]
        others = [link for link in links if link not in literal and not link.negated]
        ways = [self._ways(kind, link) for link in others]
        for combination in product(*ways):
            yield from self._call(kind, card, dict(arguments), combination, name)

    def _own_identities(self, kind: Kind, request: ThingRequest) -> dict[str, Argument]:
        found: dict[str, Argument] = {}
        name = self._identity_argument(kind)
        for modifier in request.modifiers:
            codes = self.linker.identity(kind.entity, modifier)
            if codes is None:
                continue
            if name is None or name in found or modifier.negated:
                self.reject(modifier.mentions)
                continue
            value: Json = codes[0] if len(codes) == 1 else [*codes]
            found[name] = Argument(Literal(value), self.draft.words(modifier.mentions))
        return found

    def _by_identity(self, kind: Kind, link: Link, arguments: dict[str, Argument]) -> bool:
        """Say a link to things that are named by their identities without asking for them first."""
        target = link.to
        if link.negated or target.links or target.cut or len(target.modifiers) != 1:
            return False
        codes = self.linker.identity(target.entity, target.modifiers[0])
        wanted = f"{target.entity}.id"
        takers = [a for a in kind.attributes.values() if a.shape.ref == wanted and a.equal]
        if codes is None or not takers or takers[0].equal is None:
            return False
        name, many = takers[0].equal, takers[0].shape.takes_many
        if name in arguments or (len(codes) > 1 and not many):
            return False
        value: Json = codes[0] if len(codes) == 1 else [*codes]
        mentions = (*link.mentions, *target.mentions)
        arguments[name] = Argument(Literal(value), self.draft.words(mentions))
        return True

    def _ways(self, kind: Kind, link: Link) -> list[tuple[Connection, Source]]:
        """Return each source of the linked thing with the way from it to `kind`."""
        found: list[tuple[Connection, Source]] = []
        self.draft.account(link.mentions)
        sources = self.rows(link.to)
        for source in sources:
            way = connect(self._catalogue, kind, source.entity, source.columns)
            if way is not None and not way.direct and not (link.loose or link.cue in _TIES):
                way = None
            if way is None and (bridge := self._bridge(kind, source)) is not None:
                source, way = bridge
            if way is None:
                reason = f"nothing leads from {link.to.entity} to {kind.entity}"
                self.reject((*link.mentions, *link.to.mentions), reason)
                return []
            found.append((way, source))
        return found

    def _bridge(self, kind: Kind, source: Source) -> tuple[Source, Connection] | None:
        entity = between(self._catalogue, kind, source.entity)
        middle = self._catalogue.kinds[entity] if entity is not None else None
        if middle is None or middle.listing is None:
            return None
        first = connect(self._catalogue, middle, source.entity, source.columns)
        if first is None:
            return None
        made = list(self._call(middle, middle.listing, {}, ((first, source),), middle.plural))
        second = connect(self._catalogue, kind, middle.entity, made[0].columns) if made else None
        return None if second is None else (made[0], second)

    def _call(
        self,
        kind: Kind,
        card: ToolCard,
        arguments: dict[str, Argument],
        ways: Iterable[tuple[Connection, Source]],
        named: str,
    ) -> Iterator[Source]:
        for_each: Ref | None = None
        for way, source in ways:
            name = way.attribute.equal or ""
            value = source.column(way.column)
            taken = name in arguments or (for_each is not None and source.many)
            if taken:
                self.reject((), f"two values for {name}")
                return
            reason: Json = {"ref": source.step}
            own_record = way.attribute.shape.ref == kind.identity and not source.many
            if own_record and (got := self._got(kind, value, reason)) is not None:
                yield got
                return
            if source.many and not way.attribute.shape.takes_many:
                for_each = value
                arguments[name] = Argument(item(), reason)
            elif not source.many and not way.attribute.shape.takes_one:
                arguments[name] = Argument(array((value,)), reason)
            else:
                arguments[name] = Argument(value, reason)
        rows = card.rows
        if rows is None:
            return
        absent = [name for name in card.required if name not in arguments]
        self._missing.extend(name for name in absent if name not in self._missing)
        step = self.draft.add(named, card.name, ordered(card, arguments), for_each=for_each)
        yield source_of(step, kind.entity, rows, for_each is not None)

    def _got(self, kind: Kind, value: Ref, reason: Json) -> Source | None:
        """Get the one thing whose identity another record shows."""
        card = kind.card(Verb.GET)
        if card is None or card.rows is None or len(card.required) != 1:
            return None
        step = self.draft.add(kind.entity, card.name, {card.required[0]: Argument(value, reason)})
        return source_of(step, kind.entity, card.rows, False)

    def _cut(
        self, kind: Kind, card: ToolCard, request: ThingRequest, *, forked: bool, conditions: bool
    ) -> _Cut:
        cut = cut_of(request)
        if cut is None:
            return _Cut()
        limit = card.argument("limit") or ("limit" if "limit" in card.arguments else None)
        moment = kind.moment
        newest_first = moment is not None and card.order == f"{moment.name} desc"
        if (cut.newest or cut.oldest) and kind.date_column is None:
            self.reject(cut.mentions, f"{kind.plural} have no date to be ordered by")
            return _Cut()
        if forked or len(request.links) > 1:
            self.reject(cut.mentions, "a number of rows cannot be divided among several calls")
            return _Cut()
        fits = (not cut.newest or newest_first) and not cut.oldest
        if cut.newest and cut.count is None and newest_first:
            self.draft.account(cut.mentions)
            self.draft.note(f"{cut.mentions[0].text}: all of them, the newest first")
            return _Cut()
        if not (cut.newest or cut.oldest) and any(
            m.does(phrases.WordClass.FIRST) for m in cut.mentions
        ):
            said = " ".join(m.text for m in cut.mentions)
            order = ", the newest first" if newest_first else ""
            self.draft.note(f"{said}: those that {card.name} gives first{order}")
        if fits and limit is not None and not conditions:
            if cut.newest and moment is not None:
                said = " ".join(m.text for m in cut.mentions)
                self.draft.note(f"{said}: others with the same {words_of(moment)} may be left out")
            return _Cut(limit)
        return _Cut(rest=cut)

    def _selected(self, request: ThingRequest, built: Built) -> list[Source]:
        """Put a computing step behind each source where rows must still be chosen."""
        if not built.conditions and built.cut is None:
            return built.sources
        said = [m for _, mentions in built.conditions for m in mentions]
        if built.cut is not None:
            said.extend(built.cut.mentions)
        if not self._catalogue.computes:
            self.reject(
                said, f"selecting rows needs the tool `sql`: {extras.install_command('sql')}"
            )
            return built.sources
        kind = self._catalogue.kinds[request.entity]
        conditions = [condition for condition, _ in built.conditions]
        found: list[Source] = []
        for source in built.sources:
            reason = self.draft.words(said)
            tables = {kind.plural: source, **built.others}
            arguments = selection_arguments(kind, conditions, built.cut, tables, reason)
            step = self.draft.add(f"{kind.plural}_selected", SQL_TOOL, arguments)
            found.append(Source(step, kind.entity, ("data",), True, source.columns))
        return found


class _Cut(Struct, frozen=True):
    """How a cut is expressed: by an argument, or by a computing step that makes the `rest`."""

    argument: str | None = None
    rest: Cut | None = None


def _step_name(kind: Kind, forks: Iterable[Mapping[str, Argument]]) -> str:
    """Name a step by its things, and by what distinguishes it from the other calls."""
    values = [(n, argument.value) for fork in forks for n, argument in fork.items()]
    said = [
        f"{name}_{value.value}" if isinstance(value.value, bool) else str(value.value)
        for name, value in values
        if isinstance(value, Literal)
    ]
    return "_".join([kind.plural, *dict.fromkeys(said)])
