"""What rules say goes back to models too, which have no terminal."""

import re
from pathlib import Path

import pytest

from tests.rules.test_rules import CASES
from toolplan import Toolbox, compile_plan
from toolplan.planners import Attempt, Draft
from toolplan.planners.llm._feedback import feedback

COMMAND = re.compile(r"(?<!this )\btoolplan [a-z]|(?<![\w-])--[a-z]|\bpip install|\buv add")
TOOLS = Toolbox.from_json([{"name": "look", "input_schema": {"type": "object"}}])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_no_rule_names_a_command(case: Path) -> None:
    written = case.with_suffix(".out")
    assert not written.exists() or not COMMAND.search(written.read_text("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "extract"}]}',
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "sql"}]}',
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "unlike_any"}]}',
        '{"toolplan": 2, "steps": []}',
        '{"toolplan": 1, "steps": []}',
        '{"toolplan": 1, "steps": [{"id": "a"}]}',
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "look", "args": {"x": "${b"}}]}',
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "look", "when": {"value": 1}}]}',
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "look"}, ...]}',
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "look"',
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "look", "args": {"x": 1e999}}]}',
        '{"toolplan": 1, "steps": [{"id": "a b", "tool": "look", "foo": 1}]}',
        "no plan at all",
    ],
)
def test_no_feedback_names_a_command(text: str) -> None:
    compiled = compile_plan(text, tools=TOOLS)
    assert compiled.plan is None
    said = feedback(Attempt(Draft(text), compiled.diagnostics))
    assert not COMMAND.search(said), said
