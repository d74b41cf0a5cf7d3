"""Contracts without `evidence`: names, aliases and descriptions say which class is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolplan_adapters.contract import IntentReader
from toolplan_adapters.contract.files import load_contracts
from toolplan_adapters.contract.state import NEEDS_CLARIFICATION

SECURITY = """
agent: Security Agent
tool: security_agent
role: domain
produces: [findings]
skills:
  - name: security_assessment
    aliases: [sec_audit]
    description: Assess exposure and posture of {scope} assets
"""
LICENCES = """
agent: Licence Agent
tool: licence_agent
role: domain
produces: [licences]
skills:
  - name: licence_assessment
    description: Count licences of {scope}
"""
DECLARED = """
agent: Cost Agent
tool: cost_agent
role: domain
produces: [costs]
skills:
  - name: cost_review
    description: Sum up invoices of {scope}
    evidence:
      words: {price: 3}
"""


@pytest.fixture
def reader(tmp_path: Path) -> IntentReader:
    for name, text in {"a": SECURITY, "b": LICENCES, "c": DECLARED}.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return IntentReader(load_contracts(str(tmp_path)))


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
    ],
)
def test_words_that_name_one_class_choose_it(
    reader: IntentReader, text: str, intent_class: str
) -> None:
    intent = reader.read(text)
    assert intent["intent_class"] == intent_class
    assert intent["clarification_question"] is None


@pytest.mark.parametrize(
    "text",
    [
        "assess HQ",
        "an assessment of HQ",
        "weather",
        "the assets of HQ",
        "security and licences of HQ",
        "invoices of HQ",
        "scope",
    ],
)
def test_what_names_none_or_two_is_asked(reader: IntentReader, text: str) -> None:
    intent = reader.read(text)
    assert intent["intent_class"] == NEEDS_CLARIFICATION
    assert intent["clarification_question"]
