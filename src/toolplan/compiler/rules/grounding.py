"""Whether the plan of a small model has the values of its question, all of them and no others."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from typing import Final, NamedTuple

from toolplan.compiler.rules._context import Constant, PlanContext, Problem
from toolplan.compiler.rules._rule import Rule
from toolplan.compiler.rules.invented_literal import (
    OF_IDS,
    KnownWords,
    invented_literal,
    plain,
    said_in,
    words_of,
)
from toolplan.dates import NUMBERS, find_dates
from toolplan.plan.diagnostics import Severity, words
from toolplan.plan.model import Plan
from toolplan.plan.path import Json
from toolplan.schema import flat
from toolplan.schema.tool import Tool

_COUNTED: Final = re.compile(r"\d|\b(?:\w{2,}est|most|least|last|first|top|half|dozen|hundred)\b")
_NUMBER_WORDS: Final = frozenset(NUMBERS) - {"a", "an"}
_VERBS: Final = frozenset(
    ("get", "list", "search", "find", "show", "read", "create", "add", "update", "delete", "send",
     "set", "make", "by", "with", "for", "of", "to", "from", "the", "and", "all", "in", "on")
)  # fmt: skip
_ACTIONS: Final = (
    "archive", "assign", "buy", "cancel", "change", "close", "copy", "delete", "drop", "merge",
    "move", "pay", "remove", "rename", "reopen", "transfer",
)  # fmt: skip
"""What no other tool does: a plan without a tool that says so is of another question."""
_ISO_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_OF_TIMES: Final = re.compile("date|day|time|since|until|when|week|month|year", re.IGNORECASE)
_OF_CODES: Final = re.compile("currency|country|state|lang|locale|code|unit|airport", re.IGNORECASE)
_CODE: Final = re.compile(r"[A-Z]{2,4}")
_NAMED: Final = re.compile(
    r"""["“]([^"”]+)["”]|(?<![\w.+@/#-])(?!\d+(?:st|nd|rd|th)\b)([\w.+@/#-]*\d(?:[\w.+@/#-]*\w)?)"""
    r"""|(?<=[\w,;]\s)((?!I['’])[A-Z][\w'’-]{2,}|[A-Z]{2})\b"""
)
"""Texts in quotes, words with digits, and words with a capital inside of a sentence."""
_NO_STEP: Final = "Leave the step out, or take another tool."
_LEAVE_OUT: Final = "Leave it out, or take it from the question or from the output of a step."


class Said:
    """What a question says, and what was said before it."""

    def __init__(self, texts: Sequence[str], today: str) -> None:
        day = date.fromisoformat(today)
        self.words = KnownWords(texts)
        self._text = texts[0]
        self.has_times = any(find_dates(each, day) for each in texts)
        bare = texts[0]
        for found in reversed(find_dates(bare, day)):
            bare = f"{bare[: found.start]} {bare[found.end :]}"
        self._untimed = KnownWords((bare, *texts[1:]))
        named = () if bare.isupper() else _NAMED.finditer(bare)
        self.named = tuple(each[each.lastindex or 0] for each in named)
        every = "\n".join((bare, *texts[1:])).lower()
        self.has_numbers = bool(_COUNTED.search(every) or _NUMBER_WORDS & set(every.split()))

    def states(self, value: Json, name: str, node: Json) -> bool:
        """Return whether the question may mean `value` by the argument `name`."""
        if value is None or value == _key(node, "default"):
            return True
        if any(map(self.words.has_text, _phrases(node, value))):
            return True
        if isinstance(value, bool):
            return self.words.has_some_word(name.replace("_", " "))
        if isinstance(value, int | float):
            return self.has_numbers or self.words.has_text(str(value))
        if not isinstance(value, str):
            return True
        if _ISO_DATE.match(value) and not OF_IDS.search(name):
            return self.has_times or value in self._text
        if _CODE.fullmatch(value) and _OF_CODES.search(name):
            return True
        known = self.words if _OF_TIMES.search(name) else self._untimed
        return bool(words_of(plain(value))) and known.has_some_word(value)

    def may_need(self, tool: Tool) -> bool:
        """Return whether a word of the question is one of a tool or of its arguments."""
        about = words(" ".join((tool.name, tool.description, *properties(tool))))
        return self.words.has_some_word(" ".join(each for each in about if each not in _VERBS))

    def spelling(self, value: Json) -> str | None:
        """Return how the question spells `value`, where the capitals of that are missing."""
        if not isinstance(value, str) or value in self._text or self._text.isupper():
            return None
        found = re.search(rf"(?<!^)\b{re.escape(value)}\b", self._text, re.IGNORECASE)
        return found[0] if found else None

    def count(self, text: str) -> int:
        """Return how often the question has the letters of `text`."""
        return plain(self._text).count(text)

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
            return self.has_numbers
        return self.has_times or _key(node, "format") not in ("date", "date-time")


def properties(tool: Tool) -> dict[str, Json]:
    """Return the schemas of a tool's arguments, by name; what they refer to is written out."""
    named = _key(flat(tool.raw_input), "properties")
    return named if isinstance(named, dict) else {}


class _Written(NamedTuple):
    """A constant of a plan, and the schema of the argument that it is in."""

    at: Constant
    node: Json


