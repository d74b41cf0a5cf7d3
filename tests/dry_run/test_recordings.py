"""The dry run with results that tools gave before: they show what may fail, and prove nothing."""

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from tests.dry_run._described import ROWS, Tools
from tests.plans_strategy import execution_plan
from toolplan.app.dry_run.report import CallBounds, DryRun, MayFail
from toolplan.app.dry_run.simulation import simulate
from toolplan.events import StepState
from toolplan.plan.model import Array, Literal, Object, Plan, Ref, Step, Template, When
from toolplan.plan.path import Json
from toolplan.schema import Schema
from toolplan.schema.tool import ComputedOutput, Effects, Tool, Toolbox

FOUR: Json = {"data": [{"id": str(at), "weight": at} for at in range(4)]}


def possible_failures(dry: DryRun) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(each.step, each.code, each.pointer, each.tools) for each in dry.may_fail]


def rows() -> Tools:
    return Tools().add("rows", ROWS).add("show", ROWS, x={}, name={"type": "string"})


def test_a_list_that_was_too_long_before_is_no_fault() -> None:
    dry = rows().dry(
        Step("a", "rows"),
        Step("b", "show", for_each=Ref("a", ("data",)), max_items=2),
        recordings={"rows": [FOUR], "unused": [4]},
    )
    assert dry.succeeded
    assert dry.may_fail == (
        MayFail(
            "b",
            "too-many-items",
            "There are 4 items, and at most 2 are allowed.",
            "/for_each",
            "every step runs, recordings from 1",
            ("rows",),
        ),
    )
    assert dry.unchecked == ()
    (wire,) = [each for each in [dry.to_json()["may_fail"]] if isinstance(each, list)]
    assert wire == [{**asdict(dry.may_fail[0]), "tools": ["rows"]}]


def test_an_index_that_was_not_there_before_is_no_fault() -> None:
    dry = rows().dry(
        Step("a", "rows"),
        Step("b", "show", {"name": Ref("a", ("data", 5, "id"))}),
        Step("c", "show", {"x": Object((("deep", Ref("a", ("data", 5, "id"))),))}),
        recordings={"rows": [FOUR]},
    )
    assert dry.succeeded
    assert possible_failures(dry) == [
        ("b", "reference-missing", "/args/name", ("rows",)),
        ("c", "reference-missing", "/args/x", ("rows",)),
    ]


def test_what_must_fail_is_a_fault_though_there_are_recordings() -> None:
    many: Json = {"type": "array", "items": {"type": "integer"}, "minItems": 5}
    tools = rows().add("many", many).add("count", {}, n={"type": "integer"})
    dry = tools.dry(
        Step("a", "rows"),
        Step("m", "many"),
        Step("b", "show", {"name": Ref("a", ("nothing",))}),
        Step("c", "show", for_each=Ref("m"), max_items=3),
        Step("d", "count", {"n": Template(("about ", Ref("a", ("data", 0, "id"))))}),
        Step("e", "count", {"n": Literal("x")}),
        Step("f", "count", {"n": Ref("item")}, for_each=Literal([1, "x"])),
        recordings={"rows": [FOUR], "many": [[1, 2, 3, 4, 5]], "show": [FOUR], "count": [0]},
    )
    assert [(each.step, each.code) for each in dry.faults] == [
        ("b", "reference-missing"),
        ("c", "too-many-items"),
        ("d", "argument-type"),
        ("e", "argument-type"),
        ("f", "argument-type"),
    ]
    assert {each.scenario for each in dry.faults} == {"every step runs"}
    assert dry.may_fail == ()


def test_a_fault_behind_what_may_fail_is_found() -> None:
    dry = rows().dry(
        Step("a", "rows"),
        Step("b", "show", for_each=Ref("a", ("data",)), max_items=2),
        Step("c", "show", {"name": Ref("b", (0, "nothing"))}),
        recordings={"rows": [FOUR]},
    )
    assert [(each.step, each.pointer) for each in dry.faults] == [("c", "/args/name")]
    assert [each.step for each in dry.may_fail] == ["b"]


def test_steps_behind_one_that_only_recordings_get_to_are_unchecked_where_it_fails() -> None:
    dry = (
        rows()
        .add("search")
        .dry(
            Step("a", "search"),
            Step("b", "show", for_each=Ref("a"), max_items=2),
            Step("c", "show", {"x": Ref("b", (0, "nothing"))}),
            recordings={"search": [[1, 2, 3]]},
        )
    )
    assert possible_failures(dry) == [("b", "too-many-items", "/for_each", ("search",))]
    assert dry.succeeded
    assert [(each.step, each.reason) for each in dry.unchecked] == [("c", "It needs step 'b'.")]


