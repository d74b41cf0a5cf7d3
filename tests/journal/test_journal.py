"""The journal: what is written is read, whoever wrote it and whatever happened meanwhile."""

import asyncio
import json
import math
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans_strategy import execution_plan
from toolplan import Effects, approve, run
from toolplan.events import (
    AttemptFailed,
    CallInDoubt,
    CallIntended,
    Event,
    Failure,
    ItemEnded,
    Partial,
    RunApproved,
    RunEnded,
    RunResumed,
    RunStarted,
    RunState,
    RunWaiting,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepSucceeded,
    fold,
)
from toolplan.plan.model import Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.storage.journal import (
    BadRecord,
    Journal,
    JournalError,
    RunRecord,
    from_record,
    recover,
    to_record,
)
from toolplan.storage.journal._database import MIGRATIONS
from toolplan.storage.journal.blobs import Blobs
from toolplan.testing import Gives, ScriptedTools


def blobs_of(path: Path) -> list[Path]:
    """Return the large results beside a journal."""
    return [each for each in Path(f"{path}-blobs").iterdir() if len(each.name) == 64]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
TIMES = st.floats(0, 1e10) | st.integers(0, 10**10)
FAILURES = st.builds(Failure, TEXTS, TEXTS, TEXTS)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=10),
    max_leaves=8,
)  # fmt: skip
PARTS = st.builds(
    Partial, TEXTS, st.integers(0, 99), st.none() | st.integers(0, 99), TEXTS,
    st.lists(TEXTS, max_size=2).map(tuple),
)  # fmt: skip
_FIELDS: dict[str, st.SearchStrategy[object]] = {
    "step": TEXTS, "run": TEXTS, "digest": TEXTS, "approval": TEXTS, "key": TEXTS, "message": TEXTS,
    "steps": st.lists(TEXTS, max_size=3).map(tuple), "at": TIMES, "output": JSON,
    "item": st.none() | st.integers(0, 99), "items": st.none() | st.integers(0, 99),
    "attempt": st.integers(1, 9), "attempts": st.integers(0, 9),
    "status": st.sampled_from(RunState), "done": st.floats(0, 9),
    "decision": st.sampled_from(["retry", "resolve", "abort"]),
    "total": st.none() | st.floats(0, 9), "failure": st.none() | FAILURES, "tool": TEXTS,
    "args": JSON, "result": JSON, "origins": JSON, "reason": TEXTS, "by": TEXTS,
    "allowed": st.booleans(), "page": st.integers(0, 99), "said": JSON,
    "partial": st.lists(PARTS, max_size=2).map(tuple),
    "shapes": st.lists(TEXTS, max_size=3).map(tuple),
    "calls": st.lists(st.tuples(st.none() | st.integers(0, 99), TEXTS), max_size=3).map(tuple),
}  # fmt: skip
_CLASSES = [
    event for group in get_args(Event) for event in (get_args(group) or (group,))
]  # a union of unions is flat already, or is not


def _fields_of(cls: type[Event]) -> dict[str, st.SearchStrategy[object]]:
    """Return strategies for the fields of `cls`, which may ask for a failure or an item."""
    fields = {name: _FIELDS[name] for name in cls.__struct_fields__}
    needed = {"failure": FAILURES} if cls in _FAILED else {}
    return {**fields, **needed, **({"item": st.integers(0, 99)} if cls is ItemEnded else {})}


_FAILED = (AttemptFailed, CallInDoubt, StepFailed, StepSkipped)
_OVER = (StepSucceeded, StepFailed, StepSkipped)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    [st.builds(cls, **_fields_of(cls)) for cls in _CLASSES]
)
RECORD = RunRecord(plan={"steps": []}, tools=[], policy={"allow": None})


@given(EVENTS)
def test_every_event_reads_back_as_it_was_written(event: Event) -> None:
    text = to_record(event)
    assert from_record(text) == event
    assert json.loads(text) == json.loads(text.encode().decode())


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "5", '["nothing"]', '["step-started"]', "[[]]", "[" * 100_000]
)
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(BadRecord):
        from_record(text)


def test_records_that_name_nobody_are_read() -> None:
    """Records of decisions had no name before."""
    approved = from_record('["run-approved", "id", "digest", 1.0]')
    assert approved == RunApproved("id", "digest", 1.0, "")
    assert from_record(to_record(approved)) == approved


def test_an_event_that_is_no_json_is_not_written() -> None:
    for event in (
        StepStarted("a", None, math.nan),
        StepSucceeded("a", {"x": math.inf}, 1, None, 1.0),
    ):
        with pytest.raises(ValueError, match="JSON"):
            to_record(event)


