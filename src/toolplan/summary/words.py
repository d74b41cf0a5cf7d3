"""Words that may be capitalised at the start of a sentence or heading without being names.

The list is short on purpose: a missing word gets a mark too many, but a name in it gets none.
"""

from __future__ import annotations

from typing import Final


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text`."""
    return frozenset(text.split())


_OPENING: Final = """
    a about above across actions additionally after again against all almost along alongside already
    also although altogether among an analysis and another any apart approximately are around as
    aside at available average averages away
    based because before behind below beneath beside besides best better between beyond biggest both
    bottom breakdown brief but by
    caution changes check clear clearly combined commonly compared comparing comparison conclusion
    consequently consider considerations contact contrary conversely count counts current currently
    daily data date dates decisions dear despite detail detailed details did distribution do does
    due during
    each earlier earliest either elsewhere equally especially even every everything exact except
    excluding executive extremes
    few fewer fewest figures final finally findings first firstly focus follow for fourth from
    further furthermore
    generally given good greatest group grouped groups
    had half has have he hello hence her here hi high higher highest highlights his how however
    if important importantly improve in include includes including increase increases indeed
    information initially insight insights instead investigate investigation is it its
    just
    keep key
    large larger largest last lastly latest lead least less likewise limitations limited list long
    longer longest look looking low lower lowest
    mainly many maximum may mean meanwhile median method minimum monitor monitoring monthly more
    moreover most mostly much
    namely near nearly neither nevertheless next no nobody none nonetheless nor not notable notably
    note notes nothing notice now number numbers
    observation observations occurrences of on once one only open or order other others otherwise
    our out outliers outlook over overall overview own
    particularly patterns per percentage perhaps performance period please point points possible
    potential previous previously prioritise prioritize priority problem problems
    quarterly question questions quick quite
    range ranges ranked ranking rankings rate rates rather ratio reason reasons recent recently
    recommend recommendation recommendations recommended record records reduce regarding relevant
    remaining report request rest result results review reviewing risks roughly row rows
    same schedule scope second secondly see several share shares she short shorter shortest should
    shown significant significantly similar similarly since six slightly small smaller smallest so
    some source sources specifically spread statistics status still strengthen strong subject such
    suggest suggested suggestion suggestions sum summary
    table take takeaway takeaways ten than that the their them then there thereafter therefore these
    they third thirdly this those though three through throughout thus till to together tool tools
    top total totals towards track trend trends twice two typical typically
    under unfortunately unit units unknown unless unlike until up upcoming us use using
    value values verify very via
    want warning was watch we weak weekly well were what whatever when where whereas whether which
    while who whole why wide will with within without work worst worth would
    yearly yes yet you your
    i id ids ok

    act add address adjust agree align allocate analyse analyze apply arrange ask assess assign
    audit avoid begin break bring build call carry clarify clean close collect communicate confirm
    continue coordinate correct create cut decide define determine develop direct discuss divide
    encourage ensure escalate establish evaluate examine expand explain explore extend fewer find
    fix get give go help hold identify implement introduce invite know launch learn let
    limit make maintain measure meet move notify offer optimise optimize organise organize plan
    prepare prevent provide push put raise reach read rebalance redirect refer renegotiate repeat
    replace require reserve resolve retrain revisit run say schedule seek send separate set shift
    speak start stop study support take talk target tell test tighten train treat try turn update
    work write

    capacity cost costs customer customers demand half management month months non operator
    operators plans pre process processes quality quarter quarters safety staff supplier suppliers
    team teams time today tomorrow training volume volumes week weeks weight weights year years
    yesterday kpi kpis na tbd ytd
"""

ORDINARY: Final = word_set(_OPENING)
"""Words that may begin a sentence or be in a heading without being names."""

_SHORTENED: Final = ("n't", "'re", "'ve", "'ll", "'d", "'m")
_ENDINGS: Final = ("ly", "tion", "tions", "ment", "ments", "ness", "ance", "ence", "ising", "izing")
_SHORTEST: Final = 7


def is_ordinary(word: str) -> bool:
    """Return whether a capitalised `word` at the start of a sentence may be no name.

    >>> is_ordinary("Notably"), is_ordinary("Acme")
    (True, False)
    """
    folded = word.casefold().replace("’", "'").removesuffix("'s")
    if folded in ORDINARY or folded.endswith(_SHORTENED):
        return True
    return len(folded) >= _SHORTEST and word[1:].islower() and folded.endswith(_ENDINGS)
