"""Odd ways in which models and endpoints reply: each is the right plan, or a clear error."""

import asyncio
import json
from collections.abc import Sequence
from typing import cast

import pytest

from tests.doubles.model_replies import (
    CallsTool,
    Fails,
    Received,
    Refuses,
    Says,
    Script,
    Sent,
    Served,
)
from tests.doubles.model_server import ScriptedModelServer
from toolplan import App, Plan
from toolplan.plan.canonical import load
from toolplan.plan.comparison import compare_plans
from toolplan.plan.path import Json
from toolplan.planners import Clarification, Draft, LLMPlanner, Refusal
from toolplan.providers import ModelError, open_model
from toolplan_demo import TOOLS

STEPS: list[Json] = [
    {"id": "f", "tool": "facilities_list", "args": {"location": "Berlin"}},
    {
        "id": "s",
        "tool": "shipments_list",
        "args": {"facility_id": "${f.data[*].id}", "has_contaminants": True},
    },
]
PLAN: dict[str, Json] = {"toolplan": 1, "steps": [*STEPS]}
GOOD = json.dumps(PLAN)
OTHER = GOOD.replace("Berlin", "Munich")
WRONG = GOOD.replace("facilities_list", "facility_listing")
BACK = '{"clarification": {"question": "Which city?", "options": ["Berlin"]}}'


def _only_without_a_form(request: Received) -> Served:
    if request.schema is None:
        return Says(GOOD)
    return Fails(400, "response_format is not supported", "unsupported_parameter")


RIGHT: dict[str, Script | Sequence[Script]] = {
    "plain": GOOD,
    "a fence": f"```json\n{GOOD}\n```",
    "a fence without a language": f"```\n{GOOD}\n```",
    "a fence that is not closed": f"```json\n{GOOD}",
    "prose before": f"Sure! Here is the plan you asked for:\n{GOOD}",
    "prose behind": f"{GOOD}\nLet me know if {{anything}} else is needed.",
    "prose and a fence": f"Here:\n\n```json\n{GOOD}\n```\nDone.",
    "thoughts": f"<think>Use {{f}} and [s].</think>\n{GOOD}",
    "thoughts in a field": Says(GOOD, thinks="Berlin first."),
    "indented": json.dumps(PLAN, indent=8),
    "a byte order mark": "\ufeff" + GOOD,
    "quotes of Python": str(PLAN),
    "a trailing comma": GOOD.replace("]}", "],}"),
    "a comment": GOOD.replace('"steps"', '/* two */ "steps"'),
    "steps without the version": json.dumps({"steps": STEPS}),
    "the same plan twice": f"{GOOD}\n\nAgain:\n{GOOD}",
    "a wrong tool first": [WRONG, GOOD],
    "only prose first": ["I would list the facilities.", GOOD],
    "half a plan first": [GOOD[: len(GOOD) // 2], GOOD],
    "an error page first": [Fails(503), GOOD],
    "the connection is cut first": [Sent(GOOD, cut_at=300), GOOD],
    "too many requests first": [Fails(429, retry_after="0"), GOOD],
    "refuses the form": _only_without_a_form,
}
ERRORS: dict[str, tuple[Script | Sequence[Script], str]] = {
    "two plans": (f"{GOOD}\nor\n{OTHER}", "llm-ambiguous"),
    "a call of a tool": (CallsTool("facilities_list"), "llm-unexpected-tool-call"),
    "a refusal of the model": (Refuses(), "llm-refused"),
    "filtered": (Says(GOOD[:30], finish="content_filter"), "llm-refused"),
    "cut by the limit": (Says(GOOD[:60], finish="length"), "llm-truncated"),
    "always cut": (Sent(GOOD, cut_at=300), "llm-stream-cut"),
    "no key": (Fails(401, "Incorrect API key provided"), "llm-auth"),
    "down": (Fails(503), "llm-unavailable"),
    "the same wrong plan": (WRONG, "llm-no-progress"),
}
PROPOSALS: dict[str, tuple[str, object]] = {
    "a question back": (BACK, Clarification("Which city?", ("Berlin",))),
    "a question back in a fence": (
        f"```json\n{BACK}\n```",
        Clarification("Which city?", ("Berlin",)),
    ),
    "a question back as text": ('{"clarification": "Which city?"}', Clarification("Which city?")),
    "a refusal": ('{"refusal": {"reason": "No tool can."}}', Refusal("No tool can.")),
}


def planned(replies: Script | Sequence[Script]) -> tuple[object, str]:
    """Return the steps of the plan or the other proposal, and the code of the error."""
    listed = cast("list[Script]", replies if isinstance(replies, list) else [replies])
    with ScriptedModelServer(listed) as server:
        model = open_model(server.spec, keys={}, timeout_s=5.0, max_calls=6)
        app = App(TOOLS, LLMPlanner(model, requests=6))
        try:
            asked = asyncio.run(app.plan("Contaminated shipments to Berlin", today="2025-10-12"))
        except ModelError as error:
            return None, error.code if error.message else ""
    if asked.fault is not None:
        assert asked.reason.startswith(asked.fault.message)
        return None, asked.fault.code
    if asked.plan is not None:
        return asked.plan.plan, ""
    return asked.proposal, "" if not isinstance(asked.proposal, Draft) else "bad-draft"


@pytest.mark.parametrize("case", RIGHT)
def test_an_odd_reply_is_the_right_plan(case: str) -> None:
    plan, code = planned(RIGHT[case])
    expected = load(PLAN).plan
    assert code == ""
    assert expected is not None
    assert isinstance(plan, Plan)
    assert compare_plans(expected, plan).same


@pytest.mark.parametrize("case", ERRORS)
def test_an_odd_reply_is_a_clear_error(case: str) -> None:
    replies, code = ERRORS[case]
    assert planned(replies) == (None, code)


@pytest.mark.parametrize("case", PROPOSALS)
def test_an_odd_reply_is_what_it_says(case: str) -> None:
    text, proposal = PROPOSALS[case]
    assert planned(text) == (proposal, "")
