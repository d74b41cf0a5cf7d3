"""The pages of one call: the next ones to ask for, and the list that they make together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json
from toolplan.schema.paging._arguments import Argument, Paging
from toolplan.schema.paging._facts import at, put, whole
from toolplan.schema.paging._names import folded
from toolplan.schema.paging._results import (
    NEARLY,
    Page,
    Verdict,
    begins_later,
    page_of,
    query_of,
    verdict_on,
)

_ID_CURSORS: Final = ("startingafter", "afterid")


class PageError(ToolplanError):
    """The pages of a tool do not make one list."""


class Pager:
    """The pages of one call. It makes no call: it names the next pages, and takes results.

    Page 0 is the call as the plan has it. Numbered pages of a known total may be asked for at the
    same time; with a cursor each page gives the next.

    Attributes:
        waiting: the pages that can be asked for now, and have not been.
        complete: whether no further page is asked for.
        more: whether rows follow the last page, and the reason if that is unknown or not asked.
        rows: the number of rows so far.
        total: the number of all rows as the first page states it, at `total_path` in it.
    """

    def __init__(self, paging: Paging, args: Mapping[str, Json], max_pages: int) -> None:
        """Prepare the pages of a call with `args`; at most `max_pages` are asked for."""
        self._paging = paging
        self._args = dict(args)
        self._most = max_pages
        self._overlays: dict[int, dict[str, Json]] = {0: self._args}
        self._outputs: dict[int, Json] = {}
        self._pages: dict[int, Page] = {}
        self._seen: set[str] = set()
        self._asked = 1
        self._settled = 0  # pages from the first on of which all are there
        self._begins_later = begins_later(paging, args)
        self.waiting: list[int] = [0]
        self.complete = False
        self.more = Verdict(False)
        self.total: int | None = None
        self.total_path: tuple[str, ...] = ()
        self.rows = 0

    def args_of(self, page: int) -> dict[str, Json]:
        """Return the arguments of the call for `page`, one of those that were waiting."""
        return dict(self._overlays[page])

    def take(self, page: int, output: Json, stated: Mapping[str, Json] = {}) -> None:
        """Take the result of `page`, and the statements of headers about it.

        Raises:
            PageError: a cursor or a page came twice, or a page has no list.
        """
        said = page_of(output, self._paging, stated)
        if page and said.rows is None and output is not None:
            first = self._outputs[0]
            if isinstance(first, list):
                raise PageError("pages-rows", f"Page {page + 1} is not a list, as the first is.")
            # a last page may leave its list out, but not say what the first does not
            if not isinstance(output, dict) or not isinstance(first, dict) or output.keys() - first:
                raise PageError("pages-rows", f"Page {page + 1} holds no list of rows.")
        self._outputs[page] = output
        self._pages[page] = said
        if page in self.waiting:
            self.waiting.remove(page)
        while self._settled in self._pages:
            last = self._settled
            if last and self._pages[last].rows and self._rows(last) == self._rows(last - 1):
                fault = f"Page {last + 1} is page {last} once more: the tool does not turn pages."
                raise PageError("pages-repeat", fault)
            self.rows += self._pages[self._settled].rows or 0
            self._settled += 1
        if self._settled == self._asked:
            self._go_on(self._settled - 1)

    def restore(self, pages: Mapping[int, tuple[Json, Mapping[str, Json]]]) -> None:
        """Take the results that an earlier process recorded."""
        while known := [page for page in self.waiting if page in pages]:
            for page in known:
                self.take(page, *pages[page])

    def result(self) -> Json:
        """Return the rows of all pages, in the shape of the first page."""
        first, said = self._outputs[0], self._pages[0]
        if self._settled < 2 or said.path is None:
            return first
        rows = [row for page in range(self._settled) for row in self._rows(page)]
        return put(first, said.path, rows)

    def _rows(self, page: int) -> list[Json]:
        path = self._pages[page].path
        if path is None:
            path = self._pages[0].path or ()
        rows = at(self._outputs[page], path)
        return rows if isinstance(rows, list) else []

    # The next pages

    def _go_on(self, last: int) -> None:
        """Ask for the pages behind `last`, or end."""
        said = self._pages[last]
        verdict = self._verdict(last, said)
        is_behind = last and not said.rows and not said.has_next  # the last page
        overlay: dict[str, Json] | None = None
        if verdict.more is not False and not is_behind and not (last == 0 and said.rows is None):
            if self._settled >= self._most:
                verdict = Verdict(verdict.more, "max-pages")
            else:
                overlay = self._next_args(last, said)
        if overlay is None:
            self.complete = True
            lacks_first = verdict.more is False and self._begins_later
            self.more = Verdict(None, "start") if lacks_first else verdict
            self.total, self.total_path = self._pages[0].total, self._pages[0].total_path
            return
        self._overlays[last + 1] = overlay
        cursor = self._paging.cursor
        by_cursor = cursor is not None and cursor.of(overlay) != cursor.of(self._args)
        count = 0 if last or by_cursor else self._known_count(said)
        self._asked = min(max(count, self._settled + 1), self._most)
        for page in range(last + 2, self._asked):
            self._overlays[page] = self._numbered(page, page * (self._pages[0].rows or 0))
        self.waiting += range(last + 1, self._asked)

    def _verdict(self, last: int, said: Page) -> Verdict:
        first = self._pages[0]
        if said.more is False and said.total is None:
            return Verdict(False)
        if first.total is not None and not self._begins_later:
            if self.rows < first.total and (said.rows or not said.has_next):
                return Verdict(True, "total")
            if self.rows >= first.total and first.is_total_sure and not said.more:
                return Verdict(False)
            said = replace(said, total=None, is_total_sure=False)  # it counts the rows of a page
        if last and not said.rows:
            # only a cursor leads past a page without rows
            return Verdict(bool(said.more or said.has_next), "next-page")
        verdict = verdict_on(said, self._paging, self._overlays[last])
        is_short = verdict.more is None and verdict.reason != "limit"
        if last and is_short and (said.rows or 0) < (first.rows or 0):
            return Verdict(False)
        return verdict

    def _next_args(self, last: int, said: Page) -> dict[str, Json] | None:
        """Return the arguments of the page after `last`; None where nothing leads to it."""
        paging, before = self._paging, self._overlays[last]
        if said.next is not None and (found := self._by_next(said.next, before)) is not None:
            return found
        if paging.page is not None:
            return self._numbered(last + 1, self.rows)
        if paging.offset is not None:
            most = None if paging.limit is None else paging.limit.number(before)
            rows = said.rows or 0
            # where rows were taken from a page, their number is no place in the list
            is_thinned = most is not None and most - most // NEARLY <= rows < most
            is_known = self._pages[0].total is not None or said.more
            return None if is_thinned and not is_known else self._numbered(last + 1, self.rows)
        cursor = paging.cursor
        if cursor is not None and folded(cursor.path[-1]) in _ID_CURSORS and said.rows:
            final = self._rows(last)[-1]
            mark = final.get("id") if isinstance(final, dict) else None
            if isinstance(mark, str | int):
                return self._at_cursor(cursor, mark, before)
        return None

    def _by_next(self, said: Json, before: Mapping[str, Json]) -> dict[str, Json] | None:
        """Return the arguments that a cursor, a number or a link of the result asks for."""
        cursor = self._paging.cursor
        if isinstance(said, str) and ("?" in said or said.startswith(("http://", "https://", "/"))):
            query, overlay, found = query_of(said), dict(before), False
            for argument in (cursor, self._paging.page, self._paging.offset):
                if argument is None:
                    continue
                keys = (folded("".join(argument.path)), folded(argument.path[-1]))
                value = query.get(keys[0]) or query.get(keys[1])
                if value and argument is cursor:
                    overlay = self._at_cursor(argument, value, overlay)
                elif value:
                    number = whole(value)
                    overlay = argument.put(overlay, value if number is None else number)
                found |= bool(value)
            if found:
                return overlay
            if "?" in said and "://" in said:
                return None  # a link whose arguments are not the tool's
        return None if cursor is None else self._at_cursor(cursor, said, before)

    def _at_cursor(
        self, argument: Argument, value: Json, before: Mapping[str, Json]
    ) -> dict[str, Json]:
        mark = repr(value)
        if mark in self._seen or value == argument.of(before):
            message = f"The tool gave a cursor twice ({argument.name}): it goes round."
            raise PageError("pages-repeat", message)
        self._seen.add(mark)
        return argument.put(before, value)

    def _known_count(self, first: Page) -> int:
        """Return the number of pages, 0 where the first page does not show it."""
        size = first.rows or 0
        if first.pages is not None and self._paging.page is not None:
            number = self._paging.page.number(self._args) or self._paging.first_page
            return first.pages - (number - self._paging.first_page)
        if first.total is None or not first.is_total_sure or not size or self._begins_later:
            return 0
        return -(-first.total // size)

    def _numbered(self, page: int, rows: int) -> dict[str, Json]:
        """Return the arguments of `page`, which has `rows` rows before it."""
        paging = self._paging
        if paging.page is not None:
            start = paging.page.number(self._args)
            first = paging.first_page if start is None else start
            return paging.page.put(self._args, first + page)
        if paging.offset is None:
            raise PageError("pages-rows", "The pages of the tool have no numbers.")
        return paging.offset.put(self._args, (paging.offset.number(self._args) or 0) + rows)
