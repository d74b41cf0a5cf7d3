"""Measures of things in plain schemas: units, adjectives of fields, years, kinds, shares."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, Literal

import pytest
from typing_extensions import TypedDict

import toolplan
from toolplan.compiler import compile_plan
from toolplan.planners import Clarification, Draft, Question
from toolplan_offline import OfflinePlanner
from toolplan_offline.words import graded, plural, singular
from toolplan_sql import sql_tool


class Fisherman(TypedDict):
    id: str
    name: str
    town: str


class Barge(TypedDict):
    id: str
    name: str
    length_m: float
    beam_m: float
    depth_m: float
    engine_kw: int | None
    built_year: int
    side: Literal["east", "west"]
    under_repair: bool


class Catch(TypedDict):
    id: str
    barge_id: str
    species: Literal["cod", "herring"]
    weight_kg: float
    price_per_kg: float
    cost_eur: float


class Inspection(TypedDict):
    id: str
    barge_id: str
    date: date
    next_due: date


class Callout(TypedDict):
    id: str
    reported: date
    closed: date | None


class Lease(TypedDict):
    id: str
    signed: date
    begins: date


@toolplan.tool(effects="read")
def list_fishermen(town: str | None = None) -> list[Fisherman]:
    """Return the fishermen."""
    return []


@toolplan.tool(effects="read")
def list_barges(min_length_m: float | None = None) -> list[Barge]:
    """Return the barges."""
    return []


@toolplan.tool(effects="read")
def list_catches(barge_id: str | None = None) -> list[Catch]:
    """Return the catches."""
    return []


@toolplan.tool(effects="read")
def list_inspections(barge_id: str | None = None) -> list[Inspection]:
    """Return the inspections."""
    return []


@toolplan.tool(effects="read")
def list_callouts() -> list[Callout]:
    """Return the callouts."""
    return []


@toolplan.tool(effects="read")
def list_leases() -> list[Lease]:
    """Return the leases."""
    return []


TOOLS = toolplan.Toolbox(
    [list_fishermen, list_barges, list_catches, list_inspections, list_callouts, list_leases]
).with_tools(sql_tool())
PLANNER = OfflinePlanner()


def steps_of(question: str) -> list[dict[str, Any]]:
    """Return the steps of the plan, which passes its check."""
    proposal = PLANNER.plan(Question(question, "2026-11-28"), TOOLS)
    assert isinstance(proposal, Draft), proposal
    compiled = compile_plan(proposal.text, tools=TOOLS)
    assert compiled.plan is not None, compiled.diagnostics
    return json.loads(proposal.text)["steps"]


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("barges more than 3 m deep", "depth_m > 3"),
        ("barges deeper than 3 metres", "depth_m > 3"),
        ("barges shorter than 12 meters", "length_m < 12"),
        ("barges at most 12 metres long", "length_m <= 12"),
        ("barges with more than 90 kW", "engine_kw > 90"),
        ("barges without an engine", "engine_kw IS NULL"),
        ("barges built between 1990 and 1999", "built_year >= 1990 AND built_year <= 1999"),
        ("barges built before 2000", "built_year <= 1999"),
        ("barges on the west side", "= 'west'"),
        ("catches over 500 kg", "WHERE weight_kg > 500"),
        ("catches lighter than 500 kg", "weight_kg < 500"),
        ("which catch cost the most?", "rank() OVER (ORDER BY cost_eur DESC NULLS LAST) <= 1"),
        ("which catch weighed the least?", "(ORDER BY weight_kg ASC NULLS LAST) <= 1"),
        ("the deepest barge", "(ORDER BY depth_m DESC NULLS LAST) <= 1"),
        ("longest barge", "(ORDER BY length_m DESC NULLS LAST) <= 1"),
        ("total cost per kind of species", "SELECT catches.species, sum(catches.cost_eur)"),
        ("which kind of species has the highest total cost?", "DESC NULLS LAST) <= 1"),
        ("what share of the barges is under repair?", "avg(CASE WHEN under_repair"),
        ("sum of the catch costs", "sum(catches.cost_eur)"),
        ("lowest weight among the catches", "min(catches.weight_kg)"),
        ("inspections in May 2026", "WHERE date >= '2026-05-01' AND date <= '2026-05-31'"),
        ("callouts per month", "callouts.reported"),
        ("callouts closed in May 2026", "WHERE closed >= '2026-05-01'"),
    ],
)
def test_a_measure_is_read_by_its_unit_or_adjective(question: str, condition: str) -> None:
    assert condition in steps_of(question)[-1]["args"]["sql"]


def test_either_of_two_unknown_places_is_one_call_each() -> None:
    steps = steps_of("fishermen in Kirkhaven or Saltney")
    assert [each["args"] for each in steps] == [{"town": "Kirkhaven"}, {"town": "Saltney"}]


@pytest.mark.parametrize(
    "question",
    [
        "barges under 10 m",  # long, wide or deep
        "barges built since May",  # a year has no months
        "barges from 1990",  # built, or of that year in another way
        "catches dearer than 5",
        "leases from May 2026",  # signed then, or begun
        "top 3 species by price per kg",  # the average, or the highest
    ],
)
def test_what_is_not_sure_is_asked(question: str) -> None:
    proposal = PLANNER.plan(Question(question, "2026-11-28"), TOOLS)
    assert isinstance(proposal, Clarification), proposal


@pytest.mark.parametrize(
    ("one", "many"), [("craftsman", "craftsmen"), ("woman", "women"), ("box", "boxes")]
)
def test_plurals(one: str, many: str) -> None:
    assert (plural(one), singular(many)) == (many, one)


def test_degrees_of_adjectives() -> None:
    assert graded("wide") == ("wider", "widest")
    assert graded("heavy") == ("heavier", "heaviest")
    assert graded("expensive") == ("more expensive", "most expensive")
