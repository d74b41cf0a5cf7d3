"""No word of a question is skipped: it is used, or asked about (table B of the findings)."""

from __future__ import annotations

from datetime import date

import pytest

from benchmarks.aggregates import Verdict, check_all
from tests.planners.planned import TODAY, arguments, document, propose
from toolplan.path import Json
from toolplan.planners import Clarification, Draft, GroundedPlanner, Question
from toolplan.sources.sql import sql_tool
from toolplan.tools import Effects, Tool, Toolbox

YEAR = "BETWEEN '2025-01-01' AND '2025-12-31'"

ANSWERED = {
    "top 3 facilities by critical contaminants in 2025": (
        "SELECT facility_id, count(*) AS n FROM contaminants WHERE risk_level = 'critical'"
        f" AND detected_at {YEAR} GROUP BY facility_id ORDER BY n DESC, facility_id LIMIT 3"
    ),
    "top 5 facilities by rejected inspections this year": (
        "SELECT facility_id, count(*) AS n FROM inspections WHERE status = 'rejected'"
        f" AND date {YEAR} GROUP BY facility_id ORDER BY n DESC, facility_id LIMIT 5"
    ),
    "top 3 inspectors by inspections": (
        "SELECT inspector, count(*) AS n FROM inspections WHERE inspector IS NOT NULL"
        " GROUP BY inspector ORDER BY n DESC, inspector LIMIT 3"
    ),
    "How many shipments were delivered to Hamburg in 2025?": (
        "SELECT count(*) FROM shipments WHERE status = 'delivered' AND destination = 'Hamburg'"
        f" AND date {YEAR}"
    ),
    "How many shipments were rejected at facilities in Berlin?": (
        "SELECT count(*) FROM shipments WHERE status = 'rejected' AND facility_id IN"
        " (SELECT id FROM facilities WHERE location = 'Berlin')"
    ),
    "Which waste type is contaminated most often?": (
        "SELECT waste_type, avg(has_contaminants) AS rate FROM shipments"
        " WHERE waste_type IS NOT NULL GROUP BY waste_type ORDER BY rate DESC LIMIT 1"
    ),
    "Which carrier is rejected most often?": (
        "SELECT carrier, avg(status = 'rejected') AS rate FROM shipments"
        " WHERE carrier IS NOT NULL GROUP BY carrier ORDER BY rate DESC LIMIT 1"
    ),
    "shipments under 450 kg": "SELECT id FROM shipments WHERE weight_kg < 450",
    "shipments of at most 450 kg": "SELECT id FROM shipments WHERE weight_kg <= 450",
    "contaminants above 200 ppm": "SELECT id FROM contaminants WHERE concentration_ppm > 200",
    "heaviest shipment of each carrier": (
        "SELECT id FROM (SELECT id, rank() OVER (PARTITION BY carrier ORDER BY weight_kg DESC) AS p"
        " FROM shipments WHERE carrier IS NOT NULL) WHERE p = 1"
    ),
    "3 heaviest shipments for each waste type": (
        "SELECT id FROM (SELECT id, rank() OVER (PARTITION BY waste_type ORDER BY weight_kg DESC)"
        " AS p FROM shipments WHERE waste_type IS NOT NULL) WHERE p <= 3"
    ),
    "the largest facility in each city": (
        "SELECT id FROM (SELECT id, rank() OVER (PARTITION BY location ORDER BY capacity_tons DESC)"
        " AS p FROM facilities) WHERE p = 1"
    ),
    "facilities with a capacity of more than 1700 t": (
        "SELECT id FROM facilities WHERE capacity_tons > 1700"
    ),
}


@pytest.mark.parametrize(("question", "statement"), ANSWERED.items(), ids=list(ANSWERED))
def test_the_answer_is_that_of_a_statement_on_the_same_data(question: str, statement: str) -> None:
    today = date.fromisoformat(TODAY)
    (checked,) = check_all([{"question": question, "sql": statement}], today, rows=1_500)
    assert checked.verdict is Verdict.RIGHT, checked.reason


