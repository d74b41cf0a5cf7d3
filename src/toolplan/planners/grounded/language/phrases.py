"""English that belongs to no domain: the phrases that every question is held together by.

Each phrase has all the classes that it may be of; the parser decides in each place.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from toolplan.planners.grounded.language.words import spellings, word_set


class WordClass(StrEnum):
    """What a word of general English does in a question."""

    FILLER = "filler"
    """explains itself: articles, politeness, pronouns of the asker"""
    WHICH = "which"
    DETAIL = "detail"
    """records, details, information: says nothing that the thing itself does not say"""
    AND = "and"
    OR = "or"
    COMMA = "comma"
    STOP = "stop"
    THEN = "then"
    NOT = "not"
    WITHOUT = "without"
    THEIR = "their"
    """points back at what was spoken of before"""
    EACH = "each"
    RELATIVE = "relative"
    BE = "be"
    HAVE = "have"
    LINK = "link"
    """a verb that only says that two things belong together"""
    CUE = "cue"
    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    COUNT = "count"
    HOW_MUCH = "how much"
    HOW_LONG = "how long"
    STATISTIC = "statistic"
    RATE = "rate"
    HIGHEST = "highest"
    LOWEST = "lowest"
    WORST = "worst"
    MOST = "most"
    FEWEST = "fewest"
    EXTREME = "extreme"
    """a superlative that names its measure itself: `heaviest`"""
    LATEST = "latest"
    OLDEST = "oldest"
    FIRST = "first"
    TOP = "top"
    LIMIT = "limit"
    BY = "by"
    PERIOD = "period"
    EACH_PERIOD = "each period"
    TREND = "trend"
    COMPARE = "compare"
    RANK = "rank"
    SORTED = "sorted"
    DESCENDING = "descending"
    ASCENDING = "ascending"
    UNIT = "unit"
    """a unit without a number: "how many tonnes" """
    FULL = "full"
    """says that a share is one of what something can hold"""
    ABOVE = "above"
    BELOW = "below"
    BETWEEN = "between"
    EXACTLY = "exactly"


_PHRASES: Final[dict[WordClass, str]] = {
    WordClass.FILLER: """
        the|a|an|all|all of|any|some|every one of|please|kindly|me|us|i|we|you|my|our|can|could
        |will you|would|do|does|did|want|want to|would like|would like to|need|need to|like to
        |wish to|there|only|just|also|too|both|hi|hello|hey|thank|thank you|so|ok|okay|let|let us
        |currently|now|right now|one|one|actually|simply|quickly|again|am|be able to|able to
        |i'd|help|for me|for us|to me|to us|at all|exactly which|full|entire|whole|overall
        |in total|altogether|overall|respectively|well|already|ever|yet|out|up|then please
        |total number|whether|if|it true that|such|kind of|a total of|in the system
        |in our system|on file|in the database|we have|do we have|did we have|you have|have we
        |i have|we had|are there|were there|is there|was there|know|to know|wonder|wondering
        |interested in|curious|about|regarding|concerning|different|distinct|unique|anything
        |in term of|on record|on the book|pls|plz|thx|here|or not ?|exist or not ?|all of them
        |separately|exactly|yes or no|at the moment|so please|of our
    """,
    WordClass.WHICH: "which|what|what's|who|what are|what were|which of|which one|what kind of",
    WordClass.DETAIL: """
        detail|record|data|entry|entry|information|info|item|full detail|detail about
        |list of|list|listing|complete list|complete list of|complete overview|complete record
        |complete history|complete detail|history|overview|summary|row|result|id|identifier
        |with id|with the id|has id|having id|whose id is|with identifier|report on|breakdown of
    """,
    WordClass.AND: """
        and|as well as|plus|along with|together with|but|and also|&|in addition to|while|versus|vs
    """,
    WordClass.OR: "or|and/or|/",
    WordClass.COMMA: ",|;|:",
    WordClass.STOP: ".|?|!",
    WordClass.THEN: (
        "then|and then|after that|afterward|next|finally|followed by|, then|subsequently"
        "|->|=>|→|, next|, finally|and finally|, and finally"
    ),
    WordClass.NOT: "not|never|non|n't|cannot",
    WordClass.WITHOUT: """
        without|no|lacking|free of|free from|except|except for|excluding|other than|apart from
        |outside|outside of|not including|aside from|having no|with no|have no|has no|had no
        |minus|anywhere but|everywhere but|anywhere except|everywhere except|anywhere other than
        |anything but|everything but|all but
    """,
    WordClass.THEIR: """
        their|its|them|those|these|they|it|related|associated|corresponding|respective|same
        |in them|of them|for them|to them|from them|on them|belonging to them|each of them|thereof
        |each of those|each of these|for each of them|linked|matching|in each|inside|inside them
        |therein|within them|in it|on board
    """,
    WordClass.EACH: "each|every|for each|for every|for all|per each",
    WordClass.RELATIVE: """
        that|whose|where|such that|which are|which were|who|in which|at which|on which|to which
        |from which|for which|of which|by which|during which
    """,
    WordClass.BE: """
        is|are|was|were|been|being|be|have been|has been|had been|got|remain|stay|'s|'re
        |have gotten|marked|marked as|flagged|flagged as|classified as|rated|labeled
        |considered|still|listed as|recorded as|turned out|came back|come back|equal|equal|=
    """,
    WordClass.HAVE: "have|has|had|having|with",
    WordClass.LINK: """
        found|find|detected|detect|contain|contained|containing|include|included|including
        |involve|involved|involving|received|receive|receiving|handle|handled|handling
        |process|processed|processing|carry|carried|carrying|transport|transported|transporting
        |make|made|do|done|performed|conducted|carried out|take place|took place|happen|happened
        |occur|occurred|recorded|registered|logged|reported|seen|discovered|identified|spotted
        |held|exist|existing|known|available|located|situated|based|belong|belonging|come|coming
        |came|go|going|went|sent|arriving|originating|associated with|related to|linked to
        |tied to|connected to|connected with|attached to|measured|observed|present|given
        |took|taken|undergo|underwent|carried out on|brought|run|dated|ship|shipped|deliver|stored
        |moved|weigh|weighed|weighing|lasting|lasted|cost|costing|measuring
        |responsible|responsible for|behind|assigned|assigned to|turn up|turned up|come up|came up
        |show up|showed up|ended|resulted|resulting|ended with|end with|say|said|taken by|appear
        |appeared
        |account for|accounted for|issued|provided|offered|produced|generated|saw|see|used|got
    """,
    WordClass.CUE: """
        in|at|from|to|by|for|of|on|with|within|into|near|through|via|under|during|over|inside
        |toward|toward|bound for|coming from|going to|sent to|arriving at|between|named|called
        |against|across|among|as|around|handled by|carried by|done by|made by|located in|based in
        |situated in|delivered to|destined for|headed to|headed for|originating from|belonging to
        |onto|behind
    """,
    WordClass.READ: """
        get|show|list|give|find|fetch|retrieve|display|see|view|look|look up|look at|check|check for
        |check on|tell|search|search for|look for|looking for|searching for|pull|pull up|bring
        |bring up|return|provide
        |analyze|analysis of|analyze|review|examine|investigate|explore|query|read|present
        |summarize|summary of|overview of|identify|locate|select|obtain|report
        |calculate|compute|determine|work out|figure out|count up|study|assess
        |name|go through|take a look at|have a look at|get hold of|an overview of|list out|enumerate
    """,
    WordClass.CREATE: """
        create|add|register|insert|create new|add new|register new|enter|file|log|submit
    """,
    WordClass.UPDATE: "update|change|set|mark|modify|edit|adjust|switch|amend",
    WordClass.DELETE: """
        delete|remove|cancel|erase|drop|purge|wipe|destroy|discard|deleted|removed|deleting
        |removing|canceled|canceling|cancellation of|get rid of|deletion|deletion of|removal
        |removal of|erasing|purging|wiping|trash|clear out|throw away|eliminate|truncate|reset
    """,
    WordClass.COUNT: """
        how many|number of|count of|count|the number of|total number of|total count of|how many of
        |how often|tally|tally of|total count|number
    """,
    WordClass.HOW_MUCH: "how much",
    WordClass.HOW_LONG: "how long",
    WordClass.STATISTIC: """
        average|mean|avg|total|sum|sum of|maximum|max|minimum|min|median|typical|combined|overall
        |summed|averaged
    """,
    WordClass.RATE: """
        rate|percentage|share|proportion|portion|fraction|percent|ratio|percentage of|%
    """,
    WordClass.HIGHEST: "highest|largest|biggest|greatest|maximal|higher",
    WordClass.WORST: "worst",
    WordClass.LOWEST: "lowest|smallest|least|minimal|lower|bottom",
    WordClass.MOST: """
        most|most often|most frequently|highest number of|largest number of|most common
        |most frequent|greatest number of|highest count of
    """,
    WordClass.FEWEST: "fewest|least often|lowest number of|smallest number of",
    WordClass.EXTREME: """
        heaviest|lightest|longest|shortest|largest|biggest|smallest|most expensive|cheapest
    """,
    WordClass.LATEST: """
        latest|newest|most recent|last|most recently|last time|last time that|last time when
    """,
    WordClass.OLDEST: "oldest|earliest",
    WordClass.FIRST: "first|first time|first time that|first time when",
    WordClass.TOP: "top|best|top most",
    WordClass.LIMIT: """
        limit|limit of|limited to|limit to|maximum of|at most|up to|no more than|max|not more than
    """,
    WordClass.BY: """
        by|grouped by|broken down by|group by|split by|per|for each|in each|of each|by each|across
        |at each|for every|for the different|across the different|split up by|according to
        |depending on|across all|by the|from each|on each|for each of the|among
    """,
    WordClass.PERIOD: "day|week|month|quarter|year|weekday|day of the week|day of week",
    WordClass.EACH_PERIOD: """
        daily|weekly|monthly|quarterly|yearly|annual|day by day|week by week|month by month
        |week over week|month over month|day over day|year over year
    """,
    WordClass.TREND: """
        over time|trend|trend in|trend of|trend in|development of|evolution of|time series of
        |trending|trend for
    """,
    WordClass.COMPARE: (
        "compare|comparison of|compare the|comparing|versus|vs|compared to|compared with"
    ),
    WordClass.RANK: "rank|ranked by|ranking of|rank by",
    WordClass.SORTED: """
        sort|order|arrange|sort by|sorted by|ordered by|order by|sorted on|arranged by|sort them by
        |sort it by|sorted according to|in order of|sorted from|ordered from
    """,
    WordClass.DESCENDING: """
        descending|desc|in descending order|decreasing|in decreasing order|highest first
        |largest first|biggest first|heaviest first|longest first|most first|newest first
        |latest first|most recent first|from highest to lowest|from high to low|highest to lowest
        |from largest to smallest|largest to smallest|from heaviest to lightest
        |from newest to oldest|newest to oldest|in reverse order
    """,
    WordClass.ASCENDING: """
        ascending|asc|in ascending order|increasing|in increasing order|lowest first
        |smallest first|lightest first|shortest first|oldest first|earliest first
        |from lowest to highest|from low to high|lowest to highest|from smallest to largest
        |smallest to largest|from lightest to heaviest|from oldest to newest|oldest to newest
    """,
    WordClass.FULL: """
        full|filled|loaded|utilized|utilized|occupied|used|of capacity|of its capacity
        |of their capacity|of the capacity|capacity|full capacity|utilization|utilization|in use
    """,
    WordClass.ABOVE: """
        over|more than|above|greater than|exceeding|exceed|larger than|bigger than|at least
        |heavier than|minimum of|a minimum of|no less than|not less than|upward of|>|>=|higher than
        |in excess of|longer than|beyond|or more|and above|and up|or higher|not under|not below
        |from at least|a minimum|min|minimum
    """,
    WordClass.BELOW: """
        under|less than|below|fewer than|smaller than|lighter than|up to|at most|<|<=|lower than
        |a maximum of|shorter than|no more than|not more than|or less|and below|or lower|not over
        |not above|maximum of|max|maximum
    """,
    WordClass.BETWEEN: "between|from",
    WordClass.EXACTLY: "exactly|precisely",
}

LEADING_IMPERATIVES: Final = word_set("""
    detect contain include involve receive handle process carry transport make do belong come go
    ship deliver run produce take record report move issue provide offer undergo
    """)
"""Verbs that only relate things within a sentence, but demand an action at its beginning."""

HOLDING: Final = frozenset(["have", "has", "had", "having", "contain", "contained", "containing"])
"""Verbs after which stands what a thing holds: "boxes that contain oak"."""

ASKING: Final = frozenset({"who", "where", "when"})

FINITE: Final = frozenset(["is", "are", "was", "were"])

AUXILIARIES: Final = frozenset(
    ["do", "does", "did", "will", "would", "can", "could", "shall", "should", "may", "might"]
)

EXTREMES: Final[Mapping[str, tuple[str, str, bool]]] = MappingProxyType(
    {
        "heaviest": ("heavy", "weight", True),
        "lightest": ("heavy", "weight", False),
        "longest": ("long", "length", True),
        "shortest": ("long", "length", False),
        "largest": ("large", "size", True),
        "biggest": ("large", "size", True),
        "smallest": ("large", "size", False),
        "most expensive": ("expensive", "price", True),
        "cheapest": ("expensive", "price", False),
    }
)
"""For each superlative: words of the column that it measures by, and whether most of it."""

DIMENSIONS: Final[Mapping[str, str]] = MappingProxyType(
    {"heavy": "mass", "long": "duration", "expensive": "money"}
)
"""The dimension in which an adjective measures."""


def _general_phrases() -> dict[tuple[str, ...], frozenset[WordClass]]:
    # the phrases are written as keys (`words.key`): making keys of them takes as long as all else
    found: dict[tuple[str, ...], frozenset[WordClass]] = {}
    for sort, text in _PHRASES.items():
        alone = frozenset((sort,))
        for phrase in text.split("|"):
            for each in spellings(tuple(phrase.split())):
                before = found.get(each)
                found[each] = alone if before is None else before | alone
    return found


PHRASES: Final[Mapping[tuple[str, ...], frozenset[WordClass]]] = MappingProxyType(
    _general_phrases()
)
"""Every general phrase, as keys, with what it may do."""

LONGEST: Final = max(map(len, PHRASES))
