"""LLMCompiler's fetching unit, from a clone of its repository in PYTHONPATH; it is no package.

Its steps have numbers, and `$3` in an argument stands for the text of what step 3 gave.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from benchmarks.engine.graphs import Work
from benchmarks.engine.peers.peer import Peer, Prepare, Run, always_open
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan

_MODULE: Final = "src.llm_compiler.task_fetching_unit"


def _fetched(plan: ExecutionPlan, work: Work) -> Prepare:
    library: Any = import_module(_MODULE)
    import_module("src.utils.logger_utils").enable_logging(False)  # it prints two lines a step
    numbers = {name: at for at, name in enumerate(plan.order, 1)}

    async def tool(key: str, *needed: str) -> Json:
        return await work({"key": key})

    async def prepare() -> Run:
        tasks: dict[int, object] = {}  # made for each run, because they keep what they gave
        for name, number in numbers.items():
            needs = [numbers[each] for each in plan.needs[name]]
            args = (name, *(f"${each}" for each in needs))
            tasks[number] = library.Task(number, "work", tool, args, needs)

        async def run() -> None:
            unit = library.TaskFetchingUnit()
            unit.set_tasks(tasks)
            await unit.schedule()

        return run

    return prepare


LLM_COMPILER: Final = Peer(_MODULE, always_open(_fetched), "passes outputs on as text; polls")
