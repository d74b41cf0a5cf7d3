"""Whether the plan of a small model has the values of its question, all of them and no others."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from typing import Final, TypeGuard

from msgspec import Struct

from toolplan.compiler.rules._context import PlanContext
from toolplan.compiler.rules._rule import Problem, Rule
from toolplan.compiler.rules._texts import written
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
from toolplan.plan.model import Plan, Step, escape_pointer
from toolplan.plan.path import Json
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
_OTHER: Final = "The question has no value for {!r}."
_TWICE: Final = "Two arguments have {!r}, which the question says once."
_NOTHING: Final = "The question says nothing of {!r}, and none of its values."
_MISSING: Final = "The question says {}, and the plan has no {!r}."
_SPELLED: Final = "The question spells it {!r}."
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
        facts = list(_branches(node))
        if value is None or any(each.get("default") == value for each in facts):
            return True
        phrases = [text for each in facts for text in _phrases(each, value)]
        if any(self.words.has_text(each) for each in phrases):
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
        kinds = [each["type"] for each in _branches(node) if each.get("type", "null") != "null"]
        if kinds and all(each in ("integer", "number") for each in kinds):
            return self.has_numbers
        is_date = any(each.get("format") in ("date", "date-time") for each in _branches(node))
        return self.has_times or not is_date


def properties(tool: Tool) -> dict[str, Json]:
    """Return the schemas of a tool's arguments, by name."""
    node = tool.input.node
    named = node.get("properties") if isinstance(node, dict) else None
    return named if isinstance(named, dict) else {}


class _Written(Struct):
    """A literal of a plan; `node` is the schema of the argument that it is in."""

    position: int
    step: Step
    pointer: str
    argument: str
    value: Json
    node: Json

    @property
    def is_default(self) -> bool:
        return any(self.value == each.get("default") for each in _branches(self.node))


def _said(plan: Plan) -> Said | None:
    """Return what the question of a plan says; None where no question or no day is known."""
    texts, today = said_in(plan), plan.metadata.get("reference_date")
    with suppress(ValueError):
        return Said(texts, today) if texts and isinstance(today, str) else None
    return None


def _ungrounded(context: PlanContext) -> Iterator[Problem]:
    """Yield the values that the question does not state, and what it names that no step has."""
    said, reported = _said(context.plan), set[str]()
    if said is None:
        return
    for each in invented_literal.find(context):
        reported.add(each.pointer)
        yield each
    listed = list(_literals(context))
    for each in listed:
        if each.pointer in reported:
            continue
        if not said.states(each.value, each.argument, each.node):
            message = _OTHER.format(each.argument)
            yield Problem(message, each.pointer, each.step.id, _LEAVE_OUT)
        elif not _values(each.node) and (spelled := said.spelling(each.value)):
            message = f"The question spells it {spelled!r}."
            yield Problem(message, each.pointer, each.step.id, f"Write {spelled!r}.")
    steps_with: defaultdict[str, set[int]] = defaultdict(set)
    of_steps: defaultdict[int, list[_Written]] = defaultdict(list)
    for each in listed:
        steps_with[str(each.value)].add(each.position)
        of_steps[each.position].append(each)
    for position, step in enumerate(context.plan.steps):
        own, place = of_steps[position], f"/steps/{position}"
        used = Counter(plain(each.value) for each in own if _is_word(each.value))
        for text, uses in used.items():
            if uses > max(1, said.count(text)):
                yield Problem(_TWICE.format(text), place, step.id, _LEAVE_OUT)
        is_about = any(map(said.words.has_some_word, _nouns(step.tool)))
        if not is_about and all(e.is_default or len(steps_with[str(e.value)]) > 1 for e in own):
            yield Problem(_NOTHING.format(step.tool), place, step.id, _NO_STEP)
    yield from _left_out(context, said, listed)


