"""Calls that wait with their values, in runs that workers have."""

from pathlib import Path
from typing import Any

import pytest

from tests.workers._office import (
    ledger,
    no_job_is_left,
    office,
    over,
    plan_of,
    status,
    until,
    working,
)
from toolplan import App, CannotRun, ToolplanError
from toolplan.events import ApprovalStaged, CallWaiting, ConsentGiven, RunState
from toolplan.plan.path import Json
from toolplan.policy.consent import Consent, ValueApproval
from toolplan.storage.journal import JournalError, Recovered, Slot
from toolplan.storage.journal.worker_runs import COUNTED
from toolplan_workers.inbox import read_messages
from toolplan_workers.queue.dispatch import Message
from toolplan_workers.worker import dispatch_for


def _plan(app: App, *, items: bool = False) -> Any:
    write: dict[str, Json] = {"id": "w", "tool": "write", "args": {"x": "n${a}"}}
    if items:
        write |= {"for_each": ["p", "q"], "args": {"x": "${item}${a}"}}
    return plan_of(app, {"id": "a", "tool": "read", "args": {"x": 7}}, write)


async def test_calls_wait_with_their_values_and_are_allowed_elsewhere(url: str, home: Path) -> None:
    async with working(url) as app:
        plan = _plan(app, items=True)
        run = await app.workers.submit(plan, approve="values")
        waiting = await over(app, run)
        assert waiting.status is RunState.WAITING
        assert [call.args for call in waiting.waiting] == [{"x": "p7"}, {"x": "q7"}]
        assert ledger(home) == []
        with office(url) as elsewhere:
            with pytest.raises(JournalError, match="its calls wait with their values"):
                await elsewhere.workers.approve(run, plan.digest)
            with pytest.raises(CannotRun, match="waits for a person"):
                await elsewhere.workers.decide(run, allow=["a"])
            await elsewhere.workers.decide(run, allow=["w"], who="anna")
        done = await until(lambda: (now := app.needed_journal().load(run)).succeeded and now)
        assert done.output == {"w": ["p7", "q7"]}
        await until(lambda: no_job_is_left(dispatch_for(app)))
        (message,) = dispatch_for(app).messages(run, answered=True)
        assert (message.kind, message.who, message.answer) == ("consent", "anna", COUNTED)
        events = app.needed_journal().events(run)
        assert [each.by for each in events if isinstance(each, ConsentGiven)] == ["anna"]
        with pytest.raises(CannotRun, match="waits for a person"):
            await app.workers.decide(run, allow=["w"])
    assert sorted(ledger(home)) == ["begin:p7", "begin:q7", "end:p7", "end:q7"]


async def test_a_refused_call_is_not_made_and_its_reason_kept(url: str, home: Path) -> None:
    async with working(url) as app:
        run = await app.workers.submit(_plan(app), approve=ValueApproval())
        assert (await over(app, run)).status is RunState.WAITING
        await app.workers.decide(run, deny=["w"], reason="not today")
        await until(lambda: status(app, run) is RunState.FAILED)
        failure = app.needed_journal().load(run).steps["w"].error
        assert failure is not None
        assert "not today" in failure.message
    assert ledger(home) == []


async def test_nobody_can_be_asked_by_a_worker(url: str) -> None:
    with office(url) as app:
        asked = ValueApproval(lambda _: True)
        with pytest.raises(ToolplanError, match="Nobody can be asked"):
            await app.workers.submit(_plan(app), approve=asked)


STAGED = ApprovalStaged("plan", (), 1.0)
WAITS = CallWaiting("w", None, "write", {"x": "n7"}, {}, "d1", 2.0)


def _said(content: Json, recovered: Recovered) -> tuple[str, dict[str, Consent]]:
    message = Message(1, "consent", content, "anna", None)
    read = read_messages([message], "plan", recovered, effects=True)
    ((_, text),) = (*read.counted, *read.refused)
    return text, dict(read.consents)


def _consent(digest: str = "d1", *, allowed: bool = True) -> dict[str, Json]:
    return {"step": "w", "allowed": allowed, "reason": "", "calls": [[None, digest]]}


def test_a_message_counts_for_the_call_that_was_shown_and_no_other() -> None:
    recovered = Recovered(staged=STAGED, waiting={("w", None): WAITS})
    assert _said(_consent(), recovered) == (COUNTED, {"w": Consent(True, "", {None: "d1"})})
    for wrong in (_consent("d2"), {**_consent(), "step": "v"}):
        text, consents = _said(wrong, recovered)
        assert text.startswith("refused: the calls of")
        assert not consents


def test_what_two_persons_decide_is_kept_under_the_name_of_each() -> None:
    """The messages of the second stay unread until those of the first were obeyed."""
    other = CallWaiting("v", None, "write", {"x": "n8"}, {}, "d2", 2.0)
    waiting: dict[Slot, CallWaiting] = {("w", None): WAITS, ("v", None): other}
    messages = [
        Message(1, "consent", _consent("d7"), "carl", None),  # refused: it decides nothing
        Message(2, "consent", _consent(), "anna", None),
        Message(3, "consent", {**_consent("d2"), "step": "v"}, "bert", None),
        Message(4, "resume", None, "carl", None),
    ]
    read = read_messages(messages, "plan", Recovered(staged=STAGED, waiting=waiting), effects=True)
    assert (read.by, read.is_more, [*read.consents]) == ("anna", True, ["w"])
    assert [number for number, _ in (*read.refused, *read.counted)] == [1, 2, 4]
    later = Recovered(staged=STAGED, waiting={("v", None): other})
    read = read_messages(messages[2:3], "plan", later, effects=True)
    assert (read.by, read.is_more, [*read.consents]) == ("bert", False, ["v"])


def test_a_message_that_an_earlier_worker_has_obeyed_is_counted_once() -> None:
    given = ConsentGiven("w", True, ((None, "d1"),), "", 3.0)
    recovered = Recovered(staged=STAGED, waiting={("w", None): WAITS}, consents=frozenset([given]))
    assert _said(_consent(), recovered) == (COUNTED, {})


@pytest.mark.parametrize(
    "content", [{}, {**_consent(), "calls": []}, {**_consent(), "calls": [["x", "d1"]]}]
)
def test_a_message_of_a_newer_program_is_refused(content: dict[str, Json]) -> None:
    recovered = Recovered(staged=STAGED, waiting={("w", None): WAITS})
    text, consents = _said(content, recovered)
    assert "newer program" in text
    assert not consents


def test_an_approval_of_the_plan_is_no_answer_about_values() -> None:
    message = Message(1, "approve", "plan", "anna", None)
    read = read_messages([message], "plan", Recovered(staged=STAGED), effects=True)
    assert not read.is_approved
    assert "one by one" in read.refused[0][1]
