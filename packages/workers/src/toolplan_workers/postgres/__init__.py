"""The journal in Postgres, for processes on many machines. Only this room imports psycopg."""

from toolplan_workers.postgres._journal import PostgresJournal

__all__ = ["PostgresJournal"]
