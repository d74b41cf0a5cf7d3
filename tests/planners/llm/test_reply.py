"""What a model's reply is taken for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolplan import parse
from toolplan.planners import Clarification, Draft, Refusal
from toolplan.planners.llm import read_reply
from toolplan.providers import ModelError

PLAN = '{"toolplan": 1, "steps": [{"id": "a", "tool": "t", "args": {}}]}'


@pytest.mark.parametrize(
    "reply",
    [
        PLAN,
        f"Here is the plan:\n\n```json\n{PLAN}\n```\nShall I run it?",
        f"Here it is: {PLAN}",
        f"<think>First {{a}}, then b.</think>\n{PLAN}",
        f"```\n{PLAN}\n```",
    ],
)
def test_a_plan_with_words_around_it_is_read(reply: str) -> None:
    """L03: prose round one block is accepted. F003-11: plain, fenced, first to last brace."""
    proposal = read_reply(reply)
    assert isinstance(proposal, Draft)
    plan = parse(proposal.text, proposal.dialect).plan
    assert plan is not None
    assert [step.tool for step in plan.steps] == ["t"]


@pytest.mark.parametrize(
    ("reply", "dialect"),
    [
        ('{"steps": [{"tool": "t", "params": {}, "depends_on": []}]}', "clear"),
        ('{"steps": [{"tool": "t", "params": {}}, {"tool": "u", "dependsOn": [0]}]}', "clear"),
        ('<think>x</think><plan>[{"toolName": "t", "arguments": {}}]</plan>', "kirha"),
        ('[{"toolName": "t", "arguments": {}}]', "kirha"),
        ('1. t(a=1)\n2. u(b="$1")\n3. join()', "llmcompiler"),
        ("Plan: look it up\n#E1 = t[x]", "rewoo"),
        ('[{"name": "t", "arguments": {}, "label": "$var1"}]', "nestful"),
        ('{"task_nodes": [{"task": "t"}], "task_links": []}', "taskbench"),
        ('[{"api": "t", "parameters": {}, "responses": ["API_call_0"]}]', "sealtools"),
        ("I do not know how.", "toolplan"),
    ],
)
def test_any_dialect_that_comes_back_is_recognised(reply: str, dialect: str) -> None:
    proposal = read_reply(reply)
    assert isinstance(proposal, Draft)
    assert proposal.dialect == dialect


def test_a_question_back_and_a_refusal_are_no_plans() -> None:
    asked = read_reply('{"clarification": {"question": "Which city?", "options": ["Berlin", 3]}}')
    assert asked == Clarification("Which city?", ("Berlin",))
    refused = read_reply('```json\n{"refusal": {"reason": "No tool deletes."}}\n```')
    assert refused == Refusal("No tool deletes.")


def test_nothing_is_an_error() -> None:
    """L01."""
    for reply in ("", "  \n", "<think>hm</think>"):
        with pytest.raises(ModelError) as caught:
            read_reply(reply)
        assert caught.value.code == "llm-empty"


def test_two_plans_that_differ_are_no_plan() -> None:
    """L04."""
    other = PLAN.replace('"t"', '"u"')
    with pytest.raises(ModelError) as caught:
        read_reply(f"```json\n{PLAN}\n```\nor\n```json\n{other}\n```")
    assert caught.value.code == "llm-ambiguous"
    assert isinstance(read_reply(f"{PLAN}\nthat is {PLAN}"), Draft)


@given(st.text())
def test_any_text_is_a_proposal_or_a_named_error(text: str) -> None:
    assert _outcome(text) in ("plan", "clarification", "refusal", "llm-empty", "llm-ambiguous")


def _outcome(text: str) -> str:
    try:
        proposal = read_reply(text)
    except ModelError as error:
        return error.code
    match proposal:
        case Draft():
            return "plan"
        case Clarification():
            return "clarification"
        case Refusal():
            return "refusal"


def test_a_plan_block_is_read_whole_and_the_first_one_counts() -> None:
    """F002-4: no name of a dialect stands in the reader; the dialect marks its plan."""
    first = '<plan>[{"toolName": "t", "arguments": {"steps": 1}}]</plan>'
    second = first.replace('"t"', '"u"')
    for reply in (f"<think>{{x}}</think>{first}{second}", f"Sure.\n{first}", first[:30]):
        assert read_reply(reply) == Draft(reply, "kirha")


def test_calls_in_prose_make_no_plan_of_the_json_behind_them() -> None:
    proposal = read_reply(f"1. t(a=1)\n2. u(b=2)\nAs JSON: {PLAN}")
    assert isinstance(proposal, Draft)
    assert proposal.dialect == "toolplan"
