"""The reply of a model: a plan in some dialect, a clarification, or a refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, count
from typing import Final, cast

from toolplan.dialects import DIALECTS, dialect_of
from toolplan.plan.exact_json import read_json
from toolplan.plan.path import Json
from toolplan.planners._base import Clarification, Draft, Proposal, Refusal
from toolplan.providers import ModelError

_THINKING: Final = ("think", "thinking")
_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"[\[{]")
_KEY = re.compile(r'"\w+"\s*:')

_MOST_READ: Final = 200_000
"""A longer reply is not searched for a second plan."""

_MOST_FAILURES: Final = 50
"""Maximum number of brackets that open no JSON; each may cost a scan of the rest."""

_OPTIONS: Final = 12
_BOM: Final = "\ufeff"


def read_reply(text: str, prefer: str = "toolplan") -> Proposal:
    """Return the proposal in the complete reply of a model.

    Args:
        text: the reply; prose, code fences and a think block around the plan are skipped.
        prefer: the dialect of a reply that no dialect recognises.

    Raises:
        ModelError: the reply is empty (`llm-empty`), or has two different plans (`llm-ambiguous`).
    """
    body = _without_thinking(text.strip().removeprefix(_BOM).strip())
    if not body:
        raise ModelError(
            "llm-empty",
            "The reply of the model is empty.",
            "Ask again, or name another model with --model.",
        )
    documents = list(_documents(body)) if len(body) <= _MOST_READ else []
    for document in documents:
        said = _said(document)
        if said is not None:
            return said
    dialects = [_recognising(json.dumps(document)) for document in documents]
    # a dialect that has JSON between marks of its own reads the whole reply; its marks are seen
    # without the keys of the JSON
    outside = _recognising(_KEY.sub("", text))
    for name in chain.from_iterable(dialects):
        if name in outside:
            return Draft(text, name)
    plans = [plan for plan, names in zip(documents, dialects, strict=True) if names]
    if any(plan != plans[0] for plan in plans[1:]):
        raise ModelError(
            "llm-ambiguous",
            "The model wrote two different plans.",
            "Ask again, or name another model with --model.",
        )
    fenced = _FENCE.search(body)
    plain = body if fenced is None else fenced[1]
    return Draft(plain.strip() or body, dialect_of(plain, prefer))


def with_own_ids(text: str) -> str:
    """Return a plan whose steps have ids of their own, where nothing refers to a repeated one.

    Small models give two calls of one tool the same id, although they may choose another.
    """
    try:
        document = read_json(text, every_digit=True)  # what it would lose, the check names
    except (ValueError, RecursionError):
        return text
    listed = document.get("steps") if isinstance(document, dict) else None
    steps = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    used = {str(each.get("id")) for each in steps}
    seen: set[str] = set()
    for step in steps:
        name = new = str(step.get("id"))
        if name in seen and f"${{{name}" not in text and '"after"' not in text:
            new = next(each for n in count(2) if (each := f"{name}_{n}") not in used)
            step["id"] = new
        used.add(new)
        seen.add(name)
    return text if len(used) == len(seen) else json.dumps(document, ensure_ascii=False)


def _without_thinking(text: str) -> str:
    for name in _THINKING:
        if text.startswith(f"<{name}>"):
            end = text.find(f"</{name}>")
            return text if end < 0 else text[end + len(name) + 3 :].strip()
    return text


def _documents(text: str) -> Iterator[Json]:
    """Yield the JSON objects and lists in `text`, one after the other."""
    decoder = json.JSONDecoder()
    at = failed = 0
    while failed < _MOST_FAILURES and (found := _OPENING.search(text, at)) is not None:
        try:
            document, at = cast("tuple[Json, int]", decoder.raw_decode(text, found.start()))
        except (ValueError, RecursionError):
            at = found.end()
            failed += 1
        else:
            yield document


def _recognising(text: str) -> list[str]:
    return [name for name, dialect in DIALECTS.items() if dialect.recognises(text)]


def _said(document: Json) -> Clarification | Refusal | None:
    match document:
        case {"clarification": {"question": str(question), **more}} if question.strip():
            options = more.get("options")
            listed = options if isinstance(options, list) else []
            texts = tuple(each for each in listed if isinstance(each, str))
            return Clarification(question.strip(), texts[:_OPTIONS])
        case {"clarification": str(question)} if question.strip():
            return Clarification(question.strip())
        case {"refusal": {"reason": str(reason)} | str(reason)} if reason.strip():
            return Refusal(reason.strip())
        case _:
            return None
