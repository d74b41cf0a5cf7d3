"""Plans of the Kirha adapter: asking for them, and reading them."""

import asyncio
import json

import pytest

from packages.adapters.tests.doubles import TODAY
from tests.doubles.model_replies import Raw
from tests.doubles.model_server import ScriptedModelServer
from toolplan.compiler import parse
from toolplan.plan.path import Json
from toolplan.providers import ModelError, Text
from toolplan.testing.tools import ScriptedModel
from toolplan_adapters.kirha import Plan, Planner, PlannerError, PlanParseError, Tool, parse_plan

WEATHER = Tool(
    name="get_weather",
    description="Get current weather for a city",
    input_schema=json.dumps(
        {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "City name"}},
            "required": ["city"],
        }
    ),
    output_schema=json.dumps(
        {
            "type": "object",
            "properties": {"temperature": {"type": "number"}, "condition": {"type": "string"}},
        }
    ),
)
REPLY = """<think>
I need to look at the sky.
</think>
<plan>
[{"thought": "Look", "toolName": "get_weather", "arguments": {"city": "Paris"}}]
</plan>"""


def generate(reply: str | ModelError) -> Plan | None:
    planner = Planner("", endpoint=ScriptedModel([reply]), today=lambda: TODAY)
    return asyncio.run(planner.generate_plan("What's the weather in Paris?", tools=[WEATHER]))


def steps(*items: Json) -> Plan:
    plan = parse_plan(f"<plan>{json.dumps(items)}</plan>")
    assert plan is not None
    return plan


def argument(value: Json, *, before: int = 2) -> Json:
    """Return `value` as the SDK shows it, where it is an argument of the last of several steps."""
    items: list[Json] = [{"toolName": "a"} for _ in range(before)]
    return steps(*items, {"toolName": "b", "arguments": {"x": value}}).steps[-1].arguments["x"]


# Asking


def test_a_plan_is_generated_in_one_request() -> None:
    """F002-1, F002-2, F002-4, F002-6, C-29: ids are positions, and stay what they are."""
    model = ScriptedModel([REPLY])
    planner = Planner("http://localhost:8080/v1", endpoint=model, today=lambda: TODAY)
    plan = asyncio.run(planner.generate_plan("What's the weather in Paris?", tools=[WEATHER]))
    assert plan is not None
    (step,) = plan.steps
    assert (step.step_id, step.tool_name, step.thought) == ("0", "get_weather", "Look")
    assert (step.arguments, step.status) == ({"city": "Paris"}, "pending")
    assert plan.think == "I need to look at the sky."
    assert plan.to_json() == [
        {
            "stepId": "0",
            "toolName": "get_weather",
            "arguments": {"city": "Paris"},
            "status": "pending",
            "thought": "Look",
        }
    ]
    assert len(model.requests) == 1


def test_the_prompt_is_the_one_that_the_model_was_trained_with() -> None:
    """F002-1, F002-3, F002-22, C-28: tools in a tag, instructions before them, temperature 0."""
    model = ScriptedModel([REPLY, REPLY])
    planner = Planner("", endpoint=model, today=lambda: TODAY)
    asked = planner.generate_plan("Paris?", tools=[WEATHER], instructions="Be brief.")
    asyncio.run(asked)
    asyncio.run(planner.generate_plan("x", tools=[WEATHER], temperature=0.3, max_tokens=99))
    request, other = model.requests
    system, user = request.messages
    assert system.text.startswith("# Instructions\nBe brief.")
    assert system.text.index("# Instructions") < system.text.index("# Available tools")
    assert system.text.rstrip().endswith("</tools>")
    assert '"City name"' in system.text
    assert (user.role, user.text) == ("user", "Paris?")
    assert (request.temperature, request.max_tokens) == (0, 10_000)
    assert (other.temperature, other.max_tokens) == (0.3, 99)


LIST = '[{"toolName": "get_weather", "arguments": {"city": "Paris"}}]'
LOOSE = "[{toolName: 'get_weather', 'arguments': {'city': 'Paris',},}]"


@pytest.mark.parametrize(
    "reply",
    [
        f"<plan>{LIST}</plan>", f"<plan>\n```json\n{LIST}\n```\n</plan>", f"<plan>{LOOSE}</plan>",
        f"```\n<plan>{LIST}</plan>\n```", LIST,
        f"Here:\n```json\n{LIST}\n```", f"<think>a <plan> b</think>\n{LIST}", f"<plan>{LIST}",
        f"<plan>{LIST}</plan>\n<plan>{LIST}</plan>", f"Sure.\n<plan>{LIST}</plan>\nBye.",
        f"<plan>// why\n{LIST}</plan>", f"<think>x</think>\n<plan>\n{LOOSE}\n</plan>",
    ],
)  # fmt: skip
def test_both_ways_read_the_same_plan(reply: str) -> None:
    parsed, generated = parse_plan(reply), generate(reply)
    assert parsed is not None
    assert generated is not None
    assert parsed.to_json() == generated.to_json()
    assert [step.tool_name for step in parsed.steps] == ["get_weather"]


@pytest.mark.parametrize(
    "reply",
    ["I cannot do that.", "<think>a <plan> would be</think> No.", '{"refusal": {"reason": "no"}}',
     "See [1] and {x}.", "<think>toolName</think>Nothing fits."],
)  # fmt: skip
def test_both_ways_give_none_where_no_plan_is_written(reply: str) -> None:
    assert parse_plan(reply) is None
    assert generate(reply) is None


