"""Calls that wait with their values, as the API shows them and takes decisions about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from toolplan.consent import Effect, Origin
from toolplan.flows import Trust
from toolplan.path import print_path
from toolplan.render.approval_view import BY_DEFAULT
from toolplan.render.exact import exact_text
from toolplan.tools import Effects, Tool
from toolplan_studio._errors import Refused
from toolplan_studio._run_wire import CallOut, OriginOut, ShownCall
from toolplan_studio._views import lookalikes
from toolplan_studio._wire import FlowSource


def calls_view(waiting: Iterable[Effect], tools: Mapping[str, Tool]) -> list[CallOut]:
    """Return calls that wait, each value whole and exact."""
    return [_call(each, tools) for each in waiting]


def _call(effect: Effect, tools: Mapping[str, Tool]) -> CallOut:
    tool = tools.get(effect.tool)
    by_default = {f"{name} {BY_DEFAULT}": each for name, each in effect.defaults.items()}
    origins = {**effect.origins, **dict.fromkeys(by_default, Origin(Trust.TRUSTED))}
    return CallOut(
        step=effect.step,
        item=effect.item,
        tool=effect.tool,
        effects=(Effects.UNKNOWN if tool is None else tool.effects).value,
        shown={name: exact_text(value) for name, value in {**effect.args, **by_default}.items()},
        origins={name: _origin(each) for name, each in origins.items()},
        choices={place: _origin(each) for place, each in effect.choices.items()},
        digest=effect.digest,
        warnings=lookalikes((*effect.args.values(), *effect.args)),
    )


def _origin(origin: Origin) -> OriginOut:
    return OriginOut(
        label=origin.label.word,
        needs=origin.needs,
        asked=origin.asked,
        refs=[*origin.refs],
        sources=[
            FlowSource(step=each.step, tool=each.tool, path=print_path(each.path))
            for each in origin.sources
        ],
    )


def shown_effects(waiting: Sequence[Effect], given: Sequence[ShownCall]) -> list[Effect]:
    """Return the calls of `waiting` that a person has decided about.

    Raises:
        Refused: one does not wait as it was shown, or calls of its step are missing.
    """
    known = {(each.step, each.item, each.digest): each for each in waiting}
    found = [known.get((each.step, each.item, each.digest)) for each in given]
    decided = [each for each in found if each is not None]
    steps = {each.step for each in decided}
    count = sum(each.step in steps for each in waiting)
    slots = {(each.step, each.item) for each in decided}
    if not len(given) == len(slots) == count:
        raise Refused(
            "digest-changed",
            "The calls that wait are not those that were shown.",
            "Look at them again, and decide anew. Nothing was run.",
        )
    return decided
