"""The planner for conversations: what it asks of the planner behind it, and what it never does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planners.dialogue.conversation import DIALOGUES, Talk
from tests.planners.planned import TODAY, demo
from toolplan.path import Json
from toolplan.planners import (
    Attempt,
    Clarification,
    Draft,
    GroundedPlanner,
    OnText,
    Planner,
    Proposal,
    Question,
    Refusal,
)
from toolplan.planners.grounded.dialogue import (
    AskedBack,
    DialoguePlanner,
    Pending,
    episode_of,
    pending_of,
)
from toolplan.storage.memory import BestEffortMemory, SqliteMemory
from toolplan.tools import Toolbox

BERLIN = json.dumps(
    {
        "toolplan": 1,
        "steps": [{"id": "f", "tool": "facilities_list", "args": {"location": "Berlin"}}],
        "metadata": {"query": "Get facilities in Berlin", "reference_date": TODAY},
    }
)


class Recorded:
    """A planner that writes down what it is asked and given."""

    def __init__(self, planner: Planner | None = None) -> None:
        self.planner = GroundedPlanner() if planner is None else planner
        self.asked: list[str] = []
        self.recalled: list[Json] = []
        self.tried: list[list[str]] = []
        self.kept: list[tuple[str, str]] = []
        self.dropped: list[tuple[str, str]] = []

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        self.asked.append(question.text)
        self.recalled.append(question.context)
        self.tried.append([attempt.draft.text for attempt in attempts])
        return await self.planner.propose(question, tools, attempts, on_text=on_text)

    def keep(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        self.kept.append((question.text, draft.text))

    def drop(self, question: Question, tools: Toolbox, draft: Draft) -> None:
        self.dropped.append((question.text, draft.text))


class Always:
    """A planner that gives the same proposal for everything."""

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal

    async def propose(
        self,
        question: Question,
        tools: Toolbox,
        attempts: Sequence[Attempt],
        *,
        on_text: OnText | None = None,
    ) -> Proposal:
        return self.proposal


def talk(behind: Planner) -> Talk:
    return Talk(planner=DialoguePlanner(behind))


def propose(
    planner: Planner, text: str, recalled: Json = None, attempts: Sequence[Attempt] = ()
) -> Proposal:
    return asyncio.run(planner.propose(Question(text, TODAY, recalled), demo(), attempts))


def after(plan: str, *, query: str = "Get facilities in Berlin", **more: Json) -> Json:
    episode: Json = {"query": query, "timestamp": "t", "plan": json.loads(plan)}
    return {"episodic": [episode], **more}


def test_a_whole_question_goes_on_as_it_is_with_its_context() -> None:
    behind = Recorded()
    planner = DialoguePlanner(behind)
    recalled = after(BERLIN)
    alone = propose(GroundedPlanner(), "Get shipments from last week")
    assert propose(planner, "Get shipments from last week", recalled) == alone
    assert behind.asked == ["Get shipments from last week"]
    assert behind.recalled == [recalled]


def test_f003_28_a_confirmed_plan_is_proposed_without_asking_the_planner() -> None:
    behind = Recorded()
    pending = Pending("Get facilities in Berlin", "Shall I?", ("yes", "no"), (), json.loads(BERLIN))
    recalled: Json = {"pending": pending.to_json()}
    proposal = propose(DialoguePlanner(behind), "ok go ahead", recalled)
    assert isinstance(proposal, Draft)
    assert json.loads(proposal.text) == json.loads(BERLIN)
    assert behind.asked == []


def test_f003_28_a_no_proposes_nothing_and_leaves_nothing_open() -> None:
    behind = Recorded()
    pending = Pending("q", "Shall I?", ("yes", "no"), (), json.loads(BERLIN))
    proposal = propose(DialoguePlanner(behind), "no", {"pending": pending.to_json()})
    assert isinstance(proposal, Clarification)
    assert pending_of("no", proposal) is None
    assert behind.asked == []


@pytest.mark.parametrize("text", ["yes", "no"])
def test_a_yes_to_nothing_never_runs_the_last_plan(text: str) -> None:
    behind = Recorded()
    assert isinstance(propose(DialoguePlanner(behind), text, after(BERLIN)), Clarification)
    assert behind.asked == []


def test_a_yes_to_several_options_asks_again_about_the_same() -> None:
    pending = Pending("Show me stuff", "Which?", ("shipments", "facilities"), ("stuff",))
    recalled: Json = {"pending": pending.to_json()}
    proposal = propose(DialoguePlanner(GroundedPlanner()), "yes", recalled)
    assert proposal == AskedBack(
        "Which?", ("shipments", "facilities"), ("stuff",), about="Show me stuff"
    )
    assert isinstance(proposal, Clarification)
    assert pending_of("yes", proposal) == pending.to_json()


@pytest.mark.parametrize("reply", ["2", "#2", "the second one", "facilities", "facility", "last"])
def test_an_option_is_chosen_by_its_place_or_its_words(reply: str) -> None:
    """F003-22: the answer to what was asked back resumes."""
    conversation = Talk()
    conversation.asked_back("Show me stuff")
    document = conversation.document("2" if reply == "last" else reply)
    assert document["steps"] == [{"id": "facilities", "tool": "facilities_list"}]
    metadata = document["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["follow_up_of"] == {
        "query": "Show me stuff",
        "read_as": "Show me facilities",
    }


def test_two_words_that_were_not_understood_are_replaced_one_after_the_other() -> None:
    conversation = Talk()
    assert conversation.asked_back("Get shipmets to Berln").unexplained == ("shipmets", "Berln")
    assert conversation.asked_back("shipment").unexplained == ("Berln",)
    assert conversation.steps("Berlin") == [
        {"id": "shipments", "tool": "shipments_list", "args": {"destination": "Berlin"}}
    ]


def test_a_new_question_leaves_what_was_asked_back_behind() -> None:
    conversation = Talk()
    conversation.asked_back("Show me stuff")
    assert conversation.steps("Get facilities in Berlin") == [
        {"id": "facilities", "tool": "facilities_list", "args": {"location": "Berlin"}}
    ]


def test_effects_are_never_repeated_by_a_continuation() -> None:
    """A plan with effects is not repeated without saying so; the yes is for just that call."""
    conversation = Talk()
    conversation.steps("Mark shipment S20251012-001 as delivered")
    asked = conversation.asked_back("same for S20251012-002")
    assert asked.options == ("yes", "no")
    assert 'shipments_update(id="S20251012-002", status="delivered")' in asked.question
    assert isinstance(conversation.say("same for S20251012-003"), Clarification)


@pytest.mark.parametrize("text", ["same again", "the same for S20251012-002", "do it again"])
def test_no_way_of_saying_it_repeats_effects_at_once(text: str) -> None:
    conversation = Talk()
    conversation.steps("Mark shipment S20251012-001 as delivered")
    assert isinstance(conversation.say(text), Clarification)


def test_an_order_about_what_was_read_asks_before_it_is_a_plan() -> None:
    conversation = Talk()
    conversation.steps("Get shipment S20251012-001")
    assert conversation.asked_back("mark it as delivered").options == ("yes", "no")
    assert conversation.steps("yes") == [
        {
            "id": "update_shipment",
            "tool": "shipments_update",
            "args": {"id": "S20251012-001", "status": "delivered"},
        }
    ]


def test_reading_after_an_effect_does_not_make_it_again() -> None:
    conversation = Talk()
    conversation.steps("Mark shipment S20251012-001 as delivered")
    steps = conversation.steps("show me its contaminants")
    assert isinstance(steps, list)
    assert [step["tool"] for step in steps if isinstance(step, dict)] == [
        "shipments_get",
        "contaminants_list",
    ]


def test_no_continuation_in_any_conversation_proposes_effects_without_a_yes() -> None:
    for dialogue in DIALOGUES:
        conversation = Talk()
        for turn in dialogue["turns"]:
            proposal = conversation.say(turn["ask"])
            if not isinstance(proposal, Draft):
                continue
            document = json.loads(proposal.text)
            tools = [demo()[step["tool"]] for step in document["steps"]]
            if "follow_up_of" in document["metadata"] and any(tool.has_effects for tool in tools):
                assert turn["ask"] in ("yes, go ahead", "F3")  # a yes, and a value asked for


def test_what_was_made_elsewhere_is_reported_to_who_made_it() -> None:
    """`Remembering`: a cache behind must learn of its own drafts, under its own questions."""
    behind = Recorded()
    planner = DialoguePlanner(behind)
    direct = propose(planner, "Get facilities in Berlin")
    recalled: Json = {
        "pending": Pending("Get shipmets", "?", ("shipments",), ("shipmets",)).to_json()
    }
    resumed = propose(planner, "shipments", recalled)
    edited = propose(planner, "the same for Munich", after(BERLIN))
    assert isinstance(direct, Draft)
    assert isinstance(resumed, Draft)
    assert isinstance(edited, Draft)
    for text, draft in (
        ("Get facilities in Berlin", direct),
        ("shipments", resumed),
        ("x", edited),
    ):
        planner.keep(Question(text, TODAY), demo(), draft)
        planner.drop(Question(text, TODAY), demo(), draft)
    assert [text for text, _ in behind.kept] == ["Get facilities in Berlin", "Get shipments"]
    assert behind.kept == behind.dropped
    alone = propose(GroundedPlanner(), "Get shipments")
    assert isinstance(alone, Draft)
    assert behind.kept[1][1] == alone.text


def test_an_edit_that_was_tried_is_asked_for_as_a_whole_question_then_given_up() -> None:
    behind = Recorded()
    planner = DialoguePlanner(behind)
    first = propose(planner, "the same for Munich", after(BERLIN))
    assert isinstance(first, Draft)
    assert behind.asked == []
    second = propose(planner, "the same for Munich", after(BERLIN), [Attempt(first)])
    assert behind.asked == ["Get facilities in Munich"]
    assert isinstance(second, Draft)
    assert second != first
    third = propose(
        planner, "the same for Munich", after(BERLIN), [Attempt(first), Attempt(second)]
    )
    alone = propose(GroundedPlanner(), "Get facilities in Munich")
    assert isinstance(alone, Draft)
    assert behind.tried[-1][1] == alone.text  # its own draft, as it wrote it
    assert isinstance(third, Clarification)


def test_a_bound_that_nobody_asked_for_does_not_stand_in_the_way() -> None:
    """F000-15: planners of the seed put `limit: 100` into every list."""
    args: Json = {"limit": 100}
    plan: Json = {"toolplan": 1, "steps": [{"id": "s", "tool": "shipments_list", "args": args}]}
    planner = DialoguePlanner(GroundedPlanner())
    then = after(json.dumps(plan), query="Get shipments")
    proposal = propose(planner, "only the rejected ones", then)
    assert isinstance(proposal, Draft)
    assert json.loads(proposal.text)["steps"][0]["args"] == {"limit": 100, "status": "rejected"}


def test_a_planner_that_writes_other_dialects_is_asked_for_whole_questions() -> None:
    """Planners never parse: a draft in another dialect stays the text that it is."""
    written = Draft("1. facilities_list()", "llmcompiler")
    assert propose(DialoguePlanner(Always(written)), "Get facilities in Bonn") == written
    planner = DialoguePlanner(GroundedPlanner(), small=Always(written))
    assert isinstance(propose(planner, "their shipments", after(BERLIN)), Clarification)


def test_only_a_model_may_plan_what_could_not_be_related_to_the_plan_before() -> None:
    """Others read no context, so that they would plan it as if nothing had been said."""
    text = json.dumps({"toolplan": 1, "steps": [{"id": "s", "tool": "shipments_list"}]})
    for name in ("", "grounded", "cache"):
        planner = DialoguePlanner(Always(Draft(text, planner=name)))
        assert isinstance(propose(planner, "only the nice ones", after(BERLIN)), Clarification)
    planner = DialoguePlanner(Always(Draft(text, planner="llm/openai:gpt-5")))
    proposal = propose(planner, "only the nice ones", after(BERLIN))
    assert isinstance(proposal, Draft)
    document = json.loads(proposal.text)
    assert document["steps"] == json.loads(text)["steps"]
    assert document["metadata"]["planner"] == "llm/openai:gpt-5"
    assert document["metadata"]["follow_up_of"] == {
        "query": "Get facilities in Berlin",
        "read_as": None,
    }


def test_a_model_does_not_make_effects_of_a_continuation_without_a_yes() -> None:
    call: Json = {"id": "s", "tool": "shipments_update", "args": {"id": "S20251012-001"}}
    text = json.dumps({"toolplan": 1, "steps": [call]})
    planner = DialoguePlanner(Always(Draft(text, planner="llm/openai:gpt-5")))
    proposal = propose(planner, "only the nice ones", after(BERLIN))
    assert isinstance(proposal, Clarification)
    assert proposal.options == ("yes", "no")


def test_a_follow_up_that_the_words_settle_costs_no_question_to_a_model() -> None:
    behind = Recorded()
    conversation = talk(behind)
    conversation.steps("Get facilities in Berlin")
    for text in ("the same for Munich", "their shipments", "only the rejected ones", "how many?"):
        conversation.steps(text)
    assert behind.asked == ["Get facilities in Berlin"]


def test_a_refusal_stays_a_refusal() -> None:
    planner = DialoguePlanner(Always(Refusal("Nothing does that.")))
    assert propose(planner, "delete them", after(BERLIN)) == Refusal("Nothing does that.")


def test_the_past_is_asked_for_only_where_there_is_one() -> None:
    """F000-41: with turns before, they are the options; without, what the tools are about."""
    text = "the data from that thing we talked about"
    options = ("shipments", "facilities", "contaminants", "inspections")
    assert Talk().asked_back(text).options == options
    conversation = Talk()
    conversation.steps("Get facilities in Berlin")
    assert conversation.asked_back(text).options == ("Get facilities in Berlin",)


def test_conversations_in_one_memory_know_nothing_of_each_other() -> None:
    """2.7: sessions are never shared."""
    memory = SqliteMemory()
    one, other = Talk(memory=memory, session="ada"), Talk(memory=memory, session="bob")
    one.steps("Get facilities in Berlin")
    other.steps("Get shipments from last week")
    assert one.steps("the same for Munich") == [
        {"id": "facilities", "tool": "facilities_list", "args": {"location": "Munich"}}
    ]
    assert other.steps("only the rejected ones") == [
        {
            "id": "shipments",
            "tool": "shipments_list",
            "args": {"date_from": "2025-10-05", "date_to": "2025-10-12", "status": "rejected"},
        }
    ]


def test_2_10_without_memory_there_are_answers_but_no_continuations(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    path.write_bytes(b"no database" * 1000)
    heard: list[str] = []
    memory = BestEffortMemory(SqliteMemory(path), lambda fault: heard.append(fault.code))
    conversation = Talk(memory=memory)
    assert conversation.steps("Get facilities in Berlin") == [
        {"id": "facilities", "tool": "facilities_list", "args": {"location": "Berlin"}}
    ]
    assert isinstance(conversation.say("the same for Munich"), Clarification)
    assert set(heard) == {"memory-damaged"}


def test_f000_39_an_episode_keeps_the_question_the_plan_and_what_was_spoken_of() -> None:
    question = Question("Get facilities in Berlin", TODAY)
    episode = episode_of(question, Draft(BERLIN), demo(), timestamp="t", text="3 facilities")
    assert episode.plan == json.loads(BERLIN)
    assert episode.entities == ("facility", "location:Berlin")
    assert (episode.query, episode.timestamp, episode.text) == (question.text, "t", "3 facilities")
    assert episode.pending is None


def test_an_episode_of_a_follow_up_speaks_of_all_that_it_is_about() -> None:
    conversation = Talk()
    conversation.steps("Get facilities in Berlin")
    conversation.steps("the same for Munich")
    assert conversation.memory.episodic("s")[0].entities == ("facility", "location:Munich")


JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["episodic", "semantic", "entities", "pending", "plan", "query", "steps", "metadata",
             "question", "options", "unexplained", "follow_up_of", "read_as", "tool", "id", "args"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip
MESSAGES = st.sampled_from(
    [turn["ask"] for dialogue in DIALOGUES for turn in dialogue["turns"]]
) | st.text(max_size=60)


@given(MESSAGES, JSON)
def test_any_context_and_any_message_have_a_proposal(text: str, recalled: Json) -> None:
    proposal = propose(_PLANNER, text, recalled)
    assert isinstance(proposal, Draft | Clarification | Refusal)


@settings(max_examples=20)
@given(st.lists(MESSAGES, min_size=2, max_size=4))
def test_any_conversation_goes_on(messages: list[str]) -> None:
    conversation = Talk()
    for message in messages:
        proposal = conversation.say(message)
        assert isinstance(proposal, Draft | Clarification | Refusal)


_PLANNER = DialoguePlanner(GroundedPlanner())
