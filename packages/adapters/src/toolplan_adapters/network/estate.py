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
TYPES: Final = {each["type"] for each in ESTATE["devices"]}
SEVERITIES: Final = ("critical", "high", "medium", "low")


def finding(rule: str, row: Row, evidence: str) -> Row:
    """Return the finding that the device of `row` departs from a rule."""
    about = ("severity", "technology", "title", "remediation")
    return {
        "rule": rule,
        "device": row["device"],
        "site": row["site"],
        "evidence": evidence,
        **{key: RULES[rule][key] for key in about},
    }


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
