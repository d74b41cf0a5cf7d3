"""The outcome of one reading of a question: steps, and the words that were not understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from toolplan.planners.grounded.build.aggregates import Aggregates, base_entities
from toolplan.planners.grounded.build.drafts import DraftPlan
from toolplan.planners.grounded.build.plan_builder import PlanBuilder
from toolplan.planners.grounded.build.reports import report
from toolplan.planners.grounded.build.writes import write, writes
from toolplan.planners.grounded.catalogue.kinds import Catalogue
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.computing import read_computation
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Code, Imperative, Mention, Time, Unknown
from toolplan.planners.grounded.parse.parser import parse
from toolplan.planners.grounded.parse.requests import Computation, ParsedQuestion, ThingRequest
from toolplan.planners.grounded.parse.sharing import share

_WHETHER = frozenset(["is", "are", "was", "were", "has", "have", "did", "do", "does"])


@dataclass(slots=True)
class Outcome:
    """Steps, and what stands in the way of calling them a plan.

    `unexplained` are mentions without a place; `reasons` say in words what could not be done;
    `missing` are arguments that a tool requires and no word gives.
    """

    draft: DraftPlan
    unexplained: list[Mention] = field(default_factory=list[Mention])
    reasons: list[str] = field(default_factory=list[str])
    missing: list[str] = field(default_factory=list[str])
    refusal: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every word found its place, and something is done."""
        return bool(self.draft.steps) and not (self.unexplained or self.reasons or self.missing)

    @property
    def cost(self) -> tuple[int, int]:
        """How much stands in the way; of less, more was understood."""
        letters = sum(len(m.text) for m in dict.fromkeys(self.unexplained))
        return (letters, len(self.reasons) + len(self.missing) + (not self.draft.steps))


def outcome(text: str, mentions: Sequence[Mention], catalogue: Catalogue, today: date) -> Outcome:
    """Return what comes of `mentions`, one reading of the question `text`, asked `today`."""
    found = Outcome(DraftPlan(text))
    unknown = [m for m in mentions if isinstance(m.what, Unknown | Imperative)]
    if writes(mentions):
        written = write(mentions, catalogue, found.draft)
        ordered = (m for m in mentions if isinstance(m.what, Imperative))
        found.unexplained, found.missing = [*written.unexplained, *ordered], written.missing
        found.reasons, found.refusal = written.reasons, written.refusal
        return found
    ahead = [m for m in mentions if _lies_ahead(m, today)]
    if not unknown and not ahead and report(mentions, catalogue, found.draft):
        return found
    computation, taken = read_computation(mentions, catalogue)
    rest = [m for at, m in enumerate(mentions) if at not in taken]
    parsed, base = _parse(rest, catalogue, computation)
    builder = PlanBuilder(catalogue, found.draft, asks_whether=_asks_whether(mentions))
    share(parsed.requests, builder.linker, builder.accepts, parsed.unexplained)
    if parsed.problem is not None:
        builder.reasons.append(f"it is not clear what belongs together: {parsed.problem}")
    if computation is not None and base is not None:
        Aggregates(catalogue, builder).make(computation, base)
    elif computation is not None:
        builder.unexplained.extend(computation.mentions)
    else:
        for request in parsed.requests:
            if not request.nested:
                builder.rows(request)
    ordered = (m for m in mentions if isinstance(m.what, Imperative))
    found.unexplained = [*parsed.unexplained, *builder.unexplained, *ordered]
    found.unexplained.extend(m for m in parsed.asked if not builder.shows(m))
    found.unexplained.extend(ahead)
    found.missing = builder.missing
    found.reasons = [*builder.reasons, *(f"{m.text} lies in the future" for m in ahead)]
    return found


def _lies_ahead(mention: Mention, today: date) -> bool:
    """Whether it is a time of which nothing can be recorded yet."""
    start = mention.what.mention.range.start if isinstance(mention.what, Time) else None
    return start is not None and start > today


def _parse(
    rest: Sequence[Mention], catalogue: Catalogue, computation: Computation | None
) -> tuple[ParsedQuestion, ThingRequest | None]:
    """ThingRequest `rest`; where the thing that is computed over is not named, it is implied."""
    parsed = parse(rest, catalogue)
    if computation is None:
        substance = None if parsed.requests else _named_after(rest, catalogue)
        if substance is not None:
            return parse(rest, catalogue, implied=substance), None
        return parsed, None
    wanted = base_entities(catalogue, computation)
    mains = [request for request in parsed.requests if not request.nested]
    fitting = [
        request for request in mains if request.entity in wanted or not _is_told(computation)
    ]
    if len(fitting) == 1 and len(mains) == 1:
        return parsed, fitting[0]
    if mains and not _is_told(computation):
        return parsed, None
    if len(wanted) != 1:
        return parsed, None
    implied = parse(rest, catalogue, implied=wanted[0])
    mains = [request for request in implied.requests if not request.nested]
    return (implied, mains[0]) if len(mains) == 1 else (implied, None)


def _named_after(rest: Sequence[Mention], catalogue: Catalogue) -> str | None:
    """Return the kind of thing that has the asked-for name: "find oak in the yard"."""
    found = {
        value.entity
        for mention in rest
        for value in mention.values
        if (attribute := catalogue.attribute(value)).equal is not None
        and (
            (attribute.shape.kind == "name" and attribute.shape.gazetteer)
            or _is_plural(mention)
            or _is_each(mention, rest)
        )
        and attribute.shape.kind not in ("place", "person", "organisation")
    }
    if not found:
        codes = [m.what.text for m in rest if isinstance(m.what, Code)]
        found = {owner for code in codes if (owner := Linker(catalogue).owner(code)) is not None}
    return next(iter(found)) if len(found) == 1 else None


def _is_plural(mention: Mention) -> bool:
    """Whether a value is used as a noun: several of what has it."""
    last = mention.text.split()[-1]
    return words.fold(last) != words.key(last) and words.fold(last).endswith("s")


def _is_each(mention: Mention, rest: Sequence[Mention]) -> bool:
    """Whether "each" or "every" stands before it, as before a noun."""
    return any(m.does(WordClass.EACH) and m.end == mention.first for m in rest)


def _is_told(computation: Computation) -> bool:
    """Whether the measure itself tells the thing that it is of."""
    measure = computation.measure
    return bool(getattr(measure, "columns", ()) or getattr(measure, "having", ()))


def _asks_whether(mentions: Sequence[Mention]) -> bool:
    first = mentions[0] if mentions else None
    if first is None:
        return False
    if any(m.text.casefold() in ("whether", "if") for m in mentions):
        return True
    return first.text.split()[0].casefold() in _WHETHER and not first.does(WordClass.READ)
