"""What is said once of several things: "a and b from last week" is said of both.

Also the other way round: what stands behind a thing that cannot have it belongs to the thing that
this one was said of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.words import fold, word_set
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Mention, Time
from toolplan.planners.grounded.parse.requests import Link, Modifier, ThingRequest

FINDING: Final = word_set("found detected discovered measured identified spotted observed seen")
HOLDING: Final = word_set("with containing having including")

Accepts: TypeAlias = Callable[[str, Modifier], bool]
"""Whether something can be said of a kind of thing, directly or through another."""


def share(
    requests: list[ThingRequest], linker: Linker, accepts: Accepts, unexplained: list[Mention]
) -> None:
    """Move and copy what is said in `requests` to all the things that it is said of."""
    _lift(requests, linker, unexplained)
    for request in requests:
        unexplained.extend(_found_when(request))
    for row in _rows([request for request in requests if not request.nested]):
        _broadcast_behind(row, accepts)
        _broadcast_before(row, accepts, unexplained)


def _found_when(request: ThingRequest) -> list[Mention]:
    """Return when or where what a thing holds was found: "boxes with oak found in May"."""
    behind = [modifier for modifier in request.modifiers if not modifier.before]
    holds = False
    for modifier in behind:
        found = any(fold(mention.text) in FINDING for mention in modifier.evidence)
        if holds and found:
            return list(modifier.mentions)
        said = (modifier.cue or modifier.mention.text).split()
        holds = holds or fold(said[0]) in HOLDING
    return []


def _lift(requests: list[ThingRequest], linker: Linker, unexplained: list[Mention]) -> None:
    """Move to a thing what stands behind the nested thing that selects it."""
    for request in requests:
        for link in request.links:
            if not link.to.nested or link.loose:
                continue
            for modifier in list(link.to.modifiers):
                if modifier.before or linker.identity(link.to.entity, modifier) is not None:
                    continue
                if linker.bind(link.to.entity, modifier) is not None:
                    if _is_ambiguous(link, request, modifier, linker):
                        unexplained.extend(modifier.mentions)
                    continue
                if linker.bind(request.entity, modifier) is not None:
                    link.to.modifiers.remove(modifier)
                    request.modifiers.append(modifier)


def _is_ambiguous(link: Link, request: ThingRequest, modifier: Modifier, linker: Linker) -> bool:
    """Return whether a time may be said of both: "boxes with letters from last week".

    "Boxes never opened this year" are all that lay closed in it, or those of this year.
    """
    holds = link.negated or any(
        mention.does(WordClass.HAVE, WordClass.WITHOUT) for mention in link.mentions
    )
    done = any(mention.does(WordClass.LINK) for mention in modifier.evidence)
    timed = isinstance(modifier.mention.what, Time) and not done
    both = timed or link.negated
    return holds and both and linker.bind(request.entity, modifier) is not None


def _rows(requests: list[ThingRequest]) -> list[list[ThingRequest]]:
    """Return the runs of coordinated things, those of one alone left out."""
    runs: list[list[ThingRequest]] = []
    for request in requests:
        if request.coordinated and runs:
            runs[-1].append(request)
        else:
            runs.append([request])
    return [run for run in runs if len(run) > 1]


def _broadcast_behind(row: list[ThingRequest], accepts: Accepts) -> None:
    *earlier, last = row
    if (
        any(_said_behind(request) or request.links or request.cut for request in earlier)
        or last.cut
    ):
        return
    for request in earlier:
        for modifier in _said_behind(last):
            if accepts(request.entity, modifier):
                request.modifiers.append(modifier)
        request.links.extend(link for link in last.links if not link.loose)


def _broadcast_before(
    row: list[ThingRequest], accepts: Accepts, unexplained: list[Mention]
) -> None:
    first, *others = row
    for modifier in first.modifiers:
        if not modifier.before and modifier not in first.modifiers[:1]:
            continue
        timed = isinstance(modifier.mention.what, Time)
        for request in others:
            own = request.modifiers
            if modifier in own or not accepts(request.entity, modifier):
                continue
            if timed and any(link.loose for link in request.links):
                continue  # "this week's boxes and the letters in them"
            if timed and not any(isinstance(m.mention.what, Time) for m in own):
                own.append(modifier)
            elif not timed and modifier.before and not any(m.before for m in own):
                # "red a and b": it is not clear whether the b are red too
                unexplained.extend(modifier.mentions)


def _said_behind(request: ThingRequest) -> list[Modifier]:
    return [modifier for modifier in request.modifiers if not modifier.before]
