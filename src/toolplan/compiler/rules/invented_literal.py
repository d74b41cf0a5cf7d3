"""The rule `invented-literal`."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from toolplan.compiler.rules._context import PlanContext, Problem
from toolplan.compiler.rules._rule import rule
from toolplan.plan.diagnostics import Severity
from toolplan.plan.model import Plan

EARLIER: Final = "earlier"
"""The entry of a plan's metadata with the texts of the conversation before its question."""

_OF_MODELS: Final = "llm/"
_SHOWN: Final = 60
_SHORTEST_NUMBER: Final = 4

_MAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
_URL: Final = re.compile(r"\b(?:(?:https?|ftp)://(?:www\.)?|www\.)([\w.-]{1,200})[^\s\"'<>]*")
_PHONE: Final = re.compile(r"(?<![\w.,:/-])(?:\+\d|\(\d|\d)[\d ()/-]{5,18}\d(?![\w./:-])")
_DATE: Final = re.compile(r"\d{4}[-/]?[01]\d(?:[-/]?[0-3]\d)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")
_ID: Final = re.compile(r"(?=\S*\d{3})(?=\S*[A-Za-z_#-])[A-Za-z0-9#]+(?:[-_#/:.][A-Za-z0-9]+)*")
_LINK: Final = r"(?:of|the|de|la|le|von|van|der|and|&)"
_PROPER: Final = r"[^\W\d_a-z][\w'’.-]*"
_NAME: Final = re.compile(rf"{_PROPER}(?:,? (?:{_PROPER}|{_LINK}))*")
_CODE: Final = re.compile(r"[A-Z]{1,4}")
_OF_PEOPLE_OR_PLACES: Final = re.compile(
    r"(?:^|_)(?:city|cities|location|place|town|country|state|address|street|destination|origin"
    r"|region|area|venue|office|airport|station|hotel|company|employer|user|username|owner|assignee|manager|supervisor|employee|doctor"
    r"|customer|client|patient|recipients?|receiver|sender|attendees?|participants?|guests?"
    r"|contact|author|artist|(?:first|last|full|user|person|customer|company|city|state)_?name)"
    r"(?:_|$)|^(?:to|from|cc|bcc|where_to)$"
)
OF_IDS: Final = re.compile(
    r"(?:^|_)(?:ids?|uuid|iban|account|phone|mobile|fax|key|token"
    r"|(?:account|card|order|phone|policy|ticket|invoice|passport|customer)_?(?:number|no))(?:_|$)"
)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_WORD: Final = re.compile(r"[^\W_]+")
_DIGITS: Final = re.compile(r"\d+")
_SAME_STEM: Final = 5
_SHORTEST_WORD: Final = 3
_IN_MANY_NAMES: Final = frozenset(
    ("the", "new", "old", "great", "upper", "lower", "north", "south", "east", "west", "san",
     "santa", "saint", "los", "las", "von", "van", "der")
)  # fmt: skip
_LOCAL_NUMBER: Final = 7  # digits of a phone number without its country and area


@rule(Severity.WARNING)
def invented_literal(context: PlanContext) -> Iterator[Problem]:
    """A model wrote an address, a number or a name that the question does not contain.

    Models fill in what they do not know: an e-mail address, the number of an account, a city. It
    is checked where a model wrote the plan and its question is known (`metadata.planner` and
    `metadata.query`): addresses of mail and of the web, phone numbers, identifiers, and names of
    people and places. What the question says in other words, what was said before it in the
    conversation, and what the tool's description or schema contains is not invented. Other texts,
    numbers and dates are not judged. Where a model plans, such a value for a tool with effects is
    an error, which the model gets as feedback for its next plan. For a small model
    (`PLANNER_SMALL_MODEL`), so is one for a tool that reads, and so are a number, a date, a value
    of an enum and an optional text that no word of the question states, an id that is a plain word
    (*all*), and a step of which the question says nothing, alone with values of other steps.

        "Write to sales" -> {"tool": "send_mail", "args": {"to": "sales@company.com"}}

    How to fix: take the value from the output of a step, or ask with the value in the question.
    """
    said = said_in(context.plan)
    if not said:
        return
    of_question, known = KnownWords(said), dict[str, KnownWords]()
    for name, tool in context.called.items():
        if tool is not None:
            schema = json.dumps(tool.input.document, ensure_ascii=False)
            known[name] = KnownWords((*said, tool.description, schema))
    for call, name, pointer, field, constant in context.constants(literal_only=False):
        if isinstance(constant, str | int) and not isinstance(constant, bool):
            found = next(invented(str(constant), field, known.get(call.step.tool, of_question)), "")
            if found:
                shown = found if len(found) <= _SHOWN else found[: _SHOWN - 1] + "…"
                yield Problem(
                    f"The question does not contain {shown!r} in {name!r}.",
                    pointer,
                    call.step.id,
                    "Take it from the output of a step, or ask with it in the question.",
                )


