"""Words that are nearly known: the question as it may have been meant, to be offered."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from toolplan.diagnostics import near
from toolplan.planners.grounded.build.drafts import Outcome
from toolplan.planners.grounded.catalogue.kinds import Catalogue, ColumnOf, Noun
from toolplan.planners.grounded.dates.words import MONTHS, WEEKDAYS
from toolplan.planners.grounded.language import words
from toolplan.planners.grounded.language.phrases import ASKING, PHRASES
from toolplan.planners.grounded.parse.mentions import Mention, Name, Unknown

_SHORTEST: Final = 3
_MOST_PHRASES: Final = 3_000
_UNITS: Final = ("day", "week", "month", "quarter", "year")
_OPPOSITES: Final = frozenset(
    {
        ("none", "one"), ("excluded", "included"), ("excluding", "including"),
        ("exclude", "include"), ("excludes", "includes"),
    }
)  # fmt: skip
_DENYING: Final = ("un", "non", "non-", "in", "im", "dis", "anti", "anti-")


def corrected(found: Outcome, catalogue: Catalogue) -> str | None:
    """Return the question with each unknown word replaced by the known one that looks like it.

    None where a word looks like none, or no word is unknown.
    """
    text = found.draft.question
    if len(catalogue.lexicon) > _MOST_PHRASES:
        return None  # comparing with each of them would take seconds
    unknown = dict.fromkeys(m for m in found.unexplained if isinstance(m.what, Unknown | Name))
    names = frozenset(
        name
        for kind in catalogue.kinds.values()
        for attribute in kind.attributes.values()
        for name in attribute.shape.gazetteer
    )
    capital = tuple(sorted({*names, *(month.title() for month in MONTHS)}))
    known = _known(frozenset(catalogue.lexicon), _singles(catalogue), names)
    for mention in unknown:
        better = _nearest(mention, capital if isinstance(mention.what, Name) else known)
        if better is None:
            return None
        text = re.sub(rf"(?<!\w){re.escape(mention.text)}(?!\w)", better, text, count=1)
    return text if unknown else None


def _nearest(mention: Mention, known: tuple[str, ...]) -> str | None:
    if len(mention.text) < _SHORTEST or " " in mention.text or words.fold(mention.text) in ASKING:
        return None
    found = near(mention.text, known, most=1)
    return found[0] if found and not _denies(mention.text, found[0]) else None


def _denies(word: str, known: str) -> bool:
    """Return whether `word` says the opposite of `known`: "undelivered" is no misspelling."""
    said, of = words.fold(word), words.fold(known)
    return (said, of) in _OPPOSITES or any(said == prefix + of for prefix in _DENYING)


def _singles(catalogue: Catalogue) -> frozenset[str]:
    """Return the words that also occur in the plural."""
    return frozenset(
        phrase[0]
        for phrase, readings in catalogue.lexicon.items()
        if len(phrase) == 1 and any(isinstance(each, Noun | ColumnOf) for each in readings)
    )


@lru_cache(maxsize=8)
def _known(
    phrases: frozenset[tuple[str, ...]], counted: frozenset[str], names: frozenset[str]
) -> tuple[str, ...]:
    said = {phrase[0] for phrase in (*phrases, *PHRASES) if len(phrase) == 1}
    several = {words.plural(word) for word in (*counted, *_UNITS)}
    every = said | several | set(_UNITS) | set(WEEKDAYS) | {month.title() for month in MONTHS}
    shown = {words.fold(name) for name in names}
    plain = {word for word in every if len(word) >= _SHORTEST and word not in shown}
    return tuple(sorted(plain | names))
