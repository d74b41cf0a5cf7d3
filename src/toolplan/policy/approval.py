"""Approvals of plans with effects.

An approval is bound to the plan's digest, so it is valid only for the plan that was shown. It has a
slot for each call with effects that the plan can make, and is valid for one run, which uses each
slot once.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import date
from functools import lru_cache
from typing import Final, TypeAlias, cast

import rfc8785
from msgspec import Struct, field

from toolplan.base.errors import ToolplanError
from toolplan.plan.canonical import dump
from toolplan.plan.model import (
    Limits,
    Literal,
    Plan,
    Step,
    Value,
    When,
    escape_pointer,
    split_pointer,
)
from toolplan.plan.path import Json
from toolplan.policy import Flow, Policy, Standing, Trust, Verdict, defaults_of, objection
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Effects, Tool


class Approval:
    """Permission to run the plan with `digest`, once.

    Attributes:
        digest: the digest of the plan.
        slots: for each step with effects, the number of calls that are allowed.
        id: the name under which a journal records that the approval was used.
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


Approver: TypeAlias = Callable[
    [ExecutionPlan], Approval | bool | Awaitable[Approval | bool | None] | None
]
"""Called with a plan that needs an approval; returns one or True, or None or False to refuse.

It may be async. True approves the plan that it was called with, for this run; where values of tools
reach its effects, the calls then wait with their values. An `Approval` approves it as it stands.
"""


def said_yes(digest: str) -> Approver:
    """Return an approver for a person who saw the plan with `digest`, and not its values."""

    def approver(plan: ExecutionPlan) -> bool:
        return plan.digest == digest

    return approver


class ApprovalRequired(ToolplanError):
    """A plan with effects has no approval of its `digest`; no call was made."""

    def __init__(self, digest: str) -> None:
        super().__init__(
            "approval-required",
            "The plan has effects and needs an approval before it runs.",
            "Give toolplan.approve(plan), or a function that decides: approve= of an App,"
            " approval= of toolplan.run and toolplan.resume.",
        )
        self.digest = digest


class BadApproval(ToolplanError):
    """The approver returned neither an approval nor a decision; no call was made."""

    def __init__(self, given: object) -> None:
        super().__init__(
            "bad-approval",
            f"The approver returned a value of type {type(given).__name__}.",
            "Return toolplan.approve(plan) or True to approve the plan, None or False to refuse.",
        )


class ApprovalUsed(ToolplanError):
    """The approval was used by another `run`; no call was made."""

    def __init__(self, approval: str, run: str) -> None:
        super().__init__("approval-used", *used_words(approval, run))
        self.approval = approval
        self.run = run


def uses(approval: str) -> tuple[str, ...]:
    """Return the names by which a journal records that runs used the approval with this id.

    There is one for each run that may use it: one, or as many as `approve_digest` allows.
    """
    digest, times = _allowed(approval)
    return tuple(f"{digest}/{each}" for each in range(1, times + 1)) if digest else (approval,)


def used_words(approval: str, run: str) -> tuple[str, str]:
    """Return the message and the help for a used approval; `run` is its last user."""
    digest, times = _allowed(approval)
    if not digest:
        message = f"The approval was used by run {run!r}."
        return message, "An approval is valid for one run: approve the plan again."
    of = "1 run" if times == 1 else f"{times} runs, the last of them"
    return (
        f"The digest {digest} was used to approve {of} {run!r}, and is valid for no more.",
        "Read the plan and approve it again, without the digest. On the command line"
        f" --times {times + 1} allows {times + 1} runs by this digest in all.",
    )


def _allowed(approval: str) -> tuple[str, int]:
    """Return the digest and the number of runs that an id of `approve_digest` states."""
    digest, _, times = approval.partition("/")
    return (digest, int(times)) if times.isascii() and times.isdecimal() else ("", 1)


_DECIDER: Final[ContextVar[str]] = ContextVar("toolplan_decider", default="")


@contextmanager
def _kept(variable: ContextVar[str], name: str) -> Generator[None]:
    before = variable.set(name)
    try:
        yield
    finally:
        variable.reset(before)


def decided_by(name: str) -> AbstractContextManager[None]:
    """Record `name` as the decider of runs that start or continue in the block."""
    return _kept(_DECIDER, name)


def decider() -> str:
    """Return the current decider; empty if unknown."""
    return _DECIDER.get()


