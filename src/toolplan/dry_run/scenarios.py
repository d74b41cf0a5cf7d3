"""The result of a dry run: faults, scenarios, and limits on calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from toolplan.events import StepState
from toolplan.path import Json
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


class Scenario(NamedTuple):
    """One simulated run, and the final state of each step."""

    description: str
    states: Mapping[str, StepState]


class CallBounds(NamedTuple):
    """The fewest calls of a run without failures, and the most, with all retries."""

    least: int
    most: int


class EffectBounds(NamedTuple):
    """A step that may change something, and how often it may be called."""

    step: str
    tool: str
    effects: Effects
    calls: CallBounds


class Unchecked(NamedTuple):
    """A step that the dry run cannot check, and why."""

    step: str
    reason: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of a dry run.

    Attributes:
        faults: what always fails, each once.
        may_fail: what fails with recorded results alone, each once.
        scenarios: the simulated scenarios.
        calls: how often each step is called, by its id.
        total: how often tools are called.
        limit: the most calls that a run may make; it stops there, whatever `total` says.
        effects: the steps that may change something, in the order of the plan.
        unchecked: the steps that could not be checked, in the order of the plan.
    """

    faults: tuple[Fault, ...]
    may_fail: tuple[MayFail, ...]
    scenarios: tuple[Scenario, ...]
    calls: Mapping[str, CallBounds]
    total: CallBounds
    limit: int
    effects: tuple[EffectBounds, ...]
    unchecked: tuple[Unchecked, ...]

    @property
    def succeeded(self) -> bool:
        """Whether there is no fault."""
        return not self.faults

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        return {
            "faults": [dict(fault._asdict()) for fault in self.faults],
            "may_fail": [{**each._asdict(), "tools": [*each.tools]} for each in self.may_fail],
            "scenarios": [
                {
                    "description": scenario.description,
                    "states": {name: state.value for name, state in scenario.states.items()},
                }
                for scenario in self.scenarios
            ],
            "calls": {name: dict(bounds._asdict()) for name, bounds in self.calls.items()},
            "total": dict(self.total._asdict()),
            "limit": self.limit,
            "effects": [
                {
                    "step": each.step,
                    "tool": each.tool,
                    "effects": each.effects.value,
                    "calls": dict(each.calls._asdict()),
                }
                for each in self.effects
            ],
            "unchecked": [dict(each._asdict()) for each in self.unchecked],
        }
