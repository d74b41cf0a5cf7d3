"""Records of events: JSON arrays of a kind and the fields, with their checksums.

The kinds belong to the file format: a class may be renamed, a kind may not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring
from math import isfinite
from typing import Final, cast
from zlib import crc32

from msgspec import Struct
from msgspec.structs import astuple

from toolplan import events
from toolplan.errors import ToolplanError
from toolplan.path import Json
from toolplan.storage.journal.blobs import blob_name

_KINDS: Final[Mapping[type[events.Event], str]] = {
    events.RunStarted: "run-started",
    events.StepArrived: "step-arrived",
    events.PlanSettled: "plan-settled",
    events.RunWaiting: "run-waiting",
    events.RunApproved: "run-approved",
    events.ApprovalStaged: "approval-staged",
    events.RunResumed: "run-resumed",
    events.RunParked: "run-parked",
    events.RunEnded: "run-ended",
    events.StepStarted: "step-started",
    events.CallIntended: "call-intended",
    events.AttemptFailed: "attempt-failed",
    events.CallAnsweredLate: "call-answered-late",
    events.CallInDoubt: "call-in-doubt",
    events.CallDecided: "call-decided",
    events.CallWaiting: "call-waiting",
    events.ConsentGiven: "consent-given",
    events.ItemEnded: "item-ended",
    events.PageEnded: "page-ended",
    events.StepProgressed: "step-progressed",
    events.StepSucceeded: "step-succeeded",
    events.StepFailed: "step-failed",
    events.StepSkipped: "step-skipped",
    events.StepCancelled: "step-cancelled",
}
_CLASSES: Final[Mapping[str, type[events.Event]]] = {kind: cls for cls, kind in _KINDS.items()}

_MOST_PLAIN: Final = 8

_encode: Final[Callable[[object], str]] = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
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
    fields: list[object] = [*map(_value, astuple(event))]
    if fields[-1] == () and type(event).__struct_fields__[-1] == "partial":
        fields.pop()
    return _encode((_KINDS[type(event)], *fields))


def record_fields(event: events.Event) -> tuple[str, dict[str, Json]]:
    """Return the kind of `event` and its fields by name, as its record has them."""
    kind, *values = cast("list[Json]", json.loads(to_record(event)))
    # a list of parts that is empty stands in no record
    return str(kind), dict(zip(event.__struct_fields__, values, strict=False))


def _value(value: object) -> object:
    if isinstance(value, events.Failure | events.Partial):
        return astuple(value)
    return [*map(_value, cast("tuple[object, ...]", value))] if type(value) is tuple else value


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
    kind, *rest = cast("list[Json]", fields)
    known = _CLASSES.get(kind) if isinstance(kind, str) else None
    names = () if known is None else known.__struct_fields__
    least = 0 if known is None else len(names) - len(known.__struct_defaults__)
    if known is None or not least <= len(rest) <= len(names):
        raise BadRecord(f"It is not an event: {kind!r} with {len(rest)} fields.")
    named = dict(zip(names, rest, strict=False))
    return _event(known, {name: _field(name, value) for name, value in named.items()})


def _event(known: type[events.Event], fields: Mapping[str, object]) -> events.Event:
    make = cast("Callable[..., events.Event]", known)
    return make(**fields)


def _field(name: str, value: Json) -> object:
    """Return a field in the type of the event; most have their JSON type."""
    if (
        name == "failure"
        and isinstance(value, list)
        and len(value) == len(events.Failure.__struct_fields__)
    ):
        return events.Failure(*map(str, value))
    if name == "partial" and isinstance(value, list):
        return tuple(_partial(each) for each in value)
    if name in ("steps", "shapes") and isinstance(value, list):
        return tuple(map(str, value))
    if name == "calls" and isinstance(value, list):
        return tuple(tuple(call) for call in value if isinstance(call, list))
    if name == "status":
        return events.RunState(value)
    return value


def _partial(value: Json) -> events.Partial:
    match value:
        case [str(step), int(rows), int() | None as total, str(reason), [*path]]:
            return events.Partial(step, rows, total, reason, tuple(map(str, path)))
        case _:
            raise BadRecord("It names no part of a list.")


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
    """Return the checksum of what a run was started with."""
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
    lines = [_line(text) for text in texts]
    row = (run, at, "\n".join(lines), checksums(run, at, lines))
    return Group(row, len(texts), large)


def _line(text: str) -> str:
    return text if len(text) <= BLOB_SIZE else f'{BLOB}"{blob_name(text)}",{len(text)}]'
