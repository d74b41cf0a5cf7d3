"""Each lint: a catalogue that it speaks about, and one of which it has nothing to say."""

from __future__ import annotations

import pytest

from toolplan.compiler.lint import LINTS, Finding, lint_tools
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, Tool, Toolbox
from toolplan_demo import TOOLS

IDS: Json = {
    "type": "object",
    "properties": {"data": {"type": "array", "items": {"properties": {"id": {"type": "string"}}}}},
}


def takes(*required: str, **properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": [*required]}


def tool(
    name: str = "shipments_list",
    description: str = "Gives what was sent, the latest first.",
    raw_input: Json = None,
    raw_output: Json = None,
    effects: Effects = Effects.READ,
) -> Tool:
    return Tool(
        name,
        description,
        {"type": "object"} if raw_input is None else raw_input,
        {"type": "object", "properties": {"data": {"type": "array"}}}
        if raw_output is None
        else raw_output,
        effects,
    )


def found(code: str, *tools: Tool) -> list[Finding]:
    return [each for each in lint_tools(Toolbox(tools)) if each.code == code]


def test_a_good_tool_gives_no_finding() -> None:
    argument: Json = {"type": "string", "format": "date", "description": "The first day."}
    assert lint_tools(Toolbox([tool(raw_input=takes(date_from=argument))])) == []


def test_every_lint_has_a_code_and_explains_itself() -> None:
    assert len(LINTS) == 13
    for code, lint in LINTS.items():
        assert code == code.lower()
        assert len((lint.__doc__ or "").splitlines()) >= 3, code


def test_a_finding_names_the_place_and_the_help() -> None:
    (finding,) = found("no-description", tool(description=""))
    assert finding._asdict() == {
        "code": "no-description",
        "tool": "shipments_list",
        "pointer": "/description",
        "message": "The description is empty.",
        "help": "Say in a sentence what the tool returns or changes.",
    }


@pytest.mark.parametrize(
    ("arguments", "output", "is_unknown"),
    [
        ({"limit": {"type": "integer", "default": 50}}, {"type": "array"}, True),
        ({"max_results": {"type": "integer"}}, {"type": "array"}, True),
        ({"top": {"type": "integer"}}, None, True),
        ({"per_page": {"type": "integer"}, "page": {"type": "integer"}}, {"type": "array"}, False),
        ({"limit": {"type": "integer"}, "offset": {"type": "integer"}}, {"type": "array"}, False),
        ({"limit": {"type": "integer", "description": "All when left out."}}, None, False),
        ({"city": {"type": "string"}}, {"type": "array"}, False),
        (
            {"limit": {"type": "integer"}},
            {
                "type": "object",
                "properties": {"items": {"type": "array"}, "total": {"type": "integer"}},
            },
            False,
        ),
    ],
)
def test_unknown_completeness(arguments: Json, output: Json, is_unknown: bool) -> None:
    schema: Json = {"type": "object", "properties": arguments}
    listing = Tool("a", "Gives what was sent.", schema, output, Effects.READ)
    assert bool(found("unknown-completeness", listing)) is is_unknown
    whole: Json = {"type": "object", "properties": arguments, "x-pages": False}
    declared = Tool("a", "Gives what was sent.", whole, output, Effects.READ)
    assert not found("unknown-completeness", declared)


def test_unusable_schemas_are_found_and_stop_no_other_lint() -> None:
    bad = tool(raw_input={"type": "nonsense"}, raw_output={"type": 7}, description="")
    pointers = [each.pointer for each in found("unusable-schema", bad)]
    assert pointers == ["/input_schema", "/output_schema"]
    assert found("no-description", bad)


def test_untyped_arguments() -> None:
    (finding,) = found("untyped-argument", tool(raw_input=takes(what={}, how={"type": "string"})))
    assert finding.pointer == "/input_schema/properties/what"


PLAIN: Json = {"type": "string"}
SAYS_CHOICE = (
    "One of: open, closed.",
    "The state ('open', 'closed' or 'lost').",
    "Allowed values are open and closed.",
    'Either "asc", "desc" or "none"',
)
NO_CHOICE = (
    "The name of one of your friends.",
    "What was said, such as 'yes', 'no' or 'maybe'.",
    "The colour (e.g., 'red', 'green', 'blue').",
)
NO_ID = ("The name of an artist to retrieve the ID of.", "The name or ID of the user.")


def said(text: str) -> Json:
    return {"type": "string", "description": text}


def of(name: str, schema: Json) -> Tool:
    """Return a tool with this argument."""
    return tool(raw_input=takes(**{name: schema}))


UNDECLARED = Tool("a", "Gives what was sent.", {"type": "object"}, None, Effects.READ)
FOUND: list[tuple[str, Tool]] = [
    *(
        ("no-description", tool(description=text))
        for text in ("", "  ", "Shipments list.", "list shipments now")
    ),
    ("no-output-schema", UNDECLARED),
    ("unknown-effects", tool(effects=Effects.UNKNOWN)),
    ("date-as-text", of("date_from", PLAIN)),
    ("date-as-text", of("startDate", {"type": ["string", "null"]})),
    ("date-as-text", of("start", said("First day, YYYY-MM-DD."))),
    ("date-as-text", of("start", said("An ISO 8601 date."))),
    ("date-as-text", of("dates", {"type": "array", "items": said("A date.")})),
    *(("choice-as-text", of("state", said(text))) for text in SAYS_CHOICE),
    ("identifier-as-text", of("where", said("The ID of the facility."))),
    ("huge-enum", of("a", {"enum": [f"v{n}" for n in range(101)]})),
]
SILENT: list[tuple[str, Tool]] = [
    ("no-output-schema", tool()),
    ("unknown-effects", tool(effects=Effects.DESTRUCTIVE)),
    ("date-as-text", of("date_from", {"type": "string", "format": "date"})),
    ("date-as-text", of("date_from", {"type": "integer"})),
    ("date-as-text", of("update", said("The text to put in its place."))),
    ("date-as-text", of("start", said("Where the route starts."))),
    *(("choice-as-text", of("state", {"enum": ["a", "b"], "description": e})) for e in SAYS_CHOICE),
    *(("choice-as-text", of("name", said(text))) for text in NO_CHOICE),
    ("identifier-as-text", of("facility_id", said("The ID of the facility."))),
    *(("identifier-as-text", of("artist", said(text))) for text in NO_ID),
    ("huge-enum", of("a", {"enum": [f"v{n}" for n in range(100)]})),
]


@pytest.mark.parametrize(("code", "tool"), FOUND)
def test_is_found(code: str, tool: Tool) -> None:
    assert found(code, tool)


@pytest.mark.parametrize(("code", "tool"), SILENT)
def test_is_silent(code: str, tool: Tool) -> None:
    assert not found(code, tool)


def test_arguments_that_only_their_names_distinguish() -> None:
    (finding,) = found("indistinguishable-arguments", tool(raw_input=takes(a=PLAIN, b=PLAIN)))
    assert "'a', 'b'" in finding.message
    for one in (said("From where."), PLAIN):
        described = tool(raw_input=takes(a=one, b=said("To where.")))
        assert not found("indistinguishable-arguments", described)


NEEDS: Json = takes("facility_id", facility_id={"type": "string"})


@pytest.mark.parametrize(
    "giver",
    [
        tool("facilities_list", raw_output=IDS),
        tool("find", raw_output={"properties": {"facility_id": {"type": "string"}}}),
        tool("find", raw_output={"properties": {"facilityIds": {"type": "array"}}}),
        Tool("facility_search", "", {"type": "object"}, None, Effects.READ),
    ],
)
def test_an_identifier_that_some_tool_gives(giver: Tool) -> None:
    needs = tool(raw_input=NEEDS)
    assert found("unproduced-reference", needs)
    assert not found("unproduced-reference", needs, giver)


@pytest.mark.parametrize(
    "other",
    [
        tool("facilities_list"),  # it says what it gives, and that has no id
        tool("facility_delete", raw_output=IDS, effects=Effects.WRITE),
        tool("facility_get", raw_input=NEEDS, raw_output=IDS),
        tool("carriers_list", raw_output=IDS),
    ],
)
def test_an_identifier_that_no_tool_gives(other: Tool) -> None:
    assert found("unproduced-reference", tool(raw_input=NEEDS), other)


def test_an_identifier_that_is_not_needed_may_come_from_nowhere() -> None:
    assert not found("unproduced-reference", tool(raw_input=takes(facility_id={"type": "string"})))


def test_tools_that_read_nearly_the_same() -> None:
    text = "Gives all the shipments of a facility, with their carriers and weights, by date."
    one = tool("shipments_list", text)
    other = tool("list_shipments", text.replace("Gives", "Give"))
    (finding,) = found("similar-tools", one, other)
    assert finding.tool == "list_shipments"
    assert "'shipments_list'" in finding.message
    differs = tool("list_shipments", text, raw_input=takes(day={"type": "string"}))
    assert not found("similar-tools", one, differs)
    apart = tool("inspections_list", "Gives what inspectors wrote down of a facility.")
    assert not found("similar-tools", one, apart)


def test_the_demo_is_a_catalogue_that_is_easy_to_plan_over() -> None:
    assert {each.code for each in lint_tools(TOOLS)} <= {"choice-as-text"}
