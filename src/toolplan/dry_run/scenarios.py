"""The result of a dry run: faults, scenarios, and limits on calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from toolplan.events import StepState
from toolplan.tools import Effects


class Fault(NamedTuple):
    """A step that fails whatever its tools return; lists are assumed to have elements.

    `step` is empty for the plan's output. `code` and `pointer` are those of
    `toolplan.events.Failure`; `scenario` describes the first scenario with this fault.
    """

    step: str
    code: str
    message: str
    pointer: str
    scenario: str


class MayFail(NamedTuple):
    """A step that fails with earlier results of `tools`; other results may work.

    The other fields are those of a `Fault`.
    """

    step: str
    code: str
    message: str
    pointer: str
    scenario: str
    tools: tuple[str, ...]


class Scenario(Struct, frozen=True):
    """One simulated run, and the final state of each step."""

    description: str
    states: Mapping[str, StepState]


class CallBounds(NamedTuple):
    """The fewest calls of a run without failures, and the most, with all retries."""

    least: int
    most: int


class EffectBounds(Struct, frozen=True):
    """A step that may change something, and how often it may be called."""

    step: str
    tool: str
    effects: Effects
    calls: CallBounds


class Unchecked(NamedTuple):
    """A step that the dry run cannot check, and why."""

    step: str
    reason: str
