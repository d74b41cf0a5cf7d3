"""The events of a run as they are written, by whatever process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from toolplan.events import Event
from toolplan.storage.journal._recovery import Whole
from toolplan.storage.journal._store import Store
from toolplan.threads import in_thread

_WAIT_S: Final = 1.0
"""How long a wait for events is at most; a notice of new ones may get lost."""


async def follow(journal: Store, run: str, at: int = 0) -> AsyncGenerator[Event]:
    """Yield the events of `run` in the journal, and then each one that is written, without end.

    The first `at` of them are left out. Who follows stops at the event that it waits for.

    Raises:
        JournalError: there is no such run, or the journal cannot be read.
    """
    await in_thread(journal.entry, run)
    whole, seen = Whole(), 0
    while True:
        events = await in_thread(journal.tail, run, seen)
        for event in map(whole.add, events):
            seen += 1
            if seen > at:
                yield event
        if not events:
            await in_thread(journal.wait, run, seen, _WAIT_S)
