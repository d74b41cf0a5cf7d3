"""The benchmark's peers: each makes the same calls, or is skipped with the reason."""

import asyncio
import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from benchmarks.engine.graphs import Work, execution_plan, layered, nothing, toolbox
from benchmarks.engine.peers import PEERS, absent, rows, table
from benchmarks.engine.peers.by_hand import ANYIO, GRAPHLIB
from benchmarks.engine.peers.peer import Opened, Peer, Prepare, always_open, prepared
from benchmarks.engine.peers.proof import why_not
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Arguments


@pytest.mark.parametrize("peer", [GRAPHLIB, ANYIO])
def test_what_is_by_hand_makes_the_calls_of_the_plan(peer: Peer) -> None:
    assert why_not(peer) is None


def a_peer(opened: Opened) -> Peer:
    return Peer("asyncio", opened)


def test_a_module_in_no_package_is_not_installed() -> None:
    peer = Peer("there_is_no_such_package.of.modules", GRAPHLIB.opened)
    assert why_not(peer) == "not installed"
    assert peer.version == ""


def test_the_version_is_that_of_the_package_that_is_there() -> None:
    peer = Peer("pytest", GRAPHLIB.opened, packages=("there-is-no-such-package", "pytest"))
    assert peer.version == pytest.__version__


def calls_in(change: Callable[[list[str]], list[str]], concurrent: bool) -> Opened:
    """Return a peer that makes the calls that `change` gives, one by one or all at once."""

    def make(plan: ExecutionPlan, work: Work) -> Prepare:
        calls = [{"key": name} for name in change(list(plan.order))]

        async def run() -> None:
            if concurrent:
                await asyncio.gather(*(work({**each}) for each in calls))
            else:
                for each in calls:
                    await work({**each})

        return prepared(run)

    return always_open(make)


def all_of(order: list[str]) -> list[str]:
    return order


def one_too_few(order: list[str]) -> list[str]:
    return order[:-1]


def one_again(order: list[str]) -> list[str]:
    return [*order, "s3"]


@pytest.mark.parametrize(
    ("change", "concurrent", "reason"),
    [
        (all_of, False, None),
        (one_too_few, False, "it ends without the call of 's149'"),
        (one_again, False, "it calls 's3' again"),
        (all_of, True, "it calls 's50' before what that needs has ended"),
    ],
)
def test_a_peer_that_does_not_do_the_same_is_not_compared(
    change: Callable[[list[str]], list[str]], concurrent: bool, reason: str | None
) -> None:
    assert why_not(a_peer(calls_in(change, concurrent))) == reason


def test_a_peer_that_hangs_is_not_compared() -> None:
    def hangs(plan: ExecutionPlan, work: Work) -> Prepare:
        return prepared(lambda: asyncio.sleep(3_600))

    assert why_not(a_peer(always_open(hangs)), patience_s=0.01) == "TimeoutError"


def test_a_peer_of_another_version_is_not_compared() -> None:
    def lacks(plan: ExecutionPlan, work: Work) -> Prepare:
        raise AttributeError("there is no StateGraph")

    assert why_not(a_peer(always_open(lacks))) == "AttributeError: there is no StateGraph"


def with_peers(monkeypatch: pytest.MonkeyPatch, **peers: Peer) -> None:
    monkeypatch.setattr(table, "PEERS", peers)
    monkeypatch.setattr(gc, "collect", lambda: 0)  # it takes long beside all that pytest keeps


def test_what_is_not_compared_is_reported_with_its_reason_and_the_rest_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_peers(
        monkeypatch,
        gone=Peer("there_is_no_such_package", GRAPHLIB.opened),
        short=a_peer(calls_in(one_too_few, concurrent=False)),
        one_by_one=a_peer(calls_in(all_of, concurrent=False)),
    )
    names = [row.name for row in rows(quick=True)]
    assert [name.split(" steps, ")[1] for name in names] == [
        "toolplan, × raw",
        "toolplan, journal, × raw",
        "toolplan, intents synced, × raw",
        "one_by_one, × raw",
    ]
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "Not compared: gone: not installed",
        "Not compared: short: it ends without the call of 's149'",
    ]
    assert absent() == ["gone"]


def test_a_row_says_version_and_what_the_peer_does(monkeypatch: pytest.MonkeyPatch) -> None:
    with_peers(monkeypatch, anyio=ANYIO._replace(packages=("pytest",), does="waits"))
    *_, row = rows(quick=True)
    assert row.goal is None
    assert row.beside.endswith(f"; {pytest.__version__}; waits")


@pytest.mark.parametrize("is_busy", [True, False])
def test_a_peer_that_works_between_runs_is_not_open_while_another_is_measured(
    monkeypatch: pytest.MonkeyPatch, is_busy: bool
) -> None:
    reported: list[str] = []

    @contextmanager
    def opened(plan: ExecutionPlan, work: Work) -> Generator[Prepare, None, None]:
        reported.append("opened")
        with GRAPHLIB.opened(plan, work) as prepare:
            yield prepare
        reported.append("ended")

    def other(plan: ExecutionPlan, work: Work) -> Prepare:
        async def run() -> None:
            reported.append("other")
            for name in plan.order:
                await work({"key": name})

        return prepared(run)

    with_peers(
        monkeypatch,
        it=Peer("asyncio", opened, is_busy_while_open=is_busy),
        other=a_peer(always_open(other)),
    )
    assert len(list(rows(quick=True))) == 5
    proofs = ["opened", "ended", "other"]
    if is_busy:
        assert reported == [*proofs, "other", "opened", "ended", "other", "other"]
    else:
        assert reported == [*proofs, "opened", "other", "other", "other", "ended"]


def test_a_slow_peer_is_measured_as_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    def wasteful(plan: ExecutionPlan, work: Work) -> Prepare:
        async def wasting(args: Arguments) -> Json:
            sum(range(20_000))
            return await work(args)

        with GRAPHLIB.opened(plan, wasting) as prepare:
            return prepare

    with_peers(monkeypatch, lean=GRAPHLIB, wasteful=a_peer(always_open(wasteful)))
    found = {row.name.split(", ")[-2]: row.measured for row in rows(quick=True)}
    assert found["wasteful"] > 3 * found["lean"]


def test_each_named_system_has_its_peer() -> None:
    assert {"langgraph", "hamilton", "llm_compiler", "dbos"} <= PEERS.keys()


def test_the_plan_of_the_proof_has_needs() -> None:
    plan = execution_plan(layered(150), toolbox(nothing))
    assert sum(map(len, plan.needs.values())) > 150
