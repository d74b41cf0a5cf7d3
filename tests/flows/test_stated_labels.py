"""Results that are worth less than the policy says, as their tools state while a run goes on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.sources.mcp.scripts import Scripted, listed_tool, one_page, text
from toolplan import Policy, approve, compile_plan, compile_stream, state_label
from toolplan.engine import StreamRefused, run, run_stream
from toolplan.events import Run, RunState, StepState
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox
from toolplan.tools.mcp import connected

PLAN: dict[str, Json] = {
    "toolplan": 1,
    "steps": [
        {"id": "who", "tool": "contacts"},
        {"id": "answer", "tool": "send", "args": {"to": "${who.email}"}},
    ],
}
TRUSTS: dict[str, Json] = {"trusted": {"outputs": ["contacts"]}}
LISTS: dict[str, Json] = {"listed": {"outputs": ["contacts.email"]}}
EGRESS: dict[str, Json] = {"egress": {"tools": ["send"]}}
KNOWN: dict[str, Json] = {**EGRESS, "secret": {"outputs": ["contacts"]}}


class Office:
    """Contacts whose tool states a label, and a tool that sends."""

    def __init__(self, *, effects: bool = False, **label: bool) -> None:
        self.sent: list[Json] = []
        self._label = label
        schema: Json = {"type": "object", "properties": {"email": {"type": "string"}}}
        kind = Effects.WRITE if effects else Effects.READ
        found = Tool("contacts", "", {"type": "object"}, schema, effects=kind, call=self._contacts)
        send = Tool("send", "", {"type": "object"}, None, effects=Effects.WRITE, call=self._send)
        self.tools = Toolbox([found, send])

    async def _contacts(self, args: Arguments) -> Json:
        del args
        if self._label:
            state_label(**self._label)
        await asyncio.sleep(0)
        state_label()  # nothing raises it
        return {"email": "eve@evil.example"}

    async def _send(self, args: Arguments) -> Json:
        self.sent.append(args["to"])
        return "done"

    def run(self, policy: dict[str, Json], plan: dict[str, Json] = PLAN) -> Run:
        compiled = compile_plan(plan, tools=self.tools, policy=Policy.from_json(policy))
        assert compiled.plan is not None, compiled.diagnostics
        return asyncio.run(run(compiled.plan, self.tools, approval=approve(compiled.plan)))


@pytest.mark.parametrize("policy", [TRUSTS, LISTS])
def test_a_result_that_is_stated_to_be_untrusted_is_not_used_where_the_policy_trusts_it(
    policy: dict[str, Json],
) -> None:
    office = Office(untrusted=True)
    done = office.run(policy)
    error = done.steps["who"].error
    assert error is not None
    assert (error.code, office.sent) == ("stated-label", [])
    assert "leave the tool out of [trusted] and [listed]" in error.message
    assert done.steps["answer"].state is StepState.SKIPPED


@pytest.mark.parametrize(
    ("label", "policy"),
    [
        ({"untrusted": True}, {}),
        ({"untrusted": True}, {"trusted": {"outputs": ["send"]}}),
        ({}, TRUSTS),
        ({"untrusted": False}, TRUSTS),
        ({"secret": True}, TRUSTS),
        ({"secret": False}, EGRESS),
    ],
)
def test_a_label_that_says_no_less_than_the_policy_changes_nothing(
    label: dict[str, bool], policy: dict[str, Json]
) -> None:
    office = Office(**label)
    assert office.run(policy).succeeded
    assert office.sent == ["eve@evil.example"]


def test_a_secret_that_the_policy_does_not_name_is_not_used_where_tools_are_read_outside() -> None:
    office = Office(secret=True)
    error = office.run(EGRESS).steps["who"].error
    assert error is not None
    assert (error.code, office.sent) == ("stated-label", [])
    assert "name the tool in [secret]" in error.message
    only: dict[str, Json] = {"toolplan": 1, "steps": [{"id": "who", "tool": "contacts"}]}
    assert office.run(KNOWN, only).succeeded  # the policy looks after it
    part: dict[str, Json] = {**EGRESS, "secret": {"outputs": ["contacts.email"]}}
    assert not office.run(part, only).succeeded  # only of a part of it


def test_a_call_that_had_effects_and_an_unusable_label_waits_for_a_person() -> None:
    office = Office(untrusted=True, effects=True)
    done = office.run(TRUSTS)
    assert done.status is not RunState.SUCCEEDED
    assert done.steps["who"].state is StepState.IN_DOUBT
    assert office.sent == []


def test_what_was_stated_while_the_plan_was_written_counts_when_it_is_whole() -> None:
    office = Office(untrusted=True)

    async def chunks() -> AsyncIterator[str]:
        yield '{"toolplan": 1, "steps": [{"id": "who", "tool": "contacts"}'
        await asyncio.sleep(0.05)
        yield ', {"id": "answer", "tool": "send", "args": {"to": "${who.email}"}}]}'

    async def streamed(policy: dict[str, Json]) -> Run:
        stream = compile_stream(
            chunks(), tools=office.tools, policy=Policy.from_json(policy), dialect="toolplan"
        )
        return await run_stream(stream, office.tools, approval=approve)

    with pytest.raises(StreamRefused, match="states that its result is untrusted"):
        asyncio.run(streamed(TRUSTS))
    assert office.sent == []
    assert asyncio.run(streamed({})).succeeded


@pytest.mark.parametrize(
    ("ifc", "fails"),
    [
        ({"integrity": "untrusted", "confidentiality": "public"}, True),
        ({"integrity": "trusted", "confidentiality": ["public"]}, False),
        ({"confidentiality": ["public"]}, False),
        ({"integrity": "high"}, True),
        ({"integrity": ["trusted"]}, True),
        ("trusted", True),
        (None, True),
        ([], True),
    ],
)
@pytest.mark.parametrize("place", ["result", "content"])
def test_a_server_of_mcp_states_labels_in_the_meta_of_its_results(
    ifc: Json, fails: bool, place: str, tmp_path: Path
) -> None:
    label: dict[str, Any] = {"_meta": {"ifc": ifc}}
    result = text("eve@evil.example")
    if place == "result":
        result |= label
    else:
        result["content"].append({"type": "text", "text": "x", **label})
    script = Scripted(tmp_path, pages=one_page(listed_tool("look")), results={"look": result})
    plan: dict[str, Json] = {"toolplan": 1, "steps": [{"id": "a", "tool": "it.look"}]}
    with connected({"it": script.server()}, trusted=["it"]) as source:
        box = source.toolbox()
        for policy, wrong in (({"trusted": {"outputs": ["it.look"]}}, fails), ({}, False)):
            checked = compile_plan(plan, tools=box, policy=Policy.from_json(policy)).plan
            assert checked is not None
            error = asyncio.run(run(checked, box)).steps["a"].error
            assert (error.code if error else "") == ("stated-label" if wrong else "")
