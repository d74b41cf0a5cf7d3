"""The demo's rows in an embedded SQLite database, and the one door to it that threads may share."""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import platformdirs
from msgspec.structs import astuple

from toolplan.plan.path import Json
from toolplan.storage.shared_file import write_whole
from toolplan_demo import changes
from toolplan_demo import rows as generated
from toolplan_demo.domain import NAMES, Site, fold

DEFAULT_ROWS: Final = 11_000
DEFAULT_SEED: Final = 2025
CACHE_VARIABLE: Final = "TOOLPLAN_CACHE"
"""The environment variable that names the folder of kept rows; by default the platform's cache."""

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
_SUFFIX: Final = ".demo.sqlite"
_MOST_FILES: Final = 8
_DIGEST_BYTES: Final = 32
_CITY: Final = {city.name: city for city in NAMES.cities}


class Database:
    """The demo's database in memory, built at its first use and closed with its last reference.

    A lock guards one connection, so that threads may call at the same time and each reads
    the earlier writes of all others.
    """

    def __init__(
        self,
        today: Callable[[], datetime.date | None],
        rows: int,
        seed: int,
        *,
        lasts: bool = False,
    ) -> None:
        """Prepare a database for each day that `today` returns; None for the day of the first use.

        Where it `lasts`, changes are kept for later processes (`toolplan_demo.changes`).
        """
        self._lasts = lasts
        self._today = today
        self._rows = rows
        self._seed = seed
        self._lock = threading.RLock()
        self._first_day: datetime.date | None = None
        self._connections: dict[datetime.date, sqlite3.Connection] = {}
        self._written: set[tuple[str, str]] = set()

    @property
    def today(self) -> datetime.date:
        """The last day of the data."""
        today = self._today()
        if today is None:
            today = self._first_day = self._first_day or datetime.date.today()
        return today

    def rows(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Return the rows of the query `sql`, lists, objects and booleans as such."""
        with self._lock:
            cursor = self._connection().execute(sql, values)
            names = [column[0] for column in cursor.description]
            found = cursor.fetchall()
        result: list[Row] = [dict(zip(names, row, strict=True)) for row in found]
        booleans, documents = _BOOLEANS.intersection(names), _DOCUMENTS.intersection(names)
        for row in result:
            row |= {each: None if row[each] is None else bool(row[each]) for each in booleans}
            row |= {
                each: None if row[each] is None else json.loads(str(row[each]))
                for each in documents
            }
        return result

    def insert(self, table: str, row: Row) -> None:
        """Insert a row; within a transaction."""
        columns, marks = ", ".join(row), ", ".join("?" for _ in row)
        words = ("INSERT INTO", table, f"({columns})", "VALUES", f"({marks})")
        self._write(words, table, row)

    def update(self, table: str, row: Row) -> None:
        """Write the columns that `row` has besides its `id`; within a transaction."""
        changed = ", ".join(f"{name} = ?{at}" for at, name in enumerate(row, 1))
        words = ("UPDATE", table, "SET", changed, f"WHERE id = ?{[*row].index('id') + 1}")
        self._write(words, table, row)

    def _write(self, words: tuple[str, ...], table: str, row: Row) -> None:
        kept = [write_document(v) if isinstance(v, list | dict) else v for v in row.values()]
        self._connection().execute(" ".join(words), kept)
        self._written.add((table, str(row["id"])))

    @contextmanager
    def transaction(self) -> Generator[None, None, None]:
        """Let no other thread in between, and undo all of it where it raises."""
        with self._lock:
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                yield
                if self._lasts:
                    changes.keep_changes(connection, self._data, self._written)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            finally:
                self._written.clear()
            connection.execute("COMMIT")

    @property
    def _data(self) -> str:
        """The name of the data: number of rows, seed and generator, without the last day."""
        return f"{self._rows}-{self._seed}-{_generator()}"

    def _connection(self) -> sqlite3.Connection:
        with self._lock:
            today = self.today
            if today not in self._connections:
                made = open_database(today, self._rows, self._seed)
                weakref.finalize(self, made.close)
                if self._lasts:
                    changes.apply_changes(made, self._data)
                self._connections[today] = made
            return self._connections[today]


def open_database(
    today: datetime.date, rows: int = DEFAULT_ROWS, seed: int = DEFAULT_SEED
) -> sqlite3.Connection:
    """Return the database of the two years up to `today`, in memory; the caller closes it.

    `rows` is the approximate number of shipments. Lists and objects are kept as JSON text, booleans
    as 0 and 1, times as ISO 8601 text. The SQL function `fold` gives text without case. Rows
    that were generated once are taken from a cache, a file for each day, size and seed.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.create_function("fold", 1, _fold, deterministic=True)
    key = f"{today}-{rows}-{seed}-{_generator()}"
    image = _load(key)
    if image is None:
        _generate(connection, today, rows, seed)
        _save(key, connection.serialize())
    else:
        connection.deserialize(image)
    return connection


def _load(key: str) -> bytes | None:
    """Return the database image that was saved as `key`, or None; a damaged one is made anew."""
    try:
        content = (_folder() / f"{key}{_SUFFIX}").read_bytes()
    except OSError:
        return None
    image = content[_DIGEST_BYTES:]
    return image if content[:_DIGEST_BYTES] == _digest(image) else None


def _save(key: str, image: bytes) -> None:
    """Save a database image as `key`, and remove the oldest ones beyond a few."""
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{key}{_SUFFIX}", _digest(image) + image)
        saved = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_ctime)
        for old in saved[:-_MOST_FILES]:
            old.unlink(missing_ok=True)
    except OSError:
        return  # a full or read-only disk costs time, not an answer


def _digest(image: bytes) -> bytes:
    return hashlib.blake2b(image, digest_size=_DIGEST_BYTES).digest()


def _folder() -> Path:
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("toolplan", appauthor=False)


@functools.cache
def _generator() -> str:
    """Return a digest of the code that makes the rows: other code makes other rows."""
    code = b"".join(Path(__file__).with_name(name).read_bytes() for name in _SOURCES)
    return hashlib.sha256(code).hexdigest()[:16]


def _generate(connection: sqlite3.Connection, today: datetime.date, rows: int, seed: int) -> None:
    connection.executescript(_TABLES)
    connection.execute("BEGIN")
    facilities = map(_facility_values, NAMES.sites, generated.loads(seed))
    _insert(connection, "facilities", facilities)
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


def _insert(connection: sqlite3.Connection, table: str, rows: Iterable[tuple[object, ...]]) -> None:
    """Insert rows, tuples in them as JSON."""
    kept = [
        [write_document([*each]) if isinstance(each, tuple) else each for each in row]
        for row in rows
    ]
    if kept:
        marks = ",".join("?" for _ in kept[0])
        connection.executemany(" ".join(("INSERT INTO", table, f"VALUES ({marks})")), kept)


def _facility_values(site: Site, load_tons: int) -> tuple[object, ...]:
    city = _CITY[site.city]
    mailbox = site.name.lower().replace(" ", ".").replace("ü", "ue").replace("ß", "ss")
    return (
        site.id,
        site.name,
        site.city,
        site.type,
        site.capacity_tons,
        load_tons,
        write_document({"lat": city.latitude, "lon": city.longitude}),
        site.accepts,
        site.refuses,
        f"{mailbox}@waste.example" if site.has_contact else None,
        f"+49 30 5550{int(site.id[1:]):03d}" if site.has_contact else None,
        site.operating_hours,
    )


def _fold(text: str | None) -> str | None:
    return None if text is None else fold(text)