def _literals(context: PlanContext) -> Iterator[_Written]:
    for position, step in enumerate(context.plan.steps):
        tool = context.tool(step)
        for name, value in step.args.items() if tool else ():
            if tool and name not in tool.input.literal_only:
                node, place = (
                    properties(tool).get(name),
                    f"/steps/{position}/args/{escape_pointer(name)}",
                )
                for pointer, argument, constant in written(value, place, name):
                    yield _Written(position, step, pointer, argument, constant, node)


def _is_word(value: Json) -> TypeGuard[str]:
    return isinstance(value, str) and not _ISO_DATE.match(value)


def _nouns(tool: str) -> set[str]:
    """Return the words of a tool's name that say what it is about, as singulars and plurals."""
    found = set(words(tool)) - _VERBS
    return found | {each.removesuffix("s") for each in found} | {f"{each}s" for each in found}


def _left_out(context: PlanContext, said: Said, listed: Sequence[_Written]) -> Iterator[Problem]:
    """Yield what the question names and no step has."""
    literals = {str(each.value) for each in listed}
    texts = [text for each in listed for text in _phrases_of(each.node, each.value)]
    for step in context.plan.steps:
        texts += [name.replace("_", " ") for name in (step.tool, *step.args)]
    known = KnownWords(texts)
    has_number = any(type(each.value) in (int, float) for each in listed)
    for each in said.named:
        is_number = each.replace(".", "").replace(",", "").isdecimal()
        if not known.has_text(each) and not (is_number and has_number):
            yield Problem(f"The question says {each!r}, and no argument has it.", "")
    for noun in sorted({each for name in context.tools or () for each in words(name)} - _VERBS):
        if said.words.has_any((noun,)) and not known.has_some_word(noun):
            yield Problem(f"The question says {noun!r}, and no step is about it.", "")
    tools = {step.tool: context.tool(step) for step in context.plan.steps}
    about = [f"{words(name)} {tool.description if tool else ''}" for name, tool in tools.items()]
    about += [str(each.value) for each in listed if _values(each.node)]
    does = KnownWords(about)
    for verb in _ACTIONS:
        if said.words.has_any((verb,)) and not does.has_some_word(verb):
            yield Problem(f"The question says {verb!r}, and no tool of the plan does that.", "")
    filled = {(step.tool, name) for step in context.plan.steps for name in step.args}
    for tool in filter(None, tools.values()):
        for name, node in properties(tool).items():
            for value in () if (tool.name, name) in filled else _values(node) or ():
                if str(value) not in literals and said.words.has_any(_phrases_of(node, value)):
                    yield Problem(_MISSING.format(json.dumps(value), name), "")


grounded: Final = Rule(invented_literal.code, Severity.ERROR, "", _ungrounded)
"""`invented-literal` for the plans of small models, which fill in every argument that they see."""


def _branches(node: Json, depth: int = 4) -> Iterator[dict[str, Json]]:
    """Yield `node` and what it chooses from."""
    if isinstance(node, dict) and depth > 0:
        yield node
        for keyword in ("anyOf", "oneOf"):
            inner = node.get(keyword)
            for each in inner if isinstance(inner, list) else ():
                yield from _branches(each, depth - 1)


def _values(node: Json) -> list[Json] | None:
    for each in _branches(node):
        if isinstance(values := each.get("enum"), list):
            return values
        if each.get("type") == "boolean":
            return [True, False]
    return None


def _phrases(node: dict[str, Json], value: Json) -> list[str]:
    """Return the words that the schema `node` has for `value`."""
    worded = node.get("x-values")
    key = value if isinstance(value, str) else json.dumps(value)
    listed = worded.get(key) if isinstance(worded, dict) else None
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []


def _phrases_of(node: Json, value: Json) -> list[str]:
    """Return the words of `value`, itself among them."""
    own = [] if isinstance(value, bool) else [str(value).replace("_", " ")]
    return own + [text for each in _branches(node) for text in _phrases(each, value)]
