"""Plans of many shapes, by seed, and what their tools compute."""

import random
from collections.abc import Callable, Mapping
from typing import Final

from toolplan.plan.model import Literal, Plan, Ref, Step, Template, Value, When
from toolplan.plan.path import EVERY, Json
from toolplan.schema.tool import Call, Effects, Tool, Toolbox, ToolError

LARGE: Final = 90_000
"""Characters of an output that does not go into the journal's file."""


def compute(tool: str, args: Mapping[str, Json]) -> Json:
    """Return what `tool` gives for `args`, whoever asks and however often.

    Raises:
        ToolError: the tool is `fail`.
    """
    seen = sum(map(ord, repr(sorted(args.items())))) % 1000
    match tool:
        case "rows":
            return {"data": [{"id": seen + at} for at in range(seen % 4 + 2)], "n": seen}
        case "big":
            return {"text": f"{seen}-" * (LARGE // 4), "n": seen}
        case "fail":
            raise ToolError("It always fails.")
        case _:
            return {"n": seen, "tool": tool}


_KINDS: Final = (
    ("rows", Effects.READ, False),
    ("read", Effects.READ, False),
    ("big", Effects.READ, False),
    ("fail", Effects.READ, False),
    ("write", Effects.WRITE, False),
    ("erase", Effects.DESTRUCTIVE, False),
    ("put", Effects.WRITE, True),
    ("flaky", Effects.WRITE, True),
)
EFFECTS: Final = frozenset(name for name, effects, _ in _KINDS if effects is not Effects.READ)
"""Tools with effects."""
ONCE: Final = frozenset(name for name, effects, same in _KINDS if effects != "read" and not same)
"""Tools with effects that must not be called twice."""


def toolbox(call_of: Callable[[str], Call]) -> Toolbox:
    """Return the tools of all plans; `call_of` gives the function of one, by its name."""
    return Toolbox(
        Tool(
            name=name,
            description=f"Does what {name} does.",
            raw_input={"type": "object"},
            effects=effects,
            idempotent=idempotent,
            call=call_of(name),
        )
        for name, effects, idempotent in _KINDS
    )


def _n(step: str) -> Ref:
    return Ref(step, ("n",))


def _chain(chance: random.Random) -> Plan:
    steps = [Step("s0", "rows", {"x": Literal(chance.randrange(100))})]
    for at in range(1, 6):
        tool = chance.choice(("read", "write", "put", "read"))
        steps.append(Step(f"s{at}", tool, {"x": _n(f"s{at - 1}")}))
    return Plan(tuple(steps))


def _diamond(chance: random.Random) -> Plan:
    start = Step("a", "rows", {"x": Literal(chance.randrange(100))})
    left, right = Step("b", "write", {"x": _n("a")}), Step("c", "put", {"x": _n("a")})
    last = Step("d", "erase", {"x": _n("b"), "y": Template(("so ", _n("c")))})
    return Plan((start, left, right, last))


def _fan(chance: random.Random) -> Plan:
    tools = [chance.choice(("read", "write", "put", "big")) for _ in range(7)]
    steps = [Step(f"f{at}", tool, {"x": Literal(at)}) for at, tool in enumerate(tools)]
    ends: dict[str, Value] = {f"x{at}": _n(f"f{at}") for at in range(7)}
    return Plan((*steps, Step("end", "write", ends)))


def _layers(chance: random.Random) -> Plan:
    steps: list[Step] = []
    for layer in range(4):
        for at in range(3):
            before = [f"l{layer - 1}_{k}" for k in range(3) if chance.random() < 0.6]
            args: dict[str, Value] = {"at": Literal([layer, at])}
            if layer:
                args.update((name, _n(name)) for name in before)
            tool = chance.choice(("read", "read", "write", "put", "flaky"))
            steps.append(Step(f"l{layer}_{at}", tool, args, retries=2 if tool == "flaky" else 0))
    return Plan(tuple(steps))


def _each(tool: str) -> Callable[[random.Random], Plan]:
    def plan(chance: random.Random) -> Plan:
        rows = Step("rows", "rows", {"x": Literal(chance.randrange(100))})
        retries = 2 if tool == "flaky" else 0
        each = Step(
            "each", tool, {"x": Ref("item"), "at": Ref("index")}, (), Ref("rows", ("data", EVERY)),
            50, retries=retries,
        )  # fmt: skip
        return Plan((rows, each, Step("end", "write", {"x": Ref("each", (EVERY, "n"))})))

    return plan


def _mixture(chance: random.Random) -> Plan:
    value = chance.randrange(100)
    return Plan(
        (
            Step("a", "rows", {"x": Literal(value)}),
            Step("no", "write", {"x": _n("a")}, when=When(_n("a"), {"minimum": 5000})),
            Step("yes", "write", {"x": _n("a")}, when=When(_n("a"), {"minimum": 0})),
            Step("bad", "fail", {"x": _n("a")}, on_error="continue"),
            Step("after", "erase", {"x": Literal(1)}, ("bad", "yes")),
            Step("lost", "read", {"x": _n("no")}),
            Step("put", "flaky", {"x": Ref("bad")}, retries=1),
        )
    )


def _large(chance: random.Random) -> Plan:
    first = Step("a", "big", {"x": Literal(chance.randrange(100))})
    second = Step("b", "write", {"x": Ref("a", ("text",))})
    return Plan((first, second, Step("c", "big", {"x": _n("b")}), Step("d", "put", {"x": _n("c")})))


SHAPES: Final[Mapping[str, Callable[[random.Random], Plan]]] = {
    "chain": _chain,
    "diamond": _diamond,
    "fan": _fan,
    "layers": _layers,
    "each item is read": _each("read"),
    "each item is written": _each("write"),
    "each item is put, at the second try": _each("flaky"),
    "mixture": _mixture,
    "large outputs": _large,
}
