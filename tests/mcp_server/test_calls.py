"""The tools of the server, through a client of the SDK in this process."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError

from tests.mcp_server.served import READS, Era, content, error, in_loop, scripted, serving
from toolplan import App, Limits, Policy, RunOptions, Toolbox, ToolError
from toolplan.app.setup import User
from toolplan.plan.path import Json
from toolplan.planners import Clarification, Planner, Proposal, Refusal
from toolplan.planners.context import PlannerContext
from toolplan.planners.offline import offline_planner
from toolplan.providers import ModelError
from toolplan.schema import Schema
from toolplan.testing import Gives, Raises, ScriptedPlanner, ScriptedTools
from toolplan.tools.learned import LearnedSchemas, tool_digest
from toolplan_demo import TOOLS as DEMO
from toolplan_offline import OfflinePlanner

NAMES = ["search", "run", "runs"]
BROKEN: Json = {"toolplan": 1, "steps": [{"id": "a", "tool": "weather", "args": {"team": "red"}}]}


def nested(depth: int) -> Json:
    deep: Json = "x"
    for _ in range(depth):
        deep = [deep]
    return {"toolplan": 1, "steps": [{"id": "a", "tool": "people", "args": {"team": deep}}]}


async def call(
    folder: Path,
    tool: str,
    arguments: dict[str, Any],
    *,
    planner: Planner | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
    toolbox: Toolbox | None = None,
    refused: bool = False,
) -> Any:
    box = scripted().toolbox if toolbox is None else toolbox
    async with serving(folder, box, planner, **options) as served:
        ask = served.refused if refused else served.call
        return await ask(tool, **arguments)


async def test_a_question_is_planned_and_run_in_both_eras(tmp_path: Path, era: Era) -> None:
    async with (
        serving(tmp_path, DEMO, OfflinePlanner()) as served,
        Client(served.server, mode=era) as client,
    ):
        assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
        question = {"question": "Get contaminated shipments from last week"}
        checked = content(await client.call_tool("run", {**question, "only_check": True}))
        assert (checked["runnable"], checked["effects"]) == (True, [])
        assert served.journal.runs() == []
        ran = content(await client.call_tool("run", question))
        assert ran["status"] == "succeeded"
        assert ran["plan"] == checked["plan"]
        assert ran["output"]


async def test_every_tool_says_what_it_takes_and_if_it_changes_anything(tmp_path: Path) -> None:
    async with serving(tmp_path, scripted().toolbox) as served, Client(served.server) as client:
        for tool in (await client.list_tools()).tools:
            assert tool.description
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is (tool.name == "search")
            Schema.load(tool.input_schema)


async def test_without_a_planner_there_is_no_question_to_ask(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolplan.planners.offline.PLANNERS", {})
        planner = offline_planner(PlannerContext(tmp_path))
    async with (
        serving(tmp_path, scripted().toolbox, planner) as served,
        Client(served.server) as client,
    ):
        run = (await client.list_tools()).tools[1]
        assert "question" not in run.input_schema["properties"]
        refused = error(await client.call_tool("run", {"question": "people"}))
        assert refused["error"]["code"] == "bad-arguments"


async def test_a_clarification_and_a_refusal_are_results_and_no_errors(tmp_path: Path) -> None:
    which = Clarification("Which team?", ("red", "blue"), examples=("List people",))
    unknown = Clarification('I did not understand: "Tokyo".', unexplained=("Tokyo",))
    planner = ScriptedPlanner(which, Refusal("Never."), unknown)
    asked = await call(tmp_path, "run", {"question": "people"}, planner=planner)
    assert asked["clarification"]["options"] == ["red", "blue"]
    assert asked["clarification"]["examples"] == ["List people"]
    assert "help" not in asked
    refused = await call(tmp_path, "run", {"question": "people"}, planner=planner)
    assert refused == {"refusal": {"reason": "Never."}}
    asked = await call(tmp_path, "run", {"question": "people in Tokyo"}, planner=planner)
    assert "Write the plan yourself" in asked["help"]


async def test_a_draft_that_fails_the_check_is_an_error_with_its_problems(tmp_path: Path) -> None:
    planner = ScriptedPlanner(json.dumps(BROKEN))
    result = await call(tmp_path, "run", {"question": "people"}, planner=planner, refused=True)
    assert result["error"]["code"] == "bad-draft"
    assert result["problems"][0].startswith("unknown-tool at /steps/0/tool: ")


AS_TEXT = [
    json.dumps(READS),
    f"Here is the plan:\n```json\n{json.dumps(READS)}\n```\nI hope it helps.",
    '1. people(team="red")\n2. join()',
    '<plan>[{"toolName": "people", "arguments": {"team": "red"}}]</plan>',
]


@pytest.mark.parametrize("text", AS_TEXT)
async def test_plans_come_in_any_dialect_in_a_fence_and_in_prose(tmp_path: Path, text: str) -> None:
    tools = scripted()
    result = await call(tmp_path, "run", {"plan": text}, toolbox=tools.toolbox)
    assert result["status"] == "succeeded"
    assert tools.args_of("people") == [{"team": "red"}]


async def test_a_bad_plan_runs_nothing_and_is_explained_once(tmp_path: Path) -> None:
    tools = scripted()
    async with serving(tmp_path, tools.toolbox) as served:
        async with Client(served.server) as client:
            first = error(await client.call_tool("run", {"plan": BROKEN}))
            again = error(await client.call_tool("run", {"plan": BROKEN}))
        assert (first["error"]["code"], len(first["problems"])) == ("bad-plan", 1)
        assert again["error"]["message"].startswith("Unchanged")
        assert "problems" not in again
        other = await served.refused("run", plan=BROKEN)  # another client knows nothing yet
        assert other["problems"] == first["problems"]
    assert tools.calls == []


async def test_a_bad_plan_with_other_problems_is_explained_again(tmp_path: Path) -> None:
    """A server has answered late, and its tool takes other arguments."""
    tools, late = scripted(), list[tuple[Toolbox, tuple[str, ...]]]()
    user = User(data=tmp_path, late=lambda: late.pop() if late else None)
    async with (
        serving(tmp_path, tools.toolbox, user=user) as served,
        Client(served.server) as client,
    ):
        (first,) = error(await client.call_tool("run", {"plan": BROKEN}))["problems"]
        tools.add("weather", input_schema={"type": "object", "additionalProperties": False})
        late.append((tools.toolbox, ()))
        (then,) = error(await client.call_tool("run", {"plan": BROKEN}))["problems"]
    assert first.startswith("unknown-tool at ")
    assert not then.startswith("unknown-tool at ")


async def test_very_many_problems_are_cut_off_and_counted(tmp_path: Path) -> None:
    steps: list[Json] = [{"id": f"s{n}", "tool": "weather"} for n in range(300)]
    plan = {"plan": {"toolplan": 1, "steps": steps}}
    *shown, more = (await call(tmp_path, "run", plan, refused=True))["problems"]
    assert more.startswith("and ")
    assert all(each.startswith("unknown-tool at ") for each in shown)
    assert len("".join(shown)) <= 2_400


@pytest.mark.parametrize("most", [1, 3])
async def test_no_run_makes_more_calls_at_once_than_it_may(tmp_path: Path, most: int) -> None:
    tools = scripted(Gives({"data": []}, delay_s=0.002))
    steps: list[Json] = [
        {"id": f"s{at}", "tool": "people", "args": {"team": "red"}} for at in range(6)
    ]
    options = {"options": RunOptions(tool_concurrency={"people": most})}
    plan: Json = {"toolplan": 1, "steps": steps}
    await call(tmp_path, "run", {"plan": plan}, options=options, toolbox=tools.toolbox)
    assert tools.most_running == most


@pytest.mark.parametrize(
    ("failure", "code"),
    [(ModelError("llm-auth", "No key.", "Set it."), "llm-auth"), (OSError("x"), "planner-failed")],
)
async def test_a_planner_that_fails_is_a_clean_error(
    tmp_path: Path, failure: Exception, code: str
) -> None:
    class Failing:
        async def propose(self, *_: object, **__: object) -> Proposal:
            raise failure

    result = await call(tmp_path, "run", {"question": "people"}, planner=Failing(), refused=True)
    assert result["error"]["code"] == code
    assert result["error"]["help"]
    assert "Traceback" not in json.dumps(result)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "x" * 1_001}),
        ("run", {}),
        ("run", {"question": "x" * 10_001}),
        ("run", {"question": "x", "approve": True}),
        ("run", {"question": "x", "plan": READS}),
        ("run", {"plan": READS, "args": {}}),
        ("run", {"plan": 7}),
        ("run", {"plan": READS, "yes": True}),
        ("run", {"plan": READS, "approval": "0" * 64}),
        ("runs", {"offset": -1}),
        ("runs", {"run": "x", "action": "resume", "retry": ["mail"]}),
        ("runs", {"run": "x", "action": "approve"}),
        ("runs", {"action": "resume"}),
    ],
)
async def test_arguments_that_do_not_fit_are_reported_by_their_place(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    result = await call(tmp_path, tool, arguments, refused=True)
    assert result["error"]["code"] == "bad-arguments"
    assert result["error"]["message"]


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    async with serving(tmp_path, scripted().toolbox) as served, Client(served.server) as client:
        with pytest.raises(MCPError, match="Did you mean 'search'"):
            await client.call_tool("search_", {})


@pytest.mark.parametrize(
    ("asked", "options", "problem"),
    [
        (
            {"plan": json.dumps(READS) + " " * 300},
            {"limits": Limits(text_bytes=200)},
            "too-large at /",
        ),
        ({"plan": nested(90)}, {}, "too-deep at "),
        ({"plan": READS}, {"policy": Policy(("send",))}, "tool-not-allowed at /steps/0/tool"),
        (
            {"tool": "people", "args": {"team": "red"}},
            {"policy": Policy(("send",))},
            "tool-not-allowed at /steps/0/tool",
        ),
    ],
    ids=["long", "deep", "tool", "call"],
)
async def test_a_plan_beyond_the_limits_or_the_policy_is_refused(
    tmp_path: Path, asked: dict[str, Any], options: dict[str, Any], problem: str
) -> None:
    result = await call(tmp_path, "run", asked, options=options, refused=True)
    assert result["problems"][0].startswith(problem)


async def test_a_failed_run_is_an_error_that_says_which_step_failed_and_what_is_done(
    tmp_path: Path,
) -> None:
    toolbox = scripted(Gives({"data": []}), Raises(ToolError("no luck"))).toolbox
    steps: list[Any] = [
        {"id": name, "tool": "people", "args": {"team": "red"}, "after": after}
        for name, after in (("one", []), ("two", ["one"]), ("three", ["two"]))
    ]
    plan: Json = {"toolplan": 1, "steps": steps}

    result = await call(tmp_path, "run", {"plan": plan}, toolbox=toolbox, refused=True)
    assert result["status"] == "failed"
    assert result["steps"]["two"]["error"]["message"].endswith("no luck")
    assert result["help"].startswith("Failed: two. Done: one (")


async def test_outputs_of_steps_are_returned_only_where_they_are_wanted(tmp_path: Path) -> None:
    assert set(await call(tmp_path, "run", {"plan": READS})) == {"run", "status", "output"}
    result = await call(tmp_path, "run", {"plan": READS, "detail": True})
    assert result["answer"]["text"]
    assert result["steps"]["people"]["output"] == {"data": ["ann", "bob"]}


async def test_what_is_too_large_is_described_and_comes_in_pages(tmp_path: Path) -> None:
    given: Json = {"data": ["x" * 30_000, "é" * 300, "\u2028"]}
    toolbox = scripted(Gives(given)).toolbox
    async with serving(tmp_path, toolbox) as served:
        result = await served.call("run", plan=READS, detail=True)
        assert (result["status"], result["output"]) == ("succeeded", None)
        omitted = {each["path"]: each for each in result["omitted"]}
        assert {"/output", "/steps/people/output"} <= set(omitted)
        path = "/steps/people/output"
        assert omitted[path]["shape"] == "object {data: list, 3 of text, 30000 characters}"
        text, offset, pages = "", 0, 0
        while offset is not None:
            page = await served.call("runs", run=result["run"], path=path, offset=offset)
            text, offset, pages = text + page["text"], page["next_offset"], pages + 1
        assert (pages, len(text)) == (2, omitted[path]["characters"])
        assert json.loads(text) == given
        assert text.startswith(omitted[path]["beginning"])
        one = await served.call("runs", run=result["run"], path=f"{path}/data/2")
        assert json.loads(one["text"]) == "\u2028"
        for wrong in (f"{path}/date", f"{path}/data/3", f"{path}/data/-1", "/output/data/0/x"):
            refused = await served.refused("runs", run=result["run"], path=wrong)
            assert refused["error"]["code"] == "unknown-path"
            assert "there is: " in refused["error"]["help"]
        past = await served.refused("runs", run=result["run"], path=path, offset=len(text))
        assert past["error"]["code"] == "bad-offset"


async def test_output_schemas_are_learned_from_runs_as_on_the_command_line(tmp_path: Path) -> None:
    tools = ScriptedTools()
    tools.add("people", Gives({"data": ["ann"]}))
    user = {"user": User(data=tmp_path)}
    ran = await call(tmp_path, "run", {"plan": READS}, options=user, toolbox=tools.toolbox)
    assert ran["status"] == "succeeded"
    with LearnedSchemas(tmp_path / "learned.sqlite") as learned:
        assert learned.schema(tool_digest(tools.toolbox["people"])) is not None


async def test_of_a_clients_metadata_only_the_question_is_kept(tmp_path: Path) -> None:
    """A run that says where its tools come from would make `toolplan resume` open them."""

    metadata: Json = {"run_with": {"tools": "mine:TOOLS"}}
    evil = {"query": "who?", "run_with": {"tools": "evil:TOOLS"}, "notes": "hm"}
    async with serving(tmp_path, scripted().toolbox, metadata=metadata) as served:
        assert isinstance(READS, dict)
        ran = await served.call("run", plan={**READS, "metadata": evil})
        kept = served.journal.record(served.journal.find(ran["run"])).plan
    assert isinstance(kept, dict)
    run_with: Json = {"tools": "mine:TOOLS", "made_by": "mcp"}
    assert kept["metadata"] == {"query": "who?", "run_with": run_with}


async def test_a_run_with_a_given_name_is_named_whole(tmp_path: Path) -> None:
    toolbox = scripted(*[Gives({"data": []})] * 2).toolbox
    async with serving(tmp_path, toolbox) as served:
        app = App(toolbox, ScriptedPlanner("{}"), journal=served.journal)
        assert isinstance(READS, dict)
        for name in ("nightly-1", "nightly-2"):
            await app.run(READS, run_id=name)
        assert (await served.call("runs", run="nightly-1"))["run"] == "nightly-1"


async def test_runs_are_listed_the_newest_first_and_shown_one_by_one(tmp_path: Path) -> None:
    async with serving(tmp_path, scripted().toolbox) as served:
        first = await served.call("run", plan=READS)
        second = await served.call("run", plan=READS)
        listed = (await served.call("runs"))["runs"]
        assert [each["run"][:8] for each in listed] == [second["run"], first["run"]]
        result = await served.call("runs", run=listed[1]["run"][:12])
        assert result["run"] == first["run"]  # which costs a model less than the whole name
        whole = await served.call("runs", run=first["run"], detail=True)
        assert whole["run"] == listed[1]["run"]
        assert result["status"] == "succeeded"
        assert result["output"] == first["output"]
        unknown = await served.refused("runs", run="nope")
        assert unknown["error"]["code"] == "unknown-run"


async def test_progress_of_a_run_only_grows_and_ends_whole(tmp_path: Path, era: Era) -> None:
    reported: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total, message))

    toolbox = scripted(Gives({"data": ["ann"]}, delay_s=0.1)).toolbox
    plan = {
        "toolplan": 1,
        "steps": [
            {"id": "a", "tool": "people", "args": {"team": "red"}},
            {"id": "b", "tool": "people", "args": {"team": "${a.data[0]}"}},
        ],
    }
    async with serving(tmp_path, toolbox) as served, Client(served.server, mode=era) as client:
        ran = await client.call_tool("run", {"plan": plan}, progress_callback=hear)
        assert content(ran)["status"] == "succeeded"
    numbers = [progress for progress, _, _ in reported]
    assert len(numbers) >= 3
    assert numbers == sorted(set(numbers))
    assert reported[-1][:2] == (2.0, 2.0)
    assert reported[-1][2] == "b (people): succeeded"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["toolplan", "steps", "id", "tool", "args", "after", "for_each"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=12)
@given(plans=st.lists(ANYTHING, min_size=2, max_size=2))
def test_whatever_is_sent_is_answered_with_a_result_or_a_clean_error(
    plans: list[Json], tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def work() -> None:
        toolbox = scripted().toolbox
        folder = tmp_path_factory.mktemp("any")
        async with serving(folder, toolbox) as served, Client(served.server) as client:
            for plan in plans:
                result = await client.call_tool("run", {"plan": plan, "only_check": True})
                if result.is_error:
                    assert error(result)["error"]["code"]
                else:
                    assert content(result)

    in_loop(work)


async def test_a_step_whose_result_reports_a_failure_is_named(tmp_path: Path) -> None:
    tools = ScriptedTools()
    tools.add("pay", Gives({"ok": False, "error": "no funds"}))
    tools.add("total", Gives(3))
    steps: list[dict[str, Json]] = [
        {"id": "p", "tool": "pay"},
        {"id": "t", "tool": "total", "after": ["p"]},
    ]
    plan: dict[str, Json] = {"toolplan": 1, "steps": [*steps], "output": "${t}"}
    async with serving(tmp_path, tools.toolbox) as served:
        ran = await served.call("run", plan=plan)
    reported = {"state": "succeeded", "reported_failure": "ok: false, error: no funds"}
    assert (ran["output"], ran["steps"]) == (3, {"p": reported})
