"""What is compared needs a figure for each: a total or a list of all compares nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolplan.planners.grounded.build.plan_builder import PlanBuilder
from toolplan.planners.grounded.catalogue.connections import join_columns
from toolplan.planners.grounded.catalogue.kinds import Catalogue, ColumnOf, Kind, ValueOf
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import fold, word_set
from toolplan.planners.grounded.parse.conditions import Among
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Code, Mention, Time
from toolplan.planners.grounded.parse.requests import (
    ByColumn,
    Computation,
    Count,
    ParsedQuestion,
    Rate,
    Statistic,
    ThingRequest,
)

_TOGETHER: Final = word_set("total together altogether combined")
NO_FIGURES: Final = "a comparison needs a figure for each: say per what, as in 'number … per month'"
ONE_LIST: Final = "one list of both compares nothing: ask for a figure, as in 'number of …'"


def group_codes(
    mentions: Sequence[Mention], computation: Computation, request: ThingRequest, linker: Linker
) -> None:
    """Group what is compared by the identities that it is said of: "compare … of B1 and B2"."""
    if not _words(mentions) or not _gives_figures(computation):
        return
    for modifier in request.modifiers:
        code = isinstance(modifier.mention.what, Code) and not modifier.mention.values
        if not code or not modifier.alternatives or modifier.negated:
            continue
        binding = linker.bind(request.entity, modifier)
        if binding is not None and binding.attribute.column is not None:
            column = ColumnOf(request.entity, binding.attribute.name)
            computation.groups.append(ByColumn((column,), (), modifier.mention))
            return


def group_alternatives(computation: Computation, request: ThingRequest, linker: Linker) -> None:
    """Group by what "a and b" are values of, where one figure for both would say nothing."""
    if not _gives_figures(computation):
        return
    said = {word for mention in computation.mentions for word in fold(mention.text).split()}
    if isinstance(computation.measure, Count) and not said.isdisjoint(_TOGETHER):
        return
    for modifier in request.modifiers:
        if not modifier.alternatives or modifier.either or modifier.negated:
            continue
        binding = linker.bind(request.entity, modifier) if modifier.mention.values else None
        shape = None if binding is None else binding.attribute.shape
        lists = shape is not None and shape.takes_many and not shape.takes_one
        if binding is not None and not lists:  # of a list, "a and b" are both in one
            column = ColumnOf(request.entity, binding.attribute.name)
            computation.groups.append(ByColumn((column,), (), modifier.mention))


def linked_sides(
    computation: Computation, request: ThingRequest, builder: PlanBuilder, catalogue: Catalogue
) -> list[tuple[Kind, Among]]:
    """Group by a column of what things belong to: "compare the sizes of boxes in Ulm and Bonn".

    It is taken away from the things. Return what it is a column of, and the condition on that.
    """
    sides: list[tuple[Kind, Among]] = []
    kind = catalogue.kinds[request.entity]
    for modifier in [*request.modifiers] if _gives_figures(computation) else ():
        coordinated = modifier.alternatives and not (modifier.either or modifier.negated)
        if not coordinated or builder.linker.bind(kind.entity, modifier) is not None:
            continue
        link = builder.producer(kind, modifier)
        owner = None if link is None else catalogue.kinds[link.to.entity]
        bound = None if owner is None else builder.linker.bind(owner.entity, modifier)
        if owner is None or bound is None or join_columns(kind, owner) is None:
            continue
        column = ColumnOf(owner.entity, bound.attribute.name)
        values = [v.value for m in modifier.values for v in m.values if _is_of(v, column)]
        if bound.attribute.column is None or len(values) != len(modifier.values):
            continue
        request.modifiers.remove(modifier)
        computation.groups.append(ByColumn((column,), (), modifier.mention))
        computation.mentions.extend(modifier.mentions)
        sides.append((owner, Among(bound.attribute.column, tuple(values), True, False)))
    return sides


def _is_of(value: ValueOf, column: ColumnOf) -> bool:
    return (value.entity, value.attribute) == (column.entity, column.attribute)


def _gives_figures(computation: Computation) -> bool:
    """Return whether each group has a figure, and none is left out: those are ranked together."""
    if computation.groups and (computation.descending is not None or computation.least):
        return False
    return isinstance(computation.measure, Rate | Statistic | Count)


def uncompared(
    mentions: Sequence[Mention],
    computation: Computation | None,
    parsed: ParsedQuestion,
    lists: int,
    linker: Linker,
) -> Iterator[tuple[Mention, str]]:
    """Yield the word that asks for a comparison where `lists` steps give none, and why."""
    for mention in _words(mentions):
        if computation is not None:
            if not computation.groups:
                yield mention, NO_FIGURES
        elif lists < 2 and any(_has_sides(each, linker) for each in parsed.requests):
            yield mention, ONE_LIST


def _has_sides(request: ThingRequest, linker: Linker) -> bool:
    """Return whether times, or identities of other things, are set side by side for a thing."""
    times = [m for m in request.modifiers for each in m.values if isinstance(each.what, Time)]
    return len(times) > 1 or any(
        modifier.alternatives
        and isinstance(modifier.mention.what, Code | Time)
        and linker.identity(request.entity, modifier) is None
        for modifier in request.modifiers
    )


def _words(mentions: Sequence[Mention]) -> list[Mention]:
    return [mention for mention in mentions if mention.does(WordClass.COMPARE)]
