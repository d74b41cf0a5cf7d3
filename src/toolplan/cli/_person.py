"""Runs that a client of the MCP server made: a model may speak for it, so a person approves."""

from __future__ import annotations

import secrets
import sys
from typing import Final

from toolplan.app._runs import maker_of
from toolplan.cli.terminal import CommandError
from toolplan.storage.journal import Store

_WORDS: Final = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris")
_WAYS: Final = (
    "Approve it in the studio, in a form of the client (`toolplan mcp --elicit`), or with"
    " `toolplan resume RUN` at a terminal, which shows what it does and asks for a word."
)


def approved_by_word(
    store: Store, run: str, *, yes: bool, approves: bool, here: bool = True
) -> bool:
    """Return whether a client of the MCP server made the run, so that a person types a word.

    `approves` says that an option of the command approves something, `here` that this process
    makes its calls, and can ask.

    Raises:
        CommandError: such a run would be approved without a person at a terminal.
    """
    if not maker_of(store.record(run).plan):
        return False
    is_attended = here and sys.stdin.isatty() and sys.stderr.isatty()
    if yes or (approves and not is_attended):
        raise CommandError(
            "approval-required",
            f"{'--yes' if yes else 'An option'} does not approve this run: an MCP client made it,"
            " and a model that speaks for the client may have this shell, too.",
            _WAYS,
        )
    return True


def ways() -> str:
    """Return how such a run is approved."""
    return _WAYS


def new_word() -> str:
    """Return a word that is shown, and typed by the person who approves."""
    return f"{secrets.choice(_WORDS)}-{secrets.randbelow(90) + 10}"
