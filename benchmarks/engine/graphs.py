"""Plans in layers, their tools, and raw asyncio, which is the least that runs a graph at all.

Raw asyncio is a dictionary of in-degrees and one task a step. It has no references, checks,
timeouts, limits or events.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from toolplan.engine import run
from toolplan.events import Event
from toolplan.plan.model import Limits, Literal, Plan, Ref, Step, Value, needs
from toolplan.plan.path import Json
from toolplan.policy import Policy
from toolplan.policy.approval import approve, digest_of
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox
from toolplan.storage.journal import Store

Work: TypeAlias = Callable[[Arguments], Awaitable[Json]]

WIDTH: Final = 50
"""Steps in a layer."""

_INPUT: Final[Json] = {
    "type": "object",
    "properties": {"key": {"type": "string"}, "left": {"type": "integer"}, "right": {}},
    "required": ["key"],
}
_OUTPUT: Final[Json] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["n"],
}


def layered(steps: int, *, width: int = WIDTH, seed: int = 7) -> Plan:
    """Return a plan of layers of `width`; each step refers to about two of the layer before."""
    chance = random.Random(seed)
    made: list[Step] = []
    for at in range(steps):
        layer = at // width
        args: dict[str, Value] = {"key": Literal(f"s{at}")}
        if layer:
            before = range((layer - 1) * width, layer * width)
            for name in ("left", "right"):
                args[name] = Ref(f"s{chance.choice(before)}", ("n",))
        made.append(Step(f"s{at}", "work", args))
    return Plan(tuple(made))


def toolbox(work: Work, effects: Effects = Effects.READ) -> Toolbox:
    """Return the one tool of the plans, its schemas read, as they are once a plan was compiled."""
    tool = Tool("work", "Works.", _INPUT, _OUTPUT, effects=effects, call=work)
    if tool.unusable is not None:
        raise RuntimeError(tool.unusable)
    return Toolbox([tool])


def execution_plan(plan: Plan, tools: Toolbox) -> ExecutionPlan:
    """Return `plan`, which is in order as it is written, as the compiler would."""
    has_effects = tools["work"].has_effects
    return ExecutionPlan(
        plan=plan,
        order=tuple(step.id for step in plan.steps),
        needs={step.id: needs(step) for step in plan.steps},
        signatures={},
        effects=tuple(step.id for step in plan.steps) if has_effects else (),
        digest=digest_of(plan, tools, Policy().to_json()) if has_effects else "benchmark",
    )


async def raw(plan: ExecutionPlan, work: Work) -> None:
    """Run the calls of `plan` in its order, and nothing else."""
    waiting = {name: len(needed) for name, needed in plan.needs.items()}
    dependents: dict[str, list[str]] = {name: [] for name in waiting}
    for name, needed in plan.needs.items():
        for each in needed:
            dependents[each].append(name)
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    left = len(waiting)
    running: dict[str, asyncio.Task[None]] = {}  # the loop itself holds tasks but weakly

    async def step(name: str) -> None:
        nonlocal left
        await work({"key": name})
        left -= 1
        for each in dependents[name]:
            waiting[each] -= 1
            if not waiting[each]:
                running[each] = loop.create_task(step(each))
        del running[name]
        if not left:
            over.set_result(None)

    for name in [name for name, count in waiting.items() if not count]:
        running[name] = loop.create_task(step(name))
    await over


async def ours(
    plan: ExecutionPlan,
    tools: Toolbox,
    *,
    journal: Store | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> None:
    """Run `plan` on the local engine, with nothing bound.

    Raises:
        RuntimeError: a step failed.
    """
    count = len(plan.plan.steps)
    done = await run(
        plan,
        tools,
        concurrency=count,
        limits=Limits(steps=count, calls=count),
        journal=journal,
        on_event=on_event,
        approval=approve(plan) if plan.effects else None,
    )
    if not done.succeeded:
        raise RuntimeError("The benchmark's own plan failed.")


async def nothing(args: Arguments) -> Json:
    """Do what a tool does that does nothing."""
    return {"n": 1}
