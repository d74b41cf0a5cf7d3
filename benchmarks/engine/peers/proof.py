"""Whether a peer can be compared: it is there, and makes the calls of a plan as they must be."""

from __future__ import annotations

import asyncio
import traceback
from typing import Final

from benchmarks.engine.graphs import execution_plan, layered, nothing, toolbox
from benchmarks.engine.peers.peer import Peer
from toolplan.plan.path import Json
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Arguments

_STEPS: Final = 150
_PATIENCE_S: Final = 60.0


def why_not(peer: Peer, patience_s: float = _PATIENCE_S) -> str | None:
    """Return why `peer` cannot be compared; None where it can."""
    if not peer.is_installed:
        return "not installed"
    calls = Calls(execution_plan(layered(_STEPS), toolbox(nothing)))
    try:
        with peer.opened(calls.plan, calls.note) as prepare:

            async def run() -> None:
                async with asyncio.timeout(patience_s):
                    await (await prepare())()

            asyncio.run(run())
    except Exception as error:  # another version may fail in any way; the others are compared
        return traceback.format_exception_only(error)[-1].strip().partition("\n")[0]
    return calls.fault()


class Calls:
    """The calls that were made of a plan, and what is wrong with them."""

    def __init__(self, plan: ExecutionPlan) -> None:
        self.plan = plan
        self._ended: dict[str, bool] = {}
        self._faults: list[str] = []

    async def note(self, args: Arguments) -> Json:
        """Do what the tool of the plan does, and note it."""
        name = str(args["key"])
        if name in self._ended:
            self._faults.append(f"it calls {name!r} again")
        if not all(self._ended.get(each) for each in self.plan.needs[name]):
            self._faults.append(f"it calls {name!r} before what that needs has ended")
        self._ended[name] = False
        await asyncio.sleep(0)
        self._ended[name] = True
        return {"n": 1}

    def fault(self) -> str | None:
        """Return the first fault; None where every call was made once, in order, and has ended."""
        left = [name for name in self.plan.order if not self._ended.get(name)]
        missing = [f"it ends without the call of {left[0]!r}"] if left else []
        return next(iter([*self._faults, *missing]), None)
