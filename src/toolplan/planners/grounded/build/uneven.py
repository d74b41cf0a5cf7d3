"""What a plan leaves out of what was said: values that no step has, and things that lack them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from toolplan.plan_json import dump
from toolplan.planners.grounded.build.drafts import DraftPlan
from toolplan.planners.grounded.language.words import fold
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Code, Mention, Time
from toolplan.planners.grounded.parse.requests import Modifier, ThingRequest
from toolplan.planners.grounded.parse.values import ONES


def unused(mentions: Sequence[Mention], draft: DraftPlan) -> Iterator[Mention]:
    """Yield the values and codes that no argument of the plan has.

    In "pending boxes in York, sent ones in Hull" a town could be taken for the other.
    """
    if not draft.steps:
        return
    written = json.dumps(dump(draft.plan({}))["steps"], ensure_ascii=False).casefold()
    for mention in mentions:
        said: set[str] = set()
        if isinstance(mention.what, Code):
            said = {mention.what.text}
        elif mention.values and not (mention.nouns or mention.columns or mention.verbs):
            texts = [value.value for value in mention.values]
            said = {text for text in texts if isinstance(text, str)}
            if len(said) < len(set(map(str, texts))):
                continue  # a truth may be said by a condition
        if said and not any(_stands_in(written, text) for text in said):
            yield mention


def _stands_in(written: str, text: str) -> bool:
    """Return whether `text` is in a plan as JSON: in an argument, or quoted in a statement."""
    escaped = json.dumps(text, ensure_ascii=False)[1:-1].casefold()
    return escaped in written or escaped.replace("'", "''") in written


def unevenly_said(
    requests: Sequence[ThingRequest], linker: Linker
) -> Iterator[tuple[Mention, str]]:
    """Yield the nouns of things for which nothing is said that is said of others beside them.

    "B1 letters and labels" lists all labels, if the code is taken as one of the letters.
    """
    mains = [request for request in requests if not request.nested and request.noun is not None]
    chosen = [request for request in mains if request.modifiers or request.links or request.cut]
    if len(mains) < 2 or not chosen:
        return
    # "boxes and the letters in them": the letters say which
    targets = {id(link.to) for request in requests for link in request.links}
    for request in mains:
        tied = any(link.loose for link in request.links) or id(request) in targets
        if request.noun is None or tied:
            continue
        others = [other for other in chosen if other is not request]
        if request not in chosen or any(_lacks(request, other, linker) for other in others):
            yield request.noun, f'"{request.noun.text}": all of them, or which?'


def _lacks(request: ThingRequest, other: ThingRequest, linker: Linker) -> bool:
    """Return whether a time or an identity that is said of `other` may be said of `request` too."""
    own = [type(modifier.mention.what) for modifier in _said(request)]
    times = [modifier for modifier in _said(other) if isinstance(modifier.mention.what, Time)]
    named = any(isinstance(modifier.mention.what, Code) for modifier in _said(other))
    timed = any(linker.bind(request.entity, modifier) is not None for modifier in times)
    # a thing with a value of its own is another one: "B1 letters and red boxes"
    one = request.noun is not None and fold(request.noun.text) in ONES
    another = not one and any(kind is not Time for kind in own)
    return (timed and Time not in own) or (named and Code not in own and not another)


def _said(request: ThingRequest) -> list[Modifier]:
    """Return what is said of a thing, and of what it belongs to."""
    owners = [link.to for link in request.links if not (link.loose or link.negated)]
    return [*request.modifiers, *(m for owner in owners for m in owner.modifiers)]
