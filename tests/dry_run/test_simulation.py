"""The dry run: faults found with sample values, without calling a tool."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import asdict

from tests.dry_run._described import ROWS, Tools, called
from tests.plans_strategy import execution_plan
from toolplan.app.dry_run.report import CallBounds, DryRun, Fault
from toolplan.app.dry_run.simulation import MAX_SCENARIOS, simulate
from toolplan.engine import CannotRun
from toolplan.events import StepState
from toolplan.plan.model import (
    Array,
    Limits,
    Literal,
    Object,
    Plan,
    Ref,
    Step,
    Template,
    Value,
    When,
)
from toolplan.plan.path import EVERY, Json
from toolplan.schema import Schema
from toolplan.schema.tool import Arguments, ComputedOutput, Effects, Tool, Toolbox

SKIPPED, SUCCEEDED = StepState.SKIPPED, StepState.SUCCEEDED


def faults(dry: DryRun) -> list[tuple[str, str, str]]:
    return [(fault.step, fault.code, fault.pointer) for fault in dry.faults]


def lost(dry: DryRun) -> list[str]:
    return [each.step for each in dry.unchecked]


def many(count: int) -> Json:
    """Return the schema of a list of at least `count`."""
    return {"type": "array", "items": {"type": "integer"}, "minItems": count}


def test_a_sound_plan_has_no_fault_and_no_tool_is_called() -> None:
    tools = Tools().add("rows", ROWS).add("show", {}, name={"type": "string"})
    dry = tools.dry(
        Step("a", "rows"),
        Step("b", "show", {"name": Ref("item", ("place", "city"))}, for_each=Ref("a", ("data",))),
    )
    assert dry.succeeded
    assert dry.unchecked == ()
    assert [scenario.description for scenario in dry.scenarios] == ["every step runs"]
    assert dry.scenarios[0].states == {"a": SUCCEEDED, "b": SUCCEEDED}


def test_a_wrong_path_behind_what_may_be_null_is_found() -> None:
    tools = Tools().add("rows", ROWS).add("show", {}, name={"type": "string"})
    wrong = Ref("a", ("data", 0, "place", "town"))
    dry = tools.dry(Step("a", "rows"), Step("b", "show", {"name": wrong}), Step("c", "rows"))
    assert faults(dry) == [("b", "reference-missing", "/args/name")]
    assert "has no key 'town'" in dry.faults[0].message
    assert dry.scenarios[0].states["c"] is SUCCEEDED


def test_a_list_that_is_always_too_long_is_found() -> None:
    tools = (
        Tools().add("five", many(5)).add("rows", {"type": "object", "properties": {"n": many(9)}})
    )
    tools.add("show", {}, n={"type": "integer"})
    item: dict[str, Value] = {"n": Ref("item")}
    dry = tools.dry(
        Step("a", "five"),
        Step("b", "show", item, for_each=Ref("a"), max_items=3),
        Step("c", "rows"),
        Step("d", "show", item, for_each=Ref("c", ("n", EVERY)), max_items=8),
        Step("e", "show", item, for_each=Ref("a"), max_items=5),
    )
    assert faults(dry) == [
        ("b", "too-many-items", "/for_each"),
        ("d", "too-many-items", "/for_each"),
    ]
    assert dry.calls["e"] == CallBounds(5, 5)


def test_a_list_that_may_be_short_enough_is_no_fault() -> None:
    tools = Tools().add("list", {"type": "array", "items": {}}).add("show")
    dry = tools.dry(
        Step("a", "list"),
        Step("b", "show", for_each=Ref("a"), max_items=1),
        Step("c", "show", for_each=Ref("a"), max_items=0),
    )
    assert dry.succeeded
    assert dry.unchecked == ()


def test_both_sides_of_every_condition_are_simulated() -> None:
    tools = Tools().add("ask", {"type": "object", "properties": {"ok": {"type": "boolean"}}})
    tools.add("show", {}, text={"type": "integer"})
    holds: Json = {"const": True}
    fails: Json = {"const": False}
    ok = Ref("ask", ("ok",))
    dry = tools.dry(
        Step("ask", "ask"),
        Step("yes", "show", {"text": Literal(1)}, when=When(ok, holds)),
        Step("no", "show", {"text": Ref("ask", ("ok",))}, when=When(ok, fails)),
        Step("then", "show", {"text": Literal(1)}, after=("yes",)),
    )
    assert faults(dry) == [("no", "argument-type", "/args/text")]
    assert [(d.description, d.states["yes"], d.states["no"]) for d in dry.scenarios] == [
        ("every condition holds", SUCCEEDED, StepState.FAILED),
        ("no condition holds", SKIPPED, SKIPPED),
        ("every condition but that of 'yes' holds", SKIPPED, StepState.FAILED),
        ("every condition but that of 'no' holds", SUCCEEDED, SKIPPED),
    ]
    assert all(scenario.states["then"] is SUCCEEDED for scenario in dry.scenarios)
    assert dry.faults[0].scenario == "every condition holds"


NOTHING = Ref("a", ("nothing",))


@pytest.mark.parametrize(
    ("step", "found"),
    [
        (Step("b", "rows", when=When(NOTHING, {"const": 3})), "reference-missing /when/value"),
        (Step("b", "rows", {"x": NOTHING}, on_error="continue"), "reference-missing /args/x"),
        (
            Step("b", "show", {"n": Template(("about ", Ref("a", ("data", 0, "weight"))))}),
            "argument-type /args/n",
        ),
        (Step("b", "show", {"n": Literal(6)}), "argument-value /args/n"),
        (Step("b", "show", {"m": Literal(6)}), "unknown-argument /args"),
    ],
)
def test_what_fails_with_any_value_is_a_fault(step: Step, found: str) -> None:
    tools = Tools().add("rows", ROWS).add("show", {}, n={"type": "integer", "maximum": 5})
    (fault,) = tools.dry(Step("a", "rows"), step).faults
    assert (fault.step, f"{fault.code} {fault.pointer}") == ("b", found)


def test_an_output_that_cannot_be_had_is_a_fault() -> None:
    tools = Tools().add("rows", ROWS)
    dry = tools.dry(Step("a", "rows"), output=Array((Ref("a", ("data",)), NOTHING)))
    assert faults(dry) == [("", "reference-missing", "/output/1")]


def test_many_conditions_are_simulated_a_bounded_number_of_times() -> None:
    tools = Tools().add("rows", ROWS)
    when = When(Literal(1), {"const": 1})
    dry = tools.dry(*(Step(f"s{at}", "rows", when=when) for at in range(100)))
    assert len(dry.scenarios) <= MAX_SCENARIOS
    assert dry.succeeded
    assert dry.unchecked == ()
    for at in range(100):  # each holds in some scenario, and in some other one it does not
        assert {scenario.states[f"s{at}"] for scenario in dry.scenarios[2:]} == {SKIPPED, SUCCEEDED}
    assert "from 's0' to 's3'" in dry.scenarios[2].description


def test_what_reads_an_unknown_output_is_unchecked_and_no_fault() -> None:
    tools = Tools().add("search").add("show", {}, x={"type": "integer"})
    dry = tools.dry(
        Step("a", "search"),
        Step("b", "show", {"x": Ref("a", ("total",))}),
        Step("c", "show", {"x": Literal(1)}, after=("b",)),
        Step("d", "show", {"x": Ref("b", ("y",))}),
        Step("e", "show", {"x": Ref("item", ("n",))}, for_each=Ref("a")),
    )
    assert dry.succeeded
    assert [(each.step, each.reason) for each in dry.unchecked] == [
        ("b", "No schema declares the type of ${a.total}, at /args/x."),
        ("d", "It needs step 'b'."),
        ("e", "No schema declares the type of ${item.n}, at /args/x."),
    ]
    assert dry.scenarios[0].states == {"a": SUCCEEDED, "c": SUCCEEDED}


def test_an_open_object_promises_nothing() -> None:
    tools = Tools().add("any", {"type": "object"}).add("show")
    dry = tools.dry(Step("a", "any"), Step("b", "show", {"x": Ref("a", ("total",))}))
    assert dry.succeeded
    assert lost(dry) == ["b"]


def test_sample_values_fit_who_reads_them() -> None:
    record: dict[str, Json] = {
        "day": {"type": "string"},
        "kind": {"type": "string"},
        "size": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "late": {
            "anyOf": [
                {"type": "object", "properties": {"no": {}}},
                {"type": "object", "properties": {"at": {"type": "string"}}},
            ]
        },
    }
    tools = Tools().add("get", {"type": "array", "items": {"type": "object", "properties": record}})
    tools.add(
        "show",
        {},
        day={"type": "string", "format": "date"},
        kind={"enum": ["wood", "glass"]},
        size={"type": "integer", "minimum": 100},
        tags={"type": "array", "items": {"enum": ["x", "y"]}},
        late={"type": "string"},
    )
    args = {name: Ref("a", (3, name)) for name in ("day", "kind", "size", "tags")}
    dry = tools.dry(
        Step("a", "get"),
        Step("b", "show", {**args, "late": Ref("a", (3, "late", "at"))}),
        Step("c", "show", {"kind": Ref("item", ("kind",))}, for_each=Ref("a", (EVERY,))),
        Step("d", "show", {"tags": Ref("a", (EVERY, "tags", 0))}),
        output=Object((("third", Ref("a", (2, "day"))),)),
    )
    assert (dry.faults, dry.unchecked) == ((), ())


def test_readers_that_want_different_things_are_not_blamed() -> None:
    tools = Tools().add("get", {"type": "object", "properties": {"k": {"type": "string"}}})
    tools.add("one", {}, x={"enum": ["a"]}).add("other", {}, x={"enum": ["b"]})
    ref = Ref("g", ("k",))
    dry = tools.dry(Step("g", "get"), Step("o", "one", {"x": ref}), Step("p", "other", {"x": ref}))
    assert dry.succeeded
    assert lost(dry) == ["p"]
    assert dry.unchecked[0].reason.startswith("With sample values: ")


def test_a_fault_is_reported_once_and_what_comes_behind_it_is_unchecked() -> None:
    tools = Tools().add("rows", ROWS)
    when = When(Literal(1), {"const": 1})
    dry = tools.dry(
        Step("a", "rows"),
        Step("b", "rows", {"x": Ref("a", ("nothing",))}),
        Step("c", "rows", {"x": Ref("b", ("data",))}),
        *(Step(f"s{at}", "rows", when=when) for at in range(3)),
    )
    assert faults(dry) == [("b", "reference-missing", "/args/x")]
    assert [(each.step, each.reason) for each in dry.unchecked] == [("c", "It needs step 'b'.")]


def test_alternatives_that_a_sample_value_misses_are_no_fault() -> None:
    def choice(a: Json, b: Json) -> Json:
        return {"type": "object", "properties": {"a": a, "b": b}, "required": ["a", "b"]}

    one = choice({"type": "integer"}, {"type": "string"})
    two = choice({"type": "string"}, {"type": "string", "pattern": "^(?=.*q).{9}$|^qqqqqqqqq$"})
    tools = Tools().add("get", {"type": "object", "properties": {"k": {"type": "string"}}})
    tools.add("show", {}, x={"anyOf": [one, two]})
    value = Object((("a", Literal("s")), ("b", Template(("t ", Ref("g", ("k",)))))))
    assert tools.dry(Step("g", "get"), Step("s", "show", {"x": value})).faults == ()


def test_calls_are_bounded_from_below_and_above() -> None:
    tools = Tools().add("rows", ROWS).add("few", _object("data"))
    tools.add("write", {}, Effects.WRITE, x={}).add("put", {}, Effects.WRITE, True, x={})
    x: dict[str, Value] = {"x": Ref("item")}
    dry = tools.dry(
        Step("a", "rows", retries=2),
        Step("b", "few"),
        Step("c", "write", x, for_each=Literal([1, 2, 3])),
        Step("d", "write", x, for_each=Ref("a", ("data",)), max_items=50),
        Step("e", "put", x, for_each=Ref("b", ("data",)), retries=1),
        Step("f", "rows", when=When(Literal(1), {"const": 1})),
        Step("g", "write", {"x": Ref("f", ("data",))}),
        Step("h", "rows", after=("f",)),
    )
    assert dry.faults == ()
    assert dry.calls == {
        "a": CallBounds(1, 3),
        "b": CallBounds(1, 1),
        "c": CallBounds(3, 3),
        "d": CallBounds(0, 50),
        "e": CallBounds(2, 8),
        "f": CallBounds(0, 1),
        "g": CallBounds(0, 1),
        "h": CallBounds(1, 1),
    }
    assert dry.total == CallBounds(8, 68)
    assert [(e.step, e.effects, e.calls.most) for e in dry.effects] == [
        ("c", Effects.WRITE, 3),
        ("d", Effects.WRITE, 50),
        ("e", Effects.WRITE, 8),
        ("g", Effects.WRITE, 1),
    ]


def _object(name: str) -> dict[str, Json]:
    listed: Json = {"type": "array", "items": {}, "minItems": 2, "maxItems": 4}
    return {"type": "object", "properties": {name: listed}}


def test_more_calls_than_a_run_may_make_are_a_fault() -> None:
    tools = Tools().add("show")
    step = Step("a", "show", for_each=Literal([0, 0, 0, 0, 0]))
    assert faults(tools.dry(step, limits=Limits(calls=4))) == [("a", "too-many-calls", "")]
    assert tools.dry(step, limits=Limits(calls=5)).succeeded


def test_a_tool_that_computes_its_output_is_simulated_by_what_it_computes() -> None:
    count: Json = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    def compute(args: Mapping[str, Json], schemas: Mapping[str, Any]) -> ComputedOutput:
        return ComputedOutput(Schema.load(count))

    async def call(args: Arguments) -> Json:
        raise called()

    tool = Tool("sql", "", {}, {"type": "object"}, Effects.READ, call=call, compute_output=compute)
    steps = (
        Step("a", "sql"),
        Step("b", "sql", {"x": Ref("a", ("n",))}),
        Step("c", "sql", {"x": Ref("item", ("n",))}, for_each=Ref("many")),
        Step("many", "sql", for_each=Literal([1, 2])),
    )
    plan = execution_plan(Plan(steps), Toolbox([tool]))
    dry = asyncio.run(simulate(plan, [tool]))
    assert dry.succeeded
    assert dry.unchecked == ()


def test_tools_that_are_only_described_will_do() -> None:
    tool = Tool("rows", "", {}, ROWS)
    dry = asyncio.run(simulate(execution_plan(Plan((Step("a", "rows"),))), [tool]))
    assert dry.succeeded
    assert dry.effects[0].effects is Effects.UNKNOWN


def test_a_plan_whose_tools_are_not_there_cannot_be_simulated() -> None:
    with pytest.raises(CannotRun):
        asyncio.run(simulate(execution_plan(Plan((Step("a", "rows"),))), []))


def test_a_time_limit_has_no_say_in_a_dry_run() -> None:
    assert Tools().add("rows", ROWS).dry(Step("a", "rows", timeout_s=1e-9)).succeeded


def test_the_wire_form_says_all() -> None:
    dry = (
        Tools()
        .add("put", ROWS, Effects.WRITE)
        .dry(Step("a", "put"), Step("b", "put", {"x": Ref("a", ("no",))}))
    )
    assert dry.to_json() == {
        "faults": [asdict(dry.faults[0])],
        "may_fail": [],
        "scenarios": [
            {"description": "every step runs", "states": {"a": "succeeded", "b": "failed"}}
        ],
        "calls": {"a": {"least": 1, "most": 1}, "b": {"least": 1, "most": 1}},
        "total": {"least": 2, "most": 2},
        "limit": 10_000,
        "effects": [
            {"step": name, "tool": "put", "effects": "write", "calls": {"least": 1, "most": 1}}
            for name in ("a", "b")
        ],
        "unchecked": [],
    }
    assert isinstance(dry.faults[0], Fault)
