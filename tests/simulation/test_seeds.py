"""Seeds of the simulator, that they replay, and that it finds an engine out that is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.__main__ import fast_folder, simulate
from tests.simulation.world import Breach
from toolplan.approval import Approval, approve
from toolplan.engines import _open_calls, _runs
from toolplan.engines._kept import Kept
from toolplan.engines._ready import Ready
from toolplan.events import Event, Failure, RunState
from toolplan.journal import Journal, Lease, Recovered, recover


@pytest.fixture
def folder() -> Iterator[Path]:
    with fast_folder() as name:
        yield Path(name)


@pytest.mark.parametrize("first", range(0, 2_000, 250))
def test_no_seed_breaches_anything(first: int, folder: Path) -> None:
    for seed in range(first, first + 250):
        simulate(seed, folder)


def test_a_seed_replays(folder: Path) -> None:
    for seed in (3, 114, 1691, 2930, 4899):  # the last four have found mistakes
        assert simulate(seed, folder) == simulate(seed, folder)


def breaches(folder: Path, seeds: int = 400) -> str:
    """Give what the first seed that breaches something says; empty where none does."""
    for seed in range(seeds):
        try:
            simulate(seed, folder)
        except Breach as breach:
            return str(breach)
    return ""


def test_an_engine_that_forgets_its_intents_is_found_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(events: list[Event]) -> Recovered:
        return replace(recover(events), intents={}, tries={})

    monkeypatch.setattr(_runs, "recover", forgetful)
    assert "has effects and was called 2 times" in breaches(folder)


def test_an_engine_that_does_not_wait_for_the_disk_is_found_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(kept: Kept) -> None:
        del kept

    monkeypatch.setattr(Kept, "synced", at_once)
    assert "before its intent was on disk" in breaches(folder)


def test_limits_that_are_not_kept_are_found_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlimited(ready: Ready, position: int) -> None:
        del ready, position

    monkeypatch.setattr(Ready, "take", unlimited)
    assert "Too many calls at once" in breaches(folder)


def test_a_journal_that_does_not_look_at_the_token_is_found_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Journal.append

    def trusting(
        journal: Journal,
        lease: Lease,
        texts: Sequence[str],
        at: int,
        *,
        sync: bool,
        status: RunState | None = None,
    ) -> None:
        rows = journal._connection.execute(  # pyright: ignore[reportPrivateUsage]
            "SELECT token, next_seq FROM runs WHERE run = ?", (lease.run,)
        ).fetchall()
        token, end = rows[0]
        whole(journal, replace(lease, token=token), texts, max(at, end), sync=sync, status=status)

    monkeypatch.setattr(Journal, "append", trusting)
    said = breaches(folder, 1_500)
    assert "had taken its run over" in said or "called" in said or "ended twice" in said


def test_an_engine_that_gives_no_reasons_is_found_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(error: BaseException) -> Failure:
        return Failure("", str(error))

    monkeypatch.setattr(_open_calls, "tool_failure", silent)
    assert "failed without a code" in breaches(folder)


def test_an_engine_that_does_not_ask_is_found_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def itself(approver: object, runnable: _runs.Runnable, *others: object) -> Approval:
        del approver, others
        return approve(runnable.plan)

    monkeypatch.setattr(_runs, "ask", itself)
    assert "approv" in breaches(folder)
