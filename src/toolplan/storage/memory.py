"""Memory: the earlier turns of a conversation, as context for the next question.

Everything is kept by session, one for each conversation of each user, and no session sees or
weighs the words of another. It is one SQLite file with an index of words, without a model.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from toolplan.base.errors import ToolplanError
from toolplan.plan.path import Json
from toolplan.storage.database_file import DatabaseFile, Store, transaction

APPLICATION_ID: Final = 0x7470_6D65  # "tpme": in the header of the file

MIGRATIONS: Final = (
    # 1: sessions, their turns, entities of the turns, and an index of their words
    """
    CREATE TABLE sessions (
        session TEXT PRIMARY KEY,
        used INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE episodes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL,
        timestamp TEXT NOT NULL,
        query TEXT NOT NULL,
        text TEXT NOT NULL,
        plan TEXT,
        pending TEXT
    );
    CREATE INDEX episodes_by_session ON episodes (session, id);
    CREATE TABLE entities (
        session TEXT NOT NULL,
        entity TEXT NOT NULL,
        episode INTEGER NOT NULL,
        PRIMARY KEY (session, entity, episode)
    ) WITHOUT ROWID;
    CREATE INDEX entities_by_episode ON entities (episode);
    CREATE VIRTUAL TABLE words USING fts5 (
        session, text, tokenize = 'porter unicode61 remove_diacritics 2'
    );
    """,
)
"""Each migrates a file from the version before; a released version is never changed."""

BUSY_S: Final = 1.0
"""How long SQLite waits for another program's lock before the call fails."""


class MemoryFault(ToolplanError):
    """Memory cannot be read or written.

    Codes: `memory-locked`, `memory-full`, `memory-read-only`, `memory-unavailable`,
    `memory-damaged`, `memory-newer`.
    """


STORE: Final = Store(
    "memory",
    # questions are private: forgotten ones are overwritten
    DatabaseFile(APPLICATION_ID, MIGRATIONS, BUSY_S, erases=True),
    MemoryFault,
    {
        "locked": "Another program has locked the file; end it, or wait.",
        "full": "Make room on the disk.",
        "read-only": "Make the file and its folder writable, or set TOOLPLAN_HOME elsewhere.",
        "unavailable": "Check the disk and the folder.",
        "damaged": "Delete the file: memory then starts empty, and no run is lost.",
    },
)


class Episode(Struct, frozen=True):
    """One turn of a conversation.

    `query` is the question in the words of the user, `timestamp` its time in ISO 8601, `plan` its
    canonical JSON. `pending` is the question asked back, which the next turn may answer, in the
    form of `toolplan.planners.conversation`.
    """

    query: str
    timestamp: str
    plan: Json = None
    entities: tuple[str, ...] = ()  # as `location:Berlin`
    text: str = ""  # more words by which the turn is found, such as those of the answer
    pending: Json = None

    def to_json(self) -> dict[str, Json]:
        """Return the episode for the context of a question."""
        return {"query": self.query, "timestamp": self.timestamp, "plan": self.plan}


class Recollection(Struct, frozen=True):
    """Text of an earlier turn, and the share of a query's words in it, 0 to 1."""

    text: str
    score: float


class Memory(Protocol):
    """Keeps turns by session.

    All methods block on the disk, and raise `MemoryFault` if memory cannot be used.
    """

    def remember(self, session: str, episode: Episode) -> None:
        """Add `episode` as the latest turn of `session`."""

    def recall(self, session: str, query: str) -> Json:
        """Return the context for the question `query`, in the form of `Question.context`.

        That is `{"semantic": [{"text", "score"}], "episodic": [{"query", "timestamp", "plan"}],
        "entities": [...]}`, and `"pending"` if the latest turn asked back.
        """
        ...


_WORD: Final = re.compile(r"\w+")
_MOST_TERMS: Final = 32
_RECALLED_TURNS: Final = 5
_RECALLED_TEXTS: Final = 3


