"""What a dry run finds, as values: what fails, ways through the plan, and bounds on calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from toolplan.events import StepState
from toolplan.path import Json
from toolplan.tools import Effects


class Fault(NamedTuple):
    """A step that fails, whatever its tools give.

    Lists are thought to have elements: what is wrong with all of them is a fault.

    `step` is empty where it is the plan's output that cannot be had. `code` and `pointer` are those
    of `toolplan.events.Failure`; `drive` describes the first drive that met it.
    """

    step: str
    code: str
    message: str
    pointer: str
    drive: str


class MayFail(NamedTuple):
    """A step that fails with results that `tools` gave before, and may do with others.

    The other fields are those of a `Fault`.
    """

    step: str
    code: str
    message: str
    pointer: str
    drive: str
    tools: tuple[str, ...]


class Scenario(NamedTuple):
    """One way through the plan, and where each of its steps stood in the end."""

    description: str
    states: Mapping[str, StepState]


class CallBounds(NamedTuple):
    """The fewest calls in a run in which nothing fails, and the most, with all retries."""

    least: int
    most: int


class EffectBounds(NamedTuple):
    """A step that may change something, and how often it may be called."""

    step: str
    tool: str
    effects: Effects
    calls: CallBounds


class Unchecked(NamedTuple):
    """A step of which the dry run cannot say whether it works, and why."""

    step: str
    reason: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """What can be known of a run before it.

    Attributes:
        faults: what is wrong, each once, in the order in which it was met.
        may_fail: what fails with recorded results alone, likewise; it proves nothing of the plan.
        drives: the ways through the plan that were tried.
        calls: how often each step is called, by its id.
        total: how often tools are called.
        limit: the most calls that a run may make: it stops there, whatever `total` says.
        effects: the steps that may change something, in the order of the plan.
        unchecked: the steps about which nothing is said here, in the order of the plan.
    """

    faults: tuple[Fault, ...]
    may_fail: tuple[MayFail, ...]
    drives: tuple[Scenario, ...]
    calls: Mapping[str, CallBounds]
    total: CallBounds
    limit: int
    effects: tuple[EffectBounds, ...]
    unchecked: tuple[Unchecked, ...]

    @property
    def succeeded(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    def to_json(self) -> dict[str, Json]:
        """Return the wire form."""
        return {
            "faults": [dict(fault._asdict()) for fault in self.faults],
            "may_fail": [{**each._asdict(), "tools": [*each.tools]} for each in self.may_fail],
            "drives": [
                {
                    "description": drive.description,
                    "states": {name: state.value for name, state in drive.states.items()},
                }
                for drive in self.drives
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
