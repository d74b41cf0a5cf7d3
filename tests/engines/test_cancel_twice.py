"""A run that two processes cancel at once is cancelled for both."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

import toolplan
from toolplan.engine import cancel
from toolplan.events import RunState
from toolplan.storage.journal import JournalError, open_journal


@toolplan.tool(effects="write")
def send(text: str) -> str:
    """Send a text."""
    return text


async def waiting(place: Path) -> str:
    tools = toolplan.Toolbox([send])
    steps = [{"id": "s", "tool": "send", "args": {"text": "x"}}]
    plan = toolplan.compile_plan({"toolplan": 1, "steps": steps}, tools=tools).plan
    assert plan is not None
    with closing(open_journal(place)) as journal:
        run = await toolplan.run(plan, tools, journal=journal, approval=toolplan.ValueApproval())
    assert run.status is RunState.WAITING
    return run.run


async def test_all_cancels_of_a_run_end_it(tmp_path: Path) -> None:
    place = tmp_path / "runs.sqlite"
    run = await waiting(place)
    with closing(open_journal(place)) as journal:
        ended = await asyncio.gather(*(cancel(run, journal=journal) for _ in range(4)))
    assert {each.status for each in ended} == {RunState.CANCELLED}


async def test_a_run_that_is_worked_on_is_not_cancelled(tmp_path: Path) -> None:
    place = tmp_path / "runs.sqlite"
    run = await waiting(place)
    with closing(open_journal(place)) as journal:
        lease = journal.take(run)
        with pytest.raises(JournalError) as caught:
            await cancel(run, journal=journal)
        assert caught.value.code == "journal-taken"
        journal.release(lease)
        assert (await cancel(run, journal=journal)).status is RunState.CANCELLED
