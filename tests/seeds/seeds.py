"""The seeds' documents: the table of their code blocks, and the documents where they are there."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Final, NotRequired, TypedDict

from toolplan.plan.path import Json

SEEDS: Final = Path(__file__).parents[3] / "shared" / "seeds"
TABLE: Final = Path(__file__).with_name("documents.toml")


class Block(TypedDict):
    """A code block: where it begins, what runs it, or why nothing does."""

    line: int
    tests: NotRequired[list[str]]
    why: NotRequired[str]
    text: NotRequired[str]


class Asked(TypedDict):
    """A question, and its plan or the words that the planner without a model does not know."""

    text: str
    plan: NotRequired[list[tuple[str, dict[str, Json]]]]
    asked: NotRequired[list[str]]
    tests: NotRequired[list[str]]
    why: NotRequired[str]


class Document(TypedDict):
    """A document's code blocks by number, and its questions."""

    blocks: dict[str, Block]
    questions: NotRequired[list[Asked]]


@cache
def table() -> dict[str, Document]:
    """Return the table, by the first digits of the document's name."""
    read: dict[str, Document] = tomllib.loads(TABLE.read_text("utf-8"))  # type: ignore[assignment]
    return read


def code(document: str, number: int) -> str:
    """Return the text of a code block, as it is written in the document."""
    block = table()[document]["blocks"][str(number)]
    assert "text" in block
    return block["text"]


def source(document: str) -> str:
    """Return the text of a document; empty where it is not on this machine."""
    found = [*SEEDS.glob(f"{document}_*.txt")] if SEEDS.is_dir() else []
    return found[0].read_text("utf-8") if found else ""


def blocks_of(text: str) -> list[tuple[int, str]]:
    """Return line and text of each code block of a document; without any, of each list item."""
    lines = text.splitlines()
    fences = [at for at, line in enumerate(lines) if line.startswith("```")]
    if not fences:
        items = re.compile(r"(\*|\d+\.)\s")
        return [(at, line) for at, line in enumerate(lines, 1) if items.match(line)]
    return [
        (start + 1, "".join(f"{line}\n" for line in lines[start + 1 : end]))
        for start, end in zip(fences[::2], fences[1::2], strict=True)
    ]


_QUESTION = re.compile(
    r"""(?:Query\W{1,8}|e\.g\., |queries\ like\ |you\ ask:\ \**|generatePlan\(|_)"([^"\n$]{4,})"
    | (?:\.plan|handleQuery)\(\s*'([^'\n]+)'""",
    re.VERBOSE,
)
_ALONE = re.compile(r'^"([A-Z][^"\n]+)"', re.MULTILINE)
_ADVICE = re.compile(r"^## Best Practices$.*?(?=^## )", re.MULTILINE | re.DOTALL)


def questions_of(text: str) -> set[str]:
    """Return the questions of a document: behind `Query:`, given to a planner, in its advice."""
    found = {double or single for double, single in _QUESTION.findall(text)}
    return found.union(*(_ALONE.findall(part) for part in _ADVICE.findall(text)))
