"""`toolplan eval`: how good the plans of a model and a prompt are."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import pytest

from tests.cli.calls import Call
from tests.doubles.model_replies import Received, Served
from tests.doubles.model_server import ScriptedModelServer
from toolplan.plan.canonical import load
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, Tool, Toolbox
from toolplan.testing.plans.cases import Case, Expectation, Recorded
from toolplan.testing.plans.runner import differences, without_defaults

TOOLS = '''
import toolplan

@toolplan.tool(effects="read")
def books_list(author: str) -> list[dict[str, str]]:
    """Lists books."""
    raise AssertionError("a measurement calls nothing")
'''
QUESTIONS = """\
tools: shelf:*
today: 2025-10-12
tests:
  - question: Books by Ada
    expect: {plan: &ada {toolplan: 1, steps: [{id: a, tool: books_list, args: {author: Ada}}]}}
  - question: Books by Bo
    expect: {tools: [books_list]}
  - question: Sing
    expect: {no_plan: true}
  - question: Books by Cy
    expect: {tools: [books_list]}
"""


def plan(author: str, tool: str = "books_list") -> str:
    steps = [{"id": "s", "tool": tool, "args": {"author": author}}]
    return json.dumps({"toolplan": 1, "steps": steps})


def answer(request: Received) -> Served:
    """Plan for Ada with another author unless told otherwise, repair Bo, ask about the rest."""
    asked = request.prompt.rpartition("Question: ")[2]
    if asked.startswith("Books by Ada"):
        return plan("Ada" if "Spell names as they are" in request.prompt else "Bob")
    if asked.startswith("Books by Bo"):
        return plan("Bo", "books_list" if "does not pass its check" in asked else "book_index")
    return '{"clarification": {"question": "Which?", "options": []}}'


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shelf.py").write_text(TOOLS, "utf-8")
    (tmp_path / "q.yaml").write_text(QUESTIONS.replace("&ada ", ""), "utf-8")
    (tmp_path / "names.txt").write_text("Spell names as they are.", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "shelf", raising=False)
    return tmp_path


def test_two_prompts_are_compared_question_by_question(shelf: Path, call: Call) -> None:
    with ScriptedModelServer([answer] * 50) as server:
        words = ("eval", "q.yaml", "--model", server.spec, "--instructions", "names.txt")
        said, shown = call(*words, "--json"), call(*words)
    assert said.code == shown.code == 0
    variants: list[dict[str, Any]] = json.loads(said.out)["variants"]
    counts = ("asked", "right", "wrong", "asked_back", "failed", "first_draft", "repaired")
    assert [[each[name] for name in counts] for each in variants] == [
        [4, 2, 1, 1, 0, 1, 1],
        [4, 3, 0, 1, 0, 1, 1],
    ]
    assert [each["outcome"] for each in variants[0]["questions"]] == [
        "wrong", "right", "right", "asked",
    ]  # fmt: skip
    assert (variants[0]["calls"], variants[0]["tokens_in"]) == (5, 50)
    head, first, second, *rest = shown.out.splitlines()
    assert head.split()[:5] == ["n", "right", "wrong", "asked", "failed"]
    assert first.split()[1:6] == ["4", "2", "1", "1", "0"]
    assert second.startswith(f"{server.spec} + names.txt")
    assert "  wrong -> right: Books by Ada" in rest
    assert len([line for line in rest if " -> right" in line]) == 1


def test_models_are_measured_one_by_one_and_no_reply_is_a_failure(shelf: Path, call: Call) -> None:
    with ScriptedModelServer([answer] * 50) as one, ScriptedModelServer("") as other:
        said = call("eval", "q.yaml", "--model", one.spec, "--model", other.spec, "--json")
    variants: list[dict[str, Any]] = json.loads(said.out)["variants"]
    assert [each["failed"] for each in variants] == [0, 4]
    assert "llm-empty" in variants[1]["questions"][0]["problems"][0]


def test_what_has_no_gold_is_not_measured(shelf: Path, call: Call) -> None:
    (shelf / "none.yaml").write_text("tools: shelf:*\ntests:\n  - Books by Ada\n", "utf-8")
    assert "nothing is expected of 'Books by Ada'" in call("eval", "none.yaml", code=2).err
    for words in ([], ["q.yaml", "--times", "0"], ["q.yaml", "--instructions", "no.txt"]):
        assert call("eval", *words).code in (1, 2)


def test_without_a_model_the_planner_of_the_file_is_measured(shelf: Path, call: Call) -> None:
    said = call("eval", "q.yaml", "--planner", "offline", "--times", "2", "--json")
    (variant,) = json.loads(said.out)["variants"]
    assert (variant["name"], variant["asked"], variant["calls"]) == ("no model", 8, 0)


ROWS: list[dict[str, Any]] = [
    {"query": "Books by Ada", "toolset": "shelf", "dialect": "bfcl",
     "steps": [{"id": "a", "tool": "books_list", "arguments": {"author": "Ada"}}],
     "accept": [{"accept": {"author": ["bob", "Ada"], "lang": ["en", ""]}}]},
    {"query": "Books by Bo", "toolset": "shelf",
     "plan": {"toolplan": 1,
              "steps": [{"id": "x", "tool": "books_list", "args": {"author": "Bo"}}]}},
    {"query": "Books by Cy", "toolset": "shelf", "dialect": "literal",
     "steps": [{"tool": "books_list", "arguments": {"author": "Cy"}}]},
    {"query": "Sing", "toolset": "shelf", "steps": [], "expect": "no_call"},
    {"query": "Sing again", "toolset": "shelf", "steps": []},
    {"query": "Twice", "expect": "no_call", "tools": [{"name": "a"}, {"name": "a", "title": "A"}]},
]  # fmt: skip
SHELF = [
    {
        "name": "books_list",
        "input_schema": {"type": "object", "properties": {"author": {"type": "string"}}},
        "annotations": {"readOnlyHint": True},
    }
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    path.with_name("set.tools.json").write_text(json.dumps({"shelf": SHELF}), "utf-8")
    return path


def test_rows_of_a_data_set_are_asked_with_tools_of_their_own(rows: Path, call: Call) -> None:
    with ScriptedModelServer([answer] * 50) as server:
        words = ("eval", "--data", str(rows), "--model", server.spec, "--json")
        said, few = (
            call(*words, "--junit", str(rows.with_name("eval.xml"))),
            call(*words, "--rows", "2"),
        )
    assert "4 of 6 rows are asked; 2 have no plan to compare with" in " ".join(said.err.split())
    assert "2 of 6 rows are asked" in " ".join(few.err.split())
    (variant,) = json.loads(said.out)["variants"]
    assert [each["outcome"] for each in variant["questions"]] == [
        "right",
        "right",
        "asked",
        "right",
    ]
    (variant,) = json.loads(few.out)["variants"]
    assert [each["question"] for each in variant["questions"]] == ["Books by Ada", "Books by Cy"]
    suites = ElementTree.fromstring(rows.with_name("eval.xml").read_text("utf-8"))
    assert (suites.get("tests"), suites.get("failures")) == ("4", "1")
    assert [case.get("name") for case in suites.iter("testcase")][2:] == ["Books by Cy", "Sing"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no row says what is expected"),
        ("[]", "set.jsonl:1: no JSON object"),
        ('{"query": "Sing"}', "set.jsonl:1: it has no `query`, or no `tools`"),
        ('{"query": "Sing", "tools": [{"name": 1}]}', "set.jsonl:1: "),
    ],
)
def test_a_file_that_is_no_data_set_is_refused(
    rows: Path, call: Call, text: str, said: str
) -> None:
    rows.write_text(text, "utf-8")
    refused = call("eval", "--data", str(rows), code=2)
    assert said in refused.err


@pytest.mark.parametrize(
    ("accept", "args", "right"),
    [
        ({"a": ["X"]}, {"a": "x"}, True),
        ({"a": [1]}, {"a": True}, False),
        ({"a": [1, ""]}, {}, True),
        ({"a": [1]}, {}, False),
        ({"a": [1]}, {"a": 1, "b": 2}, False),
        ({"a": [{"b": [1, 2]}]}, {"a": {"b": 2}}, True),
        ({"a": [{"b": [1, 2]}]}, {"a": {"b": 3}}, False),
    ],
)
def test_values_that_are_accepted(accept: Any, args: dict[str, Any], right: bool) -> None:
    gold, plan = (
        load({"toolplan": 1, "steps": cast("Json", [{"id": "s", "tool": "t", "args": each}])}).plan
        for each in ({"z": 0}, args)
    )
    case = Case("?", None, Expectation(gold, accept=(accept,)))
    assert (differences(case, plan, "", Recorded(Path("none.jsonl"))) == ()) is right


def test_a_value_that_is_the_default_of_an_argument_makes_no_other_plan() -> None:
    schema: Json = {"type": "object", "properties": {"state": {"default": "open"}, "repo": {}}}
    tools = Toolbox([Tool("issues", "", schema, None, Effects.READ)])
    written: list[dict[str, Json]] = [{"state": "open", "repo": "r"}, {"repo": "r"}, {"state": "x"}]
    plans = [load({"toolplan": 1, "steps": [{"id": "s", "tool": "issues", "args": each}]}).plan
             for each in written]  # fmt: skip
    bare = [without_defaults(plan, tools) for plan in plans if plan is not None]
    assert [bare[0] == bare[1], bare[1] == plans[1], bare[2] == plans[2]] == [True, True, True]
