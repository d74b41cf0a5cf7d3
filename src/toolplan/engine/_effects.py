"""Calls with effects: the slots of their approval, and the calls in doubt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from toolplan.events import Failure
from toolplan.plan.path import Json
from toolplan.storage.journal import Recovered, Slot

ABORTED: Final = Failure("aborted", "A person said that it failed.")

CHANGED: Final = Failure(
    "not-approved", "The call is not the one that was approved: a value of it has changed."
)

_LOST: Final = "It had started when the run was interrupted, and its outcome is unknown."
_LIVES: Final = "It was made by %s, which still exists: end it before the call is made again."


class Doubtful(Struct, frozen=True):
    """The outcome of a call that may have taken effect and may not be repeated.

    `result` is what came back and cannot be used, as in `CallInDoubt`.
    """

    failure: Failure
    result: Json = None


class EffectCalls:
    """Which calls with effects may be made, and which an earlier process started.

    Attributes:
        slots: for each approved step, the number of its calls that are allowed.
        begun: the last attempt of each earlier call without an outcome.
        tries: the number of the last attempt of each call in earlier processes.
        decisions: what was decided about earlier calls in doubt.
        in_doubt: the calls that wait for such a decision.
    """

    __slots__ = (
        "_doubts", "_previous_owner", "_taken", "begun", "decisions", "in_doubt", "slots", "tries"
    )  # fmt: skip

    def __init__(self, recovered: Recovered) -> None:
        self.slots: Mapping[str, int] = {}
        self.begun = dict(recovered.intents)
        self.tries = recovered.tries
        self.decisions = recovered.decisions
        self.in_doubt: set[Slot] = set()
        self._doubts = recovered.doubts
        self._previous_owner = recovered.previous_owner
        self._taken: set[Slot] = set()

    def begun_items(self, step: str) -> list[int]:
        """Return the items of `step` that were started earlier and have no outcome."""
        return [item for name, item in self.begun if name == step and item is not None]

    def earlier_doubt(self, slot: Slot) -> Doubtful:
        """Return why a call that an earlier process started is in doubt."""
        known, item = self._doubts.get(slot), slot[1]
        lost = Failure("in-doubt", _LOST if item is None else f"Item {item}: {_LOST}")
        failure = lost if known is None else known.failure
        if self._previous_owner and self._previous_owner not in failure.message:
            failure = replace(failure, message=f"{failure.message} {_LIVES % self._previous_owner}")
        return Doubtful(failure, None if known is None else known.result)

    def is_noted(self, slot: Slot, doubt: Doubtful) -> bool:
        """Return whether the journal has that the call is in doubt, and why, as in `doubt`."""
        known = self._doubts.get(slot)
        return known is not None and known.failure == doubt.failure

    def take(self, slot: Slot) -> Failure | None:
        """Take the approval's slot for a call; return a failure if the call may not be made."""
        step, item = slot
        allowed = self.slots.get(step, 0)
        if (item or 0) >= allowed:
            calls = "no call" if not allowed else f"{allowed} call{'s' if allowed > 1 else ''}"
            return Failure("not-approved", f"{calls.capitalize()} of this step was approved.")
        if slot in self._taken:
            return Failure("not-approved", "The call was made already.")
        self._taken.add(slot)
        self.begun.pop(slot, None)
        return None


def idempotency_key(run: str, step: str, item: int | None, page: int | None = None) -> str:
    """Return the idempotency key of a call: the same for every attempt and process."""
    whole = [run, step, item] if page is None else [run, step, item, page]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()
