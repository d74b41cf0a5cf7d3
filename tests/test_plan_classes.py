"""The plan classes P01 … P48 of the reliability study, one test each (table: docs/plan-classes.md).

Each bad plan gets a diagnostic with a code and a place, all of what is wrong in one go, and no
execution plan, so that no tool can be called. P44 and P45 are good plans that are not approved.
"""

import asyncio
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from toolplan import Effects, ExecutionPlan, Run, Severity, Toolbox, run
from toolplan.cli.plan_file import read_plan
from toolplan.compiler import Compiled, compile_plan
from toolplan.plan.model import Limits, Literal, Plan, Step
from toolplan.plan.path import NotThere, parse_path, select
from toolplan.policy import Policy
from toolplan.policy.approval import Approval, ApprovalRequired, approve
from toolplan.testing import Computes, Gives, ScriptedTools

DOCS = Path(__file__).parent.parent / "docs" / "plan-classes.md"
READ: dict[str, Any] = {"readOnlyHint": True}
ROW: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "weight": {"type": "number"}},
    "additionalProperties": False,
}
ROWS: dict[str, Any] = {
    "type": "object",
    "properties": {"data": {"type": "array", "items": ROW}, "count": {"type": "integer"}},
    "additionalProperties": False,
}
FILTERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "status": {"enum": ["open", "closed"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "since": {"type": "string", "format": "date"},
        "note": {"type": ["string", "null"]},
    },
}
TOOLS = Toolbox.from_json(
    [
        {
            "name": "orders_list",
            "input_schema": FILTERS,
            "output_schema": ROWS,
            "annotations": READ,
        },
        {
            "name": "orders_get",
            "input_schema": {**FILTERS, "required": ["id"]},
            "output_schema": ROW,
            "annotations": READ,
        },
        {"name": "orders_cancel", "input_schema": {**FILTERS, "required": ["id"]}},
    ]
)
LIST: dict[str, Any] = {"id": "list", "tool": "orders_list"}


def step(name: str = "get", tool: str = "orders_get", **args: Any) -> dict[str, Any]:
    return {"id": name, "tool": tool, "args": args}


def text(*steps: dict[str, Any], **more: Any) -> str:
    return json.dumps({"toolplan": 1, "steps": list(steps), **more})


def refused(plan: str, *, limits: Limits = Limits(), policy: Policy = Policy()) -> Compiled:
    """Compile `plan`, and make sure that it cannot run."""
    compiled = compile_plan(plan, tools=TOOLS, limits=limits, policy=policy)
    assert compiled.plan is None
    return compiled


def codes(compiled: Compiled) -> list[str]:
    return [each.code for each in compiled.diagnostics]


def places(compiled: Compiled) -> list[tuple[str, str]]:
    return [(each.code, each.pointer) for each in compiled.diagnostics]


def accepted(plan: str) -> Compiled:
    """Compile `plan`, and make sure that it can run."""
    compiled = compile_plan(plan, tools=TOOLS)
    assert compiled.plan is not None
    return compiled


@pytest.mark.parametrize("plan", ["", "no plan", "steps: [a]", "{'steps'", "<plan/>"])
def test_p01_text_that_is_no_json(plan: str) -> None:
    assert codes(refused(plan)) == ["syntax"]


@pytest.mark.parametrize("plan", ["1", "null", '"steps"', "[]", "[1]", "true"])
def test_p02_a_plan_that_is_no_object(plan: str) -> None:
    assert codes(refused(plan)) == ["field-type"]


@pytest.mark.parametrize(
    ("plan", "code"),
    [("{}", "missing-field"), ('{"steps": []}', "empty-plan"), ('{"steps": null}', "field-type")],
)
def test_p03_a_plan_without_steps(plan: str, code: str) -> None:
    assert places(refused(plan)) == [(code, "/steps")]


def test_p04_a_plan_that_is_cut_off_anywhere() -> None:
    whole = text(LIST, step(id="${list.data[0].id}"))
    for end in range(len(whole)):
        assert codes(refused(whole[:end])) == ["syntax"]


