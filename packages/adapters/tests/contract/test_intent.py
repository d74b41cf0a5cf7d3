"""The offline intent reader, and the words of intents."""

import pytest

from toolplan.plan.path import Json
from toolplan_adapters.contract import Contracts, IntentReader, read_text
from toolplan_adapters.contract.contracts import ENTITY_TYPES
from toolplan_adapters.contract.intent import MOST_CHARACTERS
from toolplan_adapters.contract.planner import PREDICATES, reasons
from toolplan_adapters.contract.state import (
    NEEDS_CLARIFICATION,
    Entity,
    Intent,
    MetaIntent,
    intent_of,
)
from toolplan_adapters.network import NETWORK_CONTRACTS

READER = IntentReader(NETWORK_CONTRACTS)
FIRST = "Assess HQ against our configuration best practices."


def _history(*texts: str) -> Json:
    turns: list[Json] = [{"intent": READER.read(text)} for text in texts]
    return {"history": turns}


def test_an_intent_has_the_six_fields_of_the_state() -> None:
    """F001-19, F001-21: no key is invented."""
    text = "Urgent: check the production network at HQ for best practices last week"
    intent = READER.read(text)
    assert list(intent) == [
        "intent_class",
        "meta_intent",
        "domain_details",
        "entities",
        "confidence",
        "clarification_question",
    ]
    assert intent["domain_details"] == {
        "assessment_goal": text,
        "scope": {"site": "HQ", "environment": "production", "time_range": "last week"},
        "urgency": "high",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at HQ and in DataCenter-1", {"site": ["HQ", "DataCenter-1"]}),
        ("in datacenter 1", {"site": ["DataCenter-1"]}),
        ("at hq, at HQ", {"site": ["HQ"]}),
        ("the HQX building", {}),
        ("site Lisbon", {"site": ["Lisbon"]}),
        ("the Branch-9 site", {"site": ["Branch-9"]}),
        ("on hq-core-1", {"device": ["hq-core-1"]}),
        ("HQ-EDGE-1 is slow", {"device": ["hq-edge-1"]}),
        ("all routers and switches", {"device_type": ["router", "switch"]}),
        ("NTP and ssh", {"asset_target": ["NTP", "SSH"]}),
        ("the lab network", {"environment": ["lab"]}),
        ("over the last 30 days", {"timeframe": ["last 30 days"]}),
        ("in Q3 2026", {"timeframe": ["Q3 2026"]}),
        ("since the previous assessment", {"timeframe": ["since the previous assessment"]}),
        ("compare them", {"assessment_type": ["comparison"]}),
        ("are there exemptions", {"assessment_type": ["exceptions"]}),
        ("still open", {"assessment_type": ["tracking"]}),
        ("in ASM-2026-09", {"assessment_id": ["ASM-2026-09"]}),
        ("high-severity and low risk", {"severity": ["high", "low"]}),
        ("a high building", {}),
        ("device 10.1.0.2", {"ip_address": ["10.1.0.2"]}),
        ("version 10.1.0.2.3 and 300.1.1.1", {}),
        ("vlan 20", {"vlan": ["20"]}),
        ("as a table", {"output_format": ["table"]}),
        ("high priority, P1", {"priority": ["high", "P1"]}),
    ],
)
def test_entities_are_found(text: str, expected: dict[str, list[str]]) -> None:
    """F001-21: of all thirteen types."""
    found: dict[str, list[str]] = {}
    for each in IntentReader(NETWORK_CONTRACTS).entities(text):
        assert each.type in ENTITY_TYPES
        assert 0 < each.confidence <= 1
        found.setdefault(each.type, []).append(str(each.value))
    assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "Look at HQ.",
        "Check the network.",
        "Shipments from last week in Berlin",
        "Which facilities have the highest contamination rates?",
        "List facilities in Hannover",
        "check shipments of last week",
        "accept shipment S1",
        "compliance of inspections",
        "What is the risk type of lead?",
        "x" * (MOST_CHARACTERS * 2),
    ],
)
def test_what_is_not_clear_is_asked_about(text: str) -> None:
    """F001-20: the class says so, the confidence is below 0.5, and there is a question."""
    intent = READER.read(text)
    assert intent["intent_class"] == NEEDS_CLARIFICATION
    assert isinstance(intent["confidence"], float)
    assert intent["confidence"] < 0.5
    assert str(intent["clarification_question"]).startswith("What would you like")


def test_the_question_back_names_what_was_understood() -> None:
    """F001-20."""
    question = READER.read("Look at hq-core-1 in HQ")["clarification_question"]
    assert question == (
        "What would you like for HQ, hq-core-1: cbp assessment, cbp expert insights, cbp generic,"
        " security assessment?"
    )


