"""Several who ask the same at once: one call, and each may stop waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.planners.cached import Counting, ask, caching
from tests.planners.planned import TODAY, demo
from toolplan.planners import Attempt, Draft, DraftText, OnText, Proposal, Question
from toolplan.planners.cache import CachedPlanner
from toolplan.storage.plan_cache import PlanCache
from toolplan.tools import Toolbox


def test_the_same_question_at_once_is_one_call() -> None:
    """F003-18: concurrent identical questions."""

    async def main() -> tuple[list[Proposal], Counting]:
        inner = Counting(gate=asyncio.Event())
        planner = caching(inner)
        questions = [Question(f"rejected shipments{end}", TODAY) for end in ("", "?", " ", "!")]
        asked = [asyncio.create_task(planner.propose(q, demo(), ())) for q in questions]
        other = asyncio.create_task(planner.propose(Question("inspections", TODAY), demo(), ()))
        await asyncio.sleep(0)
        assert inner.gate is not None
        inner.gate.set()
        await other
        return list(await asyncio.gather(*asked)), inner

    given, inner = asyncio.run(main())
    assert inner.asked == ["rejected shipments", "inspections"]
    assert len({plan_text(each) for each in given}) == 1


def plan_text(proposal: Proposal) -> str:
    assert isinstance(proposal, Draft)
    return proposal.text


@pytest.mark.parametrize("cancelled", [0, 1, 2])
def test_who_stops_waiting_does_not_stop_the_others(cancelled: int) -> None:
    async def main() -> Counting:
        inner = Counting(gate=asyncio.Event())
        planner = caching(inner)
        question = Question("rejected shipments", TODAY)
        asked = [asyncio.create_task(planner.propose(question, demo(), ())) for _ in range(3)]
        await asyncio.sleep(0.01)
        asked[cancelled].cancel()
        await asyncio.sleep(0.01)
        assert inner.gate is not None
        inner.gate.set()
        given = await asyncio.gather(*asked, return_exceptions=True)
        kinds = [isinstance(each, Draft) for each in given]
        assert kinds == [at != cancelled for at in range(3)]
        assert isinstance(given[cancelled], asyncio.CancelledError)
        return inner

    assert len(asyncio.run(main()).asked) == 1


def test_when_all_stop_waiting_the_call_stops_and_the_next_one_is_made_anew() -> None:
    async def main() -> Counting:
        inner = Counting(gate=asyncio.Event())
        planner = caching(inner)
        question = Question("rejected shipments", TODAY)
        asked = [asyncio.create_task(planner.propose(question, demo(), ())) for _ in range(2)]
        await asyncio.sleep(0.01)
        for each in asked:
            each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        assert inner.gate is not None
        inner.gate.set()
        assert isinstance(await planner.propose(question, demo(), ()), Draft)
        assert len(asyncio.all_tasks()) == 1
        return inner

    assert len(asyncio.run(main()).asked) == 2


def test_what_the_call_raises_all_who_wait_get_and_the_next_one_is_made_anew() -> None:
    async def main() -> Counting:
        inner = Counting(error=RuntimeError("no connection"))
        planner = caching(inner)
        question = Question("rejected shipments", TODAY)
        asked = [planner.propose(question, demo(), ()) for _ in range(3)]
        given = await asyncio.gather(*asked, return_exceptions=True)
        assert [str(each) for each in given] == ["no connection"] * 3
        inner.error = None
        assert isinstance(await planner.propose(question, demo(), ()), Draft)
        return inner

    assert len(asyncio.run(main()).asked) == 2


def test_a_planner_serves_one_loop_after_another() -> None:
    planner = caching()
    for _ in range(3):
        assert isinstance(ask(planner, "inspections"), Draft)


def test_all_who_wait_get_the_text_from_its_beginning() -> None:
    class Streaming:
        gate = asyncio.Event()

        async def propose(
            self,
            question: Question,
            tools: Toolbox,
            attempts: Sequence[Attempt],
            *,
            on_text: OnText | None = None,
        ) -> Proposal:
            assert on_text is not None
            for piece in ("", "lost"):
                on_text(DraftText(piece, "toolplan", "p", starts=not piece))
            on_text(DraftText("first ", "toolplan", "p", starts=True))
            await self.gate.wait()
            on_text(DraftText("second", "toolplan", "p"))
            return Draft("first second")

    async def main() -> list[str]:
        inner = Streaming()
        planner = CachedPlanner(inner, PlanCache(), name="p", version="1")
        texts: list[list[DraftText]] = [[], [], []]
        question = Question("shipments", TODAY)

        def ask(at: int) -> asyncio.Task[Proposal]:
            return asyncio.create_task(
                planner.propose(question, demo(), (), on_text=texts[at].append)
            )

        asked = [ask(0)]
        await asyncio.sleep(0.01)
        asked += [ask(1), ask(2)]
        await asyncio.sleep(0.01)
        asked[2].cancel()
        await asyncio.sleep(0.01)
        inner.gate.set()
        await asyncio.gather(*asked, return_exceptions=True)
        return ["".join(piece.text for piece in each) for each in texts]

    assert asyncio.run(main()) == ["lostfirst second", "first second", "first "]
