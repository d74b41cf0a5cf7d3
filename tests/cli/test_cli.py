"""The commands, as a user meets them: what is printed where, and the exit code."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import Call
from toolplan.base.error_pages import ERROR_PAGES
from toolplan.cli._commands import COMMANDS, SERVERS, commands
from toolplan.compiler.rules import RULES, SYNTAX_PAGES

TODAY = "2025-10-12"


GOOD = {
    "toolplan": 1,
    "steps": [
        {"id": "f", "tool": "facilities_list", "args": {"location": "Berlin"}},
        {"id": "s", "tool": "shipments_list", "args": {"facility_id": "${f.data[*].id}"}},
    ],
}
DEMO = ("--tools", "toolplan_demo:TOOLS")


def test_ask_shows_the_plan_and_answers(call: Call) -> None:
    said = call("ask", "Get contaminated shipments from last week", "--today", TODAY, code=0)
    assert "shipments_list" in said.out
    assert re.search(r"\d+ shipments were found", said.out)
    assert "demo" in said.err
    assert "\x1b" not in said.out  # no colour when piped


def test_the_same_day_always_has_the_same_rows(call: Call) -> None:
    once = call("ask", "shipments from last week", "--today", TODAY, "--json").json
    again = call("ask", "shipments from last week", "--today", TODAY, "--json").json
    assert once["output"] == again["output"]


@pytest.mark.parametrize("text", ["hello", "thanks", "asdf qwer"])
def test_a_greeting_and_nonsense_get_examples_that_are_answered(call: Call, text: str) -> None:
    said = call("ask", text, "--today", TODAY, "--json")
    examples = said.json["clarification"]["examples"]
    assert len(examples) == 3
    printed = call("ask", text, "--today", TODAY).out
    assert printed.splitlines()[-4:] == ["You could ask:", *(f"  {each}" for each in examples)]
    for each in examples:
        assert call("ask", each, "--today", TODAY).code == 0, each


def test_a_plan_with_effects_runs_only_with_approval(call: Call) -> None:
    listed = call("ask", "latest 1 shipment", "--today", TODAY, "--json").json
    name = next(iter(listed["steps"].values()))["output"]["data"][0]["id"]
    question = f"update shipment {name} to status rejected"
    said = call("ask", question, "--today", TODAY, "--json", code=1)
    assert json.loads(said.err.splitlines()[-1])["error"]["code"] == "approval-required"
    assert said.out == ""
    assert call("ask", question, "--today", TODAY, "--yes", "--json").code == 0


def test_plan_prints_the_dialect_as_it_is(call: Call) -> None:
    """F000-31."""
    said = call(
        "plan", "Get facilities in Berlin", "--today", TODAY, "--dialect", "clear", "--json"
    )
    assert said.code == 0
    step = said.json["steps"][0]
    assert (step["tool"], step["params"]) == ("facilities_list", {"location": "Berlin"})
    assert said.json["metadata"]["query"] == "Get facilities in Berlin"
    assert said.json["metadata"]["timestamp"].endswith("Z")


def test_weeks_may_be_calendar_weeks(call: Call) -> None:
    """C-06."""
    words = ("plan", "shipments from last week", "--today", "2025-10-15", "--json")
    rolling = call(*words).json["steps"][0]["args"]
    calendar = call(*words, "--weeks", "calendar").json["steps"][0]["args"]
    assert (rolling["date_from"], rolling["date_to"]) == ("2025-10-08", "2025-10-15")
    assert (calendar["date_from"], calendar["date_to"]) == ("2025-10-06", "2025-10-12")


def test_check_reports_ten_mistakes_in_one_go(call: Call, plan_file: Any) -> None:
    bad = {
        "toolplan": 1,
        "steps": [
            {"id": "a", "tool": "weather_forecast"},
            {"id": "b", "tool": "shipments_list", "args": {"colour": "red"}},
            {"id": "c", "tool": "shipments_list", "args": {"limit": "ten"}},
            {"id": "d", "tool": "shipments_list", "args": {"status": "lost"}},
            {"id": "e", "tool": "shipments_get"},
            {"id": "f", "tool": "shipments_get", "args": {"id": "${zebra.id}"}},
            {"id": "g", "tool": "shipments_get", "args": {"id": "${b.rows[0].id}"}},
            {"id": "h", "tool": "shipments_list", "args": {"limit": "${b.data[0].id}"}},
            {"id": "i", "tool": "shipments_list", "after": ["j"]},
            {"id": "j", "tool": "shipments_list", "after": ["i"]},
            {"id": "k", "tool": "shipments_list", "when": {"value": 1, "is": {"type": "x"}}},
        ],
    }
    said = call("check", plan_file(bad), *DEMO, "--json", code=1)
    found = {each["code"]: each for each in said.json["diagnostics"]}
    assert set(found) == {
        "unknown-tool",
        "unknown-argument",
        "argument-type",
        "argument-value",
        "missing-argument",
        "unknown-step",
        "unknown-output",
        "reference-type",
        "cycle",
        "when-schema",
    }
    for each in found.values():
        assert each["pointer"].startswith("/steps/")
        assert each["help"]
    text = call("check", plan_file(bad), *DEMO, code=1)
    assert "10 errors" in text.out
    assert "^" in text.out


def test_check_without_tools_says_what_it_leaves_out(call: Call, plan_file: Any) -> None:
    said = call("check", plan_file({"toolplan": 1, "steps": [{"id": "a", "tool": "nope"}]}))
    assert said.code == 0
    assert "--tools" in said.err


def test_check_fix_writes_the_safe_fixes(call: Call, plan_file: Any) -> None:
    name = plan_file(
        {"toolplan": 1, "steps": [{"id": "a", "tool": "shipment_list", "args": {"limt": 5}}]}
    )
    before = call("check", name, *DEMO, "--json", code=1)
    assert {(each["code"], each["fixed"]) for each in before.json["diagnostics"]} == {
        ("unknown-tool", True),
        ("unknown-argument", True),
    }
    assert call("check", name, *DEMO, "--fix").code == 0
    assert call("check", name, *DEMO).code == 0
    step = json.loads(Path(name).read_text("utf-8"))["steps"][0]
    assert (step["tool"], step["args"]) == ("shipments_list", {"limit": 5})


def test_convert_goes_both_ways(call: Call, plan_file: Any) -> None:
    clear = call("convert", plan_file(GOOD), "--to", "clear", code=0)
    assert clear.json["steps"][1]["params"] == {"facility_id": "${step[0].data.*.id}"}
    assert clear.json["steps"][1]["depends_on"] == [0]
    back = call("convert", plan_file(clear.json), "--from", "clear")
    assert back.json["steps"][1]["args"] == {"facility_id": "${s0.data[*].id}"}


def test_convert_names_what_a_dialect_cannot_say(call: Call, plan_file: Any) -> None:
    step = {"id": "a", "tool": "t", "when": {"value": 1, "is": {"const": 1}}}
    said = call("convert", plan_file({"toolplan": 1, "steps": [step]}), "--to", "clear")
    assert "can: --to toolplan." in said.err
    assert said.code == 1
    assert "when" in said.err


def test_run_runs_exactly_the_plan(call: Call, plan_file: Any) -> None:
    said = call("run", plan_file(GOOD), *DEMO, "--today", TODAY, "--json", code=0)
    assert list(said.json["steps"]) == ["f", "s"]
    assert said.json["steps"]["s"]["output"]["count"] > 0
    assert call("run", plan_file(GOOD), *DEMO, "--today", TODAY).code == 0


def test_run_needs_tools_that_can_be_called(call: Call, plan_file: Any, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(
        json.dumps([{"name": "t", "input_schema": {}, "annotations": {"readOnlyHint": True}}])
    )
    plan = plan_file({"toolplan": 1, "steps": [{"id": "a", "tool": "t"}]})
    assert call("run", plan).code == 2
    assert "cannot-run" in call("run", plan, "--tools", str(tools), code=2).err


def test_tools_lists_and_shows_one(call: Call) -> None:
    assert "shipments_list" in call("tools").out
    assert "has_contaminants" in call("tools", "shipments_list").out
    spoken_of = call("tools", "risk of contaminants", "--json")
    assert "contaminants_list" in [each["name"] for each in spoken_of.json][:3]
    assert "Did you mean 'shipments_list'" in call("tools", "shipments_lst").err
    assert call("tools", "zebra").code == 2
    assert call("tools", "--lint").out == ""
    assert call("tools", "--accept").code == 2
    names = {each["name"] for each in call("tools", "--json").json}
    assert {"shipments_list", "sql", "facilities_create"} <= names


@pytest.mark.parametrize("code", [*SYNTAX_PAGES, *(rule.code for rule in RULES)])
def test_every_code_is_explained(call: Call, code: str) -> None:
    said = call("explain", code, code=0)
    assert code in said.out


def test_explain_lists_codes_and_offers_near_ones(call: Call) -> None:
    assert "unknown-tool" in call("explain").out
    assert "unknown-tool" in call("explain", "unknown-tol", code=2).err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("check", "/nowhere/plan.json"), "unreadable-file"),
        (("check", ".", "--json"), "unreadable-file"),
        (("ask", "shipments", "--today", "yesterday"), "bad-date"),
        (("ask", "shipments", "--tools", "nowhere:TOOLS"), "bad-tools"),
        (("ask", "shipments", "--tools", "nowhere.json"), "bad-tools"),
        (("ask", "shipments", "--tools", "toolplan_demo:NOTHING"), "bad-tools"),
        (("plan", "shipments", "--dialect", "klingon"), "unknown-dialect"),
        (("ask",), "usage"),
        (("ask", "a", "b"), "usage"),
        (("nonsense",), "usage"),
        (("ask", "shipments", "--weeks", "lunar"), "usage"),
    ],
)
def test_bad_usage_gets_a_code_and_exit_2(call: Call, words: tuple[str, ...], code: str) -> None:
    said = call(*words)
    assert (said.code, said.out) == (2, "")
    if "--json" in words:
        assert json.loads(said.err.splitlines()[-1])["error"]["code"] == code
    else:
        assert f"[{code}]" in said.err


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[1, 2",
        '{"toolplan": 1, "steps": []}',
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "t", "tool": "u"}]}',
        "[" * 100_000,
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "t", "args": {"x": NaN}}]}',
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "t", "args": {"x": "\\ud800"}}]}',
    ],
    ids=range(8),
)
def test_bad_plans_get_a_code_and_a_place(call: Call, plan_file: Any, text: str) -> None:
    said = call("check", plan_file(text), "--json", code=1)
    assert not said.json["valid"]
    assert all(each["code"] for each in said.json["diagnostics"])


def test_bytes_that_are_no_text_are_refused_with_a_code(call: Call, tmp_path: Path) -> None:
    """P10."""
    path = tmp_path / "plan.json"
    path.write_bytes(b'{"toolplan": 1, "steps": [{"id": "a", "tool": "\xff\xfe"}]}')
    said = call("check", str(path), "--json")
    assert (said.code, said.json["diagnostics"][0]["code"]) == (1, "bad-encoding")


def test_version_and_help(call: Call) -> None:
    assert re.match(r"\d+\.\d+", call("--version").out)
    said = call("--help", code=0)
    for command in ("ask", "plan", "check", "convert", "run", "show", "tools", "explain"):
        assert command in said.out
        assert "--json" in call(command, "--help").out


@pytest.mark.parametrize("words", [("plan",), ("ask", "--plan-only")])
def test_a_plan_that_goes_to_a_file_is_the_json_of_the_plan(
    words: tuple[str, ...], call: Call, plan_file: Callable[[object], str]
) -> None:
    said = call(words[0], "facilities in Berlin", *words[1:])
    assert said.json["steps"][0]["tool"] == "facilities_list"
    assert "written as JSON" in said.err
    assert call("check", plan_file(said.out), "--tools", "toolplan_demo:TOOLS").code == 0
    as_asked = call(words[0], "facilities in Berlin", *words[1:], "--json")
    assert "written as JSON" not in as_asked.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ask", "x", "--bogus"), "Unknown option: --bogus."),
        (("check", "--bogus"), "Unknown option: --bogus."),
        (("check", "plan.json", "--fixx"), "Unknown option: --fixx. Did you mean --fix?"),
        (("show", "--jsn"), "Unknown option: --jsn. Did you mean --json?"),
        (("diff", "-", "--bogus=1"), "Unknown option: --bogus."),
        (("policy", "check", "--bogus"), "Unknown option: --bogus."),
        (("demo", "--row", "3"), "Unknown option: --row. Did you mean --rows?"),
        (("runs", "--limt=3"), "Unknown option: --limt. Did you mean --limit?"),
    ],
)
def test_an_unknown_option_is_compared_with_those_that_are_like_it(
    words: tuple[str, ...], message: str, call: Call
) -> None:
    assert call(*words, code=2).err.splitlines()[0] == f"error[usage] {message}"


def test_the_help_claims_options_that_are_there(call: Call) -> None:
    for command in COMMANDS:
        said = call(command, "--help").out
        assert ("--json" in said) == (command not in SERVERS), command
        assert "--debug" in said


def test_metadata_is_no_reason_why_a_dialect_cannot_express_a_plan(
    call: Call, plan_file: Callable[[object], str]
) -> None:
    step = {"id": "a", "tool": "t", "args": {}, "when": {"value": 1, "is": {"const": 1}}}
    document = {"toolplan": 1, "steps": [step], "metadata": {"notes": ["x"], "planner": "offline"}}
    said = call("convert", plan_file(document), "--to", "llmcompiler")
    assert "LLMCompiler has no 'when'." in said.err
    assert "metadata" not in said.err


def test_words_that_are_too_many_are_named(call: Call) -> None:
    said = call("ask", "List", "facilities", code=2)
    assert "These words are too many: 'facilities'." in said.err
    assert "Put the question in quotes." in said.err


def test_the_commands_are_those_that_are_registered() -> None:
    registered = {
        name: app.help
        for name in commands()
        if not name.startswith("-") and (app := commands()[name])
    }
    assert registered == COMMANDS


@pytest.mark.parametrize("words", [(), ("-h",), ("--help",)])
def test_every_way_of_asking_for_help_prints_it(words: tuple[str, ...], call: Call) -> None:
    said = call(*words)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("Usage: toolplan COMMAND\n")
    assert all(name in said.out for name in COMMANDS)


@pytest.mark.parametrize("code", ["bad-plan", "usage", "approval-required", "unknown-run"])
def test_explain_knows_the_codes_of_errors(call: Call, code: str) -> None:
    assert "How to fix:" in call("explain", code, code=0).out
    assert code in call("explain").out
    assert call("explain", code, "--json").json["page"] == ERROR_PAGES[code]
