"""The story of one run over all its lives, and what must hold at the end of each."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tests.crash import person, plans, stream
from tests.crash.ledger import Entry, Ledger
from tests.crash.life import Ended, Life, live
from tests.crash.person import Decisions, Person
from tests.plans_strategy import execution_plan
from toolplan import Decided, ExecutionPlan, Plan, Policy
from toolplan.events import (
    CallIntended,
    Event,
    PlanSettled,
    Run,
    RunEnded,
    RunState,
    StepState,
    fold,
)
from toolplan.plan.path import Json
from toolplan.policy.approval import digest_of
from toolplan.policy.consent import Consent
from toolplan.schema.tool import Arguments, Call, Toolbox
from toolplan.storage.journal import JournalError, Recovered, Slot, open_journal, recover
from toolplan.testing import interpret

MOST_LIVES: Final = 16
"""A run that is not over by then hangs."""

_WHEN_RESUMED: Final = (
    "take over: before",
    "take over: after",
    *(
        f"{kind}: {when}"
        for kind in ("run-resumed", "call-decided", "run-parked", "call-in-doubt")
        for when in ("before it is on disk", "on disk")
    ),
)
"""Places that few lives come to, and that a number drawn at random seldom meets."""

_WHEN_STREAMED: Final = (
    *stream.LABELS,
    "accept: before",
    "accept: after",
    "approval: asked for",
    "approval: before it is on disk",
    "approval: on disk",
)
"""Places on the way from a plan that is being written to one that is accepted and approved."""


class Breach(Exception):
    """Something that must never happen has happened."""


class Outcome(NamedTuple):
    """What came of a run: at which labels it was killed, and how it ended."""

    kills: list[str]
    status: RunState


class _Seen(NamedTuple):
    events: list[Event]
    recovered: Recovered
    run: Run


class Story:
    """A run with a plan of `shape`, made by `seed`, and all that is known of it.

    Its journal is at `place`. A `streamed` run begins while its plan is being written. With
    `values` a person approves its calls with their values.
    """

    def __init__(
        self,
        shape: str,
        seed: int,
        place: str,
        ledger: Ledger,
        *,
        streamed: bool,
        values: bool = False,
    ) -> None:
        self.name = f"r{seed}"
        self._chance = random.Random(seed)
        self._place = place
        self._ledger = ledger
        self._streamed = streamed
        self._tools = plans.toolbox(_computing)
        self._plan = _compiled(plans.SHAPES[shape](self._chance), self._tools)
        self._calls: Counter[Slot] = Counter()
        self._keys: dict[Slot, set[str]] = {}
        self._retries: Counter[Slot] = Counter()
        self._aborted = False
        self._decisions: dict[Slot, Decided] = {}
        self._args: dict[Slot, Entry] = {}
        self._person: Person | None = None
        self._consents: dict[str, Consent] = {}
        if values:
            self._person = person.drawn(self._plan.plan, self._chance)
            self._approved = Decisions(self._person, self.name)

    def play(self, places: int) -> Outcome:
        """Live, be killed at up to three of about `places` places, and live on to the end.

        Raises:
            Breach: something happened that must not.
        """
        kills: list[str] = []
        wanted = 1 if self._chance.random() < 0.9 else self._chance.randrange(2, 4)
        seen: _Seen | None = None
        for life in range(MOST_LIVES):
            kill_at: int | str | None = None
            if life < wanted:
                kill_at = self._chance.randrange(1, places + 1)
                if self._streamed and self._chance.random() < 0.4:
                    kill_at = self._chance.choice(_WHEN_STREAMED)
                elif self._person is not None and self._chance.random() < 0.6:
                    kill_at = self._chance.choice(person.LABELS)
            elif life < MOST_LIVES // 2 and self._chance.random() < 0.25:
                known = person.LABELS if self._person is not None else ()
                kill_at = self._chance.choice((*_WHEN_RESUMED, *known))
            ended = live(self._life(self._chance.randrange(2**32), kill_at, begins=seen is None))
            if ended.error:
                raise Breach(f"life {life} ended with:\n{ended.error}")
            kills += [] if ended.killed is None else [ended.killed]
            seen = self._audit(seen, ended)
            if seen is not None and seen.recovered.status is not None:
                self._audit_end(seen)
                return Outcome(kills, seen.run.status)
            self._decide(seen, late=life > MOST_LIVES // 3)
        raise Breach(f"The run was not over after {MOST_LIVES} lives.")

    def places(self) -> int:
        """Return how many places a life without a kill comes to."""
        ended = live(self._life(1, None, begins=True))
        if ended.error:
            raise Breach(ended.error)
        self._ledger.new()
        return len(ended.labels)

    def _life(self, seed: int, kill_at: int | str | None, *, begins: bool) -> Life:
        return Life(
            self.name,
            self._plan,
            self._place,
            self._ledger.address,
            seed,
            begins,
            self._streamed,
            self._decisions,
            kill_at,
            self._person,
            self._consents,
        )

    def _audit(self, before: _Seen | None, ended: Ended) -> _Seen | None:
        """See that the life did nothing that it must not, and give how the run stands."""
        made = self._made()
        seen = self._seen()
        if seen is None:
            # while its plan is being written, a run may make calls that only read
            forbidden = [each for each in made if not self._streamed or each.tool in plans.EFFECTS]
            if before is not None or forbidden or ended.killed is None:
                raise Breach("A run that was accepted, or had made a call, is not in the journal.")
            return None
        for entry in made:
            self._audit_call(entry, before, seen)
        if before is not None and seen.events[: len(before.events)] != before.events:
            raise Breach("What the journal had held was changed.")
        if recover(self._chance.sample(seen.events, len(seen.events))) != seen.recovered:
            raise Breach("Recovery hangs on the order of events.")
        if self._streamed:
            _audit_arrival(seen.events)
        if ended.killed is None and seen.run.status not in (
            RunState.SUCCEEDED,
            RunState.FAILED,
            RunState.IN_DOUBT,
            *((RunState.WAITING,) if self._person is not None else ()),
        ):
            raise Breach(f"A life that was not killed left the run {seen.run.status.value}.")
        return seen

    def _made(self) -> list[Entry]:
        """Return the calls that the last life made, and note what a person approved in it."""
        new = self._ledger.new()
        for entry in new:
            if entry.tool == person.APPROVED:
                self._approved.approved(entry)
        return [entry for entry in new if entry.tool != person.APPROVED]

    def _audit_call(self, entry: Entry, before: _Seen | None, seen: _Seen) -> None:
        slot = (entry.step, entry.item)
        if entry.run != self.name:
            raise Breach(f"A call of another run: {entry}.")
        if before is not None and _is_over(before.recovered, slot):
            raise Breach(f"{slot} was over, and called again.")
        self._calls[slot] += 1
        self._keys.setdefault(slot, set()).add(entry.key)
        self._args[slot] = entry
        if entry.tool in plans.ONCE and self._calls[slot] > 1 + self._retries[slot]:
            raise Breach(f"{slot} has effects and was called {self._calls[slot]} times.")
        if len(self._keys[slot]) > 1:
            raise Breach(f"{slot} was called with several idempotency keys.")
        wrong = "" if self._person is None else self._approved.wrong(entry, seen.events)
        if wrong:
            raise Breach(wrong)

    def _seen(self) -> _Seen | None:
        journal = open_journal(self._place)
        try:
            events = journal.events(self.name)
        except JournalError as error:
            if error.code != "unknown-run":
                raise Breach(f"The journal cannot be read: {error}") from error
            return None
        finally:
            journal.close()
        return _Seen(events, recover(events), fold(events))

    def _decide(self, seen: _Seen | None, *, late: bool) -> None:
        """Decide, as a person would who has looked at the ledger, about every call in doubt."""
        self._decisions, self._consents = {}, {}
        if seen is not None and self._person is not None:
            self._consents = self._person.consents(seen.recovered, self._chance, late=late)
            self._approved.given(self._consents, seen.recovered)
        if seen is None or seen.run.status is not RunState.IN_DOUBT:
            return
        for name, step in seen.run.steps.items():
            for item in step.in_doubt:
                slot = (name, item)
                done = self._args.get(slot)
                if self._chance.random() < 0.1:
                    self._decisions[slot] = Decided("abort")
                    self._aborted = True
                elif done is not None and self._chance.random() < 0.8:
                    tool = next(s.tool for s in self._plan.plan.steps if s.id == name)
                    self._decisions[slot] = Decided("resolve", _given(tool, done))
                else:
                    self._decisions[slot] = Decided("retry")
                    self._retries[slot] += 1

    def _audit_end(self, seen: _Seen) -> None:
        run = seen.run
        if sum(isinstance(event, RunEnded) for event in seen.events) != 1:
            raise Breach("The run has not exactly one end.")
        if any(step.in_doubt for step in run.steps.values()):
            raise Breach("A run has ended with a call in doubt.")
        if self._aborted:
            return  # a person has changed what the plan gives
        if self._person is not None:
            lost = self._approved.lost(seen.events, self._calls)
            if lost:
                raise Breach(lost)
            if self._approved.refuses:
                return
        wanted = asyncio.run(interpret(self._plan, self._tools))
        if (run.status, run.output) != (wanted.status, wanted.output):
            raise Breach(f"The run gave {run.status}, {str(run.output)[:200]}, not what it should.")
        for name, step in wanted.steps.items():
            here = run.steps[name]
            if (here.state, here.output) != (step.state, step.output):
                raise Breach(f"Step {name!r} is {here.state} with another output than it should.")
            if here.state is StepState.SUCCEEDED and here.error is None:
                self._audit_calls(name, here.items)

    def _audit_calls(self, name: str, items: int | None) -> None:
        slots: Sequence[Slot] = (
            [(name, None)] if items is None else [(name, at) for at in range(items)]
        )
        if not all(self._calls[slot] for slot in slots):
            raise Breach(f"Step {name!r} succeeded without having been called.")


def _audit_arrival(events: Sequence[Event]) -> None:
    """See that the plan was whole before the first call with effects."""
    settled = [at for at, event in enumerate(events) if isinstance(event, PlanSettled)]
    if len(settled) != 1:
        raise Breach(f"The plan was settled {len(settled)} times.")
    if any(isinstance(event, CallIntended) for event in events[: settled[0]]):
        raise Breach("A call with effects was begun before the plan was whole.")


def _is_over(recovered: Recovered, slot: Slot) -> bool:
    step, item = slot
    return step in recovered.over or (item is not None and item in recovered.items.get(step, {}))


def _given(tool: str, entry: Entry) -> Json:
    args: Mapping[str, Json] = json.loads(entry.args)
    return plans.compute(tool, args)


def _computing(name: str) -> Call:
    async def call(args: Arguments) -> Json:
        await asyncio.sleep(0)
        return plans.compute(name, args)

    return call


def _compiled(plan: Plan, tools: Toolbox) -> ExecutionPlan:
    made = execution_plan(plan, tools)
    if made.digest != digest_of(plan, tools, Policy().to_json()):
        raise Breach("The digest is not the plan's.")
    return made
