"""The demo's rows in an embedded SQLite database, and the one door to it that threads may share."""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import sqlite3
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple

from toolplan.path import Json
from toolplan_demo import cache, changes
from toolplan_demo import rows as generated
from toolplan_demo.domain import NAMES, fold

DEFAULT_ROWS: Final = 11_000
DEFAULT_SEED: Final = 2025

SqlValue: TypeAlias = str | int | float | None
Row: TypeAlias = dict[str, Json]

_TABLES: Final = """
CREATE TABLE facilities (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, location TEXT NOT NULL, type TEXT NOT NULL,
    capacity_tons NUMERIC NOT NULL, current_load_tons NUMERIC, coordinates TEXT,
    accepted_waste_types TEXT NOT NULL, rejected_waste_types TEXT NOT NULL,
    contact_email TEXT, contact_phone TEXT, operating_hours TEXT
) WITHOUT ROWID;
CREATE TABLE shipments (
    id TEXT PRIMARY KEY, facility_id TEXT NOT NULL, date TEXT NOT NULL, status TEXT NOT NULL,
    weight_kg NUMERIC NOT NULL, has_contaminants INTEGER NOT NULL, origin TEXT,
    destination TEXT NOT NULL, waste_type TEXT, waste_code TEXT, carrier TEXT,
    composition_notes TEXT
) WITHOUT ROWID;
CREATE TABLE contaminants (
    id TEXT PRIMARY KEY, shipment_id TEXT NOT NULL, facility_id TEXT NOT NULL, type TEXT NOT NULL,
    concentration_ppm NUMERIC NOT NULL, risk_level TEXT NOT NULL, detected_at TEXT NOT NULL,
    waste_item_detected TEXT, explosive_level TEXT, so2_level TEXT, hcl_level TEXT, notes TEXT
) WITHOUT ROWID;
CREATE TABLE inspections (
    id TEXT PRIMARY KEY, shipment_id TEXT NOT NULL, facility_id TEXT NOT NULL, date TEXT NOT NULL,
    status TEXT NOT NULL, inspector TEXT, inspection_type TEXT NOT NULL, duration_minutes NUMERIC,
    passed INTEGER, follow_up_required INTEGER NOT NULL, contaminants_detected TEXT NOT NULL,
    has_risk_contaminants INTEGER NOT NULL, risk_assessment TEXT, notes TEXT
) WITHOUT ROWID;
"""

_INDEXES: Final = """
CREATE INDEX shipments_by_date ON shipments (date, id);
CREATE INDEX shipments_by_facility ON shipments (facility_id, date, id);
CREATE INDEX contaminants_by_time ON contaminants (detected_at, id);
CREATE INDEX contaminants_by_shipment ON contaminants (shipment_id);
CREATE INDEX contaminants_by_facility ON contaminants (facility_id, detected_at, id);
CREATE INDEX inspections_by_date ON inspections (date, id);
CREATE INDEX inspections_by_shipment ON inspections (shipment_id);
CREATE INDEX inspections_by_facility ON inspections (facility_id, date, id);
ANALYZE;
"""

_BOOLEANS: Final = frozenset(
    {"has_contaminants", "has_risk_contaminants", "passed", "follow_up_required"}
)
_DOCUMENTS: Final = frozenset(
    {"coordinates", "accepted_waste_types", "rejected_waste_types", "contaminants_detected"}
)
_SOURCES: Final = ("domain.json", "domain.py", "rows.py", "database.py")
_CITY: Final = {city.name: city for city in NAMES.cities}


class _Opened(Struct, frozen=True):
    connection: sqlite3.Connection
    today: datetime.date
    is_copy: bool
    """Whether it is in memory, so that it can be written."""


