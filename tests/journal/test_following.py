"""A run is followed while another process writes it."""

import asyncio
from contextlib import aclosing

import pytest

from tests.stores import Stores
from toolplan.events import (
    Event,
    ItemEnded,
    RunEnded,
    RunStarted,
    RunState,
    StepStarted,
    StepSucceeded,
)
from toolplan.storage.journal import JournalError, RunRecord, follow, to_record

RECORD = RunRecord({"steps": []}, [], None)


def test_each_event_is_seen_once_with_its_whole_output(stores: Stores) -> None:
    groups: list[list[Event]] = [
        [RunStarted("r", "d", ("a",), 1.0)],
        [StepStarted("a", 2, 2.0), ItemEnded("a", 1, "two", 1, None, 3.0)],
        [ItemEnded("a", 0, "one", 1, None, 3.0), StepSucceeded("a", None, 1, None, 4.0)],
        [RunEnded(RunState.SUCCEEDED, {}, 5.0)],
    ]

    async def watch() -> list[Event]:
        ours, theirs = stores.open(), stores.open()
        try:
            lease = theirs.accept("r", "d", RECORD, groups[0])
            seen: list[Event] = []
            async with aclosing(follow(ours, "r")) as events:
                async for event in events:
                    seen.append(event)
                    if isinstance(event, RunEnded):
                        break
                    if len(seen) == sum(map(len, groups[: at_most(seen)])):
                        at = len(seen)
                        texts = [to_record(each) for each in groups[at_most(seen)]]
                        await asyncio.to_thread(theirs.append, lease, texts, at, sync=True)
            return seen
        finally:
            ours.close()
            theirs.close()

    def at_most(seen: list[Event]) -> int:
        return next(n for n in range(5) if len(seen) <= sum(map(len, groups[:n])))

    seen = asyncio.run(watch())
    expected = [event for group in groups for event in group]
    expected[4] = StepSucceeded("a", ["one", "two"], 1, None, 4.0)
    assert seen == expected


def test_a_run_that_is_not_there_is_not_followed(stores: Stores) -> None:
    async def watch() -> None:
        journal = stores.open()
        try:
            async for _ in follow(journal, "nobody"):
                pass
        finally:
            journal.close()

    with pytest.raises(JournalError, match="There is no run 'nobody'"):
        asyncio.run(watch())