@pytest.mark.parametrize(
    ("text", "meta"),
    [
        ("And what about DataCenter-1?", MetaIntent.FOLLOW_UP),
        ("Explain those findings", MetaIntent.FOLLOW_UP),
        ("Only the routers", MetaIntent.REFINEMENT),
        ("What does the policy say?", MetaIntent.POLICY_QUESTION),
        ("Compare it with last month", MetaIntent.COMPARISON),
        ("Why is that so?", MetaIntent.EXPLANATION),
        ("Assess HQ", MetaIntent.NEW_REQUEST),
    ],
)
def test_how_a_question_stands_to_what_was_said(text: str, meta: MetaIntent) -> None:
    """F001-10, C-26."""
    assert READER.read(text, _history(FIRST))["meta_intent"] == meta.value


@pytest.mark.parametrize(
    ("written", "meta"),
    [
        ("follow-up", MetaIntent.FOLLOW_UP),
        ("Follow Up", MetaIntent.FOLLOW_UP),
        ("new", MetaIntent.NEW_REQUEST),
        ("clarify", MetaIntent.CLARIFICATION),
        ("drill_down", MetaIntent.REFINEMENT),
        (None, MetaIntent.NEW_REQUEST),
    ],
)
def test_shorter_vocabularies_are_read_too(written: str | None, meta: MetaIntent) -> None:
    """C-26: all of them become the seven."""
    assert len(MetaIntent) == 7
    assert intent_of({"intent_class": "x", "meta_intent": written}).meta_intent is meta


def test_a_follow_up_takes_class_and_scope_from_before() -> None:
    """F001-10, F001-21: unless it names its own."""
    elsewhere = READER.read("And what about DataCenter-1?", _history(FIRST, "hello"))
    assert (elsewhere["intent_class"], elsewhere["confidence"]) == ("cbp_assessment", 0.75)
    assert intent_of(elsewhere).sites == ["DataCenter-1"]
    same = intent_of(READER.read("And their security?", _history(FIRST)))
    assert (same.intent_class, same.sites) == ("security_assessment", ["HQ"])
    alone = READER.read("And what about DataCenter-1?")
    assert alone["intent_class"] == NEEDS_CLARIFICATION
    strange: Json = {"history": [{"intent": {"intent_class": 1}}, {"intent": 2}, 3]}
    assert (
        READER.read("And what about DataCenter-1?", strange)["intent_class"] == NEEDS_CLARIFICATION
    )


@pytest.mark.parametrize("name", PREDICATES)
def test_no_predicate_holds_of_a_plain_intent(name: str) -> None:
    """F001-10, C-19."""
    plain = Intent("cbp_assessment", entities=(Entity("site", "HQ"),), confidence=0.9)
    assert not PREDICATES[name](plain)
    assert reasons(plain, "auto") == []
    assert reasons(plain, "always") == ["always"]
    assert reasons(plain, "never") == []


@pytest.mark.parametrize(
    ("text", "urgency"),
    [
        ("There is an outage at HQ", "critical"),
        ("As soon as possible", "high"),
        ("No hurry", "low"),
        ("Assess HQ", "normal"),
    ],
)
def test_urgency_is_read(text: str, urgency: str) -> None:
    """F001-21."""
    details = READER.read(text)["domain_details"]
    assert isinstance(details, dict)
    assert details["urgency"] == urgency


# Contracts without `evidence`


def _skill(name: str, description: str, more: str = "") -> str:
    head = f"agent: {name}\ntool: {name}\nrole: domain\nproduces: [findings]\n"
    return f"{head}skills:\n  - name: {name}\n    description: {description}\n{more}"


UNDECLARED = IntentReader(
    Contracts(
        read_text(f"{at}.yaml", text)
        for at, text in enumerate(
            (
                _skill(
                    "security_assessment",
                    "Assess exposure and posture of {scope} assets",
                    "    aliases: [sec_audit]",
                ),
                _skill("licence_assessment", "Count licences of {scope}"),
                _skill(
                    "cost_review",
                    "Sum up invoices of {scope}",
                    "    evidence:\n      words: {price: 3}",
                ),
            )
        )
    )
)


@pytest.mark.parametrize(
    ("text", "intent_class"),
    [
        ("security_assessment of HQ", "security_assessment"),
        ("a Security Assessment of HQ", "security_assessment"),
        ("sec audit for HQ", "security_assessment"),
        ("How is the security of HQ?", "security_assessment"),
        ("exposure and posture of HQ", "security_assessment"),
        ("licences at HQ", "licence_assessment"),
        ("cost review of HQ", "cost_review"),
        ("the price of HQ", "cost_review"),
        ("assess HQ", None),
        ("an assessment of HQ", None),
        ("weather", None),
        ("the assets of HQ", None),
        ("security and licences of HQ", None),
        ("invoices of HQ", None),
        ("scope", None),
    ],
)
def test_words_that_name_one_class_choose_it(text: str, intent_class: str | None) -> None:
    """Names, aliases and descriptions say which class is meant; what names none or two asks."""
    intent = UNDECLARED.read(text)
    assert intent["intent_class"] == (intent_class or NEEDS_CLARIFICATION)
    assert (intent["clarification_question"] is None) is (intent_class is not None)
