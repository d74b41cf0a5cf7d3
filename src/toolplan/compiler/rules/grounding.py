"""Whether the plan of a small model has the values of its question, and no others."""

from __future__ import annotations

import json
import re
from collections import defaultdict
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
from toolplan.plan.diagnostics import Severity, words
from toolplan.plan.path import Json
from toolplan.schema import flat, required
from toolplan.schema.tool import Tool

_NUMBER_WORDS: Final = (NUMBERS.keys() | ORDINALS.keys()) - {"a", "an"}
_NUMBER: Final = re.compile(r"(?<!\w)(?<!\w-)\d")
_ISO_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_ID: Final = re.compile(r"(?:^|_)ids?$")
_WORD: Final = re.compile(r"\S[^\dA-Z]*")
"""No identifier: *all*, which small models write for one that they do not know."""
_CODE: Final = re.compile(r"[A-Z]{2,3}")
_LEAVE_OUT: Final = "Leave it out, or take it from the question or from the output of a step."


class Said:
    """The values and words in a question and in the conversation before it."""

    def __init__(self, texts: Sequence[str], today: str) -> None:
        self._words = KnownWords(texts)
        self._has_times = any(find_dates(each, date.fromisoformat(today)) for each in texts)
        every = plain("\n".join(texts))
        self._has_numbers = bool(_NUMBER.search(every) or _NUMBER_WORDS & set(every.split()))

    def states(self, value: Json, name: str, node: Json) -> bool:
        """Return whether the question may mean `value` by the argument `name`."""
        key = value if isinstance(value, str) else json.dumps(value)
        phrases = _key(_key(node, "x-values"), key)
        listed = phrases if isinstance(phrases, list) else []
        if self._words.has_any(each for each in listed if isinstance(each, str)):
            return True
        if value is None or value == _key(node, "default"):
            return True
        if isinstance(value, bool):
            return self._words.has_some_word(name.replace("_", " "))
        if isinstance(value, int | float):
            return self._has_numbers or self._has_times  # *next week* is 7 days
        if not isinstance(value, str) or _CODE.fullmatch(value):
            return True
        if self._has_times and _ISO_DATE.match(value):
            return not OF_IDS.search(name)
        return self._words.has_some_word(value)

    def is_about(self, tool: str) -> bool:
        """Return whether the question has a word of a tool's name."""
        return any(len(each) > 2 and self._words.has_some_word(each) for each in words(tool))

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
    """Return the schemas of a tool's arguments, by name, with their references written out."""
    named = _key(flat(tool.raw_input), "properties")
    return named if isinstance(named, dict) else {}


def _ungrounded(context: PlanContext) -> Iterator[Problem]:
    """Yield the values and the steps that the question does not state."""
    invented = list(invented_literal.find(context))
    yield from invented
    texts, today = said_in(context.plan), context.plan.metadata.get("reference_date")
    with suppress(ValueError):
        if texts and isinstance(today, str):
            said = Said(texts, today)
            yield from _not_stated(context, said, {each.pointer for each in invented})
            yield from _needless(context, said)


def _not_stated(context: PlanContext, said: Said, reported: set[str]) -> Iterator[Problem]:
    """Yield the values that the question does not state.

    A required text may put the question in other words, so only its ids are judged.
    """
    for call, argument, pointer, field, value in context.constants(literal_only=False):
        # a condition on a constant is wrong by another rule
        if call.tool is None or pointer.startswith(f"{call.pointer}/when/"):
            continue
        node = properties(call.tool).get(argument)
        is_needed = argument in required(call.tool.input)
        is_text = isinstance(value, str) and not _ISO_DATE.match(value) and not _values(node)
        is_judged = not is_needed if is_text else is_needed or value != 1  # *the last order*
        is_judged &= not isinstance(value, bool)
        is_stated = pointer in reported or not is_judged or said.states(value, field, node)
        if is_text and _ID.search(field) and _WORD.fullmatch(str(value)):
            is_stated = False
        if not is_stated:
            message = f"The question has no value for {field!r}."
            yield Problem(message, pointer, call.step.id, _LEAVE_OUT)


def _needless(context: PlanContext, said: Said) -> Iterator[Problem]:
    """Yield the steps whose values other tools get too, and that neither use nor are used.

    A small model looks up the weather of the city that a flight leaves from.
    """
    used = {name for needed in context.needs.values() for name in needed}
    own: defaultdict[str, list[str]] = defaultdict(list)
    tools: defaultdict[str, set[str]] = defaultdict(set)
    for call, argument, _, _, value in context.constants(literal_only=False):
        node = properties(call.tool).get(argument) if call.tool is not None else None
        if value != _key(node, "default"):
            own[call.pointer].append(str(value))
            tools[str(value)].add(call.step.tool)
    for call in context.calls:
        is_alone = call.step.id not in used and not context.needs[call.step.id]
        is_own = any(len(tools[each]) == 1 for each in own[call.pointer])
        if len(context.calls) > 1 and is_alone and not is_own and not said.is_about(call.step.tool):
            message = f"The question says nothing of {call.step.tool!r}, and no value of its own."
            yield call.problem(message, "", "Leave the step out, or take another tool.")


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
