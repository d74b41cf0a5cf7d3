"""The analytics reads: rates, distributions and trends, computed in the database."""

from __future__ import annotations

import datetime
from typing import Final

from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, ToolError
from toolplan_demo.database import Database, SqlValue
from toolplan_demo.domain import RISKS, next_day

_TREND_DAYS: Final = 30
_FIRST: Final = "0001-01-01"
_LAST: Final = "9999-12-31"

PERFORMANCE: Final = """
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
DISTRIBUTION: Final = """
SELECT waste_type, count(*) AS shipment_count, sum(weight_kg) AS total_weight_kg,
       sum(has_contaminants) AS contaminated_count,
       round(100.0 * sum(has_contaminants) / count(*), 2) AS contamination_rate_percent
FROM shipments WHERE date BETWEEN ? AND ?
GROUP BY waste_type ORDER BY shipment_count DESC, waste_type
"""


def contamination_rate(database: Database, given: Arguments) -> Json:
    """Answer `analytics_contamination_rate`."""
    between = _between(given)
    (row,) = database.rows(
        "SELECT count(*) AS total, count(*) FILTER (WHERE has_contaminants) AS dirty"
        " FROM shipments WHERE date BETWEEN ? AND ?",
        between,
    )
    total, dirty = _number(row["total"]), _number(row["dirty"])
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


def rows_between(sql: str, database: Database, given: Arguments) -> Json:
    """Return the rows of `sql`, a query over the days from one to another."""
    rows = database.rows(sql, _between(given))
    return {"data": [*rows], "count": len(rows)}


def risk_trends(database: Database, given: Arguments) -> Json:
    """Answer `analytics_risk_trends`."""
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
