"""Pages that no table of names knows: recognised by comparing a result with the arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolplan.paging import _names as names
from toolplan.paging._names import folded
from toolplan.paging._results import Page, at, whole
from toolplan.path import Json

_LINK: Final = re.compile(r"(https?:/)?/|\?")
_DATE: Final = re.compile(r"\d{4}-\d\d")


def is_cut(
    output: Json, page: Page, raw_input: Json, args: Mapping[str, Json], fewest: int = 2
) -> bool:
    """Return whether a result has as many rows as a whole number among its arguments says.

    The number may be sent or be a default, under any name: `batch_size: int = 50` cuts a list of
    120 rows without a word. A number that each row repeats is a filter, and one of a name as `id`
    or `year` counts no rows.
    """
    rows = at(output, page.path or ()) if page.path is not None else None
    if not isinstance(rows, list) or len(rows) < fewest or page.shows_end:
        return False
    properties = raw_input.get("properties") if isinstance(raw_input, dict) else None
    for name, node in properties.items() if isinstance(properties, dict) else ():
        default = node.get("default") if isinstance(node, dict) else None
        value = whole(args.get(name, default))
        about = _WORDS.findall(name)[-1:] or [name]
        if value != len(rows) or about[0].lower() in names.OTHER_NUMBERS:
            continue
        if not _is_repeated(len(rows), rows):
            return True
    return False


def names_next(output: Json, page: Page, raw_input: Json, args: Mapping[str, Json]) -> bool:
    """Return whether a text beside the list looks like a cursor for one of the arguments.

    Its key resembles an optional argument, whose name speaks of a place in a list, and its value is
    neither a date nor what was sent. A text `next` that is a link is one in any case.
    """
    if not isinstance(output, dict) or not page.path or page.shows_end:
        return False
    optional = _optional(raw_input)
    for key, value in output.items():
        if not isinstance(value, str) or not value or _DATE.match(value):
            continue
        if folded(key) == "next" and _LINK.match(value):
            return True
        for name, default in optional.items():
            if value != args.get(name, default) and _resemble(folded(key), folded(name), name):
                return True
    return False


def _optional(raw_input: Json) -> dict[str, Json]:
    """Return the defaults of the optional arguments, None for those without one."""
    schema = raw_input if isinstance(raw_input, dict) else {}
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else []
    return {
        name: node.get("default") if isinstance(node, dict) else None
        for name, node in (properties.items() if isinstance(properties, dict) else ())
        if name not in needed
    }


def _resemble(key: str, argument: str, name: str) -> bool:
    words = {word.lower() for word in _WORDS.findall(name)}
    if not (words & names.CURSOR_WORDS or argument in names.CURSORS):
        return False
    return key in argument or argument in key or key in names.CURSORS or key in names.NEXT


_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def _is_repeated(value: int, rows: list[Json]) -> bool:
    """Return whether each row has a field with this value."""
    return all(isinstance(row, dict) and value in row.values() for row in rows)
