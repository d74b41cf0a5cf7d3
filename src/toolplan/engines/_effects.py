"""Calls with effects: the slots that an approval has for them, and those that are in doubt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from toolplan.events import CallDecided, Failure
from toolplan.storage.journal import Recovered, Slot

ABORTED: Final = Failure("aborted", "A person said that it failed.")

_LOST: Final = "It was begun before the run was interrupted, and what became of it is not known."


class EffectCalls:
    """Which calls with effects may be made, and which were begun in an earlier process."""

    __slots__ = ("_begun", "_decisions", "_taken", "_tries", "in_doubt", "slots")

    def __init__(self, recovered: Recovered) -> None:
        self.slots: Mapping[str, int] = {}
        self._begun = dict(recovered.intents)
        self._tries = recovered.tries
        self._decisions = recovered.decisions
        self._taken: set[Slot] = set()
        self.in_doubt: set[Slot] = set()

    def begun(self, slot: Slot) -> int:
        """Return the last try of a call that was begun earlier and has no outcome; 0 for none."""
        return self._begun.get(slot, 0)

    def tried(self, slot: Slot) -> int:
        """Return the number of the last try of a call in earlier processes; 0 for none."""
        return self._tries.get(slot, 0)

    def begun_items(self, step: str) -> list[int]:
        """Return the items of `step` that were begun earlier and have no outcome."""
        return [item for name, item in self._begun if name == step and item is not None]

    def decision(self, slot: Slot) -> CallDecided | None:
        """Return what a person decided about a call that was begun earlier."""
        return self._decisions.get(slot)

    def take(self, slot: Slot) -> Failure | None:
        """Take the slot that the approval has for a call, or say why the call may not be made."""
        step, item = slot
        allowed = self.slots.get(step, 0)
        if (item or 0) >= allowed:
            calls = "no call" if not allowed else f"{allowed} call{'s' if allowed > 1 else ''}"
            return Failure("not-approved", f"{calls.capitalize()} of this step was approved.")
        if slot in self._taken:
            return Failure("not-approved", "The call was made already.")
        self._taken.add(slot)
        self._begun.pop(slot, None)
        return None


def lost(slot: Slot) -> Failure:
    """Say why a call that was begun in an earlier process is in doubt."""
    _, item = slot
    return Failure("in-doubt", _LOST if item is None else f"Item {item}: {_LOST}")


def idempotency_key(run: str, step: str, item: int | None) -> str:
    """Return the key of a call, which is the same for every try and in every process."""
    return hashlib.sha256(json.dumps([run, step, item]).encode()).hexdigest()
