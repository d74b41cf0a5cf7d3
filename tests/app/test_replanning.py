"""Another plan never repeats an effect that may have happened."""

import asyncio
import json

import pytest

from toolplan import App, Effects, OutcomeUnknown
from toolplan.plan.path import Json
from toolplan.planners import Draft
from toolplan.testing import Gives, Outcome, Raises, ScriptedPlanner, ScriptedTools

CHARGED: Json = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


@pytest.mark.parametrize("idempotent", [True, False])
@pytest.mark.parametrize("on_error", ["fail", "continue"])
@pytest.mark.parametrize("outcome", [Gives({"id": "ch_1"}), Raises(OutcomeUnknown("gone"))])
def test_an_effect_that_may_have_happened_is_not_made_by_another_plan(
    idempotent: bool, on_error: str, outcome: Outcome
) -> None:
    tools = ScriptedTools()
    tools.add(
        "charge", outcome, output_schema=CHARGED, effects=Effects.WRITE, idempotent=idempotent
    )
    drafts = [
        Draft(
            json.dumps(
                {
                    "toolplan": 1,
                    "steps": [
                        {"id": "a", "tool": "charge", "args": {"eur": eur}, "on_error": on_error}
                    ],
                }
            ),
            "toolplan",
        )
        for eur in (5, 6, 7)
    ]
    app = App(tools.toolbox, planner=ScriptedPlanner(*drafts), attempts=3, assess=lambda _: 1)
    asyncio.run(app.ask("Charge 5 EUR.", yes=True, replan=True))
    assert len(tools.calls) == 1
