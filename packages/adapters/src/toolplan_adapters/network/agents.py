"""The work of the four agents: knowledge, data, configurations and security."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final, cast

from toolplan.plan.path import Json
from toolplan.schema.tool import Tool, Toolbox, ToolError
from toolplan.tools.search import terms
from toolplan_adapters.contract import Briefing
from toolplan_adapters.network.sources import (
    DEVICES,
    ESTATE,
    RULES,
    SEVERITIES,
    SOURCES,
    TODAY,
    Row,
    departures,
    finding,
)

ANALYSIS, COMPARISON, TRACKING = (source.name for source in SOURCES)
CONTEXT: Final = "assessment_context"
MOST_CHUNKS: Final = 4
LEAST_RELEVANCE: Final = 0.3
"""Minimum relevance of a chunk, as a share of the best one."""
MOST_FAILED_LOGINS: Final = 50
"""More failed logins in one event are an incident."""


def knowledge(briefing: Briefing) -> Mapping[str, Json]:
    """Return the passages of policies and notes about the question.

    The relevance of a chunk is the share of the words of the question in it; its topic counts
    double.
    """
    said = [str(briefing.scope.get("goal", "")), *briefing.sites, *briefing.named("asset_target")]
    said += [each.data_path for each in briefing.required_data]
    asked = set(terms(" ".join(said)))
    scored: list[tuple[float, Row]] = []
    for note in ESTATE["knowledge"]:
        met = len(asked & {*terms(note["content"])}) + 2 * len(asked & {*terms(note["topic"])})
        scored.append((round(min(1.0, met / max(len(asked), 1)), 2), note))
    least = LEAST_RELEVANCE * max(score for score, _ in scored)
    ranked = sorted((each for each in scored if each[0] > 0), key=lambda each: -each[0])
    chunks: list[Json] = [
        {
            "content": note["content"],
            "metadata": {
                **{key: note[key] for key in ("source", "topic", "domain", "timestamp")},
                "relevance_score": score,
            },
        }
        for score, note in ranked[:MOST_CHUNKS]
        if score >= least
    ]
    query = " ".join(sorted(asked))
    context: Json = {"retrieved_chunks": chunks, "query_used": query}
    return {"enterprise_context": context, "retrieval_query": query}


class _Query:
    """The calls that the data agent makes for one task."""

    def __init__(self, sources: Mapping[str, Tool]) -> None:
        self.provenance: list[Row] = []
        self.errors: list[Row] = []
        self._sources = sources

    async def ask(self, name: str, **arguments: str) -> Row:
        given: dict[str, Json] = {key: text for key, text in arguments.items() if text}
        asked: Row = {"tool": name, "arguments": given}
        source = self._sources.get(name)
        try:
            if source is None or source.call is None:
                raise ToolError(f"There is no source {name!r}.")
            found = await source.call(given)
        except ToolError as error:
            self.errors.append({**asked, "message": str(error)})
            return {}
        self.provenance.append(asked)
        return cast("Row", found)


async def data_query(
    briefing: Briefing, sources: Mapping[str, Tool] | None = None
) -> Mapping[str, Json]:
    """Return the data about the scope; `errors` lists the sources that failed."""
    query = _Query(Toolbox(SOURCES) if sources is None else sources)
    devices = [*briefing.named("device"), *briefing.named("ip_address")]
    areas = devices or briefing.sites or [""]
    targets = briefing.scope.get("targets")
    scope = briefing.sites, targets, ESTATE["as_of"]
    context: Row = {
        "context_id": f"ctx-{sha256(repr(scope).encode()).hexdigest()[:12]}",
        "timestamp_utc": ESTATE["as_of"],
        "scope": {
            "targets": targets,
            "site": briefing.sites[0] if len(briefing.sites) == 1 else None,
            "time_range": briefing.scope.get("time_range"),
        },
        "assets": await _assets(query, areas, briefing.named("device_type") or [""]),
        **await _findings(query, areas, briefing),
    }
    context["source_path"] = "mcp" if query.provenance else "error"
    context["provenance"], context["errors"] = query.provenance, query.errors
    return {CONTEXT: context}


async def _assets(query: _Query, areas: Sequence[str], products: Sequence[str]) -> Row:
    assets: Row = {kind: [] for kind in ("inventory", "topology", "configs", "telemetry", "events")}
    for area in areas:
        before = len(assets["configs"])
        for product in products:
            answer = await query.ask(
                ANALYSIS, query_type="assets", focus_area=area, product_filter=product
            )
            for kind, rows in answer.get("assets", {}).items():
                assets[kind] += rows
        if len(assets["configs"]) == before:
            message = f"No device is known of {area!r}." if area else "No device is known."
            query.errors.append({"tool": ANALYSIS, "arguments": {}, "message": message})
    return assets


async def _findings(query: _Query, areas: Sequence[str], briefing: Briefing) -> Row:
    """Return expert findings, exceptions, a comparison and open issues, as far as asked for."""
    kinds = briefing.named("assessment_type")
    is_expert = any(each.data_path == f"{CONTEXT}.slic_findings" for each in briefing.required_data)
    found: Row = {}
    for name, query_type, is_asked in (
        ("slic_findings", "summary", is_expert),
        ("exceptions", "exceptions", "exceptions" in kinds),
    ):
        if is_asked:
            answers = [
                await query.ask(ANALYSIS, query_type=query_type, focus_area=each) for each in areas
            ]
            found[name] = [row for answer in answers for row in answer.get(name, [])]
    if "comparison" in kinds:
        named = sorted(briefing.named("assessment_id")) or [ESTATE["assessments"][-1]["id"]]
        found |= await query.ask(
            COMPARISON,
            current_assessment_id=named[-1],
            previous_assessment_id=named[0] if len(named) > 1 else "",
        )
    if "tracking" in kinds:
        found["tracked_issues"] = (await query.ask(TRACKING)).get("issues", [])
    return found


def config_best_practice(briefing: Briefing) -> Mapping[str, Json]:
    """Return findings, expert insights or an answer from the policies, by the skill of the task."""
    match briefing.skill:
        case "cbp_assessment":
            return _outputs(_with_history(_departures(briefing, "config"), briefing), briefing)
        case "cbp_expert_insights":
            taken = ("severity", "title", "insight")
            insights = [
                finding(row["rule"], row, "said by experts")
                | {key: row[key] for key in taken}
                | {"remediation": row["recommendation"]}
                for row in _rows(briefing, f"{CONTEXT}.slic_findings")
            ]
            return _outputs(insights, briefing)
        case "cbp_generic":
            chunks = _rows(briefing, "enterprise_context.retrieved_chunks")
            said = [chunk["content"] for chunk in chunks]
            sources = [chunk["metadata"] for chunk in chunks]
            return _outputs([], briefing, text=said[0], statements=said, sources=sources)
        case other:
            raise ToolError(f"There is no skill {other!r}.")


def security_assessment(briefing: Briefing) -> Mapping[str, Json]:
    """Return the findings on configurations, software past its support, and events."""
    old = [
        finding("SEC-101", row, f"{row['software']}, supported until {row['support_ends']}")
        for row in _rows(briefing, f"{CONTEXT}.assets.inventory")
        if row["support_ends"] < TODAY
    ]
    attacks = [
        finding("SEC-201", row, f"{row['count']} at {row['at']}, {row['detail']}")
        for row in _rows(briefing, f"{CONTEXT}.assets.events")
        if row["kind"] == "login_failed" and row["count"] > MOST_FAILED_LOGINS
    ]
    wanted = briefing.named("severity") or SEVERITIES
    more = [row for row in (*old, *attacks) if row["severity"] in wanted]
    return _outputs([*_departures(briefing, "security"), *more], briefing)


def _rows(briefing: Briefing, data_path: str) -> list[Row]:
    return cast("list[Row]", briefing.value(data_path) or [])


def _departures(briefing: Briefing, area: str) -> list[Row]:
    """Return the departures from rules, of the severity, technology and VLAN in the scope."""
    severities, vlans = briefing.named("severity"), briefing.named("vlan")
    known = {rule["technology"].casefold() for rule in RULES.values()}
    technologies = known & {each.casefold() for each in briefing.named("asset_target")}
    return [
        row
        for row in departures(_rows(briefing, f"{CONTEXT}.assets.configs"), area)
        if (not severities or row["severity"] in severities)
        and (not technologies or row["technology"].casefold() in technologies)
        and (not vlans or any(str(each) in vlans for each in DEVICES[row["device"]]["vlans"]))
    ]


def _with_history(findings: list[Row], briefing: Briefing) -> list[Row]:
    """Add to each finding its exception, its first day, and whether it is new, where known."""

    def by_issue(name: str) -> dict[tuple[str, str], Row]:
        rows = _rows(briefing, f"{CONTEXT}.{name}")
        return {(each["device"], each["rule"]): each for each in rows}

    exceptions, tracked = by_issue("exceptions"), by_issue("tracked_issues")
    is_trend = briefing.value(f"{CONTEXT}.detailed_findings") is not None
    persistent = by_issue("detailed_findings.persistent_issues")
    for each in findings:
        issue = each["device"], each["rule"]
        if issue in exceptions:
            each["exception"] = exceptions[issue]
        if issue in tracked:
            each["first_seen"] = tracked[issue]["first_seen"]
        if is_trend:
            each["delta_status"] = "persistent" if issue in persistent else "new"
    return findings


def _outputs(findings: Sequence[Row], briefing: Briefing, **summary: Json) -> dict[str, Json]:
    """Return the outputs of a domain agent; with gaps in the data each finding is less sure."""
    errors = _rows(briefing, f"{CONTEXT}.errors")
    gaps: list[Json] = [
        *briefing.gaps(),
        *({"data_path": CONTEXT, "reason": e["message"], "priority": "optional"} for e in errors),
    ]
    policies: dict[str, Row] = {}
    for chunk in _rows(briefing, "enterprise_context.retrieved_chunks"):
        passage = {"source": chunk["metadata"]["source"], "content": chunk["content"]}
        policies.setdefault(chunk["metadata"]["topic"].casefold(), passage)
    ordered = sorted(findings, key=lambda each: SEVERITIES.index(each["severity"]))
    listed: list[Row] = []
    for each in ordered:
        policy = policies.get(each["technology"].casefold())
        known = {} if policy is None else {"policy": policy}
        listed.append({**each, **known, "confidence": 0.7 if gaps else 0.95})
    counts = {name: sum(each["severity"] == name for each in listed) for name in SEVERITIES}
    fetched = {each["device"] for each in _rows(briefing, f"{CONTEXT}.assets.configs")}
    text = "Nothing was found."
    if listed:
        count = len({each["device"] for each in listed})
        some = f"{len(listed)} finding{'s' * (len(listed) != 1)}"
        text = f"{some} on {count} device{'s' * (count != 1)}, the worst {listed[0]['severity']}."
    outputs: Row = {
        "findings": listed,
        "summary": {
            "text": text,
            "findings": len(listed),
            "by_severity": counts,
            **_trend(briefing, fetched),
            **summary,
        },
        "data_gaps": gaps,
        "assumptions": ["Missing data is taken as unknown, not as in order."] if gaps else [],
    }
    return outputs


def _trend(briefing: Briefing, fetched: set[str]) -> Row:
    """Return the issues since the earlier assessment; resolved ones are only in the summary."""
    if briefing.value(f"{CONTEXT}.detailed_findings") is None:
        return {}
    issues = {
        kind: [
            each
            for each in _rows(briefing, f"{CONTEXT}.detailed_findings.{kind}_issues")
            if each["device"] in fetched
        ]
        for kind in ("new", "persistent", "resolved")
    }
    counts = {kind: len(rows) for kind, rows in issues.items()}
    return {"trend": counts, "resolved_issues": issues["resolved"]}
