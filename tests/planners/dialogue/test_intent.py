"""What a message is: whole, a continuation, a yes or no, or nothing at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planners.dialogue.conversation import DIALOGUES
from tests.planners.planned import demo
from toolplan.planners.grounded.catalogue.lexicon import compile_catalogue
from toolplan.planners.grounded.dialogue import Intent, read_intent

KNOWN = compile_catalogue(demo())


def intent(text: str, *, awaiting: bool = False) -> Intent:
    return read_intent(text, KNOWN, awaiting=awaiting)


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("Get me shipments from last week", 0.85),
        (
            "Get contaminated shipments from last week and show me the contaminant details",
            0.9,
        ),
        ("Analyze today's contaminants in Hannover", 0.85),
        (
            "From the inspections accepted this week, did we detect any high-risk contaminants?",
            0.9,
        ),
    ],
)
def test_c_18_the_four_scenarios_of_the_seed_are_queries(text: str, confidence: float) -> None:
    """F003-3, F003-23 ... F003-26: all four, with the confidence that the seed prints."""
    assert intent(text) == Intent("query", confidence)


@pytest.mark.parametrize(
    "text",
    [
        "Get shipments, facilities, and inspections",
        "Show me contaminated shipments that were rejected",
        "Analyse today's contaminants in Hannover",
        "accept shipment S1",
        "ok get shipments",
        "Get facilities in Berlin, then their shipments, then check for contaminants",
        "and show me facilities in Hamburg",
        "shipments with the same carrier",
        "just show me the shipments",
    ],
)
def test_c_18_what_could_stand_alone_is_a_query(text: str) -> None:
    """C-18: the seed read "and", "that", "accept" and its own spelling only as other kinds."""
    assert intent(text).kind == "query"


@pytest.mark.parametrize(
    "text",
    [
        "Show me the same for Munich",
        "Show me their shipments",
        "only the rejected ones",
        "and last month?",
        "what about contaminants?",
        "how about Hannover",
        "without the limit",
        "sort them by weight",
        "yes, but only the rejected ones",
        "which contaminants were found in them?",
        "which facilities were they at?",
        "get the shipments from there",
        "Hamburg instead of Munich",
        "how many of those were rejected?",
    ],
)
def test_what_points_back_is_a_follow_up(text: str) -> None:
    """C-18, F000-40: an anaphor, and nothing before it that it could speak of."""
    assert intent(text) == Intent("followup", 0.85)


@pytest.mark.parametrize("text", ["Munich?", "from last week", "how many were rejected?", "F3"])
def test_what_names_no_thing_may_be_a_follow_up(text: str) -> None:
    assert intent(text) == Intent("followup", 0.6)


@pytest.mark.parametrize(
    "text", ["yes", "Yes, please.", "ok go ahead", "sure", "do it", "That's right", "confirmed!"]
)
def test_short_assent_is_a_confirmation(text: str) -> None:
    """C-18, F003-28: only short messages that say nothing else."""
    assert intent(text) == Intent("confirmation", 0.95, agrees=True)


@pytest.mark.parametrize("text", ["no", "No, thanks", "don't", "never mind", "cancel that", "stop"])
def test_short_dissent_is_a_confirmation_too(text: str) -> None:
    assert intent(text) == Intent("confirmation", 0.95, agrees=False)


@pytest.mark.parametrize(
    "text",
    [
        "accept shipment S1",
        "yes no",
        "cancel shipment S20251012-001",
        "ok but only in Berlin",
        "no contaminated shipments",
        "right now I want to see everything that there is in the system",
    ],
)
def test_what_says_more_than_yes_or_no_is_no_confirmation(text: str) -> None:
    assert intent(text).kind != "confirmation"


@pytest.mark.parametrize(
    "text",
    [
        "Which carriers have the highest contamination rates?",
        "How many shipments were rejected last week?",
        "Are there contaminated shipments?",
        "is it true that shipments were rejected?",
    ],
)
def test_a_question_word_makes_a_question(text: str) -> None:
    """2.4: by its beginning, not by its sign at the end."""
    assert intent(text) == Intent("question", 0.9)


@pytest.mark.parametrize(
    "text",
    [
        "Show me stuff",
        "the data from that thing we talked about",
        "Run analysis on everything",
        "show me the things",
    ],
)
def test_f000_41_what_names_nothing_is_unclear(text: str) -> None:
    assert intent(text) == Intent("unclear", 0.3)


def test_f000_11_words_that_the_catalogue_does_not_know_are_not_unclear() -> None:
    assert intent("Run custom analytics").kind == "query"


@pytest.mark.parametrize("text", ["Berlin", "the second one", "shipments", "F3", "only those"])
def test_after_a_question_back_what_is_not_whole_answers_it(text: str) -> None:
    """2.4: awaiting an answer."""
    assert intent(text, awaiting=True) == Intent("clarification", 0.9)


@pytest.mark.parametrize("text", ["Get shipments from last week", "how many shipments are there?"])
def test_after_a_question_back_a_whole_question_is_a_new_one(text: str) -> None:
    assert intent(text, awaiting=True).kind in ("query", "question")


def test_the_first_message_of_a_conversation_is_never_a_continuation() -> None:
    for dialogue in DIALOGUES:
        text = dialogue["turns"][0]["ask"]
        if text not in ("Show me their shipments", "yes"):
            assert intent(text).kind in ("query", "question", "unclear"), text


@given(st.text(max_size=80), st.booleans())
def test_any_text_is_something(text: str, awaiting: bool) -> None:
    assert 0 <= intent(text, awaiting=awaiting).confidence <= 1


def test_a_long_text_is_read_in_no_time() -> None:
    assert intent("shipments of their own " * 100_000).kind
