"""From text to a plan that may run: fixes, rounds, order, digest."""

import inspect
import json
import pydoc
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import toolplan
from toolplan import Effects, Policy, Tool, Toolbox, ToolplanError
from toolplan.compiler import examine, output_schemas
from toolplan.plan.canonical import dump, load
from toolplan_demo import TOOLS

READ: dict[str, Any] = {"readOnlyHint": True}
ROWS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "data": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "string"}}},
        }
    },
}


def box(**changes: Any) -> Toolbox:
    """Return a small toolbox; `changes` are put into the tool `orders`."""
    orders: dict[str, Any] = {
        "name": "orders",
        "description": "Lists orders.",
        "input_schema": {
            "type": "object",
            "x-aliases": ["orders_list"],
            "properties": {"customer": {"type": "string"}, "limit": {"type": "integer"}},
        },
        "output_schema": ROWS,
        "annotations": READ,
    }
    return Toolbox.from_json(
        [
            {"name": "customers", "input_schema": {}, "output_schema": ROWS, "annotations": READ},
            {**orders, **changes},
            {"name": "ship", "input_schema": {"properties": {"id": {"type": "string"}}}},
        ]
    )


def text(*steps: dict[str, Any], **more: Any) -> str:
    return json.dumps({"toolplan": 1, "steps": list(steps), **more})


C = {"id": "c", "tool": "customers"}


def test_a_good_plan_becomes_an_execution_plan() -> None:
    compiled = toolplan.compile_plan(
        text({"id": "o", "tool": "orders", "args": {"customer": "${c.data[0].id}"}}, C), tools=box()
    )
    assert compiled.diagnostics == ()
    assert compiled.plan is not None
    assert compiled.plan.order == ("c", "o")
    assert compiled.plan.needs == {"o": ("c",), "c": ()}
    assert compiled.plan.effects == ()
    assert compiled.plan.signatures["orders"].inputs == ("customer", "limit")


def test_there_is_a_plan_exactly_when_no_error_is_left() -> None:
    bad = toolplan.compile_plan(text({"id": "a", "tool": "zebra"}), tools=box())
    assert bad.plan is None
    assert bad.draft is not None
    fixed = toolplan.compile_plan(text({"id": "a", "tool": "order"}), tools=box())
    assert fixed.plan is not None
    assert fixed.plan.plan.steps[0].tool == "orders"
    assert [(each.code, each.fixed) for each in fixed.diagnostics] == [("unknown-tool", True)]


def test_an_old_name_of_a_tool_is_replaced_and_reported() -> None:
    """C-02."""
    compiled = toolplan.compile_plan(text({"id": "a", "tool": "orders_list"}), tools=box())
    assert compiled.plan is not None
    assert compiled.plan.plan.steps[0].tool == "orders"
    assert [(d.code, d.severity.value, d.fixed) for d in compiled.diagnostics] == [
        ("tool-alias", "warning", True)
    ]


def test_what_one_mistake_hid_is_found_in_the_next_round() -> None:
    """A misspelt tool hides a misspelt argument, which hides a wrong type."""
    compiled = toolplan.compile_plan(
        text({"id": "a", "tool": "order", "args": {"limitt": "ten"}}), tools=box()
    )
    assert compiled.plan is None
    assert [(each.code, each.fixed) for each in compiled.diagnostics] == [
        ("unknown-tool", True),
        ("unknown-argument", True),
        ("argument-type", False),
    ]


def test_a_list_into_a_scalar_becomes_a_fan_out_for_all_who_read_it() -> None:
    """C-03."""
    compiled = toolplan.compile_plan(
        text(
            C,
            {"id": "o", "tool": "orders", "args": {"customer": "${c.data[*].id}"}},
            {"id": "p", "tool": "orders", "args": {"customer": "${o.data[0].id}"}},
            output="all: ${o.data[*].id}",
        ),
        tools=box(),
    )
    assert [(each.code, each.step, each.fixed) for each in compiled.diagnostics][:1] == [
        ("list-into-scalar", "o", True)
    ]
    assert compiled.draft is not None
    document: Any = dump(compiled.draft)
    _, o, p = document["steps"]
    assert o["for_each"] == "${c.data[*].id}"
    assert o["args"] == {"customer": "${item}"}
    # what was the first order is now that of every customer, which again is a list for one
    assert p["for_each"] == "${o[*].data[0].id}"
    assert document["output"] == "all: ${o[*].data[*].id}"


