"""`toolplan test`: questions with their expected plans, asked of the planner."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.calls import Call

TOOLS = '''
from typing import Annotated
import toolplan
from pydantic import Field

HINTS = {"x-entity": "book", "x-verb": "list"}
Author = Annotated[str, Field(json_schema_extra={"x-cue": ["by"]})]

@toolplan.tool(effects="read", hints=HINTS)
def books_list(author: Author) -> list[dict[str, str]]:
    """Lists books."""
    raise AssertionError("a plan test calls nothing")

@toolplan.tool(effects="read", hints={"x-entity": "film", "x-verb": "list"})
def films_list(author: Author) -> list[dict[str, str]]:
    """Lists films."""
    raise AssertionError("a plan test calls nothing")
'''
TESTS = """\
tools: library:*
tests:
  - List books by Ada
  - question: List films by Ada
    expect: {tools: [films_list], max_calls: 1}
  - question: Sing
    expect: {no_plan: true}
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of tools and a file of plan tests."""
    (tmp_path / "library.py").write_text(TOOLS, "utf-8")
    (tmp_path / "books.plans.yaml").write_text(TESTS, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "library", raising=False)
    return tmp_path


def changed(library: Path, old: str, new: str) -> None:
    path = library / "library.py"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    # Python compares compiled modules by size and second: a change of the same length is not seen
    shutil.rmtree(library / "__pycache__", ignore_errors=True)
    sys.modules.pop("library", None)


def test_a_plan_that_changed_with_its_tools_is_found(library: Path, call: Call) -> None:
    assert "Nothing is expected or recorded" in call("test", "books.plans.yaml", code=1).out
    recording = call("test", "books.plans.yaml", "--record")
    assert (recording.code, recording.err.strip()) == (
        0,
        "1 plan recorded in books.plans.yaml.plans.json.",
    )
    assert call("test", "books.plans.yaml", "-n", "2").out.splitlines() == [
        "✓ List books by Ada  2/2",
        "✓ List films by Ada  2/2",
        "✓ Sing  2/2",
        "3 questions, 0 failed.",
    ]
    changed(library, "def books_list", "def novels_list")
    said = call("test", "books.plans.yaml", "--junit", "results.xml", "--json")
    assert (said.code, said.json["failed"]) == (1, 1)
    (problem,) = said.json["tests"][0]["problems"][0]
    assert "+ novels_list" in problem or "novels_list" in problem
    suite = ElementTree.parse(library / "results.xml").getroot()[0]
    assert [len(case) for case in suite] == [1, 0, 0]
    assert (library / "books.plans.yaml").read_text("utf-8") == TESTS


WEATHER = '''
import toolplan

@toolplan.tool(effects="read")
def outlook(city: str) -> str:
    """The weather in a city, for today."""
    raise AssertionError("a plan test calls nothing")

@toolplan.tool(effects="read")
def archive(city: str) -> str:
    """The records of a city, of past years."""
    raise AssertionError("a plan test calls nothing")
'''


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([("def outlook", "def forecast")], ["There is no plan: I did not understand"]),
        ([("city: str", "town: str")], ['/args/city: "Oslo" → (none)', "/args/town"]),
        ([("(city: str)", "(city: str, day: str)")], ["There is no plan: "]),
    ],
    ids=["a tool's name", "an argument's name", "one more argument"],
)
def test_a_plan_that_changed_with_a_name_or_a_schema_is_found(
    edits: list[tuple[str, str]], expected: list[str], library: Path, call: Call
) -> None:
    (library / "library.py").write_text(WEATHER, "utf-8")
    document = {"tools": "library:*", "tests": ["What is the outlook in Oslo?"]}
    (library / "w.plans.yaml").write_text(json.dumps(document), "utf-8")
    assert call("test", "w.plans.yaml", "--record").code == 0
    for old, new in edits:
        changed(library, old, new)
    said = call("test", "w.plans.yaml", "--junit", "results.xml", code=1)
    failure = ElementTree.parse(library / "results.xml").getroot()[0][0][0]
    for text in expected:
        assert text in said.out
        assert text in (failure.text or "")


def test_a_question_without_a_plan_is_named_when_it_is_recorded(library: Path, call: Call) -> None:
    document = {"tools": "library:*", "tests": ["Dance"]}
    (library / "d.plans.yaml").write_text(json.dumps(document), "utf-8")
    said = call("test", "d.plans.yaml", "--record")
    assert (said.code, said.err.splitlines()) == (
        0,
        [
            "Recorded that there is no plan for: Dance",
            "0 plans recorded in d.plans.yaml.plans.json.",
        ],
    )


def test_expectations_that_are_not_met(library: Path, call: Call) -> None:
    plan = {"steps": [{"id": "x", "tool": "books_list", "args": {"author": "Ada"}}]}
    other = {"steps": [{"id": "x", "tool": "books_list", "args": {"author": "Bob"}}]}
    cases = [
        ({"plan": plan}, None),
        ({"includes": plan}, None),
        ({"plan": other}, '/args/author: "Bob" → "Ada"'),
        ({"includes": other}, "expected 'Bob', found 'Ada'"),
        ({"includes": {"steps": [{"id": "x", "tool": "nothing"}]}}, "does not call nothing"),
        ({"tools": ["films_list"]}, "It calls books_list, not films_list."),
        ({"forbidden": ["books_list"]}, "It calls books_list, which is forbidden."),
        ({"max_calls": 0}, "It may make 1 calls; at most 0 are expected."),
        ({"no_plan": True}, "A plan was made where none is expected: books_list."),
    ]
    document = {
        "tools": "library:*",
        "tests": [{"question": "List books by Ada", "expect": expect} for expect, _ in cases],
    }
    (library / "b.plans.yaml").write_text(json.dumps(document), "utf-8")
    said = call("test", "b.plans.yaml", "--json", code=1)
    for (_, expected), found in zip(cases, said.json["tests"], strict=True):
        text = "\n".join(found["problems"][0])
        assert (text == "") if expected is None else expected in text


@pytest.mark.usefixtures("library")
def test_bad_calls(call: Call) -> None:
    for words, code, expected in (
        ((), 2, "FILE is missing."),
        (("nowhere.yaml",), 2, "nowhere.yaml: No such file"),
        (("books.plans.yaml", "-n", "0"), 2, "Must be >= 1."),
        (("books.plans.yaml", "--planner", "grouded"), 2, "There is no planner 'grouded'."),
        (("books.plans.yaml", "--record", "--junit", "no/x.xml"), 3, "no/x.xml: No such file"),
    ):
        said = call("test", *words, code=code)
        assert expected in said.err


def test_pytest_runs_them(library: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", "--no-header"]
    ended = subprocess.run(command, cwd=library, capture_output=True, text=True, check=False)
    assert "1 failed, 2 passed" in ended.stdout
    assert "Nothing is expected or recorded" in ended.stdout
    assert "Traceback" not in ended.stdout
