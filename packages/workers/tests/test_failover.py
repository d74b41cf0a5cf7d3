"""A database that moves to a standby: nothing is repeated without a person."""

import asyncio
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.postgres import Server
from tests.workers._office import ledger, office, over, plan_of, status, until, working
from toolplan.app.checkup import check_up
from toolplan.cli import main
from toolplan.events import RunState
from toolplan.plan.path import Json
from toolplan.storage.journal import JournalError
from toolplan_workers.worker import dispatch_for


@pytest.fixture(params=["asynchronous", "synchronous"])
def pair(request: pytest.FixtureRequest) -> Generator[tuple[Server, Callable[[], Server]]]:
    """A primary, and what makes its standby, which is called once."""
    primary = Server(("wal_level=replica", "hot_standby=on", "max_wal_senders=4"))
    made: list[Server] = []

    def standby() -> Server:
        made.append(primary.standby(synchronous=request.param == "synchronous"))
        return made[0]

    try:
        yield primary, standby
    finally:
        for each in (*made, primary):
            each.close()


@pytest.mark.timeout(120)
async def test_a_failover_parks_open_runs(
    pair: tuple[Server, Callable[[], Server]],
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    primary, make = pair
    url = primary.url("t")
    async with working(url) as app:
        read: dict[str, Json] = {"id": "a", "tool": "read"}
        write: dict[str, Json] = {"id": "w", "tool": "write", "args": {"x": "one"}}
        done = await app.workers.submit(plan_of(app, read))
        assert (await over(app, done)).status is RunState.SUCCEEDED
        waiting = await app.workers.submit(plan_of(app, write))
        assert (await over(app, waiting)).status is RunState.WAITING
    standby = make()
    primary.stop("immediate")
    standby.promote()
    url = standby.url("t")
    monkeypatch.setenv("TOOLPLAN_JOURNAL", url)
    async with working(url) as app:
        assert dispatch_for(app).fenced() == [waiting]
        digest = app.needed_journal().load(waiting).digest
        with pytest.raises(JournalError, match="moved to another server") as caught:
            await app.workers.approve(waiting, digest)
        assert caught.value.code == "journal-failover"
        findings = await asyncio.to_thread(lambda: [*check_up(())])
        found = {each.subject: each.text for each in findings}
        assert waiting in found["failover"]
        for words in (f"Workers continue {waiting[:8]}.", "No run was open"):
            with pytest.raises(SystemExit) as ended:
                main(["resume", "--after-failover"])
            assert ended.value.code in (0, None)
            assert words in capsys.readouterr().err
        await app.workers.approve(waiting, digest)
        await until(lambda: status(app, waiting) is RunState.SUCCEEDED)
    assert ledger(home) == ["begin:one", "end:one"]


@pytest.mark.parametrize("names", ["", "ANY 1 (s1, s2)"])
def test_doctor_says_whether_commits_are_synchronous(
    names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary = Server(("wal_level=replica", "max_wal_senders=4"))
    standby = None
    try:
        standby = primary.standby(synchronous=False)
        url = primary.url("t")
        with office(url) as app:
            dispatch_for(app)
        primary.set("synchronous_standby_names", names)
        monkeypatch.setenv("TOOLPLAN_JOURNAL", url)
        found = {each.subject: each.text for each in check_up(())}
    finally:
        for each in filter(None, (standby, primary)):
            each.close()
    wanted = f"Commits wait for standbys: {names}." if names else "do not wait for the 1 standby"
    assert wanted in found["replication"]
