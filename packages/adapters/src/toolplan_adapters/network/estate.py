"""A small sample network: devices with configurations, events, earlier assessments, policies.

It stands still at `as_of`, so that what is found in it is the same on every day.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final, Literal, NamedTuple, TypeAlias

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

Severity: TypeAlias = Literal["critical", "high", "medium", "low"]
Area: TypeAlias = Literal["config", "security"]

SEVERITIES: Final[tuple[Severity, ...]] = ("critical", "high", "medium", "low")


@dataclass(frozen=True)
class Device:
    """One device; `config` are its lines, `support_ends` is the day its software's support ends."""

    name: str
    site: str
    type: str
    model: str
    software: str
    support_ends: str
    address: str
    environment: str
    vlans: tuple[int, ...]
    config: tuple[str, ...]


@dataclass(frozen=True)
class Rule:
    """What a configuration must have (`requires`) or must not have (`forbids`) at a line's start.

    `device_types` none means every type.
    """

    id: str
    area: Area
    kind: Literal["requires", "forbids"]
    text: str
    severity: Severity
    technology: str
    title: str
    remediation: str
    device_types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Issue:
    """A rule that a device departs from, and the day it was first seen."""

    device: str
    rule: str
    first_seen: str


@dataclass(frozen=True)
class Assessment:
    """What was found on a day; `issues` None are those that the configurations have now."""

    id: str
    date: str
    issues: tuple[Issue, ...] | None


@dataclass(frozen=True)
class SlicFinding:
    """What experts have said of a finding."""

    device: str
    rule: str
    severity: Severity
    title: str
    insight: str
    recommendation: str


@dataclass(frozen=True)
class Exemption:
    """A rule that a device may depart from, until a day."""

    rule: str
    device: str
    granted_until: str
    reason: str


@dataclass(frozen=True)
class Happening:
    """Something that a device has reported, `count` times."""

    device: str
    at: str
    kind: str
    count: int
    detail: str


@dataclass(frozen=True)
class Link:
    """Two devices that are connected."""

    a: str
    b: str


@dataclass(frozen=True)
class Note:
    """A passage of what the enterprise has written down."""

    source: str
    topic: str
    domain: Area
    timestamp: str
    content: str


@dataclass(frozen=True)
class Estate:
    """All of the network; `as_of` is an RFC 3339 time."""

    as_of: str
    devices: tuple[Device, ...]
    rules: tuple[Rule, ...]
    assessments: tuple[Assessment, ...]
    slic_findings: tuple[SlicFinding, ...]
    exceptions: tuple[Exemption, ...]
    events: tuple[Happening, ...]
    links: tuple[Link, ...]
    knowledge: tuple[Note, ...]

    @property
    def today(self) -> str:
        """The day of `as_of`."""
        return self.as_of.partition("T")[0]

    def rule(self, name: str) -> Rule:
        """Return the rule with an id; there is one."""
        return next(each for each in self.rules if each.id == name)


class Departure(NamedTuple):
    """A device that departs from a rule; `line` is what it should not have, None for what lacks."""

    device: Device
    rule: Rule
    line: str | None


@cache
def estate() -> Estate:
    """Return the network, read when it is first asked for."""
    text = files("toolplan_adapters.network").joinpath("estate.json").read_text("utf-8")
    return TypeAdapter(Estate).validate_json(text)


def departures(devices: Sequence[Device], rules: Sequence[Rule]) -> list[Departure]:
    """Return where `devices` depart from `rules`, by device, then by rule."""
    return [
        Departure(device, rule, found)
        for device in devices
        for rule in rules
        if not rule.device_types or device.type in rule.device_types
        for found in _departs(device, rule)
    ]


def _departs(device: Device, rule: Rule) -> list[str | None]:
    lines = [line for line in device.config if line.startswith(rule.text)]
    match rule.kind:
        case "requires":
            return [] if lines else [None]
        case "forbids":
            return [*lines[:1]]
