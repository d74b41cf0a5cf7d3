"""A plan as Mermaid, as SVG, and problems as SARIF."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from hypothesis import given

from tests.plans_strategy import plans
from toolplan.diagnostics import Diagnostic, Severity
from toolplan.path import EVERY
from toolplan.plan import Literal, Plan, Ref, Step, When
from toolplan.render.diagnostics import Located
from toolplan.render.mermaid import mermaid
from toolplan.render.sarif import sarif
from toolplan.render.svg import svg
from toolplan.source import Span

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
    root = ElementTree.fromstring(drawing)
    assert root.tag.endswith("svg")
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