def test_p05_a_second_plan_or_anything_behind_the_plan() -> None:
    assert codes(refused(text(LIST) + text(step(id="x")))) == ["syntax"]
    assert codes(refused(text(LIST) + "]")) == ["syntax"]


def test_p06_one_key_twice() -> None:
    twice = '{"steps": [{"id": "a", "tool": "orders_list", "tool": "orders_cancel"}]}'
    assert places(refused(twice))[0] == ("duplicate-key", "/steps/0/tool")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_p07_numbers_that_are_none(number: str) -> None:
    plan = text(step(tool="orders_list", limit=1)).replace(": 1}", f": {number}}}")
    assert ("bad-number", "/steps/0/args/limit") in places(refused(plan))


@pytest.mark.parametrize("number", ["9" * 19, "-" + "9" * 20, "9" * 5_000])
def test_p08_whole_numbers_that_readers_disagree_about(number: str) -> None:
    plan = text(step(tool="orders_list", limit=1)).replace(": 1}", f": {number}}}")
    assert places(refused(plan))[0] == ("bad-number", "/steps/0/args/limit")


@pytest.mark.parametrize("char", [r"\ud800", r"\udfff", "\ud800"])
def test_p09_half_a_character(char: str) -> None:
    assert codes(refused(text(step(id="X")).replace("X", char))) == ["bad-encoding"]


@pytest.mark.parametrize(
    "raw", [b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf" + text(LIST).encode(), b'{"steps": "\xe9"}']
)
def test_p10_bytes_that_are_no_utf_8(raw: bytes, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(raw)
    assert "bad-encoding" in codes(refused(read_plan(str(file), "toolplan").text))


@pytest.mark.parametrize("char", [r"\u0000", "\0"])
def test_p11_a_nul(char: str) -> None:
    assert codes(refused(text(step(id="X")).replace("X", char))) == ["bad-encoding"]


def test_p12_a_field_that_there_is_not() -> None:
    found = refused(text({**LIST, "on_eror": "continue"}, colour="red"))
    assert places(found) == [("unknown-field", "/colour"), ("unknown-field", "/steps/0/on_eror")]


def test_p13_a_field_that_must_be_there() -> None:
    found = refused(text({"tool": "orders_list"}, {"id": "b"}))
    assert ("missing-field", "/steps/0/id") in places(found)
    assert ("missing-field", "/steps/1/tool") in places(found)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", 7), ("tool", 1), ("tool", None), ("tool", ""), ("args", []), ("after", "list"),
        ("max_items", "3"), ("max_items", 1.0), ("max_items", True), ("when", "${a}"),
        ("on_error", "retry"), ("on_error", None), ("timeout_s", "5"), ("timeout_s", True),
        ("retries", 1.5), ("retries", False), ("thought", {}), ("thought", None),
        ("pages", "some"), ("pages", None),
    ],
)  # fmt: skip
def test_p14_a_field_of_another_type(field: str, value: object) -> None:
    assert ("field-type", f"/steps/0/{field}") in places(refused(text({**LIST, field: value})))


def test_p15_one_id_twice() -> None:
    found = refused(text(LIST, LIST, {**LIST, "id": "b"}, LIST))
    twice = [pointer for code, pointer in places(found) if code == "duplicate-id"]
    assert twice == ["/steps/1/id", "/steps/3/id"]


def test_p16_ids_that_look_alike() -> None:
    found = accepted(text(LIST, {**LIST, "id": "LIST"}))
    assert ("confusable-id", "/steps/1/id") in places(found)
    assert {each.severity for each in found.diagnostics} == {Severity.WARNING}


@pytest.mark.parametrize(
    "name", ["", "a b", "-a", "a.b", "ä", "a" * 65, "item", "index", "a/b", "a\n"]
)
def test_p17_ids_of_other_characters_or_too_long(name: str) -> None:
    assert places(refused(text({**LIST, "id": name}))) == [("bad-id", "/steps/0/id")]


