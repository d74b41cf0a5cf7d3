"""Values that a model invents are warned of, and named to the person who approves them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

from toolplan.app.app import App
from toolplan.approval import effect_steps
from toolplan.path import Json
from toolplan.planners import LLMPlanner
from toolplan.providers import Ended, ModelRequest, Piece, Text, Usage
from toolplan.render.approval_view import approval_json, approval_text
from toolplan.tools import Effects, Tool, Toolbox

SEND = Tool(
    "send",
    "Sends a mail.",
    {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}},
    None,
    Effects.WRITE,
)
MAIL = "sales@company.test"


class Writer:
    """A model that always writes to one address, and claims that the question named it."""

    name = "writer"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the plan."""
        del request
        step = {"id": "a", "tool": "send", "args": {"to": MAIL, "body": "It is late."}}
        said = {"query": f"Write to {MAIL}", "planner": "grounded"}
        yield Text(json.dumps({"toolplan": 1, "steps": [step], "metadata": said}))
        yield Ended("writer", Usage(1, 1, 1))


def invented(question: str, context: Json = None) -> tuple[list[str], tuple[str, ...], str, Json]:
    """Return the pointers that are warned of, and what the approval shows."""
    tools = Toolbox([SEND])
    app = App(tools, LLMPlanner(Writer()))
    asked = asyncio.run(app.plan(question, today="2026-11-26", context=context))
    assert asked.plan is not None
    assert asked.compiled is not None
    codes = [e.pointer for e in asked.compiled.diagnostics if e.code == "invented-literal"]
    again = [
        each.pointer
        for each in app.check(asked.plan.plan).diagnostics
        if each.code == "invented-literal"
    ]
    assert again == codes
    steps = effect_steps(asked.plan, tools)
    shown = approval_text(steps, asked.plan.digest)
    return codes, steps[0].invented, shown, approval_json(steps, "d")["effects"]


def test_an_invented_address_is_shown_where_it_is_approved() -> None:
    pointers, names, shown, effects = invented("Show sales that it is late")
    assert pointers == ["/steps/0/args/to"]
    assert names == ("to",)
    assert "Attention, not in the question: to" in shown
    assert isinstance(effects, list)
    assert isinstance(effects[0], dict)
    assert effects[0]["invented"] == ["to"]


def test_an_address_of_the_question_or_of_an_earlier_turn_is_not_invented() -> None:
    earlier: Json = {"episodic": [{"query": f"Is {MAIL} in use?", "timestamp": "", "plan": None}]}
    for found in (
        invented(f"Show {MAIL.upper()} that it is late"),
        invented("Show them that it is late", earlier),
        invented("Show them", {"semantic": [{"text": f"Sales has {MAIL}.", "score": 1}]}),
        invented("Show them", {"entities": [f"to:{MAIL}"]}),
    ):
        assert found[0] == []
        assert found[1] == ()
        assert "Attention" not in found[2]
