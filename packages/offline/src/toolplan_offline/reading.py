"""Reading: from the words of a question to the meanings of all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from functools import cached_property
from itertools import takewhile
from typing import Any, Final

from toolplan.dates import NUMBERS, Weeks, read_dates, vocabulary
from toolplan.planners import Clarification
from toolplan_offline import deeds, follow_ups, grammar, phrases, questions
from toolplan_offline.chart import Chart, Edge, TooMany
from toolplan_offline.lexicon import Lexicon
from toolplan_offline.meaning import When
from toolplan_offline.schemas import ENGLISH
from toolplan_offline.words import Token, bare, near, split
from toolplan_offline.world import Out, World

_COUNTS: Final = {k: v for k, v in NUMBERS.items() if v > 1 and " " not in k}
_THAN: Final = frozenset(["than", "least"])
_POLITE: Final = frozenset(["please", "pls", "plz", "kindly"])
FUNCTIONS: Final[dict[str, Callable[..., Out]]] = {
    name: function
    for module in (phrases, questions, follow_ups, deeds)
    for name, function in vars(module).items()
    if getattr(function, "__module__", "") == module.__name__ and not name.startswith("_")
    if not isinstance(function, type)
}
"""The functions that a grammar may name.

They get the world and the meanings of parts, and yield each way in which these fit together, with
its cost; a way that does not fit is not yielded.
"""
_LONGEST: Final = 8
"""Maximum number of words of a phrase of the grammar."""


class Reader:
    """Reads questions with a lexicon and the grammar."""

    def __init__(self, lex: Lexicon, weeks: Weeks = "rolling", rules: str = "grammar.txt") -> None:
        """Read with `lex` by `rules`; `weeks` defines "last week"."""
        self.lex = lex
        self.weeks: Weeks = weeks
        self.grammar = grammar.load(rules)
        # a word that means something to the tools is never skipped
        self.skip = (self.grammar.skip | lex.light) - lex.entries.keys()
        self.longest = max(_LONGEST, lex.longest)

    @cached_property
    def vocabulary(self) -> set[str]:
        """All words that can be understood."""
        known = {word for text in self.lex.entries for word in text.split()}
        return known | self.grammar.words | self.lex.light | vocabulary() | set(NUMBERS)

    @cached_property
    def offered(self) -> set[str]:
        """The words that are offered in place of one with a slip."""
        rates = [t for t, found in self.lex.entries.items() if all(c == "VR" for c, _ in found)]
        return {word for word in self.vocabulary - set(rates) if len(word) >= 4}

    def read(self, question: str, today: date, world: World) -> Reading | Clarification:
        """Return the reading of a question, or a question about it."""
        world.today = today.isoformat()
        try:
            reading = Reading(self, question, today, world)
        except TooMany:
            return Clarification("This can be read in very many ways. Please ask it in parts.")
        return Clarification(" ".join(reading.asked)) if reading.asked else reading

    def corrected(self, question: str) -> str | None:
        """Return `question` without typing errors; None where no correction is sure."""
        out, at, changed = "", 0, False
        for token in split(question):
            if word := self.meant(token):
                out, at, changed = out + question[at : token.start] + word, token.end, True
        return out + question[at:] if changed else None

    def meant(self, token: Token) -> str | None:
        """Return the one word that `token` is with one slip of the finger."""
        low = token.low
        if token.kind != "word" or low in self.vocabulary or len(low) < 4 or low in _POLITE:
            return None
        close = {w for w in self.offered if w[0] == low[0] and near(low, w)}
        if len(close) > 1:  # a letter left out, doubled or exchanged is likelier than a wrong one
            close = {w for w in close if len(w) != len(low) or sorted(w) == sorted(low)}
        return close.pop() if len(close) == 1 else None


class Reading:
    """The possible meanings of the words of one question.

    Attributes:
        tokens: the words.
        unknown: words without a meaning; if there are any, the rest is not read.
        asked: the questions to be asked about a time.
        notes: which reading of a time was taken where there are others.
        running: whether a stated period lies partly in the future.
        kept: the places of the words that mean something.
        chart: the meanings of all parts of those; None where a word is unknown.
    """

    def __init__(self, reader: Reader, question: str, today: date, world: World) -> None:
        """Read a question."""
        self._reader = reader
        self._question = question
        self.tokens = [t for t in split(question) if t.low not in _POLITE]
        self.unknown: list[str] = []
        self.asked: dict[str, None] = {}
        self.notes: dict[str, None] = {}
        self.running = False
        times = list(self._times(today))
        dated = {k for e in times for k in range(e.start, e.end)}
        numbers = [e for e in self._numbers() if e.start not in dated]
        found = [*self._phrases(), *numbers, *times]
        skipped = {k for e in found if e.category == "SKIP" for k in range(e.start, e.end)}
        found += self._names({k for e in found for k in range(e.start, e.end)} | skipped)
        for order in (range(len(self.tokens)), reversed(range(len(self.tokens)))):
            skipped.update(takewhile(lambda k: k in skipped or self.tokens[k].low in ",;", order))
        self.kept = [k for k in range(len(self.tokens)) if k not in skipped]
        self.chart: Chart | None = None
        if not (self.unknown or self.asked) and self.kept:
            edges = self._placed(found)
            self.chart = Chart(
                reader.grammar,
                lambda name, got: FUNCTIONS[name](world, *got),
                edges,
                len(self.kept),
            )

    def meanings(self, category: str) -> dict[Any, int]:
        """Return the meanings of the whole question as `category`, with their costs."""
        return {} if self.chart is None else self.chart.meanings(0, len(self.kept), category)

    def place(self, edge: Edge) -> tuple[int, int]:
        """Return where the words of an edge of the chart begin and end in the question."""
        first, last = self.tokens[self.kept[edge.start]], self.tokens[self.kept[edge.end - 1]]
        return first.start, last.end

    def pieces(self) -> list[str]:
        """Return the longest parts that mean something by themselves, from the left."""
        out, at = list[str](), 0
        while self.chart and at < len(self.kept):
            ends = range(len(self.kept), at, -1)
            end = next((e for e in ends if self.chart.has(at, e, ("S", "NP", "M", "AGG"))), at + 1)
            out.append(" ".join(self.tokens[self.kept[k]].text for k in range(at, end)))
            at = end
        return out

    # --- edges, over all tokens

    def _phrases(self) -> Iterable[Edge]:
        low = ["A" if t.start and t.text == "A" else t.low for t in self.tokens]
        entries, classes = self._reader.lex.entries, self._reader.grammar.classes
        for start in range(len(low)):
            for end in range(start + 1, min(len(low), start + self._reader.longest) + 1):
                text = " ".join(low[start:end])
                said = entries.get(bare(low[start:end]), ())
                for category, meaning in (*said, *classes.get(text, ())):
                    yield Edge(start, end, category, meaning)
                if text in self._reader.skip:
                    yield Edge(start, end, "SKIP", None)

    def _numbers(self) -> Iterable[Edge]:
        for at, t in enumerate(self.tokens):
            if t.kind == "id":
                for found in self._reader.lex.identities(t.text):
                    yield Edge(at, at + 1, "ID", found)
            elif t.kind == "number" and re.fullmatch(r"\d{1,3}\.\d{3}", t.low):
                self.unknown.append(t.text)  # twelve thousand, or twelve?
            elif t.kind == "number" and not t.low[-1].isalpha():
                yield Edge(at, at + 1, "NUM", float(t.low.replace(",", "")))
            elif t.low in _COUNTS or (t.low == "one" and at and self.tokens[at - 1].low in _THAN):
                yield Edge(at, at + 1, "NUM", float(_COUNTS.get(t.low, 1)))

    def _times(self, today: date) -> Iterable[Edge]:
        low = [t.low for t in self.tokens]
        classes = ENGLISH.classes
        past = not classes["past"].isdisjoint(low) and classes["ahead"].isdisjoint(low)
        for found in read_dates(low, today, self._reader.weeks):
            whole = "" if "time of day" not in found.note else "Which whole days are meant?"
            if found.range is None or whole:
                self.asked[found.question or whole] = None
                continue
            text = " ".join(low[found.start : found.end])
            said = re.fullmatch(r"(?:the )?(?:last|past|previous) (\w+) days", text)
            number = said[1] if said else ""
            days = int(number) if number.isdecimal() else _COUNTS.get(number, 0)
            self.running |= found.ahead is not None and found.ahead.first == found.range.first
            when = When(*found.range, days, ahead=None if past else found.ahead)
            yield Edge(found.start, found.end, "WHEN", when)
            if found.note:
                self.notes[found.note] = None

    def _names(self, covered: set[int]) -> Iterable[Edge]:
        """Yield names that no schema knows; note words that are none."""
        at = 0
        while at < len(self.tokens):
            t, end = self.tokens[at], at + 1
            both = self._is_name(at) and not covered & {at + 1} and self._is_name(at + 1)
            if at not in covered and not both and self._reader.meant(t):
                self.unknown.append(t.text)  # a name, or a slip in a word that is known
            elif at not in covered and (t.kind == "quoted" or self._is_name(at)):
                while (
                    t.kind == "word"
                    and end < len(self.tokens)
                    and end not in covered
                    and self._is_name(end)
                ):
                    end += 1
                titled = at > 1 and self.tokens[at - 1].text in ("The", "A", "An")
                yield Edge(at, end, "UNK", self._text(at - titled, end))
            elif at not in covered and t.kind == "id":
                yield Edge(at, end, "UNK", t.text, 1)
                yield Edge(at, end, "CODE", t.text)
            elif at not in covered:
                self.unknown.append(t.text)
            at = end

    def _text(self, start: int, end: int) -> str:
        if end == start + 1:
            return self.tokens[start].text
        return self._question[self.tokens[start].start : self.tokens[end - 1].end]

    def _is_name(self, at: int) -> bool:
        """Return whether a word is written as a name; the first one is before another capital."""
        t, after = [*self.tokens, *[None] * 2][at : at + 2]
        if not t or t.kind != "word" or not t.text[:1].isupper():
            return False
        follows = after is not None and after.text[:1].isupper()
        return at > 0 or follows or t.text[1:] != t.text[1:].lower()

    def _placed(self, found: list[Edge]) -> list[Edge]:
        """Return the edges over the words that mean something."""
        place = {k: n for n, k in enumerate(self.kept)}
        asks = [e for e in found if e.category == "@ask" and e.end > e.start + 1]
        edges: dict[Edge, None] = {}  # in the order of the schemas, which options keep
        for e in found:
            within = [place[k] for k in range(e.start, e.end) if k in place]
            if e.category == "SKIP" or not within:
                continue
            # a noun inside a phrase that asks, as "check for", is less likely one
            noun = e.category in ("N", "NK", "N1") and any(
                a.start <= e.start and e.end <= a.end for a in asks
            )
            edges[Edge(within[0], within[-1] + 1, e.category, e.meaning, e.cost + noun)] = None
        return [*edges]
