"""The strategy of the document without code: its configuration, and its workflow as a graph."""

import itertools

from packages.langgraph.tests.conversation import TWO, Conversation, plan, talk
from toolplan_langgraph import Configuration

ROLES = ("planner", "orchestrate", "task_assessment", "generate_response")
ARROWS = {
    ("__start__", "planner"),
    ("planner", "orchestrate"),
    ("planner", "__end__"),
    ("orchestrate", "call_tool"),
    ("orchestrate", "assess_task_completion"),
    ("call_tool", "assess_task_completion"),
    ("assess_task_completion", "advance_to_next_task"),
    ("assess_task_completion", "orchestrate"),
    ("advance_to_next_task", "orchestrate"),
    ("advance_to_next_task", "generate_response"),
    ("generate_response", "__end__"),
}
INSTEAD_OF_THE_END = {("orchestrate", "human_input"), ("orchestrate", "planner")}
BY_PEOPLE_OR_LIMITS = {"human_input", "give_up"}


def test_the_configuration_has_the_names_of_the_document() -> None:
    names = [f"{role}_{part}" for role in ROLES for part in ("system_prompt", "model")]
    assert [*Configuration.__struct_fields__][:9] == ["mcp_server_config", *names]
    assert Configuration().planner_model == "openai/gpt-4o" == Configuration().orchestrate_model
    assert callable(Configuration().get_mcp_server_descriptions)
    assert callable(Configuration().build_experts_context)


def test_the_graph_has_the_arrows_of_the_document() -> None:
    """F004-5 to F004-15, C-33: more arrows lead only to people, to limits, or to another plan."""
    conversation = Conversation(planner=[plan(*TWO)])
    drawn = conversation.graph.get_graph()
    arrows = {(each.source, each.target) for each in drawn.edges}
    assert arrows >= ARROWS | INSTEAD_OF_THE_END
    more = arrows - ARROWS - INSTEAD_OF_THE_END
    assert all(BY_PEOPLE_OR_LIMITS & {*each} for each in more)


def test_the_workflow_goes_along_the_arrows() -> None:
    conversation = Conversation(planner=[plan(*TWO)])
    state = talk(conversation, "How many shipments?")
    way = ["__start__", *conversation.visited, "__end__"]
    assert {*itertools.pairwise(way)} <= ARROWS
    assert conversation.visited.count("advance_to_next_task") == 2
    assert state.get("planner_result") is None
