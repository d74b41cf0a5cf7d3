"""What a result says about its rows and about further pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from toolplan.paging import _names as names
from toolplan.paging._names import folded
from toolplan.paging._schemas import Field, value_fields
from toolplan.path import Json, Path

if TYPE_CHECKING:
    from toolplan.paging._arguments import Paging

_INTEGERS: Final = ("integer",)
_CURSOR_TYPES: Final = ("string", "integer", "null")
_STEP: Final = 10
_STATED_STEP: Final = 50
"""The largest page of a tool is a multiple of this; the second where the schema states a limit."""


class Facts(Struct, frozen=True):
    """Where a result speaks of its rows and of further pages: paths, those that say most first.

    `rows` is None where no list, or none of several, is the list of rows. `counts` may be totals
    or the number of rows of the page.
    """

    rows: Path | None = None
    totals: tuple[Path, ...] = ()
    counts: tuple[Path, ...] = ()
    remainders: tuple[Path, ...] = ()
    page_counts: tuple[Path, ...] = ()
    more: tuple[Path, ...] = ()
    last: tuple[Path, ...] = ()
    nexts: tuple[Path, ...] = ()

    @property
    def shows_end(self) -> bool:
        """Whether a result shows whether it is the last."""
        ends = (self.totals, self.page_counts, self.more, self.last, self.nexts, self.remainders)
        return any(ends)

    @property
    def can_continue(self) -> bool:
        """Whether a result gives a cursor, or shows that its last row is one."""
        return bool(self.nexts or self.more)

    def names_next(self, name: str) -> bool:
        """Return whether a field of the next page has the folded name `name`."""
        return any(folded(str(path[-1])).endswith(name) for path in self.nexts)

    def of_list(self) -> Facts:
        """Return the facts of a result that is the list itself."""
        return Facts(rows=())


class Page(Struct, frozen=True):
    """What one result says: its rows, and about others.

    None: it does not say. `next` is the cursor of the next page or a link to it; `has_next` says
    whether there is one. `is_total_sure`: as many rows are all of them, and what is
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


def facts_of(
    fields: Iterable[Field],
    *,
    is_paged: bool,
    declared: Mapping[str, Json] | None = None,
    names: frozenset[str] = frozenset(),
) -> Facts:
    """Return where results with these fields speak of pages.

    `is_paged`: the tool has page arguments, `names` are their folded names. `declared` are paths
    that the tool states itself, by kind.
    """
    found: dict[str, list[Path]] = {}
    listed: list[Field] = []
    fields = list(fields)
    about_pages = _is_envelope(fields)
    for field in fields:
        if "array" in field.types:
            listed.append(field)
        elif (kind := _kind(field, is_paged, names, about_pages)) is not None:
            found.setdefault(kind, []).append(field.path)
    # those that say most first: a `marker` may be that of this page
    found.setdefault("nexts", []).extend(found.pop("weak_nexts", ()))
    made = {kind: tuple(paths) for kind, paths in found.items()}
    rows = _rows(listed)
    if rows is None and listed and (made["nexts"] or "more" in made or "last" in made):
        rows = listed[0].path  # which of several lists goes on is not said; one of them does
    if rows is None and not is_paged:
        return Facts()
    for kind, key in (("totals", "total"), ("more", "more"), ("last", "last"), ("nexts", "next")):
        if isinstance(path := (declared or {}).get(key), str):
            made[kind] = (tuple(path.split(".")), *made.get(kind, ()))
    if isinstance(path := (declared or {}).get("rows"), str):
        rows = tuple(path.split("."))
    return Facts(rows, **made)


def _is_envelope(fields: list[Field]) -> bool:
    """Return whether a list stands in an object that is about pages, and nothing else."""
    top = [each for each in fields if len(each.path) == 1]
    lists = [each for each in top if "array" in each.types]
    others = [each for each in top if "array" not in each.types]
    if len(lists) != 1 or lists[0].name not in names.ROWS:  # an invoice has lines and a total
        return False
    return all(each.name in names.OF_ENVELOPES for each in others)


def _kind(field: Field, is_paged: bool, args: frozenset[str], about_pages: bool) -> str | None:
    is_near = is_paged or field.container in names.ABOUT_PAGES
    near = is_near or (about_pages and len(field.path) == 1)
    is_number = field.may_be(*_INTEGERS) and (field.types or field.name in names.TOTALS)
    if is_number and (kind := _number_kind(field, near)) is not None:
        return kind
    counted = _number_kind(field, near)
    if counted in ("totals", "page_counts") and "string" in field.types:  # some send them as text
        return counted
    if "boolean" in field.types:
        if field.name in names.MORE or (field.name in names.WEAK_MORE and near):
            return "more"
        if field.name in names.LAST or (field.name in names.WEAK_LAST and near):
            return "last"
    if "object" in field.types:
        return "nexts" if field.name in names.OBJECT_CURSORS else None
    if not field.may_be(*_CURSOR_TYPES) or field.may_be("array", "boolean", "number"):
        return None
    return _next_kind(field, is_paged, is_near, args)