def test_what_could_not_be_read_is_reported_once() -> None:
    found = examine(text({"id": "a", "tool": "orders", "args": {"limit": "${"}}), tools=box())
    assert [each.code for each in found.diagnostics] == ["reference-syntax"]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("kirha", '<plan>[{"toolName": "facilities_list", "arguments": {"town": "{7.x}"}}]</plan>'),
        ("clear", '{"steps": [{"tool": "facilities_list", "params": {"town": "${step[7].x}"}}]}'),
        ("clear", '{"steps": [{"tool": "facilities_list", "params": {"town": "${stop[0].x}"}}]}'),
        (
            "toolplan",
            '{"steps": [{"id": "a", "tool": "facilities_list", "args": {"town": "${b}"}}]}',
        ),
        ("toolplan", '{"steps": [{"id": "a", "tool": "facilities_list", "args": {"town": "${"}}]}'),
        (
            "toolplan",
            '{"steps": [{"id": "a", "tool": "facilities_list", "args": {"town": 1e999}}]}',
        ),
        ("nestful", '[{"name": "facilities_list", "label": "$v", "arguments": {"town": "$w.x$"}}]'),
    ],
)
def test_a_value_that_cannot_be_read_hides_no_wrong_name(dialect: str, text: str) -> None:
    """F002-13: the argument does not exist, whatever its value is; of the value one is enough."""
    found = examine(text, dialect, TOOLS).diagnostics
    wrong = [each.code for each in found if each.blocks and each.pointer == "/steps/0/args/town"]
    assert "unknown-argument" in wrong
    assert len(wrong) == 2


def test_tools_that_are_not_allowed_are_refused() -> None:
    compiled = toolplan.compile_plan(text(C), tools=box(), policy=Policy(allow=("orders",)))
    assert compiled.plan is None
    assert compiled.diagnostics[0].code == "tool-not-allowed"


def test_references_that_no_schema_speaks_for_are_counted() -> None:
    compiled = toolplan.compile_plan(
        text(
            {"id": "s", "tool": "ship", "args": {"id": "x"}},
            {"id": "o", "tool": "orders", "args": {"customer": "${s.anything}"}},
        ),
        tools=box(),
    )
    assert compiled.unchecked_references == 1


def digest(plan: str, tools: Toolbox, policy: Policy | None = None) -> str:
    compiled = toolplan.compile_plan(plan, tools=tools, policy=policy or Policy())
    assert compiled.plan is not None
    return compiled.plan.digest


def test_the_digest_covers_what_runs_and_nothing_else() -> None:
    plan = text({**C, "thought": "first"}, metadata={"query": "who?"})
    same = digest(plan, box())
    assert len(same) == 64
    assert digest(text(C), box()) == same
    assert digest(text({**C, "timeout_s": 5}), box()) != same
    assert digest(text(C, output="${c}"), box()) != same
    assert digest(text(C), box(), Policy(allow=("customers",))) != same
    # a tool that is not used may change; one that is used may not
    assert digest(text(C), box(description="Lists all orders.")) == same
    orders = text({"id": "o", "tool": "orders"})
    assert digest(orders, box()) != digest(orders, box(description="Lists all orders."))


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_plans_that_differ_in_any_whole_number_have_other_digests(one: int, other: int) -> None:
    tools = Toolbox.from_json([{"name": "t", "input_schema": {}, "annotations": READ}])

    def of(number: int) -> str:
        return digest(text({"id": "a", "tool": "t", "args": {"n": number}}), tools)

    assert (of(one) == of(other)) == (one == other)


def test_output_schemas_follow_for_each_and_on_error() -> None:
    plan = load(
        json.loads(
            text(C, {"id": "o", "tool": "orders", "for_each": "${c.data}", "on_error": "continue"})
        )
    ).plan
    assert plan is not None
    schemas = output_schemas(plan, box())
    assert schemas["c"] == ROWS
    assert schemas["o"] == {"type": "array", "items": {"anyOf": [ROWS, {"type": "null"}]}}


def narrowed(tools: Toolbox) -> Toolbox:
    """Return `tools` with every argument `facility_id` taking one id, not a list (C-03)."""
    changed: list[Tool] = []
    for tool in tools.values():
        schema: Any = json.loads(json.dumps(tool.raw_input))
        if "facility_id" in schema.get("properties", {}):
            schema["properties"]["facility_id"] = {"type": "string"}
        changed.append(replace(tool, raw_input=schema))
    return Toolbox(changed)


