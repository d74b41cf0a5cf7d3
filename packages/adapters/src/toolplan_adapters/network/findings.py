"""What the domain agents share: findings of configurations, and how they are summed up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from toolplan.path import Json
from toolplan_adapters.contract import Briefing
from toolplan_adapters.network.estate import SEVERITIES, Area, Device, Rule, departures, estate

Finding: TypeAlias = dict[str, Json]

SURE: Final = 0.95
UNSURE: Final = 0.7
"""How sure a finding is, with all data that was wanted, and with less."""

_MOST_RISKS: Final = 5


def from_configs(briefing: Briefing, area: Area) -> list[Finding]:
    """Return where the configurations that were fetched depart from the rules of `area`.

    The scope's severity, technology and VLAN leave out what they do not name.
    """
    network = estate()
    rules = [rule for rule in network.rules if rule.area == area and _is_asked(rule, briefing)]
    devices = [_device(row) for row in rows(briefing, "assessment_context.assets.configs")]
    known = {device.name: device for device in network.devices}
    return [
        {
            "rule": found.rule.id,
            "device": found.device.name,
            "site": found.device.site,
            "severity": found.rule.severity,
            "technology": found.rule.technology,
            "title": found.rule.title,
            "evidence": _evidence(found.rule, found.line),
            "remediation": found.rule.remediation,
        }
        for found in departures(devices, rules)
        if _has_vlan(known.get(found.device.name), briefing)
    ]


def with_knowledge(findings: Sequence[Finding], briefing: Briefing) -> list[Finding]:
    """Return `findings` with the passage that speaks of each one's technology.

    Where there is one.
    """
    passages: dict[str, Json] = {}
    for chunk in rows(briefing, "enterprise_context.retrieved_chunks"):
        metadata = chunk.get("metadata")
        found = metadata if isinstance(metadata, dict) else {}
        passage: Json = {"source": found.get("source"), "content": chunk.get("content")}
        passages.setdefault(text(found, "topic").casefold(), passage)
    return [
        {**finding, "policy": passage} if passage is not None else finding
        for finding in findings
        for passage in [passages.get(text(finding, "technology").casefold())]
    ]


def with_exceptions(findings: Sequence[Finding], briefing: Briefing) -> list[Finding]:
    """Return `findings`, each with the exception that was granted for it, where one was."""
    granted = {
        (each.get("device"), each.get("rule")): each
        for each in rows(briefing, "assessment_context.exceptions")
    }
    return [
        {**finding, "exception": exception} if exception is not None else finding
        for finding in findings
        for exception in [granted.get((finding["device"], finding["rule"]))]
    ]


def with_trend(findings: Sequence[Finding], briefing: Briefing) -> list[Finding]:
    """Return `findings` with `delta_status`, new or persistent, where issues were compared.

    What was resolved is not a finding; the summary names it (F001-27).
    """
    if not has_trend(briefing):
        return [*findings]
    before = {
        (each.get("device"), each.get("rule"))
        for each in rows(briefing, "assessment_context.detailed_findings.persistent_issues")
    }
    return [
        {
            **finding,
            "delta_status": "persistent"
            if (finding["device"], finding["rule"]) in before
            else "new",
        }
        for finding in findings
    ]


def has_trend(briefing: Briefing) -> bool:
    """Return whether issues were compared with those of an earlier assessment."""
    return isinstance(briefing.value("assessment_context.detailed_findings"), dict)


def outputs(
    findings: Sequence[Finding], briefing: Briefing, more: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """Return the outputs of a domain agent (F001-23): findings first, then what sums them up.

    Missing data is named in `data_gaps` and `assumptions`, and each finding is less sure.
    """
    gaps = [*briefing.gaps(), *_errors(briefing)]
    confidence = UNSURE if gaps else SURE
    listed: list[Json] = [{**finding, "confidence": confidence} for finding in findings]
    counts: dict[str, Json] = {
        name: sum(each["severity"] == name for each in findings) for name in SEVERITIES
    }
    by_device = _counted(findings)
    summary: dict[str, Json] = {
        "text": _sentence(findings, by_device),
        "findings": len(listed),
        "by_severity": counts,
        **_resolved(briefing),
    }
    return {
        "findings": listed,
        "summary": {**summary, **(more or {})},
        "prioritized_risks": _risks(findings),
        "asset_trend": _trend(briefing),
        "chart_hints": _charts(counts, by_device) if listed else [],
        "data_gaps": gaps,
        "assumptions": ["What was not there is taken as not known, not as in order."]
        if gaps
        else [],
    }


def rows(briefing: Briefing, data_path: str) -> list[dict[str, Json]]:
    """Return the objects of the list that earlier tasks gave at `data_path`."""
    found = briefing.value(data_path)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def text(row: Mapping[str, Json], name: str) -> str:
    """Return a field that is text, empty where it is not."""
    value = row.get(name)
    return value if isinstance(value, str) else ""


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """Return `findings`, the most severe first."""
    rank: Mapping[Json, int] = {name: at for at, name in enumerate(SEVERITIES)}
    return sorted(findings, key=lambda each: rank.get(each["severity"], len(SEVERITIES)))


def _device(row: Mapping[str, Json]) -> Device:
    lines = row.get("lines")
    return Device(
        name=text(row, "device"),
        site=text(row, "site"),
        type=text(row, "type"),
        model="",
        software="",
        support_ends="",
        address="",
        environment="",
        vlans=(),
        config=tuple(each for each in lines if isinstance(each, str))
        if isinstance(lines, list)
        else (),
    )


def _is_asked(rule: Rule, briefing: Briefing) -> bool:
    severities, targets = briefing.named("severity"), briefing.named("asset_target")
    known = {each.technology.casefold() for each in estate().rules}
    technologies = [each.casefold() for each in targets if each.casefold() in known]
    return (not severities or rule.severity in severities) and (
        not technologies or rule.technology.casefold() in technologies
    )


def _has_vlan(device: Device | None, briefing: Briefing) -> bool:
    wanted = briefing.named("vlan")
    return not wanted or (device is not None and any(f"{n}" in wanted for n in device.vlans))


def _evidence(rule: Rule, line: str | None) -> str:
    return f"no line starts with {rule.text!r}" if line is None else f"the line {line!r}"


def _errors(briefing: Briefing) -> list[Json]:
    return [
        {"data_path": "assessment_context", "reason": text(each, "message"), "priority": "optional"}
        for each in rows(briefing, "assessment_context.errors")
    ]


def _counted(findings: Sequence[Finding]) -> dict[str, int]:
    names = [text(each, "device") for each in findings]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def _sentence(findings: Sequence[Finding], by_device: Mapping[str, int]) -> str:
    if not findings:
        return "Nothing was found."
    worst = text(in_order(findings)[0], "severity")
    some, devices = _plural(len(findings), "finding"), _plural(len(by_device), "device")
    return f"{some} on {devices}, the worst {worst}."


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _risks(findings: Sequence[Finding]) -> list[Json]:
    return [
        {
            "rank": rank,
            "device": finding["device"],
            "title": finding["title"],
            "severity": finding["severity"],
            "action": finding["remediation"],
        }
        for rank, finding in enumerate(in_order(findings)[:_MOST_RISKS], 1)
    ]


def _resolved(briefing: Briefing) -> dict[str, Json]:
    if not has_trend(briefing):
        return {}
    within = _within(briefing)
    counts: dict[str, Json] = {
        kind: sum(within(row) for row in _issues(briefing, kind))
        for kind in ("new", "persistent", "resolved")
    }
    resolved: list[Json] = [row for row in _issues(briefing, "resolved") if within(row)]
    return {"trend": counts, "resolved_issues": resolved}


def _issues(briefing: Briefing, kind: str) -> list[dict[str, Json]]:
    return rows(briefing, f"assessment_context.detailed_findings.{kind}_issues")


def _trend(briefing: Briefing) -> list[Json]:
    within = _within(briefing)
    return [row for row in rows(briefing, "assessment_context.asset_trend") if within(row)]


def _within(briefing: Briefing) -> Callable[[Mapping[str, Json]], bool]:
    """Return what says whether a row is of a device that was fetched."""
    fetched = {text(row, "device") for row in rows(briefing, "assessment_context.assets.configs")}
    return lambda row: text(row, "device") in fetched


def _charts(by_severity: Mapping[str, Json], by_device: Mapping[str, int]) -> list[Json]:
    return [
        {"kind": "bar", "title": "Findings by severity", "values": {**by_severity}},
        {"kind": "bar", "title": "Findings by device", "values": {**by_device}},
    ]
