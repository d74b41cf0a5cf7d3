"""Laws of the plan cache: whatever is asked, a hit is the plan that planning afresh gives."""

from __future__ import annotations

import json
from datetime import date, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.plan_cache import SETS, WORDS, demo, edited, keep, keeper, pairs, planned, steps
from tests.planners.planned import TODAY, propose
from toolplan.compiler import compile_plan
from toolplan.planners import Draft, GroundedPlanner, Question
from toolplan.planners.cache import CachedPlanner
from toolplan.planners.grounded.dates import Weeks
from toolplan.storage.plan_cache import PlanCache

KEPT = sorted({row.kept for name in SETS for row in pairs(name)})
TIMED = [
    "shipments from last week",
    "rejected shipments yesterday",
    "inspections since Monday",
    "contaminants found this month",
    "shipments in September",
    "how many shipments were there in the last 30 days?",
    "shipments from 2025-09-01 to 2025-09-30",
    "facilities in Berlin",
]

_PLANNER = keeper(1)


def _by_weeks(weeks: Weeks) -> tuple[GroundedPlanner, CachedPlanner]:
    grounded = GroundedPlanner(weeks=weeks)
    return grounded, CachedPlanner(grounded, PlanCache(), name="g", version="1", weeks=weeks)


_BY_WEEKS = {"rolling": _by_weeks("rolling"), "calendar": _by_weeks("calendar")}


def _recalled(kept: str, asked: str, plain: bool) -> Draft | None:
    _PLANNER.cache.clear()
    keep(_PLANNER, kept, plain)
    return _PLANNER.recall(Question(asked, TODAY), demo())


@given(
    st.sampled_from(KEPT),
    st.lists(st.tuples(st.integers(0, 200), st.sampled_from(WORDS)), min_size=1, max_size=2),
    st.booleans(),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_a_hit_for_a_changed_question_is_its_own_plan(
    kept: str, changes: list[tuple[int, str]], plain: bool
) -> None:
    """Where the grounded planner asks back, it has no plan to compare with: it asks on any doubt.

    Fixed examples, so that the suite always says the same; `python -m benchmarks.plan_cache
    --edits 20000 --seed …` looks further.
    """
    asked = edited(kept, [place for place, _ in changes], [word for _, word in changes])
    draft = _recalled(kept, asked, plain)
    fresh = None if draft is None else planned(asked)
    if draft is not None and fresh is not None:
        assert steps(draft.text) == steps(fresh)


@given(st.sampled_from(KEPT), st.sampled_from(KEPT))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_hit_for_another_question_is_its_own_plan(kept: str, asked: str) -> None:
    draft = _recalled(kept, asked, True)
    if draft is not None:
        assert steps(draft.text) == steps(planned(asked) or "{}")


@given(st.sampled_from(KEPT))
@settings(max_examples=40, deadline=None)
def test_a_kept_question_is_always_found_and_compiles(kept: str) -> None:
    """C-17: what is found is checked in full again; here, that it passes."""
    draft = _recalled(kept, f"  {kept}?", False)
    assert draft is not None
    assert compile_plan(draft.text, tools=demo()).plan is not None


@given(st.sampled_from(TIMED), st.integers(-40, 400), st.sampled_from(["rolling", "calendar"]))
@settings(max_examples=40, deadline=None)
def test_on_another_day_a_hit_is_that_days_plan(question: str, later: int, weeks: str) -> None:
    """C-17: never stale after midnight."""
    grounded, planner = _BY_WEEKS[weeks]
    planner.cache.clear()
    first = Question(question, TODAY)
    draft = grounded.plan(first, demo())
    assert isinstance(draft, Draft)
    planner.keep(first, demo(), draft)
    day = (date.fromisoformat(TODAY) + timedelta(days=later)).isoformat()
    found = planner.recall(Question(question, day), demo())
    if found is not None:
        fresh = grounded.plan(Question(question, day), demo())
        assert isinstance(fresh, Draft)
        assert steps(found.text) == steps(fresh.text)
        assert json.loads(found.text)["metadata"]["reference_date"] in (TODAY, day)


@given(st.text(max_size=80))
@settings(max_examples=100, deadline=None)
def test_any_text_is_found_after_it_was_kept_and_does_no_harm_before(text: str) -> None:
    question = Question(text, TODAY)
    _PLANNER.cache.clear()
    assert _PLANNER.recall(question, demo()) is None
    draft = propose("facilities in Berlin")
    assert isinstance(draft, Draft)
    _PLANNER.keep(question, demo(), draft)
    found = _PLANNER.recall(question, demo())
    assert found is not None
    assert steps(found.text) == steps(draft.text)