class Database:
    """The demo's database, built at its first use and closed with its last reference.

    One connection stands behind a lock, so that threads may call at the same time and each reads
    what any other wrote before. It is to the file of the cache, which is not written, until there
    is something to write: then it is to a copy in memory.
    """

    def __init__(
        self,
        today: Callable[[], datetime.date | None],
        rows: int,
        seed: int,
        *,
        lasts: bool = False,
    ) -> None:
        """Prepare a database for each day that `today` returns; None is that of the first use.

        Where it `lasts`, what is written is kept for later processes (`toolplan_demo.changes`).
        """
        self._lasts = lasts
        self._today = today
        self._rows = rows
        self._seed = seed
        self._lock = threading.RLock()
        self._first_day: datetime.date | None = None
        self._opened: dict[datetime.date, _Opened] = {}

    @property
    def today(self) -> datetime.date:
        """The last day of the data."""
        return self._open().today

    def rows(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Return the rows of the query `sql`, lists, objects and booleans as such."""
        with self._lock:
            cursor = self._open().connection.execute(sql, values)
            names = [column[0] for column in cursor.description]
            found = cursor.fetchall()
        result: list[Row] = [dict(zip(names, row, strict=True)) for row in found]
        for name in names:
            if name in _BOOLEANS:
                for row in result:
                    row[name] = None if row[name] is None else bool(row[name])
            elif name in _DOCUMENTS:
                for row in result:
                    row[name] = read_document(row[name])
        return result

    def row(self, sql: str, values: Sequence[SqlValue] = ()) -> Row | None:
        """Return the first row of the query `sql`, None where there is none."""
        return next(iter(self.rows(sql, values)), None)

    def count(self, sql: str, values: Sequence[SqlValue] = ()) -> int:
        """Return the whole number that the query `sql` has in its one cell."""
        with self._lock:
            (found,) = self._open().connection.execute(sql, values).fetchone()
        return int(found)

    def execute(self, sql: str, values: Sequence[SqlValue]) -> None:
        """Carry out the statement `sql`."""
        with self._lock:
            connection = self._open(to_write=True).connection
            with nullcontext() if connection.in_transaction else self.transaction():
                connection.execute(sql, values)

    @contextmanager
    def transaction(self) -> Generator[None, None, None]:
        """Let no other thread in between, and undo all of it where it raises."""
        with self._lock:
            connection = self._open(to_write=True).connection
            connection.execute("BEGIN")
            try:
                yield
                if self._lasts:
                    changes.keep_changes(connection, self._data)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @property
    def _data(self) -> str:
        """What the rows are, whatever their last day."""
        return f"{self._rows}-{self._seed}-{_generator()}"

    def _open(self, *, to_write: bool = False) -> _Opened:
        with self._lock:
            today = self._today()
            if today is None:
                today = self._first_day = self._first_day or datetime.date.today()
            opened = self._opened.get(today)
            if opened is None or (to_write and not opened.is_copy):
                opened = self._opened[today] = self._connect(today, to_write)
            return opened

    def _connect(self, today: datetime.date, to_write: bool) -> _Opened:
        changed = self._lasts and changes.are_kept()
        saved = None if to_write or changed else open_saved(today, self._rows, self._seed)
        connection = saved or open_database(today, self._rows, self._seed)
        weakref.finalize(self, connection.close)
        if saved is None and self._lasts:
            changes.apply_changes(connection, self._data)
        return _Opened(connection, today, saved is None)


def open_saved(today: datetime.date, rows: int, seed: int) -> sqlite3.Connection | None:
    """Return what `open_database` does, from the file of the cache, to be read only.

    None where there is none. A copy of it in memory takes as long as a question.
    """
    file = cache.find(_key(today, rows, seed))
    if file is None:
        return None
    address = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        return _connected(sqlite3.connect(address, uri=True, check_same_thread=False))
    except sqlite3.Error:  # it was removed, or SQLite cannot read its address
        return None


def open_database(
    today: datetime.date, rows: int = DEFAULT_ROWS, seed: int = DEFAULT_SEED
) -> sqlite3.Connection:
    """Return the database of the two years up to `today`, in memory; the caller closes it.

    `rows` is about how many shipments it holds. Lists and objects are kept as JSON text, booleans
    as 0 and 1, times as ISO 8601 text. The SQL function `fold` gives text without case. What was
    generated once is taken from the cache (`toolplan_demo.cache`).
    """
    connection = _connected(sqlite3.connect(":memory:", check_same_thread=False))
    key = _key(today, rows, seed)
    image = cache.load(key)
    if image is None:
        _generate(connection, today, rows, seed)
        cache.save(key, connection.serialize())
    else:
        connection.deserialize(image)
    return connection


def _key(today: datetime.date, rows: int, seed: int) -> str:
    return f"{today}-{rows}-{seed}-{_generator()}"


def _connected(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.isolation_level = None
    connection.create_function("fold", 1, _fold, deterministic=True)
    return connection


@functools.cache
def _generator() -> str:
    """Return a digest of the code that makes the rows: other code makes other rows."""
    code = b"".join(Path(__file__).with_name(name).read_bytes() for name in _SOURCES)
    return hashlib.sha256(code).hexdigest()[:16]


def _generate(connection: sqlite3.Connection, today: datetime.date, rows: int, seed: int) -> None:
    connection.executescript(_TABLES)
    connection.execute("BEGIN")
    _insert(connection, "facilities", map(_facility_values, generated.facilities(seed)))
    for back in range(generated.DAYS - 1, -1, -1):
        day = today - datetime.timedelta(back)
        made = list(generated.deliveries(seed, day, rows))
        _insert(connection, "shipments", [astuple(each.shipment) for each in made])
        for table in ("contaminants", "inspections"):
            found = [astuple(row) for each in made for row in getattr(each, table)]
            _insert(connection, table, found)
    connection.execute("COMMIT")
    connection.executescript(_INDEXES)


def write_document(value: Json) -> str:
    """Return a list or an object as a column keeps it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_document(text: Json) -> Json:
    """Return the list or the object that a column keeps as `text`."""
    if text == "[]":
        return []
    return json.loads(text) if isinstance(text, str) else None


def _insert(connection: sqlite3.Connection, table: str, rows: Iterable[tuple[object, ...]]) -> None:
    """Insert rows, tuples in them as JSON."""
    kept = [
        [write_document([*each]) if isinstance(each, tuple) else each for each in row]
        for row in rows
    ]
    if kept:
        marks = ",".join("?" for _ in kept[0])
        connection.executemany(" ".join(("INSERT INTO", table, f"VALUES ({marks})")), kept)


def _facility_values(row: generated.Facility) -> tuple[object, ...]:
    site, city = row.site, _CITY[row.site.city]
    mailbox = site.name.lower().replace(" ", ".").replace("ü", "ue").replace("ß", "ss")
    return (
        site.id,
        site.name,
        site.city,
        site.type,
        site.capacity_tons,
        row.current_load_tons,
        write_document({"lat": city.latitude, "lon": city.longitude}),
        site.accepts,
        site.refuses,
        f"{mailbox}@waste.example" if site.has_contact else None,
        f"+49 30 5550{int(site.id[1:]):03d}" if site.has_contact else None,
        site.operating_hours,
    )


def _fold(text: str | None) -> str | None:
    return None if text is None else fold(text)
