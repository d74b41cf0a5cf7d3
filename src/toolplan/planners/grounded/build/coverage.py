"""The reply where there is no plan: the words that were not understood, and what they may mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from toolplan.diagnostics import near
from toolplan.path import Json
from toolplan.planners._base import Clarification, Refusal
from toolplan.planners.grounded.build.drafts import Outcome
from toolplan.planners.grounded.catalogue.kinds import Catalogue, Verb
from toolplan.planners.grounded.language.phrases import WordClass
from toolplan.planners.grounded.language.verbs import Action, words_of_destroying
from toolplan.planners.grounded.language.words import key
from toolplan.planners.grounded.parse.mentions import Code, Imperative, Mention, Name, Unknown

_MOST_OPTIONS: Final = 6


def refused_deletion(mentions: Sequence[Mention], catalogue: Catalogue) -> Refusal | None:
    """Refuse to delete where no tool deletes; None where the question deletes nothing."""
    if any(card.verb is Verb.DELETE for card in catalogue.cards.values()):
        return None
    for at, mention in enumerate(mentions):
        if not _destroys(mention):
            continue
        before = [m for m in mentions[max(at - 2, 0) : at] if not m.does(WordClass.FILLER)]
        if before and before[-1].does(WordClass.NOT, WordClass.WITHOUT):
            continue
        return Refusal(f'No tool deletes, as "{mention.text}" demands.')
    return None


def _destroys(mention: Mention) -> bool:
    match mention.what:
        case Imperative(action=Action.DESTROY, known=known):
            return not known
        case Unknown(text):
            return key(text) in words_of_destroying()
        case _:
            return mention.does(WordClass.DELETE) and not mention.readings


def clarification(found: Outcome, catalogue: Catalogue, partial: Json) -> Clarification:
    """Ask about what keeps `found` from being a plan; `partial` is what was understood."""
    left = sorted(set(found.unexplained), key=lambda mention: mention.first)
    # a word that only depends on an unknown one is not itself unknown
    unknown = [m for m in left if isinstance(m.what, Unknown | Name | Code | Imperative)]
    unknown = unknown or [m for m in left if m.does(WordClass.WORST)] or left
    unexplained = tuple(dict.fromkeys(mention.text for mention in unknown))
    parts: list[str] = []
    impossible = dict.fromkeys(m.text for m in unknown if isinstance(m.what, Imperative))
    if impossible:
        parts.append(f"No tool can do this: {_listed(impossible)}.")
    if asked := [text for text in unexplained if text not in impossible]:
        parts.append(f"I did not understand: {_listed(asked)}.")
    if found.missing:
        parts.append(f"Please also give {_listed(found.missing)}.")
    parts.extend(_sentence(reason) for reason in found.reasons)
    if not found.draft.steps and not found.missing:
        things = [kind.plural for kind in catalogue.kinds.values() if kind.listing is not None]
        if things:
            parts.append(f"I can answer questions about {', '.join(things)}.")
    return Clarification(
        question=" ".join(parts),
        options=tuple(_options(unexplained, found, catalogue)),
        unexplained=unexplained,
        partial_plan=partial,
    )


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}{'' if reason.endswith('?') else '.'}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _options(unexplained: Sequence[str], found: Outcome, catalogue: Catalogue) -> list[str]:
    """Return words of the catalogue that look like the unexplained ones."""
    known = [" ".join(phrase) for phrase in catalogue.lexicon]
    options = dict.fromkeys(found.options)
    for text in unexplained:
        if len(text) > 3 and not any(text in option for option in found.options):
            options.update(dict.fromkeys(near(text, known)))
    if not options and not found.draft.steps:
        options.update(
            dict.fromkeys(k.plural for k in catalogue.kinds.values() if k.listing is not None)
        )
    return list(options)[:_MOST_OPTIONS]
