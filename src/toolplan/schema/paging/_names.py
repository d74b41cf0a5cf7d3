"""The names that public APIs give to page arguments and to the fields that describe a page.

All names are folded: letters and digits only, in lower case (`page[size]`, `$top`, `pageSize`).
A weak name also means other things, and counts only beside another sign of pages.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """Return `name` in lower case, without anything but letters and digits."""
    return "".join(char for char in name.lower() if char.isalnum())


def _table(text: str) -> frozenset[str]:
    return frozenset(text.split())


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
SUMMED: Final = _table(
    "lines lineitems orderlines positions payments charges prices amounts costs fees scores points"
)
"""Lists beside which a total may be their sum."""
TOTALS: Final = _table(
    """
    totalcount totalresults totalitems totalrecords totalrows totalhits totalelements totalsize
    totalentries totalmatches totalobjects totalnumber totalnum totalmatching nbhits numfound
    resulttotal hitcount totalavailable odatacount totalresultscount totalrecordcount xtotalcount
    totalnumberofresults totalitemcount totalrowcount totalfound resultstotal itemstotal
    totalresultsavailable nitems
    """
)
WEAK_TOTALS: Final = _table("total")
COUNTS: Final = _table(
    """
    count found matched recordcount itemcount rowcount numresults numberofresults
    estimatedtotalhits estimatedtotal estimatedcount approximatecount of outof
    """
)
"""More than the rows of the page is a sign of more; as many may be the size of the page."""

REMAINDERS: Final = _table("remainingitemcount remainingcount remainingitems remainingresults")
WEAK_REMAINDERS: Final = _table("remaining omitted")
PAGE_COUNTS: Final = _table(
    "totalpages pagecount nbpages numpages numberofpages totalpagecount pagestotal lastpage maxpage"
)
WEAK_PAGE_COUNTS: Final = _table("pages")
MORE: Final = _table(
    """
    hasmore hasnext hasnextpage hasmoreresults hasmorepages hasmoreitems hasmoredata hasmorerecords
    moreresults moreavailable moredata moreresultsavailable istruncated incompleteresults moreitems
    moreitemsincollection moretofollow hasmorerows morerecords truncated resultstruncated
    wastruncated partialresults partialresult resultsincomplete exceededtransferlimit
    """
)
WEAK_MORE: Final = _table(
    """
    more next partial ispartial incomplete isincomplete capped limitreached limitexceeded limithit
    cutoff
    """
)
LAST: Final = _table("islast islastpage endoflist isfinalpage nomore allreturned endofresults")
WEAK_LAST: Final = _table(
    """
    last done complete finished lastpage eof end iscomplete isdone exhausted isexhausted isfinished
    """
)
NEXT: Final = _table(
    """
    nextcursor nextpagetoken nexttoken nextpage nextlink nexturl nexturi nextpageuri nextpageurl
    nextpagelink odatanextlink nextrecordsurl nextmarker nextcontinuationtoken continuationtoken
    lastevaluatedkey nextoffset nextstart nextstartkey nextpageindex nextpagenumber nextkey
    nextpagecursor nextset nextresults resumptiontoken paginationtoken nextpath nextstartingafter
    startingafter nexthref nextpageoffset
    nextpagestart nextpagenum nextbatch nextindex nextposition nextskip endcursor nextpageid nextid
    nextrange nextfrom continuefrom
    """
)
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
    | MORE | WEAK_MORE | LAST | WEAK_LAST | NEXT | LIMITS | PAGES | OFFSETS | CURSORS | ABOUT_PAGES
    | _table("ok success status query took kind object size limit next previous prev")
    | _table("showing shown displayed returned note message summary info")
)  # fmt: skip
"""Fields beside a list in an object that says only how much of the list it holds."""
