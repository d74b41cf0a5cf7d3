"""Calls that are refused: what a client is told, and the way out."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from toolplan.path import Json
from toolplan.storage.journal import JournalError


class CallRefused(Exception):
    """A call was not done, or not to its end; nothing is left half done.

    `code` is a kebab-case name, the text is one sentence of fact, `help` is the way out. `more` is
    told beside the error: diagnostics, or what an approval would be for.
    """

    def __init__(
        self,
        code: str,
        message: str,
        help_: str = "",
        more: Mapping[str, Json] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.help = help_
        self.more = dict(more)

    def to_json(self) -> dict[str, Json]:
        """Return what a client gets: the error, and what is told beside it."""
        error: Json = {"code": self.code, "message": str(self), "help": self.help or None}
        return {"error": error, **self.more}


class CannotServe(ValueError):
    """The server does not start: its settings are not safe, or the port is not free.

    `code` is `not-loopback`, `weak-token`, `unknown-address` or `port-in-use`; `help` is the way
    out.
    """

    def __init__(self, code: str, message: str, help_: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.help = help_


def of_journal(error: JournalError) -> CallRefused:
    """Return what a client is told of a journal that cannot be used, or does not have a run."""
    return CallRefused(error.code, str(error), error.help or "")
