"""A bottom-up chart over a lattice of phrases.

A cell keeps each meaning of a category once, with its least cost, so that many ways to the same
meaning are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from toolplan_offline.grammar import Grammar, Node, Rule

MOST_MEANINGS: Final = 60
"""Maximum number of meanings of one category in one cell."""
MOST_STEPS: Final = 8_000
"""Maximum number of combinations for one question."""
MOST_WORDS: Final = 80
"""Maximum number of words that mean something."""

Calls: TypeAlias = Callable[[str, list[Any]], Iterable[tuple[Any, int]]]
_Reached: TypeAlias = "tuple[str, Any, Found]"  # a category, its meaning, and how it was made


class Edge(NamedTuple):
    """A phrase from token `start` to `end`, a category and meaning of it, and their cost."""

    start: int
    end: int
    category: str
    meaning: Any
    cost: int = 0


class Found(NamedTuple):
    """The least cost of a meaning, and the rule and the ends of the parts that it comes of."""

    cost: int
    rule: Rule | None
    got: tuple[Any, ...]
    ends: tuple[int, ...]


class TooMany(Exception):
    """The question can be read in more ways than are worth comparing."""


class Chart:
    """All meanings of all parts of a question, filled from its end."""

    def __init__(self, grammar: Grammar, call: Calls, edges: Iterable[Edge], size: int) -> None:
        """Fill the chart for `size` tokens; `call` calls a function of the grammar."""
        if size > MOST_WORDS:
            raise TooMany
        self.steps = 0
        self._grammar, self._call = grammar, call
        # by first token, category, end and meaning
        self._cells: list[dict[str, dict[int, dict[Any, Found]]]] = [{} for _ in range(size + 1)]
        given: list[list[list[_Reached]]] = [[[] for _ in range(size + 1)] for _ in range(size)]
        for edge in edges:
            found = Found(edge.cost, None, (), ())
            given[edge.start][edge.end].append((edge.category, edge.meaning, found))
        for start in reversed(range(size)):
            for end in range(start + 1, size + 1):
                if given[start][end]:
                    self._fill(start, end, given[start])

    def meanings(self, start: int, end: int, category: str) -> dict[Any, int]:
        """Return the meanings that a part has as `category`, with their costs."""
        found = self._cells[start].get(category, {}).get(end, {})
        return {meaning: each.cost for meaning, each in found.items()}

    def has(self, start: int, end: int, categories: Iterable[str]) -> bool:
        """Return whether a part has a meaning as one of `categories`."""
        return any(end in self._cells[start].get(each, ()) for each in categories)

    def phrases(self, start: int, end: int, category: str, meaning: object) -> Iterator[Edge]:
        """Yield the phrases of which `meaning` was made, from the left."""
        found = self._cells[start][category][end][meaning]
        if found.rule is None:
            yield Edge(start, end, category, meaning, found.cost)
            return
        at = start
        for part, got, to in zip(found.rule.parts, found.got, found.ends, strict=True):
            yield from self.phrases(at, to, part, got)
            at = to

    def _fill(self, start: int, end: int, waiting: list[list[_Reached]]) -> None:
        """Add the meanings from `start` to `end`; `waiting` has those to add, by their end."""
        cell = self._cells[start]
        for category, meaning, found in waiting[end]:  # grows meanwhile
            known = cell.setdefault(category, {}).setdefault(end, {})
            if meaning in known and known[meaning].cost <= found.cost:
                continue
            if len(known) >= MOST_MEANINGS or self.steps > MOST_STEPS:
                raise TooMany
            known[meaning] = found
            if after := self._grammar.root.children.get(category):
                self._advance(after, Found(found.cost, None, (meaning,), (end,)), waiting)

    def _advance(self, node: Node, found: Found, waiting: list[list[_Reached]]) -> None:
        """Apply the rules that end at `node`, and go on to those that can follow it."""
        self.steps += 1
        _, _, got, ends = found
        for rule in node.rules:
            given = [got[n] if isinstance(n, int) else n for n in rule.takes]
            for meaning, more in self._call(rule.function, given):
                whole = Found(found.cost + more, rule, got, ends)
                waiting[ends[-1]].append((rule.category, meaning, whole))
        right = self._cells[ends[-1]]
        for category, after in node.children.items() if right else ():
            for end, meanings in right[category].items() if category in right else ():
                for meaning, other in meanings.items():
                    cost = found.cost + other.cost
                    longer = Found(cost, None, (*got, meaning), (*ends, end))
                    self._advance(after, longer, waiting)
