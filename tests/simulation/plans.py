"""Plans by seed, quicker than hypothesis draws them, and what they come to."""

import random

from tests.simulation.world import KINDS, compute
from toolplan import ExecutionPlan, Run
from toolplan.plan.model import Literal, Plan, Ref, Step, Template, Value, When
from toolplan.plan.path import EVERY, Json
from toolplan.schema.tool import Arguments, Call, Tool, Toolbox
from toolplan.testing import interpret

_TOOLS = tuple(name for name, _, _ in KINDS)


def random_plan(chance: random.Random, *, hurried: bool) -> Plan:
    """Return a plan of 1 to 12 steps with every feature that plans have.

    `hurried` sets timeouts that calls may miss.
    """
    steps: list[Step] = []
    reading = chance.random() < 0.4
    for at in range(chance.randrange(1, 13)):
        steps.append(_step(chance, at, steps, reading, hurried))
    output = None
    if chance.random() < 0.3:
        output = Ref(chance.choice(steps).id, ("n",))
    if chance.random() < 0.5:  # what a step needs may be written behind it
        chance.shuffle(steps)
    return Plan(tuple(steps), output)


def interpreted(plan: ExecutionPlan) -> Run:
    """Return what `plan` comes to if nothing disturbs it and all tools behave."""

    def call_of(name: str) -> Call:
        async def call(args: Arguments) -> Json:
            return compute(name, args)

        return call

    tools = Toolbox(
        Tool(
            name,
            "",
            {"type": "object"},
            {"type": "object"} if name == "rows" else None,
            effects=effects,
            idempotent=idempotent,
            call=call_of(name),
        )
        for name, effects, idempotent in KINDS
    )
    going = interpret(plan, tools)
    try:
        going.send(None)
    except StopIteration as ended:
        result: Run = ended.value
        return result
    raise AssertionError("The interpreter waits for nothing.")


def _step(chance: random.Random, at: int, before: list[Step], reading: bool, hurried: bool) -> Step:
    tool = chance.choice(("read", "rows") if reading else _TOOLS)
    for_each: Value | None = None
    args: dict[str, Value] = {"at": Literal(at)}
    if before and chance.random() < 0.35:
        source = chance.choice(before)
        path = (EVERY, "n") if source.for_each is not None else ("data", EVERY)
        for_each = Ref(source.id, path)
    elif chance.random() < 0.1:
        for_each = Literal([{"id": n} for n in range(chance.randrange(5))])
    if for_each is not None:
        args["item"] = Ref("item")
    for _ in range(chance.randrange(3) if before else 0):
        source = chance.choice(before)
        path = (EVERY, "n") if source.for_each is not None else ("n",)
        ref = Ref(source.id, path if chance.random() < 0.95 else ("nothing", "here"))
        args[f"x{len(args)}"] = ref if chance.random() < 0.7 else Template(("so ", ref))
    when = None
    if before and chance.random() < 0.2:
        source = chance.choice(before)
        when = When(Ref(source.id), chance.choice(({"type": "object"}, {"type": "null"}, True)))
    return Step(
        f"s{at}",
        tool,
        args,
        tuple(step.id for step in before if chance.random() < 0.05),
        for_each,
        chance.choice((3, 10, 50)),
        when,
        "continue" if chance.random() < 0.25 else "fail",
        chance.choice((None, 0.05 if hurried else 1.0, 0.5, 5.0)),
        chance.choice((0, 0, 1, 3)),
    )