def _said(plan: Plan) -> Said | None:
    """Return what the question of a plan says; None where no question or no day is known."""
    texts, today = said_in(plan), plan.metadata.get("reference_date")
    with suppress(ValueError):
        return Said(texts, today) if texts and isinstance(today, str) else None
    return None


def _ungrounded(context: PlanContext) -> Iterator[Problem]:
    """Yield the values that the question does not state, and what it names that no step has."""
    if (said := _said(context.plan)) is None:
        return
    invented = list(invented_literal.find(context))
    yield from invented
    nodes = {name: properties(tool) for name, tool in context.called.items() if tool is not None}
    listed = [
        _Written(each, nodes[each.call.step.tool].get(each.argument))
        for each in context.constants(literal_only=False)
        # a condition on a constant is wrong by another rule
        if each.call.tool is not None and not each.pointer.startswith(f"{each.call.pointer}/when/")
    ]
    reported = {each.pointer for each in invented}
    for each, node in listed:
        step, value = each.call.step.id, each.value
        if each.pointer in reported:
            continue
        if not said.states(value, each.field, node):
            message = f"The question has no value for {each.field!r}."
            yield Problem(message, each.pointer, step, _LEAVE_OUT)
        elif not _values(node) and (spelled := said.spelling(value)):
            message = f"The question spells it {spelled!r}."
            yield Problem(message, each.pointer, step, f"Write {spelled!r}.")
    yield from _without_reason(context, said, listed)
    yield from _left_out(context, said, listed, nodes)


def _without_reason(
    context: PlanContext, said: Said, listed: Sequence[_Written]
) -> Iterator[Problem]:
    """Yield the steps of which the question says nothing, and what they say twice."""
    steps_with: defaultdict[str, set[str]] = defaultdict(set)
    of_steps: defaultdict[str, list[_Written]] = defaultdict(list)
    for each in listed:
        steps_with[str(each.at.value)].add(each.at.call.pointer)
        of_steps[each.at.call.pointer].append(each)
    for call in context.calls:
        own, tool = of_steps[call.pointer], call.step.tool
        texts = [each.at.value for each in own if isinstance(each.at.value, str)]
        used = Counter(plain(each) for each in texts if not _ISO_DATE.match(each))
        for text, uses in used.items():
            if uses > max(1, said.count(text)):
                message = f"Two arguments have {text!r}, which the question says once."
                yield call.problem(message, "", _LEAVE_OUT)
        nouns = set(words(tool)) - _VERBS
        nouns |= {each.removesuffix("s") for each in nouns} | {f"{each}s" for each in nouns}
        is_said = any(map(said.words.has_some_word, nouns))
        if not is_said and all(
            each.at.value == _key(each.node, "default") or len(steps_with[str(each.at.value)]) > 1
            for each in own
        ):
            message = f"The question says nothing of {tool!r}, and none of its values."
            yield call.problem(message, "", _NO_STEP)


def _left_out(
    context: PlanContext,
    said: Said,
    listed: Sequence[_Written],
    nodes: dict[str, dict[str, Json]],
) -> Iterator[Problem]:
    """Yield what the question names and no step has."""
    literals = {str(each.at.value) for each in listed}
    texts = [text for each in listed for text in _phrases_of(each.node, each.at.value)]
    for step in context.plan.steps:
        texts += [name.replace("_", " ") for name in (step.tool, *step.args)]
    known = KnownWords(texts)
    has_number = any(type(each.at.value) in (int, float) for each in listed)
    for each in said.named:
        is_number = each.replace(".", "").replace(",", "").isdecimal()
        if not known.has_text(each) and not (is_number and has_number):
            yield Problem(f"The question says {each!r}, and no argument has it.", "")
    for noun in sorted({each for name in context.tools or () for each in words(name)} - _VERBS):
        if said.words.has_any((noun,)) and not known.has_some_word(noun):
            yield Problem(f"The question says {noun!r}, and no step is about it.", "")
    about = [
        f"{words(name)} {tool.description if tool else ''}" for name, tool in context.called.items()
    ]
    about += [str(each.at.value) for each in listed if _values(each.node)]
    does = KnownWords(about)
    for verb in _ACTIONS:
        if said.words.has_any((verb,)) and not does.has_some_word(verb):
            yield Problem(f"The question says {verb!r}, and no tool of the plan does that.", "")
    filled = {(step.tool, name) for step in context.plan.steps for name in step.args}
    for tool, arguments in nodes.items():
        for name, node in arguments.items():
            for value in () if (tool, name) in filled else _values(node) or ():
                if str(value) not in literals and said.words.has_any(_phrases_of(node, value)):
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
    said = _key(node, "type")
    listed = said if isinstance(said, list) else [said]
    return {each for each in listed if isinstance(each, str)} - {"null"}


def _phrases(node: Json, value: Json) -> list[str]:
    """Return the words that the schema `node` has for `value`."""
    key = value if isinstance(value, str) else json.dumps(value)
    listed = _key(_key(node, "x-values"), key)
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []


def _phrases_of(node: Json, value: Json) -> list[str]:
    """Return the words of `value`, itself among them."""
    own = [] if isinstance(value, bool) else [str(value).replace("_", " ")]
    return own + _phrases(node, value)