@pytest.mark.parametrize(
    "reply", [f"<plan>{LIST[:-9]}", f"<plan>{LIST[:-9]}</plan>", "<plan>none</plan>"]
)
def test_both_ways_refuse_a_plan_that_cannot_be_read(reply: str) -> None:
    with pytest.raises(PlanParseError):
        parse_plan(reply)
    with pytest.raises(PlanParseError):
        generate(reply)


@pytest.mark.parametrize("reply", ["", " \n", "<plan>[]</plan>"])
def test_an_empty_reply_and_an_empty_plan_are_no_plan(reply: str) -> None:
    """F002-3."""
    with pytest.raises(PlannerError, match=r"^No plan generated$"):
        generate(reply)


@pytest.mark.parametrize(
    "body", [b'{"choices": []}', b'{"choices": null}', b"{}", b'{"choices": [{"message": null}]}']
)
def test_an_answer_without_choices_is_no_response(body: bytes) -> None:
    """F002-3: what the endpoint did is in the help."""
    with ScriptedModelServer([Raw(body, "application/json")]) as server:
        asked = Planner(server.url).generate_plan("Paris?", tools=[WEATHER])
        with pytest.raises(PlannerError) as raised:
            asyncio.run(asked)
    assert str(raised.value) == "No response from model"
    assert raised.value.help is not None
    assert "kirha/planner" in raised.value.help


def test_a_reply_that_breaks_off_is_the_failure_that_it_is() -> None:
    model = ScriptedModel([[Text("<plan>[{"), ModelError("llm-stream-cut", "It broke off.")]])
    with pytest.raises(ModelError, match="broke off"):
        asyncio.run(Planner("", endpoint=model).generate_plan("x", tools=[WEATHER]))


def test_an_endpoint_that_fails_is_reported_as_such() -> None:
    with pytest.raises(ModelError, match="down"):
        generate(ModelError("llm-unavailable", "down"))


def test_any_endpoint_that_is_compatible_will_do() -> None:
    """F002-1, F002-22: over real HTTP, with the key and the model's name where they belong."""
    with ScriptedModelServer(REPLY) as server:
        planner = Planner(server.url, "canary-key", today=lambda: TODAY)
        plan = asyncio.run(planner.generate_plan("Paris?", tools=[WEATHER]))
    assert plan is not None
    assert plan.steps[0].arguments == {"city": "Paris"}
    (request,) = server.requests
    assert isinstance(request.body, dict)
    assert request.body["model"] == "kirha/planner" == planner.model
    assert request.headers["authorization"] == "Bearer canary-key"
    assert "canary-key" not in repr(planner.__dict__)
    with pytest.raises(ModelError):
        Planner("no address")


# Reading


@pytest.mark.parametrize(
    ("item", "tool", "arguments"),
    [
        ({"toolName": "a", "tool": "b"}, "a", {}),
        ({"tool": "b", "toolName": "a"}, "a", {}),
        ({"toolName": None, "tool": "b"}, "b", {}),
        ({"tool": "t", "args": {"x": 1}, "arguments": {"x": 2}}, "t", {"x": 2}),
        ({"tool": "t", "parameters": {"x": 1}, "params": {"x": 2}}, "t", {"x": 2}),
        ({"tool": "t", "arguments": None, "args": {"x": 1}}, "t", {"x": 1}),
        ({"tool": "t", "arguments": {}, "args": {"x": 1}}, "t", {}),
    ],
)
def test_of_two_spellings_the_first_of_the_sdk_counts(
    item: Json, tool: str, arguments: Json
) -> None:
    """F002-5."""
    (step,) = steps(item).steps
    assert (step.tool_name, step.arguments) == (tool, arguments)


def test_the_spelling_that_is_not_read_is_named() -> None:
    """F002-5: no value is passed over in silence."""
    text = '<plan>[{"toolName": "a", "tool": "b", "args": {}, "params": {"x": 1}}]</plan>'
    found = parse(text, "kirha").diagnostics
    assert [(each.severity, each.pointer, each.message) for each in found] == [
        ("warning", "/steps/0/tool", "'tool' is not read, because 'toolName' is given."),
        ("warning", "/steps/0/args", "'params' is not read, because 'args' is given."),
    ]


def test_a_reference_object_with_more_in_it_is_an_error() -> None:
    """F002-9: the SDK dropped the rest of it."""
    with pytest.raises(PlanParseError, match="default"):
        argument({"fromStep": 0, "outputKey": "a", "default": 1})


@pytest.mark.parametrize("value", [{"fromStep": 5, "outputKey": "x"}, "{5.x}", "in {5}", "{2024}"])
def test_a_reference_to_no_step_is_an_error(value: Json) -> None:
    """F002-9, F002-10, C-32: in text it is one as well, where it used to stay as it was."""
    number = "2024" if value == "{2024}" else "5"
    with pytest.raises(PlanParseError) as raised:
        argument(value)
    assert str(raised.value) == f"Invalid dependency reference: step {number} not found"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("items.0.name", "items[0].name"),
        ('data["user"].name', "data.user.name"),
        ('["full name"]', '["full name"]'),
        (".foo..bar.", "foo.bar"),
        ("..items..[0]...name..", "items[0].name"),
        ('["a..b"].c', '["a..b"].c'),
        (".", ""),
        ("", ""),
    ],
)
def test_every_form_of_a_path_is_read_and_one_is_shown(written: str, shown: str) -> None:
    """F002-11, C-29."""
    assert argument({"fromStep": 0, "outputKey": written}) == {
        "$fromStep": "0",
        "$outputKey": shown,
    }


def test_a_plan_can_be_written_in_the_canonical_form() -> None:
    plan = steps({"toolName": "a"}, {"toolName": "b", "arguments": {"x": "{0.y}"}})
    assert json.loads(plan.text)["steps"][1]["args"] == {"x": "${0.y}"}
