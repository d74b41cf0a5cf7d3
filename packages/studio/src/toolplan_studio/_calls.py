"""Calls that wait with their values, as the API shows them and takes decisions about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import asdict

from toolplan.consent import Effect, Origin
from toolplan.flows import Trust
from toolplan.path import print_path
from toolplan.tools import Tool
from toolplan_studio._errors import Refused
from toolplan_studio._run_wire import Allow, CallOut, OriginOut
from toolplan_studio._views import effects_of, exact_texts, lookalikes, marked_defaults
from toolplan_studio._wire import FlowSource


def calls_view(waiting: Iterable[Effect], tools: Mapping[str, Tool]) -> list[CallOut]:
    """Return calls that wait, each value whole and exact."""
    return [_call(each, tools) for each in waiting]


def _call(effect: Effect, tools: Mapping[str, Tool]) -> CallOut:
    defaults = marked_defaults(effect.defaults)
    origins = {**effect.origins, **dict.fromkeys(defaults, Origin(Trust.TRUSTED))}
    return CallOut(
        step=effect.step,
        item=effect.item,
        tool=effect.tool,
        effects=effects_of(effect.tool, tools),
        shown=exact_texts({**effect.args, **defaults}),
        origins={name: _origin(each) for name, each in origins.items()},
        choices={place: _origin(each) for place, each in effect.choices.items()},
        digest=effect.digest,
        warnings=lookalikes((*effect.args.values(), *effect.args)),
    )


def _origin(origin: Origin) -> OriginOut:
    sources = [
        FlowSource(step=each.step, tool=each.tool, path=print_path(each.path))
        for each in origin.sources
    ]
    return OriginOut.model_validate(
        {**asdict(origin), "label": origin.label.word, "sources": sources}
    )


def chosen_effects(waiting: Sequence[Effect], given: Allow) -> tuple[list[Effect], list[Effect]]:
    """Return the calls of `waiting` that a person allows, and those that are refused.

    Raises:
        Refused: one does not wait as it was shown, or calls of its step are missing.
    """
    known = {(each.step, each.item, each.digest): each for each in waiting}
    keys = [(each.step, each.item, each.digest) for each in (*given.calls, *given.refused)]
    steps = {step for step, _, _ in keys}
    if not keys:
        raise Refused("bad-request", "No call is named.", "Name the calls that were shown.")
    needed = {key for key in known if key[0] in steps}
    if len(keys) != len(needed) or needed != {*keys}:
        raise Refused(
            "digest-changed",
            "The calls that wait are not those that were shown.",
            "Look at them again, and decide anew. Nothing was run.",
        )
    decided = [known[key] for key in keys]
    allowed, denied = decided[: len(given.calls)], decided[len(given.calls) :]
    if {each.step for each in allowed} & {each.step for each in denied}:
        raise Refused("bad-request", "A step has two decisions.", "Decide about it once.")
    return allowed, denied
