"""Laws of planning by contracts, over random states."""

import contextlib
import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packages.adapters.tests.contract.planning import planner, rows
from toolplan import Toolbox, compile_plan
from toolplan.plan.path import Json
from toolplan.planners import Draft, Question
from toolplan_adapters.contract import ContractError, KnowledgeMode, read_text
from toolplan_adapters.contract.contracts import ENTITY_TYPES
from toolplan_adapters.contract.planner import KNOWLEDGE_MODES
from toolplan_adapters.contract.state import LEAST_CONFIDENCE, NEEDS_CLARIFICATION, MetaIntent
from toolplan_adapters.network import NETWORK_CONTRACTS, NETWORK_TOOLS

WORDS = st.text("abZ 9{}$-_é", max_size=8)


def _json() -> st.SearchStrategy[Json]:
    leaves: st.SearchStrategy[Json] = st.none() | st.booleans() | st.integers(-9, 9) | WORDS
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
        max_leaves=4,
    )


JSON = _json()
LISTS = st.lists(JSON, max_size=2)
MODES = st.sampled_from(KNOWLEDGE_MODES)


@st.composite
def intents(draw: st.DrawFn) -> dict[str, Json]:
    """Return an intent that is clear."""
    intent: dict[str, Json] = {
        "intent_class": draw(st.sampled_from(NETWORK_CONTRACTS.intent_classes))
    }
    if draw(st.booleans()):
        intent["meta_intent"] = draw(st.sampled_from(list(MetaIntent))).value
        intent["confidence"] = draw(st.floats(0.5, 1))
    if draw(st.booleans()):
        kinds = draw(st.lists(st.sampled_from(ENTITY_TYPES), max_size=3))
        intent["entities"] = [{"type": kind, "value": draw(WORDS)} for kind in kinds]
    if draw(st.booleans()):
        intent["domain_details"] = {"assessment_goal": draw(WORDS), "urgency": draw(WORDS)}
    return intent


@st.composite
def states(draw: st.DrawFn) -> dict[str, Json]:
    """Return a STATE that can be planned, with anything else in it."""
    state: dict[str, Json] = {"intent": draw(intents())}
    if draw(st.booleans()):
        state["plan"] = draw(st.dictionaries(WORDS, JSON, max_size=2))
    if draw(st.booleans()):
        state["plan"] = {"tasks": draw(JSON), "routing": draw(JSON), "more": draw(JSON)}
    if draw(st.booleans()):
        run_order, deltas = draw(LISTS), draw(LISTS)
        state["trace"] = {"node_run_order": run_order, "state_deltas": deltas, "more": draw(JSON)}
    for key in ("other", "input", "routing", "schema", "ontology", "conversation"):
        if draw(st.booleans()):
            state[key] = draw(JSON)
    return state


SAID = sorted(
    {
        "HQ", "hq-core-1", "10.1.0.2", "NTP", "last month", "and", "those", "why", "vlan 7",
        *(
            word
            for contract in NETWORK_CONTRACTS
            for skill in contract.skills
            for word in skill.evidence.words
        ),
    }
)  # fmt: skip
INTENTS = intents()
STATES = states()
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
OFTEN = settings(max_examples=1_000, deadline=None, suppress_health_check=QUIET)
SOME = settings(max_examples=100, deadline=None, suppress_health_check=QUIET)


@pytest.mark.timeout(300)  # a thousand plans take a while on a busy machine
@OFTEN
@given(STATES, MODES, st.booleans())
def test_nothing_but_four_paths_changes(
    state: dict[str, Json], mode: KnowledgeMode, parallel: bool
) -> None:
    """F001-1, F001-2, F001-3, C-25: over a thousand random states; what is given is unchanged."""
    kept = copy.deepcopy(state)
    after = planner(mode, parallel=parallel).plan(state)
    assert state == kept
    assert _without(after) == _without({"plan": {}, "trace": {}, **kept})
    before = kept.get("trace")
    trace = after["trace"]
    assert isinstance(trace, dict)
    for name in ("node_run_order", "state_deltas"):
        written = trace[name]
        was: Json = before.get(name) if isinstance(before, dict) else []
        assert isinstance(written, list)
        assert written[:-1] == was


