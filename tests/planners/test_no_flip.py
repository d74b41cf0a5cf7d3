"""A negation or a verb is never reversed: better no plan than the opposite one."""

from __future__ import annotations

import json

import pytest

from tests.planners.planned import arguments, kind, propose, statements
from toolplan.planners import Clarification, Draft, Refusal

WITH = [
    "contaminated shipments",
    "shipments with contaminants",
    "shipments with contamination",
    "shipments that have contaminants",
    "shipments containing contaminants",
    "shipments that are contaminated",
    "shipments that were found contaminated",
    "dirty shipments",
    "shipments that aren't clean",
    "shipments that are not clean",
]
WITHOUT = [
    "shipments without contamination",
    "shipments without contaminants",
    "shipments without any contaminants",
    "shipments with no contaminants",
    "shipments that have no contaminants",
    "shipments that don't have contaminants",
    "shipments that do not have any contaminants",
    "shipments that are not contaminated",
    "shipments that weren't contaminated",
    "shipments which aren't contaminated",
    "uncontaminated shipments",
    "non-contaminated shipments",
    "not contaminated shipments",
    "clean shipments",
    "shipments free of contamination",
    "shipments that were never contaminated",
]
NOT_REJECTED = [
    "shipments that were not rejected",
    "shipments that weren't rejected",
    "shipments which have not been rejected",
    "shipments not rejected",
    "non-rejected shipments",
    "shipments except rejected ones",
    "shipments that were never rejected",
]
UNTURNABLE = [
    "don't show rejected shipments",
    "do not list rejected shipments",
    "weren't there any rejected shipments?",
    "aren't there contaminated shipments?",
    "no rejected shipments",
    "no shipments from Hamburg",
    "isn't shipment S20251012-003 contaminated?",
    "don't create an inspection for shipment S20251012-003",
    "do not update shipment S20251012-003 to rejected",
    "don't mark shipment S20251012-003 as contaminated",
    "shipments not from last week",
    "neither pending nor rejected shipments",
    "all contaminants but lead",
    "all shipments but rejected ones",
    "shipments that are not rejected and contaminated",
    "shipments not rejected or contaminated",
]
DELETIONS = [
    "delete all shipments",
    "delete rejected shipments",
    "Please remove facility F2",
    "cancel shipment S20251012-003",
    "erase the contaminants in Berlin",
    "could you drop the inspections from last week",
    "get rid of the rejected shipments",
    "purge old shipments",
    "wipe everything",
    "list the shipments and delete them",
    "I want all rejected shipments removed",
    "show rejected shipments and cancel them",
]
IMPERATIVES = [
    "reject shipment S20251012-003",
    "accept inspection I20251012-001-1",
    "approve the pending inspections",
    "process shipment S20251012-003",
    "deliver shipment S20251012-003",
    "ship 500 kg of plastic to Berlin",
    "send the rejected shipments to Hamburg",
    "transport plastic to Berlin",
    "email me the rejected shipments",
    "get rejected shipments and process them",
    "show pending inspections and approve them",
    "close facility F2",
    "schedule an inspection for tomorrow",
    "report a contaminant in shipment S20251012-003",
    "could you reject shipment S20251012-003",
    "do reject shipment S20251012-003",
    "find rejected shipments and update them to pending",
    "list shipments and create an inspection for each",
]


@pytest.mark.parametrize("question", WITH)
def test_with_stays_with(question: str) -> None:
    proposal = propose(question)
    if isinstance(proposal, Draft):
        assert arguments(question) == [("shipments_list", {"has_contaminants": True})]


@pytest.mark.parametrize("question", WITHOUT)
def test_without_stays_without(question: str) -> None:
    proposal = propose(question)
    if isinstance(proposal, Draft):
        assert arguments(question) == [("shipments_list", {"has_contaminants": False})]


def test_most_of_them_are_answered() -> None:
    answered = [q for q in (*WITH, *WITHOUT, *NOT_REJECTED) if kind(propose(q)) == "draft"]
    assert len(answered) >= 0.9 * len((*WITH, *WITHOUT, *NOT_REJECTED))


@pytest.mark.parametrize("question", NOT_REJECTED)
def test_what_no_argument_can_deny_is_denied_by_a_computing_step(question: str) -> None:
    if kind(propose(question)) == "draft":
        assert arguments(question)[0] == ("shipments_list", {})
        assert statements(question) == ["""SELECT * FROM shipments WHERE status <> 'rejected'"""]


@pytest.mark.parametrize(
    "question",
    [
        "contaminants except lead and mercury",
        "contaminants other than lead or mercury",
        "contaminants excluding lead, mercury",
        "contaminants that are not lead or mercury",
    ],
)
def test_a_denial_goes_over_all_that_is_coordinated(question: str) -> None:
    assert statements(question) == [
        """SELECT * FROM contaminants WHERE type NOT IN ('Lead', 'Mercury')"""
    ]


def test_accepted_is_not_the_opposite_of_rejected() -> None:
    assert arguments("accepted inspections") == [("inspections_list", {"status": "accepted"})]
    assert arguments("rejected inspections") == [("inspections_list", {"status": "rejected"})]
    assert statements("inspections that were not accepted") == [
        """SELECT * FROM inspections WHERE status <> 'accepted'"""
    ]


@pytest.mark.parametrize("question", UNTURNABLE)
def test_a_denial_without_a_place_is_asked_about(question: str) -> None:
    proposal = propose(question)
    assert isinstance(proposal, Clarification), proposal
    assert proposal.unexplained


@pytest.mark.parametrize("question", DELETIONS)
def test_nothing_deletes(question: str) -> None:
    proposal = propose(question)
    assert isinstance(proposal, Refusal), proposal
    assert "deletes" in proposal.reason


@pytest.mark.parametrize("question", IMPERATIVES)
def test_an_imperative_never_becomes_a_question(question: str) -> None:
    assert kind(propose(question)) != "draft"


@pytest.mark.parametrize(
    "question",
    [
        "show the created shipments",
        "updates of shipment S20251012-003",
        "which shipments were updated yesterday",
        "list new inspections",
        "how many inspections were created last week",
    ],
)
def test_a_question_never_becomes_an_imperative(question: str) -> None:
    proposal = propose(question)
    if isinstance(proposal, Draft):
        tools = {step["tool"] for step in json.loads(proposal.text)["steps"]}
        assert not any("create" in tool or "update" in tool for tool in tools)