_MAKER: Final[ContextVar[str]] = ContextVar("toolplan_maker", default="")
MADE_BY: Final = "made_by"


def made_by(name: str) -> AbstractContextManager[None]:
    """Record `name` as the maker of runs that start in the block: `mcp` for a client of the server.

    A model may speak for such a client, and may have a shell beside it: only a person approves.
    """
    return _kept(_MAKER, name)


def maker() -> str:
    """Return the current maker of runs; empty for a person or a program of the user."""
    return _MAKER.get()


INVENTED: Final[Mapping[str, Json]] = {"invented": True}
"""The entry of `metadata.provenance` for a value that the question does not contain."""


class EffectStep(Struct, frozen=True):
    """A step with effects, as a person approves it.

    `calls` is the maximum number of its calls; `exact` says that it makes exactly that many unless
    it is skipped or fails. `args` contain the fixed values, and references for the others;
    `defaults` are the tool's own values for arguments that the plan leaves out; `invented` are the
    arguments with values of a model that the question does not contain.
    """

    step: str
    tool: str
    effects: Effects
    args: Mapping[str, Value]
    for_each: Value | None
    when: When | None
    calls: int
    exact: bool
    defaults: Mapping[str, Json] = field(default_factory=dict[str, Json])
    invented: tuple[str, ...] = ()

    @property
    def conditional(self) -> bool:
        """Whether the step runs only if a condition holds."""
        return self.when is not None


def approve(execution_plan: ExecutionPlan) -> Approval:
    """Return an approval of `execution_plan`, exactly as it is, for one run.

    It approves references as they stand, whatever their values will be: `ValueApproval` shows each
    call with its values.

    Raises:
        ToolplanError: it is not an execution plan.
    """
    given = cast("object", execution_plan)
    if not isinstance(given, ExecutionPlan):
        raise ToolplanError(
            "no-plan",
            f"An ExecutionPlan is approved, and this is a value of type {type(given).__name__}.",
            "Give the `plan` of an AskResult, a CheckResult or a Compiled, if it is not None.",
        )
    steps = {step.id: step for step in execution_plan.plan.steps}
    slots = {name: most_calls(steps[name]) for name in execution_plan.effects}
    return Approval(execution_plan.digest, slots, uuid.uuid4().hex)


def approve_digest(execution_plan: ExecutionPlan, times: int = 1) -> Approval:
    """Return an approval of a plan by its digest, which `times` runs of one journal can use.

    A journal counts them, whichever process started them.
    """
    given = approve(execution_plan)
    return Approval(given.digest, given.slots, f"{given.digest}/{times}")


def needs_no_approval(execution_plan: ExecutionPlan) -> bool:
    """Return whether the policy lets a plan run unasked, and allows each of its flows.

    It lets all plans, or those whose calls with effects have a standing approval. A flow that is
    checked right before its call counts as allowed.
    """
    decided = {flow.verdict for flow in execution_plan.flows}
    if not decided <= {Verdict.ALLOW, Verdict.CHECK}:
        return False
    if execution_plan.policy.get("approval") == "when-needed":
        return True
    if "unasked" not in execution_plan.policy:
        return False
    unasked = Policy.from_json(execution_plan.policy).unasked
    steps = {step.id: step for step in execution_plan.plan.steps}
    return all(
        (standing := unasked.get(steps[name].tool)) is not None
        and (not standing.until or date.today() <= date.fromisoformat(standing.until))
        and _is_within(standing, steps[name], [f for f in execution_plan.flows if f.step == name])
        for name in execution_plan.effects
    )


def _is_within(standing: Standing, step: Step, flows: Sequence[Flow]) -> bool:
    """Return whether a step makes one call, with constants that pass the checks."""
    values: list[tuple[str, Json]] = []
    for name, value in step.args.items():
        if not isinstance(value, Literal):
            return False
        values.append((name, value.value))
    for flow in flows:
        if flow.kind == "default":
            at, *inside = split_pointer(flow.pointer)[3:]
            # inside of an argument, which was checked without it; or known to the tool only
            if inside or flow.label.trust is not Trust.SAID:
                return False
            values.append((at, flow.default))
    values += [(name, None) for name in standing.args.keys() - dict(values).keys()]
    return step.for_each is None and all(
        name in standing.args and objection(standing.args[name], value) is None
        for name, value in values
    )


