"""Approval of calls with their values: the waiting calls, and the decisions about them.

A plan is approved before it runs; a call once its arguments are known. Consent is bound to the run,
the step, the item and the arguments: a call that differs in one character is another call.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias, cast

import rfc8785
from msgspec import Struct, field

from toolplan.base.errors import ToolplanError
from toolplan.events import CallWaiting
from toolplan.plan.model import Literal, Step, Value, escape_pointer, refs, split_pointer
from toolplan.plan.path import Json, copied, parse_path, print_path
from toolplan.policy import Flow, Source, Trust, Verdict
from toolplan.policy.execution_plan import ExecutionPlan

_LOG: Final = logging.getLogger(__name__)
_SAID: Final = Trust.SAID.word
_TRUSTS: Final = {trust.word: trust for trust in Trust}


class Origin(Struct, frozen=True):
    """Where a value of a call comes from.

    Attributes:
        label: how far it is to be trusted (`toolplan.policy.Trust`).
        needs: what its place needs, in words; empty where nothing is said about it.
        asked: whether it is less than its place needs.
        refs: the references that it is made of, as the plan has them.
        sources: the parts of outputs that make it no more than `label`.
    """

    label: Trust
    needs: str = ""
    asked: bool = False
    refs: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()


class Effect(Struct, frozen=True):
    """A call that waits for a person, with its values.

    Attributes:
        step: the step of the plan.
        item: the item, counted from 0; None without `for_each`.
        tool: what will be called.
        args: the arguments, as the tool will get them.
        origins: where each argument comes from, by its name.
        defaults: the tool's own values for arguments that are left out.
        choices: where what decides whether and how often it is called comes from, by the JSON
            Pointer of that place in the plan.
        digest: SHA-256 (hex) of the call: run, step, item, tool and arguments.
    """

    step: str
    item: int | None
    tool: str
    args: Mapping[str, Json]
    origins: Mapping[str, Origin]
    choices: Mapping[str, Origin]
    digest: str
    defaults: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def sources(self) -> dict[str, tuple[Source, ...]]:
        """Which parts of outputs make each argument no more than its label."""
        return {name: origin.sources for name, origin in self.origins.items()}

    @property
    def asked(self) -> tuple[str, ...]:
        """The arguments, and the places of choices, that are less than their place needs."""
        both = {**self.origins, **self.choices}
        return tuple(name for name, origin in both.items() if origin.asked)


class Denied(Struct, frozen=True):
    """The answer that calls are not to be made; `reason` is for the planner and the record."""

    reason: str = ""


class LeaveOut(Struct, frozen=True):
    """The answer that the calls of a `for_each` are made, except those of `items`.

    `items` are their positions, counted from 0. The remaining calls are a new plan with a run of
    its own, so only an app can make it (`toolplan.open`).
    """

    items: tuple[int, ...]


Answer: TypeAlias = bool | Denied | LeaveOut | None
"""True: the calls are made. False or `Denied`: they are not, and their step fails. None: wait.

`LeaveOut`: they are made, except some of them.
"""

Decide: TypeAlias = Callable[
    [tuple[Effect, ...]],
    Answer | Mapping[str, Answer] | Awaitable[Answer | Mapping[str, Answer]],
]
"""Called with all calls that wait; returns the answer for all of them, or answers by step."""


Judgement: TypeAlias = str | Denied
"""`"allow"`, `"ask"` (who decides about the call is asked), `"refuse"`, or `Denied` to refuse."""

PolicyEngine: TypeAlias = Callable[[Flow, Json], Judgement | Awaitable[Judgement]]
"""Called with a flow of the plan (`ExecutionPlan.flows`) and the value that a call would get.