ASKED = {
    "top 5 facilities": ["top"],
    "top 10 shipments": ["top"],
    "How much lead was found in the last 30 days?": ["How much"],
    "how many tonnes of mercury were detected this year": ["tonnes"],
    "Which carrier has contaminated shipments most often?": ["most often"],
    "rejected shipments of BlueFreight": ["BlueFreight"],
    "EcoHaul loads": ["EcoHaul"],
    "facilities in S40": ["S40"],
    "What is the weight of shipments with carrier S40?": ["S40"],
    "shipments with carrier S40": ["S40"],
    "shipments to S40": ["S40"],
    "shipments by S40": ["S40"],
    "shipments with status F3": ["F3"],
    "inspections with result F3": ["F3"],
    "facilities in F4": ["F4"],
    "who last inspected F3": ["last"],
    "inspections of F3 last": ["last"],
    "shipments with contaminants but no lead": ["but"],
    "shipments that have contaminants but not critical ones": ["but"],
    "facilities with shipments but not plastic": ["but"],
    "facilities with inspections and not failed": ["and"],
    "contaminated loads from last month and what happened to them": ["happened", "to them"],
    "shipments to Berlin and what came": ["came"],
    "inspections between the 3rd and": ["between", "the 3rd", "and"],
    "inspections between the 3rd": ["between", "the 3rd"],
    "shipments from Berlin or": ["or"],
}


@pytest.mark.parametrize(("question", "words"), ASKED.items(), ids=list(ASKED))
def test_what_is_not_used_is_asked_about(question: str, words: list[str]) -> None:
    proposal = propose(question)
    assert isinstance(proposal, Clarification), proposal
    assert set(words) <= set(proposal.unexplained)


@pytest.mark.parametrize("question", ["rejected shipments of BlueFreight", "EcoHaul loads"])
def test_a_name_that_nobody_knows_is_offered_to_each_argument(question: str) -> None:
    """Each option is a question that is planned, and uses the name where it says."""
    proposal = propose(question)
    assert isinstance(proposal, Clarification)
    name = "BlueFreight" if "Blue" in question else "EcoHaul"
    assert f'Is "{name}" the origin, destination, waste type or carrier?' in proposal.question
    taken: list[str] = []
    for option in proposal.options:
        ((tool, given),) = arguments(option)
        assert tool == "shipments_list"
        assert isinstance(given, dict)
        taken.extend(argument for argument, value in given.items() if value == name)
    assert taken == ["origin", "destination", "waste_type", "carrier"]


def test_how_much_says_what_the_data_measure() -> None:
    proposal = propose("How much lead was found in the last 30 days?")
    assert isinstance(proposal, Clarification)
    assert 'The data have only concentration in ppm of "lead".' in proposal.question


def test_each_place_and_type_keeps_to_its_own_thing() -> None:
    assert arguments("sorting plants in Leipzig, processing ones in Dresden") == [
        ("facilities_list", {"location": "Leipzig", "type": "sorting"}),
        ("facilities_list", {"location": "Dresden", "type": "processing"}),
    ]
    assert arguments("plastic shipments from Berlin, metal ones to Hamburg") == [
        ("shipments_list", {"waste_type": "plastic", "origin": "Berlin"}),
        ("shipments_list", {"waste_type": "metal", "destination": "Hamburg"}),
    ]
    assert arguments("shipments to Berlin, only rejected ones") == [
        ("shipments_list", {"status": "rejected", "destination": "Berlin"}),
    ]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        (
            "is there a pending inspection concerning S31?",
            {"status": "pending", "shipment_id": "S31"},
        ),
        ("rejected inspections of S20251012-003", {
            "status": "rejected", "shipment_id": "S20251012-003",
        }),
        ("inspections at F3 that are pending", {"status": "pending", "facility_id": "F3"}),
    ],
)  # fmt: skip
def test_an_identity_is_that_of_the_thing_it_looks_like(
    question: str, wanted: dict[str, str]
) -> None:
    assert arguments(question) == [("inspections_list", wanted)]


