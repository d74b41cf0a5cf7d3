"""Seeds of the simulator, that they replay, and that it finds an engine out that is wrong."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.simulation.__main__ import fast_folder, simulate
from tests.simulation.world import Breach
from tests.sizes import share_of
from toolplan import Step, approve
from toolplan.engine import _in_flight as _open_calls
from toolplan.engine import _runs
from toolplan.engine._effects import EffectCalls
from toolplan.engine._in_flight import InFlightCalls
from toolplan.engine._ready_queue import ReadyQueue
from toolplan.engine._recorder import EventRecorder
from toolplan.engine._runs import RunApproval
from toolplan.engine._steps import Scheduler
from toolplan.events import Event, Failure
from toolplan.storage.journal import Journal, Lease, Recovered, RunRecord, Slot, recover


@pytest.fixture
def folder() -> Iterator[Path]:
    with fast_folder() as name:
        yield Path(name)


@pytest.mark.parametrize("first", range(0, share_of(2_000), 125))
def test_no_seed_breaches_anything(first: int, folder: Path) -> None:
    for seed in range(first, first + 125):
        simulate(seed, folder)


def test_a_seed_replays(folder: Path) -> None:
    for seed in (3, 105, 114, 209, 1691, 2930, 4899):  # all but the first have found mistakes
        assert simulate(seed, folder) == simulate(seed, folder)


STREAMS = range(1, 2_001, 4)
"""Seeds of runs that begin while their plan is being written."""
WHOLE = [seed for seed in range(400) if seed not in STREAMS]
"""Seeds of runs that begin when it is."""


class Mutant:
    """An engine that is wrong in what the test replaces, and what the simulator says of it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self.replace = patch.setattr

    def breaches(self, seeds: Iterable[int] = WHOLE, about: str = "") -> str:
        """Return what the first seed that breaches something says, if it is `about` that."""
        for seed in seeds:
            try:
                simulate(seed, self._folder)
            except Breach as breach:
                if about in str(breach):
                    return str(breach)
        return ""


@pytest.fixture
def mutant(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Mutant:
    return Mutant(folder, monkeypatch)


def test_an_engine_that_forgets_its_intents_is_found_out(mutant: Mutant) -> None:
    def forgetful(events: list[Event]) -> Recovered:
        return replace(recover(events), intents={}, tries={})

    mutant.replace(_runs, "recover", forgetful)
    assert mutant.breaches(about="has effects and was called 2 times")


def test_an_engine_that_does_not_wait_for_the_disk_is_found_out(mutant: Mutant) -> None:
    async def no_sync(kept: EventRecorder) -> None:
        del kept

    mutant.replace(EventRecorder, "synced", no_sync)
    assert "before its intent was on disk" in mutant.breaches()


def test_limits_that_are_not_kept_are_found_out(mutant: Mutant) -> None:
    def unlimited(ready: ReadyQueue, position: int) -> None:
        del ready, position

    mutant.replace(ReadyQueue, "take", unlimited)
    assert "Too many calls at once" in mutant.breaches()


def test_a_journal_that_does_not_look_at_the_token_is_found_out(mutant: Mutant) -> None:
    whole = Journal.append

    def trusting(journal: Journal, lease: Lease, texts: Sequence[str], at: int, **how: Any) -> None:
        rows = journal._driver.connection.execute(  # pyright: ignore[reportPrivateUsage]
            "SELECT token, next_seq FROM runs WHERE run = ?", (lease.run,)
        ).fetchall()
        token, end = rows[0]
        whole(journal, replace(lease, token=token), texts, max(at, end), **how)

    mutant.replace(Journal, "append", trusting)
    said = mutant.breaches(range(1_500))
    assert "had taken its run over" in said or "called" in said or "ended twice" in said


def test_a_journal_that_does_not_miss_what_was_lost_is_found_out(mutant: Mutant) -> None:
    """The server lost what was not synced, and the process that lives on is not informed."""
    whole = Journal.append

    def unmissed(journal: Journal, lease: Lease, texts: Sequence[str], at: int, **how: Any) -> None:
        ((end,),) = journal._driver.connection.execute(  # pyright: ignore[reportPrivateUsage]
            "SELECT next_seq FROM runs WHERE run = ?", (lease.run,)
        ).fetchall()
        whole(journal, lease, texts, min(at, end), **how)

    mutant.replace(Journal, "append", unmissed)
    said = mutant.breaches(range(800))
    assert "these steps have not" in said or "before it had started" in said, said


def test_an_engine_that_gives_no_reasons_is_found_out(mutant: Mutant) -> None:
    def silent(error: BaseException, *, repeatable: bool) -> Failure:
        del repeatable
        return Failure("", str(error))

    mutant.replace(_open_calls, "tool_failure", silent)
    assert "failed without a code" in mutant.breaches()


async def approve_alone(approval: RunApproval) -> None:
    """Approve a plan without asking an approver or writing an event."""
    approval.granted = approve(approval.plan)


def test_an_engine_that_does_not_ask_is_found_out(mutant: Mutant) -> None:
    mutant.replace(RunApproval, "ask", approve_alone)
    assert "approv" in mutant.breaches()


def test_effects_of_a_stream_that_are_not_held_back_are_found_out(mutant: Mutant) -> None:
    whole = Scheduler.admit

    def hasty(
        scheduler: Scheduler,
        steps: Sequence[Step],
        needs: Callable[[Step], tuple[str, ...]],
        **_: object,
    ) -> None:
        whole(scheduler, steps, needs)

    mutant.replace(Scheduler, "admit", hasty)
    assert "is failed with" in mutant.breaches(STREAMS)  # the approval has no slot for it yet

    def generous(calls: EffectCalls, slot: Slot) -> None:
        del calls, slot

    mutant.replace(EffectCalls, "take", generous)
    # most of these are not on disk either, which is reported first
    assert mutant.breaches(STREAMS, about="before the plan was whole")


def test_steps_of_a_refused_stream_that_continue_are_found_out(mutant: Mutant) -> None:
    async def lenient(calls: InFlightCalls) -> None:
        del calls

    mutant.replace(InFlightCalls, "close", lenient)
    assert "tasks are left" in mutant.breaches(STREAMS, "tasks are left")


def test_a_stream_that_is_not_held_to_what_it_gave_is_found_out(mutant: Mutant) -> None:
    def alike(step: Step, other: object) -> bool:
        del step, other
        return True

    mutant.replace(Step, "__eq__", alike)
    assert "A plan was run although a given step" in mutant.breaches(STREAMS)


def test_a_streamed_run_that_is_not_accepted_first_is_found_out(mutant: Mutant) -> None:
    async def later(kept: EventRecorder, run: str, digest: str, record: RunRecord) -> None:
        del kept, run, digest, record

    mutant.replace(EventRecorder, "accept", later)
    assert "before its intent was on disk" in mutant.breaches(STREAMS)


def test_a_stream_without_an_approval_is_found_out(mutant: Mutant) -> None:
    mutant.replace(RunApproval, "ask", approve_alone)
    assert "before its approval was on disk" in mutant.breaches(STREAMS)
