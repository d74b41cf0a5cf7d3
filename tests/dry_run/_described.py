"""Tools that are only described, and the dry runs of plans that call them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

from tests.plans_strategy import execution_plan
from toolplan import DryRun, Effects, simulate
from toolplan.plan.model import Limits, Plan, Step, Value
from toolplan.plan.path import Json
from toolplan.testing import Raises, ScriptedTools

ROW: Json = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "weight": {"type": "number"},
        "place": {
            "anyOf": [
                {"type": "object", "properties": {"city": {"type": "string"}}},
                {"type": "null"},
            ]
        },
    },
    "required": ["id"],
}
ROWS: Json = {
    "type": "object",
    "properties": {"data": {"type": "array", "items": ROW}},
    "required": ["data"],
}


def called() -> BaseException:
    return AssertionError("A tool was called.")


class Tools:
    """Tools that may not be called, but only described."""

    def __init__(self) -> None:
        self.scripted = ScriptedTools()

    def add(
        self,
        name: str,
        output: Json = None,
        effects: Effects = Effects.READ,
        idempotent: bool = False,
        /,
        **inputs: Json,
    ) -> Tools:
        schema: Json = {"type": "object", "properties": inputs} if inputs else {"type": "object"}
        self.scripted.add(
            name,
            Raises(called()),
            input_schema=schema,
            output_schema=output,
            effects=effects,
            idempotent=idempotent,
        )
        return self

    def dry(
        self,
        *steps: Step,
        output: Value | None = None,
        recordings: Mapping[str, Sequence[Json]] | None = None,
        limits: Limits = Limits(),
    ) -> DryRun:
        toolbox = self.scripted.toolbox
        plan = execution_plan(Plan(steps, output), toolbox)
        dry = asyncio.run(simulate(plan, toolbox, recordings=recordings, limits=limits))
        assert self.scripted.calls == []
        json.dumps(dry.to_json())
        return dry
