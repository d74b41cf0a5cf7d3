"""The places of facts about rows and further pages in results, found by names and types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.plan.path import Json, Path
from toolplan.schema._document import types_stated, value_types
from toolplan.schema.paging import _names as names
from toolplan.schema.paging._names import folded

_MAX_DEPTH: Final = 4
_MAX_FIELDS: Final = 400
_COUNT_OR_TEXT: Final = frozenset(("integer", "string"))
_FLAG: Final = frozenset(("boolean",))
_OBJECT: Final = frozenset(("object",))
_CURSOR: Final = frozenset(("string", "integer", "null"))
_NONE: Final = frozenset[str]()
_NUMBER: Final = frozenset(("integer", "number", "boolean", "null"))
_KINDS: Final = (
    ("totals", _COUNT_OR_TEXT, names.TOTALS, names.WEAK_TOTALS),
    ("page_counts", _COUNT_OR_TEXT, _NONE, names.PAGE_COUNTS | names.WEAK_PAGE_COUNTS),
    ("more", _FLAG, names.MORE, names.WEAK_MORE),
    ("more", _COUNT_OR_TEXT, _NONE, names.PAGES_LEFT),
    ("last", _FLAG, names.LAST, names.WEAK_LAST),
    ("remainders", _COUNT_OR_TEXT, names.REMAINDERS, names.WEAK_REMAINDERS),
    ("counts", _COUNT_OR_TEXT, _NONE, names.COUNTS),
    ("nexts", _OBJECT, names.OBJECT_CURSORS, _NONE),
)
"""Kinds of facts: types and names of their fields, and names that count near other signs only."""
_PLURALS: Final = (("ies", "y"), ("es", ""), ("s", ""))
_NEXT_OBJECTS: Final = names.ABOUT_PAGES - {"hits", "page", "pageable"}


class Field(Struct, frozen=True):
    """A field at `path`: its folded name, that of its object, and the JSON types it may have.

    `node` is its schema. Without types it accepts any.
    """

    path: Path
    name: str
    container: str
    types: frozenset[str]
    node: Mapping[str, Json]

    def may_be(self, *types: str) -> bool:
        """Return whether it may have one of `types`."""
        return not self.types or not self.types.isdisjoint(types)


def fields_of(schema: Json, path: Path = (), container: str = "") -> Iterator[Field]:
    """Yield the fields of the objects in a flat schema; lists are not entered."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(path) > _MAX_DEPTH:
        return
    for key, inner in properties.items():
        node = inner if isinstance(inner, dict) else {}
        field = Field((*path, key), folded(key), container, types_stated(node), node)
        yield field
        if "object" in field.types:
            yield from fields_of(node, field.path, field.name)


def shape_of(value: Json, depth: int = 0) -> dict[str, Json]:
    """Return a flat schema of `value` with the types and names of its fields."""
    node: dict[str, Json] = {"type": value_types(value)[0]}
    if isinstance(value, dict) and depth <= _MAX_DEPTH and len(value) <= _MAX_FIELDS:
        node["properties"] = {key: shape_of(inner, depth + 1) for key, inner in value.items()}
    elif isinstance(value, list) and value:
        node["items"] = {"type": value_types(value[0])[0]}
    return node


def at(value: Json, path: Path) -> Json:
    """Return the value at `path`, or None; only objects are entered."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) and isinstance(key, str) else None
    return value


def put(value: Json, path: Path, new: Json) -> Json:
    """Return a copy of `value` with `new` at `path`; only the objects on the way are copied."""
    if not path:
        return new
    key, *rest = path
    inner = value if isinstance(value, dict) else {}
    return {**inner, str(key): put(inner.get(str(key)), tuple(rest), new)}


def truth(value: Json) -> bool | None:
    """Return a truth, also one that is written as a number or as a word; else None."""
    if isinstance(value, bool):
        return value
    number = whole(value)
    if number is not None and number >= 0:
        return number > 0
    return _TRUTHS.get(value.strip().lower()) if isinstance(value, str) else None


_TRUTHS: Final = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}


def whole(value: Json) -> int | None:
    """Return a whole number, also one that is written as text or as a float."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


NUMBER: Final = r"\d{1,3}(?:[,.' _\u00a0\u202f]\d{3})+(?!\d)|\d{1,18}"
"""A whole number in a text, with or without a mark between thousands."""
_NO_DIGIT: Final = re.compile(r"\D")
_COUNTED: Final = re.compile(
    r"\s*(about|approx\.?|at least|over|more than|[~≈>≥])?\s*"
    rf"({NUMBER})\s*(\+)?(?: {names.NOUN})?\s*"
)


def number_in(text: str) -> int:
    """Return the number that `NUMBER` has found."""
    return int(_NO_DIGIT.sub("", text))


def counted(value: Json) -> tuple[int, bool] | None:
    """Return a number of rows, and whether there are exactly as many; None where it is none.

    Texts are numbers as well: `1,200`, `120 rows`, and `over 120` or `120+`, which is not exact.
    """
    if isinstance(value, str):
        found = _COUNTED.fullmatch(value)
        return found and (number_in(found[2]), not (found[1] or found[3]))
    number = whole(value)
    return None if number is None or number < 0 else (number, True)


