"""A small sample network: devices with configurations, events, earlier assessments, policies.

The data is in `estate.json` and stands still at `as_of`, so the findings are the same every day.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Final, TypeAlias

Row: TypeAlias = dict[str, Any]

ESTATE: Final[Row] = json.loads(
    files("toolplan_adapters.network").joinpath("estate.json").read_text("utf-8")
)
TODAY: Final[str] = ESTATE["as_of"][:10]
DEVICES: Final[dict[str, Row]] = {each["device"]: each for each in ESTATE["devices"]}
RULES: Final[dict[str, Row]] = {each["id"]: each for each in ESTATE["rules"]}
SEVERITIES: Final = ("critical", "high", "medium", "low")


def departures(configs: Iterable[Row], area: str) -> list[Row]:
    """Return a finding for each rule of `area` that a configuration departs from.

    A rule requires or forbids a line that starts with its text; `device_types` empty means all.
    """
    found: list[Row] = []
    for config in configs:
        for rule in RULES.values():
            types = rule["device_types"]
            if rule["area"] != area or (types and config["type"] not in types):
                continue
            line = next((each for each in config["lines"] if each.startswith(rule["text"])), None)
            if (line is None) is (rule["kind"] == "requires"):
                found.append(
                    {
                        "rule": rule["id"],
                        "device": config["device"],
                        "site": config["site"],
                        **{key: rule[key] for key in ("severity", "technology", "title")},
                        "evidence": f"the line {line!r}"
                        if line
                        else f"no line starts with {rule['text']!r}",
                        "remediation": rule["remediation"],
                    }
                )
    return found
