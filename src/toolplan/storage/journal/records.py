"""Records of events: JSON arrays of a kind and the fields, with their checksums."""

from __future__ import annotations

import json
from collections.abc import Sequence
from json.encoder import encode_basestring
from math import isfinite
from typing import Final, cast, get_args
from zlib import crc32

from msgspec import Struct, ValidationError, convert
from msgspec.structs import astuple

from toolplan import events
from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json
from toolplan.storage.journal.blobs import blob_name

_CLASSES: Final = {
    cls.__struct_config__.tag: cls
    for cls in (*get_args(events.RunEvent), *get_args(events.StepEvent))
}

_MOST_PLAIN: Final = 8


def _part(value: object) -> tuple[object, ...]:
    if isinstance(value, events.Failure | events.Partial):
        return astuple(value)
    raise TypeError(f"{type(value).__name__} is no JSON.")


_encode: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False, default=_part
).encode


class BadRecord(ToolplanError, ValueError):
    """A record of the journal is not an event of this version."""

    def __init__(self, message: str) -> None:
        super().__init__("bad-record", message)


def to_record(event: events.Event) -> str:
    """Return `event` as JSON."""
    # a fast path for the two most frequent events
    if type(event) is events.StepStarted and isfinite(event.at):
        items = "null" if event.items is None else event.items
        return f'["step-started",{encode_basestring(event.step)},{items},{event.at!r}]'
    if (
        type(event) is events.StepSucceeded
        and event.failure is None
        and not event.partial
        and isfinite(event.at)
    ):
        step, output = encode_basestring(event.step), _output(event.output)
        return f'["step-succeeded",{step},{output},{event.attempts},null,{event.at!r}]'
    return _encode((event.__struct_config__.tag, *astuple(event)))


def record_fields(event: events.Event) -> tuple[str, dict[str, Json]]:
    """Return the kind of `event` and its fields by name, as its record has them."""
    kind, *values = cast("list[Json]", json.loads(to_record(event)))
    # a list of parts that is empty stands in no record
    return str(kind), dict(zip(event.__struct_fields__, values, strict=False))


def _output(output: Json) -> str:
    """Return `output` as JSON; a small object of texts and integers skips the encoder."""
    if type(output) is not dict or len(output) > _MOST_PLAIN:
        return _encode(output)
    members: list[str] = []
    for key, value in output.items():
        if type(value) is int:
            members.append(f"{encode_basestring(key)}:{value}")
        elif type(value) is str:
            members.append(f"{encode_basestring(key)}:{encode_basestring(value)}")
        else:
            return _encode(output)
    return f"{{{','.join(members)}}}"


def from_record(text: str) -> events.Event:
    """Read a record of `to_record`.

    Raises:
        BadRecord: it is not valid.
    """
    try:
        fields: object = json.loads(text)
    except (ValueError, RecursionError):
        raise BadRecord("It is not JSON.") from None
    if not isinstance(fields, list) or not fields:
        raise BadRecord("It is not a list.")
    try:
        return convert(fields, _CLASSES[fields[0]])
    except (KeyError, TypeError, ValidationError) as error:
        raise BadRecord(f"It is not an event: {error}.") from None


def checksums(run: str, at: int, lines: Sequence[str]) -> str:
    """Return the checksums of records of `run`, the first of them at position `at`."""
    return " ".join([f"{_of_record(run, place, line):x}" for place, line in enumerate(lines, at)])


def damaged_at(run: str, at: int, lines: Sequence[str], sums: str) -> int | None:
    """Return the position of the first record that does not fit its checksum, or None."""
    if checksums(run, at, lines) == sums:
        return None
    kept = sums.split(" ")
    for place, line in enumerate(lines):
        if place >= len(kept) or kept[place] != f"{_of_record(run, at + place, line):x}":
            return at + place
    return at + len(lines)


def run_checksum(run: str, created_at: float, digest: str, record: str) -> int:
    """Return the checksum of the record that a run was started with."""
    text = "\0".join((run, repr(created_at), digest, record))
    return crc32(text.encode("utf-8", "surrogatepass"))


def _of_record(run: str, place: int, line: str) -> int:
    return crc32(f"{run}\0{place}\0{line}".encode("utf-8", "surrogatepass"))


BLOB: Final = '["blob",'
BLOB_SIZE: Final = 64_000
"""Longer records, in characters, are kept as blobs."""

KEPT_DURATIONS: Final = 200
"""The number of latest calls whose durations are kept for each tool."""


class Group(Struct, frozen=True):
    """`size` records as a row, and the large ones by the names of blobs."""

    row: tuple[str, int, str, str]
    size: int
    large: dict[str, str]


def group_of(run: str, texts: Sequence[str], at: int) -> Group:
    """Return the group of records `texts`, the first of them at position `at`.

    One row for all: with a row each, every one would wait for the interpreter lock.
    """
    large = {blob_name(text): text for text in texts if len(text) > BLOB_SIZE}
    lines = [
        text if len(text) <= BLOB_SIZE else f'{BLOB}"{blob_name(text)}",{len(text)}]'
        for text in texts
    ]
    row = (run, at, "\n".join(lines), checksums(run, at, lines))
    return Group(row, len(texts), large)
