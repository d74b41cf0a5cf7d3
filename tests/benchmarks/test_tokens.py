"""What a plan and a loop are counted as, in tokens."""

from benchmarks.plans.rows import Fields, Row
from benchmarks.tokens import levels, measure
from toolplan import Tool, Toolbox
from toolplan.plan.model import Plan, Ref, Step

TOOLS = Toolbox([Tool("a", "", {"type": "object"}, None), Tool("b", "", {"type": "object"}, None)])
PLAN = Plan((Step("z", "b", {"x": Ref("x", ())}), Step("x", "a"), Step("y", "a", after=("z",))))


def words(text: str) -> int:
    return len(text.split())


def row(*steps: Fields) -> Row:
    return Row(
        "nestful_v1", "1", {"query": "Do it.", "steps": [*steps], "dialect": "nestful"}, TOOLS
    )


def test_a_step_is_as_deep_as_what_it_waits_for() -> None:
    assert levels(PLAN) == [1, 0, 2]


def test_a_loop_reads_all_that_was_said_before_each_call() -> None:
    steps: list[Fields] = [
        {"id": "x", "tool": "a", "arguments": {}, "result": "one two"},
        {"id": "z", "tool": "b", "arguments": {}},
        {"id": "y", "tool": "a", "arguments": {}},
    ]
    found = measure(row(*steps), PLAN, words, 10)
    call = words('{"name": "a", "arguments": {}}')
    head = found.loop_new - 3 * call - 22
    assert found.loop_requests == 4
    assert found.loop_out == 3 * call
    # what is sent: nothing, the first call with its two words, then calls with ten words each
    assert found.loop_in == 4 * head + (call + 2) + (2 * call + 12) + (3 * call + 22)
    assert found.plan_in > head
