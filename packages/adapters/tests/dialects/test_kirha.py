"""The dialect `kirha`: what its own tests promise, and the resolutions C-29, C-31, C-32."""

import json

import pytest

from toolplan import CannotExpress, check
from toolplan.dialects import DIALECTS
from toolplan.plan.model import Literal, Plan, Ref, Step, Template, Value, When
from toolplan.plan.path import EVERY, Json, Path

KIRHA = DIALECTS["kirha"]


def read(value: Json, *, steps: int = 3) -> tuple[Value, list[str]]:
    """Return what `value` says as an argument of the last step, and the codes of what is wrong."""
    items: list[Json] = [{"toolName": "t"} for _ in range(steps - 1)]
    items.append({"toolName": "u", "arguments": {"x": value}})
    text = json.dumps(items)
    parsed = KIRHA.parse(f"<plan>{text}</plan>")
    assert parsed.plan is not None
    return parsed.plan.steps[-1].args["x"], [each.code for each in parsed.diagnostics]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("a.b", ("a", "b")),
        ("items[0].name", ("items", 0, "name")),
        ("items.0.name", ("items", 0, "name")),
        ("transactions.[0].sender", ("transactions", 0, "sender")),
        ('data["user"].name', ("data", "user", "name")),
        ("data['user name']", ("data", "user name")),
        ("full name", ("full name",)),
        ("by-date", ("by-date",)),
        ("all[*].id", ("all", EVERY, "id")),
        ("all.*.id", ("all", EVERY, "id")),
    ],
)
def test_every_form_of_a_path_is_read_in_text_and_in_objects(path: str, wanted: Path) -> None:
    """F002-11, C-29."""
    assert read(f"{{0.{path}}}") == (Ref("s0", wanted), [])
    assert read({"fromStep": 0, "outputKey": path}) == (Ref("s0", wanted), [])


def test_one_reference_keeps_the_type_and_one_inside_of_text_is_text() -> None:
    """C-31, F002-8, F002-20."""
    assert read("{0.n}") == (Ref("s0", ("n",)), [])
    assert read("{0}") == (Ref("s0"), [])
    assert read(" {0.n}") == (Template((" ", Ref("s0", ("n",)))), [])
    both = Template((Ref("s0", ("a",)), Ref("s1", ("b",)), "°", Ref("s0", ("a",))))
    assert read("{0.a}{1.b}°{0.a}") == (both, [])


def test_references_stand_anywhere_in_lists_and_objects() -> None:
    """F002-9."""
    value, codes = read({"a": [{"fromStep": 1, "outputKey": ""}], "b": {"c": "{0.d}"}})
    assert codes == []
    assert str(value).count("Ref(") == 2


def test_a_later_step_may_be_referred_to() -> None:
    """F002-14."""
    text = '<plan>[{"toolName":"a","arguments":{"x":"{1.y}"}},{"toolName":"b"}]</plan>'
    parsed = KIRHA.parse(text)
    assert parsed.plan is not None
    assert parsed.plan.steps[0].args == {"x": Ref("s1", ("y",))}
    assert check(parsed.plan, None) == []


@pytest.mark.parametrize("value", ["{2024}", "{7.x}", "in {3}", "{99999999999999999999.x}"])
def test_a_number_without_a_step_is_an_error_and_stays_text(value: str) -> None:
    """C-32: it is not silently text, as in F002-10."""
    assert read(value) == (Literal(value), ["unknown-step"])


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("{{0}}", "{0}"),
        ("{{0.a}}", "{0.a}"),
        ("{{2024}}", "{2024}"),
        ("{{{{0}}", "{{0}"),
        ("{ 0 }", "{ 0 }"),
        ("{x} {} {1, 2} {0", "{x} {} {1, 2} {0"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("{{name}}", "{{name}}"),
    ],
)
def test_braces_that_are_doubled_or_hold_no_number_are_text(written: str, text: str) -> None:
    """C-32."""
    assert read(written) == (Literal(text), [])


def test_doubled_braces_stand_beside_references() -> None:
    ref = Ref("s0")
    assert read("{{1}} {{{0}}") == (Template(("{1} {", ref, "}")), [])