def is_of_model(planner: str) -> bool:
    """Return whether a planner of this name calls a model."""
    return planner.startswith(_OF_MODELS)


def invented(text: str, argument: str, known: KnownWords) -> Iterator[str]:
    """Yield the addresses, numbers and names in `text` that are not in the `known` texts."""
    for mail in _MAIL.finditer(text):
        if not known.has_text(mail[0]):
            yield mail[0]
    for url in _URL.finditer(text):
        parts = url[1].strip(".").split(".")
        # the parts of a host that name its owner
        labels = [each for each in parts[:-1] or parts if len(each) > 2]
        if not any(map(known.has_text, labels)):
            yield url[0]
    bare = _URL.sub(" ", _MAIL.sub(" ", text))
    for phone in _PHONE.finditer(bare):
        number = phone[0]
        digits = sum(each.isdecimal() for each in number)
        is_phone = 7 <= digits <= 15 and any(each in number for each in "+(-")
        if is_phone and not _DATE.search(number) and not known.has_phone(number):
            yield number
    if bare != text or _DATE.search(text):
        return
    named = _HUMP.sub("_", argument).lower()
    is_number = text.isdecimal() and len(text) >= _SHORTEST_NUMBER and OF_IDS.search(named)
    if is_number or _ID.fullmatch(text):
        if not known.has_identifier(text):
            yield text
    elif (
        _OF_PEOPLE_OR_PLACES.search(named)
        and _NAME.fullmatch(text)
        and not _CODE.fullmatch(text)
        and not known.has_some_word(text)
    ):
        yield text


def said_in(plan: Plan) -> tuple[str, ...]:
    """Return the question and the texts before it, if a model wrote the plan."""
    query, planner = plan.metadata.get("query"), plan.metadata.get("planner")
    if not isinstance(query, str) or not isinstance(planner, str):
        return ()
    if not is_of_model(planner):
        return ()
    earlier = plan.metadata.get(EARLIER)
    listed = earlier if isinstance(earlier, list) else []
    return (query, *(each for each in listed if isinstance(each, str)))


def plain(text: str) -> str:
    """Return `text` without case and accents."""
    spread = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in spread if not unicodedata.combining(each))


def words_of(text: str) -> list[str]:
    """Return the words of a plain text; those of camelCase are one."""
    return _WORD.findall(text)


class KnownWords:
    """The texts that the values of a plan may come from.

    Comparisons ignore case, accents, punctuation and spaces.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        text = plain("\n".join(texts))
        words = words_of(text)
        self._words = frozenset(words)
        self._stems = frozenset(each[:_SAME_STEM] for each in words if len(each) >= _SAME_STEM)
        self._joined = "".join(words)
        self._spaced = f" {' '.join(words)} "
        self._digits = "".join(_DIGITS.findall(text))
        self._numbers = frozenset(each.lstrip("0") for each in _DIGITS.findall(text))

    def has_text(self, text: str) -> bool:
        """Return whether the letters and digits of `text` occur in this order."""
        return "".join(words_of(plain(text))) in self._joined

    def has_any(self, phrases: Iterable[str]) -> bool:
        """Return whether one of `phrases` occurs in whole words."""
        return any(f" {' '.join(words_of(plain(each)))} " in self._spaced for each in phrases)

    def has_phone(self, text: str) -> bool:
        """Return whether the digits of `text` occur, apart from its country and area."""
        return "".join(_DIGITS.findall(text))[-_LOCAL_NUMBER:] in self._digits

    def has_identifier(self, text: str) -> bool:
        """Return whether `text` occurs, or each number in it does."""
        numbers = _DIGITS.findall(text)
        return self.has_text(text) or all(each.lstrip("0") in self._numbers for each in numbers)

    def has_some_word(self, text: str) -> bool:
        """Return whether a word of `text` occurs, perhaps with another ending, or its initials."""
        words = words_of(plain(text))
        long = [e for e in words if len(e) >= _SHORTEST_WORD and e not in _IN_MANY_NAMES] or words
        if any(each in self._words or each[:_SAME_STEM] in self._stems for each in long):
            return True
        initials = "".join(each[0] for each in words)
        return self.has_text(text) or (len(initials) > 1 and initials in self._words)