@SOME
@given(INTENTS, STATES, STATES, MODES)
def test_the_same_intent_has_the_same_plan(
    intent: dict[str, Json], one: dict[str, Json], other: dict[str, Json], mode: KnowledgeMode
) -> None:
    """F001-4: whatever else the state holds."""
    first = planner(mode).plan({**one, "intent": intent, "plan": {}})
    second = planner(mode).plan({**other, "intent": copy.deepcopy(intent), "plan": {}})
    assert first["plan"] == second["plan"]


@SOME
@given(STATES, MODES, st.booleans())
def test_tasks_come_behind_what_they_depend_on(
    state: dict[str, Json], mode: KnowledgeMode, parallel: bool
) -> None:
    """F001-8, F001-9, F001-25: so there is no cycle, and one pass does."""
    seen: set[str] = set()
    for row in rows(planner(mode, parallel=parallel).plan(state)):
        assert set(row.depends_on) <= seen
        seen.add(row.id)


@SOME
@given(STATES, MODES, st.booleans(), st.sampled_from(["", "toolplan"]))
def test_every_plan_passes_its_check(
    state: dict[str, Json], mode: KnowledgeMode, parallel: bool, text: str
) -> None:
    """F001-1, F001-9: with names from anywhere, and without a word of complaint."""
    question = Question(text, "2026-11-01", {"state": state})
    proposal = planner(mode, parallel=parallel).proposal(question, NETWORK_TOOLS)
    assert isinstance(proposal, Draft)
    compiled = compile_plan(proposal.text, proposal.dialect, tools=NETWORK_TOOLS)
    assert compiled.plan is not None
    assert compiled.diagnostics == ()
    written = planner(mode, parallel=parallel).plan(state)
    assert [step.id for step in compiled.plan.plan.steps] == [row.id for row in rows(written)]
    assert compiled.plan.effects == ()


@SOME
@given(STATES)
def test_a_question_about_anything_is_planned_or_asked_about(state: dict[str, Json]) -> None:
    """F001-20: with no tools there is no draft; nothing is raised for any context."""
    proposal = planner().proposal(Question("?", "2026-11-01", {"state": state}), Toolbox([]))
    assert not isinstance(proposal, Draft)
    other = state.get("other")
    contexts: list[Json] = [other, {"state": other}, {"state": {"intent": state}}]
    for broken in contexts:
        found = planner().proposal(Question("?", "2026-11-01", broken), NETWORK_TOOLS)
        assert not isinstance(found, Draft)


def _without(state: dict[str, Json]) -> str:
    """Return a state without the four paths, as text: 1 is not True."""
    left = copy.deepcopy(state)
    for part, names in (
        ("plan", ("tasks", "routing")),
        ("trace", ("node_run_order", "state_deltas")),
    ):
        inner = left[part]
        assert isinstance(inner, dict)
        for name in names:
            inner.pop(name, None)
    return json.dumps(left, sort_keys=True)


@settings(max_examples=300, deadline=None, suppress_health_check=QUIET)
@given(
    st.text("abc:-{}[]&*!|>'\"#%@,? \n\t0~=<é\x85\u2028\ud800", max_size=40),
    st.sampled_from(["", "agent: A\ntool: a\nrole: domain\n", "---\n", "skills:\n  - name: x\n"]),
    st.sampled_from(["a.yaml", "a.md"]),
)
def test_no_text_of_a_contract_raises_anything_else(text: str, head: str, name: str) -> None:
    """A file is a contract, or an error that names it."""
    with contextlib.suppress(ContractError):
        assert read_text(name, head + text).agent


@settings(max_examples=300, deadline=None, suppress_health_check=QUIET)
@given(st.lists(st.sampled_from(SAID), max_size=8).map(" ".join) | st.text(max_size=60))
def test_any_words_are_read_as_an_intent_that_can_be_planned(text: str) -> None:
    """F001-4, F001-19, F001-20, F001-21."""
    reader = planner().reader
    intent = reader.read(text)
    assert intent == reader.read(text)
    confidence = intent["confidence"]
    assert isinstance(confidence, float)
    if intent["intent_class"] == NEEDS_CLARIFICATION:
        assert confidence < LEAST_CONFIDENCE
        assert intent["clarification_question"]
    else:
        assert LEAST_CONFIDENCE <= confidence < 1
        assert rows(planner().plan({"intent": intent}))
