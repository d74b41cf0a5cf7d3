"""The analytics reads: rates, distributions and trends, computed in the database."""

from __future__ import annotations

import datetime
from typing import Final

from toolplan.demo.database import Database, SqlValue
from toolplan.demo.facilities import days_back
from toolplan.demo.fields import Node, arguments, date_range, many, one, record
from toolplan.demo.filters import next_day
from toolplan.demo.gazetteers import RISKS
from toolplan.demo.operation import Operation
from toolplan.path import Json
from toolplan.tools import Arguments, ToolError

_TREND_DAYS: Final = 30
_FIRST: Final = "0001-01-01"
_LAST: Final = "9999-12-31"

_COUNT: Final[Node] = {"type": "integer", "minimum": 0}
_DAY: Final[Node] = {"type": "string", "format": "date"}


def _count(description: str, *synonyms: str) -> Node:
    return {**_COUNT, "description": description, "x-synonyms": [*synonyms]}


def _percent(description: str, *synonyms: str) -> Node:
    return {
        "type": ["number", "null"],
        "minimum": 0,
        "maximum": 100,
        "description": f"{description}, in percent; null where there is nothing to divide by.",
        "x-unit": "%",
        "x-synonyms": [*synonyms],
    }


_RATE: Final = record(
    {
        "total_shipments": _count("All shipments"),
        "contaminated_shipments": _count("Those with contaminants"),
        "clean_shipments": _count("Those without"),
        "contamination_rate_percent": _percent("Contaminated of all shipments", "rate"),
        "risk_level_distribution": record(
            {risk: _count(f"Contaminants of {risk} risk") for risk in RISKS}
        ),
    }
)
_PERFORMANCE: Final = record(
    {
        "facility_id": {
            "type": "string",
            "pattern": "^F[0-9]+$",
            "description": "The facility.",
            "x-ref": "facility.id",
        },
        "facility_name": {"type": "string", "description": "The facility's name."},
        "location": {"type": "string", "description": "The facility's city."},
        "total_inspections": _count("All inspections"),
        "accepted": _count("Those that accepted"),
        "rejected": _count("Those that rejected"),
        "pending": _count("Those not decided yet"),
        "acceptance_rate_percent": _percent("Accepted of the decided inspections", "acceptance"),
    },
)
_DISTRIBUTION: Final = record(
    {
        "waste_type": {"type": ["string", "null"], "description": "The kind of waste."},
        "shipment_count": _count("Shipments of it"),
        "total_weight_kg": {"type": "number", "minimum": 0, "x-unit": "kg"},
        "contaminated_count": _count("Contaminated shipments of it"),
        "contamination_rate_percent": _percent("Contaminated of its shipments", "rate"),
    }
)
_TRENDS: Final = record(
    {
        "period_days": _COUNT,
        "start_date": _DAY,
        "end_date": _DAY,
        "trends": {
            "type": "array",
            "items": record(
                {
                    "date": _DAY,
                    **{risk: _count(f"Contaminants of {risk} risk") for risk in RISKS},
                    "total": _count("All contaminants"),
                }
            ),
        },
    }
)

_PERFORMANCE_SQL: Final = """
SELECT f.id AS facility_id, f.name AS facility_name, f.location AS location,
       count(i.id) AS total_inspections,
       count(*) FILTER (WHERE i.status = 'accepted') AS accepted,
       count(*) FILTER (WHERE i.status = 'rejected') AS rejected,
       count(*) FILTER (WHERE i.status = 'pending') AS pending,
       round(100.0 * count(*) FILTER (WHERE i.status = 'accepted')
             / nullif(count(*) FILTER (WHERE i.status IN ('accepted', 'rejected')), 0), 2)
           AS acceptance_rate_percent
FROM facilities f LEFT JOIN inspections i ON i.facility_id = f.id AND i.date BETWEEN ? AND ?
GROUP BY f.id ORDER BY f.name, f.id
"""
_DISTRIBUTION_SQL: Final = """
SELECT waste_type, count(*) AS shipment_count, sum(weight_kg) AS total_weight_kg,
       sum(has_contaminants) AS contaminated_count,
       round(100.0 * sum(has_contaminants) / count(*), 2) AS contamination_rate_percent
FROM shipments WHERE date BETWEEN ? AND ?
GROUP BY waste_type ORDER BY shipment_count DESC, waste_type
"""


def _contamination_rate(database: Database, given: Arguments) -> Json:
    between = _between(given)
    total = database.count("SELECT count(*) FROM shipments WHERE date BETWEEN ? AND ?", between)
    dirty = database.count(
        "SELECT count(*) FROM shipments WHERE date BETWEEN ? AND ? AND has_contaminants", between
    )
    by_risk = database.rows(
        "SELECT c.risk_level AS risk, count(*) AS n FROM contaminants c"
        " JOIN shipments s ON s.id = c.shipment_id WHERE s.date BETWEEN ? AND ?"
        " GROUP BY c.risk_level",
        between,
    )
    counts = {str(each["risk"]): each["n"] for each in by_risk}
    return {
        "data": {
            "total_shipments": total,
            "contaminated_shipments": dirty,
            "clean_shipments": total - dirty,
            "contamination_rate_percent": round(100 * dirty / total, 2) if total else None,
            "risk_level_distribution": {risk: counts.get(risk, 0) for risk in RISKS},
        }
    }


