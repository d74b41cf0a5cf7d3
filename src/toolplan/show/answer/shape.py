"""The shape of a result (rows, a record, a value), and the hints of its schema.

Nothing here raises: a tool may declare anything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from toolplan.plan.path import EVERY, Every, Json, Path, Segment
from toolplan.schema import flat

Row: TypeAlias = dict[str, Json]


class Hints(Struct, frozen=True):
    """The schema at one place; `node` has references and alternatives resolved."""

    node: Row

    @property
    def entity(self) -> str:
        """The kind of thing described (`x-entity`), or an empty text."""
        return self._text("x-entity")

    @property
    def unit(self) -> str:
        """The unit of a number (`x-unit`), or an empty text."""
        return self._text("x-unit")

    @property
    def refers(self) -> bool:
        """Whether the value is the identity of something (`x-ref`)."""
        return "x-ref" in self.node

    @property
    def values(self) -> tuple[str, ...]:
        """The allowed texts (`enum`) in declared order; empty if any is allowed."""
        enum = self.node.get("enum")
        return tuple(v for v in enum if isinstance(v, str)) if isinstance(enum, list) else ()

    @property
    def is_list(self) -> bool:
        """Whether a list is described."""
        return "items" in self.node or self.node.get("type") == "array"

    def inner(self, segment: Segment) -> Hints:
        """Return the place of a field, or of the elements of a list."""
        if isinstance(segment, int | Every):
            node = self.node.get("items")
        else:
            properties = self.node.get("properties")
            node = properties.get(segment) if isinstance(properties, dict) else None
        return Hints(node) if isinstance(node, dict) else NO_HINTS

    def at(self, path: Path) -> Hints:
        """Return the place at `path`."""
        place = self
        for segment in path:
            place = place.inner(segment)
        return place

    def _text(self, name: str) -> str:
        value = self.node.get(name)
        return value if isinstance(value, str) else ""


NO_HINTS: Final = Hints({})


def hints(schema: Json) -> Hints:
    """Return the hints of `schema`."""
    return Hints(flat(schema))


ROW_KEYS: Final = ("data", "rows", "items", "results", "records")  # of several lists, the rows
COUNT_KEYS: Final = frozenset({"count", "total", "total_count", "row_count"})

_DONE: Final = frozenset({"ok", "success", "succeeded", "successful", "issuccess"})
_STATES: Final = frozenset({"status", "state", "result", "outcome"})
_ERRORS: Final = frozenset({"error", "errors"})
_REASONS: Final = ("error", "errors", "message", "reason", "detail", "details")
_OF_THINGS: Final = tuple(name for name in _REASONS if name != "message")  # a job has a message
_BAD_STATES: Final = {
    "error": _REASONS, "fail": _REASONS, "failed": _OF_THINGS, "failure": _OF_THINGS
}  # fmt: skip
"""States that report a failure of a call, each with the fields that give its reason."""
_NO_IDS: Final = ("valid", "paid")
_OF_ERRORS: Final = {*_DONE, *_STATES, *_REASONS, "code", "type", "title", "data", "statuscode"}

_MOST_BESIDE: Final = 5  # fields of a wrapping: data, ok, count, message and the like

VALUE: Final = "value"
"""The column of rows that are not objects."""


class Rows(Struct, frozen=True):
    """A list; `hints` are those of one row.

    `beside` are the values beside the list in its object. `counted` is the tool's own count if it
    is greater than the number of rows. `gaps` counts the items of a `for_each` without a result.
    `plain` means that the rows were values, not objects.
    """

    rows: list[Row]
    hints: Hints
    beside: Row = field(default_factory=dict[str, Json])
    counted: int | None = None
    gaps: int = 0
    plain: bool = False


class Record(Struct, frozen=True):
    """One object."""

    fields: Row
    hints: Hints


class Single(Struct, frozen=True):
    """A text, a number, a boolean or null."""

    value: bool | int | float | str | None
    hints: Hints


Shape: TypeAlias = Rows | Record | Single


def shape_of(value: Json, hints: Hints, *, each: bool = False) -> Shape:
    """Return the shape of `value`; `each` says that it lists the outputs of a `for_each`."""
    match value:
        case list():
            return _rows_of_each(value, hints) if each else _rows(value, hints.inner(EVERY))
        case dict():
            return _shape_of_object(value, hints)
        case _:
            return Single(value, hints)


def _shape_of_object(value: Row, hints: Hints, *, unwrapped: bool = False) -> Shape:
    key = _row_key(value, hints)
    if key is None:
        inner = value.get("data")
        if unwrapped or hints.entity or not isinstance(inner, dict) or len(value) > _MOST_BESIDE:
            return Record(value, hints)
        return _shape_of_object(inner, hints.inner("data"), unwrapped=True)
    inner = value[key]
    listed = inner if isinstance(inner, list) else []
    beside: Row = {k: v for k, v in value.items() if not isinstance(v, list | dict)}
    counts: list[int] = []
    for name in COUNT_KEYS & beside.keys():
        count = beside[name]
        if isinstance(count, int) and not isinstance(count, bool) and count >= len(listed):
            counts.append(count)
            del beside[name]
    counted = max(counts, default=0)
    rows = _rows(listed, hints.inner(key).inner(EVERY))
    return replace(rows, beside=beside, counted=counted if counted > len(listed) else None)


def _row_key(value: Row, hints: Hints) -> str | None:
    """Return the key of the list that an object wraps; None if the object is a record."""
    if hints.entity or "id" in value:
        return None
    lists = {key: inner for key, inner in value.items() if isinstance(inner, list)}
    full = [k for k, v in lists.items() if v and all(isinstance(row, dict) for row in v)]
    usual = [key for key in ROW_KEYS if key in (full or lists)]
    if usual:
        return usual[0]
    wraps = all(not isinstance(inner, list | dict) for k, inner in value.items() if k not in full)
    return full[0] if len(full) == 1 and wraps else None


def _rows(values: Sequence[Json], hints: Hints) -> Rows:
    rows: list[Row] = [value if isinstance(value, dict) else {VALUE: value} for value in values]
    plain = not all(isinstance(value, dict) for value in values)
    if not any(isinstance(value, dict) for value in values):
        hints = Hints({"properties": {VALUE: hints.node}}) if values else hints
    return Rows(rows, hints, plain=plain)


def _rows_of_each(outputs: Sequence[Json], hints: Hints) -> Rows:
    """Return the rows of all calls of a `for_each` as one list."""
    given = [output for output in outputs if output is not None]
    gaps = len(outputs) - len(given)
    are_lists = all(isinstance(output, list) for output in given)
    if hints.inner(EVERY).is_list or (hints.is_list and not are_lists):
        hints = hints.inner(EVERY)  # the schema is that of the whole list, not of one call
    shapes = [shape_of(output, hints) for output in given]
    lists = [shape for shape in shapes if isinstance(shape, Rows)]
    if given and len(lists) == len(shapes):
        joined = [row for shape in lists for row in shape.rows]
        counted = sum(shape.counted or len(shape.rows) for shape in lists)
        values: dict[str, dict[str, Json]] = {}  # beside the lists, each once
        for name, value in (pair for shape in lists for pair in shape.beside.items()):
            values.setdefault(name, {})[repr(value)] = value
        each = {name: [*found.values()] for name, found in values.items()}
        return Rows(
            joined,
            next((shape.hints for shape in lists if shape.rows), lists[0].hints),
            {name: found[0] if len(found) == 1 else found for name, found in each.items()},
            counted if counted > len(joined) else None,
            gaps,
            any(shape.plain for shape in lists),
        )
    records = [shape for shape in shapes if isinstance(shape, Record)]
    if given and len(records) == len(shapes):
        return Rows([shape.fields for shape in records], records[0].hints, gaps=gaps)
    return replace(_rows(given, hints), gaps=gaps)


def reported_failure(output: Json, *, each: bool = False, acts: bool = False) -> str:
    """Return the failure that a result itself reports, as text; empty without one.

    These are objects with `ok: false`, a `status` of "error", or an `error` and nothing besides.
    The record of a thing may have such a state as well, and is no report: it has an identity, or
    further fields and no reason, unless the call `acts`: then its result tells what became of it.
    With `each`, `output` is the list of the results of a `for_each`.
    """
    if each and isinstance(output, list):
        found = [text for item in output if (text := reported_failure(item, acts=acts))]
        more = f" (and {len(found) - 1} of the other {len(output) - 1})" if found[1:] else ""
        return f"{found[0]}{more}" if found else ""
    if not isinstance(output, dict):
        return ""
    given = {key.replace("_", "").lower(): (key, value) for key, value in output.items()}
    full = {name for name, (_, value) in given.items() if value}
    is_report = full <= _OF_ERRORS
    names = [
        name
        for name, (_, value) in given.items()
        if (name in _DONE and value is False)
        or (
            name in _STATES
            and (reasons := _BAD_STATES.get(str(value).lower())) is not None
            and (acts or is_report or not full.isdisjoint(reasons))
        )
        or (name in _ERRORS and value and is_report)
    ]
    has_id = any(name.endswith("id") and not name.endswith(_NO_IDS) for name in given)
    if not names or (has_id and not _DONE & {*names}):
        return ""
    shown = (given[name] for name in dict.fromkeys([*names, *_REASONS]) if name in given)
    return ", ".join(
        f"{key}: {value if isinstance(value, str) else json.dumps(value)}" for key, value in shown
    )
