"""Laws of the plan cache, for any question."""

from datetime import date, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planners.cached import caching
from tests.planners.planned import TODAY, demo
from toolplan.planners import Draft, Question

_PLANNER = caching()
_TEXT = '{"toolplan": 1, "steps": []}'


@given(st.text(max_size=80))
@settings(max_examples=100, deadline=None)
def test_any_text_is_found_after_it_was_kept_and_not_before(text: str) -> None:
    question = Question(text, TODAY)
    _PLANNER.cache.clear()
    assert _PLANNER.recall(question, demo()) is None
    _PLANNER.keep(question, demo(), Draft(_TEXT, "clear"))
    assert _PLANNER.recall(question, demo()) == Draft(_TEXT, "clear")
    assert _PLANNER.recall(Question(f"  {text} ?", TODAY), demo()) is not None


@given(st.sampled_from(["shipments from last week", "facilities"]), st.integers(-40, 400))
@settings(max_examples=40, deadline=None)
def test_a_plan_is_not_reused_on_another_day(question: str, later: int) -> None:
    """C-17: never stale after midnight."""
    _PLANNER.cache.clear()
    _PLANNER.keep(Question(question, TODAY), demo(), Draft(_TEXT))
    day = (date.fromisoformat(TODAY) + timedelta(days=later)).isoformat()
    assert (_PLANNER.recall(Question(question, day), demo()) is not None) == (later == 0)
