"""The benchmark's peers: each does the same, or is left out and the reason is reported.

The libraries themselves are not needed: what stands in for one does what its adapter calls.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from benchmarks.engine.graphs import Work, execution_plan, layered, nothing, toolbox
from benchmarks.engine.peers import PEERS, absent, rows, table
from benchmarks.engine.peers.by_hand import ANYIO, GRAPHLIB
from benchmarks.engine.peers.dbos import DBOS
from benchmarks.engine.peers.hamilton import HAMILTON
from benchmarks.engine.peers.langgraph import LANGGRAPH
from benchmarks.engine.peers.llm_compiler import LLM_COMPILER
from benchmarks.engine.peers.peer import Opened, Peer, Prepare, always_open, prepared
from benchmarks.engine.peers.proof import why_not
from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json
from toolplan.tools import Arguments

UNIT = "src.llm_compiler.task_fetching_unit"


def put(monkeypatch: pytest.MonkeyPatch, name: str, **names: object) -> None:
    """Put a module of that name where imports find it, in packages that are empty."""
    for end in [at for at, letter in enumerate(name) if letter == "."]:
        package = ModuleType(name[:end])
        package.__spec__ = ModuleSpec(name[:end], None, is_package=True)
        package.__path__ = []
        if not isinstance(sys.modules.get(name[:end]), Stand):
            monkeypatch.setitem(sys.modules, name[:end], package)
    module = Stand(name)
    module.__spec__ = ModuleSpec(name, None)
    module.__path__ = []
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, name, module)


class Stand(ModuleType):
    """A module that stands in for one of a library."""


async def run_graph(
    needs: Mapping[str, tuple[str, ...]], call: Callable[[str], Awaitable[object]]
) -> None:
    """Make each call once and after what it needs, as a library that is right would."""
    over = {name: asyncio.Event() for name in needs}

    async def step(name: str) -> None:
        for each in needs[name]:
            await over[each].wait()
        await call(name)
        over[name].set()

    await asyncio.gather(*map(step, needs))


@pytest.mark.parametrize("peer", [GRAPHLIB, ANYIO])
def test_what_is_by_hand_makes_the_calls_of_the_plan(peer: Peer) -> None:
    assert why_not(peer) is None


@dataclass
class Graph:
    """Stands in for a state graph of LangGraph."""

    state: type
    nodes: dict[str, Callable[[object], Awaitable[object]]] = field(
        default_factory=dict[str, Callable[[object], Awaitable[object]]]
    )
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def add_node(self, name: str, node: Callable[[object], Awaitable[object]]) -> None:
        self.nodes[name] = node

    def add_edge(self, start: str | list[str], end: str) -> None:
        self.needs[end] = () if start == "START" else tuple(start)

    def compile(self) -> Graph:
        return self

    async def ainvoke(self, state: object, config: Mapping[str, int]) -> None:
        assert config["recursion_limit"] > len(self.needs)
        await run_graph(self.needs, lambda name: self.nodes[name](state))


def test_langgraph_makes_the_calls_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "langgraph.graph", StateGraph=Graph, START="START")
    assert why_not(LANGGRAPH) is None


def module_of(*functions: object) -> tuple[object, ...]:
    return functions


class Builder:
    """Stands in for the builder of Hamilton's async driver, and for the driver."""

    functions: tuple[Callable[..., Awaitable[object]], ...] = ()

    def with_modules(self, functions: tuple[Callable[..., Awaitable[object]], ...]) -> Builder:
        self.functions = functions
        return self

    async def build(self) -> Builder:
        return self

    async def execute(self, ends: list[str]) -> None:
        made = {function.__name__: function for function in self.functions}
        needs = {name: tuple(inspect.signature(made[name]).parameters) for name in made}
        assert set(ends) == made.keys() - {each for needed in needs.values() for each in needed}
        await run_graph(needs, lambda name: made[name](**dict.fromkeys(needs[name], 1)))


