"""The API of the studio, as its page uses it."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from packages.studio.tests.served import API, browsing
from tests.mcp_server.served import READS, WRITES, scripted
from toolplan.planners import Clarification, Draft
from toolplan.schema.tool import Effects, ToolError
from toolplan.testing import Gives, Raises, ScriptedPlanner, ScriptedTools

QUESTION = "Who is in the red team?"
ASKED = {**cast("dict[str, Any]", READS), "metadata": {"query": QUESTION}}


async def test_a_question_becomes_a_plan_that_runs(tmp_path: Path) -> None:
    planner = ScriptedPlanner(Draft(json.dumps(READS), planner="scripted"))
    async with browsing(tmp_path, planner=planner) as browser:
        proposed = await browser.post("plans", {"question": QUESTION})
        assert (proposed["outcome"], proposed["planner"]) == ("plan", "scripted")
        shown = proposed["checked"]
        assert shown["graph"]["layers"] == [["people"]]
        assert shown["graph"]["nodes"][0]["effects"] == "read"
        assert not shown["needs_approval"]
        body = {"text": shown["text"], "digest": shown["digest"]}
        line = await browser.post("runs", body)
        ended = await browser.until(line["run"], "succeeded")
        assert ended["steps"]["people"]["output"] == {"data": ["ann", "bob"]}
        assert ended["line"]["question"] == QUESTION
        assert "ann" in ended["answer_text"]
        assert ended["allowed"] == []


async def test_a_question_back_and_a_draft_with_errors_are_shown(tmp_path: Path) -> None:
    bad = '{"steps": [{"id": "a", "tool": "persons", "args": {"team": "${b}"}}]}'
    planner = ScriptedPlanner(Clarification("Which team?", ("red", "blue")), bad)
    async with browsing(tmp_path, planner=planner) as browser:
        asked = await browser.post("plans", {"question": "team?"})
        assert asked["outcome"] == "clarification"
        assert asked["clarification"]["options"] == ["red", "blue"]
        drafted = await browser.post("plans", {"question": "red"})
        assert drafted["outcome"] == "problems"
        assert drafted["checked"]["graph"]["nodes"][0]["problems"] > 0
        assert {each["code"] for each in drafted["checked"]["diagnostics"]} >= {"unknown-step"}


async def test_a_plan_is_streamed_with_its_result_at_the_end(tmp_path: Path) -> None:
    planner = ScriptedPlanner(json.dumps(READS))
    async with browsing(tmp_path, planner=planner) as browser:
        response = await browser.client.post(f"{API}/plans/stream", json={"question": "q"})
        assert response.headers["content-type"].startswith("text/event-stream")
        kind, data = [part for part in response.text.split("\n\n") if part][-1].split("\n")
        assert kind == "event: plan"
        assert json.loads(data.removeprefix("data: "))["outcome"] == "plan"


async def test_diagnostics_have_places_in_the_text(tmp_path: Path) -> None:
    text = '{"steps": [\n  {"id": "a", "tool": "people", "args": {"team": {}}}\n]}'
    async with browsing(tmp_path) as browser:
        shown = await browser.post("plans/check", {"text": text})
        (found,) = shown["diagnostics"]
        place = found["place"]
        assert text[place["start"] : place["end"]] == "{}"
        assert (place["line"], place["column"]) == (2, 50)
        assert not shown["valid"]
        assert shown["digest"] is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no plan",
        "{",
        '{"steps": []}',
        '{"steps": [{"id": "a", "tool": "people", "after": ["a"]}]}',
        '{"steps": [{"id": "a", "tool": "people", "after": ["b"]},'
        ' {"id": "b", "tool": "people", "after": ["a"]}]}',
        '{"steps": [{"id": "a", "tool": "t"}, {"id": "a", "tool": "t"}]}',
        "[" * 10_000,
        '{"steps": [{"id": "a", "tool": "\\ud800", "args": {"x": NaN}}]}',
    ],
)
async def test_any_text_is_checked(tmp_path: Path, text: str) -> None:
    async with browsing(tmp_path) as browser:
        shown = await browser.post("plans/check", {"text": text})
        assert not shown["valid"]
        assert any(each["severity"] == "error" for each in shown["diagnostics"])


async def test_exact_values_are_shown_for_approval(tmp_path: Path) -> None:
    tools = ScriptedTools()
    tools.add("pay", effects=Effects.WRITE)
    args: Any = {"amount": 2**60 + 1, "to": "p\u0430ypal", "note": "a\u202eb\x1b[31m<script>"}
    plan = {"steps": [{"id": "pay", "tool": "pay", "args": args}]}
    async with browsing(tmp_path, tools=tools) as browser:
        shown = await browser.checked(plan)
        (effect,) = shown["effects"]
        assert effect["shown"]["amount"] == "1152921504606846977"
        assert effect["shown"]["note"] == '"a\\u202eb\\u001b[31m<script>"'
        assert effect["warnings"] == ["\\u0430 is CYRILLIC SMALL LETTER A"]
        line = await browser.start(plan, approve=True)
        await browser.until(line["run"], "succeeded")
        assert tools.args_of("pay") == [args]


CONDITIONS: list[tuple[str, Any, str]] = [
    ("${look}", {"minimum": 5}, "is at least 5"),
    ("${look.n}", {"exclusiveMaximum": 9}, "is less than 9"),
    ("${look}", {"const": "open"}, 'is "open"'),
    ("${look}", {"enum": [1, None]}, "is one of 1, null"),
    ("${look[0]}", {"minItems": 1}, "has at least 1 element(s)"),
    ("${look}", {"maxLength": 3}, "has at most 3 character(s)"),
    ("${look}", {"pattern": "^a"}, 'matches "^a"'),
    ("${look}", {"required": ["a"]}, 'has the field(s) ["a"]'),
    ("${look}", {"not": {"type": "null"}}, 'is not so that it is of type "null"'),
    ("${look}", {"anyOf": [{"minimum": 5}, {"const": 0}]}, "fits"),
    ("${look}", {"const": "a\u202eb"}, 'is "a\\u202eb"'),
]


async def test_the_condition_of_a_step_is_shown_in_words_and_as_json(tmp_path: Path) -> None:
    tools = ScriptedTools()
    tools.add("look")
    tools.add("pay", effects=Effects.WRITE)
    async with browsing(tmp_path, tools=tools) as browser:
        for value, schema, words in CONDITIONS:
            said = f"{value} {words}: {json.dumps(schema)}"
            when = {"value": value, "is": schema}
            pay = {"id": "pay", "tool": "pay", "args": {}, "when": when}
            shown = await browser.checked(
                {"steps": [{"id": "look", "tool": "look", "args": {}}, pay]}
            )
            (effect,) = shown["effects"]
            assert (effect["when"], effect["when_shown"]) == (when, said)
            nodes = {each["id"]: each for each in shown["graph"]["nodes"]}
            assert nodes["pay"]["when_shown"] == said
            assert nodes["look"]["when_shown"] is None
        always = json.loads('{"steps": [{"id": "pay", "tool": "pay"}]}')
        (effect,) = (await browser.checked(always))["effects"]
        assert effect["when"] is None
        assert effect["when_shown"] is None


async def test_runs_are_found_by_state_tool_day_and_text(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": []}), Raises(ToolError("no")))
    async with browsing(tmp_path, tools=tools) as browser:
        first = await browser.start(ASKED)
        await browser.until(first["run"], "succeeded")
        second = await browser.start(READS)
        await browser.until(second["run"], "failed")

        async def names(**only: Any) -> list[str]:
            return [each["run"] for each in (await browser.get("runs", **only))["runs"]]

        assert await names() == [second["run"], first["run"]]
        assert await names(state="failed") == [second["run"]]
        assert await names(text="RED TEAM") == [first["run"]]
        assert await names(tool="people") == [second["run"], first["run"]]
        assert await names(tool="send") == []
        assert await names(day="1999-01-01") == []
        assert await names(text="find_out") == []
        counts = (await browser.get("runs", state="waiting"))["counts"]
        assert counts == {
            "running": 0, "waiting": 0, "in_doubt": 0, "succeeded": 1, "failed": 1, "cancelled": 0,
        }  # fmt: skip
        page = await browser.get("runs", limit=1)
        assert [each["run"] for each in page["runs"]] == [second["run"]]
        page = await browser.get("runs", limit=1, after=page["next"])
        assert [each["run"] for each in page["runs"]] == [first["run"]]
        assert page["next"] is None
        assert await browser.refusal("runs?state=odd") == (422, "bad-request")
        diff = await browser.get(f"runs/{first['run']}/diff/{second['run']}")
        assert diff["difference"]["same"]


async def test_a_tool_that_reads_can_be_tried_and_no_other(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        listed = (await browser.get("tools"))["tools"]
        assert {each["name"]: each["can_try"] for each in listed} == {"people": True, "send": False}
        tried = await browser.post("tools/people/try", {"args": {"team": "${x}"}})
        assert tried["output"] == {"data": ["ann", "bob"]}
        assert browser.tools.args_of("people") == [{"team": "${x}"}]
        refusal = await browser.refusal("tools/send/try", {"args": {"to": "ann"}})
        assert refusal == (403, "has-effects")
        assert await browser.refusal("tools/none/try", {"args": {}}) == (404, "unknown-tool")
        refusal = await browser.refusal("tools/people/try", {"args": {"team": {}}})
        assert refusal == (422, "bad-plan")
        assert browser.tools.args_of("send") == []


async def test_what_is_large_is_left_out_of_a_run_and_has_an_address_of_its_own(
    tmp_path: Path,
) -> None:
    people: list[Any] = [f"person {n}" for n in range(20_000)]
    async with browsing(tmp_path, tools=scripted(Gives({"data": people}))) as browser:
        line = await browser.start(READS)
        ended = await browser.until(line["run"], "succeeded")
        assert ended["steps"]["people"]["output"] is None
        assert ended["steps"]["people"]["output_left_out"]
        detail = await browser.get(f"runs/{line['run']}/steps/people")
        assert detail["output"] == {"data": people}
        assert await browser.refusal(f"runs/{line['run']}/steps/none") == (404, "unknown-step")


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("runs/none", None, "unknown-run"),
        ("runs/none/events", None, "unknown-run"),
        ("runs/none/decisions", {"kind": "cancel"}, "unknown-run"),
        ("runs/none/diff/none", None, "unknown-run"),
        ("nothing", None, "not-found"),
        ("plans", {}, "bad-request"),
        ("plans", {"question": ""}, "bad-request"),
        ("plans", {"question": "q", "more": 1}, "bad-request"),
        ("plans", {"question": "q", "today": "0000-99-99"}, "bad-date"),
        ("plans/check", {"text": "{}", "dialect": "odd"}, "unknown-dialect"),
        ("plans/diff", {"before": "{", "after": "{}"}, "bad-plan"),
        ("runs", {"text": "{}", "digest": "0" * 64}, "bad-plan"),
        ("runs", {"text": json.dumps(READS), "digest": "odd"}, "bad-request"),
        ("runs/none/decisions", {"kind": "odd"}, "bad-request"),
    ],
)
async def test_bad_requests_get_a_problem(tmp_path: Path, path: str, body: Any, code: str) -> None:
    async with browsing(tmp_path) as browser:
        status, problem = await browser.refused(path, body)
        assert problem["code"] == code
        assert problem["detail"].endswith(".")
        assert 400 <= status < 500


async def test_a_run_that_failed_differs_from_one_that_succeeded(tmp_path: Path) -> None:
    tools = scripted(Gives({"data": ["ann"]}), Raises(ToolError("down")))
    async with browsing(tmp_path, tools=tools) as browser:
        runs = [(await browser.start(READS))["run"] for _ in range(2)]
        for run in runs:
            await browser.until(run, "succeeded", "failed")
        found = await browser.get(f"runs/{runs[0]}/diff/{runs[1]}")
        assert found["difference"]["same"]
        changed = {each["pointer"]: (each["before"], each["after"]) for each in found["results"]}
        assert changed["/state"] == ("succeeded", "failed")
        assert changed["/steps/people/output"] == ({"data": ["ann"]}, None)
        assert "/steps/people/error" in changed
        assert "/decisions" not in changed


async def test_two_plans_are_compared(tmp_path: Path) -> None:
    async with browsing(tmp_path) as browser:
        body = {"before": json.dumps(READS), "after": json.dumps(WRITES)}
        found = await browser.post("plans/diff", body)
        assert [each["kind"] for each in found["steps"]] == ["added"]
        schema = await browser.get("schema")
        assert schema["title"] == "A plan of toolplan"


async def test_a_planner_that_breaks_is_a_problem_without_a_traceback(tmp_path: Path) -> None:
    class Broken(ScriptedPlanner):
        async def propose(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("secret detail")

    async with browsing(tmp_path, planner=Broken("{}")) as browser:
        status, problem = await browser.refused("plans", {"question": "q"})
        assert (status, problem["code"]) == (502, "planner-failed")
        assert "secret" not in json.dumps(problem)
