"""The error messages of a database, in one line each."""

from __future__ import annotations

import re
from typing import Final

_MESSAGE_CHARACTERS: Final = 300


class SqlFault(Exception):
    """The database refuses a statement, or could not run it; one line gives the reason.

    `is_certain`: all types were known that the statement reads.
    """

    is_certain = False


class MissingColumn(SqlFault):
    """A statement reads `column`, which no table (or not `table`, as it calls it) has."""

    def __init__(self, message: str, column: str, table: str | None = None) -> None:
        super().__init__(message)
        self.column = column
        self.table = table


class Stopped(SqlFault):
    """The statement was stopped."""


class Exhausted(Stopped):
    """The process of the statement ended, because it used more than `memory_mb` megabytes."""

    def __init__(self, memory_mb: int) -> None:
        super().__init__(f"The statement needs more than {memory_mb} MB of memory.")


_MISSING: Final = (
    re.compile(r'Referenced column "(?P<column>.+?)" not found in FROM clause'),
    re.compile(r'"(?P<table>[^"]+)" does not have a column named "(?P<column>[^"]+)"'),
    re.compile(r'Referenced table "(?P<column>.+?)" not found'),
    re.compile(r'Column "(?P<column>.+?)" referenced that exists in the SELECT clause - but'),
    re.compile(r'Column "(?P<column>.+?)" does not exist on (?:left|right) side of join'),
)
_GUARDED: Final = re.compile("Could not convert string 'toolplan: (?P<said>.*)' to BOOL", re.DOTALL)
"""What the guards of a statement say (`GUARDS` of `_child.py`)."""
_CANDIDATES: Final = re.compile(r"^Candidate (?:bindings|columns):[: ]*(.+)$", re.MULTILINE)


def read_fault(text: str) -> SqlFault:
    """Return the fault that the message `text` of the database reports, in one line."""
    if found := _GUARDED.search(text):
        return SqlFault(_shortened(" ".join(found["said"].split())))
    for pattern in _MISSING:
        if found := pattern.search(text):
            groups = found.groupdict()
            column, table = groups["column"], groups.get("table")
            message = f"There is no column {column!r}" + (f" in {table!r}." if table else ".")
            if near := _CANDIDATES.search(text):
                names = near[1].replace('"', "'")
                message += f" The nearest are: {names}."
            return MissingColumn(_shortened(message), column, table)
    head = text.partition("\n\nLINE ")[0].partition("Candidate functions:")[0]
    head = head.partition("\nPossible solutions")[0]
    line = " ".join(head.split())
    line = re.sub(r"^[A-Z][A-Za-z ]*? Error: ", "", line)
    line = re.sub(r",? or SET \w+=.*", ".", line)  # no statement can set anything
    line = line.removesuffix("You might need to add explicit type casts.").rstrip()
    line = line[:1].upper() + line[1:]
    return SqlFault(_shortened(line if line.endswith((".", "!", "?")) else line + "."))


def _shortened(text: str) -> str:
    if len(text) <= _MESSAGE_CHARACTERS:
        return text
    return text[: _MESSAGE_CHARACTERS - 1].rstrip() + "…"
