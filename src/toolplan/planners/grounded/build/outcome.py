"""The outcome of one reading of a question: steps, and the words that were not understood."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from toolplan.planners.grounded.build import (
    aggregates,
    asked,
    compared,
    partial,
    reasons,
    reports,
)
from toolplan.planners.grounded.build.drafts import DraftPlan, Outcome
from toolplan.planners.grounded.build.ledger import unaccounted
from toolplan.planners.grounded.build.plan_builder import PlanBuilder
from toolplan.planners.grounded.build.uneven import unevenly_said, unused
from toolplan.planners.grounded.build.writes import write, writes
from toolplan.planners.grounded.catalogue.connections import list_cues
from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.computing import read_computation
from toolplan.planners.grounded.parse.judgements import (
    only_some,
    said_after_choice,
    said_of_all,
    said_of_each,
)
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Code, Imperative, Mention, Time, Unknown
from toolplan.planners.grounded.parse.misread import misread, none_of
from toolplan.planners.grounded.parse.parser import parse
from toolplan.planners.grounded.parse.requests import Computation, ParsedQuestion, ThingRequest
from toolplan.planners.grounded.parse.sharing import share

_WHETHER = words.word_set("is are was were has have did do does")


def outcome(text: str, mentions: Sequence[Mention], catalogue: Catalogue, today: date) -> Outcome:
    """Return what comes of `mentions`, one reading of the question `text`, asked `today`."""
    found = Outcome(DraftPlan(text))
    imperatives = [m for m in mentions if isinstance(m.what, Imperative)]
    if writes(mentions):
        write(mentions, catalogue, found)
        found.reject(imperatives)
        return found
    ahead = [m for m in mentions if _lies_ahead(m, today)]
    known = not any(isinstance(m.what, Unknown | Imperative) for m in mentions)
    if known and not ahead and reports.report(mentions, catalogue, found.draft):
        return found
    if _asks_what_happened(mentions):
        _all_that_happened(mentions, catalogue, found)
        return found
    computation, taken = read_computation(mentions, catalogue)
    denied = _deny(mentions, computation)
    rest = [m for at, m in enumerate(mentions) if at not in taken and m not in denied]
    parsed, base = _parse(rest, catalogue, computation)
    builder = PlanBuilder(catalogue, found, asks_whether=_asks_whether(mentions))
    share(parsed.requests, builder.linker, builder.accepts, parsed.unexplained)
    problem = f"it is not clear what belongs together: {parsed.problem}" if parsed.problem else None
    found.reject((*parsed.unexplained, *imperatives), problem)
    _reject_judgements(mentions, found, catalogue)
    for mention, reason in misread(mentions, computation, catalogue):
        found.reject([mention], reason)
    if computation is not None and base is not None:
        computation.notes.extend(partial.partial_periods(computation, base, today))
        computation.notes.extend(partial.unseen_groups(computation))
        computation.notes.extend(partial.whole_rankings(computation))
        compared.group_codes(mentions, computation, base, builder.linker)
        aggregates.Aggregates(catalogue, builder).make(computation, base)
    elif computation is not None:
        found.reject(computation.mentions)
    else:
        for request in parsed.requests:
            if not request.nested:
                builder.rows(request)
    _reject_left_out(mentions, computation, parsed, builder.linker, found)
    lists = len(found.draft.steps)
    for mention, reason in compared.uncompared(
        mentions, computation, parsed, lists, builder.linker
    ):
        found.reject([mention], reason)
    found.reject(m for m in parsed.asked if not asked.shows(m, mentions, builder.made, catalogue))
    found.draft.account((*parsed.asked, *parsed.again))
    if not found.unexplained:  # else words that depend on those are unaccounted for as well
        found.reject(unaccounted(mentions, found.draft.accounted))
    for mention in ahead:
        found.reject([mention], f"{mention.text} lies in the future")
    reasons.explain(found, mentions, catalogue)
    return found


def _deny(mentions: Sequence[Mention], computation: Computation | None) -> Sequence[Mention]:
    """Have `computation` give what no row has, where that is asked; return the words of it."""
    denied = none_of(mentions, computation)
    if computation is None or denied is None:
        return ()
    computation.is_none_of = True
    computation.mentions.append(denied)
    return (denied,)


def _asks_what_happened(mentions: Sequence[Mention]) -> bool:
    said = [words.fold(mention.text) for mention in mentions[:2]]
    things = any(mention.nouns for mention in mentions)
    where = any(mention.is_value for mention in mentions[2:])
    return said == ["what", "happened"] and where and not things


def _all_that_happened(mentions: Sequence[Mention], catalogue: Catalogue, found: Outcome) -> None:
    """List all that has a date, for "what happened in the yard last week"."""
    builder = PlanBuilder(catalogue, found, asks_whether=False)
    kinds = [k for k in catalogue.kinds.values() if k.date_column is not None and k.listing]
    readings = [parse(mentions[2:], catalogue, implied=kind.entity) for kind in kinds]
    for parsed in readings:
        found.reject(parsed.unexplained)
        for request in parsed.requests:
            if not request.nested:
                builder.rows(request)
    found.draft.account(mentions[:2])
    found.draft.note(f"what happened = {', '.join(kind.plural for kind in kinds)}")
    if not kinds:
        found.reject(mentions)
    if not found.unexplained:
        found.reject(unaccounted(mentions, found.draft.accounted))


def _reject_judgements(mentions: Sequence[Mention], found: Outcome, catalogue: Catalogue) -> None:
    """Reject what is said of things in a way that no choice of rows says."""
    for mention in said_after_choice(mentions):
        before = f'"{mention.text}" would be applied before the choice'
        found.reject([mention], f"{before}: ask without it, the rows show it")
    for mention in said_of_all(mentions):
        found.reject([mention], "a list of those that are does not say whether all are")
    for mention in said_of_each(mentions):
        found.reject([mention], "a list of those that have some does not say whether all are so")
    for mention in only_some(mentions, list_cues(catalogue)):
        found.reject(
            [mention], "a list of those that have some does not say whether they have others"
        )


def _reject_left_out(
    mentions: Sequence[Mention],
    computation: Computation | None,
    parsed: ParsedQuestion,
    linker: Linker,
    found: Outcome,
) -> None:
    """Reject what no step would look at, where all words were understood."""
    if found.unexplained or found.reasons:
        return
    for mention, reason in unevenly_said(parsed.requests, linker) if computation is None else ():
        found.reject([mention], reason)
    if not _asks_whether(mentions):  # then the rows show it
        for mention in unused(mentions, found.draft):
            found.reject([mention], f'"{mention.text}" would not be looked at')


def _lies_ahead(mention: Mention, today: date) -> bool:
    """Return whether it is a time of which nothing can be recorded yet."""
    start = mention.what.mention.range.start if isinstance(mention.what, Time) else None
    return start is not None and start > today


def _parse(
    rest: Sequence[Mention], catalogue: Catalogue, computation: Computation | None
) -> tuple[ParsedQuestion, ThingRequest | None]:
    """Parse `rest`; also return what is computed over, which the measure may imply."""
    parsed = parse(rest, catalogue)
    if computation is None:
        substance = None if parsed.requests else _named_after(rest, catalogue)
        if substance is not None:
            return parse(rest, catalogue, implied=substance), None
        return parsed, None
    wanted = aggregates.base_entities(catalogue, computation)
    mains = [request for request in parsed.requests if not request.nested]
    named = _names_thing(computation)
    if len(mains) == 1 and mains[0].entity in aggregates.measured_entities(computation):
        return parsed, mains[0]
    fitting = [request for request in mains if request.entity in wanted or not named]
    if len(fitting) == 1 and len(mains) == 1:
        return parsed, fitting[0]
    if (mains and not named) or len(wanted) != 1:
        return parsed, None
    implied = parse(rest, catalogue, implied=wanted[0])
    mains = [request for request in implied.requests if not request.nested]
    if len(mains) != 1:
        return implied, None
    _take_itself(implied, mains[0], computation)
    return implied, mains[0]


def _take_itself(parsed: ParsedQuestion, main: ThingRequest, computation: Computation) -> None:
    """Let `main`, which the measure implies, be the thing that is named behind it.

    "The average weight of red boxes in the yard" is that of these boxes, and not of all boxes that
    belong to something that they belong to.
    """
    itself = [
        link
        for link in main.links
        if link.to.entity == main.entity and not (link.negated or link.loose)
    ]
    if main.noun is not None or len(itself) != 1:
        return
    link, named = itself[0], itself[0].to
    main.noun, main.cut = named.noun, main.cut or named.cut
    main.modifiers.extend(named.modifiers)
    main.links.remove(link)
    main.links.extend(named.links)
    parsed.requests.remove(named)
    computation.mentions.extend(link.mentions)


def _named_after(rest: Sequence[Mention], catalogue: Catalogue) -> str | None:
    """Return the kind of thing that has the asked-for name: "find oak in the yard"."""
    found = {
        value.entity
        for mention in rest
        for value in mention.values
        if (attribute := catalogue.attribute(value)).equal is not None
        and attribute.shape.kind not in ("place", "person", "organisation")
        and (
            (attribute.shape.kind == "name" and attribute.shape.gazetteer)
            or _is_plural(mention)
            # "each oak": as before a noun
            or any(m.does(WordClass.EACH) and m.end == mention.first for m in rest)
        )
    }
    if not found:
        codes = [m.what.text for m in rest if isinstance(m.what, Code)]
        found = {owner for code in codes if (owner := Linker(catalogue).owner(code)) is not None}
    return next(iter(found)) if len(found) == 1 else None


def _is_plural(mention: Mention) -> bool:
    """Return whether a value is used as a noun: several of what has it."""
    last = mention.text.split()[-1]
    return words.fold(last) != words.key(last) and words.fold(last).endswith("s")


def _names_thing(computation: Computation) -> bool:
    """Return whether the measure itself says of which thing it is."""
    measure = computation.measure
    return bool(getattr(measure, "columns", ()) or getattr(measure, "having", ()))


def _asks_whether(mentions: Sequence[Mention]) -> bool:
    first = mentions[0] if mentions else None
    if any(m.text.casefold() in ("whether", "if") for m in mentions):
        return True
    return (
        first is not None
        and first.text.split()[0].casefold() in _WHETHER
        and not first.does(WordClass.READ)
    )
