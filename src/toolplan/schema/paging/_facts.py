"""Where the results of a tool speak of their rows and of further pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final

from msgspec import Struct

from toolplan.plan.path import Json, Path
from toolplan.schema._flat import types_stated
from toolplan.schema.paging import _names as names
from toolplan.schema.paging._fields import Field

_COUNTED: Final = (
    ("totals", names.TOTALS, names.WEAK_TOTALS),
    ("remainders", names.REMAINDERS, names.WEAK_REMAINDERS),
    ("counts", frozenset[str](), names.COUNTS),
    ("page_counts", frozenset[str](), names.PAGE_COUNTS | names.WEAK_PAGE_COUNTS),
)
_FLAGS: Final = (
    ("more", names.MORE, names.WEAK_MORE),
    ("last", names.LAST, names.WEAK_LAST),
)
"""Kinds of facts: names of their fields, and those that count only near other signs of pages."""
_SENT_AS_TEXT: Final = ("totals", "page_counts")
_NEXT_OBJECTS: Final = names.ABOUT_PAGES - {"hits", "page", "pageable"}


class Facts(Struct, frozen=True):
    """Paths in a result, those that say most first.

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

    def merged(self, found: Facts) -> Facts:
        """Return these facts with those of `found` behind them."""
        _, *kinds = self.__struct_fields__
        both = (dict.fromkeys((*getattr(self, k), *getattr(found, k))) for k in kinds)
        return Facts(self.rows, *map(tuple, both))


def facts_of(
    fields: Iterable[Field],
    *,
    is_paged: bool,
    declared: Mapping[str, Json] = {},
    names: frozenset[str] = frozenset(),
) -> Facts:
    """Return where results with these fields speak of pages.

    `is_paged`: the tool has page arguments, `names` are their folded names. `declared` are paths
    that the tool states itself, by kind.
    """
    fields = list(fields)
    found: dict[str, list[Path]] = {"nexts": [], "weak_nexts": []}
    lists = [each for each in fields if "array" in each.types]
    envelopes = _envelopes(fields)
    for field in fields:
        if "array" not in field.types and (kind := _kind(field, is_paged, names, envelopes)):
            found.setdefault(kind, []).append(field.path)
    found["nexts"] += found.pop("weak_nexts")  # a `marker` may be that of this page
    rows = _rows(lists)
    if rows is None and lists and (found["nexts"] or "more" in found or "last" in found):
        rows = lists[0].path  # a list has more pages, and the fields do not show which: the first
    if rows is None and not is_paged:
        return Facts()
    for kind, key in (("totals", "total"), ("more", "more"), ("last", "last"), ("nexts", "next")):
        if isinstance(path := declared.get(key), str):
            found.setdefault(kind, []).insert(0, tuple(path.split(".")))
    if isinstance(path := declared.get("rows"), str):
        rows = tuple(path.split("."))
    return Facts(rows, **{kind: tuple(paths) for kind, paths in found.items()})


def _envelopes(fields: list[Field]) -> set[Path]:
    """Return the paths of the objects that are about one list and its pages, and nothing else."""
    inside: dict[Path, list[Field]] = {}
    for each in fields:
        inside.setdefault(each.path[:-1], []).append(each)
    return {path for path, found in inside.items() if _is_envelope(found)}


def _is_envelope(fields: list[Field]) -> bool:
    lists = [each for each in fields if "array" in each.types]
    if len(lists) != 1:
        return False
    name, of = lists[0].name, lists[0].node.get("items")
    of_numbers = isinstance(of, dict) and not types_stated(of).isdisjoint(("integer", "number"))
    # an invoice has lines and a total
    if name not in names.ROWS and (of_numbers or name in names.SUMMED | names.NOT_ROWS):
        return False
    return all(each.name in names.OF_ENVELOPES for each in fields if each is not lists[0])


def _kind(field: Field, is_paged: bool, args: frozenset[str], envelopes: Set[Path]) -> str | None:
    is_near = is_paged or field.container in names.ABOUT_PAGES
    near = is_near or field.path[:-1] in envelopes
    counted = _named(field, _COUNTED, near)
    if field.name == "value" and field.container in ("total", "totalcount"):
        counted = "totals"
    is_number = field.may_be("integer") and (field.types or field.name in names.TOTALS)
    if counted and (is_number or (counted in _SENT_AS_TEXT and "string" in field.types)):
        return counted
    is_flag = "boolean" in field.types
    if (flag := _named(field, _FLAGS, near)) and (is_flag or _named(field, _FLAGS, near=False)):
        return flag  # some write 1 or "true"
    if "object" in field.types:
        return "nexts" if field.name in names.OBJECT_CURSORS else None
    if not field.may_be("string", "integer", "null") or field.may_be("array", "boolean", "number"):
        return None
    return _next_kind(field, is_paged, is_near, args)


def _named(
    field: Field, kinds: Iterable[tuple[str, frozenset[str], frozenset[str]]], near: bool
) -> str | None:
    name = field.name
    found = (kind for kind, sure, weak in kinds if name in sure or (near and name in weak))
    return next(found, None)


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


def _rows(lists: list[Field]) -> Path | None:
    """Return the path of the list of rows among `lists`, None where that is not sure."""
    usual = [each for each in lists if each.name not in names.NOT_ROWS]
    if len(usual) == 1:
        return usual[0].path
    named = [each for each in usual if each.name in names.ROWS]
    if named:
        return min(named, key=lambda f: (len(f.path), names.ROWS.index(f.name))).path
    items = [(each.path, each.node.get("items")) for each in usual]
    objects = [path for path, of in items if isinstance(of, dict) and "object" in types_stated(of)]
    return objects[0] if len(objects) == 1 else None
