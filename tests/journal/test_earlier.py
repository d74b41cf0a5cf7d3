"""Journals that earlier trees wrote: interrupted in a call with effects, after three that ended."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.crash.chains import Calls, chain, tools
from tests.stores import Files, Stores
from toolplan import Decided, resume
from toolplan.events import RunState, StepState
from toolplan.storage.journal import Slot

_EARLIER = Path(__file__).with_name("earlier")
_DIGEST = "f6238a8c9b77b8a77ecafee234019d80ba9ec3e8975bbe49fc1be5994e684fcc"


def written_earlier(stores: Stores) -> None:
    """Make the journal of `stores` from what an earlier tree had written."""
    if isinstance(stores, Files):
        with closing(sqlite3.connect(stores.path)) as connection:
            connection.executescript((_EARLIER / "sqlite.sql").read_text())
        return
    stores.open().close()
    stores.execute((_EARLIER / "postgres.sql").read_text())


def test_a_journal_of_an_earlier_tree_is_shown_and_resumed(stores: Stores) -> None:
    written_earlier(stores)
    journal = stores.open()
    (entry,) = journal.runs()
    assert (entry.run, entry.status, entry.digest) == ("r", RunState.RUNNING, _DIGEST)
    assert entry.is_left
    assert journal.users(_DIGEST) == []
    assert len(journal.events("r")) == 13
    shown = journal.load("r")
    assert [shown.steps[f"s{at}"].state for at in range(4)] == [
        *[StepState.SUCCEEDED] * 3,
        StepState.RUNNING,
    ]

    calls = Calls()
    box = tools(calls, times=1)
    assert chain(box, 6).digest == _DIGEST
    assert asyncio.run(resume("r", box, journal=journal)).status is RunState.IN_DOUBT
    assert calls == []
    decisions: dict[Slot, Decided] = {("s3", None): Decided("retry")}
    done = asyncio.run(resume("r", box, journal=journal, decisions=decisions))
    assert done.status is RunState.SUCCEEDED
    assert calls == [3, 4, 5]
    assert [done.steps[f"s{at}"].output for at in range(3)] == [
        shown.steps[f"s{at}"].output for at in range(3)
    ]
    assert stores.open().load("r") == done
