"""Approval of calls with their values through LangGraph's `interrupt`.

An answer is bound to the digests of the calls that were shown. LangGraph runs a node again from its
beginning and gives it earlier answers again: those are of other calls, and decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from langgraph.types import interrupt

from toolplan.consent import Effect, Origin, effects_of
from toolplan.events import Run
from toolplan.path import Json
from toolplan.render.effects_view import effects_text
from toolplan_langgraph._storable import storable

_SHORT = 8


class Decided(NamedTuple):
    """What the user decided about calls that wait; without either they still wait."""

    allow: tuple[Effect, ...] = ()
    deny: tuple[Effect, ...] = ()
    reason: str = ""


def allowed(shown: object) -> dict[str, Json]:
    """Return the resume value that has the calls of an interrupt made, exactly as shown.

    Args:
        shown: the `value` of the interrupt.

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


def ask_values(run: Run) -> Decided:
    """Interrupt until the user has decided about the calls of `run` that wait."""
    effects = effects_of(run.waiting)
    digests = [effect.digest for effect in effects]
    shown = shown_calls(run.run, effects)
    while True:
        match cast("Json", interrupt(shown)):
            case {"allow": list(given)} if given == digests:
                return Decided(allow=effects)
            case {"deny": list(given), "reason": str(reason)} if given == digests:
                return Decided(deny=effects, reason=reason)
            case {"wait": True}:
                return Decided()
            case _:
                shown = {**shown, "note": "The answer was about other calls. These wait now."}


def shown_calls(run: str, effects: Sequence[Effect]) -> dict[str, Json]:
    """Return the calls with their values, as the value of an interrupt; `text` is a table."""
    return {
        "kind": "values",
        "run": run,
        "effects": [_shown(effect) for effect in effects],
        "text": effects_text(effects),
        "help": command(run, effects),
        "resume": {"allow": [effect.digest for effect in effects]},
    }


def command(run: str, effects: Sequence[Effect]) -> str:
    """Return how a person decides in a terminal."""
    steps = " ".join(f"--allow {step}" for step in dict.fromkeys(each.step for each in effects))
    return f"toolplan resume {run[:_SHORT]} {steps}"


def _shown(effect: Effect) -> Json:
    origins: dict[str, Json] = {name: _origin(each) for name, each in effect.origins.items()}
    choices: dict[str, Json] = {name: _origin(each) for name, each in effect.choices.items()}
    return {
        "step": effect.step,
        "item": effect.item,
        "tool": effect.tool,
        "args": storable(dict(effect.args)),
        "defaults": storable(dict(effect.defaults)),
        "origins": origins,
        "choices": choices,
        "digest": effect.digest,
    }


def _origin(origin: Origin) -> Json:
    return {
        "label": origin.label.word,
        "needs": origin.needs,
        "asked": origin.asked,
        "refs": [*origin.refs],
        "sources": [str(each) for each in origin.sources],
    }


def _digests(shown: object) -> list[Json]:
    match cast("Json", shown):
        case {"kind": "values", "resume": {"allow": list(digests)}}:
            return [*digests]
        case _:
            raise ValueError("This interrupt shows no calls to decide about.")