def test_a_recording_shows_what_no_schema_says() -> None:
    tools = Tools().add("search").add("show", {}, count={"type": "integer"})
    steps = (Step("a", "search"), Step("b", "show", {"count": Ref("a", ("hits", "total"))}))
    good: Json = {"hits": {"total": 3}}
    assert [each.step for each in tools.dry(*steps).unchecked] == ["b"]
    sound = tools.dry(*steps, recordings={"search": [good]})
    assert (sound.faults, sound.may_fail, sound.unchecked) == ((), (), ())
    dry = tools.dry(*steps, recordings={"search": [good, {"hits": {"total": "3"}}, {"hits": {}}]})
    assert dry.succeeded
    assert [(f.code, f.scenario) for f in dry.may_fail] == [
        ("argument-type", "every step runs, recordings from 2"),
        ("reference-missing", "every step runs, recordings from 3"),
    ]


def test_a_recording_that_its_tool_does_not_declare_may_come_again() -> None:
    recordings: dict[str, list[Json]] = {"rows": [{"data": [{"weight": 3}]}]}
    dry = rows().dry(Step("a", "rows"), recordings=recordings)
    assert dry.succeeded
    assert possible_failures(dry) == [("a", "result-schema", "", ("rows",))]


def test_a_condition_and_an_output_may_miss_what_was_not_given_before() -> None:
    weight = Ref("a", ("data", 0, "weight"))
    dry = rows().dry(
        Step("a", "rows"),
        Step("b", "show", when=When(weight, {"minimum": 3})),
        output=weight,
        recordings={"rows": [{"data": []}]},
    )
    assert dry.succeeded
    assert possible_failures(dry) == [
        ("b", "reference-missing", "/when/value", ("rows",)),
        ("", "reference-missing", "/output", ("rows",)),
    ]


def test_all_tools_are_named_whose_results_a_step_failed_with() -> None:
    dry = rows().dry(
        Step("a", "rows"),
        Step("m", "show"),
        Step("b", "show", {"x": Array((Ref("m"), Ref("a", ("data", 4))))}),
        Step("c", "rows", {"x": Array((Ref("b", ("data", 9)), Ref("a", ("data", 4))))}),
        recordings={"rows": [FOUR], "show": [FOUR]},
    )
    assert dry.succeeded
    assert possible_failures(dry) == [("b", "reference-missing", "/args/x", ("show", "rows"))]


def test_a_recording_is_named_where_the_step_works_with_sample_values() -> None:
    dry = rows().dry(
        Step("a", "rows"),
        Step("m", "show"),
        Step("b", "show", {"x": Array((Ref("m"), Ref("a", ("data", 4))))}),
        recordings={"rows": [FOUR]},
    )
    assert possible_failures(dry) == [("b", "reference-missing", "/args/x", ("rows",))]
    assert dry.unchecked == ()


def test_null_in_place_of_a_failed_step_is_not_what_its_tool_gave() -> None:
    dry = rows().dry(
        Step("a", "rows"),
        Step("b", "show", {"x": Ref("a", ("data", 5))}, on_error="continue"),
        Step("c", "show", {"x": Ref("b", ("data",))}),
        recordings={"rows": [FOUR], "show": [FOUR]},
    )
    assert dry.succeeded
    assert [each.step for each in dry.may_fail] == ["b"]
    assert dry.unchecked == ()


def test_recordings_do_not_narrow_what_is_said_of_calls() -> None:
    listed: Json = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 4}
    tools = rows().add("few", listed)
    step = Step("b", "show", {"x": Ref("item")}, for_each=Ref("a"))
    dry = tools.dry(Step("a", "few"), step, recordings={"few": [[1, 2, 3]]})
    assert dry.calls["b"] == CallBounds(2, 4)


def test_what_another_call_computed_is_not_taken_for_what_this_one_gives() -> None:
    count: Json = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    def compute(args: Mapping[str, Json], schemas: Mapping[str, Any]) -> ComputedOutput:
        return ComputedOutput(Schema.load(count))

    tool = Tool("sql", "", {}, {"type": "object"}, Effects.READ, compute_output=compute)
    plan = execution_plan(
        Plan((Step("a", "sql"), Step("b", "sql", {"x": Ref("a", ("n",))}))), Toolbox([tool])
    )
    recordings: dict[str, list[Json]] = {"sql": [{"name": "Ann"}]}
    dry = asyncio.run(simulate(plan, [tool], recordings=recordings))
    assert (dry.faults, dry.may_fail, dry.unchecked) == ((), (), ())
    assert {*dry.scenarios[0].states.values()} == {StepState.SUCCEEDED}
