"""Who decides about calls with their values, and what must hold for each call that was made."""

import asyncio
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from tests.crash import plans
from tests.crash.ledger import Client, Entry
from toolplan.events import ConsentGiven, Event
from toolplan.plan.model import Plan
from toolplan.policy.consent import (
    Answer,
    Consent,
    Decide,
    Denied,
    Effect,
    ValueApproval,
    call_digest,
)
from toolplan.schema.tool_call import ToolCall
from toolplan.storage.journal import Recovered, Slot

APPROVED: Final = "(approved)"
"""What the ledger has for the tool where a person approved a call."""

_KINDS: Final = ("approval-staged", "call-waiting", "consent-given", "run-parked", "run-resumed")

ASKED: Final = "values: a person is asked"
DECIDED: Final = "values: the person has decided"
LABELS: Final = (
    ASKED,
    DECIDED,
    "run-started: on disk",
    *(
        f"{kind}: {when}"
        for kind in (
            "approval-staged",
            "call-waiting",
            "consent-given",
            "run-parked",
            "run-resumed",
        )
        for when in ("before it is on disk", "on disk")
    ),
    "call: write begins",
    "effect: write has done its work",
    "call: put begins",
    "effect: put has done its work",
)
"""Places on the way of a call from its question to its end."""


class Person(NamedTuple):
    """Someone who decides the same about a step whenever they are asked.

    `shapes` are the steps that are approved as they stand, `refused` those that are not to be made.
    """

    shapes: tuple[str, ...]
    refused: frozenset[str]

    def approval(
        self, client: Client, hit: Callable[[str], None], chance: random.Random, run: str
    ) -> ValueApproval:
        """Return an approval that asks this person, or one that leaves the calls waiting."""
        asked = self._decide(client, hit, chance, run) if chance.random() < 0.6 else None
        return ValueApproval(asked, self.shapes)

    def consents(
        self, recovered: Recovered, chance: random.Random, *, late: bool
    ) -> dict[str, Consent]:
        """Return what is decided, from elsewhere, about calls that wait; all of them if `late`."""
        if not late and chance.random() < 0.4:
            return {}
        found: dict[str, Consent] = {}
        for step in sorted({name for name, _ in recovered.waiting}):
            shown = {item: each for (name, item), each in recovered.waiting.items() if name == step}
            calls = {item: each.digest for item, each in shown.items()}
            found[step] = Consent(step not in self.refused, "No.", calls)
        return found

    def _decide(
        self, client: Client, hit: Callable[[str], None], chance: random.Random, run: str
    ) -> Decide:
        async def decide(effects: tuple[Effect, ...]) -> dict[str, Answer]:
            hit(ASKED)
            await asyncio.sleep(chance.random() * 0.002)
            answers: dict[str, Answer] = {}
            for step in dict.fromkeys(effect.step for effect in effects):
                now = chance.random() < 0.8
                answers[step] = None if not now else step not in self.refused or Denied("No.")
            for each in effects:
                if answers[each.step] is True:
                    call = ToolCall(run, each.step, each.item, 0, each.digest)
                    client.record(APPROVED, call, dict(each.args))
            hit(DECIDED)
            return answers

        return decide


def drawn(plan: Plan, chance: random.Random) -> Person:
    """Return a person: some approve a step as it stands, some refuse one."""
    effects = [step.id for step in plan.steps if step.tool in plans.EFFECTS]
    shapes = tuple(step for step in effects if chance.random() < 0.1)
    refused = {step for step in effects if step not in shapes and chance.random() < 0.1}
    return Person(shapes, frozenset(refused))


class Decisions:
    """All that a person has approved in a run, held against the calls that were made."""

    def __init__(self, person: Person, run: str) -> None:
        self._person = person
        self._run = run
        self._approved: set[tuple[str, int | None, str]] = set()

    def approved(self, entry: Entry) -> None:
        """Note a call that the person approved where the run asked."""
        self._approved.add((entry.step, entry.item, entry.args))

    def given(self, consents: dict[str, Consent], recovered: Recovered) -> None:
        """Note the calls that the person approves from elsewhere."""
        for (step, item), shown in recovered.waiting.items():
            if step in consents and consents[step].allowed:
                args = json.dumps(shown.args, sort_keys=True)
                self._approved.add((step, item, args))

    def wrong(self, entry: Entry, events: Sequence[Event]) -> str:
        """Return what is wrong with a call that was made; empty where nothing is."""
        if entry.tool not in plans.EFFECTS or entry.step in self._person.shapes:
            return ""
        if entry.step in self._person.refused:
            return f"A refused call was made: {entry}."
        if (entry.step, entry.item, entry.args) not in self._approved:
            return f"A call was made that nobody has approved: {entry}."
        args = json.loads(entry.args)
        digest = call_digest(self._run, entry.step, entry.item, entry.tool, args)
        if (entry.step, entry.item, digest) not in _allowed(events):
            return f"A call was made before its approval was on disk: {entry}."
        return ""

    @property
    def refuses(self) -> bool:
        """Whether a call of the run is refused, so that the plan gives something else."""
        return bool(self._person.refused)

    def lost(self, events: Sequence[Event], calls: Mapping[Slot, int]) -> str:
        """Return which approved call of a run that is over was not made; empty where none is."""
        for step, item, _ in sorted(_allowed(events), key=repr):
            if not calls.get((step, item)):
                return f"The call {item} of step {step!r} was approved, and is lost."
        return ""


def _allowed(events: Sequence[Event]) -> set[tuple[str, int | None, str]]:
    given = [event for event in events if isinstance(event, ConsentGiven) and event.allowed]
    return {(event.step, item, digest) for event in given for item, digest in event.calls}
