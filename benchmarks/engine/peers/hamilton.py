"""Hamilton's async driver: a function a step, whose parameters are the steps that it needs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Final

from benchmarks.engine.graphs import Work
from benchmarks.engine.peers.peer import Peer, Prepare, Run, always_open
from toolplan.policy.execution_plan import ExecutionPlan


def _driven(plan: ExecutionPlan, work: Work) -> Prepare:
    make: Any = import_module("hamilton.ad_hoc_utils").create_temporary_module
    library: Any = import_module("hamilton.async_driver")
    functions = [_function(name, plan.needs[name], work) for name in plan.order]
    module: Any = make(*functions)
    needed = {each for needs in plan.needs.values() for each in needs}
    ends = [name for name in plan.order if name not in needed]

    async def prepare() -> Run:
        driver: Any = await library.Builder().with_modules(module).build()
        return lambda: driver.execute(ends)

    return prepare


def _function(name: str, needs: tuple[str, ...], work: Work) -> Callable[..., Awaitable[int]]:
    """Return a function as Hamilton reads them: its parameters are what the node needs."""

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


HAMILTON: Final = Peer(
    "hamilton",
    always_open(_driven),
    "passes outputs on as arguments",
    ("sf-hamilton", "apache-hamilton"),
)
