"""The dialect `taskbench`: arguments by position, links by name, and nodes counted from one."""

import json

import pytest

from toolplan import CannotExpress, Parsed, Severity, check
from toolplan.dialects import DIALECTS
from toolplan.plan.model import Literal, Plan, Ref, Signature, Step, Template, Value
from toolplan.plan.path import Json

TASKBENCH = DIALECTS["taskbench"]
SIGNATURES = {
    "Image Classification": Signature(("image",), ()),
    "Text-to-Speech": Signature(("text",), ()),
    "Image Stitcher": Signature(("image_1", "image_2"), ()),
}


def parse(
    *nodes: tuple[str, Json], links: Json = None, lines: Json = None, tools: bool = True
) -> Parsed:
    """Read the plan of these nodes: tools and arguments."""
    document: dict[str, Json] = {
        "task_nodes": [{"task": tool, "arguments": arguments} for tool, arguments in nodes]
    }
    if links is not None:
        document["task_links"] = links
    if lines is not None:
        document["task_steps"] = lines
    return TASKBENCH.parse(json.dumps(document), SIGNATURES if tools else None)


def args(parsed: Parsed) -> list[dict[str, Value]]:
    assert parsed.plan is not None
    return [dict(step.args) for step in parsed.plan.steps]


def link(source: Json, target: Json) -> Json:
    return {"source": source, "target": target}


def test_arguments_by_position_get_the_names_that_the_tool_declares() -> None:
    parsed = parse(
        ("Image Classification", ["example.jpg"]),
        ("Text-to-Speech", ["<node-0>"]),
        links=[link("Image Classification", "Text-to-Speech")],
    )
    assert args(parsed) == [{"image": Literal("example.jpg")}, {"text": Ref("s0")}]
    assert parsed.diagnostics == ()


def test_without_tools_positions_have_no_names() -> None:
    parsed = parse(("Image Stitcher", ["a.jpg", "b.jpg"]), tools=False)
    assert args(parsed) == [{"0": Literal("a.jpg"), "1": Literal("b.jpg")}]
    assert [(e.code, e.pointer) for e in parsed.diagnostics] == [("needs-tools", "/steps/0/args")]


@pytest.mark.parametrize(
    "arguments",
    [
        {"image_1": "a", "image_2": 2},
        [{"name": "image_1", "value": "a"}, {"name": "image_2", "value": 2}],
        ["a", {"name": "image_2", "value": 2}],
        [{"image_1": "a"}, {"image_2": 2}],
    ],
)
def test_names_may_be_given_in_any_way_that_models_write(arguments: Json) -> None:
    parsed = parse(("Image Stitcher", arguments))
    assert args(parsed) == [{"image_1": Literal("a"), "image_2": Literal(2)}]
    assert parsed.diagnostics == ()


def test_one_argument_too_many_is_an_error_and_one_too_few_is_for_the_rules() -> None:
    parsed = parse(("Text-to-Speech", ["a", "b"]), ("Image Stitcher", ["a"]))
    found = [(e.code, e.pointer) for e in parsed.diagnostics]
    assert found == [("unknown-argument", "/steps/0/args/1")]
    assert args(parsed) == [{"text": Literal("a")}, {"image_1": Literal("a")}]


