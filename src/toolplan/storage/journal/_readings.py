"""What is read from a journal, in SQL that SQLite and Postgres understand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolplan.events import Event, Run, fold
from toolplan.path import Json
from toolplan.storage.journal import _results
from toolplan.storage.journal._driver import Driver
from toolplan.storage.journal._entries import RunEntry, RunRecord, read_cursor
from toolplan.storage.journal._errors import JournalError
from toolplan.storage.journal._reading import (
    Query,
    find_name,
    groups_from,
    read_entry,
    read_events,
    read_groups,
    read_record,
    read_whole,
    unknown,
)
from toolplan.storage.journal._recovery import Whole
from toolplan.storage.journal._statements import HAS_MORE

_SEARCHED_RUNS: Final = 20
"""The number of latest runs that are searched for results of tools."""

_WAITING: Final = (
    "SELECT run FROM runs WHERE status = 'waiting' AND digest = ? ORDER BY created_at LIMIT 1"
)
_USERS: Final = (
    "SELECT run FROM approvals WHERE approval LIKE ? ORDER BY length(approval), approval"
)
_HELD: Final = "SELECT run, owner FROM runs WHERE owner <> '' AND status IN ('running', 'waiting')"


class Readings:
    """Reads the runs of a journal."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._read = driver.read

    def runs(self, limit: int = 50, after: str = "") -> list[RunEntry]:
        """Return the latest runs, newest first; with the cursor of a run, those after it.

        Raises:
            ToolplanError: `after` is no cursor.
        """
        return self._entries("", limit, after)

    def entry(self, run: str) -> RunEntry:
        """Return the entry of one run.

        Raises:
            JournalError: there is no such run.
        """
        entries = self._entries(run, 1) if run else []
        if not entries:
            raise self._unknown(run)
        return entries[0]

    def waiting(self, digest: str) -> str | None:
        """Return the first run of the plan `digest` that waits for a person, or None."""
        rows = self._read(_WAITING, (digest,))
        return str(rows[0][0]) if rows else None

    def users(self, digest: str) -> list[str]:
        """Return the runs that an approval by `digest` was used for, in the order of use."""
        return [str(run) for (run,) in self._read(_USERS, (f"{digest}/%",))]

    def held(self) -> dict[str, str]:
        """Return the owner of the lease of each run that is not over and has one.

        A lease may have expired, and its owner may be gone.
        """
        return {str(run): str(owner) for run, owner in self._read(_HELD, ())}

    def find(self, start: str) -> str:
        """Return the name of the one run whose name begins with `start`.

        Raises:
            JournalError: there is none or more than one.
        """
        found = find_name(start, self._reader_of(""))
        if found is None:
            raise self._unknown(start)
        return found

    def record(self, run: str) -> RunRecord:
        """Return what `run` was started with.

        Raises:
            JournalError: there is no such run.
        """
        query = "SELECT created_at, digest, checksum, record FROM runs WHERE run = ?"
        rows = self._read(query, (run,), run)
        if not rows:
            raise self._unknown(run)
        return read_record(run, rows[0])

    def events(self, run: str) -> list[Event]:
        """Return the events of `run`, in order.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        groups = read_groups(run, self._reader_of(run))
        events = list(map(Whole().add, read_events(run, groups, self._driver.blob)))
        if not events:
            raise self._unknown(run)
        return events

    def whole(self, run: str) -> tuple[RunRecord, list[Event]]:
        """Return what `run` was started with, and its events in order, at one moment.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        record, groups = read_whole(run, self._reader_of(run))
        events = list(map(Whole().add, read_events(run, groups, self._driver.blob)))
        if record is None or not events:
            raise self._unknown(run)
        return record, events

    def tail(self, run: str, at: int) -> list[Event]:
        """Return the events of `run` from position `at` on; empty where there are none yet.

        A step with `for_each` succeeds with the output None here: its `ItemEnded` have it.
        `follow` puts the two together.

        Raises:
            JournalError: a record cannot be read.
        """
        return list(read_events(run, groups_from(run, at, self._reader_of(run)), self._driver.blob))

    def wait(self, run: str, at: int, timeout_s: float) -> None:
        """Return when `run` may have events from position `at` on, at the latest after a while."""
        self._driver.wait(run, lambda: bool(self._read(HAS_MORE, (run, at))), timeout_s)

    def load(self, run: str) -> Run:
        """Return the state of `run`.

        Raises:
            JournalError: there is no such run, or a record cannot be read.
        """
        return fold(self.events(run))

    def durations(self, tools: Iterable[str]) -> dict[str, list[float]]:
        """Return the durations of the latest calls of each of `tools` in seconds, latest first."""
        return {tool: self._driver.durations(tool) for tool in tools}

    def recordings(self, tools: Iterable[str], most: int = 3) -> dict[str, list[Json]]:
        """Return at most `most` different results of each of `tools`, latest first.

        They are from the latest runs, without the large ones in blobs. Tools without results are
        left out.

        Raises:
            JournalError: the journal cannot be read.
        """
        query = "SELECT run FROM runs ORDER BY created_at DESC LIMIT ?"
        names = [str(row[0]) for row in self._read(query, (_SEARCHED_RUNS,))]
        return _results.recordings_of(names, self._plan_and_records, set(tools), most)

    def _plan_and_records(self, run: str) -> tuple[Json, list[str]]:
        groups = [*read_groups(run, self._reader_of(""))]
        return self.record(run).plan, [line for _, lines in groups for line in lines]

    def _entries(self, run: str, limit: int, after: str = "") -> list[RunEntry]:
        rows = self._read(self._driver.sql.entries, (run, *read_cursor(after), limit))
        return [read_entry(row, self._driver.is_free) for row in rows]

    def _unknown(self, run: str) -> JournalError:
        return unknown(run, self._reader_of(""), self._driver.damage)

    def _reader_of(self, run: str) -> Query:
        """Return `_read` for queries about `run`."""
        return lambda query, values: self._read(query, values, run)