def _number_kind(field: Field, near: bool) -> str | None:
    name = field.name
    if name in names.TOTALS or (name in names.WEAK_TOTALS and near):
        return "totals"
    if name == "value" and field.container in ("total", "totalcount"):
        return "totals"
    if name in names.REMAINDERS or (name in names.WEAK_REMAINDERS and near):
        return "remainders"
    if name in names.COUNTS and near:
        return "counts"
    is_pages = name in names.PAGE_COUNTS or name in names.WEAK_PAGE_COUNTS
    return "page_counts" if is_pages and near else None


def _next_kind(field: Field, is_paged: bool, near: bool, args: frozenset[str]) -> str | None:
    name = field.name
    if name in names.NEXT or (name == "next" and near):
        return "nexts"
    if field.container in ("next", "nextpage") and name in names.IN_NEXT:
        return "nexts"
    if name == "offset" and "integer" in field.types:
        return None  # that of this page
    weak = name in names.WEAK_NEXT and (name in args or field.container in _NEXT_OBJECTS)
    return "weak_nexts" if weak or (name == "cursor" and is_paged) else None


_NEXT_OBJECTS: Final = names.ABOUT_PAGES - {"hits", "page", "pageable"}


def _rows(listed: list[Field]) -> Path | None:
    """Return the path of the list of rows among `listed`, None where that is not sure."""
    usual = [each for each in listed if each.name not in names.NOT_ROWS]
    if len(usual) == 1:
        return usual[0].path
    named = [each for each in usual if each.name in names.ROWS]
    if named:
        return min(named, key=lambda f: (len(f.path), names.ROWS.index(f.name))).path
    objects = [each for each in usual if _has_objects(each)]
    return objects[0].path if len(objects) == 1 else None


def _has_objects(field: Field) -> bool:
    items = field.node.get("items")
    return isinstance(items, dict) and (items.get("type") == "object" or "$ref" in items)


def page_of(output: Json, paging: Paging | None = None, stated: Mapping[str, Json] = {}) -> Page:
    """Return what `output`, a result of a tool, says about pages.

    `stated` is what came beside it: `total`, `pages` and `next`, as headers of a response say them.
    """
    if isinstance(output, list):
        page = Page(len(output), ())
    elif isinstance(output, dict):
        page = _of_object(output, paging)
    else:
        page = Page()
    total, link = stated.get("total"), stated.get("next")
    if type(total) is int:
        page = replace(page, total=total, is_total_sure=True)
    if type(pages := stated.get("pages")) is int:
        page = replace(page, pages=pages)
    if "next" in stated:
        page = replace(page, next=link, has_next=bool(link))
    return page


def _of_object(output: dict[str, Json], paging: Paging | None) -> Page:
    args = () if paging is None else (paging.cursor, paging.page, paging.offset)
    known = frozenset(folded(each.path[-1]) for each in args if each is not None)
    is_paged = paging is not None and bool(paging.arguments)
    facts = facts_of(value_fields(output), is_paged=is_paged, names=known)
    stated = None if paging is None else paging.facts
    path = facts.rows
    if stated is not None and stated.rows is not None and isinstance(at(output, stated.rows), list):
        path = stated.rows
    rows = at(output, path) if path is not None else None
    count = len(rows) if isinstance(rows, list) else None
    if count is None and not is_paged:
        return Page()
    both = facts if stated is None or not stated.shows_end else _merged(stated, facts)
    total, is_sure, is_at_least, total_path = _total(output, both, count)
    nexts = [at(output, each) for each in both.nexts]
    cursor = _preferred(nexts, both.nexts, known)
    declares_next = stated is not None and bool(stated.nexts)
    return Page(
        rows=count,
        path=path,
        total=total,
        is_total_sure=is_sure,
        is_at_least=is_at_least,
        total_path=total_path,
        pages=_first_integer(output, both.page_counts),
        more=_more(output, both),
        has_next=True if cursor is not None else (False if nexts or declares_next else None),
        next=cursor,
    )


def _merged(stated: Facts, found: Facts) -> Facts:
    """Return the facts of both, those that the schema states first."""
    kinds = ("totals", "counts", "remainders", "page_counts", "more", "last", "nexts")
    return Facts(
        stated.rows,
        *(tuple(dict.fromkeys((*getattr(stated, k), *getattr(found, k)))) for k in kinds),
    )


def _total(
    output: dict[str, Json], facts: Facts, rows: int | None
) -> tuple[int | None, bool, bool, tuple[str, ...]]:
    """Return the number of all rows; whether it is sure, or may be more; and where it stands."""
    for path in facts.totals:
        total = whole(at(output, path))
        if total is not None and total >= (rows or 0):  # less than the rows counts something else
            if at(output, (*path[:-1], "relation")) == "gte":
                return total, False, True, ()
            return total, True, False, tuple(map(str, path))
    remaining = _first_integer(output, facts.remainders)
    if remaining is not None and rows is not None:
        return rows + remaining, remaining > 0, False, ()
    return _first_integer(output, facts.counts), False, False, ()


def _more(output: dict[str, Json], facts: Facts) -> bool | None:
    for path in facts.more:
        if isinstance(found := at(output, path), bool):
            return found
    for path in facts.last:
        if isinstance(found := at(output, path), bool):
            return not found
    return None