def test_p18_a_tool_that_there_is_not() -> None:
    (found,) = refused(text({"id": "a", "tool": "order_cancels"})).diagnostics
    assert (found.code, found.pointer) == ("unknown-tool", "/steps/0/tool")
    assert found.help is not None
    assert "orders_cancel" in found.help
    assert found.help.count("'") <= 6


def test_p19_a_tool_that_may_not_be_used_in_this_run() -> None:
    found = refused(text(LIST, step(id="x")), policy=Policy(allow=("orders_list",)))
    assert places(found) == [("tool-not-allowed", "/steps/1/tool")]


@pytest.mark.parametrize(
    "name", ["\u043erders_list", "orders\u200b_list", "orders_list\u202e", "orders_list\U000e0041"]
)
def test_p20_a_tool_name_that_only_looks_right(name: str) -> None:
    found = compile_plan(text({"id": "a", "tool": name}), tools=TOOLS).diagnostics
    assert [each.code for each in found] == ["unknown-tool"]
    odd = next(char for char in name if ord(char) > 127)
    assert f"{ord(odd):04x}" in found[0].message
    assert unicodedata.normalize("NFKC", name) not in TOOLS


def test_p21_an_argument_that_is_missing() -> None:
    (found,) = refused(text(step())).diagnostics
    assert (found.code, found.pointer) == ("missing-argument", "/steps/0/args")
    assert "'id'" in found.message


def test_p22_an_argument_that_there_is_not() -> None:
    found = refused(text(step(id="x", colour=1)))
    assert places(found) == [("unknown-argument", "/steps/0/args/colour")]


def test_p23_an_argument_of_another_type() -> None:
    found = refused(text(step(id=["x"], limit={})))
    assert [(c, p) for c, p in places(found) if c == "argument-type"] == [
        ("argument-type", "/steps/0/args/id"),
        ("argument-type", "/steps/0/args/limit"),
    ]


@pytest.mark.parametrize(
    ("name", "value"), [("status", "lost"), ("limit", 0), ("limit", 101), ("since", "last week")]
)
def test_p24_an_argument_with_a_value_that_is_not_allowed(name: str, value: object) -> None:
    found = refused(text({"id": "a", "tool": "orders_get", "args": {"id": "x", name: value}}))
    assert places(found) == [("argument-value", f"/steps/0/args/{name}")]


def test_p25_a_reference_to_a_step_that_there_is_not() -> None:
    assert places(refused(text(step(id="${nowhere.id}")))) == [("unknown-step", "/steps/0/args/id")]


def test_p26_a_reference_of_a_step_to_itself() -> None:
    assert places(refused(text(step(id="${get.id}")))) == [("self-reference", "/steps/0/args/id")]


def test_p27_a_cycle_is_shown() -> None:
    ring = [step(name, id="${" + other + ".id}") for name, other in ("ab", "bc", "ca")]
    (found,) = refused(text(*ring)).diagnostics
    assert found.code == "cycle"
    assert all(repr(name) in found.message or name in found.message.split() for name in "abc")


def test_p28_a_reference_to_a_later_step_is_fine_and_runs_in_order() -> None:
    found = accepted(text(step(id="${list.data[0].id}"), LIST))
    assert found.diagnostics == ()
    assert found.plan is not None
    assert found.plan.order == ("list", "get")


def test_p29_a_path_that_the_output_does_not_have() -> None:
    found = refused(text(LIST, step(id="${list.rows[0].id}")))
    assert places(found) == [("unknown-output", "/steps/1/args/id")]


def test_p30_a_reference_of_another_type() -> None:
    found = refused(
        text(LIST, step(id="x", limit="${list.data[0]}"), step("b", id="${list.count}"))
    )
    assert places(found) == [
        ("reference-type", "/steps/1/args/limit"),
        ("reference-type", "/steps/2/args/id"),
    ]


@pytest.mark.parametrize("written", ["${}", "${list.}", "${list", "${list[}", "${ list}", "${a b}"])
def test_p31_references_that_are_badly_written(written: str) -> None:
    found = refused(text(LIST, step(id=written)))
    assert places(found) == [("reference-syntax", "/steps/1/args/id")]


