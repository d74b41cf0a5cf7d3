"""Names in prose: capitalised words, and tokens that look like identities or names of fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Naming:
    """Something that names, as it stands in a text from `start` to `end`.

    `is_code`: it is an identity or the name of a field rather than words. `opening` says how many
    characters of the text a first word takes that may be capitalised only for its place; 0 where
    every word is there as a name.
    """

    start: int
    end: int
    text: str
    is_code: bool = False
    opening: int = 0


def codes(text: str) -> tuple[Naming, ...]:
    """Return the tokens of `text` that mix letters with digits or underscores.

    Numbers with their units are none.

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
    """Return the runs of words in `text` that are capitalised not only because of their place.

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
    # what is left of a token with digits has been looked at as a whole
    before = text[start - 1] if start else " "
    behind = text[match.end()] if match.end() < len(text) else " "
    return not (before.isalnum() or before == "_" or behind.isdigit() or behind == "_")


def _named(
    text: str, run: list[re.Match[str]], titles: tuple[tuple[int, int], ...]
) -> Iterator[Naming]:
    """Yield the name that a run of capitalised words is; nothing where all are ordinary words."""
    if not run:
        return
    if any(start <= run[0].start() < end for start, end in titles):
        # in a heading every word is capitalised: only the others are names
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
    """Yield the stretches of `run` that hold no ordinary word."""
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
    """Whether an ordinary word is only written in capitals: NOT."""
    return word.startswith("I'") or word == "I" or (word.isupper() and is_ordinary(word))


def _opens(text: str, at: int) -> bool:
    """Whether the word at `at` stands at the head of a sentence, a line or a cell."""
    before = text[:at].rstrip(_MARKUP)
    return not before or before[-1] in _OPENERS or before[-1] == "\n"


def _titles(text: str) -> Iterator[tuple[int, int]]:
    """Yield the pieces of lines in which every long word is capitalised, as in headings."""
    for match in _SEGMENT.finditer(text):
        piece = match[0].strip(_MARKUP)
        words = [word for word in _WORD.findall(piece) if len(word) >= _LONG_WORD]
        ends = match.end() >= len(text) or text[match.end()] in "|:\n"
        sentence = piece.endswith((".", "!", "?")) and not piece.endswith("etc.")
        few = 0 < len(words) <= _MOST_IN_HEADING
        if few and ends and not sentence and all(word[0].isupper() for word in words):
            yield match.span()
