"""The tables of the queue follow the version of its library."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.workers._office import office, over, plan_of, working
from toolplan.events import RunState
from toolplan.storage.journal import JournalError, open_journal
from toolplan_workers.journal import SharedJournal
from toolplan_workers.queue import procrastinate as library
from toolplan_workers.queue.dispatch import Dispatch
from toolplan_workers.queue.procrastinate import migrations

_PRE, _POST, _LAST = "90.00.00_01_pre_a.sql", "90.00.00_50_post_b.sql", "91.00.00_01_pre_c.sql"


def _dispatch(url: str) -> Dispatch:
    with closing(SharedJournal(url)) as journal:
        return Dispatch(journal)


def _read(url: str, query: str) -> list[Any]:
    journal = open_journal(url)
    try:
        assert isinstance(journal, SharedJournal)
        return [row[0] for row in journal.rows(query, ())]
    finally:
        journal.close()


def _applied(url: str) -> set[str]:
    return set(_read(url, "SELECT name FROM queue_migrations"))


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A later version of the library, with as many of three migrations as are asked for."""
    known = migrations()

    def has(*names: str) -> None:
        files: dict[str, Path] = {}
        for at, name in enumerate(names):
            files[name] = tmp_path / name
            steps = f"CREATE TABLE step_{at} (x int); COMMENT ON TABLE step_{at} IS '100%';"
            files[name].write_text(steps)
        monkeypatch.setattr(library, "migrations", lambda: {**known, **files})

    return has


def test_new_tables_need_no_migration(url: str) -> None:
    _dispatch(url)
    assert _applied(url) == {*migrations()}


def test_many_processes_apply_each_migration_once(url: str, later: Any) -> None:
    _dispatch(url)
    later(_PRE, _POST, _LAST)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(_dispatch, [url] * 6))
    assert {_PRE, _POST, _LAST} <= _applied(url)
    assert _read(url, "SELECT count(*) FROM pg_tables WHERE tablename ~ '^step_'") >= [3]


def test_what_breaks_earlier_versions_waits_for_their_workers(url: str, later: Any) -> None:
    _dispatch(url)
    _read(url, "INSERT INTO workers VALUES ('an older one', '1', 'office@1') RETURNING name")
    later(_PRE, _POST)
    _dispatch(url)
    assert _PRE in _applied(url)
    assert _POST not in _applied(url)
    later(_PRE, _POST, _LAST)  # two versions on: the first is not there any more
    _dispatch(url)
    assert {_POST, _LAST} <= _applied(url)


def test_tables_of_a_later_version_are_refused(url: str, later: Any) -> None:
    later(_PRE)
    _dispatch(url)
    later()
    _dispatch(url)  # what comes before the workers of the later version breaks nothing
    later(_PRE, _POST)
    _dispatch(url)
    later(_PRE)
    with pytest.raises(JournalError, match=r"newer procrastinate .*post_b") as refused:
        _dispatch(url)
    assert refused.value.code == "journal-newer"


async def test_tables_that_nobody_noted_are_those_of_the_least_version(url: str) -> None:
    """As earlier versions of toolplan made them; runs go on over them."""
    await asyncio.to_thread(_dispatch, url)
    await asyncio.to_thread(_read, url, "DROP TABLE queue_migrations; SELECT 1")
    with office(url) as app:
        async with working(url):
            run = await app.workers.submit(plan_of(app, {"id": "a", "tool": "read"}))
            assert (await over(app, run)).status is RunState.SUCCEEDED
    assert _applied(url) == {*migrations()}


async def test_the_migrations_of_the_library_give_tables_that_work(url: str) -> None:
    """From its first version, by its own files, to what the installed one needs."""
    first = next(iter(migrations()))
    await asyncio.to_thread(_read, url, migrations()[first].read_text() + "; SELECT 1")
    noted = f"CREATE TABLE queue_migrations AS SELECT '{first}' AS name; SELECT 1"
    await asyncio.to_thread(_read, url, noted)
    with office(url) as app:
        async with working(url):
            run = await app.workers.submit(plan_of(app, {"id": "a", "tool": "read"}))
            assert (await over(app, run)).status is RunState.SUCCEEDED
    assert _applied(url) == {*migrations()}
