"""The sets of questions, scored by results: how many are answered, and none wrongly."""

import asyncio
from collections.abc import Iterator

import pytest

from benchmarks.questions.__main__ import figures
from benchmarks.questions.asking import Checked, Verdict, check
from benchmarks.questions.sets import SETS, Talk, generated
from toolplan_offline import OfflinePlanner


def checked(talks: Iterator[Talk]) -> list[Checked]:
    async def collected() -> list[Checked]:
        return [each async for each in check(talks, OfflinePlanner())]

    return asyncio.run(collected())


def wrong(found: list[Checked]) -> list[str]:
    bad = (Verdict.WRONG, Verdict.FAILED)
    return [each.question for each in found if each.verdict in bad]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "share"), [("demo", 0.7), ("traps", 0.3), ("aggregates", 0.5), ("dialogues", 0.6)]
)
def test_no_question_of_a_set_is_answered_wrongly(name: str, share: float) -> None:
    found = checked(SETS[name]())
    assert wrong(found) == []
    sums = figures(found)
    assert sums.flips == 0
    assert sums.answered >= share * sums.questions


@pytest.mark.slow
def test_no_generated_question_is_answered_wrongly() -> None:
    found = checked(generated((1,), 3))
    assert wrong(found) == []
    assert figures(found).answered >= 0.5 * len(found)
