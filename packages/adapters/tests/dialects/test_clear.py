"""The dialect of the Clear AI planner: F000-2, F000-16 to F000-21, C-11, C-14, C-15."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from toolplan import CannotExpress, Parsed
from toolplan.dialects import DIALECTS
from toolplan.plan.model import Literal, Plan, Ref, Step, Template, When
from toolplan.plan.path import EVERY
from toolplan.plan.text.loose import Span

CLEAR = DIALECTS["clear"]
RECORDED = Path(__file__).parents[5] / "shared" / "data" / "clearai_recorded_plans.json"


def parse(*steps: object, **more: object) -> Parsed:
    return CLEAR.parse(json.dumps({"steps": steps, **more}))


def places(parsed: Parsed) -> list[tuple[str, str]]:
    return [(each.code, each.pointer) for each in parsed.diagnostics]


def argument(text: object) -> object:
    """Return what `text` reads as, where it is an argument of a second step."""
    parsed = parse({"tool": "t"}, {"tool": "t", "params": {"x": text}})
    assert parsed.diagnostics == ()
    assert parsed.plan is not None
    return parsed.plan.steps[1].args["x"]


def test_f000_2_a_step_needs_only_its_tool() -> None:
    assert parse({"tool": "a"}, {"tool": "b", "params": {"n": 1}, "parallel": True}) == Parsed(
        Plan((Step("s0", "a"), Step("s1", "b", {"n": Literal(1)})))
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${step[0].data.field}", Ref("s0", ("data", "field"))),
        ("${step[0].data[3].field}", Ref("s0", ("data", 3, "field"))),
        ("${step[0].data[0].facility.name}", Ref("s0", ("data", 0, "facility", "name"))),
        ("${step[0].data.*.id}", Ref("s0", ("data", EVERY, "id"))),
        ("${step[0].data[*].facility.id}", Ref("s0", ("data", EVERY, "facility", "id"))),
        ("${step[0]}", Ref("s0")),
        ("${step[0][1]}", Ref("s0", (1,))),
        ('${step[0].data["full name"]}', Ref("s0", ("data", "full name"))),
        ("n ${step[0].n} $5", Template(("n ", Ref("s0", ("n",)), " $5"))),
        ("$${step[0].n}", Literal("${step[0].n}")),
        ("$$${step[0]}", Template(("$", Ref("s0")))),
        ("step[0].data", Literal("step[0].data")),
        ("{step[0]}", Literal("{step[0]}")),
    ],
)
def test_f000_16_17_18_references_are_read_wherever_they_stand(text: str, value: object) -> None:
    assert argument(text) == value
    assert argument([text, {"deep": text}]) != Literal([text, {"deep": text}]) or value == Literal(
        text
    )


@pytest.mark.parametrize(
    "text",
    [
        "${today}", "${step}", "${step[]}", "${step[-1].data}", "${step[01].data}", "${step[0]",
        "${step[0].}", "${step[0].data[-1]}", "${ step[0] }", "${step0.data}", "${steps[0].data}",
        "${step[1.5]}", "${}", "${step[0].data.*.id", "${${step[0]}}", "${step[9999999999]}",
    ],
)  # fmt: skip
def test_p31_p34_anything_else_in_a_reference_is_refused(text: str) -> None:
    parsed = parse({"tool": "t"}, {"tool": "t", "params": {"x": {"y": ["", text]}}})
    assert places(parsed) == [("reference-syntax", "/steps/1/args/x/y/1")]
    assert parsed.diagnostics[0].step == "s1"
    assert "${step[0].data.*.id}" in (parsed.diagnostics[0].help or "")
    assert parsed.plan is not None
    assert parsed.plan.steps[1].args["x"] == Literal({"y": ["", text]})


@pytest.mark.parametrize("name", ["depends_on", "dependsOn"])
def test_f000_20_c15_order_is_what_is_declared_beyond_the_references(name: str) -> None:
    plan = parse(
        {"tool": "a"},
        {"tool": "b"},
        {"tool": "c"},
        {"tool": "d", "params": {"x": ["${step[1].id}"]}, name: [2, 1, 0, 2]},
        {"tool": "e", "params": {"x": "${step[3]}"}},
    ).plan
    assert plan is not None
    assert [step.after for step in plan.steps] == [(), (), (), ("s0", "s2"), ()]


def test_f000_21_a_later_step_and_a_cycle_are_left_to_the_rules() -> None:
    parsed = parse({"tool": "a", "depends_on": [1]}, {"tool": "b", "depends_on": [0]})
    assert parsed.diagnostics == ()


def test_c14_parallel_is_advice_and_is_derived_when_printed() -> None:
    flags = [True, False, None]
    one, two, three = (
        parse({"tool": "a"}, {"tool": "b"}, {"tool": "c", "depends_on": [0]} | more)
        for more in ({"parallel": True}, {"parallel": False}, dict[str, bool]())
    )
    assert one == two == three
    assert one.plan is not None
    printed = json.loads(CLEAR.print(one.plan))
    assert [step["parallel"] for step in printed["steps"]] == [True, True, False]
    assert [step["depends_on"] for step in printed["steps"]] == [[], [], [0]]
    assert json.loads(CLEAR.print(Plan((Step("a", "t"),))))["steps"][0]["parallel"] is False
    assert len(flags) == 3


def test_f000_3_metadata_is_kept_and_the_timestamp_has_its_canonical_name() -> None:
    metadata = {"query": "q", "timestamp": "2025-10-12T10:00:00Z", "estimated_duration_ms": 500}
    parsed = parse({"tool": "a"}, metadata=metadata)
    assert parsed.plan is not None
    assert parsed.plan.metadata == {
        "query": "q",
        "created_at": "2025-10-12T10:00:00Z",
        "estimated_duration_ms": 500,
    }
    assert json.loads(CLEAR.print(parsed.plan))["metadata"] == metadata


@pytest.mark.parametrize("document", ["{}", '{"steps": {}}', '{"steps": []}', "[]"])
def test_f000_22_p03_a_plan_has_a_list_of_steps_with_one_at_least(document: str) -> None:
    parsed = CLEAR.parse(document)
    assert len(parsed.diagnostics) == 1
    assert parsed.diagnostics[0].code in {"missing-field", "field-type", "empty-plan"}


@pytest.mark.parametrize(
    ("pointer", "text"),
    [
        ("/steps/1/args/x", '"${today}"'),
        ("/steps/1/args/nothing", '"params"'),
        ("/steps/1/after", "[0]"),
        ("/steps/1/after/0", "0"),
        ("/steps/0/after", "[]"),
        ("/steps/1/tool", '"u"'),
        ("/metadata/created_at", '"now"'),
    ],
)
def test_places_of_the_canonical_plan_are_found_in_the_text(pointer: str, text: str) -> None:
    source = (
        'Hi {there}:\n{"steps": [{"tool": "t", "dependsOn": []}, {"tool": "u", "params": '
        '{"x": "${today}"}, "depends_on": [0]}], "metadata": {"timestamp": "now"}}'
    )
    span = CLEAR.locate(source, pointer)
    assert isinstance(span, Span)
    assert source[span.start : span.end] == text


def test_clear_names_everything_that_it_cannot_say() -> None:
    step = Step(
        "a",
        "t",
        {"x": Ref("item", ("id",)), "y": Ref("gone")},
        for_each=Literal([1]),
        max_items=3,
        when=When(Literal(1), True),
        on_error="continue",
        timeout_s=1.0,
        retries=1,
        thought="hm",
    )
    with pytest.raises(CannotExpress) as caught:
        CLEAR.print(Plan((step,), Ref("a")))
    assert [(each.code, each.pointer) for each in caught.value.diagnostics] == [
        ("cannot-express", "/output"),
        ("cannot-express", "/steps/0/for_each"),
        ("cannot-express", "/steps/0/max_items"),
        ("cannot-express", "/steps/0/when"),
        ("cannot-express", "/steps/0/on_error"),
        ("cannot-express", "/steps/0/timeout_s"),
        ("cannot-express", "/steps/0/retries"),
        ("cannot-express", "/steps/0/thought"),
        ("cannot-express", "/steps/0/args/x"),
        ("cannot-express", "/steps/0/args/y"),
    ]


def test_names_of_steps_become_positions() -> None:
    plan = Plan(
        (
            Step("b", "t", {"x": Literal("${a}")}),
            Step("s0", "u", {"x": Ref("b", ("data", EVERY))}, ("b", "z")),
            Step("z", "v"),
        )
    )
    printed = json.loads(CLEAR.print(plan))
    assert printed["steps"][0]["params"] == {"x": "$${a}"}
    assert printed["steps"][1]["params"] == {"x": "${step[0].data.*}"}
    assert printed["steps"][1]["depends_on"] == [0, 2]


def test_c15_all_recorded_plans_are_read_and_only_today_is_refused() -> None:
    if not RECORDED.exists():
        pytest.skip("the recorded plans are not on this machine")
    rows: list[dict[str, Any]] = json.loads(RECORDED.read_text("utf-8"))
    assert len(rows) == 20
    refused = undeclared = 0
    for row in rows:
        parsed = CLEAR.parse(json.dumps({"steps": row["steps"]}))
        assert parsed.plan is not None
        codes = [each.code for each in parsed.diagnostics]
        refused += codes.count("reference-syntax")
        undeclared += codes.count("undeclared-dependency")
        assert set(codes) <= {"reference-syntax", "undeclared-dependency"}
        assert CLEAR.parse(CLEAR.print(parsed.plan)).plan == parsed.plan
    assert refused == 1
    missing = [
        set(re.findall(r"step\[(\d+)\]", json.dumps(step["params"])))
        - set(map(str, step["dependsOn"]))
        for row in rows
        for step in row["steps"]
    ]
    assert undeclared == sum(map(len, missing)) > 0


def test_a_reference_that_is_not_declared_is_reported_and_does_no_harm() -> None:
    """C-15, F000-20: nested values and every match count, each step once, in order."""
    text = json.dumps(
        {
            "steps": [
                {"tool": "a"},
                {"tool": "b"},
                {
                    "tool": "c",
                    "params": {"x": [{"y": "${step[1].id} and ${step[0].id}"}], "z": "${step[0]}"},
                    "depends_on": [1],
                },
            ]
        }
    )
    plan, diagnostics = CLEAR.parse(text)
    assert [(d.code, d.severity.value, d.fixed, d.pointer) for d in diagnostics] == [
        ("undeclared-dependency", "warning", True, "/steps/2/after")
    ]
    assert plan is not None
    assert json.loads(CLEAR.print(plan))["steps"][2]["depends_on"] == [0, 1]