@pytest.mark.parametrize("key", ["__class__", "__init__", "__globals__", "mro", "func_globals"])
def test_p32_names_of_attributes_are_only_keys(key: str) -> None:
    found = refused(text(LIST, step(id=f"${{list.{key}.x}}"), step("b", id=f"${{{key}.x}}")))
    assert places(found) == [
        ("unknown-output", "/steps/1/args/id"),
        ("unknown-step", "/steps/2/args/id"),
    ]
    with pytest.raises(NotThere):
        select({}, parse_path(f".{key}"))


def test_p33_indexes_that_cannot_be_and_stars_on_no_list() -> None:
    assert codes(refused(text(LIST, step(id="${list.data[-1].id}")))) == ["reference-syntax"]
    assert codes(refused(text(LIST, step(id="${list.data[1:3]}")))) == ["reference-syntax"]
    huge = refused(text(LIST, step(id="${list.data[" + "9" * 30 + "].id}")))
    assert codes(huge) == ["reference-syntax"]
    starred = refused(text(LIST, step(id="${list.count[*]}")))
    assert codes(starred) == ["part-of-list", "not-a-list"]


def test_p34_a_reference_inside_of_a_reference() -> None:
    found = refused(text(LIST, step(id="${${list}.id}")))
    assert places(found) == [("reference-syntax", "/steps/1/args/id")]


@pytest.mark.parametrize(
    ("when", "code"),
    [
        ("${list.count} > 0", "field-type"),
        ({"value": "${list.count}", "op": ">", "is": 0}, "unknown-field"),
        ({"value": "${list.count}"}, "missing-field"),
        ({"value": "${list.count}", "is": {"type": "numeral"}}, "when-schema"),
    ],
)
def test_p35_conditions_that_are_no_schema(when: object, code: str) -> None:
    found = refused(text(LIST, {**step(id="x"), "when": when}))
    assert code in codes(found)
    places_of_others = [where for name, where in places(found) if name != "part-of-list"]
    assert all(where.startswith("/steps/1/when") for where in places_of_others)


def test_p36_for_each_over_no_list_or_over_too_much() -> None:
    over_text = {**step(id="${item}"), "for_each": "${list.count}"}
    assert places(refused(text(LIST, over_text)))[0] == ("not-a-list", "/steps/1/for_each")
    tools = ScriptedTools()
    tools.add("orders_get", Computes(lambda args: args["id"]))
    many = {**step(id="${item}"), "for_each": ["x"] * 1_001}
    ran = _run(text(many), tools)
    assert ran.steps["get"].error is not None
    assert ran.steps["get"].error.code == "too-many-items"
    assert tools.calls == []


def test_p37_for_each_does_not_nest_and_values_nest_as_deep_as_the_limit() -> None:
    inner = {**LIST, "for_each": [1]}
    nested = {"id": "a", "tool": "orders_list", "for_each": inner}
    found = refused(text(nested))
    assert ("not-a-list", "/steps/0/for_each") in places(found)
    deep: object = "x"
    for _ in range(65):
        deep = [deep]
    assert codes(refused(text(step(id=deep)))) == ["too-deep"]


def test_p38_too_many_steps() -> None:
    two = text(LIST, {**LIST, "id": "b"})
    assert places(refused(two, limits=Limits(steps=1))) == [("too-many-steps", "/steps")]
    assert compile_plan(two, tools=TOOLS, limits=Limits(steps=2)).plan is not None


def test_p39_too_many_bytes_are_refused_unread() -> None:
    assert codes(refused(text(LIST), limits=Limits(text_bytes=20))) == ["too-large"]
    assert codes(refused("[" * 2_000_001)) == ["too-large"]


def test_p40_a_step_that_nothing_reads() -> None:
    plan = text(LIST, step("unused", id="x"), output="${list.count}")
    assert places(accepted(plan)) == [("unused-step", "/steps/1")]
    # what changes something is done for its effect, and without `output` all ends are the output
    plan = text(LIST, step("cancel", "orders_cancel", id="x"), output="${list.count}")
    assert accepted(plan).diagnostics == ()
    assert accepted(text(LIST, step("unused", id="x"))).diagnostics == ()


