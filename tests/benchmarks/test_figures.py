"""The whole measurement on a small folder of the published form, made here."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.plans.baseline import repaired
from benchmarks.plans.figures import Options, flaws_by_kind, measure, to_json
from benchmarks.plans.meaning import changes_of_meaning
from benchmarks.plans.readings import read
from benchmarks.plans.rows import DataFolder, Flaw
from benchmarks.plans.table import lines
from toolplan.plan.model import Literal, Plan, Ref, Step, Value
from toolplan.schema.tool import Toolbox

NUMBER = {"type": "number"}
ADD: dict[str, Any] = {
    "name": "add",
    "description": "adds",
    "input_schema": {
        "type": "object",
        "properties": {"one": NUMBER, "other": NUMBER},
        "required": ["one", "other"],
    },
    "output_schema": {"type": "object", "properties": {"result": NUMBER}},
}


def row(name: str, steps: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"id": name, "dialect": "nestful", "tools": [ADD], "steps": steps, **more}


def call(label: str, one: Any, other: Any, tool: str = "add") -> dict[str, Any]:
    return {"id": label, "tool": tool, "arguments": {"one": one, "other": other}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    gold = [
        row("gold-1", [call("$var1", 1, 2), call("$var2", "$var1.result$", 3)]),
        row("gold-2", [call("$var1", "one", 2)]),
    ]
    models = [
        row("model-1", [call("$var1", "1", 2), call("$var2", "$var1.result$", 3)], gold_id="gold-1")
    ]
    literal = [
        {**row("literal-1", [call("s1", 1, 2)]), "dialect": "literal"},
        {**row("literal-2", []), "dialect": "literal"},
    ]
    graph = [{**row("graph-1", []), "dialect": "worfbench"}]
    for name, rows in (
        ("nestful_v2", gold),
        ("nestful_v2_model_plans", models),
        ("tau", literal),
        ("worfbench", graph),
        ("questions", [{"id": "q-1", "question": "How many?"}]),  # no set of plans
    ):
        text = "".join(json.dumps(each) + "\n" for each in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, "utf-8")
    flaws = {"nestful_v2": {"gold-2": ["wrong_type@$var1:one 'one'"]}}
    (tmp_path / "flaws.json").write_text(json.dumps(flaws), "utf-8")
    return tmp_path


def test_every_figure_is_measured_on_data_never_seen(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.plans.speed.measure", lambda: None)
    figures = measure(folder, Options())
    assert figures.notes == []
    counted = figures.sets["nestful_v2"]
    assert (counted.rows, counted.parsed, counted.clean, counted.alarms) == (2, 2, 1, 0)
    assert figures.sets["tau"].rows == 1
    assert flaws_by_kind(figures) == {"wrong_type": (1, 1)}
    assert (figures.converted, figures.to_convert) == (2, 2)
    repair = figures.repair["nestful_v2_model_plans"]
    assert (repair.with_errors, repair.clean, repair.baseline, repair.changed) == (1, 1, 0, 0)
    for each in figures.faults.values():
        assert each.made == each.found == each.right
    assert json.loads(json.dumps(to_json(figures)))["sets"]["tau"]["parsed"] == 1
    assert any("wrong_type" in line for line in lines(figures))


def test_sets_and_rows_can_be_chosen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.plans.speed.measure", lambda: None)
    figures = measure(folder, Options(sets=("nestful_v2",), limit=1))
    assert list(figures.sets) == ["nestful_v2"]
    assert figures.sets["nestful_v2"].rows == 1


def test_flaws_are_read_and_tools_that_are_the_same_are_compiled_once(folder: Path) -> None:
    rows = list(DataFolder(folder).rows("nestful_v2"))
    assert rows[1].flaws == (Flaw("wrong_type", "$var1", "one 'one'"),)
    assert not rows[1].counts
    assert rows[0].toolbox["add"] is rows[1].toolbox["add"]
    assert rows[0].toolbox["add"].has_effects
    readers = DataFolder(folder, read_only=True)
    assert not next(readers.rows("nestful_v2")).toolbox["add"].has_effects


def test_a_row_without_tools_in_its_steps_is_no_plan_of_calls(folder: Path) -> None:
    assert read(next(DataFolder(folder).rows("worfbench"))) is None


def plan(tool: str = "add", **args: Value) -> Plan:
    return Plan((Step("a", tool, args),))


def test_another_spelling_is_no_change_of_meaning() -> None:
    written = plan(one=Literal("5"), two=Literal("In-Progress"), three=Ref("b", ("ids",)))
    fixed = plan(one=Literal(5), two=Literal("in_progress"), three=Ref("b", ("ids",)))
    assert changes_of_meaning(written, fixed, None) == []
    assert changes_of_meaning(plan(uno=Literal(5)), plan(one=Literal(5)), None) == []


def test_another_value_or_tool_is_a_change_unless_the_gold_plan_has_it() -> None:
    assert changes_of_meaning(plan(one=Literal(5)), plan(one=Literal(6)), None)
    assert not changes_of_meaning(plan(one=Literal(5)), plan(one=Literal(6)), plan(one=Literal(6)))
    assert changes_of_meaning(plan("ad"), plan("add"), None)
    assert not changes_of_meaning(plan("ad"), plan("add"), plan("add"))


def test_the_baseline_fixes_json_and_near_names_and_no_more() -> None:
    text = '{"steps": [{"id": "a", "tool": "adds", "args": {"one": 1, "othr": "2",}}]}'
    found = repaired(text, "toolplan", Toolbox.from_json([ADD]))
    assert found is not None
    assert found.steps[0].tool == "add"
    assert found.steps[0].args == {"one": Literal(1), "other": Literal("2")}
