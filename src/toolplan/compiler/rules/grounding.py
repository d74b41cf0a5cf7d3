"""Whether the plan of a small model has the values of its question, and no others."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from typing import Final

from toolplan.compiler.rules._context import PlanContext, Problem
from toolplan.compiler.rules._rule import Rule
from toolplan.compiler.rules.invented_literal import (
    OF_IDS,
    KnownWords,
    invented_literal,
    plain,
    said_in,
)
from toolplan.dates import NUMBERS, ORDINALS, find_dates
from toolplan.plan.diagnostics import Severity
from toolplan.plan.path import Json
from toolplan.schema import flat, required
from toolplan.schema.tool import Tool

_NUMBER_WORDS: Final = (NUMBERS.keys() | ORDINALS.keys()) - {"a", "an"}
_ISO_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_ID: Final = re.compile(r"(?:^|_)ids?$")
_WORD: Final = re.compile(r"\S[^\dA-Z]*")
"""No identifier: *all*, which small models write for one that they do not know."""
_CODE: Final = re.compile(r"[A-Z]{2,3}")
_LEAVE_OUT: Final = "Leave it out, or take it from the question or from the output of a step."


class Said:
    """What a question says, and what was said before it."""

    def __init__(self, texts: Sequence[str], today: str) -> None:
        self._texts = tuple(map(plain, texts))
        self._words = KnownWords(texts)
        self._has_times = any(find_dates(each, date.fromisoformat(today)) for each in texts)
        words = {word for each in self._texts for word in each.split()}
        digits = re.search(r"\d", "".join(texts))
        self._has_numbers = digits is not None or not words.isdisjoint(_NUMBER_WORDS)

    def states(self, value: Json, name: str, node: Json) -> bool:
        """Return whether the question may mean `value` by the argument `name`."""
        if value is None or value == _key(node, "default") or self.names(value, node):
            return True
        if isinstance(value, bool):
            return self._words.has_some_word(name.replace("_", " "))
        if isinstance(value, int | float):
            return self._has_numbers
        if not isinstance(value, str) or _CODE.fullmatch(value):
            return True
        if self._has_times and _ISO_DATE.match(value):
            return not OF_IDS.search(name)
        return self._words.has_some_word(value)

    def names(self, value: Json, node: Json) -> bool:
        """Return whether the question has `value`, or words that the schema `node` has for it."""
        key = value if isinstance(value, str) else json.dumps(value)
        listed = _key(_key(node, "x-values"), key)
        phrases = [e for e in listed if isinstance(e, str)] if isinstance(listed, list) else []
        own = () if isinstance(value, bool) else (key.replace("_", " "),)
        return self._words.has_any((*own, *phrases))

    def count(self, text: str) -> int:
        """Return how often the question has the letters of `text`."""
        return self._texts[0].count(plain(text))

    def choices(self, name: str, node: Json) -> list[Json] | None:
        """Return the values of an enum or of a boolean that the question may mean."""
        values = _values(node)
        return None if values is None else [e for e in values if self.states(e, name, node)]

    def may_fill(self, name: str, node: Json) -> bool:
        """Return whether the question may have a value for the argument `name`."""
        if (choices := self.choices(name, node)) is not None:
            return any(each is not None for each in choices)
        kinds = _kinds(node)
        if kinds and kinds <= {"integer", "number"}:
            return self._has_numbers
        return self._has_times or _key(node, "format") not in ("date", "date-time")


def properties(tool: Tool) -> dict[str, Json]:
    """Return the schemas of a tool's arguments, by name; what they refer to is written out."""
    named = _key(flat(tool.raw_input), "properties")
    return named if isinstance(named, dict) else {}


def _ungrounded(context: PlanContext) -> Iterator[Problem]:
    """Yield values that the question does not state, or once too often, and those it has."""
    invented = list(invented_literal.find(context))
    yield from invented
    texts, today = said_in(context.plan), context.plan.metadata.get("reference_date")
    with suppress(ValueError):
        if texts and isinstance(today, str):
            said = Said(texts, today)
            yield from _not_stated(context, said, {each.pointer for each in invented})
            yield from _not_taken(context, said)


def _not_stated(context: PlanContext, said: Said, reported: set[str]) -> Iterator[Problem]:
    """Yield the values that the question does not state, and what two arguments repeat.

    A required text may say the question's words in others; small models invent its ids.
    """
    uses: dict[str, Counter[str]] = {}
    for call, argument, pointer, field, value in context.constants(literal_only=False):
        # a condition on a constant is wrong by another rule
        if call.tool is None or pointer.startswith(f"{call.pointer}/when/"):
            continue
        node = properties(call.tool).get(argument)
        if isinstance(value, bool) or pointer in reported:
            is_stated = True
        elif isinstance(value, str) and not _ISO_DATE.match(value):
            uses.setdefault(call.pointer, Counter())[plain(value)] += 1
            is_needed = argument in required(call.tool.input) and not _values(node)
            is_stated = is_needed or said.states(value, field, node)
            is_stated &= not (_ID.search(field) and _WORD.fullmatch(value))
        else:
            is_stated = said.states(value, field, node)
        if not is_stated:
            message = f"The question has no value for {field!r}."
            yield Problem(message, pointer, call.step.id, _LEAVE_OUT)
    for call in context.calls:
        for text, number in uses.get(call.pointer, Counter()).items():
            if number > max(1, said.count(text)):
                message = f"Two arguments have {text!r}, which the question says once."
                yield call.problem(message, "", _LEAVE_OUT)


def _not_taken(context: PlanContext, said: Said) -> Iterator[Problem]:
    """Yield the values of enums that the question names, and no step has."""
    literals = {str(each.value) for each in context.constants(literal_only=False)}
    filled = {(step.tool, name) for step in context.plan.steps for name in step.args}
    for tool in filter(None, context.called.values()):
        for name, node in properties(tool).items():
            for value in () if (tool.name, name) in filled else _values(node) or ():
                if str(value) not in literals and said.names(value, node):
                    text = json.dumps(value)
                    yield Problem(f"The question says {text}, and the plan has no {name!r}.", "")


grounded: Final = Rule(invented_literal.code, Severity.ERROR, "", _ungrounded)
"""`invented-literal` for the plans of small models, which fill in every argument that they see."""


def _key(node: Json, key: str) -> Json:
    return node.get(key) if isinstance(node, dict) else None


def _values(node: Json) -> list[Json] | None:
    if isinstance(values := _key(node, "enum"), list):
        return values
    return [True, False] if _kinds(node) == {"boolean"} else None


def _kinds(node: Json) -> set[str]:
    """Return the JSON types that `node` names, without null."""
    named = _key(node, "type")
    listed = named if isinstance(named, list) else [named]
    return {each for each in listed if isinstance(each, str)} - {"null"}
