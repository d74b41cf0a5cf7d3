"""Values filled from outputs, and copies of the results of tools.

Arguments and results are copied between engine and tool: a tool that changes its arguments, or
later changes what it returned, does not change the run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, Final, NoReturn, TypeAlias, cast

from toolplan.events import Failure
from toolplan.plan.model import (
    ITEM,
    RESERVED_IDS,
    Array,
    Literal,
    Object,
    Ref,
    Template,
    Value,
    escape_pointer,
    refs,
)
from toolplan.plan.path import Json, NotThere, copied, json_type, print_path, select

CONTAINER: Final = 64
_ELEMENT: Final = 8
FIELD: Final = 32
PLAIN: Final = frozenset((int, float, bool, type(None)))
"""Types of values that take no more than their place in a container."""


class TooLarge(ValueError):
    """A value would be larger than the rest of its budget."""


class Budget:
    """A byte budget for one value; `used` counts the bytes taken."""

    __slots__ = ("most", "used")

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0

    def take(self, value: Json) -> None:
        """Count a copy of `value`.

        Raises:
            TooLarge: it is more than the rest.
        """
        if type(value) in PLAIN:
            return
        if isinstance(value, str):
            self.used += len(value)
        else:
            self.used += size_of(value, self.most - self.used)
        if self.used > self.most:
            raise TooLarge


def size_of(value: Json, most: int) -> int:
    """Estimate the size of `value` in bytes; the count stops beyond `most`.

    Text counts one byte a character, because it is also written out.
    """
    if isinstance(value, str):
        return len(value)
    size = 0
    pending: list[Json] = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            size += CONTAINER + FIELD * len(each) + sum(map(len, each))
            parts: Iterable[Json] = each.values()
        elif isinstance(each, list):
            size += CONTAINER + _ELEMENT * len(each)
            parts = each
        else:
            size += len(each) if isinstance(each, str) else 0
            continue
        if size > most:
            return size
        # exact types first: nearly every value has one, and takes no turn of its own
        for part in parts:
            if isinstance(part, str):
                size += len(part)
            elif type(part) not in PLAIN:
                pending.append(part)
        if size > most:
            return size
    return size


def too_large(what: str, most: int, pointer: str) -> Failure:
    """Return the failure of a step whose `what` would take more than `most` bytes."""
    message = (
        f"{what} would be larger than {most / 1_000_000:g} MB. Refer to a part of the result, or"
        " refer to it fewer times."
    )
    return Failure("value-too-large", message, pointer)


Outputs: TypeAlias = Mapping[str, Json]
"""Outputs by step id."""

MAX_INTEGER_BITS: Final = 13_000
"""Longer integers cannot be printed: Python refuses more than 4,300 digits."""

MAX_VALUE_SIZE: Final = 100_000_000
"""Maximum bytes of the arguments of one call, or of a plan's output."""

_MOST_FLAT: Final = 16
_LARGEST_FLAT: Final = 2**63

_CONTAINERS: Final = frozenset((list, dict))

# methods of the built-in types, so that reading a subclass runs no code of the tool
_ITEMS: Final[Callable[[dict[object, object]], Iterable[tuple[object, object]]]] = dict[
    object, object
].items
_ELEMENTS: Final[Callable[[list[object]], Iterator[object]]] = list[object].__iter__
_PARTS: Final[Callable[[tuple[object, ...]], Iterator[object]]] = tuple[object, ...].__iter__


class NotAField:
    """A reference is not a single field of an object, or the field is missing."""


NOT_A_FIELD: Final = NotAField()


