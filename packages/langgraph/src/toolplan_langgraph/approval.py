"""Approval through LangGraph's `interrupt`: of a plan with effects, or of calls with their values.

An answer is bound to the digest of the plan, or to those of the calls, that were shown. One about
something else is asked for again: LangGraph runs a node again from its beginning, and gives it
earlier answers again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from langgraph.types import interrupt
from msgspec.structs import asdict

from toolplan.events import Run
from toolplan.plan.canonical import dump
from toolplan.plan.path import Json
from toolplan.policy.approval import Approval, approve, effect_steps
from toolplan.policy.consent import Effect, Origin, effects_of
from toolplan.policy.execution_plan import ExecutionPlan
from toolplan.schema.tool import Tool
from toolplan.show.approval_view import approval_json, effects_text

_SHORT: Final = 8
_LEAST: Final = -(2**63)
_MOST: Final = 2**64 - 1


class Refused(NamedTuple):
    """The user refused the plan, for `reason`."""

    reason: str


def approved(shown: object) -> dict[str, Json]:
    """Return the resume value that approves the plan of an interrupt, whose `value` is `shown`.

    Raises:
        ValueError: it shows no plan.
    """
    match shown:
        case {"digest": str(digest)}:
            return {"approve": digest}
        case _:
            raise ValueError("This interrupt shows no plan to approve.")


def refused(reason: str = "") -> dict[str, Json]:
    """Return the resume value that refuses the plan; the model sees `reason`."""
    return {"refuse": reason}


def allowed(shown: object) -> dict[str, Json]:
    """Return the resume value that has the calls of an interrupt made, exactly as `shown`.

    Raises:
        ValueError: it shows no calls.
    """
    return {"allow": _digests(shown)}


def denied(shown: object, reason: str = "") -> dict[str, Json]:
    """Return the resume value that refuses the calls of an interrupt; the run keeps `reason`.

    Raises:
        ValueError: it shows no calls.
    """
    return {"deny": _digests(shown), "reason": reason}


def left_waiting() -> dict[str, Json]:
    """Return the resume value that leaves the calls waiting and ends the node."""
    return {"wait": True}


def ask_approval(
    plan: ExecutionPlan, tools: Mapping[str, Tool], about: Mapping[str, Json]
) -> Approval | Refused | None:
    """Interrupt until the user has approved or refused `plan`; None if it has no effects.

    `tools` are those of the plan, `about` more information for the user.
    """
    if not plan.effects:
        return None
    shown: dict[str, Json] = {
        **about,
        "kind": "approval",
        "digest": plan.digest,
        "effects": storable(approval_json(effect_steps(plan, tools), plan.digest)["effects"]),
        "plan": storable(dump(plan.plan)),
        "resume": {"approve": plan.digest},
    }
    while True:
        match cast("object", interrupt(shown)):
            case {"approve": str(digest)} if digest == plan.digest:
                return approve(plan)
            case {"refuse": str(reason)}:
                return Refused(reason)
            case False:
                return Refused("")
            case _:
                note = "The answer approves no plan, or another one. This is what would run now."
                shown = {**shown, "note": note}


def ask_values(run: Run) -> tuple[tuple[Effect, ...], tuple[Effect, ...], str]:
    """Interrupt until the user has decided about the calls of `run` that wait.

    Return those that are allowed, those that are refused, and why; neither if they still wait.
    """
    effects = effects_of(run.waiting)
    digests: list[Json] = [effect.digest for effect in effects]
    shown: dict[str, Json] = {
        "kind": "values",
        "run": run.run,
        "effects": [
            {
                **asdict(effect),
                "args": storable(dict(effect.args)),
                "defaults": storable(dict(effect.defaults)),
                "origins": {name: _origin(each) for name, each in effect.origins.items()},
                "choices": {name: _origin(each) for name, each in effect.choices.items()},
            }
            for effect in effects
        ],
        "text": effects_text(effects),
        "help": command(run.run, effects),
        "resume": {"allow": digests},
    }
    while True:
        match cast("Json", interrupt(shown)):
            case {"allow": list(given)} if given == digests:
                return effects, (), ""
            case {"deny": list(given), "reason": str(reason)} if given == digests:
                return (), effects, reason
            case {"wait": True}:
                return (), (), ""
            case _:
                shown = {**shown, "note": "The answer was about other calls. These wait now."}


def command(run: str, effects: Sequence[Effect]) -> str:
    """Return how a person decides in a terminal."""
    steps = " ".join(f"--allow {step}" for step in dict.fromkeys(each.step for each in effects))
    return f"toolplan resume {run[:_SHORT]} {steps}"


def storable(value: Json) -> Json:
    """Return `value` with integers of more than 64 bits, which msgpack does not have, as text.

    >>> storable({"wei": 2**70, "n": 1})
    {'wei': '1180591620717411303424', 'n': 1}
    """
    match value:
        case int() if not _LEAST <= value <= _MOST:
            return str(value)
        case list():
            return [storable(item) for item in value]
        case dict():
            return {name: storable(item) for name, item in value.items()}
        case _:
            return value


def is_storable(value: Json) -> bool:
    """Return whether a checkpointer can store `value`, however deep it is."""
    left = [value]
    while left:
        match left.pop():
            case int() as number if not _LEAST <= number <= _MOST:
                return False
            case list() as items:
                left.extend(items)
            case dict() as fields:
                left.extend(fields.values())
            case _:
                continue
    return True


def _origin(origin: Origin) -> Json:
    refs: list[Json] = [*origin.refs]
    sources: list[Json] = [str(each) for each in origin.sources]
    return {**asdict(origin), "label": origin.label.word, "refs": refs, "sources": sources}


def _digests(shown: object) -> list[Json]:
    match cast("Json", shown):
        case {"kind": "values", "resume": {"allow": list(digests)}}:
            return [*digests]
        case _:
            raise ValueError("This interrupt shows no calls to decide about.")
