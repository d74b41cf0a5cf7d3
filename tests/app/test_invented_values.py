"""Values that a model invents: an error for effects, else a warning that approval shows."""

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest
from msgspec.structs import replace

from toolplan import App, AskResult, Effects, Severity, Tool, Toolbox
from toolplan.plan.path import Json
from toolplan.planners import LLMPlanner
from toolplan.policy.approval import effect_steps
from toolplan.providers import Ended, ModelRequest, Piece, Text, Usage
from toolplan.show.approval_view import approval_json, approval_text

SEND = Tool(
    "send",
    "Sends a mail.",
    {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}},
    None,
    Effects.WRITE,
)
MAIL = "sales@company.test"


class Writer:
    """A model that writes to each address in turn, and claims that the question named it."""

    name = "writer"

    def __init__(self, *addresses: str) -> None:
        """Write to `addresses`, one a request."""
        self.addresses = [*addresses]
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the plan."""
        self.requests.append(request)
        to = self.addresses.pop(0)
        step = {"id": "a", "tool": "send", "args": {"to": to, "body": "It is late."}}
        said = {"query": f"Write to {to}", "planner": "grounded"}
        yield Text(json.dumps({"toolplan": 1, "steps": [step], "metadata": said}))
        yield Ended("writer", Usage(1, 1, 1))


def planned(tools: Toolbox, model: Writer, question: str, context: Json = None) -> AskResult:
    app = App(tools, LLMPlanner(model))
    return asyncio.run(app.plan(question, today="2026-11-26", context=context))


def invented(question: str, context: Json = None) -> tuple[list[str], tuple[str, ...], str]:
    """Return the pointers that are warned of, and what the approval shows."""
    tools = Toolbox([SEND])
    asked = planned(tools, Writer(MAIL), question, context)
    assert asked.plan is not None
    assert asked.compiled is not None
    codes = [e.pointer for e in asked.compiled.diagnostics if e.code == "invented-literal"]
    steps = effect_steps(asked.plan, tools)
    return codes, steps[0].invented, approval_text(steps, asked.plan.digest)


def test_an_invented_address_is_refused_and_the_model_is_told_why() -> None:
    model = Writer("sales@other.test", MAIL)
    asked = planned(Toolbox([SEND]), model, f"Tell {MAIL} that it is late")
    assert asked.plan is not None
    assert "sales@other.test" not in str(asked.plan.plan.steps)
    first, second = model.requests
    assert len(second.messages) > len(first.messages)
    told = second.messages[-1].text
    assert "`invented-literal` at /steps/0/args/to" in told
    assert "The question does not contain 'sales@other.test' in 'to'." in told


def test_a_model_that_repeats_an_invented_address_has_no_plan() -> None:
    asked = planned(Toolbox([SEND]), Writer(MAIL, MAIL, MAIL), "Show sales that it is late")
    assert asked.plan is None
    assert asked.fault is not None
    assert asked.fault.code == "llm-no-progress"
    assert f"The question does not contain '{MAIL}' in 'to'" in asked.reason


def test_an_invented_address_in_a_call_that_only_reads_is_a_warning_that_approval_shows() -> None:
    """A policy can ask about a call that only reads, such as one of a page."""
    fetch = Tool("send", "Reads a mailbox.", SEND.raw_input, None, Effects.READ)
    asked = planned(Toolbox([fetch]), Writer(MAIL), "What do they have?")
    assert asked.plan is not None
    assert asked.compiled is not None
    (warning,) = (e for e in asked.compiled.diagnostics if e.code == "invented-literal")
    assert (warning.severity, warning.pointer) == (Severity.WARNING, "/steps/0/args/to")
    steps = effect_steps(asked.plan, Toolbox([SEND]))
    assert steps[0].invented == ("to",)
    assert "Attention, not in the question: to" in approval_text(steps, asked.plan.digest)
    effects = approval_json(steps, "d")["effects"]
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
        assert (found[0], found[1]) == ([], ())
        assert "Attention" not in found[2]


@pytest.mark.parametrize(("small", "written"), [(False, 1), (True, 2)])
def test_a_small_model_may_invent_nothing_for_reads_either(small: bool, written: int) -> None:
    model = Writer(MAIL, "Ada")
    reads = replace(SEND, effects=Effects.READ)
    app = App(Toolbox([reads]), LLMPlanner(model, small=small))
    asked = asyncio.run(app.plan("Mails to Ada that it is late", today="2026-11-26"))
    assert asked.plan is not None
    assert len(model.requests) == written
