"""Plans over earlier runs: their results by name, and what they have done is not done again."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.mcp_server.served import READS, WRITES, Era, Person, content, error, scripted, serving
from tests.mcp_server.test_values import YES
from toolplan import Effects, Policy, ToolError, approve, resume
from toolplan.plan.path import Json
from toolplan.testing import Gives, Raises


def step(name: str, tool: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "tool": tool, **more}


def plan(*steps: Json, **more: Json) -> Any:
    return {"toolplan": 1, "steps": [*steps], **more}


async def test_plans_read_earlier_results_and_call_nothing_again(tmp_path: Path, era: Era) -> None:
    tools = scripted(Gives({"data": ["ann", "bob"]}), Gives({"data": ["cid"]}))
    async with (
        serving(tmp_path, tools.toolbox) as served,
        Client(served.server, mode=era) as client,
    ):
        first = content(await client.call_tool("run", {"plan": READS}))["run"][:8]
        name = f"${{run:{first}.people.data[1]}}"
        second = plan(
            step("more", "people", args={"team": name}),
            output={"team": name, "found": "${more.data}", "text": f"{name}!"},
        )
        ran = content(await client.call_tool("run", {"plan": second}))
        assert ran["output"] == {"team": "bob", "found": ["cid"], "text": "bob!"}
        # a third over the second, which has a copy of the first
        third = plan(step("again", "people", args={"team": f"${{run:{ran['run']}.more.data[0]}}"}))
        content(await client.call_tool("run", {"plan": third}))
    assert tools.args_of("people") == [{"team": "red"}, {"team": "bob"}, {"team": "cid"}]


async def test_the_output_without_one_of_its_own_has_only_the_plans_steps(tmp_path: Path) -> None:
    async with serving(tmp_path, scripted().toolbox) as served:
        first = await served.call("run", plan=READS)
        ref = f"${{run:{first['run']}.people.data[0]}}"
        ran = await served.call("run", plan=plan(step("p", "people", args={"team": ref})))
        assert list(ran["output"]) == ["p"]


@pytest.mark.parametrize(
    ("path", "help"),
    [
        ("", "It has results of: people."),
        (".peeple", "It has results of: people."),
        (".people.date", "people: object {data: list, 2 of text"),
        (".people.data[2]", "people: object {data: list, 2 of text"),
        (".people.data.x", "people: object {data: list, 2 of text"),
    ],
)
async def test_a_result_that_is_not_there_is_refused_with_what_is(
    tmp_path: Path, path: str, help: str
) -> None:
    async with serving(tmp_path, scripted().toolbox) as served:
        first = (await served.call("run", plan=READS))["run"]
        bad = plan(step("p", "people", args={"team": f"${{run:{first}{path}}}"}))
        refused = await served.refused("run", plan=bad)
        assert refused["error"]["code"] == "unknown-path"
        assert refused["error"]["help"].startswith(help)
        gone = plan(step("p", "people", args={"team": "${run:0000.people.data}"}))
        assert (await served.refused("run", plan=gone))["error"]["code"] == "unknown-run"
        wrong = plan(step("p", "people", args={"team": f"${{run:{first}.people}}"}))
        assert "/steps/0/args/team" in (await served.refused("run", plan=wrong))["problems"][0]


async def test_text_of_a_tool_that_looks_like_a_reference_is_text(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["${run:x.people.data} ${people}"]}))
    async with serving(tmp_path, tools.toolbox) as served:
        first = (await served.call("run", plan=READS))["run"]
        ref = f"${{run:{first}.people.data[0]}}"
        await served.call("run", plan=plan(step("p", "people", args={"team": ref})))
    assert tools.args_of("people")[1] == {"team": "${run:x.people.data} ${people}"}


async def test_a_result_keeps_its_label_in_another_plan(tmp_path: Path) -> None:
    """A secret does not leave by way of a second run, and a stranger's word stays one."""
    tools = scripted()
    policy = Policy(secret=("people",), egress=("send",))
    async with serving(tmp_path, tools.toolbox, approve=approve, policy=policy) as served:
        first = (await served.call("run", plan=READS))["run"]
        sends = plan(step("m", "send", args={"to": f"${{run:{first}.people.data[0]}}"}))
        refused = await served.refused("run", plan=sends)
        assert refused["error"]["code"] == "bad-plan"
        assert "secret" in refused["problems"][0]
    assert tools.args_of("send") == []