def test_a_doer_is_not_a_state() -> None:
    question = "shipments delivered by BulkMovers"
    assert arguments(question) == [("shipments_list", {"carrier": "BulkMovers"})]
    metadata = document(question)["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["notes"] == ['"delivered by" = by whom, whatever the status']


SHIPPED = "${shipments.data[*].id}"

PLANNED = {
    # what was found is a thing of its own
    "contaminated loads from May and what was found in them": [
        ("shipments_list", {
            "date_from": "2025-05-01", "date_to": "2025-05-31", "has_contaminants": True,
        }),
        ("contaminants_list", {"shipment_ids": SHIPPED}),
    ],
    "pending shipments and the contaminants in each": [
        ("shipments_list", {"status": "pending"}),
        ("contaminants_list", {"shipment_ids": SHIPPED}),
    ],
    # words that point back
    "contaminant C9: which shipment was that, and which facility is that shipment assigned to?": [
        ("contaminants_get", {"id": "C9"}),
        ("shipments_get", {"id": "${contaminant.data.shipment_id}"}),
        ("facilities_get", {"id": "${shipment.data.facility_id}"}),
    ],
    "rejected inspections -> high risk contaminants of those shipments": [
        ("inspections_list", {"status": "rejected"}),
        ("contaminants_list", {
            "shipment_ids": "${inspections.data[*].shipment_id}", "risk_level": "high",
        }),
    ],
    "First the Bremen sites, next what loads they received": [
        ("facilities_list", {"location": "Bremen"}),
        ("shipments_list", {"facility_id": "${facilities.data[*].id}"}),
    ],
    # identities of other things
    "has S12 ever been inspected": [("inspections_list", {"shipment_id": "S12"})],
    "opening hours of the place that took S40": [
        ("shipments_get", {"id": "S40"}),
        ("facilities_get", {"id": "${shipment.data.facility_id}"}),
    ],
    "at what facility was C12 detected?": [
        ("contaminants_get", {"id": "C12"}),
        ("facilities_get", {"id": "${contaminant.data.facility_id}"}),
    ],
    "how many ppm had contaminant C33": [("contaminants_get", {"id": "C33"})],
    "phone number of facility F6?": [("facilities_get", {"id": "F6"})],
    # a word that is a thing or a verb
    "checks of yesterday": [
        ("inspections_list", {"date_from": "2025-10-11", "date_to": "2025-10-11"})
    ],
    "check the rejected shipments": [("shipments_list", {"status": "rejected"})],
    # times without a gap, and bounds whose words stand apart
    "inspections of August and September": [
        ("inspections_list", {"date_from": "2025-08-01", "date_to": "2025-09-30"})
    ],
    "all loads up to and including 15 July": [("shipments_list", {"date_to": "2025-07-15"})],
    "plants with a minimum capacity of 500 tonnes": [("facilities_list", {"min_capacity": 500})],
    "Inspections that ended in a rejection": [("inspections_list", {"status": "rejected"})],
    "risk level trend for the past 14 days": [("analytics_risk_trends", {"days": 14})],
}  # fmt: skip


@pytest.mark.parametrize(("question", "steps"), PLANNED.items(), ids=list(PLANNED))
def test_each_word_has_its_place(question: str, steps: list[tuple[str, dict[str, Json]]]) -> None:
    assert arguments(question) == steps


ALSO_ANSWERED = {
    "Which carriers have the worst contamination rate?": (
        "SELECT carrier, avg(has_contaminants) AS rate FROM shipments"
        " WHERE carrier IS NOT NULL GROUP BY carrier ORDER BY rate DESC"
    ),
    "Which inspector has the worst acceptance rate?": (
        "SELECT inspector, avg(status = 'accepted') AS rate FROM inspections"
        " WHERE inspector IS NOT NULL GROUP BY inspector ORDER BY rate LIMIT 1"
    ),
    "Name the three carriers that moved the most kilos": (
        "SELECT carrier, sum(weight_kg) AS n FROM shipments WHERE carrier IS NOT NULL"
        " GROUP BY carrier ORDER BY n DESC LIMIT 3"
    ),
    "pending inspections anywhere but F1": (
        "SELECT id FROM inspections WHERE status = 'pending' AND facility_id <> 'F1'"
    ),
}


@pytest.mark.parametrize(("question", "statement"), ALSO_ANSWERED.items(), ids=list(ALSO_ANSWERED))
def test_the_order_and_what_is_left_out_are_those_of_a_statement(
    question: str, statement: str
) -> None:
    today = date.fromisoformat(TODAY)
    asked = [{"question": question, "sql": statement, "ordered": "ORDER BY" in statement}]
    (checked,) = check_all(asked, today, rows=1_500)
    assert checked.verdict is Verdict.RIGHT, checked.reason


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("shipmnts with contamints frm last weak", "shipments with contaminants from last week"),
        ("inspectons done in Octobr", "inspections done in October"),
    ],
)
def test_typing_errors_are_offered_and_not_assumed(typed: str, meant: str) -> None:
    proposal = propose(typed)
    assert isinstance(proposal, Clarification)
    assert f'Did you mean "{meant}"?' in proposal.question
    assert proposal.options[0] == meant