def effect_steps(
    execution_plan: ExecutionPlan, tools: Mapping[str, Tool]
) -> tuple[EffectStep, ...]:
    """Return the steps that a person approves, in the order of the plan.

    They have effects, or something flows into them that the policy asks about.
    """
    asked_for = frozenset(execution_plan.effects)
    return tuple(
        EffectStep(
            step=step.id,
            tool=step.tool,
            effects=tools[step.tool].effects,
            args=step.args,
            for_each=step.for_each,
            when=step.when,
            calls=most_calls(step),
            exact=known_calls(step) is not None,
            defaults=defaults_of(tools[step.tool], step.args),
            invented=_invented(execution_plan.plan, position),
        )
        for position, step in enumerate(execution_plan.plan.steps)
        if tools[step.tool].has_effects or step.id in asked_for
    )


def _invented(plan: Plan, position: int) -> tuple[str, ...]:
    """Return the arguments of a step that its plan notes as invented."""
    noted = plan.metadata.get("provenance")
    found: dict[str, None] = {}
    for pointer, reason in noted.items() if isinstance(noted, dict) else ():
        match split_pointer(pointer):
            case ("steps", at, "args", name, *_) if at == str(position) and reason == INVENTED:
                found[name] = None
            case _:
                pass
    return tuple(found)


def most_calls(step: Step, limits: Limits = Limits()) -> int:
    """Return the maximum number of calls of `step`, without retries."""
    match step.for_each:
        case None:
            items = 1
        case Literal(list(listed)):
            items = len(listed)
        case _:
            items = min(step.max_items, limits.items)
    return items if step.pages is None else min(items * step.max_pages, limits.calls)


def known_calls(step: Step) -> int | None:
    """Return how many calls `step` makes, None where that depends on another step's output."""
    match step.for_each:
        case None | Literal(list()) if step.pages is None:
            return most_calls(step)
        case _:
            return None


def digest_of(plan: Plan, tools: Mapping[str, Tool], policy: Mapping[str, Json]) -> str:
    """Return the digest of `plan`, as SHA-256 (hex) over RFC 8785 JSON.

    It covers the steps without their thoughts, the output, the objects of the tools that are used,
    and the policy document.

    Raises:
        KeyError: a tool of the plan is not in `tools`.
    """
    document, large = dump(plan), dict[str, Json]()
    steps = document["steps"]
    covered: dict[str, Json] = {
        "steps": [
            {name: value for name, value in step.items() if name != "thought"}
            for step in (steps if isinstance(steps, list) else [])
            if isinstance(step, dict)
        ],
        "output": document.get("output"),
        "policy": dict(policy),
    }
    text, found = _canonical(covered)
    large |= found
    written: list[bytes] = []
    for at, name in enumerate(sorted({step.tool for step in plan.steps})):
        tool, found = _canonical_text(json.dumps(tools[name].to_json()))
        written.append(tool)
        large |= {f"/tools/{at}{pointer}": each for pointer, each in found.items()}
    # "tools" is the last of the sorted keys, and "large" comes after "covered"
    whole = b'{"covered":%b,"tools":[%b]},"large":%b}'
    whole %= (text[:-1], b",".join(written), rfc8785.dumps(large))
    return hashlib.sha256(whole).hexdigest()


def _canonical(value: Json) -> tuple[bytes, dict[str, Json]]:
    """Return RFC 8785 bytes, and the integers that RFC 8785 does not have, beyond 2^53.

    They are text, by pointer, so that plans that differ only in one have different digests.
    """
    large: dict[str, Json] = {}

    def tame(part: Json, pointer: str) -> Json:
        match part:
            case int() if abs(part) >= 2**53:
                large[pointer] = str(part)
                return None
            case dict():
                places = {key: f"{pointer}/{escape_pointer(key)}" for key in part}
                return {key: tame(inner, places[key]) for key, inner in part.items()}
            case list():
                return [tame(inner, f"{pointer}/{at}") for at, inner in enumerate(part)]
            case _:
                return part

    return rfc8785.dumps(tame(value, "")), large


@lru_cache(maxsize=2_000)  # plans are checked again and again, with the same tools
def _canonical_text(text: str) -> tuple[bytes, dict[str, Json]]:
    return _canonical(json.loads(text))
