"""What waits for a person is written once, however often its run is resumed."""

import asyncio
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

import toolplan
from tests.engines.test_staged import World, staged, step
from toolplan.engine import resume
from toolplan.events import Event, RunState, StepState, fold
from toolplan.plan.path import Json
from toolplan.policy.consent import Consent, Effect


def _rows(folder: Path, steps: int, items: int) -> int:
    """Allow `steps` steps one after the other; return how many events that made."""
    world = World()
    more: dict[str, Json] = {"for_each": [*range(items)]} if items else {}
    args: Json = {"n": "${item}" if items else 1}
    plan = world.plan(*(step(f"s{at}", "send", args, **more) for at in range(steps)))
    folder.mkdir()
    with closing(toolplan.Journal(folder / "runs.sqlite")) as journal:
        run = staged(world, plan, journal=journal, run_id="r")
        for at in range(steps):
            assert len(run.waiting) == (steps - at) * max(items, 1)
            assert run.steps[f"s{at}"].state is StepState.WAITING
            consents = {f"s{at}": Consent(allowed=True)}
            run = asyncio.run(resume(plan, world.tools, "r", journal=journal, consents=consents))
        assert run.status is RunState.SUCCEEDED
        assert len(world.calls) == steps * max(items, 1)
        events = journal.events("r")
    kinds = Counter(type(event).__name__ for event in events)
    assert kinds["CallWaiting"] == kinds["CallIntended"] == len(world.calls)
    assert kinds["StepStarted"] == 2 * steps  # before its question, and behind the answer
    return len(events)


@pytest.mark.parametrize("items", [0, 5])
def test_events_grow_with_the_answers_and_not_with_their_square(tmp_path: Path, items: int) -> None:
    counts = [_rows(tmp_path / str(steps), steps, items) for steps in (2, 4, 8)]
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


def test_a_run_that_is_only_looked_at_again_asks_nothing_again(tmp_path: Path) -> None:
    world = World()
    plan = world.plan(step("a", "send"), step("b", "send"))
    with closing(toolplan.Journal(tmp_path / "runs.sqlite")) as journal:
        before = staged(world, plan, journal=journal, run_id="r")
        known = len(journal.events("r"))
        after = asyncio.run(resume(plan, world.tools, "r", journal=journal))
        new = [type(event).__name__ for event in journal.events("r")[known:]]
        assert fold(journal.events("r")).waiting == before.waiting == after.waiting
    assert new == ["RunResumed", "RunParked"]
    assert world.made == []


def test_a_person_who_decides_in_steps_is_asked_about_each_call_once() -> None:
    world, asked, events = World(), list[tuple[str, ...]](), list[str]()

    def decide(effects: tuple[Effect, ...]) -> dict[str, bool]:
        asked.append(tuple(each.step for each in effects))
        return {effects[0].step: True}

    def noted(event: Event) -> None:
        events.append(type(event).__name__)

    run = staged(
        world,
        world.plan(*(step(f"s{at}", "send", {"n": at}) for at in range(6))),
        decide,
        on_event=noted,
    )
    assert run.succeeded
    assert asked == [tuple(f"s{at}" for at in range(first, 6)) for first in range(6)]
    assert events.count("CallWaiting") == 6
