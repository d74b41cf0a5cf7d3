"""The demo's toolbox, and the function of each tool of `domain.json` over the database."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final, TypeAlias

from toolplan.base.threads import run_in_thread, threads_of
from toolplan.plan.path import Json
from toolplan.schema.tool import Arguments, Effects, Tool, Toolbox, ToolError, ToolObjectError
from toolplan.schema.tool_call import reference_day
from toolplan_demo.database import DEFAULT_ROWS, DEFAULT_SEED, Database, Row, SqlValue
from toolplan_demo.domain import RISKS, Declared, Node, fold, next_day, proper
from toolplan_demo.domain import TOOLS as DECLARED

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
    if "days" in given and "date_from" in given:
        raise ToolError("'days' and 'date_from' both say where the period begins.")
    last = datetime.date.fromisoformat(str(given.get("date_to", database.today.isoformat())))
    if "date_from" in given:
        first = datetime.date.fromisoformat(str(given["date_from"]))
    else:
        first = last - datetime.timedelta(days=_number(given.get("days", _TREND_DAYS)) - 1)
    if first > last:
        raise ToolError(f"The period begins on {first} and ends on {last}.")
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


def _between(given: Arguments) -> tuple[SqlValue, SqlValue]:
    return str(given.get("date_from", _FIRST)), str(given.get("date_to", _LAST))


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0


Answer: TypeAlias = Callable[[Database, Arguments], Json]

_ACTIVITY_DAYS: Final = 30
_GROUPS: Final = {
    "location": "cities",
    "origin": "cities",
    "destination": "cities",
    "waste_type": "waste_types",
    "carrier": "carriers",
    "type": "contaminant_types",
}
"""The kind of names of which an argument takes one, in any spelling."""

_ROLES: Final = {"range.start": ">= ?", "min": ">= ?", "max": "<= ?"}
_ORDERS: Final = {
    "shipments": "date DESC, id DESC",
    "facilities": "name ASC, id ASC",
    "contaminants": "detected_at DESC, id DESC",
    "inspections": "date DESC, id DESC",
}
_AMONG: Final = " IN (SELECT value FROM json_each(?))"
_NO_CHANGE: Final = "There is nothing to change: no field is given besides the id."
_RISK_ORDER: Final = """
SELECT type, risk_level FROM contaminants WHERE shipment_id = ?
ORDER BY CASE risk_level WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2
ELSE 3 END, id
"""
_PASSED: Final = {"accepted": True, "rejected": False}


def _row(database: Database, table: str, identity: Json) -> Row:
    found = database.rows(" ".join(("SELECT * FROM", table, "WHERE id = ?")), (str(identity),))
    if not found:
        raise ToolError(
            f"{DECLARED[f'{table}_get'].entity.capitalize()} {str(identity)!r} not found."
        )
    return found[0]


def _get(table: str, database: Database, given: Arguments) -> Json:
    return {"data": _row(database, table, given["id"])}


def _list(table: str, database: Database, given: Arguments) -> Json:
    """Return the rows that the hints of the arguments `given` ask for, or the first `limit`."""
    nodes = _nodes(table)
    used = [_condition(n, value, nodes[n]) for n, value in given.items() if n != "limit"]
    where = f"WHERE {' AND '.join(condition for condition, _ in used)}" if used else ""
    words = ("SELECT * FROM", table, where, "ORDER BY", _ORDERS[table], "LIMIT ?")
    limit = given.get("limit")
    bound = (*(value for _, value in used), limit if isinstance(limit, int) else -1)
    rows = database.rows(" ".join(words), bound)
    return {"data": [*rows], "count": len(rows)}


@cache
def _nodes(table: str) -> dict[str, Any]:
    declared: Any = DECLARED[f"{table}_list"].input()["properties"]
    return declared


def _condition(name: str, value: Json, node: Node) -> tuple[str, SqlValue]:
    """Return the condition of one argument with its one `?`, and the value for it."""
    column, role = str(node.get("x-field", name)), str(node.get("x-role"))
    if "x-ref" in node:
        # one bound value for a list of any length: SQLite limits their number
        listed = json.dumps(value if isinstance(value, list) else [value])
        return column + _AMONG, listed
    if role == "range.end":
        return f"{column} < ?", next_day(str(value))  # the last second of the day counts (C-07)
    if role in _ROLES or "enum" in node or node["type"] == "boolean":
        bound = value if isinstance(value, str | int | float) else None
        return f"{column} {_ROLES.get(role, '= ?')}", bound
    return f"fold({column}) = ?", fold(proper(str(value), _GROUPS.get(name, "")))


def _next_number(database: Database, table: str, prefix: str) -> int:
    """Return the number after the highest one behind `prefix` in the ids of the table."""
    words = (
        "SELECT coalesce(max(CAST(substr(id, ?) AS INTEGER)), 0) AS highest FROM", table,
        "WHERE id >= ? AND id < ?",
    )  # fmt: skip
    (row,) = database.rows(" ".join(words), (len(prefix) + 1, prefix, f"{prefix}A"))
    return _number(row["highest"]) + 1


def _spelled(given: Arguments) -> Row:
    """Return `given` with known names as the data spells them, so that filters find them again."""
    return {
        name: proper(value, _GROUPS.get(name, "")) if isinstance(value, str) else value
        for name, value in given.items()
    }


def _create_shipment(database: Database, given: Arguments) -> Json:
    with database.transaction():
        site = _row(database, "facilities", given["facility_id"])
        date = str(given.get("date", database.today.isoformat()))
        day = f"S{date.replace('-', '')}-"
        identity = f"{day}{_next_number(database, 'shipments', day):03d}"
        made: Row = {"status": "pending", "has_contaminants": False, **_spelled(given)}
        made |= {"id": identity, "date": date, "destination": site["location"]}
        database.insert("shipments", made)
        return _get("shipments", database, made)


def _update(table: str, database: Database, given: Arguments) -> Json:
    if len(given) == 1:
        raise ToolError(_NO_CHANGE)
    with database.transaction():
        before = _row(database, table, given["id"])
        changed = _spelled(given)
        if table == "shipments":
            to = given.get("facility_id", before["facility_id"])
            changed["destination"] = _row(database, "facilities", to)["location"]
        database.update(table, changed)
        return _get(table, database, given)


def _shipment_with_contaminants(database: Database, given: Arguments) -> Json:
    shipment = _row(database, "shipments", given["id"])
    found = database.rows(
        "SELECT * FROM contaminants WHERE shipment_id = ? ORDER BY detected_at DESC, id DESC",
        (str(given["id"]),),
    )
    data: Row = {"shipment": shipment, "contaminants": [*found], "contaminant_count": len(found)}
    return {"data": data}


def _create_facility(database: Database, given: Arguments) -> Json:
    with database.transaction():
        lists: Row = {"accepted_waste_types": [], "rejected_waste_types": []}
        made = {**lists, **_spelled(given), "id": f"F{_next_number(database, 'facilities', 'F')}"}
        database.insert("facilities", made)
        return _get("facilities", database, made)


def _facility_with_activity(database: Database, given: Arguments) -> Json:
    facility = _row(database, "facilities", given["id"])
    last = database.today
    first = last - datetime.timedelta(days=_number(given.get("days", _ACTIVITY_DAYS)) - 1)
    values = (str(given["id"]), first.isoformat(), last.isoformat())
    behind = "WHERE facility_id = ? AND date BETWEEN ? AND ? ORDER BY date DESC, id DESC"
    shipments, inspections = (
        database.rows(" ".join(("SELECT * FROM", table, behind)), values)
        for table in ("shipments", "inspections")
    )
    weights = [row["weight_kg"] for row in shipments]
    return {
        "data": {
            "facility": facility,
            "date_from": first.isoformat(),
            "date_to": last.isoformat(),
            "shipments": [*shipments],
            "inspections": [*inspections],
            "shipment_count": len(shipments),
            "contaminated_count": sum(row["has_contaminants"] is True for row in shipments),
            "inspection_count": len(inspections),
            "total_weight_kg": sum(each for each in weights if isinstance(each, int | float)),
        }
    }


def _create_inspection(database: Database, given: Arguments) -> Json:
    shipment_id = str(given["shipment_id"])
    with database.transaction():
        facility_id = _row(database, "shipments", shipment_id)["facility_id"]
        if given.get("facility_id", facility_id) != facility_id:
            raise ToolError(f"Shipment {shipment_id!r} goes to facility {facility_id!r}.")
        found = database.rows(_RISK_ORDER, (shipment_id,))
        worst = str(found[0]["risk_level"]) if found else None
        taken = f"I{shipment_id[1:]}-"
        status = str(given.get("status", "pending"))
        made: Row = {
            "date": database.today.isoformat(),
            "inspection_type": "random",
            "follow_up_required": False,
            **given,
            "id": f"{taken}{_next_number(database, 'inspections', taken)}",
            "facility_id": facility_id,
            "status": status,
            "passed": _PASSED.get(status),
            "contaminants_detected": list(dict.fromkeys(row["type"] for row in found)),
            "has_risk_contaminants": worst in ("high", "critical"),
            "risk_assessment": worst,
        }
        database.insert("inspections", made)
        return _get("inspections", database, made)


ANSWERS: Final[Mapping[str, Answer]] = {
    **{f"{table}_list": partial(_list, table) for table in _ORDERS},
    **{f"{table}_get": partial(_get, table) for table in _ORDERS},
    "shipments_get_with_contaminants": _shipment_with_contaminants,
    "shipments_create": _create_shipment,
    "shipments_update": partial(_update, "shipments"),
    "facilities_get_with_activity": _facility_with_activity,
    "facilities_create": _create_facility,
    "facilities_update": partial(_update, "facilities"),
    "inspections_create": _create_inspection,
    "analytics_contamination_rate": contamination_rate,
    "analytics_facility_performance": partial(rows_between, PERFORMANCE),
    "analytics_waste_distribution": partial(rows_between, DISTRIBUTION),
    "analytics_risk_trends": risk_trends,
}
"""The function of each tool of `domain.json`."""

MOST_ROWS: Final = 1_000_000
SOURCE: Final = "demo"


def demo_tools(
    today: datetime.date | None = None,
    rows: int = DEFAULT_ROWS,
    seed: int = DEFAULT_SEED,
    *,
    lasts: bool = False,
) -> Toolbox:
    """Return the demo's tools over a database of their own, built on the first call.

    The data ends on `today`; None is the date that counts as today in the run, else the date of the
    first call. `rows` is the approximate number of shipments. Writes of one tool are read by all
    from then on; other toolboxes do not see them. Where it `lasts`, later processes do: they are
    kept in `TOOLPLAN_HOME`.

    Raises:
        ToolObjectError: `rows` is not from 1 to MOST_ROWS.
    """
    if not 1 <= rows <= MOST_ROWS:
        raise ToolObjectError(f"The demo has from 1 to {MOST_ROWS} rows, not {rows}.")
    day = reference_day if today is None else lambda: today
    database = Database(day, rows, seed, lasts=lasts)
    return Toolbox(_tool(name, declared, database) for name, declared in DECLARED.items())


def _tool(name: str, declared: Declared, database: Database) -> Tool:
    async def call(arguments: Arguments) -> Json:
        # engines validate too; a filter that were ignored would silently widen an answer (C-36)
        if wrong := wrong_arguments(tool, arguments):
            raise ToolError(wrong)
        return await run_in_thread(partial(ANSWERS[name], database, arguments), threads_of(SOURCE))

    tool = Tool(
        name=name,
        description=declared.description,
        raw_input=declared.input(),
        raw_output=declared.output(),
        effects=Effects(declared.effects),
        idempotent=declared.idempotent,
        call=call,
        source=SOURCE,
    )
    return tool


def wrong_arguments(tool: Tool, arguments: Arguments) -> str:
    """Return the faults of a call's arguments, or empty if there is none."""
    faults: list[str] = []
    for each in tool.input.violations(arguments):
        if each.kind == "unknown" and not each.pointer:
            faults.append(f"There is no argument {each.name!r}.")
        else:
            place = each.pointer.lstrip("/")
            faults.append(f"{place}: {each.message}" if place else each.message)
    return " ".join(faults)


TOOLS: Final = demo_tools(lasts=True)
"""The toolbox for `--tools toolplan_demo:TOOLS`: it ends on the current day; its changes last."""
