"""The domain agents: configurations against best practices, and the security of what is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolplan.path import Json
from toolplan.tools import ToolError
from toolplan_adapters.contract import Briefing
from toolplan_adapters.network.estate import estate
from toolplan_adapters.network.findings import (
    Finding,
    from_configs,
    in_order,
    outputs,
    rows,
    text,
    with_exceptions,
    with_knowledge,
    with_trend,
)

MANY_FAILED_LOGINS: Final = 50
"""So many failed logins in one event are an incident."""


def config_best_practice(briefing: Briefing) -> Mapping[str, Json]:
    """Do what the skill of the task says; the outputs are those of F001-23."""
    match briefing.skill:
        case "cbp_assessment":
            return _assessment(briefing)
        case "cbp_expert_insights":
            return _expert_insights(briefing)
        case "cbp_generic":
            return _generic(briefing)
        case other:
            raise ToolError(f"There is no skill {other!r}.")


def security_assessment(briefing: Briefing) -> Mapping[str, Json]:
    """Return what configurations, software past its support, and events say about security."""
    found = [*from_configs(briefing, "security"), *_old_software(briefing), *_attacks(briefing)]
    wanted = briefing.named("severity")
    asked = [each for each in found if not wanted or each["severity"] in wanted]
    return outputs(with_knowledge(in_order(asked), briefing), briefing)


def _assessment(briefing: Briefing) -> dict[str, Json]:
    found = in_order(from_configs(briefing, "config"))
    reported = with_trend(with_exceptions(with_knowledge(found, briefing), briefing), briefing)
    tracked = {
        (each.get("device"), each.get("rule")): each.get("first_seen")
        for each in rows(briefing, "assessment_context.tracked_issues")
    }
    dated: list[Finding] = [
        {**each, "first_seen": since}
        if (since := tracked.get((each["device"], each["rule"])))
        else each
        for each in reported
    ]
    return outputs(dated, briefing)


def _expert_insights(briefing: Briefing) -> dict[str, Json]:
    rules = {rule.id: rule for rule in estate().rules}
    found: list[Finding] = [
        {
            "rule": row.get("rule"),
            "device": row.get("device"),
            "site": row.get("site"),
            "severity": row.get("severity"),
            "technology": rules[text(row, "rule")].technology if row.get("rule") in rules else "",
            "title": row.get("title"),
            "evidence": "said by experts",
            "insight": row.get("insight"),
            "remediation": row.get("recommendation"),
        }
        for row in rows(briefing, "assessment_context.slic_findings")
    ]
    return outputs(with_knowledge(in_order(found), briefing), briefing)


def _generic(briefing: Briefing) -> dict[str, Json]:
    chunks = rows(briefing, "enterprise_context.retrieved_chunks")
    said: list[Json] = [text(chunk, "content") for chunk in chunks]
    sources: list[Json] = [chunk.get("metadata") for chunk in chunks]
    return outputs([], briefing, {"text": said[0], "statements": said, "sources": sources})


def _old_software(briefing: Briefing) -> list[Finding]:
    today = estate().today
    return [
        {
            "rule": "SEC-101",
            "device": row.get("device"),
            "site": row.get("site"),
            "severity": "high",
            "technology": "software",
            "title": "The software is past its support",
            "evidence": f"{text(row, 'software')}, supported until {text(row, 'support_ends')}",
            "remediation": "Move to a release that is supported.",
        }
        for row in rows(briefing, "assessment_context.assets.inventory")
        if "" < text(row, "support_ends") < today
    ]


def _attacks(briefing: Briefing) -> list[Finding]:
    sites = {device.name: device.site for device in estate().devices}
    found: list[Finding] = []
    for row in rows(briefing, "assessment_context.assets.events"):
        count = row.get("count")
        if row.get("kind") != "login_failed" or not isinstance(count, int):
            continue
        if count > MANY_FAILED_LOGINS:
            found.append(
                {
                    "rule": "SEC-201",
                    "device": row.get("device"),
                    "site": sites.get(text(row, "device")),
                    "severity": "critical",
                    "technology": "events",
                    "title": "Many logins have failed",
                    "evidence": f"{count} at {text(row, 'at')}, {text(row, 'detail')}",
                    "remediation": "Look at it today: block the address, and check the accounts.",
                }
            )
    return found
