"""Names of processes that have leases, different on all machines."""

from __future__ import annotations

import secrets
from typing import NamedTuple

from toolplan.storage.journal._processes import (
    is_gone,
    lives,
    process_text,
    this_boot,
    this_process,
)


class Owner(NamedTuple):
    """A process: its host and number, the boot of its machine, and a random part.

    Hosts and numbers come again, in containers above all; what ran before is no more then.
    """

    process: str
    boot: str
    chance: str

    @classmethod
    def new(cls) -> Owner:
        """Return a name for this process that no other has."""
        return cls(this_process(), this_boot(), secrets.token_hex(8))

    @classmethod
    def read(cls, name: str) -> Owner:
        """Return the owner with this name; another name is only a process."""
        parts = name.split("|")
        return cls(*parts) if len(parts) == len(cls._fields) else cls(name, "", "")

    @property
    def name(self) -> str:
        """The owner as text."""
        return "|".join(self)

    @property
    def text(self) -> str:
        """The owner in words."""
        return process_text(self.process) if ":" in self.process else self.process

    @property
    def is_gone(self) -> bool:
        """Whether it is a process of this machine that has certainly ended."""
        return self._is_here and is_gone(self.process)

    @property
    def lives(self) -> bool:
        """Whether it is a process of this machine that has not ended."""
        return self._is_here and lives(self.process)

    @property
    def _is_here(self) -> bool:
        return bool(self.boot) and self.boot == this_boot()