class Facts(Struct, frozen=True):
    """Paths to facts in a result, the most exact first.

    `rows` is None where it is not clear which list is the list of rows, if any. `counts` may be
    totals or the number of rows of the page.
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
    schema: Json,
    *,
    is_paged: bool,
    declared: Mapping[str, Json] = {},
    args: frozenset[str] = frozenset(),
) -> Facts:
    """Return the paths to facts about pages in results of a flat schema.

    `is_paged`: the tool has page arguments, `args` are their folded names. `declared` are paths
    that the tool states itself, by kind.
    """
    fields = list(fields_of(schema))
    found: dict[str, list[Path]] = {"nexts": [], "weak_nexts": []}
    lists = [each for each in fields if "array" in each.types]
    counts = (_general_names(each.name, is_only=len(lists) == 1) for each in lists)
    general = {name: of for each in counts for name, of in each.items()}
    fields = [replace(each, name=general.get(each.name, each.name)) for each in fields]
    near = _envelopes(fields)
    about = {()} | {each.path[:depth] for each in lists for depth in range(len(each.path))}
    for field in fields:
        is_about = field.container in names.ABOUT_PAGES or (is_paged and field.path[:-1] in about)
        kind = _kind(field, is_about, is_about or field.path[:-1] in near, args)
        if "array" not in field.types and kind:
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


def stems(name: str) -> tuple[str, ...]:
    """Return the folded name of a list, and those of one of its rows."""
    return name, *(name.removesuffix(e) + y for e, y in _PLURALS if name.endswith(e) and name != e)


@lru_cache(maxsize=1024)
def _general_names(name: str, *, is_only: bool) -> Mapping[str, str]:
    """Return general names of the counts of a list `name`: of `totalTickets`, `ticketCount`."""
    found: dict[str, str] = {}
    for each in stems(name):
        if name not in names.SUMMED:  # there it may be their sum
            found[f"total{each}"] = "totalcount"
        found |= dict.fromkeys((f"total{each}count", f"totalnumberof{each}"), "totalcount")
        found |= dict.fromkeys((f"{each}count", f"num{each}", f"numberof{each}"), "count")
        for left in names.LEFT if is_only else ():
            found |= dict.fromkeys((f"{left}{each}", f"{each}{left}"), left)
    return found


def _envelopes(fields: list[Field]) -> set[Path]:
    """Return the paths of the objects that are about one list and its pages, and nothing else.

    Such an object may have others in it that count rows: `{"stats": {"total": 120, "shown": 50}}`.
    """
    inside: dict[Path, list[Field]] = {}
    for each in fields:
        inside.setdefault(each.path[:-1], []).append(each)
    envelopes: set[Path] = set()
    for path, found in inside.items():
        lists = [each for each in found if "array" in each.types]
        lists = [each for each in lists if each.name not in names.OF_TABLES] or lists
        counts = {
            each.path for each in found
            if len(of := inside.get(each.path, [])) > 1 and all(map(_is_about_pages, of))
        }  # fmt: skip
        others = (each for each in found if "array" not in each.types and each.path not in counts)
        if len(lists) == 1 and all(map(_is_about_pages, others)):
            name, of = lists[0].name, lists[0].node.get("items")
            types = types_stated(of) if isinstance(of, dict) else _NONE
            is_summed = types & {"integer", "number"} or name in names.SUMMED | names.NOT_ROWS
            # an invoice has lines and a total
            if name in names.ROWS or not is_summed:
                envelopes |= {path, *counts}
    return envelopes


def _is_about_pages(field: Field) -> bool:
    is_number = bool(field.types) and field.types <= _NUMBER
    return field.name in names.OF_ENVELOPES or (is_number and field.name in names.PLACES)


def _kind(field: Field, about: bool, near: bool, args: frozenset[str]) -> str | None:
    name, types, container = field.name, field.types, field.container
    if name == "value" and container in ("total", "totalcount"):
        name = "totalcount"
    elif name in ("count", "total") and container == "more":
        name = "remainingcount"
    for kind, fitting, sure, weak in _KINDS:
        # some write a flag as 1 or "true"
        is_flag = fitting is _FLAG and name in sure
        is_typed = is_flag or not types.isdisjoint(fitting) or (not types and name in names.TOTALS)
        if is_typed and (name in sure or (near and name in weak)):
            return kind
    if types.isdisjoint(_CURSOR) or types - _CURSOR:
        return None
    if name in names.NEXT or (name == "next" and (about or field.path[-1] == "__next")):
        return "nexts"
    if container in ("next", "nextpage") and name in names.IN_NEXT:
        return "nexts"
    if name == "offset" and "integer" in types:
        return None  # that of this page
    is_weak = name in names.WEAK_NEXT and (name in args or container in _NEXT_OBJECTS)
    return "weak_nexts" if is_weak or (name == "cursor" and about) else None


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
