"""A small sample network, and the three tools that the data agent asks about it.

The devices with their configurations, events, earlier assessments and policies are in
`estate.json`. It stands still at `as_of`, so the findings are the same every day.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Final, Literal, TypeAlias

from toolplan.schema.tool import ToolError
from toolplan.tools.python import tool

Row: TypeAlias = dict[str, Any]

ESTATE: Final[Row] = json.loads(
    files("toolplan_adapters.network").joinpath("estate.json").read_text("utf-8")
)
TODAY: Final[str] = ESTATE["as_of"][:10]
DEVICES: Final[dict[str, Row]] = {each["device"]: each for each in ESTATE["devices"]}
RULES: Final[dict[str, Row]] = {each["id"]: each for each in ESTATE["rules"]}
TYPES: Final = {each["type"] for each in ESTATE["devices"]}
SEVERITIES: Final = ("critical", "high", "medium", "low")


def finding(rule: str, row: Row, evidence: str) -> Row:
    """Return the finding that the device of `row` departs from a rule."""
    known = {"rule": rule, "device": row["device"], "site": row["site"], "evidence": evidence}
    return known | _of_rule(rule, "severity", "technology", "title", "remediation")


def _of_rule(rule: str, *fields: str) -> Row:
    return {key: RULES[rule][key] for key in fields}


def departures(configs: Iterable[Row], area: str) -> list[Row]:
    """Return a finding for each rule of `area` that a configuration departs from.

    A rule requires or forbids a line that starts with its text; `device_types` empty means all.
    """
    found: list[Row] = []
    for config in configs:
        for name, rule in RULES.items():
            if rule["area"] != area or config["type"] not in (rule["device_types"] or TYPES):
                continue
            line = next((each for each in config["lines"] if each.startswith(rule["text"])), None)
            if line is None and rule["kind"] == "requires":
                found.append(finding(name, config, f"no line starts with {rule['text']!r}"))
            elif line is not None and rule["kind"] == "forbids":
                found.append(finding(name, config, f"the line {line!r}"))
    return found


Severity: TypeAlias = Literal["", "critical", "high", "medium", "low"]
Issues: TypeAlias = dict[tuple[str, str], str]
"""The day an issue was first seen, by device and rule."""


@tool(effects="read")
def assessment_analysis_tool(
    query_type: Literal["summary", "filtering", "assets", "technology", "exceptions"] = "summary",
    assessment_id: str = "",
    severity_filter: Severity = "",
    product_filter: str = "",
    focus_area: str = "",
) -> dict[str, object]:
    """Query one assessment of device configurations against best practices.

    Args:
        query_type: a summary, findings by severity, assets with their configurations, findings of
            one technology, or exceptions that were granted.
        assessment_id: which assessment; the latest by default.
        severity_filter: only findings of this severity.
        product_filter: only devices of this type: router, switch, firewall.
        focus_area: a site, a device or a technology; all by default.
    """
    chosen = _assessment(assessment_id)
    wanted = focus_area.casefold()
    # a technology is everywhere
    everywhere = {"", *(rule["technology"].casefold() for rule in RULES.values())}
    devices = {
        name: each
        for name, each in DEVICES.items()
        if wanted in everywhere | {each["site"].casefold(), name.casefold(), each["address"]}
        and product_filter.casefold() in ("", each["type"])
    }
    found = [
        row
        for row in _issue_rows(_issues(chosen))
        if row["device"] in devices and severity_filter in ("", row["severity"])
    ]
    result: dict[str, object] = {"assessment_id": chosen["id"], "date": chosen["date"]}
    match query_type:
        case "summary":
            counts = {name: sum(row["severity"] == name for row in found) for name in SEVERITIES}
            slic = _of(devices, "slic_findings")
            result |= {"devices": len(devices), "counts": counts, "slic_findings": slic}
        case "filtering":
            result["findings"] = found
        case "technology":
            result["findings"] = [row for row in found if row["technology"].casefold() == wanted]
        case "assets":
            result["assets"] = _assets(devices)
        case "exceptions":
            result["exceptions"] = [
                {**each, "is_valid": each["granted_until"] >= TODAY}
                for each in _of(devices, "exceptions")
            ]
    return result


@tool(effects="read")
def assessment_comparison_tool(
    current_assessment_id: str,
    previous_assessment_id: str = "",
    comparison_focus: Literal["overall", "changes"] = "overall",
) -> dict[str, object]:
    """Compare two assessments: new, resolved and persistent issues.

    Args:
        current_assessment_id: the later assessment.
        previous_assessment_id: the earlier one; the one before by default.
        comparison_focus: all issues, or only those that changed.
    """
    current = _assessment(current_assessment_id)
    if previous_assessment_id:
        previous = _assessment(previous_assessment_id)
    else:
        earlier = [each for each in ESTATE["assessments"] if each["date"] < current["date"]]
        if not earlier:
            raise ToolError(f"There is no assessment before {current['id']!r}.")
        previous = earlier[-1]
    now, then = _issues(current), _issues(previous)
    details = {
        "new_issues": _issue_rows({key: day for key, day in now.items() if key not in then}),
        "resolved_issues": _issue_rows({key: day for key, day in then.items() if key not in now}),
    }
    if comparison_focus != "changes":
        persistent = {key: day for key, day in then.items() if key in now}
        details["persistent_issues"] = _issue_rows(persistent)
    return {
        "current_assessment_id": current["id"],
        "previous_assessment_id": previous["id"],
        "detailed_findings": details,
    }


@tool(effects="read")
def issue_tracking_tool(
    tracking_scope: Literal["open", "resolved", "all"] = "open",
    assessment_scope: str = "",
    rule_filter: str = "",
    priority: Severity = "",
) -> dict[str, object]:
    """Track issues over assessments: since when each is known, and whether it is still open.

    Args:
        tracking_scope: issues that are open, that are resolved, or all.
        assessment_scope: up to which assessment; the latest by default.
        rule_filter: only issues of this rule.
        priority: only issues whose rule has this severity.
    """
    chosen = _assessment(assessment_scope)
    now = _issues(chosen)
    seen: Issues = {}
    for each in ESTATE["assessments"]:
        if each["date"] <= chosen["date"]:
            seen = _issues(each) | seen
    tracked = [
        {**row, "status": "open" if (row["device"], row["rule"]) in now else "resolved"}
        for row in _issue_rows(seen)
    ]
    return {
        "assessment_id": chosen["id"],
        "issues": [
            row
            for row in tracked
            if tracking_scope in ("all", row["status"])
            and rule_filter in ("", row["rule"])
            and priority in ("", row["severity"])
        ],
    }


SOURCES: Final = (assessment_analysis_tool, assessment_comparison_tool, issue_tracking_tool)
"""The three as tools, for plans that call them without an agent."""


def _assessment(name: str) -> Row:
    """Return the assessment with an id, the latest for the empty one."""
    assessments: list[Row] = ESTATE["assessments"]
    for each in reversed(assessments):
        if name.casefold() in ("", each["id"].casefold()):
            return each
    known = ", ".join(each["id"] for each in assessments)
    raise ToolError(f"There is no assessment {name!r}; there are {known}.")


def _issues(assessment: Row) -> Issues:
    """Return the issues of an assessment; those of the latest are computed."""
    written: list[Row] | None = assessment["issues"]
    if written is not None:
        return {(each["device"], each["rule"]): each["first_seen"] for each in written}
    known: Issues = {}
    for each in ESTATE["assessments"]:
        if each["issues"] is not None:
            known = _issues(each) | known
    date: str = assessment["date"]
    found = departures(DEVICES.values(), "config")
    keys: list[tuple[str, str]] = [(each["device"], each["rule"]) for each in found]
    return {key: known.get(key, date) for key in keys}


def _issue_rows(issues: Issues) -> list[Row]:
    return [
        {
            "device": device,
            "site": DEVICES[device]["site"],
            "rule": rule,
            **_of_rule(rule, "severity", "technology", "title"),
            "first_seen": first_seen,
        }
        for (device, rule), first_seen in issues.items()
    ]


def _of(devices: Iterable[str], kind: str) -> list[Row]:
    """Return the rows of `kind` that are about `devices`, each with its site."""
    rows: list[Row] = ESTATE[kind]
    return [
        {**each, "site": DEVICES[each["device"]]["site"]}
        for each in rows
        if each["device"] in devices
    ]


def _assets(devices: dict[str, Row]) -> dict[str, list[Row]]:
    links: list[Row] = ESTATE["links"]
    config = ("device", "site", "type", "lines")
    return {
        "inventory": [
            {key: value for key, value in each.items() if key != "lines"}
            for each in devices.values()
        ],
        "topology": [link for link in links if not devices.keys().isdisjoint(link.values())],
        "configs": [{key: each[key] for key in config} for each in devices.values()],
        "telemetry": [],
        "events": _of(devices, "events"),
    }
