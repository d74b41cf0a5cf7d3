"""Success criteria of Arazzo: the conditions that a plan can have, and those that it cannot."""

import pytest

from toolplan.engine._inputs import holds
from toolplan.plan.model import Ref, When
from toolplan.plan.path import Json
from toolplan_openapi.arazzo._expressions import Condition, Unsayable, criterion


@pytest.mark.parametrize(
    ("text", "schemas"),
    [
        ("$statusCode == 200", []),
        ("$statusCode < 300 && $statusCode >= 200", []),
        ("$statusCode == 200 || $statusCode == 204", []),
        ("$response.body#/a == 1", [{"const": 1}]),
        ("$response.body#/a != null", [{"not": {"const": None}}]),
        ("$response.body#/a >= -1.5", [{"type": "number", "minimum": -1.5}]),
        (
            "$response.body#/a == 'it''s 1+'",
            [{"type": "string", "pattern": r"^[iI][tT]'[sS] 1\+$"}],
        ),
        ("$response.body#/a == true && $response.body#/b > 1", [{"const": True}, None]),
    ],
)
def test_conditions_that_a_plan_can_say(text: str, schemas: list[Json]) -> None:
    read = criterion({"condition": text})
    assert len(read) == len(schemas)
    for found, wanted in zip(read, schemas, strict=True):
        assert wanted is None or found.schema == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "$statusCode == 404",
        "$statusCode == 200 || $response.body#/a == 1",
        "$response.header.x == 1",
        "$response.body#/a",
        "$response.body#/a == b",
        "$response.body#/a < 'x'",
        "$inputs.x == 1",
        "!($response.body#/a == 1)",
        "$response.body#/a b == 1",
        "$response.body#/a == 01",
    ],
)
def test_conditions_that_a_plan_cannot_say(text: str) -> None:
    with pytest.raises(Unsayable):
        criterion({"condition": text})


def met(given: Json, body: Json) -> bool | str:
    """Return whether `body` meets a criterion; text where a plan cannot ask it."""
    read: list[Condition]
    try:
        read = criterion({"context": "$response.body", **_fields(given)})
    except Unsayable as error:
        return str(error)
    whens = [When(Ref("s", each.path), each.schema) for each in read]
    verdicts = [holds(when, {"s": body}, 10_000) for when in whens]
    return all(each is True for each in verdicts)


def _fields(given: Json) -> dict[str, Json]:
    assert isinstance(given, list)
    return dict(zip(("type", "condition", "context"), given, strict=False))


_PETS: Json = {"pets": [{"id": 1, "kind": "cat", "tags": []}, {"id": 2, "name": None}], "n": 2}


@pytest.mark.parametrize(
    ("given", "is_met"),
    [
        (["regex", "^c.t$", "$response.body#/pets/0/kind"], True),
        (["regex", "^C", "$response.body#/pets/0/kind"], False),
        (["regex", "2", "$response.body#/n"], False),  # a number is no text
        (["regex", "^200$", "$statusCode"], True),
        (["regex", r"^2\d\d$", "$statusCode"], True),
        (["regex", "^20[0-4]$", "$statusCode"], True),
        (["jsonpath", "$.pets"], True),
        (["jsonpath", "$"], True),
        (["jsonpath", "$.pets[1].name"], True),  # null is there
        (["jsonpath", "$.pets[2]"], False),
        (["jsonpath", "$.n.x"], False),
        (["jsonpath", "$['pets'][0]['kind']"], True),
        (["jsonpath", "$.n == 2"], True),
        (["jsonpath", "$.n != null"], True),
        (["jsonpath", "$.n > 2"], False),
        (["jsonpath", '$.pets[0].kind == "cat"'], True),
        (["jsonpath", "$.pets[?@.id == 2]"], True),
        (["jsonpath", "$.pets[?(@.id == 3)]"], False),
        (["jsonpath", "$.pets[?@.id >= 2 && @.name == null]"], True),
        (["jsonpath", "$.pets[?@.kind == 'CAT']"], False),  # RFC 9535 compares exactly
        (["jsonpath", "$.pets[?@.kind != 'cat']"], True),  # one has no kind
        (["jsonpath", "$.pets[?@.tags]"], True),
        (["jsonpath", "$.pets[?@.tags[0]]"], False),
        (["jsonpath", "$[?@ == 2]"], True),  # the members of an object
        (["jsonpath", "$[?@.id]"], False),
        (["jsonpath", "$[0].id == 1", "$response.body#/pets"], True),
        ([{"type": "jsonpath", "version": "rfc9535"}, "$.pets"], True),
    ],
)
def test_criteria_of_other_languages(given: Json, is_met: bool) -> None:
    assert met(given, _PETS) is is_met


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["xpath", "/pets"], "type 'xpath'"),
        (["regex", "^404$", "$statusCode"], "2xx"),
        (["regex", "(2+)+$", "$statusCode"], "2xx"),
        (["regex", "2" * 60, "$statusCode"], "2xx"),
        (["regex", "^a$", "$response.header.x"], "not at '$response.header.x'"),
        (["regex", "^a$", None], "'context'"),
        (["jsonpath", None], "'condition'"),
        (["jsonpath", "$..pets"], "cannot be said"),
        (["jsonpath", "$.pets[*]"], "cannot be said"),
        (["jsonpath", "$.pets[-1]"], "cannot be said"),
        (["jsonpath", "$.pets[?count(@.tags) > 0]"], "cannot be said"),
        (["jsonpath", "$.pets[?@.id == 1 || @.id == 2]"], "cannot be said"),
        (["jsonpath", "$.pets[?!@.id]"], "cannot be said"),
        (["jsonpath", "$.pets[?@.id == $.n]"], "cannot be said"),
        (["jsonpath", "$.n == two"], "cannot be said"),
        (["jsonpath", "pets"], "cannot be said"),
        (["jsonpath", ""], "cannot be said"),
    ],
)
def test_criteria_of_other_languages_that_a_plan_cannot_say(given: Json, why: str) -> None:
    said = met(given, _PETS)
    assert isinstance(said, str)
    assert why in said
