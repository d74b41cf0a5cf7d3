"""Other systems on the same graph, where they are installed: CPU a step beside raw asyncio.

They do less than the engine: no references are resolved, nothing is checked or kept.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from typing import Annotated, Any, Final, TypeAlias, TypedDict

from benchmarks.engine.graphs import (
    Work,
    execution_plan,
    layered,
    nothing,
    ours,
    raw,
    toolbox,
)
from benchmarks.engine.rows import Row
from toolplan.execution_plan import ExecutionPlan

Run: TypeAlias = Callable[[], Awaitable[object]]
Prepare: TypeAlias = Callable[[], Awaitable[Run]]
"""Makes ready what is not timed, in the loop in which it will run."""


def rows(quick: bool) -> Iterator[Row]:
    """Yield the figures of the peers that are installed, and of ours in the same turns."""
    installed = {name: make for name, make in PEERS.items() if find_spec(name) is not None}
    if not installed:
        return
    tools = toolbox(nothing)
    plan = execution_plan(layered(1_000), tools)
    runs: dict[str, Prepare] = {
        "raw": _prepared(lambda: raw(plan, nothing)),
        "toolplan": _prepared(lambda: ours(plan, tools)),
        **{name: make(plan, nothing) for name, make in installed.items()},
    }
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(2 if quick else 5):
        for name, run in runs.items():
            found[name].append(_cpu(run))
    beside = median(found["raw"])
    for name in list(runs)[1:]:
        ratio = median(found[name]) / beside
        yield Row(f"CPU a step, 1,000 steps, {name}, × raw asyncio", ratio)


def _prepared(run: Run) -> Prepare:
    async def prepare() -> Run:
        return run

    return prepare


def _cpu(prepare: Prepare) -> float:
    async def timed() -> float:
        run = await prepare()
        gc.collect()
        began = time.process_time()
        await run()
        return time.process_time() - began

    return asyncio.run(timed())


def _merged(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {**one, **other}


class _State(TypedDict):
    """What a LangGraph graph passes on: the outputs so far."""

    outputs: Annotated[dict[str, int], _merged]


def _langgraph(plan: ExecutionPlan, work: Work) -> Prepare:
    library: Any = import_module("langgraph.graph")
    graph: Any = library.StateGraph(_State)
    for name in plan.order:
        graph.add_node(name, _node(name, work))
    for name in plan.order:
        graph.add_edge(list(plan.needs[name]) or library.START, name)
    compiled: Any = graph.compile()
    bound = {"recursion_limit": 10 * len(plan.order)}
    return _prepared(lambda: compiled.ainvoke({"outputs": {}}, config=bound))


def _node(name: str, work: Work) -> Callable[[_State], Awaitable[_State]]:
    async def node(state: _State) -> _State:
        await work({"key": name})
        return {"outputs": {name: 1}}

    return node


def _hamilton(plan: ExecutionPlan, work: Work) -> Prepare:
    make: Any = import_module("hamilton.ad_hoc_utils").create_temporary_module
    library: Any = import_module("hamilton.async_driver")
    functions = [_function(name, plan.needs[name], work) for name in plan.order]
    module: Any = make(*functions, module_name="layers")
    needed = {each for needs in plan.needs.values() for each in needs}
    ends = [name for name in plan.order if name not in needed]

    async def prepare() -> Run:
        driver: Any = await library.Builder().with_modules(module).build()
        return lambda: driver.execute(ends)

    return prepare


def _function(name: str, needs: tuple[str, ...], work: Work) -> Callable[..., Awaitable[int]]:
    """Give a function as Hamilton reads them: its parameters are what the node needs."""

    async def function(**inputs: int) -> int:
        await work({"key": name})
        return 1

    parameters = [
        inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, annotation=int) for each in needs
    ]
    function.__name__ = name
    function.__annotations__ = {**dict.fromkeys(needs, int), "return": int}
    vars(function)["__signature__"] = inspect.Signature(parameters, return_annotation=int)
    return function


PEERS: Final[Mapping[str, Callable[[ExecutionPlan, Work], Prepare]]] = {
    "langgraph": _langgraph,
    "hamilton": _hamilton,
}
