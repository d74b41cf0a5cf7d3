"""Statements of a result about its rows and further pages; conclusions from its number of rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.path import Json, Path
from toolplan.schema.paging import _names as names
from toolplan.schema.paging._facts import Facts, at, counted, facts_of, shape_of, truth, whole
from toolplan.schema.paging._names import folded

if TYPE_CHECKING:
    from toolplan.schema.paging._arguments import Paging

_STEP: Final = 10
_STATED_STEP: Final = 50
"""The largest page of a tool is a multiple of this; the second where the schema states a limit."""
NEARLY: Final = 20
"""A page with less than a twentieth of its rows missing may be a full page that was filtered."""


class Page(Struct, frozen=True):
    """The statements of one result about its rows and about others.

    None: not stated. `next` is the cursor of the next page or a link to it; `has_next` says
    whether there is one. `is_total_sure`: as many rows are all of them, and the value
    at `total_path` counts them. `is_at_least`: there may be more rows than `total`.
    """

    rows: int | None = None
    path: Path | None = None
    total: int | None = None
    is_total_sure: bool = False
    is_at_least: bool = False
    total_path: tuple[str, ...] = ()
    pages: int | None = None
    more: bool | None = None
    has_next: bool | None = None
    next: Json = None

    @property
    def shows_end(self) -> bool:
        """Whether the result says itself that no row follows."""
        return self.is_total_sure or self.more is False or self.has_next is False


class Verdict(Struct, frozen=True):
    """Whether rows follow: `more` None means that they may. `reason` is why, a kebab-case name."""

    more: bool | None
    reason: str = ""


def page_of(output: Json, paging: Paging | None = None, stated: Mapping[str, Json] = {}) -> Page:
    """Return the statements of `output`, a result of a tool, about pages.

    `stated` are the statements beside it, as in headers of a response (`next_link`).
    """
    if isinstance(output, list):
        page = Page(len(output), ())
    elif isinstance(output, dict):
        page = _of_object(output, paging)
    else:
        page = Page()
    if type(total := stated.get("total")) is int:
        page = replace(page, total=total, is_total_sure=True)
    if type(pages := stated.get("pages")) is int:
        page = replace(page, pages=pages)
    if type(more := stated.get("more")) is bool:
        page = replace(page, more=more)
    if "next" in stated:
        page = replace(page, next=stated["next"], has_next=bool(stated["next"]))
    return page


def _of_object(output: dict[str, Json], paging: Paging | None) -> Page:
    args = () if paging is None else (paging.cursor, paging.page, paging.offset)
    known = frozenset(folded(each.path[-1]) for each in args if each is not None)
    is_paged = paging is not None and bool(paging.arguments)
    facts = facts_of(shape_of(output), is_paged=is_paged, args=known)
    declared = Facts() if paging is None else paging.facts
    path = facts.rows
    if declared.rows is not None and isinstance(at(output, declared.rows), list):
        path = declared.rows
    rows = None if path is None else at(output, path)
    count = len(rows) if isinstance(rows, list) else None
    if count is None and not is_paged:
        return Page()
    if declared.shows_end:
        facts = declared.merged(facts)
    flags = [
        (found if says_more else not found)
        for paths, says_more in ((facts.more, True), (facts.last, False))
        for path_ in paths
        if (found := truth(at(output, path_))) is not None
    ]
    cursor = _cursor(output, facts.nexts, known)
    page = Page(
        rows=count,
        path=path,
        pages=_first_integer(output, facts.page_counts),
        more=flags[0] if flags else None,
        has_next=True if cursor is not None else (False if facts.nexts else None),
        next=cursor,
    )
    return _counted(page, output, facts)


def _counted(page: Page, output: dict[str, Json], facts: Facts) -> Page:
    """Return `page` with the number of all rows, as far as the result states it."""
    for path in facts.totals:
        total = counted(at(output, path))
        if total is not None and total[0] >= (page.rows or 0):  # less counts something else
            if not total[1] or at(output, (*path[:-1], "relation")) == "gte":
                return replace(page, total=total[0], is_at_least=True)
            place = tuple(map(str, path))
            return replace(page, total=total[0], is_total_sure=True, total_path=place)
    if page.pages is None:
        page = replace(page, pages=_pages_in_total(page, output, facts))
    remaining = _first_integer(output, facts.remainders)
    if remaining is not None and page.rows is not None:
        return replace(page, total=page.rows + remaining, is_total_sure=remaining > 0)
    return replace(page, total=_first_integer(output, facts.counts))


def _pages_in_total(page: Page, output: dict[str, Json], facts: Facts) -> int | None:
    """Return a total that is too small for the rows, and counts pages: `{"page": 1, "of": 3}`."""
    for path in (*facts.totals, *facts.counts):
        total, beside = whole(at(output, path)), at(output, path[:-1])
        if total is None or not isinstance(beside, dict) or not 1 < total < (page.rows or 0):
            continue
        numbers = (whole(value) for key, value in beside.items() if folded(key) in names.PAGES)
        if any(number is not None and 0 <= number <= total for number in numbers):
            return total
    return None


def _cursor(output: Json, paths: Sequence[Path], known: frozenset[str]) -> Json:
    """Return the first cursor or link that is there; one named as an argument goes first."""
    first: Json = None
    for path in paths:
        value, name = at(output, path), folded(str(path[-1]))
        if not ((isinstance(value, str | dict) and value) or (type(value) is int and value >= 0)):
            continue
        if name in known or name.removeprefix("next") in known:
            return value
        first = value if first is None else first
    return first


def _first_integer(output: dict[str, Json], paths: tuple[Path, ...]) -> int | None:
    found = (counted(at(output, path)) for path in paths)
    return next((each[0] for each in found if each is not None), None)


def verdict_on(page: Page, paging: Paging | None, args: Mapping[str, Json]) -> Verdict:
    """Return whether rows follow those of `page`, the result of a call with `args`.

    Statements of the result go before conclusions from the number of its rows.
    """
    rows, before = page.rows, _before(page, paging, args)
    if page.more or (page.has_next and page.more is None and rows != 0):
        return Verdict(True, "has-more" if page.more else "next-page")
    if rows is None:
        return Verdict(None if page.more is None and page.has_next is None else False)
    if page.total is not None and before + rows < page.total and (rows or not before):
        return Verdict(True, "total")
    if page.shows_end or rows == 0:
        return Verdict(False)
    if page.is_at_least:
        return Verdict(None, "at-least")
    if page.pages is not None and paging is not None and paging.page is not None:
        number = paging.page.number(args) or 0
        is_last = number - paging.first_page + 1 >= page.pages
        return Verdict(False) if is_last else Verdict(True, "pages")
    if page.pages is not None and page.pages > 1 and (paging is None or not paging.arguments):
        return Verdict(None, "pages")  # the number of this page is unknown
    return _by_limit(rows, paging, args)


def _by_limit(rows: int, paging: Paging | None, args: Mapping[str, Json]) -> Verdict:
    if paging is None or not paging.arguments:
        return Verdict(False)
    limit = paging.limit
    if limit is None:
        return Verdict(None, "unknown")
    most = limit.number(args)
    if most is None and limit.gives_all:
        return Verdict(False)
    if most is None and not (limit.is_nullable and len(paging.arguments) == 1):
        return Verdict(None, "unknown")
    if most is not None and rows >= most - most // NEARLY:
        return Verdict(None, "limit")
    # a tool that gives less than it was asked for cuts the page without a word, at a round number
    is_stated = most is not None and (
        limit.of(args) is None or limit.most is not None or most <= (limit.default or 0)
    )
    is_round = rows % (_STATED_STEP if is_stated else _STEP) == 0
    return Verdict(None, "round") if rows and is_round else Verdict(False)


def _before(page: Page, paging: Paging | None, args: Mapping[str, Json]) -> int:
    """Return the number of rows before those of `page`, as far as the arguments show it."""
    if paging is None:
        return 0
    if paging.offset is not None:
        return max(paging.offset.number(args) or 0, 0)
    if paging.page is None:
        return 0
    number = (paging.page.number(args) or paging.first_page) - paging.first_page
    size = None if paging.limit is None else paging.limit.number(args)
    return max(number, 0) * (size if size is not None else page.rows or 0)


def begins_later(paging: Paging | None, args: Mapping[str, Json]) -> bool:
    """Return whether a call with `args` leaves out the first rows of the list."""
    if paging is None:
        return False
    if paging.cursor is not None and paging.cursor.of(args) not in (None, ""):
        return True
    if paging.offset is not None and (paging.offset.number(args) or 0) > 0:
        return True
    return paging.page is not None and (paging.page.number(args) or 0) > paging.first_page


_VALUE: Final = r'(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*))'
_PARAMETER: Final = re.compile(r'([^\s=;,"<>]+)\s*=\s*' + _VALUE)
_LINK_HEADER: Final = re.compile(r'<([^>]*)>((?:"(?:[^"\\]|\\.)*"|[^"<])*)')
_RELS: Final = frozenset({"next", "prev", "previous", "first", "last"})
_HEADER: Final = re.compile(r"(?:x-)?(?:(?:ms|wp|pagination|paging)-)?(.+)")
_OWN: Final = ("x-", "total-", "pagination-", "paging-")
"""Prefixes of headers about pages: `size` and `last` alone may be other headers."""
_COUNT_HEADERS: Final = names.TOTALS | names.WEAK_TOTALS | {"count", "resultcount"}
_PAGE_HEADERS: Final = names.PAGE_COUNTS | names.WEAK_PAGE_COUNTS
_MORE_HEADERS: Final = names.MORE | {"more"}
_NEXT_HEADERS: Final = names.NEXT | {"next", "continuation"}


def next_link(headers: Mapping[str, str]) -> dict[str, Json]:
    """Return the statements of the headers of a response about pages.

    They are `total`, `pages`, `more`, and `next`: a link or a cursor, None where no page follows.
    The names of `headers` are in lower case. A `Link` header without `rel="next"` says that no page
    follows where it is about pages at all.
    """
    said: dict[str, Json] = {}
    if (total := whole(headers.get("content-range", "").partition("/")[2].strip())) is not None:
        said["total"] = total
    for name, text in headers.items():
        found = _HEADER.fullmatch(name) if name.startswith(_OWN) else None
        bare = "" if found is None else folded(found[1])
        if bare in _COUNT_HEADERS and (count := whole(text.strip())) is not None:
            said["total"] = count
        elif bare in _PAGE_HEADERS and (count := whole(text.strip())) is not None:
            said["pages"] = count
        elif bare in _MORE_HEADERS and (more := truth(text)) is not None:
            said["more"] = more
        elif bare in _NEXT_HEADERS:
            said["next"] = text.strip() or None
        elif "pag" in name and text.lstrip().startswith("{"):
            said |= _of_header(text)
    links: list[tuple[str, frozenset[str]]] = []
    for link in _LINK_HEADER.finditer(headers.get("link", "")):
        # the first `rel` among the parameters of a link counts
        found = (m[2] or m[3] or "" for m in _PARAMETER.finditer(link[2]) if m[1].lower() == "rel")
        links.append((link[1], frozenset(next(found, "").lower().split())))
    if "next" not in said and any(rels & _RELS for _, rels in links):
        said["next"] = next((link for link, rels in links if "next" in rels), None)
    return said


def _of_header(text: str) -> dict[str, Json]:
    """Return the statements of a header that is a JSON object about pages, like `X-Pagination`."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    fields = value if isinstance(value, dict) else {}
    facts = facts_of(shape_of(fields), is_paged=True)
    flags = [truth(at(fields, path)) for path in facts.more]
    found: dict[str, Json] = {
        "total": _first_integer(fields, (*facts.totals, *facts.counts)),
        "pages": _first_integer(fields, facts.page_counts),
        "more": flags[0] if flags else None,
        "next": _cursor(fields, facts.nexts, frozenset()),
    }
    return {key: each for key, each in found.items() if each is not None}


def query_of(link: str) -> dict[str, str]:
    """Return the arguments in a link to the next page, by folded name."""
    try:
        return {folded(key): value for key, value in parse_qsl(urlsplit(link).query)}
    except ValueError:
        return {}
