"""Leases are held by their age, whatever the clocks say, and looked at right before each effect."""

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.chains import Calls, chain, tools
from toolplan.engine import resume, run
from toolplan.events import RunStarted, RunState
from toolplan.policy.approval import approve
from toolplan.storage.journal import Journal, JournalError, Lease, LeaseHeld, LeaseLost, RunRecord

RECORD = RunRecord({"toolplan": 1, "steps": []}, [], {})
STARTED = [RunStarted("r", "digest", ("a",), 1.0)]


@pytest.mark.parametrize("off_s", [3600.0, -3600.0, 315_360_000.0, -315_360_000.0])
def test_a_clock_that_is_off_neither_steals_a_run_nor_keeps_it(
    tmp_path: Path, off_s: float
) -> None:
    def off() -> float:
        return time.time() + off_s

    def right() -> float:
        return time.time()

    clocks: list[tuple[Callable[[], float], Callable[[], float]]] = [(right, off), (off, right)]
    for number, (first, second) in enumerate(clocks):
        path, age = tmp_path / f"{number}.sqlite", [0.0]
        with (
            closing(Journal(path, clock=first, owner="a:1", age_clock=lambda: age[0])) as one,  # noqa: B023
            closing(Journal(path, clock=second, owner="b:2", age_clock=lambda: age[0])) as two,  # noqa: B023
        ):
            lease = one.accept("r", "digest", RECORD, STARTED)
            age[0] += 9.0
            with pytest.raises(LeaseHeld):
                two.take("r")
            assert not two.entry("r").is_left
            one.append(lease, [], 1, sync=False)
            age[0] += 9.0
            with pytest.raises(LeaseHeld):
                two.take("r")
            age[0] += 1.5
            assert two.entry("r").is_left
            two.take("r")
            with pytest.raises(LeaseLost):
                one.append(lease, [], 1, sync=False)


def test_who_shares_no_clock_watches_whether_the_owner_still_writes(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with (
        closing(Journal(path, owner="a:1", boot="one machine")) as one,
        closing(Journal(path, owner="b:2", boot="another", lease_s=0.2)) as two,
    ):
        box = tools([])
        plan = chain(box, 1)
        lease = one.accept("r", "digest", RECORD, STARTED)
        with pytest.raises(LeaseHeld) as caught:
            two.take("r")
        mark = caught.value.mark
        assert mark is not None
        one.append(lease, [], 1, sync=False)  # it lives
        with pytest.raises(LeaseHeld):
            two.take("r", mark)

        async def other() -> None:
            await run(plan, box, journal=one, approval=approve(plan), run_id="x")

        asyncio.run(other())
        one.take("x")  # and does not write again
        before = time.monotonic()
        asyncio.run(resume(plan, box, "x", journal=two))
        assert time.monotonic() - before >= 0.2


def test_an_effect_is_made_only_with_a_lease_that_nobody_can_have_taken(tmp_path: Path) -> None:
    calls, age = Calls(), [0.0]
    box = tools(calls)
    plan = chain(box, 6)
    path = tmp_path / "runs.sqlite"

    class Slow(Journal):
        stolen = False

        def is_current(self, lease: Lease) -> bool:
            """Let the process stand still, between the write and the call."""
            if len(calls) == 3 and not self.stolen:
                self.stolen = True
                age[0] += 60
                with closing(Journal(path, owner="b:2", age_clock=lambda: age[0])) as other:
                    other.take("r")
            return super().is_current(lease)

    with closing(Slow(path, owner="a:1", age_clock=lambda: age[0])) as journal:
        running = run(plan, box, journal=journal, approval=approve(plan), run_id="r")
        with pytest.raises(LeaseLost):
            asyncio.run(running)
    assert len(calls) == 3


def test_a_process_that_stood_still_goes_on_where_nobody_took_its_run(tmp_path: Path) -> None:
    calls, age = Calls(), [0.0]
    box = tools(calls)
    plan = chain(box, 6)

    class Slow(Journal):
        def is_current(self, lease: Lease) -> bool:
            """Let the process stand still once, between the write and the call."""
            if len(calls) == 3 and age[0] == 0:
                age[0] = 60.0
            return super().is_current(lease)

    with closing(Slow(tmp_path / "r", owner="a:1", age_clock=lambda: age[0])) as journal:
        running = run(plan, box, journal=journal, approval=approve(plan), run_id="r")
        assert asyncio.run(running).status is RunState.SUCCEEDED
    assert calls == [0, 1, 2, 3, 4, 5]


def test_a_run_cannot_be_taken_from_a_process_that_works(tmp_path: Path) -> None:
    with (
        closing(Journal(tmp_path / "r")) as one,
        closing(Journal(tmp_path / "r", owner="x:1")) as two,
    ):
        one.accept("r", "digest", RECORD, STARTED)
        with pytest.raises(JournalError, match="is being worked on by process"):
            two.take("r")
