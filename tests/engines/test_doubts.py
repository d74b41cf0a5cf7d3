"""What may have happened is in doubt, never failed, and never made again by the program."""

import asyncio
import errno
import http.client
import json
import math
import smtplib
import socket
import sqlite3
import ssl
import subprocess
import urllib.error
from collections.abc import Callable, Sequence
from contextlib import closing
from email.message import Message
from typing import Any

import httpx2
import psycopg
import pytest

from tests.engines._running import ran
from tests.plans_strategy import execution_plan
from tests.stores import Stores
from toolplan import Effects, OutcomeUnknown, Tool, Toolbox, ToolError, approve, tool
from toolplan.engine import CannotRun, Decided, resume, run
from toolplan.engine._failures import MAX_KEPT, kept_result
from toolplan.engine.lost import may_have_happened
from toolplan.events import CallInDoubt, Run, RunParked, RunResumed, RunState, StepState, to_json
from toolplan.plan.model import Literal, Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.storage.journal import Slot, from_record, recover, to_record
from toolplan.testing import Computes, Gives, Outcome, Raises, ScriptedTools, interpret

CHARGED: Json = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


UNUSABLE: Sequence[tuple[Any, str]] = [
    ({"id": "ch_1"}, "ch_1"),
    ({}, "{}"),
    (None, "null"),
    ("charged", "charged"),
    ({"id": math.nan}, "NaN"),
    ({"id": -math.inf}, "-Infinity"),
    ({"id": 1, "raw": b"ch_2"}, "ch_2"),
    ({"id": {1, 2}}, "{1, 2}"),
    ({"id": Unshowable()}, "cannot be shown"),
    ({"id": object()}, "<object object>"),
    ({"id": 1, "text": "\ud800"}, "?"),
    ({"id": 1, "text": "x" * 3_000}, "xxx"),
    ({"id": 10**5000}, "id"),
    ([{"id": 1}], "[{"),
]


def charging(*outcomes: Outcome, effects: Effects = Effects.WRITE, same: bool = False) -> Any:
    tools = ScriptedTools()
    tools.add("charge", *outcomes, output_schema=CHARGED, effects=effects, idempotent=same)
    return tools


@pytest.mark.parametrize(("returned", "shown"), UNUSABLE)
@pytest.mark.parametrize("on_error", ["fail", "continue"])
def test_an_effect_whose_result_cannot_be_used_is_in_doubt_with_its_result(
    returned: Any, shown: str, on_error: Any
) -> None:
    tools = charging(Computes(lambda _: returned))
    step = Step("pay", "charge", {"eur": Literal(5)}, on_error=on_error, retries=3)
    done, sink = ran(tools, step, result_size=2_000)
    assert done.status is RunState.IN_DOUBT
    assert done.steps["pay"].state is StepState.IN_DOUBT
    assert len(tools.calls) == 1
    (doubt,) = done.steps["pay"].doubts
    assert (doubt.tool, doubt.args) == ("charge", {"eur": 5})
    assert shown in json.dumps(doubt.result).replace('\\"', '"')
    (event,) = [each for each in sink.events if isinstance(each, CallInDoubt)]
    assert from_record(to_record(event)) == event
    document: Any = to_json(done)
    (shown_call,) = document["steps"]["pay"]["calls_in_doubt"]
    assert (shown_call["tool"], shown_call["args"]) == ("charge", {"eur": 5})


@pytest.mark.parametrize(("effects", "same"), [(Effects.READ, False), (Effects.WRITE, True)])
def test_of_what_may_be_repeated_a_bad_result_is_repeated_and_fails(
    effects: Effects, same: bool
) -> None:
    tools = charging(Gives({"id": "no"}), effects=effects, same=same)
    done, _ = ran(tools, Step("pay", "charge", retries=1))
    assert done.status is RunState.FAILED
    assert done.steps["pay"].error is not None
    assert done.steps["pay"].error.code == "result-schema"
    assert len(tools.calls) == 2


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


class Unreadable(Exception):
    @property
    def response(self) -> None:
        raise RuntimeError("no")


ASKED = httpx2.Request("POST", "http://x")

