"""The user's journal, as commands open it."""

from __future__ import annotations

from toolplan.app._home import open_journal
from toolplan.cli._terminal import note
from toolplan.render.printable import printable
from toolplan.storage.journal import Journal


def opened_journal() -> Journal:
    """Open the user's journal, and print what the user should know about it.

    Raises:
        ToolplanError: it cannot be opened.
    """
    journal = open_journal()
    for sentence in journal.notes:
        note(printable(sentence))
    return journal
