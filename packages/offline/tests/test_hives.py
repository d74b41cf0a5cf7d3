"""Questions of a beekeepers' cooperative: things that are tied directly and over a third."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from typing_extensions import TypedDict

import toolplan
from toolplan.planners import Clarification, Draft, Question
from toolplan_offline import OfflinePlanner
from toolplan_sql import sql_tool

Region = Literal["north", "coast"]
Status = Literal["active", "weak", "dead"]
Honey = Literal["acacia", "linden", "heather"]
Pest = Literal["varroa", "nosema"]


def hint(**keywords: Any) -> Any:
    return Field(json_schema_extra={f"x-{key}": value for key, value in keywords.items()})


Products = hint(kind="name", cue=["with"], gazetteer=["thymol", "formic acid"])


class Treatment(TypedDict):
    id: str
    hive_id: str
    keeper_id: str
    date: date
    against: Pest
    product: Annotated[str, Products]
    dose_ml: int
    remarks: str | None


class Apiary(TypedDict):
    id: str
    name: str
    region: Region
    altitude_m: int


class Keeper(TypedDict):
    id: str
    name: str
    village: str
    certified: bool


class Hive(TypedDict):
    id: str
    apiary_id: str
    keeper_id: str
    status: Status
    frames: int


class Harvest(TypedDict):
    id: str
    hive_id: str
    date: date
    honey: Honey
    kilos: float


class Sale(TypedDict):
    id: str
    buyer: str
    honey: Honey
    kilos: float
    paid: bool


@toolplan.tool(effects="read")
def list_treatments(
    hive_id: list[str] | None = None,
    keeper_id: list[str] | None = None,
    since: date | None = None,
    until: date | None = None,
    against: Pest | None = None,
    product: Annotated[str | None, Products] = None,
) -> list[Treatment]:
    """List treatments."""
    return []


@toolplan.tool(effects="read")
def list_apiaries(region: Region | None = None) -> list[Apiary]:
    """List apiaries."""
    return []


@toolplan.tool(effects="read")
def list_keepers(village: str | None = None, certified: bool | None = None) -> list[Keeper]:
    """List keepers."""
    return []


@toolplan.tool(effects="read")
def list_hives(
    apiary_id: list[str] | None = None,
    keeper_id: list[str] | None = None,
    status: Status | None = None,
    min_frames: int | None = None,
) -> list[Hive]:
    """List hives."""
    return []


@toolplan.tool(effects="read")
def list_harvests(
    hive_id: list[str] | None = None,
    since: date | None = None,
    until: date | None = None,
    honey: Honey | None = None,
    min_kilos: float | None = None,
    max_kilos: float | None = None,
) -> list[Harvest]:
    """List harvests."""
    return []


@toolplan.tool(effects="read")
def list_sales(buyer: str | None = None, paid: bool | None = None) -> list[Sale]:
    """List sales."""
    return []


TOOLS = toolplan.Toolbox(
    [list_treatments, list_apiaries, list_keepers, list_hives, list_harvests, list_sales]
).with_tools(sql_tool())


async def proposed(question: str) -> Draft | Clarification:
    proposal = await OfflinePlanner().propose(Question(question, today="2026-06-15"), TOOLS, ())
    assert isinstance(proposal, Draft | Clarification)
    return proposal


async def steps(question: str) -> list[tuple[str, Any]]:
    """Return the tool of each step, with its arguments or its statement."""
    proposal = await proposed(question)
    assert isinstance(proposal, Draft), proposal
    args = [(step["tool"], step.get("args", {})) for step in json.loads(proposal.text)["steps"]]
    return [(tool, given.get("sql", given)) for tool, given in args]


TREATED = (
    "SELECT * FROM hives WHERE id IN (SELECT hive_id FROM treatments WHERE hive_id IS NOT NULL)"
)


@pytest.mark.parametrize(
    ("question", "args"),
    [
        ("hives treated with formic acid", {"product": "formic acid"}),
        ("hives treated against varroa", {"against": "varroa"}),
        ("which hives were treated with thymol?", {"product": "thymol"}),
        (
            "which hives were treated in the last 30 days?",
            {"since": "2026-05-16", "until": "2026-06-15"},
        ),
        ("hives with treatments against nosema", {"against": "nosema"}),
        ("hives that were treated in May", {"since": "2026-05-01", "until": "2026-05-31"}),
    ],
)
async def test_things_are_tied_by_their_own_identity_not_by_one_that_both_name(
    question: str, args: dict[str, str]
) -> None:
    assert await steps(question) == [
        ("list_treatments", args),
        ("list_hives", {}),
        ("sql", TREATED),
    ]


@pytest.mark.parametrize(
    ("question", "tools"),
    [
        ("harvests of certified keepers", ["list_keepers", "list_hives", "list_harvests"]),
        ("treatments of certified keepers", ["list_keepers", "list_treatments"]),
        ("harvests of apiaries on the coast", ["list_apiaries", "list_hives", "list_harvests"]),
        (
            "harvests of hives treated with thymol",
            ["list_treatments", "list_hives", "sql", "list_harvests"],
        ),
    ],
)
async def test_things_are_tied_over_the_nearest_third(question: str, tools: list[str]) -> None:
    assert [tool for tool, _ in await steps(question)] == tools


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("apiaries above 500 m", "altitude_m > 500"),
        ("harvests over 10 kg", "kilos > 10"),
        ("harvests with kilos over 2000", "kilos > 2000"),
        ("harvests between 2000 and 2050 kg", {"min_kilos": 2000, "max_kilos": 2050}),
        ("treatments with a dose above 100 ml", "dose_ml > 100"),
        ("hives with 20 or more frames", {"min_frames": 20}),
        ("hives with between 10 and 12 frames", "frames <= 12"),
        ("hives with 10 to 12 frames", "frames <= 12"),
        ("sales to Hotel Aurora", {"buyer": "Hotel Aurora"}),
        ("sales not to Abbey Shop", "lower(buyer) IS DISTINCT FROM 'abbey shop'"),
        ("keepers named Greta Lund", "lower(name) = 'greta lund'"),
        ("harvests neither acacia nor linden", "NOT IN ('acacia', 'linden')"),
        ("share of weak hives", "lower(status) = 'weak' THEN 1.0"),
        ("percentage of unpaid sales", "WHEN paid = false THEN 1.0"),
        ("How many hives stand in each apiary?", "SELECT hives.apiary_id, count(*)"),
        ("How many treatments did each keeper give?", "SELECT treatments.keeper_id, count(*)"),
        ("keepers with more than one hive", "HAVING count(*) > 1"),
        ("average number of frames per status", "avg(hives.frames)"),
        ("total kilos of harvests per honey", "sum(harvests.kilos)"),
        ("list all buyers", "SELECT sales.buyer, count(*)"),
        ("the top 5 harvests by kilos", "<= 5"),
        ("harvests, sorted by kilos", "ORDER BY kilos ASC"),
        ("Harvests: acacia, this year", {"since": "2026-01-01", "honey": "acacia"}),
        ("Good morning! Would you be so kind as to list the dead hives?", {"status": "dead"}),
        ("treatments with their remarks", {}),
    ],
)
async def test_amounts_names_shares_and_groups(question: str, told: object) -> None:
    *_, (_, last) = await steps(question)
    if isinstance(told, dict):
        assert last.items() >= told.items()
    else:
        assert str(told) in last


@pytest.mark.parametrize(
    "question",
    [
        # a bare plural is counted, and not measured by the one number that it has
        "average treatments per keeper",
        "average hives per apiary",
        "average number of treatments per hive",
        "average harvests per hive",
        # those that have one, or all with theirs
        "treatments with remarks",
        "treatments with product and remarks",
        # the share that one has of all such, or that such have of its own
        "share of weak hives at A1",
        "share of weak hives by apiary",
        "share of unpaid sales to Hotel Aurora",
        "what share of the weak hives does each keeper have?",
        "what share of weak hives were treated by K1?",
        # the hives of a keeper, or of an apiary
        "hives of Fox Hill",
        "keepers of hives in Bergen",
    ],
)
async def test_what_can_be_meant_in_two_ways_is_asked_back(question: str) -> None:
    assert isinstance(await proposed(question), Clarification)