For a condition the value is True, because it holds; for a list of items it is their number.
"""


class ValueApproval(Struct, frozen=True):
    """Approves each call with effects once its values are known, and not before.

    Attributes:
        decide: asked when nothing else of the run can continue. None: the run ends as a waiting
            one, and is resumed with an answer.
        shapes: steps that are approved as they stand in the plan, whatever their values will be.
        policy_engine: asked first, about each value of each call that waits. A step whose values
            are all allowed is made, one with a value that is refused is not; all others are left
            to `decide`.
    """

    decide: Decide | None = None
    shapes: tuple[str, ...] = ()
    policy_engine: PolicyEngine | None = None


class Consent(Struct, frozen=True):
    """The decision about the waiting calls of a step.

    `calls` are the digests of the calls that were shown, by item; None: those that wait, as the
    journal has them.
    """

    allowed: bool
    reason: str = ""
    calls: Mapping[int | None, str] | None = None


NO_CONSENTS: Final[Mapping[str, Consent]] = MappingProxyType({})


def answers_of(given: object, steps: Iterable[str]) -> dict[str, Consent]:
    """Return the decisions of an approver by step; steps that still wait are left out.

    Raises:
        ToolplanError: it is not an answer.
    """
    found: dict[str, Consent] = {}
    by_step = cast("Mapping[str, object]", given) if isinstance(given, Mapping) else None
    for step in steps:
        answer: object = cast("object", given) if by_step is None else by_step.get(step)
        match answer:
            case None:
                continue
            case bool():
                found[step] = Consent(answer)
            case Denied(reason=reason):
                found[step] = Consent(False, str(reason))
            case LeaveOut():
                raise ToolplanError(
                    "bad-answer",
                    f"Calls of {step!r} are to be left out, and this run has no app to do it.",
                    "That makes another plan: run it with toolplan.open(…).run and a journal.",
                )
            case _:
                raise ToolplanError(
                    "bad-answer",
                    f"An approval was answered by a value of type {type(answer).__name__}.",
                    "Return True, False, toolplan.Denied(reason), toolplan.LeaveOut(items) or None,"
                    " or these by step.",
                )
    return found


async def judged(
    engine: PolicyEngine, plan: ExecutionPlan, effects: Iterable[Effect]
) -> dict[str, Consent]:
    """Return the decisions of a policy engine, by step, about the waiting calls `effects`.

    Steps that it leaves to a person are not in the result: one of their values is neither allowed
    nor refused, they have no value that it could be asked about, or the engine failed.

    Raises:
        ToolplanError: it gave something else than a judgement.
    """
    by_step: dict[str, list[Effect]] = {}
    for effect in effects:
        by_step.setdefault(effect.step, []).append(effect)
    found: dict[str, Consent] = {}
    for step, calls in by_step.items():
        flows = [each for each in plan.flows if each.step == step and each.kind != "secret"]
        values = [(flow, value) for flow in flows for value in _values(flow, calls)]
        consent = await _judged(engine, values)
        if consent is not None:
            found[step] = consent
    return found


def _values(flow: Flow, calls: Sequence[Effect]) -> Iterable[Json]:
    """Return the values of a flow: an argument of each call, or one value for a choice."""
    if flow.kind == "argument":
        name = split_pointer(flow.pointer)[-1]
        return [copied(call.args[name]) for call in calls if name in call.args]
    if flow.kind == "default":
        return [copied(flow.default) for _ in calls]
    return [len(calls) if flow.kind == "count" else True]


async def _judged(engine: PolicyEngine, values: Sequence[tuple[Flow, Json]]) -> Consent | None:
    """Return the decision about calls with these values; None where a person decides."""
    is_open = not values  # without a value there was nothing to allow
    for flow, value in values:
        try:
            answer = engine(flow, value)
            given: object = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:  # doubt is never permission
            _LOG.warning(
                "The policy engine failed at %s of step %s (%s); a person decides.",
                flow.pointer,
                flow.step,
                type(error).__name__,
            )
            return None
        match given:
            case Denied(reason=reason):
                return Consent(False, str(reason))
            case Verdict.REFUSE:
                return Consent(False, f"the policy engine refuses {flow.pointer}")
            case Verdict.ASK:
                is_open = True
            case Verdict.ALLOW:
                pass
            case _:
                raise ToolplanError(
                    "bad-answer",
                    f"The policy engine answered with a value of type {type(given).__name__}.",
                    'Return "allow", "ask", "refuse" or toolplan.Denied(reason).',
                )
    return None if is_open else Consent(True)


# Binding


def call_digest(run: str, step: str, item: int | None, tool: str, args: Json) -> str:
    """Return the SHA-256 (hex) of a call over its RFC 8785 form.

    RFC 8785 writes 1.0 as 1, and has neither large integers nor halves of characters. These are
    listed by pointer as well, so that no two different calls have the same digest.
    """
    odd: dict[str, Json] = {}
    call: Json = {"run": run, "step": step, "item": item, "tool": tool, "args": args}
    tame = _tame(call, "", odd)
    return hashlib.sha256(rfc8785.dumps({"call": tame, "odd": odd})).hexdigest()


def _tame(part: Json, pointer: str, odd: dict[str, Json]) -> Json:
    match part:
        case str():
            if _is_text(part):
                return part
            odd[pointer] = json.dumps(part)
            return None
        case int() if not isinstance(part, bool) and abs(part) >= 2**53:
            odd[pointer] = hex(part)  # Python refuses to print very large ones as decimals
            return None
        case float() if not part or part.is_integer() or abs(part) >= 2**53:
            odd[pointer] = repr(part)
            return None
        case dict():
            tame: dict[str, Json] = {}
            for key, inner in part.items():
                name = key
                while not _is_text(name) or (name is not key and name in part):
                    name = json.dumps(name)
                place = f"{pointer}/{escape_pointer(name)}"
                if name is not key:
                    odd[f"key of {place}"] = json.dumps(key)
                tame[name] = _tame(inner, place, odd)
            return tame
        case list():
            return [_tame(inner, f"{pointer}/{at}", odd) for at, inner in enumerate(part)]
        case _:
            return part


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# Origins


def origins_of(plan: ExecutionPlan, step: Step) -> dict[str, Json]:
    """Return where the values of each call of `step` come from, as `CallWaiting.origins`."""
    flows = [flow for flow in plan.flows if flow.step == step.id and flow.kind != "secret"]
    by_name = {split_pointer(each.pointer)[-1]: each for each in flows if each.kind == "argument"}
    args: dict[str, Json] = {
        name: _origin(value, by_name.get(name)) for name, value in step.args.items()
    }
    choices: dict[str, Json] = {
        each.pointer: _origin(None, each) for each in flows if each.kind in ("condition", "count")
    }
    return {"args": args, "choices": choices}


def _origin(value: Value | None, flow: Flow | None) -> Json:
    made_of = [] if value is None else [f"{ref.step}{print_path(ref.path)}" for ref in refs(value)]
    if flow is None:  # an unknown flow is untrusted
        label = _SAID if value is not None and not made_of else Trust.UNTRUSTED.word
        return {"label": label, "asked": label != _SAID, "refs": [*made_of], "sources": []}
    return {
        "label": flow.label.trust.word,
        "needs": str(flow.needs),
        "asked": flow.verdict is Verdict.ASK,
        "refs": [*dict.fromkeys(made_of)],
        "sources": [[each.step, each.tool, print_path(each.path)] for each in flow.label.sources],
    }


def needs_values(plan: ExecutionPlan) -> bool:
    """Return whether some values of calls with effects are unknown until the plan runs.

    An argument of one holds a reference, or what tools give decides whether or how often it is
    made. This is the one rule of all ways to approve: who says yes to such a plan is shown its
    calls with their values. Only an `Approval` that is made explicitly approves it as it stands.
    """
    if any(flow.label.trust is not Trust.SAID for flow in plan.flows):
        return True
    asked = frozenset(plan.effects)
    return any(
        any(any(refs(value)) for value in step.args.values())
        or (step.for_each is not None and not isinstance(step.for_each, Literal))
        or (step.when is not None and not isinstance(step.when.value, Literal))
        for step in plan.plan.steps
        if step.id in asked
    )


def effect_of(waiting: CallWaiting) -> Effect:
    """Return a waiting call as the decider gets it."""
    origins = _object(waiting.origins)
    return Effect(
        step=waiting.step,
        item=waiting.item,
        tool=waiting.tool,
        args=_object(waiting.args),
        origins=_read_origins(origins.get("args")),
        choices=_read_origins(origins.get("choices")),
        digest=waiting.digest,
        defaults=_object(origins.get("defaults")),
    )


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def effects_of(waiting: Sequence[CallWaiting]) -> tuple[Effect, ...]:
    """Return the waiting calls as the decider gets them."""
    return tuple(map(effect_of, waiting))


def is_as_shown(run: str, effect: Effect) -> bool:
    """Return whether the values of `effect` are those that its digest stands for."""
    args = dict(effect.args)
    return effect.digest == call_digest(run, effect.step, effect.item, effect.tool, args)


def _read_origins(given: Json) -> dict[str, Origin]:
    found: dict[str, Origin] = {}
    for name, origin in _object(given).items():
        match origin:
            case {
                "label": str(label),
                "asked": bool(asked),
                "refs": list(made_of),
                "sources": list(by),
            }:
                sources = (tuple(map(str, e)) for e in by if isinstance(e, list) and len(e) == 3)
                found[name] = Origin(
                    _TRUSTS.get(label, Trust.UNTRUSTED),
                    str(origin.get("needs", "")),
                    asked,
                    tuple(map(str, made_of)),
                    tuple(Source(step, tool, parse_path(path)) for step, tool, path in sources),
                )
            case _:  # an origin that cannot be read
                found[name] = Origin(Trust.UNTRUSTED, asked=True)
    return found
