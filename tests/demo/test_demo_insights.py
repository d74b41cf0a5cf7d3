"""Insight functions: figures by hand, none where there is nothing to say, no row breaks them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.demo.conftest import Rows
from toolplan.demo import INSIGHTS
from toolplan.path import Json

Row = dict[str, Json]


def insights(entity: str, rows: list[Row]) -> list[str]:
    return [sentence for function in INSIGHTS for sentence in function(entity, rows)]


def shipment(n: int, **fields: Json) -> Row:
    return {
        "id": f"S{n}",
        "facility_id": "F1",
        "status": "delivered",
        "weight_kg": 1000,
        "has_contaminants": False,
        "waste_type": "paper",
        **fields,
    }


def contaminant(n: int, **fields: Json) -> Row:
    return {
        "id": f"C{n}",
        "shipment_id": "S1",
        "type": "Lead",
        "concentration_ppm": 10,
        "risk_level": "low",
        **fields,
    }


def test_contamination_is_reported_from_three_in_ten_on() -> None:
    three = [shipment(n, has_contaminants=n < 3) for n in range(10)]
    four = [shipment(n, has_contaminants=n < 4) for n in range(10)]
    assert not any("contaminated" in each for each in insights("shipment", three))
    assert "4 of 10 shipments are contaminated (40.0 %)." in insights("shipment", four)


def test_c12_of_rows_that_are_all_contaminated_no_rate_is_reported() -> None:
    """C-12: a filter on the numerator makes every rate 100 %."""
    rows = [shipment(n, has_contaminants=True, waste_type=f"w{n % 2}") for n in range(10)]
    assert not any("contaminated" in each for each in insights("shipment", rows))


def test_rejection_and_rejection_without_a_reason_are_reported() -> None:
    rows = [shipment(n, status="rejected" if n < 3 else "delivered") for n in range(10)]
    rows[0]["has_contaminants"] = True
    found = insights("shipment", rows)
    assert "3 of 10 shipments are rejected (30.0 %)." in found
    assert "2 shipments were rejected without any contaminant: S1, S2." in found


def test_the_dirtiest_waste_type_needs_two_shipments_and_more_than_half() -> None:
    rows = [
        shipment(1, waste_type="hazardous", has_contaminants=True),
        shipment(2, waste_type="metal", has_contaminants=True),
        shipment(3, waste_type="metal", has_contaminants=True),
        shipment(4, waste_type="metal"),
        shipment(5),
        shipment(6),
    ]
    assert (
        "Of the waste types, metal is contaminated most often: 2 of 3 shipments (66.7 %)."
        in insights("shipment", rows)
    )


def test_heavy_shipments_are_reported_against_the_mean_and_against_ten_tonnes() -> None:
    rows = [*(shipment(n) for n in range(9)), shipment(9, weight_kg=12_000)]
    found = insights("shipment", rows)
    assert "1 shipment weighs more than 1.5 times the mean of 2100 kg." in found
    assert "1 shipment weighs more than 10,000 kg: S9." in found


def test_risks_and_concentrations_of_contaminants_are_reported() -> None:
    rows = [*(contaminant(n) for n in range(9)), contaminant(9, concentration_ppm=910)]
    rows[9]["risk_level"] = "critical"
    rows[8]["type"] = "Mercury"
    found = insights("contaminant", rows)
    assert "1 of 10 contaminants is of high or critical risk (10.0 %)." in found
    assert "1 contaminant is critical: C9." in found
    assert "The highest concentration, 910 ppm (C9), is 9.1 times the mean of 100 ppm." in found
    assert "1 concentration lies more than 2 standard deviations from the mean: C9." in found
    assert "The most common substance is Lead: 9 of 10." in found


def test_equal_concentrations_have_no_outlier_and_divide_by_nothing() -> None:
    assert insights("contaminant", [contaminant(n) for n in range(5)]) == []
    assert insights("contaminant", [contaminant(n, concentration_ppm=0) for n in range(5)]) == []


def test_substances_that_are_equally_common_are_reported_together() -> None:
    rows = [contaminant(n, type="Lead" if n % 2 else "PCB") for n in range(4)]
    assert not any("common" in each for each in insights("contaminant", rows))
    rows.append(contaminant(9, type="Arsenic"))
    assert "The most common substances are Lead, PCB: 2 of 5 each." in insights("contaminant", rows)


def test_the_most_dangerous_substance_is_reported() -> None:
    rows = [contaminant(n, type="Lead" if n < 3 else "PCB") for n in range(6)]
    for row in rows[:2]:
        row["risk_level"] = "high"
    expected = (
        "Of the substances, Lead is of high or critical risk most often: 2 of 3 times (66.7 %)."
    )
    assert expected in insights("contaminant", rows)


def test_acceptance_counts_decided_inspections_only() -> None:
    statuses = ["accepted", "accepted", "accepted", "rejected", "pending"]
    rows: list[Row] = [{"id": f"I{n}", "status": status} for n, status in enumerate(statuses)]
    found = insights("inspection", rows)
    assert "3 of 4 decided inspections accepted the shipment (75.0 %)." in found
    assert "1 inspection is not decided yet." in found
    assert insights("inspection", rows[:3]) == []


def test_full_silent_and_contradicting_facilities_are_reported() -> None:
    base: Row = {"capacity_tons": 100, "contact_email": "a@b.example", "contact_phone": None}
    rows: list[Row] = [
        {**base, "name": "A", "type": "sorting", "current_load_tons": 91},
        {**base, "name": "B", "type": "disposal", "current_load_tons": 0, "contact_email": None},
        {
            **base,
            "name": "C",
            "type": "disposal",
            "current_load_tons": 104,
            "accepted_waste_types": ["metal", "glass"],
            "rejected_waste_types": ["glass"],
        },
    ]
    assert insights("facility", rows) == [
        "A is nearly full: it holds 91 of 100 t (91.0 %).",
        "C is over its capacity: it holds 104 of 100 t (104.0 %).",
        "Of the facility types, sorting is the fullest: 91.0 % on average.",
        "C both accepts and refuses glass.",
        "1 facility has no contact: B.",
    ]


@pytest.mark.parametrize(
    ("entity", "column"),
    [("shipment", "facility_id"), ("contaminant", "shipment_id"), ("inspection", "facility_id")],
)
def test_missing_identities_are_reported(entity: str, column: str) -> None:
    rows: list[Row] = [{"id": "X1", column: None}, {"id": "X2", column: "there"}]
    assert f"1 {entity} has no {column}: X1." in insights(entity, rows)


def test_rows_of_another_kind_are_left_alone() -> None:
    rows = [shipment(n, has_contaminants=n < 4) for n in range(10)]
    for entity in ("", "order", "inspection"):
        assert insights(entity, rows) == []


@pytest.mark.parametrize("kind", ["shipments", "facilities", "contaminants", "inspections"])
def test_the_demo_has_something_to_say_about_its_own_rows(kind: str, rows: Rows) -> None:
    entity = {"facilities": "facility"}.get(kind, kind.removesuffix("s"))
    assert insights(entity, rows(f"{kind}_list"))


_columns = st.sampled_from(
    [
        "id",
        "name",
        "status",
        "has_contaminants",
        "weight_kg",
        "waste_type",
        "type",
        "risk_level",
        "concentration_ppm",
        "facility_id",
        "shipment_id",
        "capacity_tons",
        "current_load_tons",
        "accepted_waste_types",
        "rejected_waste_types",
        "contact_email",
    ]
)
_scalars: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["high", "critical", "rejected", "accepted", "x"])
)
_values = _scalars | st.lists(_scalars, max_size=3)


@given(
    st.sampled_from(["shipment", "contaminant", "inspection", "facility", ""]),
    st.lists(st.dictionaries(_columns, _values, max_size=9), max_size=6),
)
@settings(max_examples=300, deadline=None)
def test_no_row_breaks_a_insight(entity: str, rows: list[Row]) -> None:
    for sentence in insights(entity, rows):
        assert sentence.endswith(".")
        assert "\n" not in sentence
