"""The user's journal, as commands open it."""

from __future__ import annotations

from toolplan.app.home import user_journal
from toolplan.cli.terminal import note
from toolplan.render.printable import printable
from toolplan.storage.journal import Store, open_journal


def opened_journal(place: str | None = None) -> Store:
    """Open the journal at `place`, by default the user's own, and print its notes.

    Raises:
        ToolplanError: it cannot be opened.
    """
    journal = open_journal(user_journal(place))
    for sentence in journal.notes:
        note(printable(sentence))
    return journal