class MemoryLimits(Struct, frozen=True):
    """Limits of the file; the oldest entries are deleted first.

    `episodes` and `entities` are for each session, `sessions` for the file. Longer texts are cut to
    `characters`; a plan with longer JSON than `plan_characters` is not kept.
    """

    episodes: int = 200
    entities: int = 50
    sessions: int = 1_000
    characters: int = 4_000
    plan_characters: int = 200_000


DEFAULT_LIMITS: Final = MemoryLimits()


class SqliteMemory:
    """Keeps conversations in the file at `path`, which is opened at the first use.

    It is thread-safe, and processes may share the file. Scores only use words of the same session.
    """

    def __init__(
        self, path: Path | str | None = None, *, limits: MemoryLimits = DEFAULT_LIMITS
    ) -> None:
        """Use the file at `path`; None keeps memory in this process."""
        self._path = None if path is None else Path(path)
        self._limits = limits
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def semantic(self, query: str, session: str, limit: int = 3) -> tuple[Recollection, ...]:
        """Return the texts of `session` that are most similar to `query`, best first.

        The score is the share of the query's words in a turn, weighted by their rarity in this
        session: 1 for all of them. Equal ones come latest first.
        """
        terms = tuple(dict.fromkeys(_WORD.findall(query.casefold())))[:_MOST_TERMS]
        key = _key(session)
        if not terms or limit < 1:
            return ()
        with self._opened() as connection:
            turns = dict[int, str]()
            for id_, asked, text in connection.execute(
                "SELECT id, query, text FROM episodes WHERE session = ?", (key,)
            ):
                turns[id_] = f"{asked}\n{text}".strip()
            scores, whole = dict[int, float](), 0.0
            for term in terms:
                found = connection.execute(
                    "SELECT rowid FROM words WHERE words MATCH ?",
                    (f'session : "{key}" AND text : "{term}"',),
                ).fetchall()
                has = [id_ for (id_,) in found if id_ in turns]
                # the weight of bm25 within this session; the index would weight over all sessions
                weight = math.log(1 + (len(turns) - len(has) + 0.5) / (len(has) + 0.5))
                whole += weight
                for id_ in has:
                    scores[id_] = scores.get(id_, 0.0) + weight
        best = sorted(((score / whole, id_) for id_, score in scores.items()), reverse=True)
        return tuple(Recollection(turns[id_], score) for score, id_ in best[:limit])

    def episodic(
        self, session: str, limit: int = 5, entities: tuple[str, ...] = ()
    ) -> tuple[Episode, ...]:
        """Return the turns of `session` with any of `entities` (all if empty), latest first."""
        key = _key(session)
        named = json.dumps([*map(_clean, entities)])
        with self._opened() as connection:
            rows = connection.execute(
                "SELECT id, query, timestamp, text, plan, pending FROM episodes"
                " WHERE session = ? AND (? = '[]' OR id IN (SELECT episode FROM entities"
                " WHERE session = ? AND entity IN (SELECT value FROM json_each(?))))"
                " ORDER BY id DESC LIMIT ?",
                (key, named, key, named, max(limit, 0)),
            ).fetchall()
            said = "SELECT entity FROM entities WHERE session = ? AND episode = ? ORDER BY entity"
            found: list[Episode] = []
            for id_, query, timestamp, text, *texts in rows:
                names = tuple(str(each) for (each,) in connection.execute(said, (key, id_)))
                try:
                    plan, pending = (each and json.loads(each) for each in texts)
                except ValueError:
                    reason = "the plan of a turn is not JSON"
                    raise STORE.error_of("damaged", reason, self._path) from None
                found.append(Episode(query, timestamp, plan, names, text, pending))
            return tuple(found)

    def entities(self, session: str) -> tuple[str, ...]:
        """Return the entities of `session`, each once, latest first."""
        with self._opened() as connection:
            rows = connection.execute(
                "SELECT entity FROM entities WHERE session = ? GROUP BY entity"
                " ORDER BY max(episode) DESC, entity LIMIT ?",
                (_key(session), self._limits.entities),
            )
            return tuple(str(entity) for (entity,) in rows.fetchall())

    def remember(self, session: str, episode: Episode) -> None:
        """Add `episode` as the latest turn of `session`."""
        key = _key(session)
        query, text, timestamp, *entities = (
            _clean(each)[: self._limits.characters]
            for each in (episode.query, episode.text, episode.timestamp, *episode.entities)
        )
        plan, pending = (
            None if value is None or len(text) > self._limits.plan_characters else text
            for value in (episode.plan, episode.pending)
            for text in [json.dumps(value)]
        )
        with self._opened() as connection, transaction(connection):
            made = connection.execute(
                "INSERT INTO episodes (session, timestamp, query, text, plan, pending)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (key, timestamp, query, text, plan, pending),
            ).lastrowid
            connection.execute(
                "INSERT INTO words (rowid, session, text) VALUES (?, ?, ?)",
                (made, key, f"{query}\n{text}"),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO entities (session, entity, episode) VALUES (?, ?, ?)",
                [(key, entity, made) for entity in entities[: self._limits.entities]],
            )
            connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?)", (key, made))
            self._prune(connection, key)

    def recall(self, session: str, query: str) -> Json:
        """Return the context for the question `query`, in the form of `Question.context`."""
        turns = self.episodic(session, _RECALLED_TURNS)
        said = self.semantic(query, session, _RECALLED_TEXTS)
        semantic: list[Json] = [{"text": each.text, "score": each.score} for each in said]
        episodic: list[Json] = [turn.to_json() for turn in turns]
        entities: list[Json] = [*self.entities(session)]
        found: dict[str, Json] = {"semantic": semantic, "episodic": episodic, "entities": entities}
        if turns and turns[0].pending is not None:
            found["pending"] = turns[0].pending
        return found

    def forget(self, session: str) -> None:
        """Delete `session`; nothing of it can be read from the disk afterwards."""
        with self._opened() as connection:
            with transaction(connection):
                _drop(connection, _key(session))
                # the index keeps deleted words until it is rewritten
                connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            # deleted rows are in the log until it is copied into the file
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        """Yield the connection to one thread at a time; raise each fault as `MemoryFault`."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = STORE.connect(self._path)
                yield self._connection
            except (sqlite3.Error, OSError) as error:
                raise STORE.fault(error, self._path) from None

    def _prune(self, connection: sqlite3.Connection, key: str) -> None:
        """Delete the oldest turns of the session, and the least recently used sessions."""
        old = connection.execute(
            "SELECT id FROM episodes WHERE session = ? ORDER BY id DESC LIMIT -1 OFFSET ?",
            (key, self._limits.episodes),
        ).fetchall()
        for (id_,) in old:
            connection.execute("DELETE FROM words WHERE rowid = ?", (id_,))
            connection.execute("DELETE FROM entities WHERE episode = ?", (id_,))
            connection.execute("DELETE FROM episodes WHERE id = ?", (id_,))
        unused = connection.execute(
            "SELECT session FROM sessions ORDER BY used DESC LIMIT -1 OFFSET ?",
            (self._limits.sessions,),
        ).fetchall()
        for (other,) in unused:
            _drop(connection, str(other))


def _drop(connection: sqlite3.Connection, key: str) -> None:
    connection.execute(
        "DELETE FROM words WHERE rowid IN (SELECT id FROM episodes WHERE session = ?)", (key,)
    )
    connection.execute("DELETE FROM entities WHERE session = ?", (key,))
    connection.execute("DELETE FROM episodes WHERE session = ?", (key,))
    connection.execute("DELETE FROM sessions WHERE session = ?", (key,))


def _key(session: str) -> str:
    """Return the key of `session`: a digest, so that names of users are not stored."""
    return hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()


def _clean(text: str) -> str:
    """Return `text` without what SQLite cannot store: lone surrogates and the character 0."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
