"""Each lint: a catalogue that it speaks about, and one of which it has nothing to say."""

from __future__ import annotations

import pytest

from toolplan.path import Json
from toolplan.tool_lint import LINT_PAGES, LINTS, Finding, finding_to_json, lint_tools
from toolplan.tools import Effects, Tool, Toolbox
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


def test_every_lint_has_a_code_and_a_page() -> None:
    assert len(LINT_PAGES) == len(LINTS)
    for code, page in LINT_PAGES.items():
        assert code == code.lower()
        assert len(page.splitlines()) >= 3, code


def test_a_finding_names_the_place_and_the_help() -> None:
    (finding,) = found("no-description", tool(description=""))
    assert finding_to_json(finding) == {
        "code": "no-description",
        "tool": "shipments_list",
        "pointer": "/description",
        "message": "The description is empty.",
        "help": "Say in a sentence what the tool returns or changes.",
    }


@pytest.mark.parametrize("description", ["", "  ", "Shipments list.", "list shipments now"])
def test_no_description(description: str) -> None:
    assert found("no-description", tool(description=description))


def test_no_output_schema() -> None:
    silent = Tool("a", "Gives what was sent.", {"type": "object"}, None, Effects.READ)
    assert found("no-output-schema", silent)
    assert not found("no-output-schema", tool())


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


def test_unknown_effects() -> None:
    assert found("unknown-effects", tool(effects=Effects.UNKNOWN))
    assert not found("unknown-effects", tool(effects=Effects.DESTRUCTIVE))


def test_untyped_arguments() -> None:
    (finding,) = found("untyped-argument", tool(raw_input=takes(what={}, how={"type": "string"})))
    assert finding.pointer == "/input_schema/properties/what"


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("date_from", {"type": "string"}),
        ("startDate", {"type": ["string", "null"]}),
        ("start", {"type": "string", "description": "First day, YYYY-MM-DD."}),
        ("start", {"type": "string", "description": "An ISO 8601 date."}),
        ("dates", {"type": "array", "items": {"type": "string", "description": "A date."}}),
    ],
)
def test_dates_that_are_any_text(name: str, schema: Json) -> None:
    assert found("date-as-text", tool(raw_input=takes(**{name: schema})))


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("date_from", {"type": "string", "format": "date"}),
        ("date_from", {"type": "integer"}),
        ("update", {"type": "string", "description": "The text to put in its place."}),
        ("start", {"type": "string", "description": "Where the route starts."}),
    ],
)
def test_what_is_no_date(name: str, schema: Json) -> None:
    assert not found("date-as-text", tool(raw_input=takes(**{name: schema})))


@pytest.mark.parametrize(
    "description",
    [
        "One of: open, closed.",
        "The state ('open', 'closed' or 'lost').",
        "Allowed values are open and closed.",
        'Either "asc", "desc" or "none"',
    ],
)
def test_choices_that_are_any_text(description: str) -> None:
    schema: Json = {"type": "string", "description": description}
    assert found("choice-as-text", tool(raw_input=takes(state=schema)))
    listed: Json = {"enum": ["open", "closed"], "description": description}
    assert not found("choice-as-text", tool(raw_input=takes(state=listed)))


@pytest.mark.parametrize(
    "description",
    [
        "The name of one of your friends.",
        "What was said, such as 'yes', 'no' or 'maybe'.",
        "The colour (e.g., 'red', 'green', 'blue').",
    ],
)
def test_a_text_that_may_be_anything_is_no_choice(description: str) -> None:
    schema: Json = {"type": "string", "description": description}
    assert not found("choice-as-text", tool(raw_input=takes(name=schema)))


def test_identifiers_whose_name_does_not_say_so() -> None:
    schema: Json = {"type": "string", "description": "The ID of the facility."}
    assert found("identifier-as-text", tool(raw_input=takes(where=schema)))
    assert not found("identifier-as-text", tool(raw_input=takes(facility_id=schema)))
    for text in ("The name of an artist to retrieve the ID of.", "The name or ID of the user."):
        other: Json = {"type": "string", "description": text}
        assert not found("identifier-as-text", tool(raw_input=takes(artist=other)))


def test_arguments_that_only_their_names_distinguish() -> None:
    plain: Json = {"type": "string"}
    (finding,) = found("indistinguishable-arguments", tool(raw_input=takes(a=plain, b=plain)))
    assert "'a', 'b'" in finding.message
    said: Json = {"type": "string", "description": "From where."}
    other: Json = {"type": "string", "description": "To where."}
    assert not found("indistinguishable-arguments", tool(raw_input=takes(a=said, b=other)))
    assert not found("indistinguishable-arguments", tool(raw_input=takes(a=plain, b=said)))


def test_huge_enumerations() -> None:
    many: Json = {"enum": [f"v{n}" for n in range(101)]}
    few: Json = {"enum": [f"v{n}" for n in range(100)]}
    assert found("huge-enum", tool(raw_input=takes(a=many)))
    assert not found("huge-enum", tool(raw_input=takes(a=few)))


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
