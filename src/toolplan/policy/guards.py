"""Guards: checks of values right before a call, where their labels are not enough."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from toolplan.plan.model import split_pointer
from toolplan.plan.path import Json
from toolplan.policy.labels import PLAIN, Flow, Guard, Verdict
from toolplan.schema import Schema

Guards: TypeAlias = Mapping[str, Guard]
"""The guards of the arguments of a step, by name."""

# Each is linear: no part of a text can be matched by it in two ways.
_NOT_PLAIN: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    (
        "a link",
        re.compile(r"//|\\\\|\bwww\b|\b(?:https?|mailto|javascript|vbscript):", re.IGNORECASE),
    ),
    ("a link", re.compile(r"\bdata:[a-z]*[/;,]|\b(?:file|tel):\S", re.IGNORECASE)),
    ("a link (scheme:)", re.compile(r"\b[a-z][a-z0-9+.-]{1,30}:\S", re.IGNORECASE)),
    ("an address", re.compile(r"@")),
    ("the name of a server", re.compile(r"[^\W_]\.[^\W\d_]{2}")),
    ("the address of a server", re.compile(r"\d\.\d{1,3}\.\d{1,3}\.\d|::")),
    ("a picture or a link in Markdown", re.compile(r"\]\s?[(\[:]|!\[")),
    ("HTML", re.compile(r"<[^\W\d_]|</|<!|&#|&[a-z]{2,8};", re.IGNORECASE)),
)
_FORMULA: Final = "=+-@\t\r"
_DIGITS: Final = re.compile(r"\d(?:[ ._/-]{0,2}\d){11,40}")
_IBAN: Final = re.compile(
    r"(?<![^\W_])[A-Z]{2}[ ._/-]?\d{2}(?:[ ._/-]{0,2}[A-Z0-9]){11,30}(?![^\W_])", re.IGNORECASE
)
_CARD: Final = range(12, 20)  # digits of a number with a check digit: cards
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_ORDINARY: Final = frozenset("\n\r\t")
_DOTS: Final = str.maketrans(dict.fromkeys("\u3002\uff0e\uff61\u2024\u06d4", "."))


def guards_of(flows: Iterable[Flow]) -> dict[str, Guards]:
    """Return the guards by step and argument."""
    found: dict[str, dict[str, Guard]] = {}
    for flow in flows:
        if flow.verdict is Verdict.CHECK and flow.kind == "argument":
            argument = split_pointer(flow.pointer)[-1]
            found.setdefault(flow.step, {})[argument] = flow.needs.guard
    return dict[str, Guards](found)


def objection(guard: Guard, value: Json) -> str | None:
    """Return why `value` does not pass, or None where it does."""
    if guard == PLAIN:
        for text in _texts(value):
            if reason := _not_plain(text) if isinstance(text, str) else _number(str(text)):
                return reason
        return None
    violations = Schema.load(guard).violations(value)
    return violations[0].message if violations else None


def _texts(value: Json) -> Iterator[str | int]:
    """Yield the texts and whole numbers in `value`."""
    pending: list[Json] = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, str | int):
            yield part
        elif isinstance(part, list):
            pending.extend(part)
        elif isinstance(part, dict):
            pending.extend(part)
            pending.extend(part.values())


def _not_plain(text: str) -> str | None:
    for char in text:
        if char not in _ORDINARY and unicodedata.category(char) in _INVISIBLE:
            return f"it holds an invisible character (U+{ord(char):04X})"
    # letters that look like others count as these: a reader, or a program, may take them so
    folded = unicodedata.normalize("NFKC", text).translate(_DOTS)
    # and combining characters, some of them invisible, do not hide the text around them
    folded = "".join(char for char in folded if not unicodedata.category(char).startswith("M"))
    for start in (folded[:1], folded.lstrip(" \n")[:1]):
        if start and start in _FORMULA:
            return f"it begins like a formula of a spreadsheet ({start!r})"
    for name, pattern in _NOT_PLAIN:
        if pattern.search(folded):
            return f"it holds {name}"
    return _number("".join("-" if unicodedata.category(c) == "Pd" else c for c in folded))


def _number(text: str) -> str | None:
    if any(map(_is_iban, _IBAN.findall(text))):
        return "it holds the number of an account (IBAN)"
    if any(map(_is_card, _DIGITS.findall(text))):
        return "it holds the number of a card (its check digit is right)"
    return None


def _is_iban(text: str) -> bool:
    """Return whether the beginning of `text` is an IBAN, whose checksum is right (ISO 13616)."""
    compact = "".join(filter(str.isalnum, text)).upper()
    return any(
        int("".join(str(int(char, 36)) for char in compact[4:end] + compact[:4])) % 97 == 1
        for end in range(15, min(len(compact), 34) + 1)
    )


def _is_card(text: str) -> bool:
    """Return whether digits in `text` are a number whose check digit is right (Luhn)."""
    digits = [int(char) for char in text if char.isdecimal()]
    return any(
        _luhn(digits[start : start + length]) % 10 == 0
        for length in _CARD
        for start in range(len(digits) - length + 1)
        if length == len(digits) or len(digits) > _CARD[-1]
    )


def _luhn(digits: list[int]) -> int:
    doubled = (2 * each for each in digits[-2::-2])
    return sum(digits[-1::-2]) + sum(each // 10 + each % 10 for each in doubled)
