"""What a model answered: a plan in some dialect, a question back, or why there can be no plan."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, cast

from toolplan.path import Json
from toolplan.planners._base import Clarification, Draft, Proposal, Refusal
from toolplan.providers import ModelError

_THINKING: Final = ("think", "thinking")
_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"[\[{]")
_KEY: Final = r'"{}"\s*:'

_MOST_READ: Final = 200_000
"""A longer reply is not searched for a second plan: it is refused by size or read as it is."""

_MOST_FAILURES: Final = 50
"""So many brackets that open no JSON are passed over; each may cost a reading of all the rest."""

_OPTIONS: Final = 12


def read_reply(text: str, prefer: str = "toolplan") -> Proposal:
    """Say what the whole reply of a model is.

    Args:
        text: the reply; prose, code fences and a think block around the plan are passed over.
        prefer: the dialect of a reply that tells no other.

    Raises:
        ModelError: it is empty, or holds two plans that differ.
    """
    body = _without_thinking(text.strip())
    if not body:
        raise ModelError(
            "llm-empty", "The model gave no plan.", "Ask again, or name another model with --model."
        )
    if "<plan>" in text:
        return Draft(text, "kirha")
    documents = list(_documents(body)) if len(body) <= _MOST_READ else []
    for document in documents:
        said = _said(document)
        if said is not None:
            return said
    plans = [document for document in documents if _is_plan(document)]
    if any(plan != plans[0] for plan in plans[1:]):
        raise ModelError(
            "llm-ambiguous",
            "The model gave two plans that differ.",
            "Ask again; the first of two is not taken on trust.",
        )
    fenced = _FENCE.search(body)
    plain = body if fenced is None else fenced[1]
    return Draft(plain.strip() or body, _dialect(plain, prefer))


def _without_thinking(text: str) -> str:
    for name in _THINKING:
        if text.startswith(f"<{name}>"):
            end = text.find(f"</{name}>")
            return text if end < 0 else text[end + len(name) + 3 :].strip()
    return text


def _documents(text: str) -> Iterator[Json]:
    """Yield the JSON objects and lists that stand in `text` one behind the other."""
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


def _is_plan(document: Json) -> bool:
    match document:
        case {"steps": list()} | {"task_nodes": list()} | {"plan": {"tasks": list()}}:
            return True
        case [dict() as first, *_]:
            return any(name in first for name in ("toolName", "tool", "api", "arguments"))
        case _:
            return False


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


def _dialect(text: str, prefer: str) -> str:
    """Tell the dialect by the words that only it has."""
    if _has(text, "toolName"):
        return "kirha"
    if _has(text, "task_nodes"):
        return "taskbench"
    if _has(text, "api") and (_has(text, "responses") or _has(text, "parameters")):
        return "sealtools"
    if _has(text, "tasks") and _has(text, "owner"):
        return "state"
    if _has(text, "steps"):
        is_clear = any(_has(text, each) for each in ("params", "depends_on", "dependsOn"))
        return "clear" if is_clear and not _has(text, "args") else "toolplan"
    if _has(text, "label") and _has(text, "arguments"):
        return "nestful"
    if re.search(r"^#E\d+\s*=", text, re.MULTILINE):
        return "rewoo"
    if re.search(r"^\d+\.\s*\w[\w.-]*\(", text, re.MULTILINE):
        return "llmcompiler"
    return prefer


def _has(text: str, key: str) -> bool:
    return re.search(_KEY.replace("{}", key), text) is not None