def recorded() -> list[dict[str, Any]]:
    """Return the recorded plans of third parties, where they are."""
    path = Path(__file__).parents[2] / "shared" / "data" / "clearai_recorded_plans.json"
    if not path.exists():
        pytest.skip("the recorded plans are not on this machine")
    return json.loads(path.read_text("utf-8"))


def test_sixteen_of_twenty_recorded_plans_have_errors() -> None:
    found = [examine(json.dumps({"steps": r["steps"]}), "clear", TOOLS) for r in recorded()]
    errors = [any(d.severity.value == "error" for d in each.diagnostics) for each in found]
    assert len(errors) == 20
    assert sum(errors) >= 16
    later = [
        at
        for at, row in enumerate(recorded())
        if row["scenario"].startswith("scenario-03") and "previous" not in row["run"]
    ]
    assert [found[at].diagnostics for at in later] == [()]


def test_every_list_that_meets_one_facility_is_found() -> None:
    """C-03: with `facility_id` narrowed to one id, each step where a list meets it is found."""
    tools = narrowed(TOOLS)
    lists = reported = 0
    for row in recorded():
        found = examine(json.dumps({"steps": row["steps"]}), "clear", tools)
        expected = {
            f"/steps/{at}/args/facility_id"
            for at, step in enumerate(row["steps"])
            if ".*." in str(step["params"].get("facility_id"))
            and row["steps"][int(step["params"]["facility_id"][7])]["tool"] in tools
        }
        codes = {d.pointer for d in found.diagnostics if d.code == "list-into-scalar"}
        assert expected <= codes
        lists += len(expected)
        reported += len(codes)
    assert lists > 15
    assert reported >= lists


def test_every_tool_of_the_demo_says_its_effects() -> None:
    assert {tool.effects for tool in TOOLS.values()} == {Effects.READ, Effects.WRITE}


def test_a_plan_may_be_json_that_is_already_read() -> None:
    document = {"toolplan": 1, "steps": [C]}
    compiled = toolplan.compile_plan(document, tools=box())
    assert compiled == toolplan.compile_plan(json.dumps(document), tools=box())
    assert compiled.plan is not None
    assert toolplan.parse(document).plan == compiled.plan.plan
    assert examine(document).draft == compiled.plan.plan
    calls: list[Any] = [{"name": "customers", "arguments": {}, "label": "$a"}]
    assert toolplan.compile_plan(calls, "nestful", tools=box()).plan is not None


@pytest.mark.parametrize("plan", [None, 5, b"{}", {"steps"}, toolplan.Plan(())])
def test_what_is_no_plan_gets_an_error_that_says_what_to_do(plan: Any) -> None:
    for use in (toolplan.parse, examine, partial(toolplan.compile_plan, tools=box())):
        with pytest.raises(ToolplanError, match="A plan is text or a dict, not") as raised:
            use(plan)
        assert raised.value.code == "no-plan"
        assert raised.value.help == (
            "Pass the text of the plan, or its JSON as a dict; to_text(plan) is that of a Plan."
        )


@pytest.mark.parametrize("plan", [None, "text", {"steps": []}])
def test_check_and_to_text_take_a_plan(plan: Any) -> None:
    for use in (toolplan.to_text, partial(toolplan.check, tools=box())):
        with pytest.raises(ToolplanError, match="This takes a Plan, not") as raised:
            use(plan)
        assert (raised.value.code, "toolplan.parse" in (raised.value.help or "")) == (
            "no-plan",
            True,
        )


def test_a_dict_that_is_no_json_and_tools_that_are_none_are_refused() -> None:
    odd: Any = {"steps": [{"id": "a", "tool": {1, 2}}]}
    with pytest.raises(ToolplanError, match="it holds a value of type set"):
        toolplan.compile_plan(odd, tools=box())
    ring: Any = {}
    ring["steps"] = [ring]
    with pytest.raises(ToolplanError, match="The plan is not JSON"):
        toolplan.compile_plan(ring, tools=box())
    module: Any = json
    with pytest.raises(ToolplanError, match="not a value of type module") as raised:
        toolplan.compile_plan("{}", tools=module)
    assert "toolbox_of(module)" in (raised.value.help or "")
    with pytest.raises(ToolplanError, match="no dialect 'esperanto'") as raised:
        toolplan.parse("{}", "esperanto")
    assert "clear, " in (raised.value.help or "")


@pytest.mark.parametrize("name", sorted(toolplan.__all__))
def test_help_of_public_functions_is_short(name: str) -> None:
    each = getattr(toolplan, name)
    if inspect.isfunction(each):
        assert len(pydoc.render_doc(each)) < 3_000