@pytest.mark.parametrize(
    ("question", "notes"),
    [
        (
            "contaminated shipments per month this year",
            ["the last month is counted only until 2025-10-12"],
        ),
        (
            "shipments per week from 1 August 2025 to 17 August 2025",
            ["the first week is counted only from 2025-08-01"],
        ),
        ("monthly shipments in 2024", []),
        ("number of inspections by month", ["the last month is counted only until 2025-10-12"]),
    ],
)
def test_periods_that_are_only_partly_there_are_named(question: str, notes: list[str]) -> None:
    metadata = document(question)["metadata"]
    assert isinstance(metadata, dict)
    found = metadata["notes"]
    assert isinstance(found, list)
    assert [note for note in found if "counted only" in str(note)] == notes


TIES = {
    "Which day had the most shipments?": (
        "SELECT d FROM (SELECT substr(date, 1, 10) AS d, count(*) AS n FROM shipments GROUP BY d)"
        " WHERE n = (SELECT max(n) FROM (SELECT count(*) AS n FROM shipments"
        " GROUP BY substr(date, 1, 10)))"
    ),
    "the lightest shipment": (
        "SELECT id FROM shipments WHERE weight_kg = (SELECT min(weight_kg) FROM shipments)"
    ),
}


@pytest.mark.parametrize("rows", [40, 150, 1_500])
@pytest.mark.parametrize(("question", "statement"), TIES.items(), ids=list(TIES))
def test_all_that_share_a_place_are_given(question: str, statement: str, rows: int) -> None:
    asked = [{"question": question, "sql": statement}]
    (checked,) = check_all(asked, date.fromisoformat(TODAY), rows=rows)
    assert checked.verdict is Verdict.RIGHT, checked.reason


ASKED_FIRST = {
    "who did the most inspections?": (
        "SELECT inspector FROM inspections WHERE inspector IS NOT NULL"
        " GROUP BY inspector ORDER BY count(*) DESC LIMIT 1"
    ),
    "which facility rejected the most shipments?": (
        "SELECT facility_id FROM shipments WHERE status = 'rejected'"
        " GROUP BY facility_id ORDER BY count(*) DESC LIMIT 1"
    ),
    "rejected inspections at Hamburg Elbe": (
        "SELECT id FROM inspections WHERE status = 'rejected' AND facility_id IN"
        " (SELECT id FROM facilities WHERE name = 'Hamburg Elbe')"
    ),
    "what was found at Berlin Nord last week?": (
        "SELECT id FROM contaminants WHERE facility_id = 'F1'"
        " AND substr(detected_at, 1, 10) BETWEEN '2025-10-05' AND '2025-10-12'"
    ),
    "the first contaminated load from May": (
        "SELECT id FROM shipments WHERE has_contaminants"
        " AND substr(date, 1, 10) BETWEEN '2025-05-01' AND '2025-05-31' ORDER BY date, id LIMIT 1"
    ),
    **{
        question: f"SELECT id FROM {rows} ORDER BY {by} LIMIT 1"
        for rows, by, questions in (
            (
                "contaminants WHERE type = 'Mercury'",
                "detected_at DESC",
                "when was the last time mercury was found?|when was mercury last found|when was"
                " mercury found last|where was mercury last found|where was the last time that"
                " mercury was found",
            ),
            (
                "contaminants WHERE type = 'Lead' AND facility_id = 'F3'",
                "detected_at DESC",
                "when was lead last found at F3|when was the last time lead was detected at F3",
            ),
            (
                "contaminants WHERE type = 'Lead'",
                "detected_at",
                "when was lead first found|when was the first time lead was found",
            ),
            (
                "inspections WHERE facility_id = 'F8'",
                "date DESC",
                "who inspected F8 last|when was the last inspection at F8",
            ),
        )
        for question in questions.split("|")
    },
}


