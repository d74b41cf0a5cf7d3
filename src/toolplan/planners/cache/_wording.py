"""Wordings that change nothing, and words that are said in several ways.

This is the whole of what the cache takes for harmless. A word that does not stand here, and that no
tool's hints make known, must be the same in both questions, at the same place.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolplan.planners.grounded.language.words import SKIPPED_INSIDE, keys
from toolplan.planners.grounded.parse.mentions import Mention


def said(text: str) -> str:
    """Return `text` as its words are compared here: keys, without the articles inside.

    >>> said("List of the"), said("going to")
    ('list of', 'going to')
    """
    parts = keys(text)
    return " ".join((*parts[:1], *(part for part in parts[1:] if part not in SKIPPED_INSIDE)))


def _phrases(text: str) -> frozenset[str]:
    return frozenset(said(phrase) for phrase in text.split("|"))


WEIGHTLESS: Final = _phrases(
    "a|an|the|all|all of|any|some|me|us|i|we|you|our|do|does|did|for me|for us|to me|to us|we have"
    "|do we have|did we have|you have|have we|i have|we had|i had|on file|in the system"
    "|in our system|in the database"
)
"""Articles, and who asks: they may stand anywhere but behind a number or a superlative."""

POLITE: Final = _phrases(
    "please|kindly|can|could|will you|would|would like|would like to|like to|want|want to|wish to"
    "|need|need to|i'd|let|let us|hi|hello|hey|thanks|thank you|so|ok|okay|actually|simply|quickly"
    "|know|to know|interested in|curious"
)
"""What a request is wrapped in: before everything else, or at the very end."""

BEING: Final = _phrases("is|are|was|were|been|being|be|have been|has been|had been|'s|'re")
EXISTING: Final = _phrases("are there|is there|were there|was there")
ASKING: Final = _phrases(
    "which|what|what's|what are|what were|which of|which ones|which are|list of"
)
"""What opens a question for things; behind the opening only which, that and what of them."""
RELATIVE: Final = _phrases("which|that|which are|which were|what")
SHOWING: Final = _phrases(
    "get|show|list|give|find|fetch|retrieve|display|see|view|look up|pull|pull up|bring|bring up"
    "|return|provide|tell|search for|look for|looking for|searching for|list out|enumerate"
)
"""Verbs that open a request and ask for nothing but the things themselves."""

WHETHER: Final = frozenset(
    ["is", "are", "was", "were", "has", "have", "had", "did", "do", "does", "isn't", "aren't"]
)
"""What a question opens with that is to be answered by yes or no."""

NOW: Final = _phrases("currently|right now|now|still")
"""Said of a state that things are in, it says nothing more."""

HAPPENING: Final = _phrases(
    "found|find|detected|detect|discovered|identified|done|performed|conducted|carried out"
    "|take place|took place|occurred|happened|happen|occur"
)
"""Verbs that only say that there was what is spoken of."""

DOING: Final = frozenset(
    ["containing", *_phrases("carried|handle|handled|transport|transported|make|made")]
)
"""Verbs that only tie a thing to whoever did it."""

MOVING: Final = _phrases("going|go|went|coming|come|came|sent|originating|shipped|transported")
"""Verbs that say no more than the "from" or "to" behind them."""

NEUTRAL_CUES: Final = frozenset(["of", "in", "by", "have", "at", "containing"])
"""What may stand before a value that can be meant of one attribute only."""

_CANONICAL: Final[Mapping[str, str]] = MappingProxyType(
    {
        variant: name
        for name, text in {
            "and": "and|&|as well as",
            "count": "how many|number of|count of|count|total number of|how many of",
            "mean": "average|mean|avg",
            "sum": "total|sum|sum of",
            "share": "percentage|share|proportion|fraction|percent|percentage of",
            "have": "have|has|had|having|with",
            "from": "from|coming from|originating from|sent from",
            "to": "to|going to|sent to|bound for|destined for|headed to|headed for",
            "in": "in|located in|based in|situated in",
            "by": "by|handled by|carried by|done by|made by",
            "containing": "containing|contain|carrying|carry",
            "per": "per|grouped by|group by|broken down by|split by|for each|of each|by each|each"
            "|for every|in each",
            "above": "over|more than|above|greater than|exceeding|exceed|larger than|bigger than"
            "|heavier than|higher than|longer than|in excess of|>",
            "below": "under|less than|below|smaller than|lighter than|lower than|shorter than|<",
            "latest": "latest|newest|most recent|last",
            "oldest": "oldest|earliest",
            "largest": "largest|biggest",
        }.items()
        for variant in _phrases(text)
    }
)


def canonical(phrase: str) -> str:
    """Return the one name of all phrases that say what `phrase` says, as `said` gives it.

    >>> canonical("how many"), canonical("count of"), canonical("at most")
    ('count', 'count', 'at most')
    """
    return _CANONICAL.get(phrase, phrase)


def is_plural(mention: Mention) -> bool:
    """Whether its last word is in the plural."""
    last = mention.text.replace("-", " ").split()[-1:]
    return tuple(word.casefold() for word in last) != keys(" ".join(last))
