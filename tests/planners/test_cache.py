"""The planner that remembers: what it keeps, what it gives again, and whom it asks."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.planners.cached import Counting, ask, caching, learn, metadata_of, plan_of
from tests.planners.planned import TODAY, demo
from toolplan import App, Diagnostic, Policy, Severity
from toolplan.plan.path import Json
from toolplan.planners import Attempt, Clarification, Draft, Question, Refusal
from toolplan.planners._base import Remembering
from toolplan.planners.cache import CachedPlanner
from toolplan.schema.tool import Arguments, Effects, Toolbox, ToolError
from toolplan.storage.plan_cache import PlanCache


def test_what_worked_is_given_again_without_asking() -> None:
    """F003-18: a hit returns the stored plan without a call of the model."""
    inner = Counting()
    planner = caching(inner)
    first = learn(planner, "rejected shipments")
    again = learn(planner, "rejected shipments")
    assert plan_of(again) == plan_of(first)
    assert inner.asked == ["rejected shipments"]
    assert planner.cache.stats().size == 1
    assert metadata_of(again)["cached_from"] == {"question": "rejected shipments", "today": TODAY}


def test_what_was_only_proposed_or_is_dropped_is_asked_for_again() -> None:
    inner = Counting()
    planner = caching(inner)
    assert isinstance(planner, Remembering)
    ask(planner, "rejected shipments")
    draft = learn(planner, "rejected shipments")
    planner.drop(Question("rejected shipments", TODAY), demo(), draft)
    ask(planner, "rejected shipments")
    assert len(inner.asked) == 3


@pytest.mark.parametrize("question", ["Show me stuff", "delete all shipments"])
def test_clarifications_and_refusals_are_never_kept(question: str) -> None:
    """C-17: never failed or clarifying results."""
    inner = Counting()
    planner = caching(inner)
    assert isinstance(ask(planner, question), Clarification | Refusal)
    assert isinstance(ask(planner, question), Clarification | Refusal)
    assert len(inner.asked) == 2
    assert planner.cache.stats().size == 0


def test_a_cached_draft_that_failed_is_forgotten_and_the_planner_is_asked() -> None:
    inner = Counting()
    planner = caching(inner)
    question = Question("rejected shipments", TODAY)
    learn(planner, question.text)
    cached = ask(planner, question.text)
    assert isinstance(cached, Draft)
    fault = Diagnostic("unknown-tool", Severity.ERROR, "There is no such tool.")
    asyncio.run(planner.propose(question, demo(), [Attempt(cached, (fault,))]))
    assert len(inner.asked) == 2
    assert inner.attempts_seen[-1][0].draft == cached
    ask(planner, question.text)
    assert len(inner.asked) == 3


def test_another_planner_version_policy_or_week_finds_nothing() -> None:
    """C-17: the key is over model, prompt version, date profile and policy."""
    store = PlanCache()
    learn(caching(store=store), "shipments from last week")
    asked: list[CachedPlanner] = [
        caching(store=store, name="another"),
        caching(store=store, version="2"),
        CachedPlanner(Counting(), store, name="offline", version="1", weeks="calendar"),
        CachedPlanner(
            Counting(), store, name="offline", version="1", policy=Policy(("shipments_list",))
        ),
    ]
    for planner in asked:
        assert planner.recall(Question("shipments from last week", TODAY), demo()) is None
    assert caching(store=store).recall(Question("shipments from last week", TODAY), demo())


def test_other_tools_find_nothing_and_another_order_of_them_does() -> None:
    """C-17: the key is over the digest of the whole tool objects."""
    planner = caching()
    learn(planner, "rejected shipments")
    question = Question("rejected shipments", TODAY)
    reordered = Toolbox(reversed(list(demo().values())))
    assert planner.recall(question, reordered) is not None
    fewer = Toolbox(tool for tool in demo().values() if tool.name != "facilities_get")
    assert planner.recall(question, fewer) is None
    relabelled = demo().labelled({"facilities_get": Effects.WRITE})
    assert planner.recall(question, relabelled) is None
    described = Toolbox(
        replace(tool, description="?") if tool.name == "facilities_get" else tool
        for tool in demo().values()
    )
    assert planner.recall(question, described) is None


def test_another_context_finds_nothing_but_its_timestamps_do_not_matter() -> None:
    """C-17: the key is over the context."""
    planner = caching()
    said: Json = {"episodic": [{"query": "facilities in Berlin", "timestamp": "10:00"}]}
    later: Json = {"episodic": [{"query": "facilities in Berlin", "timestamp": "11:00"}]}
    other: Json = {"episodic": [{"query": "facilities in Munich", "timestamp": "10:00"}]}
    learn(planner, "rejected shipments", context=said)
    question = Question("rejected shipments", TODAY)
    assert planner.recall(replace(question, context=later), demo()) is not None
    assert planner.recall(replace(question, context=other), demo()) is None
    assert planner.recall(question, demo()) is None


@pytest.mark.parametrize(
    "context", [{"semantic": [], "entities": []}, {"draft": {"plan": {}, "unexplained": []}}]
)
def test_nothing_said_is_one_context_also_with_the_draft_of_a_lower_planner(context: Json) -> None:
    planner = caching()
    kept = learn(planner, "rejected shipments")
    question = Question("rejected shipments", TODAY, context)
    found = planner.recall(question, demo())
    assert found is not None
    assert found.planner == "offline"  # it was made by that
    planner.keep(question, demo(), Draft(kept.text, kept.dialect, "llm"))
    found = planner.recall(question, demo())
    assert found is not None
    assert found.planner == "llm"


def test_a_plan_with_effects_is_given_for_its_own_question_only() -> None:
    inner = Counting()
    planner = caching(inner)
    learn(planner, "set the status of shipment S20251012-003 to delivered")
    assert ask(planner, "Set the status of shipment S20251012-003 to delivered.")
    ask(planner, "set the status of shipment S20251012-004 to delivered")
    ask(planner, "please set the status of shipment S20251012-003 to delivered")
    assert len(inner.asked) == 3


def test_hits_and_misses_are_counted() -> None:
    """F003-19."""
    planner = caching()
    learn(planner, "facilities in Berlin")
    ask(planner, "facilities in Berlin")
    ask(planner, "Facilities in Berlin?")
    ask(planner, "inspections")
    stats = planner.cache.stats()
    assert (stats.hits, stats.misses) == (2, 2)


def test_a_cache_that_cannot_be_used_costs_nothing_but_the_hit(tmp_path: Path) -> None:
    inner = Counting()
    planner = caching(inner, PlanCache(tmp_path))
    learn(planner, "facilities in Berlin")
    assert isinstance(ask(planner, "facilities in Berlin"), Draft)
    assert len(inner.asked) == 2
    assert planner.cache.note is not None


def test_a_plan_in_another_dialect_is_given_as_it_is() -> None:
    planner = caching()
    text = '{"steps": [{"tool": "facilities_list", "params": {"location": "Berlin"}}]}'
    planner.keep(Question("facilities in Berlin", TODAY), demo(), Draft(text, "clear"))
    assert ask(planner, "facilities in Berlin") == Draft(text, "clear")


def test_one_text_may_be_the_plan_of_two_questions() -> None:
    inner = Counting()
    planner = caching(inner)
    text = '{"steps": [{"tool": "facilities_list", "params": {}}]}'
    for question in ("facilities", "which places do we run"):
        planner.keep(Question(question, TODAY), demo(), Draft(text, "clear"))
        assert ask(planner, question) == Draft(text, "clear")
    assert inner.asked == []


@pytest.mark.parametrize("text", ["", "no plan", '{"steps": []}', "[1", '{"toolplan": 1}', "7"])
@pytest.mark.parametrize("dialect", ["toolplan", "kirha", "unheard of"])
def test_text_that_is_no_plan_serves_no_other_question(text: str, dialect: str) -> None:
    planner = caching()
    planner.keep(Question("facilities in Berlin", TODAY), demo(), Draft(text, dialect))
    assert planner.recall(Question("facilities in Munich", TODAY), demo()) is None
    assert planner.recall(Question("facilities in Berlin", TODAY), demo()) is not None


def test_a_session_takes_the_cached_plan_through_every_check() -> None:
    inner = Counting()
    planner = caching(inner)
    learn(planner, "facilities in Berlin")
    asked = asyncio.run(App(demo(), planner).plan("Facilities in BERLIN", today=TODAY))
    assert asked.plan is not None
    assert len(inner.asked) == 1


def test_a_session_asks_the_planner_where_the_cached_plan_fails_its_check() -> None:
    inner = Counting()
    planner = caching(inner)
    broken = '{"toolplan": 1, "steps": [{"id": "a", "tool": "gone", "args": {}}]}'
    planner.keep(Question("facilities in Berlin", TODAY), demo(), Draft(broken))
    asked = asyncio.run(App(demo(), planner).plan("facilities in Berlin", today=TODAY))
    assert asked.plan is not None
    assert [len(attempt.diagnostics) > 0 for attempt in asked.attempts] == [True, False]
    assert asked.compiled is not None
    again = asyncio.run(App(demo(), planner).plan("facilities in Berlin", today=TODAY))
    assert again.plan is not None
    assert again.plan.digest == asked.plan.digest
    assert len(again.attempts) == 1
    assert inner.asked == ["facilities in Berlin"]


def test_a_day_that_is_none_is_no_error_of_the_cache() -> None:
    planner = caching()
    question = Question("rejected shipments", "some day")
    assert planner.recall(question, demo()) is None
    planner.keep(question, demo(), Draft("{}"))
    assert planner.recall(question, demo()) is not None


async def _failing(arguments: Arguments) -> Json:
    raise ToolError(f"Nothing is known of {arguments}.")


def test_a_session_has_a_plan_forgotten_whose_run_fails() -> None:
    """C-17: failed results are never kept."""
    inner = Counting()
    planner = caching(inner)
    learn(planner, "facilities in Berlin")
    broken = Toolbox(replace(tool, call=_failing) for tool in demo().values())
    asked = asyncio.run(App(broken, planner).ask("facilities in Berlin", today=TODAY))
    assert not asked.succeeded
    assert len(inner.asked) >= 2
    assert planner.recall(Question("facilities in Berlin", TODAY), demo()) is None


def test_a_session_has_a_plan_kept_whose_run_ends_well() -> None:
    inner = Counting()
    planner = caching(inner)
    for question in ("facilities in Berlin", "Facilities in Berlin?", "facilities in Munich"):
        assert asyncio.run(App(demo(), planner).ask(question, today=TODAY)).succeeded
    assert inner.asked == ["facilities in Berlin", "facilities in Munich"]
    assert planner.cache.stats().size == 2
