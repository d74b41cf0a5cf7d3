"""Calls that wait for a person, with their values, and the decisions about them.

A call that waits takes no place among the calls in flight: all that does not depend on it runs.
When nothing else can, the person is asked, or the run ends as a waiting one.
"""

from __future__ import annotations

import asyncio
import inspect
from asyncio import Task
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.engine._attempt import InFlightCall
from toolplan.engine._calls import CannotRun, no_call_waits
from toolplan.engine._execution import Execution
from toolplan.events import (
    ApprovalStaged,
    CallWaiting,
    ConsentGiven,
    Failure,
    RunParked,
    RunResumed,
    RunState,
)
from toolplan.plan.model import Literal
from toolplan.plan.path import Json, copied
from toolplan.policy import defaults_of
from toolplan.policy.approval import decider
from toolplan.policy.consent import (
    Consent,
    ValueApproval,
    answers_of,
    call_digest,
    effect_of,
    is_as_shown,
    judged,
    origins_of,
)
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.storage.journal import Slot

if TYPE_CHECKING:
    from toolplan.engine._steps import Scheduler

_POLICY_ENGINE: Final = "policy engine"
"""Who decided, as the journal names it, where no person did."""


class Stage:
    """The calls of one run that are approved with their values."""

    def __init__(
        self,
        execution: Execution,
        plan: ExecutionPlan,
        approval: ValueApproval,
        consents: Iterable[ConsentGiven],
        steps: Scheduler,
    ) -> None:
        """Hold the calls of the steps of `plan` that a person approves, except those of shapes.

        `consents` are the decisions of earlier processes.
        """
        tools, recorder = execution.tools, execution.recorder
        asked = {*plan.effects, *(s.id for s in plan.plan.steps if tools[s.tool].has_effects)}
        self._held = asked.difference(approval.shapes)
        self._run = execution.name
        self._plan = plan
        self._steps = steps
        self._recorder = recorder
        self._emit = execution.emit
        self._clock = execution.clock
        self._allowed: set[tuple[Slot, str]] = set()
        self._denied: dict[tuple[Slot, str], str] = {}
        self._waiting: dict[Slot, tuple[InFlightCall, CallWaiting]] = {}
        self._origins: dict[str, dict[str, Json]] = {}
        self._left_to_person: set[str] = set()
        self._asking: Task[None] | None = None
        self._approval = approval
        before = recorder.run().steps  # as earlier processes left them
        self._shown = {(each.step, each.item): each for s in before.values() for each in s.waiting}
        for consent in consents:
            self._note(consent)

    def begun(self) -> ApprovalStaged:
        """Return the event that says how the run is approved."""
        shapes = tuple(sorted(self._approval.shapes))
        return ApprovalStaged(self._plan.digest, shapes, self._clock())

    @property
    def waits(self) -> bool:
        """Whether a call waits for a person."""
        return bool(self._waiting)

    def lets(self, call: InFlightCall) -> bool:
        """Return whether a call may be made; if not, leave it for a person, or end it."""
        if call.step.id not in self._held:
            return True
        slot = (call.step.id, call.index)
        digest = self._digest(call)
        reason = self._denied.get((slot, digest))
        if reason is not None:
            call.attempt = 0
            said = f": {reason}" if reason else "."
            self._steps.call_ended(call, Failure("denied", f"The call was refused{said}"))
        elif (slot, digest) in self._allowed:
            return True
        else:
            self._leave(call, slot, digest)
        return False

    def agrees(self, call: InFlightCall) -> bool:
        """Return whether an attempt that is about to be made is of an approved call."""
        if call.step.id not in self._held:
            return True
        return ((call.step.id, call.index), self._digest(call)) in self._allowed

    def ask(self) -> bool:
        """Ask the decider about the waiting calls; return False without a decider."""
        approval = self._approval
        is_asked = approval.decide is not None or approval.policy_engine is not None
        if self._asking is None and is_asked and self._waiting:
            self._asking = asyncio.get_running_loop().create_task(self._ask())
        return self._asking is not None

    async def close(self) -> None:
        """Stop asking."""
        asking, self._asking = self._asking, None
        if asking is not None:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    def decide(
        self, step: str, consent: Consent, calls: Iterable[CallWaiting], by: str | None = None
    ) -> ConsentGiven:
        """Return the event of a decision about calls of `step` that waited; `by` decided it.

        Raises:
            CannotRun: one of them is not the one that was shown.
        """
        shown: list[tuple[int | None, str]] = []
        for call in calls:
            effect = effect_of(call)
            digests = consent.calls
            same = digests is None or digests.get(call.item) == call.digest
            if not same or not is_as_shown(self._run, effect):
                raise CannotRun(
                    f"The call of step {step!r} that waits is not the one that was shown.",
                    "`toolplan show RUN` shows the calls that wait.",
                )
            shown.append((call.item, call.digest))
        now, by = self._clock(), decider() if by is None else by
        given = ConsentGiven(step, consent.allowed, tuple(shown), consent.reason, now, by)
        self._note(given)
        return given

    def _leave(self, call: InFlightCall, slot: Slot, digest: str) -> None:
        waiting = self._shown.get(slot)
        if waiting is None or waiting.digest != digest:
            step, args = call.step.id, copied(call.args)
            if step not in self._origins:
                self._origins[step] = origins_of(self._plan, call.step)
            given = {name: Literal(each) for name, each in call.args.items()}
            origins: Json = {**self._origins[step], "defaults": defaults_of(call.tool, given)}
            now, tool = self._clock(), call.tool.name
            waiting = CallWaiting(step, call.index, tool, args, origins, digest, now)
            self._shown[slot] = waiting
            self._emit(waiting)
        self._waiting[slot] = call, waiting
        self._steps.call_left_open(call)

    async def _ask(self) -> None:
        """Ask about the calls that wait, and take the answer."""
        try:
            await self._ask_once()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # the caller of the run gets it
            self._steps.ending.abandon(error)

    async def _ask_once(self) -> None:
        self._emit(RunParked(RunState.WAITING, self._clock()))
        await self._recorder.synced()  # a question that was answered is not lost with this process
        asked = [event for _, event in self._waiting.values()]
        shown = [effect_of(replace(event, args=copied(event.args))) for event in asked]
        judgements: dict[str, Consent] = {}
        if (engine := self._approval.policy_engine) is not None:
            # it is asked once: what it leaves to a person stays with that person
            new = [each for each in shown if each.step not in self._left_to_person]
            judgements = await judged(engine, self._plan, new)
            self._left_to_person.update(each.step for each in new if each.step not in judgements)
        left = tuple(each for each in shown if each.step not in judgements)
        answers: dict[str, Consent] = {}
        if (decide := self._approval.decide) is not None and left:
            answer = decide(left)
            given = await answer if inspect.isawaitable(answer) else answer
            answers = answers_of(given, dict.fromkeys(each.step for each in left))
        decided = {**judgements, **answers}
        if not all(is_as_shown(self._run, effect) for effect in shown):
            raise ToolplanError(
                "changed-values",
                "The values of a call were changed while they were shown; nothing was approved.",
                "An approver may look at calls, not change them.",
            )
        if not decided:
            self._asking = None
            return self._steps.ending.park()
        for step, consent in decided.items():
            calls = (each for each in asked if each.step == step)
            by = _POLICY_ENGINE if step in judgements else None
            self._emit(self.decide(step, consent, calls, by))
        self._emit(RunResumed(self._clock()))
        await self._recorder.synced()  # the answer is on disk before any call that it allows
        items: dict[int, list[int]] = {}
        for slot, (call, _) in [*self._waiting.items()]:
            if call.step.id in decided:
                del self._waiting[slot]
                indexes = () if call.index is None else (call.index,)
                items.setdefault(call.position, []).extend(indexes)
        self._asking = None
        for position, indexes in items.items():
            self._steps.retake(position, indexes)
        return self._steps.start_waiting()

    def _note(self, consent: ConsentGiven) -> None:
        for item, digest in consent.calls:
            self._shown.pop((consent.step, item), None)
            key = ((consent.step, item), digest)
            if consent.allowed:
                self._allowed.add(key)
            else:
                self._denied[key] = consent.reason

    def _digest(self, call: InFlightCall) -> str:
        return call_digest(self._run, call.step.id, call.index, call.tool.name, call.args)


def agreed_events(
    stage: Stage | None, consents: Mapping[str, Consent], waiting: Mapping[Slot, CallWaiting]
) -> list[ConsentGiven]:
    """Return the events of decisions about calls that wait, as the journal has them.

    Without a `stage` no call can wait.

    Raises:
        CannotRun: no call of such a step waits, or it is not the one that was shown.
    """
    found: list[ConsentGiven] = []
    for step, consent in consents.items():
        calls = [event for (name, _), event in waiting.items() if name == step]
        if stage is None or not calls:
            raise no_call_waits(f"of step {step!r}")
        found.append(stage.decide(step, consent, calls))
    return found