def _preferred(found: list[Json], paths: tuple[Path, ...], known: frozenset[str]) -> Json:
    """Return the first cursor or link that is there; one named as an argument goes first."""
    usable = [
        (value, folded(str(path[-1])))
        for value, path in zip(found, paths, strict=True)
        if (isinstance(value, str | dict) and value) or (type(value) is int and value >= 0)
    ]
    for value, name in usable:
        if name in known or name.removeprefix("next") in known:
            return value
    return usable[0][0] if usable else None


def _first_integer(output: dict[str, Json], paths: tuple[Path, ...]) -> int | None:
    found = (whole(at(output, path)) for path in paths)
    return next((each for each in found if each is not None and each >= 0), None)


def at(value: Json, path: Path) -> Json:
    for key in path:
        value = value.get(key) if isinstance(value, dict) and isinstance(key, str) else None
    return value


def verdict_on(page: Page, paging: Paging | None, args: Mapping[str, Json]) -> Verdict:
    """Return whether rows follow those of `page`, the result of a call with `args`.

    What the result says goes before what can be concluded from the number of its rows.
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
        return (
            Verdict(True, "pages")
            if number - paging.first_page + 1 < page.pages
            else Verdict(False)
        )
    if page.pages is not None and page.pages > 1 and (paging is None or not paging.arguments):
        return Verdict(None, "pages")  # which one this is, is not known
    return _by_limit(rows, paging, args)


def _by_limit(rows: int, paging: Paging | None, args: Mapping[str, Json]) -> Verdict:
    if paging is None or not paging.arguments:
        return Verdict(False)
    limit = paging.limit
    most = None if limit is None else limit.number(args)
    if limit is not None and most is None and limit.gives_all:
        return Verdict(False)
    if limit is not None and most is None and limit.is_nullable and len(paging.arguments) == 1:
        return Verdict(None, "round") if rows % _STEP == 0 else Verdict(False)
    if limit is None or most is None:
        return Verdict(None, "unknown")
    if rows >= most:
        return Verdict(None, "limit")
    # a tool that gives less than it was asked for cuts the page without a word, at a round number
    is_stated = limit.of(args) is None or limit.most is not None or most <= (limit.default or 0)
    step = _STATED_STEP if is_stated else _STEP
    return Verdict(None, "round") if rows and rows % step == 0 else Verdict(False)


def whole(value: Json) -> int | None:
    """Return a whole number, also one that is written as text or as a float."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _before(page: Page, paging: Paging | None, args: Mapping[str, Json]) -> int:
    """Return the number of rows before those of `page`, as far as the arguments say."""
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
_LINK: Final = re.compile(r'<([^>]*)>((?:"(?:[^"\\]|\\.)*"|[^"<])*)')
_RELS: Final = frozenset({"next", "prev", "previous", "first", "last"})
_COUNT_HEADERS: Final = (
    "x-total-count", "x-total", "total-count", "x-total-results", "x-totalcount", "x-total-items",
    "x-pagination-total-count", "x-wp-total", "x-result-count", "x-total-records", "x-count",
)  # fmt: skip
_NEXT_HEADERS: Final = ("x-next-page", "x-next-cursor", "x-next-page-token", "x-continuation-token")


def next_link(headers: Mapping[str, str]) -> dict[str, Json]:
    """Return what the headers of a response say about pages.

    That is `total`, `pages`, and `next`: a link or a cursor, None where no page follows. The names
    of `headers` are in lower case. A `Link` header without `rel="next"` says that no page follows
    where it speaks of pages at all.
    """
    said: dict[str, Json] = {}
    for name in _COUNT_HEADERS:
        value = headers.get(name, "").strip()
        if value.isascii() and value.isdigit() and len(value) < 16:
            said["total"] = int(value)
            break
    pages = headers.get("x-total-pages", "").strip() or headers.get("x-wp-totalpages", "").strip()
    if pages.isascii() and pages.isdigit() and len(pages) < 16:
        said["pages"] = int(pages)
    content_range = re.search(r"/(\d{1,15})\s*$", headers.get("content-range", ""))
    if "total" not in said and content_range and "content-range" in headers:
        said["total"] = int(content_range[1])
    for name in _NEXT_HEADERS:
        if name in headers:
            said["next"] = headers[name].strip() or None
            break
    if "next" not in said:
        links = [(m[1], _relations(m[2])) for m in _LINK.finditer(headers.get("link", ""))]
        if any(rels & _RELS for _, rels in links):
            said["next"] = next((link for link, rels in links if "next" in rels), None)
    return said


def _relations(parameters: str) -> frozenset[str]:
    """Return what `rel`, among the parameters of a link, says; the first one counts."""
    found = (m[2] or m[3] or "" for m in _PARAMETER.finditer(parameters) if m[1].lower() == "rel")
    return frozenset(next(found, "").lower().split())


def query_of(link: str) -> dict[str, str]:
    """Return the arguments in a link to the next page, by folded name."""
    try:
        return {folded(key): value for key, value in parse_qsl(urlsplit(link).query)}
    except ValueError:
        return {}
