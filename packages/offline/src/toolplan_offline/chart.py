"""A bottom-up chart over a lattice of phrases.

A cell keeps each meaning of a category once, with its least cost, so that many ways to the same
meaning are one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from toolplan_offline.grammar import Grammar, Node, Rule

MOST_MEANINGS: Final = 60
"""Maximum number of meanings of one category in one cell."""
MOST_STEPS: Final = 25_000
"""Maximum number of combinations for one question."""
MOST_WORDS: Final = 80
"""Maximum number of words that mean something."""

Calls: TypeAlias = Callable[[str, list[Any]], Iterable[tuple[Any, int]]]


class Edge(NamedTuple):
    """A phrase from token `start` to `end`, what it can be, and what that costs."""

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
    """All meanings of all parts of a question."""

    def __init__(self, grammar: Grammar, call: Calls, edges: Iterable[Edge], size: int) -> None:
        """Fill the chart for `size` tokens; `call` calls a function of the grammar."""
        if size > MOST_WORDS:
            raise TooMany
        self.steps = 0
        self._grammar, self._call = grammar, call
        self._cells: dict[tuple[int, int], dict[str, dict[Any, Found]]] = {}
        self._open: dict[tuple[int, int], dict[tuple[Node, tuple[Any, ...]], Found]] = {}
        given: dict[tuple[int, int], list[tuple[str, Any, Found]]] = defaultdict(list)
        for edge in edges:
            found = Found(edge.cost, None, (), ())
            given[edge.start, edge.end].append((edge.category, edge.meaning, found))
        for width in range(1, size + 1):
            for start in range(size - width + 1):
                self._fill(start, start + width, given[start, start + width])

    def meanings(self, start: int, end: int, category: str) -> dict[Any, int]:
        """Return the meanings that a part has as `category`, with their costs."""
        found = self._cells.get((start, end), {}).get(category, {})
        return {meaning: each.cost for meaning, each in found.items()}

    def has(self, start: int, end: int, categories: Iterable[str]) -> bool:
        """Return whether a part has a meaning as one of `categories`."""
        cell = self._cells.get((start, end), {})
        return any(cell.get(each) for each in categories)

    def phrases(self, start: int, end: int, category: str, meaning: object) -> Iterator[Edge]:
        """Yield the phrases of which `meaning` was made, from the left."""
        found = self._cells[start, end][category][meaning]
        if found.rule is None:
            yield Edge(start, end, category, meaning, found.cost)
            return
        at = start
        for part, got, to in zip(found.rule.parts, found.got, found.ends, strict=True):
            yield from self.phrases(at, to, part, got)
            at = to

    def _fill(self, start: int, end: int, queue: list[tuple[str, Any, Found]]) -> None:
        open_here: dict[tuple[Node, tuple[Any, ...]], Found] = {}
        for middle in range(start + 1, end):
            right = self._cells.get((middle, end), {}).items()
            for (node, got), found in self._open.get((start, middle), {}).items() if right else ():
                for category, meanings in right:
                    if after := node.children.get(category):
                        for meaning, other in meanings.items():
                            cost, ends = found.cost + other.cost, (*found.ends, end)
                            so_far = Found(cost, None, (*got, meaning), ends)
                            self._advance(after, so_far, open_here, queue)
        cell: dict[str, dict[Any, Found]] = {}
        while queue:
            category, meaning, found = queue.pop()
            known = cell.setdefault(category, {})
            if meaning in known and known[meaning].cost <= found.cost:
                continue
            if len(known) >= MOST_MEANINGS or self.steps > MOST_STEPS:
                raise TooMany
            known[meaning] = found
            if after := self._grammar.root.children.get(category):
                so_far = Found(found.cost, None, (meaning,), (end,))
                self._advance(after, so_far, open_here, queue)
        if cell:
            self._cells[start, end] = cell
        if open_here:
            self._open[start, end] = open_here

    def _advance(
        self,
        node: Node,
        found: Found,
        open_here: dict[tuple[Node, tuple[Any, ...]], Found],
        queue: list[tuple[str, Any, Found]],
    ) -> None:
        self.steps += 1
        got = found.got
        if node.children:
            old = open_here.get((node, got))
            if old is None or old.cost > found.cost:
                open_here[node, got] = found
        for rule in node.rules:
            given = [got[n] if isinstance(n, int) else n for n in rule.takes]
            for meaning, more in self._call(rule.function, given):
                whole = Found(found.cost + more, rule, got, found.ends)
                queue.append((rule.category, meaning, whole))