@pytest.mark.parametrize(("question", "statement"), ASKED_FIRST.items(), ids=list(ASKED_FIRST))
def test_questions_that_users_ask_first_are_answered(question: str, statement: str) -> None:
    asked = [{"question": question, "sql": statement}]
    (checked,) = check_all(asked, date.fromisoformat(TODAY), rows=1_500)
    assert checked.verdict is Verdict.RIGHT, checked.reason


def test_a_total_of_things_is_their_sum_where_they_have_a_total() -> None:
    number: Json = {"type": "number"}
    columns: dict[str, Json] = {
        "id": {"type": "string"},
        "total": number,
        "shop": {"type": "string"},
    }
    row: Json = {
        "type": "object",
        "x-entity": "order",
        "properties": columns,
        "required": [*columns],
    }
    orders = Tool(
        "orders_list",
        "Lists orders.",
        {"type": "object", "properties": {}, "x-entity": "order", "x-verb": "list"},
        {"type": "object", "properties": {"rows": {"type": "array", "items": row}}},
        Effects.READ,
    )
    planned = GroundedPlanner().plan(
        Question("Total of orders per shop", TODAY), Toolbox([orders, sql_tool()])
    )
    assert isinstance(planned, Draft)
    assert "sum(total)" in planned.text
    assert "count(*)" not in planned.text


@pytest.mark.parametrize(
    ("question", "call"),
    [
        ("who inspected S20250901-004", ("inspections_list", {"shipment_id": "S20250901-004"})),
        ("where was mercury found", ("contaminants_list", {"type": "Mercury"})),
        ("when was asbestos found", ("contaminants_list", {"type": "Asbestos"})),
        (
            "when was the last inspection of F4",
            ("inspections_list", {"facility_id": "F4", "limit": 1}),
        ),
    ],
)
def test_who_where_and_when_are_shown_by_rows_with_such_a_column(
    question: str, call: tuple[str, Json]
) -> None:
    assert arguments(question) == [call]


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("who found asbestos", "who"),  # rows of findings name no person
        ("who rejected shipments", "who"),
        ("when were shipments rejected", "when"),  # their date is not that of the rejection
        ("when were shipments inspected", "when"),
        ("when did F3 last reject a shipment", "when"),
        ("when was the last time a shipment was rejected", "when"),
    ],
)
def test_who_and_when_that_no_row_shows_are_asked_about(question: str, word: str) -> None:
    proposal = propose(question)
    assert isinstance(proposal, Clarification), proposal
    assert proposal.unexplained == (word,)
    assert "Did you mean" not in proposal.question


@pytest.mark.parametrize(
    "question",
    [
        "latest shipment per carrier",
        "latest inspection of each facility",
        "newest 2 shipments by carrier",
    ],
)
def test_rows_are_not_cut_before_they_are_grouped(question: str) -> None:
    assert isinstance(propose(question), Clarification)


@pytest.mark.parametrize(
    "question", ["first three shipments of September", "first 3 shipments of 2025"]
)
def test_the_first_things_of_a_time_are_the_oldest_of_it(question: str) -> None:
    (listing, given), (tool, chosen) = arguments(question)
    assert (listing, tool) == ("shipments_list", "sql")
    assert isinstance(given, dict)
    assert "limit" not in given
    assert isinstance(chosen, dict)
    assert chosen["sql"] == (
        "SELECT * FROM shipments QUALIFY rank() OVER (ORDER BY date ASC NULLS LAST) <= 3"
        " ORDER BY date ASC NULLS LAST"
    )


@pytest.mark.parametrize("question", ["shipments for Smith", "inspections for Smith"])
def test_a_name_that_nothing_knows_behind_for_is_asked_about(question: str) -> None:
    assert isinstance(propose(question), Clarification)
