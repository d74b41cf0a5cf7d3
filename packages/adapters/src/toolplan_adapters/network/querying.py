"""The data agent: configurations, inventory, events and earlier assessments of what is in scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Final

from toolplan.path import Json
from toolplan.tools import Arguments, Tool, ToolError
from toolplan_adapters.contract import Briefing
from toolplan_adapters.network.estate import estate

ANALYSIS: Final = "assessment_analysis_tool"
COMPARISON: Final = "assessment_comparison_tool"
TRACKING: Final = "issue_tracking_tool"
ASSET_KINDS: Final = ("inventory", "topology", "configs", "telemetry", "events")


class QueryAgent:
    """The data agent over the tools that it asks, by name."""

    def __init__(self, sources: Mapping[str, Tool]) -> None:
        """Ask `sources`, which have the three tools of `sources.SOURCES`, or others like them."""
        self._sources = sources

    async def work(self, briefing: Briefing) -> Mapping[str, Json]:
        """Return `assessment_context` (F001-23): what other tasks need, of what the scope names.

        What a source cannot give is named in `errors`; the rest is returned.
        """
        fetching = _Fetching(briefing, self._sources)
        context: dict[str, Json] = {
            "context_id": _identity(briefing),
            "source_path": "error",
            "timestamp_utc": estate().as_of,
            "scope": {
                "targets": briefing.scope.get("targets"),
                "site": briefing.sites[0] if len(briefing.sites) == 1 else None,
                "time_range": briefing.scope.get("time_range"),
            },
            "assets": await _assets(fetching),
        }
        context |= await _findings(fetching)
        context["source_path"] = "mcp" if fetching.provenance else "error"
        context["provenance"] = fetching.provenance
        context["errors"] = fetching.errors
        return {"assessment_context": context}


class _Fetching:
    """What is fetched for one task, from which tools."""

    def __init__(self, briefing: Briefing, sources: Mapping[str, Tool]) -> None:
        self.briefing = briefing
        self.provenance: list[Json] = []
        self.errors: list[Json] = []
        self._sources = sources

    async def ask(self, name: str, **arguments: str) -> dict[str, Json]:
        """Return what a source says, empty where it failed; what was asked is noted."""
        said: Arguments = {key: value for key, value in arguments.items() if value}
        source = self._sources.get(name)
        try:
            if source is None or source.call is None:
                raise ToolError(f"There is no source {name!r}.")
            found = await source.call(said)
        except ToolError as error:
            self.errors.append({"tool": name, "arguments": said, "message": str(error)})
            return {}
        self.provenance.append({"tool": name, "arguments": said})
        return found if isinstance(found, dict) else {}


async def _findings(fetching: _Fetching) -> dict[str, Json]:
    """Return what is asked for besides assets: expert findings, exceptions, trends, open issues."""
    kinds = fetching.briefing.named("assessment_type")
    found: dict[str, Json] = {}
    if _is_wanted(fetching.briefing, "assessment_context.slic_findings"):
        found["slic_findings"] = await _gathered(
            fetching, "slic_findings", lambda area: {"query_type": "summary", "focus_area": area}
        )
    if "exceptions" in kinds:
        found["exceptions"] = await _gathered(
            fetching, "exceptions", lambda area: {"query_type": "exceptions", "focus_area": area}
        )
    if "comparison" in kinds:
        found |= await _comparison(fetching)
    if "tracking" in kinds:
        tracked = await fetching.ask(TRACKING, tracking_scope="open")
        found["tracked_issues"] = tracked.get("issues", [])
    return found


def _areas(briefing: Briefing) -> list[str]:
    """Return the devices that are named, else the sites, else everything."""
    devices = [*briefing.named("device"), *briefing.named("ip_address")]
    return devices or briefing.sites or [""]


async def _gathered(
    fetching: _Fetching, name: str, arguments: Callable[[str], dict[str, str]]
) -> list[Json]:
    """Return the rows `name` of each area that is in scope."""
    rows: list[Json] = []
    for area in _areas(fetching.briefing):
        found = (await fetching.ask(ANALYSIS, **arguments(area))).get(name)
        rows += found if isinstance(found, list) else []
    return rows


async def _assets(fetching: _Fetching) -> dict[str, Json]:
    gathered: dict[str, list[Json]] = {kind: [] for kind in ASSET_KINDS}
    for area in _areas(fetching.briefing):
        before = len(gathered["configs"])
        for product in fetching.briefing.named("device_type") or [""]:
            answer = await fetching.ask(
                ANALYSIS, query_type="assets", focus_area=area, product_filter=product
            )
            assets = answer.get("assets")
            if isinstance(assets, dict):
                for kind, rows in gathered.items():
                    found = assets.get(kind)
                    rows += found if isinstance(found, list) else []
        if len(gathered["configs"]) == before:
            message = f"No device is known of {area!r}." if area else "No device is known."
            fetching.errors.append({"tool": ANALYSIS, "arguments": {}, "message": message})
    return {**gathered}


async def _comparison(fetching: _Fetching) -> dict[str, Json]:
    named = sorted(fetching.briefing.named("assessment_id"))
    current = named[-1] if named else estate().assessments[-1].id
    answer = await fetching.ask(
        COMPARISON,
        current_assessment_id=current,
        previous_assessment_id=named[0] if len(named) > 1 else "",
        comparison_focus="overall",
    )
    taken = ("current_assessment_id", "previous_assessment_id", "detailed_findings", "asset_trend")
    return {name: answer[name] for name in taken if name in answer}


def _is_wanted(briefing: Briefing, data_path: str) -> bool:
    return any(each.data_path == data_path for each in briefing.required_data)


def _identity(briefing: Briefing) -> str:
    """Return an id of the context that is the same for the same scope, so that it can be named."""
    said = repr((briefing.sites, briefing.scope.get("targets"), estate().as_of))
    return f"ctx-{sha256(said.encode()).hexdigest()[:12]}"
