"""The grammar file: words without meaning, classes of function words, and rules."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """`parts` make a `category`; `function` gets those with the numbers `takes`, or texts."""

    category: str
    parts: tuple[str, ...]
    function: str
    takes: tuple[int | str | None, ...]


@dataclass(slots=True, eq=False)
class Node:
    """A state in the middle of rules: the rules that end here, and the possible next parts."""

    children: dict[str, Node] = field(default_factory=lambda: defaultdict(Node))
    rules: list[Rule] = field(default_factory=list[Rule])


class Grammar:
    """A grammar as it was written.

    Attributes:
        skip: words that may stand anywhere and mean nothing.
        classes: by phrase, the classes that it is in, each with its meaning.
        rules: all rules; an optional part makes two of one, and so do alternatives.
        root: the state before the first part of all rules; equal beginnings share their states.
        words: all words of the grammar.
    """

    def __init__(self, text: str) -> None:
        """Read a grammar.

        Raises:
            ValueError: a line is not of the three kinds.
        """
        self.skip: set[str] = set()
        self.classes: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.rules: list[Rule] = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                self._line(line.partition("  #")[0].strip(), number)
        self.root = Node()
        for rule in self.rules:
            node = self.root
            for part in rule.parts:
                node = node.children[part]
            node.rules.append(rule)
        self.words = {word for text in (*self.classes, *self.skip) for word in text.split()}

    def _line(self, line: str, number: int) -> None:
        if found := re.fullmatch(r"skip: (.+)", line):
            self.skip |= {word.strip() for word in found[1].split(",")}
        elif found := re.fullmatch(r"(@\w+)(?:=(\S+?))?: (.+)", line):
            words = [","] if found[3] == "," else [word.strip() for word in found[3].split(",")]
            for word in words:
                self.classes[word].append((found[1], found[2] or word))
        elif found := re.fullmatch(r"(\w+) = (.+?) : (\w+)((?: \d+| =\S+)*)", line):
            self._rule(found[1], found[2].split(), found[3], found[4].split())
        else:
            raise ValueError(f"Line {number} of the grammar is no skip, class or rule: {line}")

    def _rule(self, category: str, parts: list[str], function: str, takes: list[str]) -> None:
        """Add a rule for each choice of alternatives and of omitted parts."""
        options = [
            [*((name, n) for name in part.strip("()").split("|")), *[None] * part.startswith("(")]
            for n, part in enumerate(parts, 1)
        ]
        for chosen in itertools.product(*options):
            kept = [each for each in chosen if each]
            place = {n: at for at, (_, n) in enumerate(kept)}
            taken = tuple(
                place.get(int(n)) if n.isdecimal() else None if n == "=*" else n[1:] for n in takes
            )
            self.rules.append(Rule(category, tuple(part for part, _ in kept), function, taken))


@cache
def load(name: str = "grammar.txt") -> Grammar:
    """Return the grammar of this package."""
    return Grammar(files("toolplan_offline").joinpath(name).read_text("utf-8"))
