"""Names in text: capitalised words, and tokens that look like identities or field names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from toolplan.summary.words import is_ordinary

_WORD = re.compile(r"[^\W\d_][^\W\d_]*(?:['’&][^\W\d_]+)*")
_TOKEN = re.compile(r"\w+(?:[-.@/:]\w+)*", re.ASCII)
_MEASURE = re.compile(
    r"\d[\d.,]*[eE][-+]?\d+|\d[\d.,]*(?:k|K|M|B|st|nd|rd|th|s|x|[a-zA-Z]{1,3}|[a-z]{4,})"
    r"|\d[\d.,]*(?:-[a-z]+)+|[a-z]+-\d+(?:-[a-z]+)*|\d[\d.,/:-]*"
)
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}T[\d:.]+Z?|[QH][1-4](?:[-/]?\d{4})?|\d{4}-?Q[1-4]")
_OPENERS: Final = frozenset(".!?:;—–([{\"“‘'|/")
_MARKUP: Final = " \t*_#>•-`~+"
_SEGMENT = re.compile(r"[^|:\n]+")
_LONG_WORD: Final = 4
_MOST_IN_HEADING: Final = 10
_POSSESSIVE = re.compile(r"['’]s$")


class Naming(Struct, frozen=True):
    """A name at `start` to `end` of a text.

    `is_code` means that it is an identity or a field name. `opening` is the length of a first word
    that may be capitalised only because it begins a sentence, or 0.
    """

    start: int
    end: int
    text: str
    is_code: bool = False
    opening: int = 0


def codes(text: str) -> tuple[Naming, ...]:
    """Return tokens with letters and digits or underscores, except numbers with units.

    >>> [each.text for each in codes("B2025-001 weighs 37kg, see book_id")]
    ['B2025-001', 'book_id']
    """
    found: list[Naming] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        mixed = re.search(r"[A-Za-z]", token) and re.search(r"\d", token)
        named = "_" in token.strip("_") or "@" in token
        if not mixed and not named:
            continue
        if _MEASURE.fullmatch(token) or _DATED.fullmatch(token):
            continue
        found.append(Naming(*match.span(), token, is_code=True))
    return tuple(found)


def names(text: str) -> tuple[Naming, ...]:
    """Return the runs of words in `text` that are capitalised as names.

    >>> [each.text for each in names("Overall, Acme Logistics did well. York did not.")]
    ['Acme Logistics', 'York']
    """
    titles = tuple(_titles(text))
    found: list[Naming] = []
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        if not _is_capitalised(match):
            continue
        if run and text[run[-1].end() : match.start()] in (" ", "-", " & ", "\u00a0"):
            run.append(match)
            continue
        found += _named(text, run, titles)
        run = [match]
    return (*found, *_named(text, run, titles))


def _is_capitalised(match: re.Match[str]) -> bool:
    text, start = match.string, match.start()
    if not any(char.isupper() for char in match[0]):
        return False
    # a part of a token with digits is not a name
    before = text[start - 1] if start else " "
    behind = text[match.end()] if match.end() < len(text) else " "
    return not (before.isalnum() or before == "_" or behind.isdigit() or behind == "_")


def _named(
    text: str, run: list[re.Match[str]], titles: tuple[tuple[int, int], ...]
) -> Iterator[Naming]:
    """Yield the name in a run of capitalised words, unless all are ordinary words."""
    if not run:
        return
    if any(start <= run[0].start() < end for start, end in titles):
        # in a heading all words are capitalised: only unusual ones are names
        for together in _parted(run):
            yield _naming(together, opening=len(together[0][0]))
        return
    words = list(run)
    opening = 0
    if _opens(text, words[0].start()):
        if is_ordinary(words[0][0]):
            words = words[1:]
        else:
            opening = len(words[0][0])
    if not all(_is_shouted(match[0]) for match in words):
        same = words[0] is run[0]
        yield _naming(words, opening=opening if same else 0)


def _parted(run: list[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """Yield the parts of `run` between ordinary words."""
    together: list[re.Match[str]] = []
    for match in run:
        if not is_ordinary(match[0]):
            together.append(match)
        elif together:
            yield together
            together = []
    if together:
        yield together


def _naming(words: list[re.Match[str]], *, opening: int) -> Naming:
    start = words[0].start()
    said = _POSSESSIVE.sub("", words[0].string[start : words[-1].end()])
    return Naming(start, start + len(said), said, opening=opening)


def _is_shouted(word: str) -> bool:
    """Return whether it is an ordinary word in capitals: NOT."""
    return word.startswith("I'") or word == "I" or (word.isupper() and is_ordinary(word))


def _opens(text: str, at: int) -> bool:
    """Return whether the word at `at` begins a sentence, a line or a cell."""
    before = text[:at].rstrip(_MARKUP)
    return not before or before[-1] in _OPENERS or before[-1] == "\n"


def _titles(text: str) -> Iterator[tuple[int, int]]:
    """Yield the parts of lines in which every long word is capitalised, as in headings."""
    for match in _SEGMENT.finditer(text):
        piece = match[0].strip(_MARKUP)
        words = [word for word in _WORD.findall(piece) if len(word) >= _LONG_WORD]
        ends = match.end() >= len(text) or text[match.end()] in "|:\n"
        sentence = piece.endswith((".", "!", "?")) and not piece.endswith("etc.")
        few = 0 < len(words) <= _MOST_IN_HEADING
        if few and ends and not sentence and all(word[0].isupper() for word in words):
            yield match.span()
