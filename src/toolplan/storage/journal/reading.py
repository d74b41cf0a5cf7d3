"""Rows of the journal, read and checked: damage is an error, and never a value."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import asdict

from toolplan.base.errors import ToolplanError
from toolplan.events import Event, ItemEnded, RunState, StepSucceeded
from toolplan.plan.path import Json
from toolplan.storage.journal.blobs import BadBlob
from toolplan.storage.journal.errors import JournalError
from toolplan.storage.journal.records import BLOB, BadRecord, damaged_at, from_record, run_checksum


class RunRecord(Struct, frozen=True):
    """The plan, tools and policy that a run was started with, and is resumed from.

    `plan` is the canonical JSON of the plan, `tools` are the objects of its tools, and `policy` is
    the policy document of its check.
    """

    plan: Json
    tools: Json
    policy: Json


class RunEntry(Struct, frozen=True):
    """One line of the list of runs. `question` is empty if the plan does not contain it.

    `tools` are those of the first steps. `is_left` says that it is not over and no process works
    on it.
    """

    run: str
    created_at: float
    status: RunState
    digest: str
    question: str
    tools: str
    is_left: bool

    @property
    def cursor(self) -> str:
        """The place of the run in the list, which stays one when the run is removed."""
        return f"{self.created_at!r}:{self.run}"

    def to_json(self) -> dict[str, Json]:
        """Return the wire form; the time is in ISO 8601, UTC."""
        created_at = datetime.fromtimestamp(self.created_at, UTC).isoformat()
        return {**asdict(self), "created_at": created_at, "status": self.status.value}


def read_cursor(text: str) -> tuple[float, float, str]:
    """Return the time, twice, and the run of a cursor; for no text, what all runs come after.

    Raises:
        ToolplanError: it is no cursor.
    """
    at, colon, run = text.partition(":")
    try:
        if text and not (colon and run and math.isfinite(float(at))):
            raise ValueError
        return (float(at), float(at), run) if text else (math.inf, math.inf, "")
    except ValueError:
        raise ToolplanError(
            "usage", f"{text!r} is no cursor of a list of runs.", "Take `next` of `runs --json`."
        ) from None


Row: TypeAlias = tuple[object, ...]
Query: TypeAlias = Callable[[str, Row], list[Row]]
Group: TypeAlias = tuple[int, list[str]]
"""Records that were committed together, and the position of the first."""

_OPEN: Final = frozenset((RunState.RUNNING, RunState.WAITING, RunState.IN_DOUBT))
_MOST_TOOLS: Final = 3
_DAMAGED: Final = "(damaged: `toolplan show` with its name says where)"


def record_text(record: RunRecord) -> str:
    """Return `record` as JSON."""
    return json.dumps(asdict(record), ensure_ascii=False, separators=(",", ":"))


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
        return RunRecord(*(fields[name] for name in RunRecord.__struct_fields__))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise run_damaged(run, "its plan is not JSON") from None


def read_rows(run: str, query: Query) -> list[Row]:
    """Return rows of `run`, one for each group: `groups_of` takes the first four columns.

    The others are those that `read_record` takes, of the first row only: the record is large.
    """
    # one statement, so that another process writes neither before nor after it
    return query(
        "SELECT runs.next_seq, seq, event, checksums, created_at, digest, checksum,"
        " CASE WHEN coalesce(seq, 0) = 0 THEN record END FROM runs LEFT JOIN events ON"
        " events.run = runs.run WHERE runs.run = ? ORDER BY seq",
        (run,),
    )


def groups_from(run: str, at: int, query: Query) -> Iterator[Group]:
    """Yield the records of `run` from position `at` on, in groups.

    Raises:
        JournalError: a record is damaged or missing.
    """
    rows = query(
        "SELECT runs.next_seq, seq, event, checksums FROM runs JOIN events ON"
        " events.run = runs.run WHERE runs.run = ? AND seq >= (SELECT coalesce(max(seq), 0)"
        " FROM events WHERE run = ? AND seq <= ?) ORDER BY seq",
        (run, run, at),
    )
    for seq, lines in groups_of(run, rows, cast("int", rows[0][1]) if rows else 0):
        if seq + len(lines) > at:
            yield max(seq, at), lines[max(0, at - seq) :]


def groups_of(run: str, rows: list[Row], at: int = 0) -> Iterator[Group]:
    """Yield the groups in rows of next_seq, seq, event and checksums, of records from `at` on.

    Raises:
        JournalError: a record is damaged or missing.
    """
    for _, seq, text, sums, *_ in rows:
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


def read_events(run: str, groups: Iterable[Group], blob: Callable[[str], str]) -> Iterator[Event]:
    """Yield the events of `run` in `groups`, in order; `blob` returns a large record by its name.

    Raises:
        JournalError: a record cannot be read.
    """
    for at, lines in groups:
        for place, text in enumerate(lines, at):
            try:
                whole = text
                if text.startswith(BLOB):
                    whole = blob(str(json.loads(text)[1]))
                yield from_record(whole)
            except (BadRecord, BadBlob, ValueError, TypeError, IndexError) as error:
                raise record_damaged(run, place, str(error)) from None


def read_entry(row: Row, is_free: Callable[[Row], bool]) -> RunEntry:
    """Return the entry in a row of run, status, created_at, digest, checksum and record.

    The other columns are those of the lease; `is_free` says whether it has no owner.
    """
    run, status, created, digest = str(row[0]), row[1], cast("float", row[2]), str(row[3])
    try:
        state = RunState(str(status))
        plan = read_record(run, row[2:6]).plan
    except (JournalError, ValueError):
        # a person looks at it: nothing of the row is a value
        return RunEntry(run, created, RunState.IN_DOUBT, digest, _DAMAGED, "", True)
    question = ""
    match plan:
        case {"metadata": {"query": str(question)}}:
            pass
        case _:
            pass
    tools = ", ".join(str(step.get("tool")) for step in steps_of(plan)[:_MOST_TOOLS])
    left = state in _OPEN and is_free(row[6:])
    return RunEntry(run, created, state, digest, question, tools, left)


def read_counts(rows: Iterable[Row]) -> dict[str, int]:
    """Return the number of runs in each status, of rows of a status and a count."""
    found = {state.value: 0 for state in RunState}
    for status, count in rows:
        found[str(status) if status in found else RunState.IN_DOUBT.value] += int(str(count))
    return found


def steps_of(plan: Json) -> list[dict[str, Json]]:
    """Return the steps of a plan in JSON."""
    steps = plan.get("steps") if isinstance(plan, dict) else None
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []


def named_blobs(rows: Iterable[Row]) -> set[str]:
    """Return the names of the large records that `rows` of events refer to."""
    lines = (line for (text,) in rows for line in str(text).split("\n"))
    return {str(json.loads(line)[1]) for line in lines if line.startswith(BLOB)}


def record_damaged(run: str, at: int, reason: str) -> JournalError:
    """Return the error for a record of `run` at position `at`; `reason` is a clause."""
    return _damaged(f"Record {at} of run {run!r}", reason.rstrip("."))


def run_damaged(run: str, reason: str) -> JournalError:
    """Return the error for a run; `reason` is a clause."""
    return _damaged(f"Run {run!r}", reason)


def _damaged(what: str, reason: str) -> JournalError:
    help_ = "Restore the journal and the folder beside it from a copy."
    return JournalError("journal-damaged", f"{what} cannot be read: {reason}.", help_)


def unknown(run: str, query: Query, damage: Callable[[], str]) -> JournalError:
    """Return the error for a name that begins no run, or one whose row is damaged.

    `damage` returns what is wrong with the whole journal; empty if nothing is.
    """
    kept = query("SELECT run FROM events WHERE substr(run, 1, length(?)) = ? LIMIT 1", (run, run))
    if kept and run:
        return run_damaged(str(kept[0][0]), "its entry is missing, and its records are there")
    if found := damage():
        left = "it is not in what is left of a file that is damaged or older than it was"
        return run_damaged(run, f"{left} ({found})")
    return JournalError("unknown-run", f"There is no run {run!r}.", "`toolplan runs` lists them.")


_KINDS: Final = ('["step-succeeded",', '["item-ended",')


def results_of(
    plan: Json, records: Iterable[str], wanted: Collection[str]
) -> Iterator[tuple[str, Json]]:
    """Yield the name and result of each call of `wanted` tools, in the order of `records`.

    `plan` is the run's plan in JSON. Results in blobs are left out.
    """
    steps = {step.get("id"): step for step in steps_of(plan) if step.get("tool") in wanted}
    for record in records if steps else ():
        event = from_record(record) if record.startswith(_KINDS) else None
        if isinstance(event, StepSucceeded | ItemEnded) and event.step in steps:
            step = steps[event.step]
            if isinstance(event, ItemEnded) == ("for_each" in step) and event.failure is None:
                yield str(step["tool"]), event.output


def recordings_of(
    runs: Iterable[str],
    results: Callable[[str, Collection[str]], Iterator[tuple[str, Json]]],
    wanted: Collection[str],
    most: int,
) -> dict[str, list[Json]]:
    """Return at most `most` different results of each of `wanted`, in the order of `runs`.

    `results` yields those of a run. A run that is damaged is left out.
    """
    found: dict[str, dict[str, Json]] = {}
    for run in runs:
        try:
            given = [*results(run, wanted)]
        except JournalError as error:
            if error.code != "journal-damaged":
                raise
            continue  # other runs have results too
        for tool, output in given:
            kept = found.setdefault(tool, {})
            if len(kept) < most:  # 1, 1.0 and true are different results
                kept.setdefault(json.dumps(output, sort_keys=True), output)
    return {tool: [*kept.values()] for tool, kept in found.items()}
