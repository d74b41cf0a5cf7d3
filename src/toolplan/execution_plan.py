"""The one thing that engines take, and the proof that checking happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolplan.path import Json
from toolplan.plan import Plan, Signature


@dataclass(frozen=True, slots=True)
class Policy:
    """What a session allows; a part of what an approval covers.

    `allow` names the only tools that plans may use; None allows all.
    """

    allow: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the wire form, which the digest covers."""
        allow: Json = None if self.allow is None else [*sorted(self.allow)]
        return {"allow": allow}

    @classmethod
    def from_json(cls, document: Json) -> Policy:
        """Read the wire form.

        Raises:
            ValueError: it is none; what nobody understands allows nothing.
        """
        match document:
            case {"allow": None, **rest} if not rest:
                return cls()
            case {"allow": list() as names, **rest} if not rest:
                allowed = [name for name in names if isinstance(name, str)]
                if len(allowed) == len(names):
                    return cls(tuple(allowed))
            case _:
                pass
        raise ValueError("This is the wire form of no policy.")


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """A plan that no rule objects to. Only the compiler makes one.

    Attributes:
        plan: the plan as it will run, with every safe fix applied.
        order: step ids, each behind all the steps that it needs; otherwise as written.
        needs: for each step id, the ids of the steps that must end before it may start.
        signatures: argument and output names of each tool that is used.
        effects: ids of the steps whose tools may change something, in order.
        digest: SHA-256 (hex) over the RFC 8785 form of steps, output, tool objects and policy.
        unchecked_references: how many references no schema could speak for.
        policy: what was allowed when the plan was checked.
    """

    plan: Plan
    order: tuple[str, ...]
    needs: Mapping[str, tuple[str, ...]]
    signatures: Mapping[str, Signature]
    effects: tuple[str, ...]
    digest: str
    unchecked_references: int = 0
    policy: Policy = field(default_factory=Policy)