class ResultUnusable(ValueError):
    """A tool returned something that is not JSON or is too large, at `pointer`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.pointer = ""


def resolve(
    value: Value, outputs: Outputs, budget: Budget, item: Json = None, index: int | None = None
) -> Json:
    """Return a copy of `value` with its references filled from `outputs`.

    `item` and `index` are those of one call of a step with `for_each`; `index` is None otherwise.
    Outputs are data: text in them that looks like a reference is not filled. Filled values are
    taken from `budget` before they are copied.

    Raises:
        NotThere: a path does not exist in the output.
        TooLarge: the value would be larger than `budget` allows.
    """
    match value:
        case Literal():
            literal = value.value
            return copied(literal) if type(literal) in _CONTAINERS else literal
        case Ref():
            found = referenced(value, outputs, item, index)
            budget.take(found)
            return copied(found) if type(found) in _CONTAINERS else found
        case Template():
            return "".join(
                part if isinstance(part, str) else _text(part, outputs, budget, item, index)
                for part in value.parts
            )
        case Array():
            return [resolve(inner, outputs, budget, item, index) for inner in value.items]
        case Object():
            return {
                key: resolve(inner, outputs, budget, item, index) for key, inner in value.fields
            }


def _text(ref: Ref, outputs: Outputs, budget: Budget, item: Json, index: int | None) -> str:
    found = referenced(ref, outputs, item, index)
    budget.take(found)
    if isinstance(found, str):
        return found
    text = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
    budget.take(text)  # text with many escapes is several times as long as JSON
    return text


def field_of(ref: Ref, outputs: Outputs, budget: Budget) -> Json | NotAField:
    """Return the value of `ref` if it is one field of an object, as most references are.

    A fast path of `resolve`.

    Raises:
        TooLarge: the value is larger than `budget` allows.
    """
    path = ref.path
    if len(path) == 1:
        key, whole = path[0], outputs.get(ref.step)
        if isinstance(whole, dict) and isinstance(key, str) and key in whole:
            found = whole[key]
            if type(found) in PLAIN:
                return found
            budget.take(found)
            return copied(found) if type(found) in _CONTAINERS else found
    return NOT_A_FIELD


def _flat(result: object, size: int) -> tuple[Json, int] | None:
    """Return a copy of `result` and its `size_of` if it is a small flat object, else None."""
    if type(result) is not dict:
        return None
    # `Any` in this file: a call of `cast` for each value is a good part of the time of a copy
    taken = cast("dict[Any, Any]", result).copy()
    count = len(taken)
    if count > _MOST_FLAT:
        return None
    texts = 0
    for key, value in taken.items():
        if type(key) is not str or not key.isascii():
            return None
        texts += len(key)
        kind = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind is str:
            if not value.isascii():
                return None
            texts += len(value)
        elif kind is int:
            if not -_LARGEST_FLAT < value < _LARGEST_FLAT:
                return None
        elif kind is not bool and value is not None:
            return None
    return (taken, CONTAINER + FIELD * count + texts) if texts + count <= size else None


def snapshot(result: object, *, depth: int, size: int, kept: Budget | None = None) -> Json:
    """Return a copy of `result` as JSON.

    Tuples become lists, and keys that are booleans, numbers or None become text, as in `json`.
    `depth` limits the nesting, `size` the number of characters and values together. The copy counts
    as used in `kept`.

    Raises:
        TooLarge: the copy is more than the rest of `kept`.
        ResultUnusable: some part has no JSON form (NaN, bytes, sets, objects, lone surrogates,
            an integer of thousands of digits), or a limit is exceeded.
    """
    if depth > 0 and (flat := _flat(result, size)) is not None:  # most, several times as fast
        taken, most = flat
        if kept is not None:
            kept.used += most
            if kept.used > kept.most:
                raise TooLarge
        return taken
    taken = _Snapshot(depth, size).take(result, 0)
    if kept is not None:
        kept.take(taken)
    return taken


class _Snapshot:
    """Copies one result of a tool as JSON, within a depth and a size."""

    __slots__ = ("_depth", "_left", "_size")

    def __init__(self, depth: int, size: int) -> None:
        self._depth = depth
        self._size = size
        self._left = size

    def take(self, value: Any, depth: int) -> Json:  # noqa: ANN401 - as in `_flat`
        # exact types first: nearly every value has one
        kind = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind is str:
            return self._text(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return _integer(value)
        if kind is float:
            return _number(value)
        if isinstance(value, dict):
            return self._object([*_ITEMS(cast("dict[object, object]", value))], depth + 1)
        if isinstance(value, list):
            return self._list([*_ELEMENTS(cast("list[object]", value))], depth + 1)
        if isinstance(value, tuple):
            return self._list([*_PARTS(cast("tuple[object, ...]", value))], depth + 1)
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, int):
            return _integer(int.__int__(value))
        if isinstance(value, float):
            return _number(float.__float__(value))
        raise ResultUnusable("result-type", f"It is {json_type(value)}, which has no JSON form.")

    def _list(self, given: list[object], depth: int) -> list[Json]:
        self._enter(len(given), depth)
        taken: list[Json] = [None] * len(given)
        at = 0
        try:
            for at, item in enumerate(given):
                taken[at] = self.take(item, depth)
        except ResultUnusable as error:
            error.pointer = f"/{at}{error.pointer}"
            raise
        return taken

    def _object(self, given: list[tuple[object, object]], depth: int) -> dict[str, Json]:
        self._enter(len(given), depth)
        taken: dict[str, Json] = {}
        name = ""
        try:
            for key, item in given:
                name = self._text(key if type(key) is str else _key(key))
                taken[name] = self.take(item, depth)
            if len(taken) < len(given):
                raise ResultUnusable("result-type", "Two of its keys are the same in JSON.")
        except ResultUnusable as error:
            error.pointer = f"/{escape_pointer(name)}{error.pointer}"
            raise
        return taken

    def _enter(self, count: int, depth: int) -> None:
        self._left -= count
        if self._left < 0:
            self._refuse_size()
        if depth > self._depth:
            raise ResultUnusable(
                "result-type", f"It is nested deeper than {self._depth}, or contains itself."
            )

    def _text(self, text: str) -> str:
        self._left -= len(text)
        if self._left < 0:
            self._refuse_size()
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise ResultUnusable(
                    "result-type", "Its text has half of a surrogate pair."
                ) from None
        return text

    def _refuse_size(self) -> NoReturn:
        raise ResultUnusable(
            "result-too-large", f"It has more than {self._size} characters and values."
        )


def _integer(value: int) -> int:
    if value.bit_length() > MAX_INTEGER_BITS:
        raise ResultUnusable("result-type", "It has an integer of more than 3,900 digits.")
    return value


def _number(value: float) -> float:
    if not isfinite(value):
        raise ResultUnusable("result-type", f"It has {value}, which JSON does not have.")
    return value


def _key(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    if isinstance(key, int):
        return str(_integer(int.__int__(key)))
    if isinstance(key, float):
        return repr(_number(float.__float__(key)))
    raise ResultUnusable("result-type", f"It has a key that is {json_type(key)}, not text.")


def filled_output(
    value: Value, outputs: Outputs, most: int = MAX_VALUE_SIZE
) -> tuple[Json, Failure | None]:
    """Return a plan's output, with null for missing parts, and what is wrong with it first.

    A part of a step without output (skipped or failed) is null and not wrong; a path that does not
    exist in an output is. An output of more than `most` bytes is null as a whole.
    """
    wrong: list[Failure] = []
    try:
        output = _filled_part(value, outputs, Budget(most), "/output", wrong)
    except TooLarge:
        return None, too_large("The plan's output", most, "/output")
    return output, wrong[0] if wrong else None


def run_output(
    stated: Value | None, outputs: Outputs, last: Callable[[], Iterable[str]], most: int
) -> tuple[Json, Failure | None]:
    """Return the output of a plan as `filled_output` does; by default those of its `last` steps."""
    if stated is not None:
        return filled_output(stated, outputs, most)
    return {name: outputs[name] for name in last() if name in outputs}, None


def _filled_part(
    value: Value, outputs: Outputs, budget: Budget, pointer: str, wrong: list[Failure]
) -> Json:
    match value:
        case Array():
            return [
                _filled_part(inner, outputs, budget, f"{pointer}/{at}", wrong)
                for at, inner in enumerate(value.items)
            ]
        case Object():
            return {
                key: _filled_part(inner, outputs, budget, f"{pointer}/{escape_pointer(key)}", wrong)
                for key, inner in value.fields
            }
        case _:
            if any(ref.step not in outputs for ref in refs(value)):
                return None
            try:
                return resolve(value, outputs, budget)
            except NotThere as error:
                wrong.append(Failure("reference-missing", str(error), pointer))
                return None


def referenced(ref: Ref, outputs: Outputs, item: Json = None, index: int | None = None) -> Json:
    """Return the value of `ref` itself, not a copy.

    Raises:
        NotThere: its path does not exist in the output.
    """
    if index is not None and ref.step in RESERVED_IDS:
        whole = item if ref.step == ITEM else index
    else:
        whole = outputs[ref.step]
    if not ref.path:
        return whole
    try:
        return select(whole, ref.path)
    except NotThere as error:
        raise NotThere(f"${{{ref.step}{print_path(ref.path)}}}: {error}.", error.path) from None
