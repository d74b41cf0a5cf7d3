"""Things that must belong to several others at once: "boxes with oak and ash"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from toolplan.planners.grounded.build.drafts import DraftPlan
from toolplan.planners.grounded.catalogue.connections import column_of, shown
from toolplan.planners.grounded.catalogue.kinds import Catalogue, Kind
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.parse.requests import Link, Modifier, ThingRequest


def split_both(
    links: Sequence[Link], kind: Kind, catalogue: Catalogue, draft: DraftPlan
) -> tuple[list[Link], list[Link]]:
    """Return the links by which things of `kind` are listed, and those that must hold as well.

    A box may hold many letters: "boxes with oak and ash" hold both. A letter lies in one box: the
    letters "of red and blue boxes" are those of either.
    """
    first: list[Link] = []
    also: list[Link] = []
    for link in links:
        parts = list(_parts(link, kind, catalogue, draft.question))
        first.append(parts[0] if parts else link)
        also.extend(parts[1:])
    return first, also


def _parts(link: Link, kind: Kind, catalogue: Catalogue, question: str) -> Iterator[Link]:
    target = link.to
    several = column_of(kind.identity, shown(catalogue.kinds[target.entity])) is not None
    said = target.noun is None or "both" in words.fold(question).split()
    if link.negated or not several or not said:
        return
    for at, modifier in enumerate(target.modifiers):
        if modifier.alternatives and not modifier.either and modifier.mention.values:
            for mention in modifier.values:
                alone = replace(modifier, mention=mention, alternatives=())
                yield replace(link, to=_with(target, at, alone))
            return


def _with(target: ThingRequest, at: int, modifier: Modifier) -> ThingRequest:
    modifiers = [*target.modifiers[:at], modifier, *target.modifiers[at + 1 :]]
    return replace(target, modifiers=modifiers, links=[*target.links])
