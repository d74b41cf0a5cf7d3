"""The names that public APIs give to page arguments and to the fields that describe a page.

All names are folded: letters and digits only, in lower case (`page[size]`, `$top`, `pageSize`).
A weak name also means other things, and counts only beside another sign of pages. Names in results
are put together of a few words (`total_ticket_count`, `nextPageToken`), and are patterns of them.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache
from typing import Final


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """Return `name` in lower case, without anything but letters and digits."""
    return "".join(char for char in name.lower() if char.isalnum())


def _table(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Names:
    """The names that one of `patterns` matches as a whole."""

    def __init__(self, *patterns: str) -> None:
        self._patterns = patterns
        self._matches = lru_cache(maxsize=1024)(re.compile("|".join(patterns)).fullmatch)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._matches(name) is not None

    def __or__(self, other: Names | Set[str]) -> Names:
        return Names(*self._patterns, *(other._patterns if isinstance(other, Names) else other))

    __ror__ = __or__


# Arguments

LIMITS: Final = _table(
    """
    limit maxresults maxitems maxrecords maxrows maxentries maxhits maxkeys maxcount maxreturn
    maxnumber maxnumberofresults maxresultcount maxlistentries perpage pagesize pagelimit pagelength
    itemsperpage resultsperpage hitsperpage rowsperpage recordsperpage entriesperpage resultlimit
    resultslimit rowlimit recordlimit itemlimit querylimit listlimit numresults numrows numitems
    numrecords numberofresults numberofitems nresults top take topk fetchsize resultsize
    resultsetsize maximumresults resultcount resultspage limitcount maxpagesize pagelen retmax
    """
)
WEAK_LIMITS: Final = _table(
    "count size rows first n k num number max length last batchsize quantity results amount fetch"
)
OTHER_NUMBERS: Final = _table(
    """
    id ids uid key code number nr no year years month months week weeks day days date hour hours
    minute minutes second seconds timestamp version port zip age lat lon latitude longitude level
    min minimum price cost radius distance km meters timeout ttl depth page offset skip
    """
)
"""Last words of arguments whose number is no number of rows."""
PIECES: Final = _table("chunk block batch part slice segment section portion page pg p tranche")
"""Words in the names of arguments whose number may select a piece of the list."""
NUMBERS: Final = _table("number num nr no index")
PAGES: Final = _table("page pagenumber pagenum pageno pageindex currentpage pagenr")
WEAK_PAGES: Final = _table("p pg number index")
OFFSETS: Final = _table(
    """
    offset skip startat startindex startposition startrow startrecord firstresult resultoffset
    pageoffset rowoffset startoffset recordoffset skipcount listoffset retstart
    """
)
WEAK_OFFSETS: Final = _table("start from begin position index first")
CURSORS: Final = _table(
    """
    cursor pagetoken nexttoken nextpagetoken continuationtoken continuation startingafter
    starttoken startingtoken nextcursor pagecursor aftercursor paginationtoken skiptoken
    nextmarker startcursor scrollid pageinfo exclusivestartkey exclusivestartid resumptiontoken
    startkey startafter pagemarker cursortoken afterid nextpagecursor paginationcursor
    nextpageid pageafter
    """
)
WEAK_CURSORS: Final = _table(
    "after start offset next token key continue marker bookmark scroll position page from since"
)
CURSOR_WORDS: Final = (WEAK_CURSORS - {"key", "from"}) | _table(
    "cursor continuation anchor resume seek iterator checkpoint"
)
"""Words in the name of an argument that takes a place in a list."""
ENDS: Final = _table(
    """
    to end until stop finish before endtime enddate todate totime endat stoptime endindex
    destination recipient
    """
)
"""Arguments beside which `start`, `from` and the like begin a range and not a page."""

GROUPS: Final = _table("pagination paging page options params query input variables request body")
"""Objects among the arguments in which page arguments stand."""

# Results

ROWS: Final[tuple[str, ...]] = (
    "data", "items", "results", "records", "rows", "value", "values", "entries", "list", "result",
    "objects", "hits", "resources", "content", "elements", "edges", "nodes", "collection",
    "matches", "documents", "docs", "response",
)  # fmt: skip
NOT_ROWS: Final = _table(
    """
    errors warnings links included facets aggregations meta columns headers filters breadcrumbs
    notices schema tags labels suggestions sort sortby facetcounts messageswarnings expand
    """
)
OF_TABLES: Final = _table("columns headers fields schema warnings errors notices messages links")
"""Lists that describe the rows of another list."""
SUMMED: Final = _table(
    "lines lineitems orderlines positions payments charges prices amounts costs fees scores points"
)
"""Lists beside which a total may be their sum."""
NOUN: Final = (
    "(?:results?|items?|rows?|records?|entries|hits?|elements?|objects?|documents?|match(?:es)?)"
)
_COUNT: Final = "(?:count|number|num|nb|n|size|of)"
LEFT: Final = (
    "remaining", "remainder", "left", "leftout", "omitted", "hidden", "dropped", "truncated",
    "more", "additional", "further",
    *(no + shown for no in ("not", "un") for shown in ("shown", "returned", "listed", "displayed")),
)  # fmt: skip
"""Words for the rows that are not there."""
_LEFT: Final = f"(?:{'|'.join(LEFT)})"
TOTALS: Final = Names(
    rf"x?total(?:{_COUNT}|{NOUN}|available|found|matching)+", rf"{NOUN}total",
    "nbhits", "numfound", "hitcount", "odatacount", "nitems",
)  # fmt: skip
WEAK_TOTALS: Final = Names("totals?")
COUNTS: Final = Names(
    f"counts?|all|overall|available|found|match(?:ed|ing)|matched{_COUNT}|of|outof"
    f"|{NOUN}{_COUNT}?|(?:num|numberof)results"
    "|estimatedtotalhits|(?:estimated|approximate)(?:total|count)"
)
"""More than the rows of the page is a sign of more; as many may be the size of the page."""

REMAINDERS: Final = Names(rf"remaining{NOUN}?(?:count|items|results)")
WEAK_REMAINDERS: Final = Names(rf"{_COUNT}*{NOUN}?{_LEFT}{NOUN}?{_COUNT}*")
PAGE_COUNTS: Final = Names(
    "(?:total|num|nb|numberof)pages", "(?:total)?pagecount", "pagestotal", "(?:last|max)page"
)
WEAK_PAGE_COUNTS: Final = Names("pages")
MORE: Final = Names(
    rf"(?:has)?more(?:{NOUN}|pages|data)(?:available|incollection)?", "hasmore", "moreavailable",
    "hasnext(?:page)?", "moretofollow", "(?:is|was|results?)?truncated", "exceededtransferlimit",
    "incompleteresults|resultsincomplete|partialresults?",
)  # fmt: skip
WEAK_MORE: Final = Names(
    "more|next|capped|cutoff", "(?:is)?(?:partial|incomplete)", "limit(?:reached|exceeded|hit)"
)
PAGES_LEFT: Final = Names(f"{_LEFT}pages?|pages?{_LEFT}")
"""Numbers of pages that follow."""

LAST: Final = Names("islast(?:page)?|isfinalpage|endof(?:list|results)|nomore|allreturned")
WEAK_LAST: Final = Names("(?:is)?(?:last|done|complete|finished|exhausted)", "lastpage|eof|end")
NEXT: Final = Names(
    "(?:odata)?next(?:page|records|continuation|starting|start)*(?:cursor|token|link|ur[il]|path"
    "|href|marker|key|index|id|num(?:ber)?|offset|start|position|skip|range|from|after)",
    "next(?:page|batch|set|results)", "startingafter|endcursor",
    "(?:continuation|pagination|resumption)token", "lastevaluatedkey|continuefrom",
)  # fmt: skip
OBJECT_CURSORS: Final = _table(
    "lastevaluatedkey nextkey nextcursor nextpagekey resumekey paginator"
)
"""Objects that are a cursor as a whole; empty or null: there is no further page."""
WEAK_NEXT: Final = _table(
    "next cursor continue after offset token scrollid bookmark pagetoken marker pageinfo"
)
"""Names of a next cursor in an object about pages, or where an argument has the same name."""

IN_NEXT: Final = _table(
    "after offset href uri url cursor page token startingafter pagetoken start marker link"
)
"""Names in an object `next` or `next_page`."""

ABOUT_PAGES: Final = _table(
    """
    meta metadata pagination paging page pageinfo pages resultinfo responsemetadata links cursors
    paginginfo searchmetadata hits resultset pageable pagedata listmeta paginator odata cursor
    """
)
"""Objects that describe the page in which they stand."""

OF_ENVELOPES: Final = (
    TOTALS | WEAK_TOTALS | COUNTS | REMAINDERS | WEAK_REMAINDERS | PAGE_COUNTS | WEAK_PAGE_COUNTS
    | PAGES_LEFT | MORE | WEAK_MORE | LAST | WEAK_LAST | NEXT | LIMITS | PAGES | OFFSETS | CURSORS
    | ABOUT_PAGES
    | _table("ok success status query took kind object size limit next previous prev")
    | _table("showing shown displayed returned note message summary info")
)  # fmt: skip
"""Fields beside a list in an object that says only how much of the list it holds."""

PLACES: Final = Names(
    f"(?:from|to|start|end|begin|stop|first|last|position|index|current|per|at|{_COUNT}|page"
    "|shown|showing|displayed|returned|listed)+"
)
"""Such fields where they are numbers: they say which rows the list holds."""

NOTES: Final = Names(".*(?:notes?|messages?|msg|info|summary|warnings?|notices?|hints?|details?)")
"""Texts about a result."""
