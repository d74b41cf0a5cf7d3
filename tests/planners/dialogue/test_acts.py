"""What a message wants done, what it points back at, and what a conversation is about."""

from __future__ import annotations

import pytest

from toolplan.demo import TOOLS
from toolplan.planners.grounded.dialogue import (
    EntityCount,
    entity_record,
    read_entities,
    read_intent,
    read_references,
)
from toolplan.storage.memory import Episode


@pytest.mark.parametrize(
    ("text", "act", "action"),
    [
        ("Create a new shipment from Berlin to Munich", "create", "create"),
        ("Please add a facility in Berlin", "create", "add"),
        ("Get all facilities in Hannover", "read", "get"),
        ('Get facilities in "Hannover" and "Berlin"', "read", "get"),
        ("Update the facility capacity", "update", "update"),
        ("Delete the rejected shipment", "delete", "delete"),
        ("remove shipment S20251001-001 from the list", "delete", "remove"),
        ("erase all inspections", "delete", "erase"),
        ("Analyze contamination patterns and trends", "analyze", "analyze"),
        ("Analyse shipments and their contaminants", "analyze", "analyse"),
        ("What is the average weight?", "analyze", None),
        ("Monitor facility performance", "monitor", "monitor"),
        ("track shipments of last week", "monitor", "track"),
        ("approve the shipment", "perform", "approve"),
        ("Show me shipments", "read", "show"),
        ("List contaminated items", "read", "list"),
        ("Find pending shipments", "read", "find"),
        ("How many shipments?", "read", None),
        ("Hello world", "read", None),
        ("What about it?", "read", None),
        ("yes", None, None),
        ("Show me stuff", None, None),
    ],
)
def test_the_act_and_the_verb_of_a_message(text: str, act: str | None, action: str | None) -> None:
    """2.4: CREATE, READ, UPDATE, DELETE, ANALYZE and MONITOR, and `extractAction`."""
    found = read_intent(text, TOOLS)
    assert (found.act, found.action) == (act, action)


@pytest.mark.parametrize(
    "text", ["showing the address of facilities", "Get the inspections that were deleted"]
)
def test_a_part_of_a_word_is_no_verb(text: str) -> None:
    """2.4: the original counted parts of words, so that "address" was an "add"."""
    assert read_intent(text, TOOLS).act == "read"


@pytest.mark.parametrize(
    ("text", "operations"),
    [
        (
            "Find high-risk contaminants and check capacity",
            ("filter_high_risk", "read_contaminant", "check_capacity"),
        ),
        ("Analyze contamination patterns and trends", ("analyze_contamination",)),
        ("Analyze facility performance", ("analyze_facility_performance",)),
        ("Delete the rejected shipment", ("filter_rejected_status", "delete_shipment")),
        ("Create a new shipment from Berlin to Munich", ("create_shipment",)),
        ("approve the shipment", ("approve_shipment",)),
        ("Get shipments and their contaminants", ("read_shipment", "read_contaminant")),
        ("Show me contaminated shipments", ("filter_contaminated", "read_shipment")),
        ("inspections in Berlin", ("read_inspection", "filter_berlin_location")),
        ("Hello world", ()),
        ("yes", ()),
    ],
)
def test_the_operations_of_a_message(text: str, operations: tuple[str, ...]) -> None:
    """2.4: named by the verb and what it is about; "inspection" alone creates none."""
    assert read_intent(text, TOOLS).operations == operations


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Show me those", ("those",)),
        ("Tell me more about them and that facility", ("them", "that")),
        ("Their shipments, and its contaminants", ("their", "its")),
        ("the same for Munich", ("same",)),
        ("What is that?", ("that",)),
        ("check this", ("this",)),
        ("which shipments came from there", ("there",)),
        ("Show me shipments", ()),
        ("shipments that were rejected", ()),
        ("facilities that accept plastic", ()),
        ("is it true that all were rejected", ()),
        ("are there shipments this week", ()),
        ("itemise the facility's unit limit", ()),
        ("", ()),
    ],
)
def test_the_words_that_point_back(text: str, words: tuple[str, ...]) -> None:
    """2.4: `extractReferences`; "facility" holds no "it"."""
    assert read_references(text) == words


def test_the_record_of_a_conversation_counts_the_messages_that_name_an_entity() -> None:
    """2.4, 2.7: most frequent first, then as first named."""
    texts = ["Shipments from Berlin", "pending shipments in Berlin, in Berlin!", "Munich?"]
    assert entity_record(texts, TOOLS) == (
        EntityCount("shipment", 2),
        EntityCount("location:Berlin", 2),
        EntityCount("status:pending", 1),
        EntityCount("location:Munich", 1),
    )
    assert [each.kind for each in entity_record(texts, TOOLS)][:2] == ["shipment", "location"]
    assert entity_record([], TOOLS) == ()


def test_the_record_of_turns_from_memory_has_their_times() -> None:
    turns = [
        Episode(text, f"2025-10-1{at}T00:00:00Z", entities=read_entities(text, TOOLS))
        for at, text in enumerate(["facilities in Berlin", "Munich?", "Berlin again"])
    ]
    berlin, *others = entity_record(turns, TOOLS)
    assert berlin == EntityCount(
        "location:Berlin", 2, "2025-10-10T00:00:00Z", "2025-10-12T00:00:00Z"
    )
    assert [each.entity for each in others] == ["facility", "location:Munich"]
