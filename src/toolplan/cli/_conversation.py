"""What was said before, where the user names a conversation."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Final

from toolplan.cli._home import home
from toolplan.cli._terminal import note
from toolplan.render.printable import printable
from toolplan.storage.memory import BestEffortMemory, Memory, MemoryFault, SqliteMemory

MEMORY: Final = "memory.sqlite"


@contextmanager
def remembered(conversation: str | None) -> Generator[Memory | None]:
    """Yield the memory of conversations; None where the user names none: each question alone."""
    if conversation is None:
        yield None
        return
    with closing(SqliteMemory(home() / MEMORY)) as memory:
        yield BestEffortMemory(memory, _report)


def _report(fault: MemoryFault) -> None:
    note(printable(f"What was said before is not known: {fault} {fault.help}"))