def test_hamilton_makes_the_calls_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "hamilton.ad_hoc_utils", create_temporary_module=module_of)
    put(monkeypatch, "hamilton.async_driver", Builder=Builder)
    assert why_not(HAMILTON) is None


class Durable:
    """Stands in for the class of DBOS."""

    reported: list[str]
    numbered: list[str]

    def __init__(self, *, config: Mapping[str, str]) -> None:
        assert config["system_database_url"].startswith("sqlite:///")
        Durable.reported, Durable.numbered = ["made"], []

    @staticmethod
    def step() -> Callable[[Callable[[str], Awaitable[Json]]], Callable[[str], Awaitable[Json]]]:
        def decorated(call: Callable[[str], Awaitable[Json]]) -> Callable[[str], Awaitable[Json]]:
            def numbered(name: str) -> Awaitable[Json]:
                Durable.numbered.append(name)
                return call(name)

            return numbered

        return decorated

    @staticmethod
    def workflow() -> Callable[[Callable[[], Awaitable[None]]], Callable[[], Awaitable[None]]]:
        Durable.reported.append("workflow")
        return lambda calls: calls

    @staticmethod
    def launch() -> None:
        Durable.reported.append("launched")

    @staticmethod
    def destroy(*, destroy_registry: bool) -> None:
        assert destroy_registry
        Durable.reported.append("destroyed")


def test_dbos_makes_the_calls_of_the_plan_and_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "dbos", DBOS=Durable)
    assert why_not(DBOS) is None
    assert Durable.reported == ["made", "workflow", "launched", "destroyed"]


def test_dbos_numbers_its_steps_in_plan_order(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "dbos", DBOS=Durable)
    assert why_not(DBOS) is None
    assert Durable.numbered == [f"s{at}" for at in range(len(Durable.numbered))]
    assert Durable.numbered


def test_dbos_is_ended_where_it_does_not_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise RuntimeError("the disk is full")

    put(monkeypatch, "dbos", DBOS=Durable)
    monkeypatch.setattr(Durable, "launch", fails)
    assert why_not(DBOS) == "RuntimeError: the disk is full"
    assert Durable.reported[-1] == "destroyed"


@dataclass
class Task:
    """Stands in for a task of LLMCompiler."""

    idx: int
    name: str
    tool: Callable[..., Awaitable[object]]
    args: tuple[str, ...]
    dependencies: list[int]


class Unit:
    """Stands in for its fetching unit."""

    said: list[tuple[str, ...]]

    def set_tasks(self, tasks: Mapping[int, Task]) -> None:
        self.tasks = {str(number): task for number, task in tasks.items()}
        assert all(task.idx == number for number, task in tasks.items())

    async def schedule(self) -> None:
        needs = {name: tuple(map(str, task.dependencies)) for name, task in self.tasks.items()}
        Unit.said = [task.args[1:] for task in self.tasks.values()]
        assert Unit.said == [tuple(f"${each}" for each in needed) for needed in needs.values()]
        await run_graph(needs, lambda name: self.tasks[name].tool(*self.tasks[name].args))


def test_llm_compiler_makes_the_calls_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    prints: list[bool] = []
    put(monkeypatch, UNIT, Task=Task, TaskFetchingUnit=Unit)
    put(monkeypatch, "src.utils.logger_utils", enable_logging=prints.append)
    assert why_not(LLM_COMPILER) is None
    assert prints == [False]
    assert any(Unit.said)


def test_what_a_clone_imports_and_is_absent_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, UNIT, Task=Task, TaskFetchingUnit=Unit)
    monkeypatch.setitem(sys.modules, "src.utils", None)
    reason = why_not(LLM_COMPILER)
    assert reason is not None
    assert reason.startswith("ModuleNotFoundError: ")
    assert "src.utils" in reason


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


def test_a_peer_of_another_version_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "langgraph.graph", START="START")
    reason = why_not(LANGGRAPH)
    assert reason is not None
    assert reason.startswith("AttributeError: ")
    assert "StateGraph" in reason


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
