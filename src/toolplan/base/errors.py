"""The base of every error that toolplan raises on purpose."""

from __future__ import annotations


def sentence(text: str) -> str:
    """Return `text` with one full stop at its end, where it has none, or two of them."""
    if text.endswith(("...", "…", "!", "?")):
        return text
    return text if text.endswith(".") and not text.endswith("..") else f"{text.rstrip('.')}."


class ToolplanError(Exception):
    """The base of every public error.

    `code` is a kebab-case name that stays the same from release to release, `message` one sentence
    of fact, and `help` says what to do, or is None. Python prints help and code under the message
    of an error that nobody catches, in a notebook too: they are its note.
    """

    def __init__(self, code: str, message: str, help: str | None = None) -> None:
        if message.endswith(".."):  # the text of another error, and a full stop behind it
            message = sentence(message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help
        if help is not None:
            self.add_note(f"help: {help} [{code}]")

    def __str__(self) -> str:
        return self.message

    @property
    def with_help(self) -> str:
        """The message, and the help where there is one."""
        return f"{self} {self.help}" if self.help else str(self)
