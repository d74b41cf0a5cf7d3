"""The state of a run for its resumption: outcomes by step and item.

It does not depend on the order of the events, so steps that ran at the same time, in any number of
processes, recover to the same state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct, field
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
    Failure,
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
from toolplan.path import Json

Slot: TypeAlias = tuple[str, int | None]
"""One call: the id of its step, and its item if the step has `for_each`."""

Over: TypeAlias = StepSucceeded | StepFailed | StepSkipped


class Doubt(Struct, frozen=True):
    """Why a call is in doubt, and what came back of it, as in `CallInDoubt`."""

    attempt: int
    failure: Failure
    result: Json


class Recovered(Struct, frozen=True):
    """How far a run has come.

    Attributes:
        over: the last event of each step that is over.
        items: for each running step with `for_each`, the items that are over.
        pages: for each running call with `pages`, those that are there.
        intents: calls with effects without an outcome, with the last attempt of each.
        tries: the last attempt of each call with effects.
        doubts: what is known of the calls in `intents` that are in doubt.
        decisions: the decisions about the calls in `intents`.
        approval: the id of the run's approval; empty if there is none.
        staged: says that calls are approved with their values; None if they are not.
        waiting: the calls that waited for a person, as they were last shown.
        consents: what was decided about calls with their values.
        before: the process that worked on the run before, in words, if it still exists.
        status: how the run ended, or None if it can be resumed.
    """

    over: Mapping[str, Over] = field(default_factory=dict[str, Over])
    items: Mapping[str, Mapping[int, ItemEnded]] = field(
        default_factory=dict[str, Mapping[int, ItemEnded]]
    )
    pages: Mapping[Slot, Mapping[int, PageEnded]] = field(
        default_factory=dict[Slot, Mapping[int, PageEnded]]
    )
    intents: Mapping[Slot, int] = field(default_factory=dict[Slot, int])
    tries: Mapping[Slot, int] = field(default_factory=dict[Slot, int])
    doubts: Mapping[Slot, Doubt] = field(default_factory=dict[Slot, Doubt])
    decisions: Mapping[Slot, CallDecided] = field(default_factory=dict[Slot, CallDecided])
    approval: str = ""
    staged: ApprovalStaged | None = None
    waiting: Mapping[Slot, CallWaiting] = field(default_factory=dict[Slot, CallWaiting])
    consents: frozenset[ConsentGiven] = frozenset()
    before: str = ""
    status: RunState | None = None

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
    over: dict[str, Over] = {}
    items: dict[str, dict[int, ItemEnded]] = {}
    counts: dict[str, int] = {}
    intended: dict[Slot, int] = {}
    closed: dict[Slot, int] = {}
    decided: dict[Slot, CallDecided] = {}
    doubts: dict[Slot, Doubt] = {}
    asked = _Asked()
    approval, status = "", None
    for event in events:
        match event:
            case StepSucceeded() | StepFailed() | StepSkipped():
                over[event.step] = event
            case ItemEnded(step=step, item=item):
                items.setdefault(step, {})[item] = event
            case StepStarted(step=step, items=int(count)):
                counts[step] = count
            case CallIntended(step=step, item=item, attempt=attempt):
                intended[step, item] = max(attempt, intended.get((step, item), 0))
            case AttemptFailed(step=step, item=item, attempt=attempt):
                closed[step, item] = max(attempt, closed.get((step, item), 0))
            case CallInDoubt():
                _add_doubt(doubts, event)
            case CallDecided(step=step, item=item, attempt=attempt):
                before = decided.get((step, item))
                if before is None or before.attempt < attempt:
                    decided[step, item] = event
            case RunApproved():
                approval = event.approval
            case RunEnded() if event.status is not RunState.CANCELLED:
                status = event.status
            case _:
                asked.add(event)
    open_ = {
        slot: attempt
        for slot, attempt in intended.items()
        if attempt > closed.get(slot, 0)
        and slot[0] not in over
        and slot[1] not in items.get(slot[0], {})
    }
    return Recovered(
        over={step: _whole(event, items, counts) for step, event in over.items()},
        items={step: ended for step, ended in items.items() if step not in over},
        pages={slot: taken for slot, taken in asked.pages.items() if slot[0] not in over},
        intents=open_,
        tries=intended,
        doubts={slot: each for slot, each in doubts.items() if open_.get(slot) == each.attempt},
        decisions={
            slot: event for slot, event in decided.items() if open_.get(slot) == event.attempt
        },
        approval=approval,
        staged=asked.staged,
        waiting={slot: event for slot, event in asked.waiting.items() if slot[0] not in over},
        consents=frozenset(asked.consents),
        status=status,
    )


class _Asked:
    """What a person was asked about calls with their values, and answered; and pages of calls."""

    __slots__ = ("consents", "pages", "staged", "waiting")

    def __init__(self) -> None:
        self.staged: ApprovalStaged | None = None
        self.waiting: dict[Slot, CallWaiting] = {}
        self.consents: list[ConsentGiven] = []
        self.pages: dict[Slot, dict[int, PageEnded]] = {}

    def add(self, event: Event) -> None:
        match event:
            case CallWaiting(step=step, item=item):
                shown = self.waiting.get((step, item), event)
                self.waiting[step, item] = max(shown, event, key=_last)
            case ConsentGiven():
                self.consents.append(event)
            case PageEnded(step=step, item=item, page=page):
                self.pages.setdefault((step, item), {})[page] = event
            case ApprovalStaged():
                self.staged = event
            case _:
                pass


def _last(event: CallWaiting) -> tuple[float, str]:
    return event.at, event.digest


def _add_doubt(doubts: dict[Slot, Doubt], event: CallInDoubt) -> None:
    """Keep the doubt that says most about the last attempt, whatever the order of the events."""

    def weight(doubt: Doubt) -> tuple[int, bool, str]:
        # a failure has no order of its own; as text it has one, with all of its fields
        return doubt.attempt, doubt.result is not None, repr(doubt.failure)

    slot, doubt = (event.step, event.item), Doubt(event.attempt, event.failure, event.result)
    doubts[slot] = max(doubts.get(slot, doubt), doubt, key=weight)


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
