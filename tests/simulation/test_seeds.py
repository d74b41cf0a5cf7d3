"""Seeds of the simulator, that they replay, and that it finds an engine out that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.__main__ import fast_folder, simulate
from tests.simulation.world import Breach
from toolplan.engines import _runs
from toolplan.engines._kept import Kept
from toolplan.engines._ready import Ready
from toolplan.events import Event
from toolplan.journal import Recovered, recover


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