async def test_what_a_stranger_wrote_is_shown_before_a_second_plan_sends_it(tmp_path: Path) -> None:
    tools = scripted()
    person = Person(YES)
    async with (
        serving(tmp_path, tools.toolbox, elicit=True) as served,
        Client(served.server, elicitation_callback=person) as client,
    ):
        first = content(await client.call_tool("run", {"plan": READS}))["run"]
        sends = plan(step("m", "send", args={"to": f"${{run:{first}.people.data[0]}}"}))
        content(await client.call_tool("run", {"plan": sends}))
    (shown,) = person.shown
    assert 'to = "ann"' in shown
    assert "(people): untrusted" in shown
    assert tools.args_of("send") == [{"to": "ann"}]


def failing(last: str = "people") -> Any:
    """Return a plan that sends to two, and whose last step fails at first."""
    mail = step("mail", "send", args={"to": "${item}"}, for_each="${people.data}")
    people = step("people", "people", args={"team": "red"})
    return plan(people, mail, step("last", last, args={"team": "blue"}, after=["mail"]))


async def test_a_corrected_plan_repeats_no_effect_and_asks_for_none(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["ann", "bob"]}), Raises(ToolError("no")), Gives({"data": []}))
    async with serving(tmp_path, tools.toolbox) as served:
        waiting = await served.refused("run", plan=failing())
        await resume(waiting["run"], tools.toolbox, journal=served.journal, approval=approve)
        failed = await served.call("runs", run=waiting["run"])
        short = failed["run"][:8]
        assert f"with `use` '{short}'" in failed["help"]
        assert f"${{run:{short}.STEP.path}}" in failed["help"]
        ran = await served.call("run", plan=failing(), use=short)
        assert (ran["status"], ran["taken_over"]) == ("succeeded", ["mail", "people"])
    assert [call.tool for call in tools.calls] == ["people", "send", "send", "people", "people"]


async def test_effects_that_are_left_wait_for_a_person_who_sees_only_these(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["ann", "bob"]}))
    tools.add("send", Gives({}), Raises(ToolError("no")), Gives({}), effects=Effects.WRITE)
    async with serving(tmp_path, tools.toolbox) as served:
        waiting = await served.refused("run", plan=WRITES)
        await resume(waiting["run"], tools.toolbox, journal=served.journal, approval=approve)
        left = await served.call("run", plan=WRITES, use=waiting["run"])
        assert left["status"] == "waiting"
        (call,) = left["steps"]["mail"]["calls_waiting"]
        assert call["args"] == {"to": "bob"}
    assert tools.args_of("send") == [{"to": "ann"}, {"to": "bob"}]


async def test_a_plan_that_nobody_approved_approves_no_other(tmp_path: Path) -> None:
    tools = scripted()
    async with serving(tmp_path, tools.toolbox) as served:
        waiting = await served.refused("run", plan=WRITES)
        again = await served.refused("run", plan=WRITES, use=waiting["run"])
        assert again["error"]["code"] == "approval-required"
    assert tools.calls == []


async def test_other_tools_of_the_same_names_take_nothing_over(tmp_path: Path) -> None:
    async with serving(tmp_path, scripted().toolbox) as served:
        first = (await served.call("run", plan=READS))["run"]
    others = scripted()
    others.add("people", Gives({"data": []}), input_schema={"type": "object"})
    async with serving(tmp_path, others.toolbox) as served, Client(served.server) as client:
        refused = error(await client.call_tool("run", {"plan": READS, "use": first}))
        assert refused["error"]["code"] == "cannot-run"
        stray = error(await client.call_tool("run", {"tool": "people", "use": first}))
        assert stray["error"]["code"] == "bad-arguments"


@pytest.mark.parametrize("first", ["people", "again"])
async def test_a_result_by_name_beside_use_calls_no_step_again(tmp_path: Path, first: str) -> None:
    """The copy of a step that a reference needs does not take the place of the step itself."""
    tools = scripted(Gives({"data": ["ann", "bob"]}), Gives({"data": ["cid"]}))
    async with serving(tmp_path, tools.toolbox, approve=approve) as served:
        done = (await served.call("run", plan=WRITES))["run"]
        ref = f"${{run:{done}.people.data[0]}}"
        people = step(first, "people", args={"team": "red"})
        mail = step("mail", "send", for_each=f"${{{first}.data}}", args={"to": "${item}"})
        more = step("more", "people", args={"team": ref})
        ran = await served.call("run", plan=plan(more, people, mail), use=done)
        assert ran["taken_over"] == sorted([first, "mail"])
        # and what reads the copy makes the same call as what read the step
        again = plan(step("mail", "send", for_each=f"${{run:{done}.people.data}}",
                          args={"to": "${item}"}))  # fmt: skip
        assert (await served.call("run", plan=again, use=done))["taken_over"] == ["mail"]
    assert tools.args_of("people") == [{"team": "red"}, {"team": "ann"}]
    assert tools.args_of("send") == [{"to": "ann"}, {"to": "bob"}]
