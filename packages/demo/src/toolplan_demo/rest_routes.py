"""Which method and path of the REST API calls which tool of the demo."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from msgspec import Struct

from toolplan.path import Json
from toolplan.tools import Tool, Toolbox

PREFIX: Final = "/api"


class Route(Struct, frozen=True):
    """A method and a path below PREFIX, and the tool that answers."""

    method: str
    path: str
    tool: str

    @property
    def in_path(self) -> tuple[str, ...]:
        """The arguments that stand in the path."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))

    @property
    def has_body(self) -> bool:
        """Whether the other arguments are the body, and not the query."""
        return self.method in ("POST", "PUT")

    def schemas(self, tool: Tool) -> dict[str, Json]:
        """Return the schemas of the arguments that stand in the query or the body, by name."""
        named = cast("dict[str, Any]", tool.raw_input)["properties"]
        return {name: each for name, each in named.items() if name not in self.in_path}


ROUTES: Final = (
    Route("GET", "/shipments", "shipments_list"),
    Route("POST", "/shipments", "shipments_create"),
    Route("GET", "/shipments/{id}", "shipments_get"),
    Route("PUT", "/shipments/{id}", "shipments_update"),
    Route("GET", "/shipments/{id}/contaminants", "shipments_get_with_contaminants"),
    Route("GET", "/facilities", "facilities_list"),
    Route("POST", "/facilities", "facilities_create"),
    Route("GET", "/facilities/{id}", "facilities_get"),
    Route("PUT", "/facilities/{id}", "facilities_update"),
    Route("GET", "/facilities/{id}/activity", "facilities_get_with_activity"),
    Route("GET", "/contaminants-detected", "contaminants_list"),
    Route("GET", "/contaminants-detected/{id}", "contaminants_get"),
    Route("GET", "/inspections", "inspections_list"),
    Route("POST", "/inspections", "inspections_create"),
    Route("GET", "/inspections/{id}", "inspections_get"),
    Route("GET", "/analytics/contamination-rate", "analytics_contamination_rate"),
    Route("GET", "/analytics/facility-performance", "analytics_facility_performance"),
    Route("GET", "/analytics/waste-type-distribution", "analytics_waste_distribution"),
    Route("GET", "/analytics/risk-trends", "analytics_risk_trends"),
)


def routes_of(tools: Toolbox) -> tuple[Route, ...]:
    """Return the routes whose tools are in `tools`."""
    return tuple(route for route in ROUTES if route.tool in tools)
