"""A chain of calls with effects and long outputs, one behind another."""

import asyncio

from toolplan import ExecutionPlan, compile_plan
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox

TEXT = "so much has to be written down "


class Calls(list[Json]):
    """The calls that were made; `third` is set by the third."""

    def __init__(self) -> None:
        super().__init__()
        self.third = asyncio.Event()

    def append(self, made: Json) -> None:
        super().append(made)
        if len(self) == 3:
            self.third.set()


def tools(calls: list[Json], *, pause_s: float = 0, times: int = 400) -> Toolbox:
    """Return a tool that notes its `x` and gives it back, with a text `times` as long as `TEXT`."""

    async def write(args: Arguments) -> Json:
        calls.append(args["x"])
        await asyncio.sleep(pause_s)
        return {"x": args["x"], "text": f"{args['x']}: {TEXT * times}"}

    tool = Tool("write", "Writes.", {"type": "object"}, effects=Effects.WRITE, call=write)
    return Toolbox([tool])


def chain(box: Toolbox, steps: int) -> ExecutionPlan:
    """Return a plan of so many calls, `s0` with an `x` of 0 and so on."""
    written = ", ".join(
        f'{{"id": "s{at}", "tool": "write", "args": {{"x": {at}}}'
        + (f', "after": ["s{at - 1}"]}}' if at else "}")
        for at in range(steps)
    )
    plan = compile_plan(f'{{"toolplan": 1, "steps": [{written}]}}', tools=box).plan
    assert plan is not None
    return plan
