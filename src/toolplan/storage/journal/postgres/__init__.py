"""The journal in Postgres, for processes on many machines. Only this room imports psycopg."""

from toolplan.storage.journal.postgres._journal import PostgresJournal
from toolplan.storage.journal.postgres._locks import Locks

__all__ = ["Locks", "PostgresJournal"]