def test_positions_of_a_tool_whose_name_is_nearly_right_are_named_by_the_right_one() -> None:
    parsed = parse(("Image Stitchr", ["a", "b"]), ("Weather", ["Berlin"]))
    assert [list(each) for each in args(parsed)] == [["image_1", "image_2"], ["0"]]
    assert parsed.diagnostics == ()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("<node-0>", Ref("s0")),
        ("<Node-0>", Ref("s0")),
        ("<node_0>", Ref("s0")),
        ("<output of node-0>", Ref("s0")),
        ("<output_of_Text_to_Speech>", Ref("s0")),
        ("<node-0>.text", Ref("s0", ("text",))),
        ("<node-0>.items[1]", Ref("s0", ("items", 1))),
        ("of <node-0>, heart", Template(("of ", Ref("s0"), ", heart"))),
        ("<node-0>. Then", Template((Ref("s0"), ". Then"))),
        ("<node-x>", Literal("<node-x>")),
        ("<output_of_it> 1 < 2 > 0", Literal("<output_of_it> 1 < 2 > 0")),
        ("output_of_step_1", Literal("output_of_step_1")),
    ],
)
def test_references_as_the_source_and_as_models_write_them(text: str, wanted: Value) -> None:
    parsed = parse(("Text-to-Speech", ["a"]), ("Image Classification", [text]))
    assert args(parsed)[1] == {"image": wanted}
    assert parsed.diagnostics == ()


def test_a_node_that_is_not_there_is_found_by_the_rules() -> None:
    plan = parse(("Text-to-Speech", ["<node-7>"])).plan
    assert plan is not None
    assert [each.code for each in check(plan, None)] == ["unknown-step"]


def test_links_give_the_order_that_no_reference_shows() -> None:
    parsed = parse(
        ("a", {}), ("b", {"x": "<node-0>"}), ("c", {}),
        links=[link("a", "b"), link("b", "c"), link("a", "c")],
    )  # fmt: skip
    assert parsed.plan is not None
    assert [step.after for step in parsed.plan.steps] == [(), (), ("s0", "s1")]
    assert parsed.diagnostics == ()


def test_a_link_by_a_name_that_two_nodes_have_leads_to_the_nearest() -> None:
    parsed = parse(("a", {}), ("b", {}), ("a", {}), ("b", {}), links=[link("a", "b")])
    assert parsed.plan is not None
    assert [step.after for step in parsed.plan.steps] == [(), ("s0",), (), ("s2",)]


def test_a_link_may_name_a_node_by_its_number() -> None:
    parsed = parse(("a", {}), ("a", {}), ("a", {}), links=[link(0, 1), link("<node-1>", 2)])
    assert parsed.plan is not None
    assert [step.after for step in parsed.plan.steps] == [(), ("s0",), ("s1",)]


@pytest.mark.parametrize("end", ["Output", "<node-9>", 9, -1, None, ["a"], True])
def test_a_link_to_no_node_is_an_error(end: Json) -> None:
    [found] = parse(("a", {}), ("b", {}), links=[link("a", end)]).diagnostics
    assert found.code in ("unknown-step", "field-type")
    assert (found.severity, found.pointer, found.step) == (
        Severity.ERROR, "/task_links/0/target", "s0",
    )  # fmt: skip


def test_references_that_count_from_one_are_fixed_where_the_links_prove_it() -> None:
    parsed = parse(
        ("a", {}), ("b", {"x": "<node-1>"}), ("c", {"x": "of <node-1> and <node-2>"}),
        links=[link("a", "b"), link("b", "c"), link("a", "c")],
    )  # fmt: skip
    assert args(parsed)[1:] == [
        {"x": Ref("s0")},
        {"x": Template(("of ", Ref("s0"), " and ", Ref("s1")))},
    ]
    assert {(e.code, e.severity, e.fixed) for e in parsed.diagnostics} == {
        ("one-based-reference", Severity.ERROR, True)
    }
    assert [each.step for each in parsed.diagnostics] == ["s1", "s2", "s2"]
    assert all(each.fix is not None and each.fix.safe for each in parsed.diagnostics)


def test_a_reference_to_its_own_node_means_the_one_before_where_a_link_says_so() -> None:
    parsed = parse(
        ("a", {}), ("b", {"x": "<node-0>"}), ("c", {"x": "<node-2>"}),
        links=[link("a", "b"), link("b", "c")],
    )  # fmt: skip
    assert args(parsed)[1:] == [{"x": Ref("s0")}, {"x": Ref("s1")}]
    assert [(e.step, e.fixed) for e in parsed.diagnostics] == [("s2", True)]


