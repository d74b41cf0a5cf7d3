"""What holds for every journal, whatever keeps it."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.plans_strategy import execution_plan, scripted_tools
from tests.stores import Stores
from toolplan import ApprovalRequired, CannotRun, Decided, Effects, approve, run
from toolplan.app.resume import plan_in, resume
from toolplan.events import (
    Event,
    RunApproved,
    RunEnded,
    RunStarted,
    RunState,
    StepStarted,
    StepSucceeded,
)
from toolplan.plan.model import Literal, Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.storage.journal import (
    JournalError,
    Lease,
    LeaseHeld,
    LeaseLost,
    RunRecord,
    Store,
    open_journal,
    to_record,
)
from toolplan.testing import Gives, ScriptedTools

RECORD = RunRecord({"steps": []}, [], None)


def begun(journal: Store, name: str = "r") -> None:
    journal.accept(name, "digest", RECORD, [RunStarted(name, "digest", ("a",), 1.0)])


def test_events_stand_in_the_order_in_which_they_were_written(stores: Stores) -> None:
    journal = stores.open()
    lease = journal.accept("r", "digest", RECORD, [RunStarted("r", "digest", ("a",), 1.0)])
    more: list[Event] = [
        StepStarted("a", None, 2.0),
        StepSucceeded("a", "x" * 100_000, 1, None, 3.0),
        RunEnded(RunState.SUCCEEDED, {"a": 1}, 4.0),
    ]
    journal.append(lease, [to_record(event) for event in more], lease.at, sync=True)
    assert journal.events("r")[1:] == more
    again = stores.open()
    assert again.events("r")[1:] == more
    assert again.load("r").steps["a"].output == "x" * 100_000


def test_runs_are_counted_by_their_status(stores: Stores) -> None:
    journal = stores.open()
    assert set(journal.counts().values()) == {0}
    for name in "abc":
        begun(journal, name)
    lease = journal.accept("d", "digest", RECORD, [RunStarted("d", "digest", ("a",), 1.0)])
    ended = [to_record(RunEnded(RunState.FAILED, None, 2.0))]
    journal.append(lease, ended, lease.at, sync=True, status=RunState.FAILED)
    counts = stores.open().counts()
    assert {state: count for state, count in counts.items() if count} == {
        RunState.RUNNING: 3, RunState.FAILED: 1,
    }  # fmt: skip


def test_a_group_that_is_written_again_is_there_once(stores: Stores) -> None:
    journal = stores.open()
    lease = journal.accept("r", "digest", RECORD, [RunStarted("r", "digest", ("a",), 1.0)])
    texts = [to_record(StepStarted("a", None, 2.0))]
    for _ in range(3):
        journal.append(lease, texts, lease.at, sync=False)
    assert len(journal.events("r")) == 2
    with pytest.raises(JournalError, match=r"were expected|has lost \d records"):
        journal.append(lease, texts, lease.at + 5, sync=False)


def test_who_was_taken_over_writes_nothing_more(stores: Stores) -> None:
    one = stores.open(owner="elsewhere:1")
    two = stores.open(owner="elsewhere:2")
    lease = one.accept("r", "digest", RECORD, [RunStarted("r", "digest", ("a",), 1.0)])
    with pytest.raises(JournalError, match="being worked on by process 1 on elsewhere") as caught:
        two.take("r")
    assert caught.value.code == "journal-taken"
    stores.end_lease("r")
    newer = two.take("r")
    assert newer.token > lease.token
    with pytest.raises(LeaseLost):
        one.append(lease, [to_record(StepStarted("a", None, 2.0))], lease.at, sync=True)
    with pytest.raises(LeaseLost):
        one.append(lease, [], lease.at, sync=True)
    two.release(newer)
    assert one.take("r").token > newer.token  # nobody has it: there is nothing to wait for


def test_a_run_belongs_to_one_task_of_a_process(stores: Stores) -> None:
    """Pitfall 4: the claim in memory comes before the row, and goes after it."""
    journal = stores.open()
    begun(journal)
    with pytest.raises(LeaseHeld):
        journal.take("r")
    journal.forget(Lease("r", 1, 1))
    barrier = threading.Barrier(8)

    def take(run: str) -> bool:
        barrier.wait()
        try:
            journal.take(run)
        except LeaseHeld:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        taken = [*threads.map(take, ["r"] * 8)]
    assert sum(taken) == 1


def test_a_journal_that_lost_records_loses_the_run_to_what_is_there(stores: Stores) -> None:
    """Pitfall 2: as after a failover to a standby that was behind."""
    journal = stores.open()
    texts = [to_record(StepStarted("a", None, 2.0))]
    lease = journal.accept("r", "digest", RECORD, [RunStarted("r", "digest", ("a",), 1.0)])
    journal.append(lease, texts * 3, 1, sync=True)
    stores.execute("DELETE FROM events WHERE seq > 0")
    stores.execute("UPDATE runs SET next_seq = 1")
    with pytest.raises(LeaseLost, match=r"has lost \d records"):
        journal.append(lease, texts, 4, sync=True)
    assert "has lost" in journal.records_lost["r"]
    assert not journal.is_current(lease)
    again = journal.take("r")
    assert again.at == 1
    journal.append(again, texts, again.at, sync=True)
    assert len(journal.events("r")) == 2


def test_an_approval_is_used_by_one_run_whatever_process_asks(stores: Stores) -> None:
    journal = stores.open()
    given_: list[Event] = [RunApproved("approval", "digest", 1.0)]
    journal.accept("one", "digest", RECORD, given_)
    with pytest.raises(JournalError) as caught:
        journal.accept("two", "digest", RECORD, given_)
    assert caught.value.code == "approval-used"
    with pytest.raises(JournalError):
        journal.events("two")  # nothing of it is there


def test_a_name_is_found_by_its_beginning(stores: Stores) -> None:
    journal = stores.open()
    for name in ("abc1", "abc2", "abc"):
        begun(journal, name)
    assert journal.find("abc1") == "abc1"
    assert journal.find("abc") == "abc"
    for start, said in (("ab", "Several"), ("x", "no run"), ("", "no run"), ("%", "no run")):
        with pytest.raises(JournalError, match=said):
            journal.find(start)
    with pytest.raises(JournalError) as caught:
        begun(journal, "abc")
    assert caught.value.code == "run-exists"


def test_durations_keep_the_latest(stores: Stores) -> None:
    journal = stores.open()
    journal.keep_durations("r1", [("t", float(at)) for at in range(500)])
    found = journal.durations(["t", "none"])
    assert found["none"] == []
    assert found["t"][:2] == [499.0, 498.0]
    assert len(found["t"]) < 500


def test_a_run_with_for_each_reads_back_with_its_output(stores: Stores) -> None:
    tools = scripted_tools()
    plan = execution_plan(
        Plan((Step("a", "echo", {"value": Ref("item")}, for_each=Literal([1, 2, 3])),))
    )
    journal = stores.open()
    done = asyncio.run(run(plan, tools.toolbox, journal=journal, run_id="r"))
    assert journal.load("r") == done
    assert journal.load("r").steps["a"].output == [{"value": 1}, {"value": 2}, {"value": 3}]


def test_recordings_are_the_latest_different_results_of_tools(stores: Stores) -> None:
    tools = scripted_tools()
    journal = stores.open()
    values: tuple[Json, ...] = (1, 1, 2, True, 1.0)
    for value in values:
        steps = (
            Step("a", "echo", {"value": Literal(value)}),
            Step("b", "echo", {"value": Ref("item")}, for_each=Literal([[value]])),
            Step("c", "fail", on_error="continue"),
            Step("d", "echo", {"value": Literal("x" * 100_000)}),
        )
        asyncio.run(run(execution_plan(Plan(steps)), tools.toolbox, journal=journal))
    found = journal.recordings(["echo", "fail", "rows"], most=3)
    # 1, 1.0 and true are equal in Python, and not in JSON
    assert json.dumps(found) == '{"echo": [{"value": 1.0}, {"value": [1.0]}, {"value": true}]}'


def office() -> ScriptedTools:
    tools = ScriptedTools()
    tools.add("read", Gives({"n": 1}))
    tools.add("send", Gives({"ok": True}), effects=Effects.WRITE)
    return tools


def test_resume_takes_plan_and_policy_from_the_journal(stores: Stores) -> None:
    tools = office()
    plan = execution_plan(
        Plan((Step("a", "read"), Step("b", "send", {"x": Ref("a", ("n",))}))), tools.toolbox
    )
    journal = stores.open()

    async def interrupted() -> None:
        asked = asyncio.Event()

        async def never(_: object) -> None:
            asked.set()
            await asyncio.Event().wait()

        going = asyncio.ensure_future(
            run(plan, tools.toolbox, journal=journal, approval=never, run_id="r")
        )
        await asked.wait()
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going

    asyncio.run(interrupted())
    assert journal.load("r").status is RunState.WAITING
    with pytest.raises(ApprovalRequired):
        asyncio.run(resume("r", tools.toolbox, journal=journal))
    with pytest.raises(ApprovalRequired):
        asyncio.run(resume("r", tools.toolbox, journal=journal, approval=lambda _: None))
    assert plan_in(journal.record("r"), tools.toolbox).digest == plan.digest
    assert tools.args_of("send") == []


def test_a_waiting_run_continues_when_it_is_approved(stores: Stores) -> None:
    tools = office()
    plan = execution_plan(Plan((Step("b", "send", {"x": Literal(1)}),)), tools.toolbox)
    journal = stores.open()

    async def test() -> None:
        async def crash(_: object) -> None:
            raise ConnectionError("the person's terminal is gone")

        with pytest.raises(ConnectionError):
            await run(plan, tools.toolbox, journal=journal, approval=crash, run_id="r")
        done = await resume("r", tools.toolbox, journal=journal, approval=approve)
        assert done.status is RunState.SUCCEEDED

    asyncio.run(test())
    assert tools.args_of("send") == [{"x": 1}]
    assert journal.load("r").status is RunState.SUCCEEDED


def test_other_tools_than_those_of_the_run_are_refused(stores: Stores) -> None:
    tools, others = office(), office()
    others.add("read", Gives({"n": 2}), output_schema={"type": "object"})
    plan = execution_plan(Plan((Step("a", "read"), Step("b", "read"))), tools.toolbox)
    journal = stores.open()

    async def cancelled() -> None:
        going = asyncio.ensure_future(
            run(plan, tools.toolbox, journal=journal, run_id="r", concurrency=1)
        )
        await tools.started("read")
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going

    asyncio.run(cancelled())
    with pytest.raises(CannotRun, match="'read'"):
        asyncio.run(resume("r", others.toolbox, journal=journal))
    with pytest.raises(CannotRun, match="in doubt"):
        asyncio.run(
            resume("r", tools.toolbox, journal=journal, decisions={("a", None): Decided("retry")})
        )
    with pytest.raises(JournalError, match="no run"):
        asyncio.run(resume("x", tools.toolbox, journal=journal))
    done = asyncio.run(resume("r", tools.toolbox, journal=journal))
    assert done.status is RunState.SUCCEEDED


def test_damage_to_large_results_is_named(stores: Stores) -> None:
    journal = stores.open()
    lease = journal.accept("r", "digest", RECORD, [RunStarted("r", "digest", ("a",), 1.0)])
    large = StepSucceeded("a", "x" * 100_000, 1, None, 3.0)
    journal.append(lease, [to_record(large)], lease.at, sync=True)
    for remove in (False, True):
        stores.spoil_blobs(remove=remove)
        with pytest.raises(JournalError) as caught:
            journal.events("r")
        assert caught.value.code == "journal-damaged"


def test_damage_to_records_and_plans_is_named(stores: Stores) -> None:
    journal = stores.open()
    lease = journal.accept("r", "digest", RECORD, [RunStarted("r", "digest", ("a",), 1.0)])
    journal.append(lease, [to_record(StepStarted("a", None, 2.0))], lease.at, sync=True)
    stores.execute("UPDATE events SET event = replace(event, 'digest', 'digits')")
    with pytest.raises(JournalError, match="does not fit its checksum") as caught:
        journal.events("r")
    assert caught.value.code == "journal-damaged"
    for lost in ("seq = 0", "seq > 0"):  # the first of two groups, then all
        stores.execute(f"DELETE FROM events WHERE {lost}")
        with pytest.raises(JournalError, match="missing"):
            journal.events("r")
    stores.execute("UPDATE runs SET record = replace(record, 'steps', 'stepz')")
    with pytest.raises(JournalError, match="does not fit its checksum"):
        journal.record("r")
    assert "damaged" in journal.entry("r").question


def test_a_lease_that_is_revoked_lets_its_owner_write_nothing_more(stores: Stores) -> None:
    one, two = stores.open(owner="elsewhere:1"), stores.open(owner="elsewhere:2")
    lease = one.accept("r", "digest", RECORD, [RunStarted("r", "digest", ("a",), 1.0)])
    assert two.held() == {"r": "elsewhere:1"}
    assert not two.revoke("r", "elsewhere:3")
    assert two.revoke("r", one.owner)
    assert not two.revoke("r", one.owner)
    assert two.held() == {}
    with pytest.raises(LeaseLost):
        one.append(lease, [], lease.at, sync=True)
    assert two.take("r").token > lease.token


def test_the_tail_begins_at_any_record(stores: Stores) -> None:
    journal = stores.open()
    lease = journal.accept("r", "digest", RECORD, [RunStarted("r", "digest", ("a",), 1.0)])
    assert journal.tail("nobody", 0) == []
    for at in (1, 3, 5):
        events = [StepStarted("a", None, float(at)), StepStarted("b", None, at + 1.0)]
        journal.append(lease, [to_record(each) for each in events], at, sync=True)
    everything = journal.events("r")
    assert len(everything) == 7
    for at in range(8):
        assert journal.tail("r", at) == everything[at:]


def test_who_waits_for_events_is_woken_by_another_process(stores: Stores) -> None:
    ours, theirs = stores.open(), stores.open()
    lease = theirs.accept("r", "digest", RECORD, [RunStarted("r", "digest", ("a",), 1.0)])
    ours.wait("r", 0, 60.0)  # there are some already
    ours.wait("r", 1, 0.05)  # there are none
    texts = [to_record(StepStarted("a", None, 2.0))]
    later = threading.Timer(0.1, theirs.append, (lease, texts, 1), {"sync": True})
    later.start()
    ours.wait("r", 1, 50.0)  # a lost notice would let the test time out
    later.join()
    assert len(ours.tail("r", 1)) == 1


def test_a_run_is_kept_by_the_door_that_commands_use(stores: Stores) -> None:
    with closing(open_journal(stores.place)) as journal:
        begun(journal)
    with closing(open_journal(stores.place)) as journal:
        assert [entry.run for entry in journal.runs()] == ["r"]


def test_a_name_is_held_by_one_at_a_time(stores: Stores) -> None:
    ours, theirs = stores.open().locks, stores.open().locks
    assert ours.hold("asking")
    assert not theirs.hold("asking")
    assert not ours.hold("asking")
    assert theirs.hold("other")
    theirs.release("asking")
    assert not theirs.hold("asking")
    ours.release("asking")
    assert theirs.hold("asking")
    for name in ("asking", "other"):
        theirs.release(name)
