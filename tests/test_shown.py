"""What values print as: short reprs, the words of the command line, escaped HTML in notebooks."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import toolplan
from toolplan.base.shown import Shown
from toolplan.plan.model import Literal, Plan, Ref, Step
from toolplan.plan.path import Json
from toolplan.show.answer import answer
from toolplan.testing import Gives, ScriptedTools
from toolplan_demo import TOOLS

HTML = "_repr_html_"
HOSTILE = "<script>alert('x')</script>\x1b[2J"


def plan_of(count: int) -> Plan:
    first = Step("s0", "books_list", {"by": Literal(HOSTILE)})
    return Plan((first, *(Step(f"s{at}", "t", {"x": Ref("s0")}) for at in range(1, count))))


def compiled() -> toolplan.Compiled:
    steps: Json = [{"id": "f", "tool": "facilities_list", "args": {"locatio": HOSTILE}}]
    return toolplan.compile_plan({"toolplan": 1, "steps": steps}, tools=TOOLS)


def values() -> list[object]:
    found = compiled()
    assert found.plan is not None
    scripted = ScriptedTools()
    scripted.add("facilities_list", Gives({"data": [{"id": HOSTILE}]}))
    tools = scripted.toolbox
    text = '{"toolplan": 1, "steps": [{"id": "f", "tool": "facilities_list", "args": {}}]}'
    plan = toolplan.compile_plan(text, tools=tools).plan
    assert plan is not None
    run = asyncio.run(toolplan.run(plan, tools))
    dry = asyncio.run(toolplan.simulate(found.plan, TOOLS))
    results = (run, answer(plan, run), dry)
    return [plan_of(20), found.plan, found, *found.diagnostics, *results]


def test_every_value_has_a_short_repr_the_words_of_the_command_line_and_safe_html() -> None:
    for value in values():
        name = type(value).__name__
        assert repr(value).startswith(f"{name}("), name
        assert len(repr(value)) < 250
        assert "\n" not in repr(value) + repr([value])
        assert "\x1b" not in f"{value}{value!r}"
        in_notebook: Callable[[], str] = getattr(value, HTML)
        shown = in_notebook()
        assert shown.startswith("<pre>")
        assert "<script>" not in shown
        assert "object at 0x" not in str(value)
        assert not str(value).startswith(f"{name}(")


def test_a_repr_says_what_the_value_is() -> None:
    found = compiled()
    assert repr(plan_of(2)) == "Plan(2 steps: s0, s1)"
    assert repr(plan_of(9)) == "Plan(9 steps: s0, s1, s2, s3, s4, s5, …)"
    assert repr(found) == f"Compiled(plan={found.plan and found.plan.digest[:8]}, 1 diagnostic)"
    assert repr(found.diagnostics[0]) == (
        "Diagnostic('unknown-argument', error at '/steps/0/args/locatio', "
        "\"'facilities_list' has no argument 'locatio'.\", fixed)"
    )
    assert repr(toolplan.Run("r1", "d")) == "Run('r1', running, 0 steps)"


def test_a_plan_prints_as_its_tree_and_problems_as_the_check_shows_them() -> None:
    assert str(plan_of(2)).splitlines()[0] == "2 steps"
    assert "└── s1  t(x: ${s0})" in str(plan_of(2))
    found = str(compiled())
    assert 'auto-fix: "locatio" -> "location"' in found
    assert "digest " in found
    assert "1 error, 1 of them corrected when the plan runs." in found


def test_printing_loads_its_libraries_when_something_is_printed() -> None:
    program = (
        "import sys; from toolplan import Plan, Step; p = Plan((Step('a', 't'),)); repr(p);"
        "assert not {'toolplan.show', 'rich'} & {*sys.modules}; print(p);"
        "assert 'toolplan.show' in sys.modules"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "1 step\n└── a  t()\n"), ran.stderr


@pytest.mark.parametrize("name", ["Plan", "ExecutionPlan", "Run", "Diagnostic", "DryRun"])
def test_public_values_are_shown_in_notebooks(name: str) -> None:
    assert issubclass(getattr(toolplan, name), Shown)


async def test_a_past_run_is_read_with_its_results_and_answer(tmp_path: Path) -> None:
    async with toolplan.open("toolplan_demo:TOOLS", journal=tmp_path / "runs.sqlite") as app:
        ended = await app.run({"toolplan": 1, "steps": [{"id": "f", "tool": "facilities_list"}]})
        past = app.result(ended.run[:8])
        assert past == ended
        assert str(past) == str(ended)
        assert past.steps["f"].output == ended.steps["f"].output
        with pytest.raises(toolplan.JournalError):
            app.result("zz")


def test_a_past_run_of_tools_that_are_gone_keeps_its_results(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with toolplan.open("toolplan_demo:TOOLS", journal=path) as app:
        plan = {"toolplan": 1, "steps": [{"id": "f", "tool": "facilities_list"}]}
        name = app.wait(app.run(plan)).run
    with toolplan.open([toolplan.Tool("other", "", {})], journal=path) as app:
        past = app.result(name)
    assert past.plan is None
    assert "were found by facilities_list [f]" in str(past)