def test_a_file_of_a_newer_version_and_one_of_another_program_are_refused(tmp_path: Path) -> None:
    newer = tmp_path / "newer.sqlite"
    Journal(newer).close()
    connection = sqlite3.connect(newer)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(JournalError) as caught:
        Journal(newer)
    assert caught.value.code == "journal-newer"
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(JournalError):
        Journal(other)


def test_recovery_does_not_hang_on_the_order_of_events() -> None:
    chance = random.Random(1)
    events: list[Event] = [
        RunStarted("r", "d", ("a", "b", "c"), 1.0),
        RunApproved("approval", "d", 1.0),
        StepStarted("a", 3, 1.0),
        CallIntended("a", 0, 1, "k0", 1.0),
        CallIntended("a", 1, 1, "k1", 1.0),
        ItemEnded("a", 0, "x", 1, None, 2.0),
        CallIntended("a", 1, 2, "k1", 2.0),
        StepFailed("b", Failure("tool-error", "no"), 1, 2.0),
    ]
    wanted = recover(events)
    assert wanted.intents == {("a", 1): 2}
    assert wanted.tries == {("a", 0): 1, ("a", 1): 2}
    for _ in range(200):
        assert recover(chance.sample(events, len(events))) == wanted


def test_several_doubts_of_one_attempt_recover_the_same_in_any_order() -> None:
    """Each worker that finds the call without an outcome may write one, in words of its own."""
    said = [("one", "", None), ("two", "", "some"), ("two", "/x", "some"), ("two", "/x", None)]
    events: list[Event] = [CallIntended("a", None, 1, "k", 1.0)]
    for text, pointer, result in said:
        failure = Failure("in-doubt", text, pointer)
        events.append(CallInDoubt("a", None, 1, failure, 1.0, result=result))
    wanted = recover(events)
    assert wanted.doubts["a", None].failure == Failure("in-doubt", "two", "/x")
    assert wanted.doubts["a", None].result == "some"
    for seed in range(50):
        assert recover(random.Random(seed).sample(events, len(events))) == wanted


@given(st.lists(EVENTS, max_size=12), st.randoms(use_true_random=False))
def test_any_events_recover_the_same_in_any_order_of_their_kinds(
    events: list[Event], chance: random.Random
) -> None:
    """Where two write of one slot with one number, one of them counts: there are none such here."""
    seen: set[object] = set()
    apart = [e for e in events if not (_key(e) in seen or seen.add(_key(e)))]
    assert recover(chance.sample(apart, len(apart))) == recover(apart)
    fold(apart)


def _key(event: Event) -> object:
    if isinstance(event, CallIntended):
        return ("intended", event.step, event.item, event.attempt)
    if isinstance(event, _OVER):
        return ("over", event.step)
    return (type(event).__name__, getattr(event, "step", None), getattr(event, "item", None))


def test_the_intents_of_calls_that_become_ready_together_share_a_sync(tmp_path: Path) -> None:
    """What is committed together stands in one row."""
    path = tmp_path / "runs.sqlite"
    tools = ScriptedTools()
    tools.add("read", Gives(1, delay_s=0.01))
    tools.add("send", effects=Effects.WRITE)
    sends = (Step(f"s{at}", "send", {"x": Ref("r")}) for at in range(5))
    plan = execution_plan(Plan((Step("r", "read"), *sends)), tools.toolbox)
    journal = Journal(path)
    done = asyncio.run(run(plan, tools.toolbox, journal=journal, approval=approve(plan)))
    journal.close()
    assert done.succeeded
    with closing(sqlite3.connect(path)) as file:
        rows = [row.count("call-intended") for (row,) in file.execute("SELECT event FROM events")]
    assert [intents for intents in rows if intents] == [5]


def test_what_a_run_took_begins_with_its_approval() -> None:
    """What a person thinks is no time that calls take."""
    begun: list[Event] = [RunStarted("r", "d", (), 1.0)]
    end = RunEnded(RunState.SUCCEEDED, None, 9.0)
    assert fold(begun).took_s is None
    assert fold([*begun, end]).took_s == 8.0
    asked = fold([*begun, RunWaiting(1.5), RunApproved("approval", "d", 7.0), end])
    assert (asked.took_s, asked.is_resumed) == (2.0, False)
    assert fold([*begun, RunResumed(5.0), end]).is_resumed


def test_only_the_owner_can_read_blobs(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    assert (blobs.folder / blobs.write("text")).stat().st_mode & 0o777 == 0o600
