"""What holds for every question, whatever it says."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolplan.planners
from tests.planners.library_catalogue import library
from tests.planners.planned import TODAY, demo, planned, propose
from toolplan.compiler import compile_plan
from toolplan.planners import Clarification, Draft, GroundedPlanner, Question, Refusal
from toolplan.planners.grounded.catalogue.lexicon import compile_catalogue
from toolplan.tools import Toolbox

PLANNERS = Path(toolplan.planners.__file__).parent
QUESTIONS = [row["question"] for row in planned("demo")]
_WORDS = sorted({word for question in QUESTIONS for word in question.split()})
_LIBRARY = library()

_NOUNS = re.compile(
    r"shipment|facilit|contamina|inspect(?!ed text)|carrier|haul(?!t)|\bwaste|delivery|deliveries"
    r"|consignment|pollut|toxin|\brisk|hazard|landfill|disposal|sorting facilit|\bppm\b|plastic"
    r"|mercury|asbestos|berlin|hamburg|munich|hannover|cologne|ecotrans|greenhaul",
    re.IGNORECASE,
)
# words of general English that happen to be among them
_GENERAL = frozenset({"ppm"})
# a module of the standard library, and a word of every domain that has severities
_OTHERWISE = re.compile(r"\bimport inspect\b|\binspect\.\w|\brisks\?", re.IGNORECASE)


@pytest.mark.parametrize("path", sorted(PLANNERS.rglob("*.py")), ids=lambda path: path.name)
def test_no_planner_knows_a_noun_of_the_demo(path: Path) -> None:
    text = _OTHERWISE.sub("", path.read_text(encoding="utf-8"))
    found = {match[0].casefold() for match in _NOUNS.finditer(text)}
    assert found <= _GENERAL


@given(st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text_gets_an_answer(text: str) -> None:
    assert isinstance(propose(text), Draft | Clarification | Refusal)


@given(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=12).map(" ".join))
@settings(max_examples=250, deadline=None)
def test_any_row_of_known_words_gets_an_answer(text: str) -> None:
    proposal = propose(text)
    if isinstance(proposal, Draft):
        compiled = compile_plan(proposal.text, tools=demo())
        assert compiled.plan is not None, [d.message for d in compiled.diagnostics]


@given(st.sampled_from(QUESTIONS), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_the_same_question_gives_the_same_plan(question: str, earlier: int) -> None:
    planner = GroundedPlanner()
    for other in QUESTIONS[:earlier]:
        planner.plan(Question(other, TODAY), demo())
    assert planner.plan(Question(question, TODAY), demo()) == propose(question)


def test_a_catalogue_is_compiled_once_for_each_toolbox() -> None:
    planner = GroundedPlanner()
    first = planner.catalogue(demo())
    assert planner.catalogue(demo()) is first
    assert planner.catalogue(_LIBRARY) is not first


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "nonsense"},
        {"properties": 3, "x-entity": 4, "x-synonyms": {"a": 1}},
        {"properties": {"a": {"$ref": "#/properties/a"}}, "x-entity": "a", "x-verb": "list"},
        {"x-entity": "a", "x-verb": "list", "properties": {"b": {"x-values": [], "enum": [1]}}},
        {"x-entity": "", "x-verb": "list"},
    ],
)
def test_hostile_schemas_do_no_harm(schema: object) -> None:
    tools = Toolbox.from_json([{"name": "a_list", "input_schema": schema}])
    proposal = propose("show all a", tools=tools)
    assert isinstance(proposal, Draft | Clarification | Refusal)


def test_a_toolbox_without_hints_is_read_by_names() -> None:
    tools = Toolbox.from_json(
        [
            {
                "name": "list_invoices",
                "description": "",
                "input_schema": {
                    "type": "object",
                    "properties": {"status": {"type": "string", "enum": ["paid", "unpaid"]}},
                },
                "output_schema": {
                    "type": "object",
                    "properties": {
                        "data": {
                            "type": "array",
                            "items": {"type": "object", "properties": {"id": {"type": "string"}}},
                        }
                    },
                },
                "annotations": {"effects": "read"},
            }
        ]
    )
    proposal = propose("show unpaid invoices", tools=tools)
    assert isinstance(proposal, Draft)
    assert '"status": "unpaid"' in proposal.text


def test_planning_takes_milliseconds() -> None:
    """The figure is printed; the bound is far off, because machines are shared."""
    compile_catalogue(demo())
    started = time.process_time()
    for question in QUESTIONS:
        propose(question)
    each = (time.process_time() - started) / len(QUESTIONS) * 1000
    print(f"{each:.2f} ms of CPU time for each of {len(QUESTIONS)} questions")
    assert each < 100
