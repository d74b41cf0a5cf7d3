"""The state of a run for its resumption: outcomes by step and item.

It does not depend on the order of the events, so steps that ran at the same time, in any number of
processes, recover to the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from toolplan.events import (
    ApprovalStaged,
    AttemptFailed,
    CallDecided,
    CallInDoubt,
    CallIntended,
    CallWaiting,
    ConsentGiven,
    Event,
    ItemEnded,
    PageEnded,
    RunApproved,
    RunEnded,
    RunState,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepSucceeded,
)

Slot: TypeAlias = tuple[str, int | None]
"""One call: the id of its step, and its item if the step has `for_each`."""

Over: TypeAlias = StepSucceeded | StepFailed | StepSkipped


class Recovered(Struct, frozen=True):
    """How far a run has come."""

    over: Mapping[str, Over] = {}  # the last event of each step that is over
    items: Mapping[str, Mapping[int, ItemEnded]] = {}  # over, of running steps with `for_each`
    pages: Mapping[Slot, Mapping[int, PageEnded]] = {}  # those that running calls have
    intents: Mapping[Slot, int] = {}  # the last attempts of calls with effects, without an outcome
    tries: Mapping[Slot, int] = {}  # the last attempt of each call with effects
    doubts: Mapping[Slot, CallInDoubt] = {}  # of the calls in `intents`
    decisions: Mapping[Slot, CallDecided] = {}  # about the calls in `intents`
    approval: str = ""  # the id of the run's approval; empty if there is none
    staged: ApprovalStaged | None = None  # says that calls are approved with their values
    waiting: Mapping[Slot, CallWaiting] = {}  # for a person, as they were last shown
    consents: frozenset[ConsentGiven] = frozenset()  # to calls with their values
    previous_owner: str = ""  # if its process still exists
    status: RunState | None = None  # how the run ended; None if it can be resumed

    def knows_less_than(self, intended: CallIntended) -> bool:
        """Return whether neither the attempt of `intended` nor an outcome of its call is known."""
        step, item = intended.step, intended.item
        return (
            self.tries.get((step, item), 0) < intended.attempt
            and step not in self.over
            and item not in self.items.get(step, {})
        )


def recover(events: Iterable[Event]) -> Recovered:
    """Return how far the run of `events` has come."""
    events = [*events]
    attempt = attrgetter("attempt")
    tries = {slot: each.attempt for slot, each in _last(events, CallIntended, attempt).items()}
    closed = _last(events, AttemptFailed, attempt)
    decided = _last(events, CallDecided, attempt)
    # a failure has no order of its own; as text it has one, with all of its fields
    doubts = _last(events, CallInDoubt, lambda e: (e.attempt, e.result is not None, repr(e)))
    waiting = _last(events, CallWaiting, lambda shown: (shown.at, shown.digest))
    over: dict[str, Over] = {}
    items: dict[str, dict[int, ItemEnded]] = {}
    counts: dict[str, int] = {}
    pages: dict[Slot, dict[int, PageEnded]] = {}
    consents: set[ConsentGiven] = set()
    approval, staged, status = "", None, None
    for event in events:
        match event:
            case StepSucceeded() | StepFailed() | StepSkipped():
                over[event.step] = event
            case ItemEnded():
                items.setdefault(event.step, {})[event.item] = event
            case StepStarted(step=step, items=int(count)):
                counts[step] = count
            case PageEnded():
                pages.setdefault((event.step, event.item), {})[event.page] = event
            case ConsentGiven():
                consents.add(event)
            case ApprovalStaged():
                staged = event
            case RunApproved():
                approval = event.approval
            case RunEnded() if event.status is not RunState.CANCELLED:
                status = event.status
            case _:
                pass
    intents = {
        (step, item): tried
        for (step, item), tried in tries.items()
        if step not in over
        and item not in items.get(step, {})
        and ((step, item) not in closed or tried > closed[step, item].attempt)
    }
    return Recovered(
        over={step: _whole(event, items, counts) for step, event in over.items()},
        items={step: ended for step, ended in items.items() if step not in over},
        pages={slot: taken for slot, taken in pages.items() if slot[0] not in over},
        intents=intents,
        tries=tries,
        doubts={slot: each for slot, each in doubts.items() if intents.get(slot) == each.attempt},
        decisions={
            slot: each for slot, each in decided.items() if intents.get(slot) == each.attempt
        },
        approval=approval,
        staged=staged,
        waiting={slot: each for slot, each in waiting.items() if slot[0] not in over},
        consents=frozenset(consents),
        status=status,
    )


_Call = TypeVar("_Call", CallIntended, AttemptFailed, CallDecided, CallInDoubt, CallWaiting)


def _last(
    events: Sequence[Event], kind: type[_Call], key: Callable[[_Call], Any]
) -> dict[Slot, _Call]:
    """Return the event of a kind with the greatest `key` of each call, whatever their order."""
    kept: dict[Slot, _Call] = {}
    for event in events:
        if isinstance(event, kind):
            slot = (event.step, event.item)
            kept[slot] = max(kept.get(slot, event), event, key=key)
    return kept


class Whole:
    """Puts the outputs of steps with `for_each` together.

    The journal keeps such an output only once, item by item.
    """

    def __init__(self) -> None:
        self._items: dict[str, dict[int, ItemEnded]] = {}
        self._counts: dict[str, int] = {}

    def add(self, event: Event) -> Event:
        """Return the next event of the run, with its output."""
        if isinstance(event, ItemEnded):
            self._items.setdefault(event.step, {})[event.item] = event
        elif isinstance(event, StepStarted) and event.items is not None:
            self._counts[event.step] = event.items
        elif isinstance(event, StepSucceeded):
            return _whole(event, self._items, self._counts)
        return event


def _whole(
    event: Over, items: Mapping[str, Mapping[int, ItemEnded]], counts: Mapping[str, int]
) -> Over:
    """Return `event` with the output of its items."""
    count = counts.get(event.step)
    if not isinstance(event, StepSucceeded) or count is None:
        return event
    ended = items.get(event.step, {})
    return replace(event, output=[ended[at].output if at in ended else None for at in range(count)])
