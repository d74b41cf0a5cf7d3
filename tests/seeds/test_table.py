"""Every code block and question of the seeds' documents has its line in `documents.toml`."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import cast

import pytest

from tests.seeds.seeds import Block, blocks_of, questions_of, source, table

ROOT = Path(__file__).parents[2]


def rows() -> Iterator[tuple[str, Block]]:
    for name, document in table().items():
        yield from ((f"{name} {n}", each) for n, each in document["blocks"].items())
        for asked in document.get("questions", []):
            yield f"{name} {asked['text']}", cast("Block", asked)


@cache
def functions(file: str) -> frozenset[str]:
    text = (ROOT / file).read_text("utf-8")
    return frozenset(re.findall(r"^(?:async )?def (test_\w+)\(", text, re.MULTILINE))


def test_each_row_names_tests_that_exist_or_says_why_there_are_none() -> None:
    for name, row in rows():
        assert row.get("tests") or row.get("why") or "plan" in row or "asked" in row, name
        for test in row.get("tests", []):
            file, _, function = test.partition("::")
            assert (ROOT / file).is_file(), (name, test)
            assert function in functions(file), (name, test)
        assert re.fullmatch(r"[A-Z2].{8,160}\.", row.get("why", "It says why.")), name


def test_each_decision_that_is_named_exists() -> None:
    known = "".join(page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md"))
    for name, row in rows():
        for decision in re.findall(r"\bC-\d+|\bF\d{3}-\d+", row.get("why", "")):
            assert re.search(rf"\b{decision}\b", known), (name, decision)
        for path in re.findall(
            r"\b(?:packages/\w+/tests|docs|tests)/[\w/.-]+\.\w+", row.get("why", "")
        ):
            assert (ROOT / path).is_file(), (name, path)


@pytest.mark.parametrize("name", table())
def test_no_block_and_no_question_of_a_document_is_missing(name: str) -> None:
    text = source(name)
    if not text:
        pytest.skip("the documents are not on this machine")
    kept = table()[name]
    found = blocks_of(text)
    assert [*kept["blocks"]] == [str(n) for n in range(1, len(found) + 1)]
    for block, (line, written) in zip(kept["blocks"].values(), found, strict=True):
        assert block["line"] == line
        assert block.get("text", written) == written
    assert {each["text"] for each in kept.get("questions", [])} == questions_of(text)


def test_a_block_or_question_that_is_not_in_the_table_is_found() -> None:
    text = "a\n```json\n{}\n```\n**Query**: `\"Get boats\"`\n```\nx\n```\nplanner.plan(\n  'Get')\n"
    assert blocks_of(text) == [(2, "{}\n"), (6, "x\n")]
    assert questions_of(text) == {"Get boats", "Get"}
