"""The weakened rules: each replaces one piece of one module, which it has exactly once.

They stand in `mutants.txt`: a line `== MODULE`, then for each the lines of the piece after `- `,
the lines that replace it after `+ ` (a bare `+` for nothing), and an empty line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple


class Mutant(NamedTuple):
    """A module, a piece of its text, and what stands there instead."""

    module: str
    old: str
    new: str


def read(text: str) -> Iterator[Mutant]:
    """Yield the mutants that `text` writes down."""
    module = ""
    old: list[str] = []
    new: list[str] = []
    for line in (*text.split("\n"), ""):
        if line.startswith("== "):
            module = line[3:]
        elif line.startswith("- "):
            old.append(line[2:])
        elif line.startswith("+ "):
            new.append(line[2:])
        elif not line and old:
            yield Mutant(module, "\n".join(old), "\n".join(new))
            old, new = [], []


MUTANTS: Final = tuple(read(Path(__file__).with_name("mutants.txt").read_text("utf-8")))