def _facility_performance(database: Database, given: Arguments) -> Json:
    rows = database.rows(_PERFORMANCE_SQL, _between(given))
    return {"data": [*rows], "count": len(rows)}


def _waste_distribution(database: Database, given: Arguments) -> Json:
    rows = database.rows(_DISTRIBUTION_SQL, _between(given))
    return {"data": [*rows], "count": len(rows)}


def _risk_trends(database: Database, given: Arguments) -> Json:
    first, last = _period(database.today, given)
    found = database.rows(
        "SELECT substr(detected_at, 1, 10) AS date, risk_level AS risk, count(*) AS n"
        " FROM contaminants WHERE detected_at >= ? AND detected_at < ? GROUP BY 1, 2",
        (first.isoformat(), next_day(last.isoformat())),
    )
    counts = {(each["date"], each["risk"]): _number(each["n"]) for each in found}
    length = (last - first).days + 1
    days = [(first + datetime.timedelta(days=n)).isoformat() for n in range(length)]
    return {
        "data": {
            "period_days": length,
            "start_date": first.isoformat(),
            "end_date": last.isoformat(),
            "trends": [
                {
                    "date": day,
                    **{risk: counts.get((day, risk), 0) for risk in RISKS},
                    "total": sum(counts.get((day, risk), 0) for risk in RISKS),
                }
                for day in days
            ],
        }
    }


def _period(today: datetime.date, given: Arguments) -> tuple[datetime.date, datetime.date]:
    if "days" in given and "date_from" in given:
        raise ToolError("'days' and 'date_from' both say where the period begins.")
    last = datetime.date.fromisoformat(str(given.get("date_to", today.isoformat())))
    if "date_from" in given:
        first = datetime.date.fromisoformat(str(given["date_from"]))
    else:
        days = given.get("days", _TREND_DAYS)
        first = last - datetime.timedelta(days=_number(days) - 1)
    if first > last:
        raise ToolError(f"The period begins on {first} and ends on {last}.")
    return first, last


def _between(given: Arguments) -> tuple[SqlValue, SqlValue]:
    return str(given.get("date_from", _FIRST)), str(given.get("date_to", _LAST))


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0


OPERATIONS: Final = (
    Operation(
        "analytics_contamination_rate",
        "Reports how many shipments are contaminated, in number and in percent, and the risks that"
        " were found in them.",
        arguments(
            "shipment",
            "report",
            date_range("date", "the shipments took place"),
            synonyms=(
                "contamination rate",
                "overall contamination rate",
                "contamination statistics",
                "contamination overview",
                "share of contaminated shipments",
                "percentage of contaminated shipments",
            ),
        ),
        one(_RATE),
        _contamination_rate,
    ),
    Operation(
        "analytics_facility_performance",
        "Reports for each facility how its inspections ended and the rate of acceptance among the"
        " decided ones.",
        arguments(
            "facility",
            "report",
            date_range("date", "the inspections took place"),
            synonyms=(
                "facility performance",
                "performance of facilities",
                "performance of the facilities",
                "performance by facility",
                "facility acceptance rates",
                "acceptance rate by facility",
                "how facilities perform",
            ),
        ),
        many(_PERFORMANCE),
        _facility_performance,
    ),
    Operation(
        "analytics_waste_distribution",
        "Reports for each waste type how many shipments there were, their weight, and how many of"
        " them were contaminated.",
        arguments(
            "shipment",
            "report",
            date_range("date", "the shipments took place"),
            synonyms=(
                "waste distribution",
                "waste type distribution",
                "distribution of waste",
                "distribution of waste types",
                "waste breakdown",
                "waste distributed",
                "waste distributed over waste types",
                "waste distributed by waste type",
                "waste distributed across waste types",
                "waste spread over waste types",
                "distribution of waste over waste types",
                "breakdown of waste",
                "breakdown of waste types",
            ),
        ),
        many(_DISTRIBUTION),
        _waste_distribution,
    ),
    Operation(
        "analytics_risk_trends",
        "Reports for each day how many contaminants of each risk were found: over the last days, or"
        " between two dates.",
        arguments(
            "contaminant",
            "report",
            {
                "days": {k: v for k, v in days_back(_TREND_DAYS).items() if k != "default"},
                **date_range("detected_at", "contaminants were found"),
            },
            synonyms=(
                "risk trend",
                "risk trends",
                "trend of risk",
                "trend of risks",
                "trends in risk",
                "risk development",
                "risk level trend",
                "risk level trends",
                "trend of risk levels",
                "trend of the risk level",
                "trend in risk levels",
                "development of risk levels",
                "contaminant trend",
                "trend of contaminants",
            ),
        ),
        one(_TRENDS),
        _risk_trends,
    ),
)