def test_references_that_no_link_repeats_contradict_the_links() -> None:
    parsed = parse(
        ("a", {}), ("b", {}), ("c", {"x": "<node-0>"}), links=[link("a", "b"), link("b", "c")]
    )
    assert args(parsed)[2] == {"x": Ref("s0")}
    assert [(e.code, e.pointer, e.fixed) for e in parsed.diagnostics] == [
        ("contradiction", "/steps/2/args/x", False)
    ]


def test_a_plan_without_links_needs_none() -> None:
    assert parse(("a", {}), ("b", {"x": "<node-0>"}), links=[]).diagnostics == ()


def test_lines_are_thoughts_where_there_is_one_for_each_node() -> None:
    plan = parse(("a", {}), ("b", {}), lines=["Step 1: a", "Step 2: b"]).plan
    assert plan is not None
    assert [step.thought for step in plan.steps] == ["Step 1: a", "Step 2: b"]
    other = parse(("a", {}), lines=["one", "two"]).plan
    assert other is not None
    assert other == Plan((Step("s0", "a"),), None, {"task_steps": ["one", "two"]})
    assert TASKBENCH.parse(TASKBENCH.print(other)).plan == other


def test_what_is_printed_names_arguments_and_links_tools() -> None:
    plan = Plan(
        (
            Step("a", "t", {"x": Literal("y")}),
            Step("b", "u", {"x": Ref("a")}),
            Step("c", "u", after=("b",)),
        )
    )
    assert json.loads(TASKBENCH.print(plan)) == {
        "task_nodes": [
            {"task": "t", "arguments": [{"name": "x", "value": "y"}]},
            {"task": "u", "arguments": [{"name": "x", "value": "<node-0>"}]},
            {"task": "u", "arguments": []},
        ],
        "task_links": [
            {"source": "t", "target": "<node-1>"},
            {"source": "<node-1>", "target": "<node-2>"},
        ],
    }


def test_what_taskbench_cannot_say_is_named_each_by_itself() -> None:
    plan = Plan(
        (
            Step("a", "t", {"x": Literal("<node-0>")}, thought="so", after=("a", "z")),
            Step("b", "u", {"x": Ref("a", ("y",)), "z": Template((Ref("a"), ".wav"))}, retries=1),
        ),
        None,
        {"query": "?"},
    )
    with pytest.raises(CannotExpress) as caught:
        TASKBENCH.print(plan)
    assert [each.pointer for each in caught.value.diagnostics] == [
        "/steps/0/args/x",
        "/steps/1/retries",
        "/steps/1/args/x",
        "/steps/1/args/z",
        "/metadata/query",
        "/steps/0/thought",
        "/steps/0/after",
        "/steps/0/after",
    ]


def test_places_are_those_of_the_argument_as_it_is_written() -> None:
    text = (
        '{"task_nodes": [{"task": "a", "arguments": ["p", {"name": "x", "value": "v"}]}, '
        '{"task": "b", "arguments": {"y": "w"}}]}'
    )
    for pointer, written in (
        ("/steps/0/args/x", '"v"'),
        ("/steps/0/args/0", '"p"'),
        ("/steps/1/args/y", '"w"'),
        ("/steps/1/tool", '"b"'),
    ):
        span = TASKBENCH.locate(text, pointer)
        assert span is not None
        assert text[span.start : span.end] == written


def test_many_nodes_of_one_tool_and_many_links_are_read_in_linear_time() -> None:
    nodes: list[Json] = [{"task": "a", "arguments": {}} for _ in range(5_000)]
    links = [link("a", "a") for _ in range(5_000)]
    parsed = TASKBENCH.parse(json.dumps({"task_nodes": nodes, "task_links": links}))
    assert parsed.plan is not None
    assert parsed.plan.steps[-1].after == ("s4998",)
