"""Approval: the word of a person, or of a policy, that a plan with effects may run.

It is bound to the plan's digest, so it holds for the very plan that was shown and for no other. It
has a slot for each call with effects that the plan can make, and it is good for one run: each slot
is taken once, by that run.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import NamedTuple

import rfc8785

from toolplan.execution_plan import ExecutionPlan, Policy
from toolplan.path import Json
from toolplan.plan import Limits, Literal, Plan, Step, Value
from toolplan.plan_json import dump
from toolplan.tools import Effects, Tool

__all__ = [
    "Approval",
    "ApprovalRequired",
    "ApprovalUsed",
    "EffectStep",
    "Policy",
    "approve",
    "digest_of",
    "effect_steps",
    "most_calls",
]


class Approval:
    """Leave to run, once, the plan that has `digest`.

    Attributes:
        digest: the plan's.
        slots: for each step with effects, how many calls of it are allowed.
        id: the name under which a journal keeps that it was used.
    """

    __slots__ = ("_run", "digest", "id", "slots")

    def __init__(self, digest: str, slots: Mapping[str, int], id_: str, run: str = "") -> None:
        self.digest = digest
        self.slots = dict(slots)
        self.id = id_
        self._run = run

    def __repr__(self) -> str:
        return f"Approval({self.digest!r}, {self.slots!r}, {self.id!r})"

    def use_for(self, run: str) -> None:
        """Bind the approval to `run`.

        Raises:
            ApprovalUsed: another run has used it.
        """
        if self._run and self._run != run:
            raise ApprovalUsed(self.id, self._run)
        self._run = run


class ApprovalRequired(Exception):
    """A plan with effects was to be run without an approval of its `digest`; no call was made."""

    def __init__(self, digest: str) -> None:
        super().__init__("The plan has effects and needs an approval before it runs.")
        self.digest = digest


class ApprovalUsed(Exception):
    """An approval is good for one run, and `run` has used it; no call was made."""

    def __init__(self, approval: str, run: str) -> None:
        super().__init__(f"The approval was used by run {run!r}; approve the plan once more.")
        self.approval = approval
        self.run = run


class EffectStep(NamedTuple):
    """What a person has to know of one step with effects before they approve it.

    `calls` is the most calls that it can make; `exact` says that it makes just as many, unless it
    is skipped or fails. `args` hold what is fixed, and references to where the rest comes from.
    """

    step: str
    tool: str
    effects: Effects
    args: Mapping[str, Value]
    for_each: Value | None
    conditional: bool
    calls: int
    exact: bool


def approve(execution_plan: ExecutionPlan) -> Approval:
    """Return leave to run `execution_plan`, exactly as it is, once."""
    steps = {step.id: step for step in execution_plan.plan.steps}
    slots = {name: most_calls(steps[name]) for name in execution_plan.effects}
    return Approval(execution_plan.digest, slots, uuid.uuid4().hex)


def effect_steps(
    execution_plan: ExecutionPlan, tools: Mapping[str, Tool]
) -> tuple[EffectStep, ...]:
    """Return all that the plan may change, in the order in which it is written."""
    return tuple(
        EffectStep(
            step=step.id,
            tool=step.tool,
            effects=tools[step.tool].effects,
            args=step.args,
            for_each=step.for_each,
            conditional=step.when is not None,
            calls=most_calls(step),
            exact=known_calls(step) is not None,
        )
        for step in execution_plan.plan.steps
        if tools[step.tool].has_effects
    )


def most_calls(step: Step, limits: Limits = Limits()) -> int:
    """Return the most calls that `step` can make, tries of one call counted once."""
    known = known_calls(step)
    return min(step.max_items, limits.items) if known is None else known


def known_calls(step: Step) -> int | None:
    """Return how many calls `step` makes, None where that depends on a list to come."""
    match step.for_each:
        case None:
            return 1
        case Literal(list(items)):
            return len(items)
        case _:
            return None


def digest_of(plan: Plan, tools: Mapping[str, Tool], policy: Policy) -> str:
    """Return the digest of `plan`, as SHA-256 (hex) over RFC 8785 JSON.

    It covers steps without their thoughts, the output, the objects of the tools that are used, and
    the policy.

    Raises:
        KeyError: a tool of the plan is not in `tools`.
    """
    document = dump(plan)
    steps = document["steps"]
    covered: dict[str, Json] = {
        "steps": [
            {name: value for name, value in step.items() if name != "thought"}
            for step in (steps if isinstance(steps, list) else [])
            if isinstance(step, dict)
        ],
        "output": document.get("output"),
        "tools": [tools[name].to_json() for name in sorted({s.tool for s in plan.steps})],
        "policy": policy.to_json(),
    }
    return hashlib.sha256(_canonical(covered)).hexdigest()


def _canonical(value: dict[str, Json]) -> bytes:
    """Return RFC 8785 bytes.

    RFC 8785 has no whole numbers beyond 2^53; those are listed apart, by pointer, as text, so that
    two plans that differ in one of them still differ.
    """
    large: dict[str, Json] = {}

    def tame(part: Json, pointer: str) -> Json:
        match part:
            case bool():
                return part
            case int() if abs(part) >= 2**53:
                large[pointer] = str(part)
                return None
            case dict():
                return {key: tame(inner, f"{pointer}/{key}") for key, inner in part.items()}
            case list():
                return [tame(inner, f"{pointer}/{at}") for at, inner in enumerate(part)]
            case _:
                return part

    tamed = tame(value, "")
    return rfc8785.dumps({"covered": tamed, "large": large})