MAY_HAVE: Sequence[BaseException] = [
    ConnectionResetError(),
    BrokenPipeError(),
    ConnectionAbortedError(),
    TimeoutError(),
    EOFError(),
    asyncio.IncompleteReadError(b"", 5),
    http.client.RemoteDisconnected("gone"),
    http.client.IncompleteRead(b""),
    ssl.SSLError("eof"),
    httpx2.ReadTimeout("slow"),
    httpx2.ReadError("gone"),
    httpx2.RemoteProtocolError("gone"),
    OutcomeUnknown("who knows"),
    json.JSONDecodeError("no", "", 0),
    asyncio.CancelledError(),
    caused(RuntimeError("payment failed"), ConnectionResetError()),
    ExceptionGroup("two", [ToolError("no"), ConnectionResetError()]),
    caused(ValueError("x"), ExceptionGroup("one", [httpx2.ReadTimeout("slow")])),
    OSError(errno.ENETRESET, "the network dropped the connection"),
    OSError(errno.EHOSTUNREACH, "no route, with the connection open"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text"),
    smtplib.SMTPServerDisconnected("gone"),
    subprocess.TimeoutExpired("pay", 3),
    subprocess.CalledProcessError(-9, "pay"),
    urllib.error.ContentTooShortError("cut", ("reply", Message())),
    urllib.error.HTTPError("http://x", 504, "Gateway Timeout", Message(), None),
    httpx2.HTTPStatusError("502", request=ASKED, response=httpx2.Response(502, request=ASKED)),
    psycopg.OperationalError("the server closed the connection"),
    psycopg.errors.AdminShutdown("the server is shut down"),
]
DID_NOT: Sequence[BaseException] = [
    ToolError("It says no."),
    caused(ToolError("It says no."), ConnectionResetError()),
    ConnectionRefusedError(),
    socket.gaierror(),
    httpx2.ConnectError("no"),
    httpx2.ConnectTimeout("no"),
    httpx2.PoolTimeout("no"),
    caused(ConnectionError("retries"), ConnectionRefusedError()),
    ValueError("no such mailbox"),
    KeyError("x"),
    subprocess.CalledProcessError(1, "pay"),
    urllib.error.HTTPError("http://x", 400, "Bad Request", Message(), None),
    httpx2.HTTPStatusError("503", request=ASKED, response=httpx2.Response(503, request=ASKED)),
    psycopg.errors.LockNotAvailable("locked"),
    sqlite3.OperationalError("database is locked"),
    Unreadable("fields that raise"),
]


@pytest.mark.parametrize("error", MAY_HAVE, ids=repr)
def test_an_effect_that_lost_its_connection_is_in_doubt(error: BaseException) -> None:
    for on_error in ("fail", "continue"):
        tools = charging(Raises(error))
        done, _ = ran(tools, Step("pay", "charge", on_error=on_error, retries=2))
        assert done.status is RunState.IN_DOUBT
        assert len(tools.calls) == 1
    tools = charging(Raises(error), effects=Effects.READ)
    done, _ = ran(tools, Step("pay", "charge", retries=1))
    assert done.status is RunState.FAILED
    assert len(tools.calls) == 2


@pytest.mark.parametrize("error", DID_NOT, ids=repr)
def test_what_was_not_sent_or_was_refused_has_failed(error: BaseException) -> None:
    done, _ = ran(charging(Raises(error)), Step("pay", "charge"))
    assert done.status is RunState.FAILED


def test_causes_that_go_in_a_circle_end() -> None:
    inner = ValueError("inner")
    group = ExceptionGroup("outer", [inner])
    inner.__cause__ = group
    assert not may_have_happened(group)


def test_a_function_whose_result_does_not_fit_its_type_hint_is_in_doubt() -> None:
    made: list[int] = []

    def charge(eur: int) -> dict[str, int]:
        made.append(eur)
        return {"id": "ch_1"}  # type: ignore[dict-item]

    for effects, status in (("write", RunState.IN_DOUBT), ("read", RunState.FAILED)):
        function: Tool = tool(effects=effects)(charge)  # type: ignore[call-overload]
        assert _run(function, Step("pay", "charge", {"eur": Literal(5)})).status is status
    assert made == [5, 5]
    function = tool(effects="write")(charge)
    doubt = _run(function, Step("pay", "charge", {"eur": Literal(5)})).steps["pay"].doubts[0]
    assert doubt.result == {"json": {"id": "ch_1"}}


def _run(function: Tool, step: Step) -> Run:
    plan = execution_plan(Plan((step,)), Toolbox([function]))
    approval = approve(plan) if plan.effects else None
    return asyncio.run(run(plan, [function], approval=approval))


@pytest.mark.parametrize(
    ("decision", "status"),
    [
        (Decided("resolve", {"id": "ch_1"}), RunState.SUCCEEDED),  # exactly what came back
        (Decided("resolve", {"id": 1}), RunState.SUCCEEDED),  # what it should have been
        (Decided("abort"), RunState.FAILED),
        (Decided("retry"), RunState.SUCCEEDED),
    ],
)
def test_a_person_decides_with_the_result_that_the_journal_keeps(
    decision: Decided, status: RunState, stores: Stores
) -> None:
    tools = charging(Gives({"id": "ch_1"}), Gives({"id": 2}))
    plan = execution_plan(Plan((Step("pay", "charge", {"eur": Literal(5)}),)), tools.toolbox)
    with closing(stores.open()) as journal:
        asyncio.run(run(plan, tools.toolbox, journal=journal, approval=approve(plan), run_id="r"))
        for _ in range(2):  # without a decision the doubt stays as it is
            again = asyncio.run(resume(plan, tools.toolbox, "r", journal=journal))
            assert again.status is RunState.IN_DOUBT
            (doubt,) = again.steps["pay"].doubts
            assert doubt.result == {"json": {"id": "ch_1"}}
            assert doubt.args == {"eur": 5}
            assert "schema" in doubt.failure.message
        other: dict[Slot, Decided] = {("pay", None): Decided("resolve", {"id": "other"})}
        with pytest.raises(CannotRun, match="cannot have returned that"):
            asyncio.run(resume(plan, tools.toolbox, "r", journal=journal, decisions=other))
        assert len(tools.calls) == 1
        decisions: dict[Slot, Decided] = {("pay", None): decision}
        ended = asyncio.run(resume(plan, tools.toolbox, "r", journal=journal, decisions=decisions))
        events = journal.events("r")
    assert ended.status is status
    assert recover(reversed(events)) == recover(events)
    assert len(tools.calls) == 1 + (decision.decision == "retry")


def test_a_resumption_writes_no_doubt_again(stores: Stores) -> None:
    tools = charging(*[Gives({"id": "no"}) for _ in range(20)])
    step = Step("pay", "charge", {"eur": Ref("item")}, for_each=Literal([*range(20)]))
    plan = execution_plan(Plan((step,)), tools.toolbox)
    with closing(stores.open()) as journal:
        asyncio.run(run(plan, tools.toolbox, journal=journal, approval=approve(plan), run_id="r"))
        before = len(journal.events("r"))
        for times in range(1, 4):
            again = asyncio.run(resume(plan, tools.toolbox, "r", journal=journal))
            assert [each.item for each in again.steps["pay"].doubts] == [*range(20)]
            assert again == journal.load("r")
            added = journal.events("r")[before:]
            assert [type(each) for each in added] == [RunResumed, RunParked] * times
        decisions: dict[Slot, Decided] = {("pay", 7): Decided("abort")}
        again = asyncio.run(resume(plan, tools.toolbox, "r", journal=journal, decisions=decisions))
        assert [each.item for each in again.steps["pay"].doubts] == [n for n in range(20) if n != 7]
        assert again == journal.load("r")
    assert len(tools.calls) == 20


def test_the_reference_interpreter_has_the_same_doubts() -> None:
    def made() -> ScriptedTools:
        tools: ScriptedTools = charging(Gives({"id": "no"}))
        tools.add("fine", Gives({"n": 1}))
        return tools

    steps = (
        Step("pay", "charge", on_error="continue"),
        Step("each", "charge", for_each=Literal([1, 2])),
        Step("behind", "fine", after=("pay",)),
        Step("good", "fine"),
    )
    done, _ = ran(made(), *steps)
    box = made().toolbox
    wanted = asyncio.run(interpret(execution_plan(Plan(steps), box), box))
    assert wanted.status is done.status is RunState.IN_DOUBT
    states = {name: step.state for name, step in done.steps.items()}
    assert states == {name: step.state for name, step in wanted.steps.items()}


@pytest.mark.parametrize(
    "make", [lambda: "x" * 10**6, lambda: ["y" * 100] * 10**5, lambda: [math.nan] * 10**5]
)
def test_a_kept_result_is_bounded(make: Callable[[], Any]) -> None:
    kept = kept_result(make())
    assert isinstance(kept, dict)
    assert kept["cut"] is True
    assert len(str(kept["text"])) == MAX_KEPT


def test_an_event_of_an_earlier_version_is_read() -> None:
    old = '["call-in-doubt","pay",null,1,["timeout","No answer.",""],1.5]'
    event = from_record(old)
    assert isinstance(event, CallInDoubt)
    assert (event.tool, event.args, event.result) == ("", None, None)
