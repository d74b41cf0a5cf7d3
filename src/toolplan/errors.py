"""The base of every error that toolplan raises on purpose."""

from __future__ import annotations


class ToolplanError(Exception):
    """The base of every public error.

    `code` is a kebab-case name that stays the same from release to release, `message` one sentence
    of fact, and `help` says what to do, or is None.
    """

    def __init__(self, code: str, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help

    def __str__(self) -> str:
        return self.message

    @property
    def with_help(self) -> str:
        """The message, and the help where there is one."""
        return f"{self} {self.help}" if self.help else str(self)
