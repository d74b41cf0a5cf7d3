"""Pages of lists: the tools that give their list in pages, and facts in a page about the rest."""

from toolplan.schema.paging._arguments import Argument, Paging, may_give_pages, paging_of
from toolplan.schema.paging._pager import PageError, Pager
from toolplan.schema.paging._results import (
    Page,
    Verdict,
    begins_later,
    is_cut,
    names_next,
    next_link,
    page_of,
    total_in_words,
    verdict_on,
)

__all__ = [
    "Argument",
    "Page",
    "PageError",
    "Pager",
    "Paging",
    "Verdict",
    "begins_later",
    "is_cut",
    "may_give_pages",
    "names_next",
    "next_link",
    "page_of",
    "paging_of",
    "total_in_words",
    "verdict_on",
]
