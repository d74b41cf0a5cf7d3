"""Workers whose network is cut: their runs go on elsewhere, and no call is made twice."""

import asyncio
import time
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.postgres import Server, missing
from tests.workers._office import ledger, office, plan_of, status, until
from tests.workers.cable import Cable, Way, cable, why_not
from tests.workers.crew import Crew, crew
from toolplan.app.app import App
from toolplan.events import RunState
from toolplan_workers.worker import dispatch_for


class Place(NamedTuple):
    """Two machines: one reaches the server over a cable, the other one is beside it."""

    app: App
    cable: Cable
    far: Crew
    near: Crew

    @property
    def begun(self) -> list[str]:
        """The words that were begun to be written, on both."""
        words = [*ledger(self.far.folder), *ledger(self.near.folder)]
        return sorted(word for word in words if word.startswith("begin:"))


@pytest.fixture
def place(tmp_path: Path) -> Generator[Place]:
    if reason := missing() or why_not():
        pytest.skip(f"The network of a worker cannot be cut: {reason}.")
    folders = [tmp_path / name for name in ("far", "near")]
    for folder in folders:
        folder.mkdir()
    with cable() as wire:
        server = Server((f"listen_addresses='{wire.address}'",))
        try:
            server.let_in(wire.network)
            url = server.url("t")
            across = f"postgres://toolplan@{wire.address}/postgres?options=-c%20search_path%3Dt"
            with (
                office(url) as app,
                crew(across, folders[0], 0) as far,
                crew(url, folders[1], 0) as near,
            ):
                dispatch_for(app)
                yield Place(app, wire, far, near)
        finally:
            server.close()


async def _under_way(place: Place) -> str:
    """Have the worker at the far end make a call that takes a while; return its run."""
    place.far.hire(1, place.cable.inside)
    await asyncio.to_thread(place.far.wait_ready)
    plan = plan_of(
        place.app,
        {"id": "a", "tool": "write", "args": {"x": "one"}},
        {"id": "b", "tool": "write", "args": {"x": "two", "seconds": 3.0}, "after": ["a"]},
        {"id": "c", "tool": "write", "args": {"x": "three"}, "after": ["b"]},
    )
    run = await place.app.workers.submit(plan, yes=True)
    await until(lambda: "begin:two" in place.begun)
    return run


@pytest.mark.timeout(240)
@pytest.mark.parametrize("way", ["both", "in", "out"])
async def test_a_worker_that_is_cut_off_repeats_nothing(place: Place, way: Way) -> None:
    run = await _under_way(place)
    owner = place.app.needed_journal().held()[run]
    place.near.hire()
    await asyncio.to_thread(place.near.wait_ready)
    place.cable.cut(way)
    cut_at = time.monotonic()
    await until(lambda: status(place.app, run) is RunState.IN_DOUBT, seconds=60)
    assert time.monotonic() - cut_at < 30
    assert place.app.needed_journal().held().get(run) != owner
    place.cable.mend()
    await place.app.workers.decide(run, resolve={"b": "two"})
    await until(lambda: status(place.app, run) is RunState.SUCCEEDED, seconds=60)
    assert place.begun == ["begin:one", "begin:three", "begin:two"]
    # the one that was cut off works again
    await asyncio.to_thread(place.near.leave)
    again = await place.app.workers.submit(plan_of(place.app, {"id": "r", "tool": "read"}))
    await until(lambda: status(place.app, again) is RunState.SUCCEEDED, seconds=60)
    assert place.far.codes == [None]


@pytest.mark.timeout(240)
async def test_a_short_cut_is_waited_for(place: Place) -> None:
    run = await _under_way(place)
    place.cable.cut("both")
    await asyncio.sleep(4.0)
    place.cable.mend()
    await until(lambda: status(place.app, run) is not RunState.RUNNING, seconds=90)
    assert status(place.app, run) is RunState.SUCCEEDED
    assert place.begun == ["begin:one", "begin:three", "begin:two"]
