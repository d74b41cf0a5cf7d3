"""Answers to a question that was asked back: an option that was offered is always taken."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from toolplan.planners.conversation import Pending

_PLACES: Final = {"first": 0, "second": 1, "third": 2, "1": 0, "2": 1, "3": 2}
_COUNTED: Final = re.compile(
    r"(?:the |option |number |no\.? ?|#)*(?P<which>\d+|[a-z]+)(?: (?:one|option))?"
)
_IDLE: Final = frozenset(
    ["a", "i", "it", "mean", "meant", "ok", "okay", "one", "please", "the", "yes"]
)


def chosen(pending: Pending | None, reply: str) -> dict[str, Any] | None:
    """Return the plan of the option that `reply` chooses; None where it chooses none."""
    if pending is None or len(pending.plans) != len(pending.options):
        return None
    at = _chosen(pending.options, reply)
    plan = None if at is None else pending.plans[at]
    return cast("dict[str, Any]", plan) if isinstance(plan, dict) else None


def _chosen(options: tuple[str, ...], reply: str) -> int | None:
    """Return the place of the option: said as it is, by its place, or by words of it alone."""
    same = [at for at, option in enumerate(options) if _plain(option) == _plain(reply)]
    if same:
        return same[0] if len(same) == 1 else None
    counted = _COUNTED.fullmatch(_plain(reply))
    which = counted["which"] if counted else ""
    if which in _PLACES:
        return _PLACES[which] if _PLACES[which] < len(options) else None
    said = set(re.findall(r"\w+", reply.lower())) - _IDLE
    if not said and len(options) == 1 and re.fullmatch(r"\W*(yes|ok|okay)\b.*", reply.lower()):
        return 0
    having = [
        at for at, option in enumerate(options) if said <= {*re.findall(r"\w+", option.lower())}
    ]
    return having[0] if said and len(having) == 1 else None


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .!?\"'")
