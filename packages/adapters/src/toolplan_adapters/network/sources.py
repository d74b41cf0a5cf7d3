"""What the data agent asks: three tools over assessments, as a server of such would offer them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from toolplan.path import Json
from toolplan.sources.python import tool
from toolplan.tools import ToolError
from toolplan_adapters.network.estate import (
    SEVERITIES,
    Assessment,
    Device,
    Estate,
    Issue,
    departures,
    estate,
)

QueryType: TypeAlias = Literal["summary", "filtering", "assets", "technology", "exceptions"]
ComparisonFocus: TypeAlias = Literal["assets", "overall", "changes"]
TrackingScope: TypeAlias = Literal["open", "resolved", "all"]
Rank: TypeAlias = Literal["", "critical", "high", "medium", "low"]
Row: TypeAlias = dict[str, Json]

CURRENT: Final = ""
"""The assessment that is meant where none is named: the latest."""


def assessment_analysis_tool(
    query_type: QueryType = "summary",
    assessment_id: str = CURRENT,
    severity_filter: Rank = "",
    product_filter: str = "",
    focus_area: str = "",
) -> dict[str, object]:
    """Look into one assessment of device configurations against best practices.

    Args:
        query_type: a summary, findings by severity, assets with their configurations, findings of
            one technology, or exceptions that were granted.
        assessment_id: which assessment; the latest by default.
        severity_filter: only findings of this severity.
        product_filter: only devices of this type: router, switch, firewall.
        focus_area: a site, a device or a technology; all by default.
    """
    network = estate()
    chosen = find_assessment(network, assessment_id)
    devices = in_area(network, focus_area, product_filter)
    found = [
        each
        for each in _findings(network, chosen, devices)
        if severity_filter in ("", each["severity"])
    ]
    head: dict[str, object] = {"assessment_id": chosen.id, "date": chosen.date}
    match query_type:
        case "summary":
            counts = {name: sum(each["severity"] == name for each in found) for name in SEVERITIES}
            slic = _slic(network, devices)
            return head | {"devices": len(devices), "counts": counts, "slic_findings": slic}
        case "filtering":
            return head | {"findings": found}
        case "technology":
            wanted = focus_area.casefold()
            return head | {
                "findings": [each for each in found if f"{each['technology']}".casefold() == wanted]
            }
        case "assets":
            return head | {"assets": _assets(network, devices)}
        case "exceptions":
            names = {device.name for device in devices}
            return head | {
                "exceptions": [
                    {
                        "rule": each.rule,
                        "device": each.device,
                        "granted_until": each.granted_until,
                        "reason": each.reason,
                        "is_valid": each.granted_until >= network.today,
                    }
                    for each in network.exceptions
                    if each.device in names
                ]
            }


def assessment_comparison_tool(
    current_assessment_id: str,
    previous_assessment_id: str = "",
    comparison_focus: ComparisonFocus = "overall",
) -> dict[str, object]:
    """Say what has changed between two assessments: new, resolved and persistent issues.

    Args:
        current_assessment_id: the later assessment.
        previous_assessment_id: the earlier one; the one before by default.
        comparison_focus: counts by asset, overall, or only the issues that changed.
    """
    network = estate()
    current = find_assessment(network, current_assessment_id)
    previous = (
        find_assessment(network, previous_assessment_id)
        if previous_assessment_id
        else _before(network, current)
    )
    now = {(each.device, each.rule): each for each in _issues(network, current)}
    then = {(each.device, each.rule): each for each in _issues(network, previous)}
    details = {
        "new_issues": [_issue_row(network, now[key]) for key in now if key not in then],
        "resolved_issues": [_issue_row(network, then[key]) for key in then if key not in now],
        "persistent_issues": [_issue_row(network, then[key]) for key in then if key in now],
    }
    if comparison_focus == "changes":
        details.pop("persistent_issues")
    result: dict[str, object] = {
        "current_assessment_id": current.id,
        "previous_assessment_id": previous.id,
        "detailed_findings": details,
    }
    if comparison_focus != "changes":
        result["asset_trend"] = [
            {
                "device": device.name,
                "site": device.site,
                "previous": (before := sum(name == device.name for name, _ in then)),
                "current": (after := sum(name == device.name for name, _ in now)),
                "change": after - before,
            }
            for device in network.devices
        ]
    return result


def issue_tracking_tool(
    tracking_scope: TrackingScope = "open",
    assessment_scope: str = CURRENT,
    rule_filter: str = "",
    priority: Rank = "",
) -> dict[str, object]:
    """Follow issues over assessments: since when each is known, and whether it is open still.

    Args:
        tracking_scope: issues that are open, that are resolved, or all.
        assessment_scope: up to which assessment; the latest by default.
        rule_filter: only issues of this rule.
        priority: only issues whose rule has this severity.
    """
    network = estate()
    chosen = find_assessment(network, assessment_scope)
    now = {(each.device, each.rule) for each in _issues(network, chosen)}
    seen: dict[tuple[str, str], Issue] = {}
    for each in network.assessments:
        if each.date <= chosen.date:
            for issue in _issues(network, each):
                seen.setdefault((issue.device, issue.rule), issue)
    rows = [
        {**_issue_row(network, issue), "status": "open" if key in now else "resolved"}
        for key, issue in seen.items()
    ]
    return {
        "assessment_id": chosen.id,
        "issues": [
            row
            for row in rows
            if tracking_scope in ("all", row["status"])
            and rule_filter in ("", row["rule"])
            and priority in ("", row["severity"])
        ],
    }


FUNCTIONS: Final[tuple[Callable[..., object], ...]] = (
    assessment_analysis_tool,
    assessment_comparison_tool,
    issue_tracking_tool,
)

SOURCES: Final = tuple(tool(effects="read")(each) for each in FUNCTIONS)
"""The three as tools, for plans that ask them without an agent."""


def find_assessment(network: Estate, name: str) -> Assessment:
    """Return the assessment with an id, the latest for the empty one.

    Raises:
        ToolError: there is none.
    """
    if name == CURRENT:
        return network.assessments[-1]
    for each in network.assessments:
        if each.id.casefold() == name.casefold():
            return each
    known = ", ".join(each.id for each in network.assessments)
    raise ToolError(f"There is no assessment {name!r}; there are {known}.")


def in_area(network: Estate, area: str, product: str = "") -> list[Device]:
    """Return the devices of a site, the device of a name or an address, or all for other areas.

    An area that is a technology holds all devices; an unknown one holds none.
    """
    wanted = area.casefold()
    technologies = {rule.technology.casefold() for rule in network.rules}
    return [
        device
        for device in network.devices
        if (not wanted or wanted in technologies or wanted in _names(device))
        and product.casefold() in ("", device.type)
    ]


def _names(device: Device) -> tuple[str, ...]:
    return device.site.casefold(), device.name.casefold(), device.address


def _before(network: Estate, current: Assessment) -> Assessment:
    earlier = [each for each in network.assessments if each.date < current.date]
    if not earlier:
        raise ToolError(f"There is no assessment before {current.id!r}.")
    return earlier[-1]


def _issues(network: Estate, assessment: Assessment) -> Sequence[Issue]:
    if assessment.issues is not None:
        return assessment.issues
    known = {
        (issue.device, issue.rule): issue.first_seen
        for each in reversed(network.assessments)
        for issue in each.issues or ()
    }
    found = departures(network.devices, [r for r in network.rules if r.area == "config"])
    return [
        Issue(device.name, rule.id, known.get((device.name, rule.id), assessment.date))
        for device, rule, _ in found
    ]


def _findings(network: Estate, assessment: Assessment, devices: Sequence[Device]) -> list[Row]:
    names = {device.name for device in devices}
    return [
        _issue_row(network, issue)
        for issue in _issues(network, assessment)
        if issue.device in names
    ]


def _issue_row(network: Estate, issue: Issue) -> Row:
    rule = network.rule(issue.rule)
    device = next(each for each in network.devices if each.name == issue.device)
    return {
        "device": device.name,
        "site": device.site,
        "rule": rule.id,
        "severity": rule.severity,
        "technology": rule.technology,
        "title": rule.title,
        "first_seen": issue.first_seen,
    }


def _slic(network: Estate, devices: Sequence[Device]) -> list[Row]:
    names = {device.name: device.site for device in devices}
    return [
        {
            "device": each.device,
            "site": names[each.device],
            "rule": each.rule,
            "severity": each.severity,
            "title": each.title,
            "insight": each.insight,
            "recommendation": each.recommendation,
        }
        for each in network.slic_findings
        if each.device in names
    ]


def _assets(network: Estate, devices: Sequence[Device]) -> dict[str, list[Row]]:
    names = {device.name for device in devices}
    return {
        "inventory": [
            {
                "device": each.name,
                "site": each.site,
                "type": each.type,
                "model": each.model,
                "software": each.software,
                "support_ends": each.support_ends,
                "address": each.address,
                "environment": each.environment,
                "vlans": [*each.vlans],
            }
            for each in devices
        ],
        "topology": [{"a": e.a, "b": e.b} for e in network.links if {e.a, e.b} & names],
        "configs": [
            {"device": each.name, "site": each.site, "type": each.type, "lines": [*each.config]}
            for each in devices
        ],
        "telemetry": [],
        "events": [
            {
                "device": each.device,
                "at": each.at,
                "kind": each.kind,
                "count": each.count,
                "detail": each.detail,
            }
            for each in network.events
            if each.device in names
        ],
    }
