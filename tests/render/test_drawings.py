"""A plan as Mermaid, as SVG, and problems as SARIF."""

from __future__ import annotations

import html
import re
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plans_strategy import plans
from tests.sizes import share_of
from toolplan.events import StepState
from toolplan.plan.diagnostics import Diagnostic, Severity
from toolplan.plan.model import Literal, Plan, Ref, Step, When
from toolplan.plan.path import EVERY
from toolplan.plan.text.loose import Span
from toolplan.show.diagnostics import Located, sarif
from toolplan.show.plan_tree import MOST_WIDTH, mermaid, svg

PLAN = Plan(
    (
        Step("a", "books_list", {"by": Literal('<script>"x"</script>')}),
        Step("b", "loans_list", {"book": Ref("a", ("data", EVERY, "id"))}),
        Step("c", "loan_create", after=("b",), when=When(Literal(1), {"const": 1})),
    )
)


def test_mermaid_draws_references_full_and_order_dotted() -> None:
    text = mermaid(PLAN, marks={"c": "writes"})
    assert text.startswith("flowchart TD\n")
    assert "s0 --> s1" in text
    assert "s1 -.-> s2" in text
    assert "writes" in text


def test_what_a_plan_says_is_never_markup() -> None:
    """R17."""
    assert "<script>" not in mermaid(PLAN)
    assert "<script>" not in svg(PLAN)
    labels = re.findall(r'\["(.*)"\]', mermaid(PLAN))
    assert len(labels) == 3
    assert not any('"' in label for label in labels)


def test_svg_needs_nothing_from_outside() -> None:
    drawing = svg(PLAN, marks={"c": "writes"})
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert not re.findall(r"(?:href|src|url)\s*[=(]", drawing)
    assert drawing.count("<rect") == 3
    assert drawing.count("<path") == 2
    assert 'class="effects"' in drawing
    assert 'class="line order"' in drawing


@given(plans())
def test_every_step_is_drawn_once(plan: Plan) -> None:
    ElementTree.fromstring(svg(plan))
    assert svg(plan).count("<rect") == len(plan.steps)
    assert mermaid(plan).count('["') == len(plan.steps)


def test_plans_that_cannot_run_are_drawn_too() -> None:
    cycle = Plan((Step("a", "t", after=("b",)), Step("b", "t", after=("a",)), Step("c", "t")))
    assert svg(cycle).count("<rect") == 3
    assert mermaid(cycle).count("-.->") == 2


def test_mermaid_and_svg_name_the_conditions_of_a_step() -> None:
    step = Step(
        "close",
        "orders_close",
        {"id": Ref("item", ("id",))},
        for_each=Ref("orders", ("data", EVERY)),
        when=When(Ref("orders", ("count",)), {"minimum": 1}),
        on_error="continue",
        retries=2,
    )
    plan = Plan((Step("orders", "orders_list"), step))
    texts = (
        "for each item of ${orders.data[*]}",
        "when ${orders.count} is at least 1:",
        '{"minimum": 1}',
        "on error: continue",
        "retries: 2",
    )
    flowchart = re.sub(r"#(\d+);", lambda found: chr(int(found[1])), mermaid(plan))
    drawing = html.unescape(svg(plan))
    assert all(text in flowchart and text in drawing for text in texts)


def test_a_drawing_breaks_long_texts_between_words_and_cuts_no_identifier() -> None:
    ids = [f"0cda34e8-459e-4316-a463-a84ebc26e0{at}" for at in range(10, 18)]
    digest = "0cda34e8" * 8
    plan = Plan((Step("a", "t", {"ids": Literal([*ids]), "digest": Literal(digest)}),))
    for text in (svg(plan), mermaid(plan)):
        assert all(each in text for each in (*ids, digest))


def shape_of(drawing: str) -> tuple[float, list[Rect], list[list[Point]], list[Point]]:
    """The width, boxes, arrows as points, and heads of a drawing."""
    root = ElementTree.fromstring(drawing)
    boxes = [
        Rect(*(float(each.get(name, "")) for name in ("x", "y", "width", "height")))
        for each in root.iter("{http://www.w3.org/2000/svg}rect")
    ]
    arrows = [
        points_of(each.get("d", "")) for each in root.iter("{http://www.w3.org/2000/svg}path")
    ]
    heads = [
        Point(*map(float, each.get("points", "").split()[-1].split(",")))
        for each in root.iter("{http://www.w3.org/2000/svg}polygon")
    ]
    return float(root.get("width", "")), boxes, arrows, heads


