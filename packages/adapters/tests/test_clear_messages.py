"""What a message is and names, as Clear AI's programs ask it: F003-3, F003-10, F003-28, C-18."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolplan.demo import TOOLS
from toolplan.storage.memory import Episode
from toolplan_adapters.clear.messages import (
    EntityCount,
    entity_record,
    read_entities,
    read_intent,
    read_references,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Get me shipments from last week", "query"),
        ("Get contaminated shipments from last week and show me the contaminant details", "query"),
        ("Analyze today's contaminants in Hannover", "query"),
        (
            "From the inspections accepted this week, did we detect any high-risk contaminants?",
            "query",
        ),
        ("accept shipment S1", "query"),
        ("Get shipments and their contaminants", "query"),
        ("Which carriers had the most rejected shipments?", "question"),
        ("Are there contaminated shipments?", "question"),
        ("Show me their shipments", "followup"),
        ("only the rejected ones", "followup"),
        ("and last month?", "followup"),
        ("Munich?", "followup"),
        ("what about contaminants?", "followup"),
        ("Show me stuff", "unclear"),
        ("hello", "unclear"),
    ],
)
def test_c_18_the_kind_of_a_message(text: str, kind: str) -> None:
    """F003-3, F003-23 to F003-26, F000-40, F000-41."""
    assert read_intent(text, TOOLS).kind == kind


@pytest.mark.parametrize(
    ("text", "agrees"),
    [
        ("yes", True),
        ("Yes, please.", True),
        ("go ahead", True),
        ("That's right", True),
        ("no", False),
        ("No, thanks", False),
        ("never mind", False),
    ],
)
def test_short_assent_or_dissent_is_a_confirmation(text: str, agrees: bool) -> None:
    """C-18, F003-28: only short messages that say nothing else."""
    found = read_intent(text, TOOLS)
    assert (found.kind, found.agrees) == ("confirmation", agrees)
    assert read_intent(f"{text} shipments in Berlin", TOOLS).kind != "confirmation"


@pytest.mark.parametrize("text", ["Berlin", "the second one", "shipments", "F3", "only those"])
def test_after_a_question_back_what_is_not_whole_answers_it(text: str) -> None:
    assert read_intent(text, TOOLS, awaiting=True).kind == "clarification"


@pytest.mark.parametrize(
    ("text", "act", "action"),
    [
        ("Create a new shipment from Berlin to Munich", "create", "create"),
        ("Update the facility capacity", "update", "update"),
        ("remove shipment S20251001-001", "delete", "remove"),
        ("Analyze contamination patterns of shipments", "analyze", "analyze"),
        ("track shipments of last week", "monitor", "track"),
        ("List contaminated shipments", "read", "list"),
        ("How many shipments?", "read", None),
        ("showing the address of facilities", "read", None),
    ],
)
def test_the_act_and_the_verb_of_a_message(text: str, act: str, action: str | None) -> None:
    """CREATE, READ, UPDATE, DELETE, ANALYZE and MONITOR; a part of a word is no verb."""
    found = read_intent(text, TOOLS)
    assert (found.act, found.action) == (act, action)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Get me shipments from last week", {"shipment", "temporal:2025-10-04..2025-10-11"}),
        (
            "Analyze today's contaminants in Hannover",
            {"contaminant", "location:Hannover", "temporal:2025-10-11..2025-10-11"},
        ),
        (
            "From the inspections accepted this week, did we detect any high-risk contaminants?",
            {
                "inspection",
                "contaminant",
                "status:accepted",
                "risk:high",
                "temporal:2025-10-06..2025-10-11",
            },
        ),
        (
            "rejected, accepted and pending inspections",
            {"inspection", "status:rejected", "status:accepted", "status:pending"},
        ),
        ("facilities in Frankfurt am Main", {"facility", "location:Frankfurt"}),
        ("Lagerorte in München", {"location:Munich"}),
        ("what is X-77?", {"id:X-77"}),
        ("shipment S20251012-001", {"shipment", "shipment:S20251012-001"}),
        ("in a hurry", set[str]()),
    ],
)
def test_f003_10_entities_of_the_seed(text: str, expected: set[str]) -> None:
    """F003-10, F000-39: compared as sets; the seed knew four phrases of time, and kept them all."""
    assert set(read_entities(text, TOOLS, today=date(2025, 10, 11))) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Show me those", ("those",)),
        ("Say more about them and that facility", ("them", "that")),
        ("Their shipments, and its contaminants", ("their", "its")),
        ("the same for Munich", ("same",)),
        ("Show me shipments", ()),
        ("itemise the facility's unit limit", ()),
        ("", ()),
    ],
)
def test_the_words_that_point_back(text: str, words: tuple[str, ...]) -> None:
    """`extractReferences`; "facility" holds no "it"."""
    assert read_references(text) == words


def test_the_record_of_a_conversation_counts_the_messages_that_name_an_entity() -> None:
    texts = ["Shipments from Berlin", "pending shipments in Berlin, in Berlin!", "Munich?"]
    assert entity_record(texts, TOOLS) == (
        EntityCount("shipment", 2),
        EntityCount("location:Berlin", 2),
        EntityCount("status:pending", 1),
        EntityCount("location:Munich", 1),
    )
    turns = [
        Episode(text, f"2025-10-1{at}T00:00:00Z", entities=read_entities(text, TOOLS))
        for at, text in enumerate(["facilities in Berlin", "Berlin again"])
    ]
    berlin = entity_record(turns, TOOLS)[0]
    assert (berlin.kind, berlin.count, berlin.last) == ("location", 2, "2025-10-11T00:00:00Z")


@given(st.text(max_size=80), st.booleans())
def test_any_text_is_something(text: str, awaiting: bool) -> None:
    assert read_intent(text, TOOLS, awaiting=awaiting).kind
    assert all(each and not each.startswith(":") for each in read_entities(text, TOOLS))
