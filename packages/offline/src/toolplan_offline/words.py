"""Words: tokens of a question, plurals, and slips of the finger."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""
    (?P<quoted>"[^"]+"|“[^”]+”)
  | (?P<date>\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?|\d{4}[-/]\d\d(?:[-/]\d\d)?(?!\d)
    |\d{1,2}[./]\d{1,2}[./]\d{4})
  | (?P<id>[\w.+-]+@[\w-]+\.[\w.-]*\w|\b[A-Za-z]{1,4}-?\d\w*(?:-\d+)*\b(?<!\dth))
  | (?P<number>\d+(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d+(?:st|nd|rd|th)\b|\d+)
  | (?P<arrow>-+>|→|=>)
  | (?P<possessive>['’]s\b|(?<=s)['’](?=\s))
  | (?P<word>[^\W\d_]+(?:['’](?!s\b)[^\W\d_]+)?|%)
  | (?P<punct>[,;:.?!()/&–-])
  | (?P<other>\S)
    """,
    re.VERBOSE,
)
_SPLIT: Final = {
    "whats": "what is", "i'm": "i am", "i'd": "i would", "we've": "we have",
    "can't": "can not", "won't": "will not",
}  # fmt: skip
_TAKES_IS: Final = ("what", "who", "where", "there", "that", "how", "it")
_SHORTENED: Final = re.compile(r"([a-z]+)n't")


class Token(NamedTuple):
    """A word, number, identity or mark; `start` and `end` are its place in the question."""

    text: str
    low: str
    kind: str
    start: int
    end: int


@lru_cache(maxsize=16)  # one question is split in several places
def split(question: str) -> Sequence[Token]:
    """Return the tokens of `question`; marks at its two ends are left out."""
    out: list[Token] = []
    for found in _TOKEN.finditer(question):
        out += _tokens(found, out[-1].low if out else "", question)
    while out and out[-1].low in (";", ",", ":"):
        out.pop()
    while out and out[0].low in (";", ",", ":"):
        out.pop(0)
    return out


def _tokens(found: re.Match[str], before: str, question: str) -> list[Token]:
    kind, text, (start, end) = found.lastgroup or "", found[0], found.span()
    low = text.lower().replace("’", "'")

    def token(word: str, kind: str) -> Token:
        return Token(word, word, kind, start, end)

    if kind == "quoted":
        return [Token(text[1:-1], text[1:-1].lower(), kind, start, end)]
    if low in _SPLIT or _SHORTENED.fullmatch(low):
        return [token(w, "word") for w in _SPLIT.get(low, f"{low[:-3]} not").split()]
    if kind == "possessive":
        return [token("is", "word") if before in _TAKES_IS else token("'s", kind)]
    if kind == "arrow":
        return [token("->", "punct")]
    if kind != "punct":
        return [Token(text, low, kind, start, end)]
    if (
        text == "."
        and question[start - 1 : start].isupper()
        and not question[: start - 1][-1:].isalpha()
    ):
        return []  # an initial
    joins = end < len(question) and question[end].isalpha() and bool(before)
    if text == "&" or (text == "/" and joins):
        return [token("and" if text == "&" else "or", "word")]
    if text == "-" and joins and question[start - 1].isalpha():
        return []  # a hyphen inside a word is a blank
    return [token({"(": ",", ")": ",", ".": ";", "!": ";", "?": ";"}.get(text, text), kind)]


def near(a: str, b: str) -> bool:
    """Return whether one slip makes `b` of `a`: a letter more, less, other, or two exchanged."""
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    i = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest, other = a[i:], b[i:]
    return (
        rest[1:] in (other, other[1:])
        or rest == other[1:]
        or (rest[:2] == other[:2][::-1] and rest[2:] == other[2:])
    )


def plural(noun: str) -> str:
    """Return the plural of an English noun phrase."""
    head, blank, last = noun.rpartition(" ")
    if last.endswith("man"):
        last = last[:-2] + "en"
    elif re.search(r"[^aeiou]y$", last):
        last = last[:-1] + "ies"
    elif re.search(r"(s|x|ch|sh)$", last):
        last += "es"
    else:
        last += "s"
    return head + blank + last


def graded(adjective: str) -> tuple[str, str]:
    """Return the two degrees of an adjective: "warm" has "warmer" and "warmest"."""
    if len(adjective) > 8:
        return f"more {adjective}", f"most {adjective}"
    stem = re.sub(r"^([^aeiou]+[aeiou])([^aeiouwxy])$", r"\1\2\2", adjective)
    stem = re.sub(r"(?<=[^aeiou])y$", "i", stem.removesuffix("e"))
    return stem + "er", stem + "est"


def singular(word: str) -> str:
    """Return the singular of a word that may be a plural."""
    if word.endswith(("ies", "men")):
        return word[:-3] + ("y" if word.endswith("ies") else "man")
    if re.search(r"(sses|xes|ches|shes)$", word):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def participles(noun: str) -> list[str]:
    """Return the participles for the deed `noun`: a "collection" is "collected"."""
    last = noun.split()[-1]
    if last.endswith(("ion", "al")):
        return [re.sub("(ion|al)$", "ed", last)]
    if last.endswith("ment"):
        return [last[:-4] + "ed", last[:-4] + last[-5] + "ed"]
    return [last + ("d" if last.endswith("e") else "ed")]


def ways_to_have(text: str) -> list[str]:
    """Return synonyms of "with a balcony", "without a balcony" or "who get letters"."""
    word, _, rest = text.partition(" ")
    verbs = {
        "with": ("have", "has", "having", "that have"),
        "without": ("have no", "has no", "with no", "no", "that have no"),
        "who": ("",),
    }
    return [text, *(f"{verb} {rest}" for verb in verbs.get(word, ()))]


def bare(words: Sequence[str]) -> str:
    """Return words as a phrase without the articles inside."""
    return " ".join([*words[:1], *(w for w in words[1:] if w not in ("a", "an", "the"))])


def phrase(text: str) -> str:
    """Return `text` as the tokens of a question spell it."""
    return " ".join(token.low for token in split(text))


def spoken(name: str) -> str:
    """Return a name of a schema as words: `paidOn`, `paid_on` and `paid-on` are "paid on"."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.sub(r"[_\-\s]+", " ", parted).strip().lower()