def points_of(way: str) -> list[Point]:
    """Points along a path of `M`, `V`, `H` and `C`, close to one another."""
    found: list[Point] = []
    for command, text in re.findall(r"([MVHC])([^MVHC]*)", way):
        numbers = [float(each) for each in re.findall(r"[-\d.]+", text)]
        last = found[-1] if found else Point(0, 0)
        if command == "M":
            found.append(Point(*numbers))
            continue
        if command == "C":
            pairs = zip(numbers[::2], numbers[1::2], strict=True)
            ends = [last, *(Point(*pair) for pair in pairs)]
        else:
            to = last._replace(**{"x" if command == "H" else "y": numbers[0]})
            ends = [last, last, to, to]
        for at in range(1, 51):
            t = at / 50
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
            found.append(
                Point(
                    sum(w * p.x for w, p in zip(weights, ends, strict=True)),
                    sum(w * p.y for w, p in zip(weights, ends, strict=True)),
                )
            )
    return found


class Point(NamedTuple):
    x: float
    y: float


class Rect(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    def holds(self, point: Point) -> bool:
        return (
            self.x + 1 < point.x < self.x + self.width - 1
            and self.y + 1 < point.y < self.y + self.height - 1
        )

    def has_on_top(self, point: Point) -> bool:
        return self.x < point.x < self.x + self.width and abs(self.y - point.y) < 0.2


def fan(count: int) -> Plan:
    """`count` steps side by side, between two others."""
    text = Literal("Which shipments were rejected without any contaminant?")
    side = [Step(f"s{at}", "shipments_search", {"q": text, "of": Ref("a")}) for at in range(count)]
    last = Step("z", "sql", {f"t{at}": Ref(f"s{at}", ("data",)) for at in range(count)})
    return Plan((Step("a", "t"), *side, last, Step("end", "t", {"a": Ref("a"), "z": Ref("z")})))


@pytest.mark.parametrize("count", [1, 3, 12, 40])
def test_many_steps_side_by_side_take_several_rows(count: int) -> None:
    width, boxes, arrows, heads = shape_of(svg(fan(count)))
    assert width <= MOST_WIDTH + 7 * (count + 3)
    assert len(boxes) == count + 3
    assert len(arrows) == len(heads) == 2 * count + 2


@settings(max_examples=share_of(100), deadline=None)
@given(st.one_of(plans(), st.integers(1, 15).map(fan)))
def test_every_arrow_ends_with_a_head_at_its_step_and_crosses_no_box(plan: Plan) -> None:
    width, boxes, arrows, heads = shape_of(svg(plan))
    assert len(heads) == len(arrows)
    assert all(any(box.has_on_top(head) for box in boxes) for head in heads)
    for points in arrows:
        assert not any(box.holds(point) for box in boxes for point in points)
        assert all(0 <= point.x <= width for point in points)
    assert not any(
        one != other and other.holds(Point(one.x, one.y)) for one in boxes for other in boxes
    )


def test_a_drawing_of_a_run_is_coloured_by_the_states_of_its_steps() -> None:
    states = {"a": StepState.SUCCEEDED, "b": StepState.FAILED, "c": StepState.PENDING}
    drawing, flowchart = svg(PLAN, states=states), mermaid(PLAN, states=states)
    assert re.findall(r'<rect class="(\w+)"', drawing) == ["succeeded", "failed", "box"]
    assert "class s0 succeeded" in flowchart
    assert "class s1 failed" in flowchart
    assert "classDef pending" not in flowchart


def test_sarif_has_code_place_and_help() -> None:
    text = '{"steps":\n [{"tool": "zebra"}]}'
    at = text.index('"zebra"')
    found = Diagnostic(
        "unknown-tool", Severity.ERROR, "There is no 'zebra'.", "a", "/steps/0/tool", "Look."
    )
    log = sarif(
        [Located(found, Span(at, at + 7)), Located(found, None)],
        text,
        file="plan.json",
        pages={"unknown-tool": "A tool.\n\nMore."},
        version="1",
    )
    assert log["version"] == "2.1.0"
    document: Any = log
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == ["unknown-tool"]
    first, second = run["results"]
    assert first["level"] == "error"
    assert first["message"]["text"] == "There is no 'zebra'. Look."
    assert first["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 2,
        "startColumn": 12,
        "endLine": 2,
        "endColumn": 19,
    }
    assert "region" not in second["locations"][0]["physicalLocation"]