def test_p41_an_output_that_names_a_step_that_there_is_not() -> None:
    found = refused(text(LIST, output={"all": ["${lost.data}", "${list.count}"]}))
    assert places(found) == [("unknown-step", "/output/all/0")]


def test_p42_a_step_that_needs_one_that_may_be_skipped() -> None:
    many = {"value": "${first.count}", "is": {"minimum": 1}}
    maybe = {**LIST, "when": many}
    found = accepted(text({**LIST, "id": "first"}, maybe, step(id="${list.data[0].id}")))
    assert places(found) == [("maybe-skipped", "/steps/2/args/id")]


@pytest.mark.parametrize("version", [0, 2, "1", 1.0, None, True, [1]])
def test_p43_another_version_of_the_format(version: object) -> None:
    assert places(refused(text(LIST, toolplan=version))) == [("plan-version", "/toolplan")]


def test_p46_a_secret_in_the_arguments() -> None:
    secret = "sk-" + "ab12CD34" * 6
    found = refused(text(step(id="x", note=f"Bearer {secret}")))
    assert places(found) == [("secret-literal", "/steps/0/args/note")]
    assert secret not in "".join(each.message for each in found.diagnostics)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timeout_s", 0), ("timeout_s", -1), ("timeout_s", 1e300), ("retries", -1),
        ("retries", 101), ("max_items", 0), ("max_items", -5), ("max_pages", 0),
    ],
)  # fmt: skip
def test_p47_values_that_make_no_sense(field: str, value: object) -> None:
    found = refused(text({**LIST, field: value}))
    assert places(found) == [("field-type", f"/steps/0/{field}")]
    assert len(found.diagnostics[0].message) < 120


def test_p48_another_try_of_what_may_be_done_only_once() -> None:
    found = refused(text({**step("c", "orders_cancel", id="x"), "retries": 1}))
    assert places(found) == [("retry-unsafe", "/steps/0/retries")]


def approved(tools: ScriptedTools) -> tuple[ExecutionPlan, Approval]:
    plan = compile_plan(
        '{"toolplan": 1, "steps": [{"id": "a", "tool": "send", "args": {"to": "ann"}}]}',
        tools=tools.toolbox,
    ).plan
    assert plan is not None
    return plan, approve(plan)


def test_p44_a_plan_that_was_edited_after_its_approval_does_not_run() -> None:
    tools = ScriptedTools()
    tools.add("send", Gives("sent"), effects=Effects.WRITE)
    plan, approval = approved(tools)
    edited = replace(plan, plan=Plan((Step("a", "send", {"to": Literal("eve")}),)))
    with pytest.raises(ApprovalRequired):
        asyncio.run(run(edited, tools.toolbox, approval=approval))
    assert tools.args_of("send") == []


def test_p45_a_tool_that_has_changed_since_the_approval_is_not_called() -> None:
    tools, others = ScriptedTools(), ScriptedTools()
    tools.add("send", Gives("sent"), effects=Effects.WRITE)
    others.add("send", Gives("sent"), effects=Effects.DESTRUCTIVE)
    plan, approval = approved(tools)
    with pytest.raises(ApprovalRequired):
        asyncio.run(run(plan, others.toolbox, approval=approval))
    assert others.args_of("send") == []


def test_the_table_names_every_class_and_tests_that_there_are() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in DOCS.read_text("utf-8").splitlines()
        if line.startswith("| P")
    ]
    assert [row[0] for row in rows] == [f"P{number:02}" for number in range(1, 49)]
    for number, _, _, shown in rows:
        file, _, name = shown.strip("`").partition("::")
        assert file == "tests/test_plan_classes.py"
        assert name in globals()
        assert name.startswith(f"test_{number.lower()}_")


def _run(plan: str, tools: ScriptedTools) -> Run:
    compiled = compile_plan(plan, tools=tools.toolbox)
    assert compiled.plan is not None
    return asyncio.run(run(compiled.plan, tools.toolbox))
