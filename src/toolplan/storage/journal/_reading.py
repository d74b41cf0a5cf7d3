"""Rows of the journal, read and checked: what was damaged is an error, and never a value."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, cast

from toolplan.events import Event, RunState
from toolplan.path import Json
from toolplan.storage.journal._blobs import BadBlob, Blobs
from toolplan.storage.journal._checksums import damaged_at, run_checksum
from toolplan.storage.journal._entries import RunEntry, RunRecord
from toolplan.storage.journal._errors import JournalError
from toolplan.storage.journal._leases import Held, Leases
from toolplan.storage.journal._records import BadRecord, from_record

Row: TypeAlias = tuple[object, ...]
Query: TypeAlias = Callable[[str, Row], list[Row]]

BLOB: Final = '["blob",'
_OPEN: Final = frozenset((RunState.RUNNING, RunState.WAITING, RunState.IN_DOUBT))
_MOST_TOOLS: Final = 3
_DAMAGED: Final = "(damaged: `toolplan show` with its name says where)"


def record_text(record: RunRecord) -> str:
    """Return `record` as JSON."""
    return json.dumps(record._asdict(), ensure_ascii=False, separators=(",", ":"))


def read_record(run: str, row: Row) -> RunRecord:
    """Return the record of `run` in a row of created_at, digest, checksum and record.

    Raises:
        JournalError: it was damaged.
    """
    created, digest, checksum, text = row
    is_old = checksum is None
    if not is_old and checksum != run_checksum(run, cast("float", created), str(digest), str(text)):
        raise run_damaged(run, "its plan does not fit its checksum")
    try:
        fields = cast("dict[str, Json]", json.loads(str(text)))
        return RunRecord(*(fields[name] for name in RunRecord._fields))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise run_damaged(run, "its plan is not JSON") from None


def read_groups(run: str, query: Query) -> Iterator[tuple[int, list[str]]]:
    """Yield the groups of records of `run`, each with the position of its first record.

    Raises:
        JournalError: a record is damaged or missing.
    """
    # one statement, so that another process writes neither before nor after it
    rows = query(
        "SELECT runs.next_seq, seq, event, checksums FROM runs LEFT JOIN events ON"
        " events.run = runs.run WHERE runs.run = ? ORDER BY seq",
        (run,),
    )
    at = 0
    for _, seq, text, sums in rows:
        if seq is None:
            break
        if seq != at:
            raise record_damaged(run, at, "it is missing")
        lines = str(text).split("\n")
        if sums is not None and (place := damaged_at(run, at, lines, str(sums))) is not None:
            raise record_damaged(run, place, "it does not fit its checksum")
        yield at, lines
        at += len(lines)
    if rows and rows[0][0] != at:
        raise record_damaged(run, at, "it is missing")


def read_events(run: str, query: Query, blobs: Blobs) -> Iterator[Event]:
    """Yield the events of `run`, in order.

    Raises:
        JournalError: a record cannot be read.
    """
    for at, lines in read_groups(run, query):
        for place, text in enumerate(lines, at):
            try:
                whole = text
                if text.startswith(BLOB):
                    whole = blobs.read(str(json.loads(text)[1]))
                yield from_record(whole)
            except (BadRecord, BadBlob, ValueError, TypeError, IndexError) as error:
                raise record_damaged(run, place, str(error)) from None


def read_entries(run: str, limit: int, query: Query, leases: Leases) -> list[RunEntry]:
    """Return the entry of `run`, or of the latest runs if it is empty."""
    rows = query(
        "SELECT run, status, owner, token, boot, beat, created_at, digest, checksum, record"
        " FROM runs WHERE ? IN ('', run) ORDER BY created_at DESC, run LIMIT ?",
        (run, limit),
    )
    return [_entry(row, leases) for row in rows]


def _entry(row: Row, leases: Leases) -> RunEntry:
    run, status, *held = row[:6]
    name, created, digest = str(run), cast("float", row[6]), str(row[7])
    try:
        state = RunState(str(status))
        question, tools = _subject(read_record(name, row[6:]).plan)
    except (JournalError, ValueError):
        # a person looks at it: nothing of the row is a value
        return RunEntry(name, created, RunState.IN_DOUBT, digest, _DAMAGED, "", True)
    left = state in _OPEN and leases.is_free(Held(*cast("tuple[str, int, str, float]", held)))
    return RunEntry(name, created, state, digest, question, tools, left)


def _subject(plan: Json) -> tuple[str, str]:
    """Return the question in `plan`, and the names of the tools of its first steps."""
    match plan:
        case {"metadata": {"query": str(question)}}:
            pass
        case _:
            question = ""
    steps = plan.get("steps") if isinstance(plan, dict) else None
    first = steps[:_MOST_TOOLS] if isinstance(steps, list) else []
    return question, ", ".join(str(step.get("tool")) for step in first if isinstance(step, dict))


def record_damaged(run: str, at: int, reason: str) -> JournalError:
    """Return the error for a record of `run` at position `at`; `reason` is a clause."""
    return _damaged(f"Record {at} of run {run!r} cannot be read: {reason.rstrip('.')}.")


def run_damaged(run: str, reason: str) -> JournalError:
    """Return the error for a run; `reason` is a clause."""
    return _damaged(f"Run {run!r} cannot be read: {reason}.")


def _damaged(message: str) -> JournalError:
    help_ = "Restore the journal and the folder beside it from a copy."
    return JournalError("journal-damaged", message, help_)


def unknown(run: str, query: Query) -> JournalError:
    """Return why there is no run whose name begins with `run`: none was, or its row is damaged."""
    kept = query("SELECT run FROM events WHERE substr(run, 1, length(?)) = ? LIMIT 1", (run, run))
    if kept and run:
        return run_damaged(str(kept[0][0]), "its entry is missing, and its records are there")
    found = str(query("PRAGMA quick_check(1)", ())[0][0])
    if found != "ok":
        return run_damaged(run, f"it is not in what is left of a damaged file ({found})")
    return JournalError("unknown-run", f"There is no run {run!r}.", "`toolplan runs` lists them.")
