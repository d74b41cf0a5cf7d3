"""Commands that ask a model: a scripted one, over real HTTP on this machine."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.calls import Call
from tests.doubles.model_replies import Fails, Says
from tests.doubles.model_server import ScriptedModelServer

PLAN = json.dumps(
    {
        "toolplan": 1,
        "steps": [{"id": "f", "tool": "facilities_list", "args": {"location": "Berlin"}}],
    }
)
QUESTION = "Get frobnicated facilities"  # no word of the demo's tools
KEY = "sk-canary-0123456789"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOOLPLAN_HOME", str(tmp_path))
    for name in ("TOOLPLAN_MODEL", "OPENAI_API_KEY", "PLANNER_MAX_RETRIES"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_question_beyond_the_tools_words_goes_to_the_next_planner(call: Call) -> None:
    with ScriptedModelServer(PLAN) as server:
        said = call("ask", QUESTION, "--model", server.spec, "--today", "2025-10-12")
    assert said.code == 0, said.err
    assert "facilities_list" in said.out
    assert "No plan from offline: it did not understand 'frobnicated'" in said.err
    assert "1 model call: 10 tokens in, 5 out" in said.err
    assert server.calls == 1
    assert server.requests[0].streamed


def test_what_the_tools_words_say_costs_no_call(call: Call) -> None:
    with ScriptedModelServer(PLAN) as server:
        said = call("ask", "Get facilities in Berlin", "--model", server.spec)
        forced = call(
            "plan", "Get facilities in Berlin", "--planner", "llm", "--model", server.spec
        )
    assert said.code == forced.code == 0
    assert server.calls == 1


def test_a_plan_that_worked_is_remembered(call: Call) -> None:
    with ScriptedModelServer(PLAN) as server:
        first = call("ask", QUESTION, "--model", server.spec, "--json")
        said = call("ask", QUESTION, "--model", server.spec, "--json")
    assert first.code == said.code == 0, said.err
    assert server.calls == 1
    assert json.loads(said.out)["status"] == "succeeded"


def test_what_is_wrong_goes_back_and_nothing_faulty_runs(call: Call) -> None:
    with ScriptedModelServer([PLAN.replace("facilities_list", "zebra"), PLAN]) as server:
        said = call("ask", QUESTION, "--model", server.spec)
    assert said.code == 0, said.err
    assert server.calls == 2
    assert "`unknown-tool` at /steps/0/tool" in server.requests[1].prompt


def test_the_next_model_is_asked_where_one_fails(call: Call) -> None:
    with ScriptedModelServer([Fails(401)]) as first, ScriptedModelServer(PLAN) as second:
        said = call("ask", QUESTION, "--model", first.spec, "--model", second.spec)
    assert said.code == 0, said.err
    assert (first.calls, second.calls) == (1, 1)


@pytest.mark.parametrize("command", ["plan", "ask"])
@pytest.mark.parametrize("words", [("--planner", "llm"), ()], ids=["alone", "after another"])
@pytest.mark.parametrize(
    ("fails", "code", "said_by_it"),
    [
        (Fails(401, "no such key " + KEY), "llm-auth", "no such key"),
        (Fails(403, "not for you"), "llm-auth", "not for you"),
        (Fails(422, "model is gone"), "llm-request", "model is gone"),
    ],
    ids=["401", "403", "422"],
)
def test_where_the_last_model_fails_its_words_are_the_error(
    call: Call, fails: Fails, code: str, said_by_it: str, words: tuple[str, ...], command: str
) -> None:
    """Nothing about a word of the question, in either form, and no key."""
    with ScriptedModelServer([fails]) as server:
        plain = call(command, QUESTION, *words, "--model", server.spec)
        said = call(command, QUESTION, *words, "--model", server.spec, "--json")
    assert (said.code, said.out) == (plain.code, plain.out) == (1, "")
    error = json.loads(said.err.splitlines()[-1])["error"]
    assert error["code"] == code
    assert error["message"].startswith(server.spec)
    assert said_by_it in error["message"]
    assert f"error[{code}] {error['message']}" in plain.err
    assert "frobnicated" not in json.dumps(error) + plain.err[plain.err.index("error[") :]
    assert KEY not in said.err + plain.err


def test_models_may_be_set_in_the_environment_or_the_file(
    call: Call, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModelServer(PLAN) as server:
        monkeypatch.setenv("TOOLPLAN_MODEL", server.spec)
        assert call("plan", QUESTION).code == 0
        monkeypatch.delenv("TOOLPLAN_MODEL")
        (home / "toolplan.toml").write_text(f'toolplan_model = ["{server.spec}"]', "utf-8")
        (home / "plans.sqlite").unlink(missing_ok=True)
        assert call("plan", "Get frobnicated sites").code == 0
        (home / "toolplan.toml").write_text("planner_temperature = 9", "utf-8")
        monkeypatch.setenv("TOOLPLAN_MODEL", server.spec)
        said = call("plan", QUESTION)
    assert server.calls == 2
    assert said.code == 2
    assert "PLANNER_TEMPERATURE" in said.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--planner", "llm"), "no-model"),
        (("--model", "nonsense"), "llm-spec"),
        (("--planner", "offline", "--model", "ollama:mistral"), "usage"),
    ],
)
def test_a_model_that_cannot_be_named_so(call: Call, words: tuple[str, ...], code: str) -> None:
    said = call("plan", QUESTION, *words, code=2)
    assert f"error[{code}]" in said.err


def test_an_answer_in_a_models_words_is_checked(call: Call) -> None:
    wrong = "There are 987,654 facilities, most of them run by ZNZ-77."
    with ScriptedModelServer([Says(PLAN), Says(wrong)]) as server:
        said = call("ask", QUESTION, "--model", server.spec, "--summary", "json", "--json")
    assert said.code == 0, said.err
    summary = json.loads(said.out)["summary"]
    assert "987,654" in summary["unsupported"]
    assert "ZNZ-77" in summary["unsupported"]


@pytest.mark.parametrize("form", ["plain", "markdown"])
@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("Sure! Zanzibar Holdings runs 987,654 of them.", "are left out"),
        ("Answer 42: 17, 99 and Acme.", "are left out"),
        ("Here they are.", "In the words of "),
        ("Berlin has facilities.", "In the words of "),
        ("", "is empty"),
    ],
)
def test_the_computed_answer_is_always_shown(call: Call, form: str, reply: str, shown: str) -> None:
    """A14: words of a model stand below it, or are left out with a note."""
    with ScriptedModelServer([Says(PLAN), Says(reply)]) as server:
        said = call("ask", QUESTION, "--model", server.spec, "--summary", form)
    assert said.code == 0, said.err
    first = "3 facilities were found"
    assert first in said.out
    assert shown in said.out + said.err
    if "left out" in shown:
        assert "Sure" not in said.out.partition("left out")[0]
        assert "[?]" not in said.out
    elif reply:
        assert said.out.index(first) < said.out.index(reply[:-1])


def test_a_conversation_knows_what_was_said(call: Call) -> None:
    """F000-40, from one command to the next."""
    words = ("--conversation", "mine", "--today", "2025-10-12", "--json")
    assert call("plan", "Get facilities in Berlin", *words).code == 0
    said = call("plan", "Show me the same for Munich", *words, code=0)
    (step,) = json.loads(said.out)["steps"]
    assert step["args"] == {"location": "Munich"}
    other = call("plan", "Show me the same for Munich", "--conversation", "yours", "--json")
    assert other.code == 1


def test_steps_that_read_may_start_while_the_plan_is_written(call: Call) -> None:
    with ScriptedModelServer(PLAN) as server:
        said = call("ask", QUESTION, "--model", server.spec, "--eager")
        runs = call("runs", "--json")
    assert said.code == 0, said.err
    assert "  f: facilities_list" in said.err
    assert '"succeeded"' in runs.out


def test_what_a_model_says_cannot_steer_the_terminal(call: Call) -> None:
    """L20."""
    said_back = {"clarification": {"question": "Which \x1b[31mone?", "options": ["\x1b[2Ja"]}}
    with ScriptedModelServer(json.dumps(said_back)) as server:
        said = call("plan", QUESTION, "--model", server.spec)
    assert said.code == 1
    assert "\x1b" not in said.out + said.err


def test_a_command_without_standard_input_runs(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert call("ask", "Get facilities in Berlin").code == 0
    monkeypatch.setattr(sys, "stdin", None)
    assert call("run", "-", "--tools", "toolplan_demo:TOOLS").code == 1


@pytest.mark.parametrize(
    "words",
    [
        ("demo", "--http", "--port", "99999"),
        ("mcp", "--http", "--port", "-1"),
        ("demo", "--rows", "-5"),
        ("ask", "x", "--today", "0001-01-01"),
    ],
)
def test_numbers_and_days_that_are_none_are_refused(call: Call, words: tuple[str, ...]) -> None:
    assert "help:" in call(*words, code=2).err
