"""Approval: the word of a person, or of a policy, that a plan with effects may run.

It is bound to the plan's digest, so it holds for the very plan that was shown and for no other.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolplan.execution_plan import ExecutionPlan
from toolplan.path import Json


@dataclass(frozen=True, slots=True)
class Policy:
    """What a session allows; a part of what an approval covers.

    `allow` names the only tools that plans may use; None allows all.
    """

    allow: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Json]:
        """Give the wire form, which the digest covers."""
        allow: Json = None if self.allow is None else [*sorted(self.allow)]
        return {"allow": allow}


@dataclass(frozen=True, slots=True)
class Approval:
    """Leave to run the plan that has `digest`."""

    digest: str


class ApprovalRequired(Exception):
    """A plan with effects was to be run without an approval of its `digest`; no call was made."""

    def __init__(self, digest: str) -> None:
        super().__init__("The plan has effects and needs an approval before it runs.")
        self.digest = digest


def approve(execution_plan: ExecutionPlan) -> Approval:
    """Give leave to run `execution_plan`, exactly as it is."""
    return Approval(execution_plan.digest)
