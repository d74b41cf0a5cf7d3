"""Why words were not understood, where there is more to say than that, and what to ask instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from toolplan.planners.grounded.build.drafts import Outcome
from toolplan.planners.grounded.build.ledger import breaks_off
from toolplan.planners.grounded.catalogue.connections import shows_column
from toolplan.planners.grounded.catalogue.kinds import Attribute, Catalogue, Kind
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.parse.linker import Linker
from toolplan.planners.grounded.parse.mentions import Code, Mention, Name, Quoted

_NAMED: Final = ("place", "person", "organisation", "name")
"""What a name may be the value of."""


def explain(found: Outcome, mentions: Sequence[Mention], catalogue: Catalogue) -> None:
    """Add to `found` the reasons and options for what it leaves unexplained."""
    if (last := breaks_off(mentions)) is not None:
        found.reject([last], f'the question breaks off after "{last.text}"')
    # a mention may have fewer readings by now than the one that was read, but it has its place
    places = {mention.first: at for at, mention in enumerate(mentions)}
    for mention in dict.fromkeys(found.unexplained):
        at = places.get(mention.first)
        if at is None:
            continue
        if mention.does(WordClass.TOP):
            found.reject((), f'say by which figure: "{mention.text} … by …"')
        elif mention.does(WordClass.HOW_MUCH):
            _measures(found, mentions[at + 1 :], catalogue)
        elif isinstance(mention.what, Name | Quoted):
            _arguments(found, mentions, at, catalogue)
        elif isinstance(mention.what, Code) and at > 1 and mentions[at - 1].cue == "of":
            _missing(found, mentions[at - 2], mention.text, catalogue)


def _missing(found: Outcome, column: Mention, code: str, catalogue: Catalogue) -> None:
    """Say that the thing with the identity `code` has no such column."""
    owner = Linker(catalogue).owner(code)
    kind = None if owner is None else catalogue.kinds[owner]
    if column.columns and kind is not None and not shows_column(kind, column.columns, column.text):
        found.reject((), f'{code} has no "{column.text}" of its own')


def _measures(found: Outcome, behind: Sequence[Mention], catalogue: Catalogue) -> None:
    """Say in which figures the data measure what "how much" is asked of."""
    stuff = next((m for m in behind if m.values), None)
    if stuff is None:
        return
    kinds = [catalogue.kinds[entity] for entity in {value.entity for value in stuff.values}]
    figures = [name for kind in kinds for name in _figures(kind)]
    known = f"only {_either(figures)}" if figures else "no figure"
    found.reject((), f'the data have {known} of "{stuff.text}"')


def _figures(kind: Kind) -> list[str]:
    columns = (a for a in kind.attributes.values() if a.column is not None and a.shape.is_number)
    return [f"{words_of(a)} in {a.shape.unit}" if a.shape.unit else words_of(a) for a in columns]


def _arguments(found: Outcome, mentions: Sequence[Mention], at: int, catalogue: Catalogue) -> None:
    """Offer the arguments that could take a name that is not known."""
    noun = _noun_of(mentions, at)
    kind = catalogue.kinds[noun.nouns[0]] if noun is not None else None
    if noun is None or kind is None:
        return
    takers = [
        attribute
        for attribute in kind.attributes.values()
        if attribute.equal is not None
        and attribute.shape.is_text
        and attribute.shape.kind in _NAMED
        and not (attribute.shape.enum or attribute.shape.ref)
    ]
    if not takers:
        return
    name = mentions[at].text
    found.reject((), f'is "{name}" the {_either(map(words_of, takers))}?')
    said = found.draft.question.split()
    first, last = mentions[at].words
    if at > 0 and mentions[at - 1].cue is not None and mentions[at - 1].end == mentions[at].first:
        first = mentions[at - 1].words[0]
    kept = [(n, word) for n, word in enumerate(said) if not first <= n <= last]
    behind = noun.words[1] if last < noun.words[0] else first - 1
    for taker in takers:
        put = [word for n, word in kept if n <= behind]
        rest = [word for n, word in kept if n > behind]
        found.options.append(" ".join([*put, f"with {words_of(taker)} {name}", *rest]))


def _noun_of(mentions: Sequence[Mention], at: int) -> Mention | None:
    """Return the noun that a name stands right before, or else the one before it."""
    if at + 1 < len(mentions) and mentions[at + 1].nouns:
        return mentions[at + 1]
    return next((m for m in reversed(mentions[:at]) if m.nouns), None)


def words_of(attribute: Attribute) -> str:
    """Return the name of `attribute` in plain words, without its unit."""
    parts = attribute.name.split("_")
    if len(parts) > 1 and words.key(parts[-1]) in words.UNITS:
        parts.pop()
    return " ".join(parts)


def _either(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
