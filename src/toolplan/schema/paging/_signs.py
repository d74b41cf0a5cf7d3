"""Signs that a result holds a part of a list, which no field states: arguments, marks and texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from toolplan.plan.path import Json, Path
from toolplan.schema.paging import _names as names
from toolplan.schema.paging._facts import at, stems, whole
from toolplan.schema.paging._names import folded
from toolplan.schema.paging._results import Page, begins_later, page_of, verdict_on
from toolplan.schema.paging._texts import begins_as_mark, is_mark, said_in, texts_beside

if TYPE_CHECKING:
    from toolplan.schema.paging._arguments import Paging

Args = Mapping[str, Json]


class Part(Struct, frozen=True):
    """A list of which a result has, or may have, a part only; `toolplan.events.Partial` has more.

    `total` is None where it is not known; `total_path` leads to it in the result.
    """

    rows: int
    total: int | None
    reason: str
    total_path: tuple[str, ...] = ()


def part_of(
    output: Json,
    paging: Paging | None,
    schema: Mapping[str, Json],
    args: Args,
    stated: Mapping[str, Json],
) -> Part | None:
    """Return the part of its list that the result of a call with `args` has; None of a whole list.

    `schema` is the flat schema of the arguments, `stated` are the statements beside the result.
    """
    page = page_of(output, paging, stated)
    if (part := _stated(page, paging, args)) is not None:
        return part
    if page.rows is not None:
        if (part := _read(output, page)) is not None:
            return part
        if _is_cut(output, page, schema, args):
            return Part(page.rows, None, "limit")
        if _names_next(output, page, schema, args):
            return Part(page.rows, None, "cursor")
        if _is_piece(output, page, schema, args):
            return Part(page.rows, None, "unknown")
    for other in _pair(output) or _other_lists(output, page.path):
        inner = page_of(other)
        if (part := _stated(inner, None, {}) or _read(other, inner)) is not None:
            return Part(part.rows, part.total, part.reason)
    if page.rows is not None and begins_later(paging, args):
        return Part(page.rows, None, "start")
    return None


def _stated(page: Page, paging: Paging | None, args: Args) -> Part | None:
    verdict = verdict_on(page, paging, args)
    if page.rows is None or verdict.more is False or not verdict.reason:
        return None
    return Part(page.rows, page.total, verdict.reason, page.total_path)


# Arguments

_FEWEST_CUT: Final = 2
_MOST_PIECES: Final = 1000
_RANGE: Final = re.compile(r"\s*(?:\w+\s*=\s*)?(\d{1,9})\s*(?:-|–|:|\.\.|,)\s*(\d{1,9})\s*")
_LINK: Final = re.compile(r"(https?:/)?/|\?")
_CURSOR_KEYS: Final = names.CURSORS | names.NEXT
_DATE: Final = re.compile(r"\d{4}-\d\d")
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_OF_OTHER_PIECES: Final = re.compile(
    r"\b(buildings?|street|city|apartments?|house|floor|ledger|chain|height|book|pdf|chapter|wiki"
    r"|document|manual|scan|title|seats?|memory|products?|machine|production)\b"
)


def _is_cut(output: Json, page: Page, schema: Mapping[str, Json], args: Args) -> bool:
    """Return whether a result has as many rows as a whole number among its arguments says.

    `schema` is the flat schema of the arguments. The number may be sent or be a default, under any
    name: `batch_size: int = 50` cuts a list of 120 rows without a word. A number that each row
    repeats is a filter, and one of a name as `id` or `year` counts no rows.
    """
    rows = at(output, page.path or ()) if page.path is not None else None
    if not isinstance(rows, list) or len(rows) < _FEWEST_CUT or page.shows_end:
        return False
    for name, node, _ in _declared(schema):
        value = args.get(name, node.get("default"))
        # `50`, or `0-49` as in a range
        found = _RANGE.fullmatch(value) if isinstance(value, str) else None
        value = whole(value) if found is None else int(found[2]) - int(found[1]) + 1
        about = _WORDS.findall(name)[-1:] or [name]
        if value is None or value != len(rows) or about[0].lower() in names.OTHER_NUMBERS:
            continue
        if not _is_filter(value, rows):
            return True
    return False


def _is_piece(output: Json, page: Page, schema: Mapping[str, Json], args: Args) -> bool:
    """Return whether a number among the arguments asks for a piece of the list: `chunk: int = 0`.

    Nothing says so for certain, and no further piece is asked for.
    """
    rows = at(output, page.path or ())
    if not isinstance(rows, list) or len(rows) < _FEWEST_CUT or page.shows_end:
        return False
    for name, node, _ in _declared(schema):
        words = {each.lower() for each in _WORDS.findall(name)}
        value = whole(args.get(name, node.get("default")))
        is_place = words & names.PIECES and words <= names.PIECES | names.NUMBERS
        if not is_place or value is None or value > _MOST_PIECES or _is_filter(value, rows):
            continue
        if not _OF_OTHER_PIECES.search(str(node.get("description") or "").lower()):
            return True
    return False


def _is_filter(value: int, rows: list[Json]) -> bool:
    """Return whether each row repeats a number."""
    return all(isinstance(row, dict) and value in row.values() for row in rows)


def _names_next(output: Json, page: Page, schema: Mapping[str, Json], args: Args) -> bool:
    """Return whether a text beside the list looks like a cursor for one of the arguments.

    Its key resembles an optional argument of the flat `schema`, whose name speaks of a place in a
    list, and its value is neither a date nor what was sent. A text `next` that is a link is one in
    any case.
    """
    if not isinstance(output, dict) or not page.path or page.shows_end:
        return False
    for key, value in output.items():
        if folded(key) == "links" and isinstance(value, list):
            rels = (each.get("rel") for each in value if isinstance(each, dict))
            if "next" in rels:
                return True
        if not isinstance(value, str) or not value or _DATE.match(value):
            continue
        if folded(key) == "next" and _LINK.match(value):
            return True
        for name, node, is_needed in _declared(schema):
            argument, own = folded(name), folded(key)
            words = {word.lower() for word in _WORDS.findall(name)}
            takes_cursor = words & names.CURSOR_WORDS or argument in names.CURSORS
            is_new = not is_needed and value != args.get(name, node.get("default"))
            is_alike = own in argument or argument in own or own in _CURSOR_KEYS
            if is_new and takes_cursor and is_alike:
                return True
    return False


def _declared(schema: Mapping[str, Json]) -> Iterator[tuple[str, Mapping[str, Json], bool]]:
    """Yield the arguments of a flat schema: each with its node, and whether it is required."""
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else []
    for name, node in properties.items() if isinstance(properties, dict) else ():
        yield name, node if isinstance(node, dict) else {}, name in needed


# Texts beside the rows, and marks in the place of a row


def _read(output: Json, page: Page) -> Part | None:
    """Return the part that a text beside the rows, or a mark in the place of a row, speaks of."""
    rows = at(output, page.path or ())
    if page.path is None or page.shows_end or not isinstance(rows, list):
        return None
    own = stems(folded(str(page.path[-1]))) if page.path else ()
    if (part := _marked(rows, own)) is not None:
        return part
    texts = texts_beside(output, page.path)
    return _said(texts, len(rows), own)


def _said(texts: Iterable[tuple[str, bool]], rows: int, own: tuple[str, ...]) -> Part | None:
    found = (said_in(text, rows, own, is_note=is_note) for text, is_note in texts)
    return next((Part(rows, *each) for each in found if each is not None), None)


def _marked(rows: list[Json], own: tuple[str, ...]) -> Part | None:
    """Return the part where a row says that rows are left out: `{"...": "70 more"}`."""
    first = rows[0] if len(rows) > 1 else None
    if isinstance(first, dict):
        kept = [each for each in rows if not _is_left_out(each)]
        if len(kept) < len(rows):
            return Part(len(kept), None, "has-more")
    *before, last = rows or [None]
    if isinstance(last, list) and len(last) == 1 and not isinstance(first, list):
        last = last[0]
    if isinstance(last, str):
        if before and is_mark(last):
            return Part(len(before), None, "has-more")
        is_other = bool(before) and not isinstance(first, str)
        return _said([(last, is_other or begins_as_mark(last))], len(before), own)
    if not isinstance(first, dict) or not isinstance(last, dict) or first.keys() & last.keys():
        return None
    # one of the two is no row: the last, or the first where the second is as the last
    return _of_mark(last, before, own) or _of_mark(first, rows[1:], own)


def _is_left_out(row: Json) -> bool:
    values = [*row.values()] if isinstance(row, dict) and len(row) > 1 else [row]
    return all(isinstance(each, str) and is_mark(each) for each in values)


def _of_mark(mark: Mapping[str, Json], rows: list[Json], own: tuple[str, ...]) -> Part | None:
    """Return the part of `rows` that the fields of `mark` state, or its texts."""
    said = {key: value for key, value in mark.items() if folded(key) != "total"}  # a sum
    if (part := _stated(page_of({"rows": rows, **said}), None, {})) is not None:
        return Part(part.rows, part.total, part.reason)
    texts = [(value, True) for value in mark.values() if isinstance(value, str)]
    if (part := _said(texts, len(rows), own)) is not None or not any(map(is_mark, mark)):
        return part
    more = next(filter(None, map(whole, mark.values())), None)
    return (
        Part(len(rows), None, "has-more")
        if more is None
        else Part(len(rows), len(rows) + more, "total")
    )


# Several lists in one result

_DEEPEST: Final = 3
_COUNTS: Final = ("num", "nb", "number", "numberof")


def _pair(output: Json) -> list[dict[str, Json]]:
    """Return as one object a list that holds an object about pages and the list of rows."""
    match output:
        case [dict() as about, list() as rows] | [list() as rows, dict() as about]:
            return [{**about, "rows": rows}]
        case _:
            return []


def _other_lists(value: Json, path: Path | None, place: Path = ()) -> Iterator[dict[str, Json]]:
    """Yield each list but the one at `path`, in an object with the fields and texts about it.

    Of several lists in one object, a field belongs to the one that it is named after, and a text
    first of all to one that it names.
    """
    if not isinstance(value, dict) or len(place) > _DEEPEST:
        return
    lists = {key: inner for key, inner in value.items() if isinstance(inner, list)}
    lists = {key: inner for key, inner in lists.items() if folded(key) not in names.NOT_ROWS}
    if len(lists) == 1 and place and (path is None or path[:-1] != place):
        yield {**value}
    notes = {k: v for k, v in value.items() if isinstance(v, str) and folded(k) in names.NOTES}
    said = " ".join(map(str, notes.values())).lower()
    if len(lists) > 1:
        for key in sorted(lists, key=lambda key: not any(e in said for e in stems(folded(key)))):
            yield {key: lists[key], **notes, **dict(_named_after(key, value))}
    for key, inner in value.items():
        yield from _other_lists(inner, path, (*place, key))


def _named_after(own: str, fields: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the fields named after the list `own`, under the rest of their names."""
    stem = stems(folded(own))
    for key, value in fields.items():
        if isinstance(value, list):
            continue
        if isinstance(value, dict) and own in value:  # {"totals": {"tickets": 120}}
            yield key, value[own]
        name = folded(key)
        for each in stem:
            rest = name.removeprefix(each) if name.startswith(each) else name.removesuffix(each)
            if rest and rest != name:
                is_sum = rest == "total" and stem[0] in names.SUMMED
                yield ("" if is_sum else "count" if rest in _COUNTS else rest), value
                break
