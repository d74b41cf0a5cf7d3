"""Meanings as JSON: a plan keeps its question's meaning, so that the next one can change it."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, Final, cast

import msgspec

from toolplan.plan.path import Json
from toolplan.planners import Draft, Question
from toolplan_offline.lexicon import Word
from toolplan_offline.meaning import Agg, Call, Cond, Link, Meaning, Rank, Set, Show, When

NAME: Final = "offline"
"""The name of the planner."""
Step = dict[str, Any]
FIELD: Final = "meaning"
"""The field of a plan's metadata."""
_KINDS: Final[dict[str, type[Any]]] = {
    kind.__name__: kind for kind in (Agg, Call, Cond, Link, Rank, Set, Show, When, Word)
}


def plan(question: Question, steps: list[Step], **metadata: Json) -> dict[str, Any]:
    """Return a plan, with its metadata."""
    known = {"query": question.text, "reference_date": question.today, "planner": NAME}
    return {"toolplan": 1, "steps": steps, "metadata": {**known, **metadata}}


def draft(plan: dict[str, Any]) -> Draft:
    """Return the proposal of a plan."""
    text = msgspec.json.format(msgspec.json.encode(plan), indent=2)
    return Draft(text.decode(), planner=NAME)


def to_json(x: object) -> Json:
    """Return a meaning as JSON."""
    if isinstance(x, date):
        return {"day": x.isoformat()}
    if isinstance(x, frozenset):
        parts = [to_json(each) for each in cast("frozenset[object]", x)]
        return {"all": sorted(parts, key=lambda part: json.dumps(part, sort_keys=True))}
    if type(x).__name__ in _KINDS:
        named = cast("Any", x)
        kept = {k: v for k, v in named._asdict().items() if v != named._field_defaults.get(k, ...)}
        return {"is": type(x).__name__, **{k: to_json(v) for k, v in kept.items()}}
    if isinstance(x, tuple):
        return [to_json(each) for each in cast("tuple[object, ...]", x)]
    return cast("Json", x)


def from_json(raw: Json) -> Meaning | None:
    """Return the meaning that `to_json` wrote; None where it is none."""
    try:
        found = _read(raw)
    except (TypeError, ValueError, KeyError, AttributeError):
        return None
    return found if isinstance(found, Show | Agg | Rank | Call) else None


def _read(raw: Json) -> object:
    if isinstance(raw, list):
        return tuple(_read(each) for each in raw)
    if not isinstance(raw, dict):
        return raw
    if "day" in raw:
        return date.fromisoformat(str(raw["day"]))
    if "all" in raw:
        return frozenset(_read(each) for each in cast("list[Json]", raw["all"]))
    kind = _KINDS[str(raw["is"])]
    return kind(**{name: _read(value) for name, value in raw.items() if name != "is"})
