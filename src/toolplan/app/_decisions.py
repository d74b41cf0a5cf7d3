"""Read what a user decides: outcomes of calls in doubt, and dates."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Final, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

from toolplan.base.errors import ToolplanError
from toolplan.engine import Decided
from toolplan.plan.path import Json
from toolplan.policy.consent import Consent, Effect
from toolplan.storage.journal import Slot
from toolplan.tools.replies import read_json

_T = TypeVar("_T")

_FIRST_DAY: Final = date(1900, 1, 1)
_LAST_DAY: Final = date(2999, 12, 31)


def decisions_of(
    retry: Sequence[str], resolve: Sequence[str] | Mapping[str, Json], abort: Sequence[str]
) -> dict[Slot, Decided]:
    """Return the decisions about calls in doubt, by step and item."""
    pairs = resolve.items() if isinstance(resolve, Mapping) else map(_resolved, _listed(resolve))
    found: dict[Slot, Decided] = {}
    for place, decided in (
        *((place, Decided("retry")) for place in _listed(retry)),
        *((place, Decided("abort")) for place in _listed(abort)),
        *((place, Decided("resolve", output)) for place, output in pairs),
    ):
        slot = _slot(place)
        if slot in found:
            raise _decided_twice(place)
        found[slot] = decided
    return found


def consents_of(
    allow: Sequence[str | Effect], deny: Sequence[str | Effect], reason: str
) -> dict[str, Consent]:
    """Return what is decided about calls that wait, by step."""
    found: dict[str, Consent] = {}
    given = [(each, True) for each in _listed(allow)] + [(each, False) for each in _listed(deny)]
    for each, allowed in given:
        is_call = isinstance(each, Effect)
        step = each.step if is_call else each
        calls = {each.item: each.digest} if is_call else None
        if (before := found.get(step)) is not None:
            if before.allowed != allowed or before.calls is None or calls is None:
                raise _decided_twice(step)
            calls = {**before.calls, **calls}
        found[step] = Consent(allowed, "" if allowed else reason, calls)
    return found


def _decided_twice(place: str) -> ToolplanError:
    return ToolplanError("usage", f"{place!r} has two decisions.", "Give one of them.")


LeftOut: TypeAlias = Mapping[str, Mapping[int, str | None]]
"""Calls by step and item, with the digest of the call that was shown, if it is known."""


def left_out_items(given: Sequence[str | Effect]) -> LeftOut:
    """Return the calls of `for_each` that are to be left out."""
    found: dict[str, dict[int, str | None]] = {}
    for each in _listed(given):
        step, item = (each.step, each.item) if isinstance(each, Effect) else _slot(each)
        if item is None:
            raise ToolplanError(
                "usage",
                f"{step!r} names no item to leave out.",
                "Write STEP:ITEM, as in mail:2. To make none of its calls, deny the step.",
            )
        found.setdefault(step, {})[item] = each.digest if isinstance(each, Effect) else None
    return found


def _listed(given: Sequence[_T]) -> Sequence[_T | str]:
    """Return `given`; of a text, which is a sequence too, the text alone."""
    return (given,) if isinstance(given, str) else given


def _resolved(option: str) -> tuple[str, Json]:
    place, sign, text = option.partition("=")
    try:
        if sign:
            output = read_json(text)
            json.dumps(output, allow_nan=False)  # 1e999 is infinite, too
            return place, output
    except (ValueError, RecursionError):
        pass
    help_ = "Write STEP=JSON, as in mail='{\"sent\": true}', or STEP=null."
    raise ToolplanError("usage", f"resolve {option!r} cannot be read.", help_)


def _slot(place: str) -> Slot:
    step, _, item = place.partition(":")
    if not item:
        return step, None
    if not (item.isascii() and item.isdecimal() and len(item) < 10):
        help_ = "Write STEP, or STEP:ITEM with a number."
        raise ToolplanError("usage", f"{place!r} names no call.", help_)
    return step, int(item)


def read_day(text: object) -> date:
    """Return the date that `text` is or names."""
    if isinstance(text, date):
        return text.date() if isinstance(text, datetime) else text
    try:
        found = date.fromisoformat(text) if isinstance(text, str) else date.min
    except ValueError:
        found = date.min
    if not _FIRST_DAY <= found <= _LAST_DAY:
        raise ToolplanError(
            "bad-date",
            f"today {text!r} is not a date from {_FIRST_DAY} to {_LAST_DAY}.",
            "Write YYYY-MM-DD, as in 2025-10-12.",
        )
    return found


def day_at(today: date | str | None, clock: Callable[[], float], zone: str = "") -> date:
    """Return the date that counts as today: the one given, else that of `clock` in `zone`.

    An empty `zone` is that of the machine.
    """
    if today is not None:
        return read_day(today)
    return datetime.fromtimestamp(clock(), ZoneInfo(zone) if zone else None).date()


def metadata_of(plan: Json) -> dict[str, Json]:
    """Return the metadata of a plan in its JSON form; empty where there is none."""
    metadata = plan.get("metadata") if isinstance(plan, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def maker_of(plan: Json) -> str:
    """Return what made the run with this plan of a journal; empty for a person or a program."""
    match metadata_of(plan):
        case {"run_with": {"made_by": str(name)}}:
            return name
        case _:
            return ""


def day_of(metadata: Mapping[str, Json]) -> str | None:
    """Return the date that counted as today in a run, from the metadata of its plan."""
    match metadata:
        case {"run_with": {"today": str(day)}} | {"reference_date": str(day)}:
            return day
        case _:
            return None