@pytest.mark.parametrize("tool", ["toolName", "tool"])
@pytest.mark.parametrize("args", ["arguments", "args", "params", "parameters", None])
def test_other_names_of_fields_are_read(tool: str, args: str | None) -> None:
    """F002-5."""
    item: Json = {tool: "t"} if args is None else {tool: "t", args: {"x": 1}}
    parsed = KIRHA.parse(f"<plan>{json.dumps([item])}</plan>")
    wanted = {} if args is None else {"x": Literal(1)}
    assert (parsed.plan, parsed.diagnostics) == (Plan((Step("s0", "t", wanted),)), ())


def test_the_first_plan_block_outside_of_thinking_wins_and_the_thinking_is_kept() -> None:
    """F002-4."""
    text = (
        '<think> First <plan>[]</plan>? </think><plan>[{"tool":"a"}]</plan>'
        '<plan>[{"tool":"b"}]</plan>'
    )
    parsed = KIRHA.parse(text)
    notes: Json = "First <plan>[]</plan>?"
    assert parsed.plan == Plan((Step("s0", "a"),), None, {"notes": notes})
    assert ["second <plan>" in each.message for each in parsed.diagnostics] == [True]


def test_thinking_whose_opening_tag_was_cut_is_thinking() -> None:
    parsed = KIRHA.parse('I try [a] and {b.\n</think>\n<plan>[{"tool": "a"}]</plan>')
    assert parsed.plan == Plan((Step("s0", "a"),), None, {"notes": "I try [a] and {b."})
    assert parsed.diagnostics == ()


def test_a_tag_inside_of_a_text_is_text_both_ways() -> None:
    plan = Plan((Step("s0", "t", {"x": Literal("a </plan> <think> b")}, thought="<plan>"),))
    assert KIRHA.parse(KIRHA.print(plan)).plan == plan
    raw = '<plan>[{"tool": "t", "args": {"x": "</plan>"}}]</plan>'
    assert KIRHA.parse(raw).plan == Plan((Step("s0", "t", {"x": Literal("</plan>")}),))


@pytest.mark.parametrize(
    "text", ["", "<think>no plan</think>", "I cannot.", "<plan></plan>", "<plan>[{", "<plan>"]
)
def test_text_without_a_whole_plan_is_refused(text: str) -> None:
    """F002-3."""
    parsed = KIRHA.parse(text)
    assert parsed.plan is None
    assert [each.code for each in parsed.diagnostics] == ["syntax"]


def test_places_are_those_in_the_whole_text() -> None:
    text = '<think>é\n</think>\n<plan>\n[{"toolName": "t",\n "args": {"x": "{9}"}}]\n</plan>'
    [found] = KIRHA.parse(text).diagnostics
    span = KIRHA.locate(text, found.pointer)
    assert span is not None
    assert text[span.start : span.end] == '"{9}"'


def test_what_kirha_cannot_say_is_named_each_by_itself() -> None:
    plan = Plan(
        (
            Step("a", "t", {"x": Literal({"fromStep": 0, "outputKey": "y"})}, retries=1),
            Step("b", "t", {"x": Ref("a", ("r", EVERY)), "y": Ref("item")}, after=("a",)),
            Step("c", "t", after=("a",), when=When(Literal(1), True), for_each=Literal([1])),
        ),
        Ref("a"),
        {"query": "?"},
    )
    with pytest.raises(CannotExpress) as caught:
        KIRHA.print(plan)
    assert [(each.pointer, each.step) for each in caught.value.diagnostics] == [
        ("/output", None),
        ("/steps/0/retries", "a"),
        ("/steps/0/args/x", "a"),
        ("/steps/1/args/x", "b"),
        ("/steps/1/args/y", "b"),
        ("/steps/2/after", "c"),
        ("/steps/2/for_each", "c"),
        ("/steps/2/when", "c"),
        ("/metadata/query", None),
    ]


def test_text_over_the_limit_is_refused_before_it_is_read() -> None:
    text = "<think>" + "é" * 2_000_000 + '</think><plan>[{"tool":"a"}]</plan>'
    assert [each.code for each in KIRHA.parse(text).diagnostics] == ["too-large"]
