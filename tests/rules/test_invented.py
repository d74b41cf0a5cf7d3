"""`invented-literal`: addresses, numbers and names that the question does not contain."""

from typing import Any

import pytest

from tests.rules.problems import problems
from toolplan.compiler.rules.invented_literal import EARLIER
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox

_ANY: dict[str, Any] = {}
_NAMES = (
    "to", "cc", "body", "city", "address", "customer_id", "account", "user", "phone", "link",
    "homeCity", "invoice_number", "title", "amount", "genre", "order", "owner", "guests", "date",
)  # fmt: skip
TOOLS = Toolbox.from_json(
    [
        {
            "name": "act",
            "description": "Acts. The desk of complaints is desk@shop.example.",
            "input_schema": {
                "type": "object",
                "properties": {
                    **dict.fromkeys(_NAMES, _ANY),
                    "sql": {"type": "string", "x-literal": True},
                    "team": {"type": "string", "enum": ["Blue Herons", "Red Foxes"]},
                    "country": {"type": "string", "default": "Portugal"},
                    "office": {"type": "string", "examples": ["Gate House"]},
                },
                "additionalProperties": False,
            },
        }
    ]
)


def found(question: str, args: Json, planner: str = "llm/m", earlier: Json = None) -> list[str]:
    """Return the pointers, inside of the arguments, of what is invented."""
    metadata: Json = {"query": question, "planner": planner, EARLIER: earlier}
    steps: Json = [{"id": "a", "tool": "act", "args": args}, {"id": "b", "tool": "act", "args": {}}]
    reported = problems("invented-literal", steps, TOOLS, metadata=metadata)
    return [each.pointer.removeprefix("/steps/0/args/") for each in reported]


INVENTED: list[tuple[str, str, dict[str, Json], str]] = [
    ("mail", "Show support about the leak", {"to": "support@acme.test"}, "to"),
    ("mail of a known person", "Write to Ana Sousa", {"to": "ana.sousa@mail.test"}, "to"),
    ("mail in a list", "Invite the board", {"cc": ["x", "chair@board.test"]}, "cc/1"),
    ("mail in a text", "Ask for a refund", {"body": "Reply to me at me@home.test."}, "body"),
    ("mail beside a reference", "Send the list", {"body": "${b} to z@z.test"}, "body"),
    ("phone in a text", "Book a table", {"body": "Call me: +351 21 555 01 23"}, "body"),
    ("phone", "Text the driver", {"phone": "(212) 555-0199"}, "phone"),
    ("link", "Share the minutes", {"link": "https://files.acme.test/1"}, "link"),
    ("place", "How warm is it?", {"city": "Lisbon"}, "city"),
    ("place in camelCase", "Who lives near?", {"homeCity": "Porto"}, "homeCity"),
    ("place with its country", "Find a dentist", {"address": "Graz, Austria"}, "address"),
    ("person", "Assign the task", {"owner": "Maria Lopez"}, "owner"),
    ("people in objects", "Plan a party", {"guests": [{"user": "Tom Hill"}]}, "guests/0/user"),
    ("identifier", "Show the customer", {"customer_id": "CUST-0042"}, "customer_id"),
    ("user", "Log in", {"user": "jdoe123"}, "user"),
    ("number of an account", "Pay the rent", {"account": 55512345}, "account"),
    ("digits as text", "Pay the bill", {"invoice_number": "88231"}, "invoice_number"),
]

KNOWN: list[tuple[str, str, dict[str, Json]]] = [
    ("case", "weather in LISBON", {"city": "Lisbon"}),
    ("accents", "weather in Malaga", {"city": "Málaga"}),
    ("ending", "hotels of German towns", {"address": "Germany"}),
    ("hyphen", "the weather in Stratford upon Avon", {"city": "Stratford-upon-Avon"}),
    ("quotes", "find 'Maria Lopez'", {"owner": "Maria Lopez"}),
    ("initials", "weather in NYC, no, in LA", {"city": "Los Angeles"}),
    ("country added", "weather in Graz", {"city": "Graz, Austria"}),
    ("code", "flights from Lisbon", {"city": "LIS"}),
    ("mail, other case", "write to Ana@Mail.test", {"to": "ana@mail.test"}),
    ("link of a named page", "what does Wikipedia say?", {"link": "https://en.wikipedia.org/wiki"}),
    ("phone with a prefix", "text 212 555 0199", {"phone": "+1 (212) 555-0199"}),
    ("identifier in parts", "show customer 42", {"customer_id": "CUST-0042"}),
    ("number with spaces", "pay to 5551 2345", {"account": "55512345"}),
    ("enum", "who won?", {"team": "Red Foxes"}),
    ("default", "who lives there?", {"country": "Portugal"}),
    ("examples", "who works there?", {"office": "Gate House"}),
    ("description", "file a complaint", {"to": "desk@shop.example"}),
    ("statement", "how many?", {"sql": "SELECT 'ann@x.test', 'CUST-0042'"}),
    ("other texts", "cheer them up", {"title": "Good Morning", "genre": "Comedy"}),
    ("numbers", "give them half a million", {"amount": 500000}),
    ("dates", "what is on today?", {"date": "2026-11-26", "order": "2026-11-26T10:00:00Z"}),
    ("reference", "write to her", {"to": "${b.mail}"}),
    ("no identity", "write to them", {"to": "everyone", "city": "anywhere", "user": "me"}),
]


@pytest.mark.parametrize(("question", "args", "place"), [e[1:] for e in INVENTED], ids=str)
def test_warns_of_what_a_model_invents(question: str, args: dict[str, Json], place: str) -> None:
    assert found(question, args) == [place]
    name = place.split("/")[0]
    assert found(f"{question} {args[name]}", args) == []
    assert found(question, args, earlier=[str(args[name])]) == []
    assert found(question, args, planner="grounded") == []


@pytest.mark.parametrize(("question", "args"), [each[1:] for each in KNOWN], ids=str)
def test_says_nothing_of_what_is_known(question: str, args: dict[str, Json]) -> None:
    assert found(question, args) == []


def test_says_nothing_where_the_question_is_not_known() -> None:
    steps: Json = [{"id": "a", "tool": "act", "args": {"to": "a@b.test"}}]
    assert problems("invented-literal", steps, TOOLS) == []


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("invented-literal", "chair@board.test"),
        ("ellipsis", "..."),
        ("secret-literal", "AKIA" + "A" * 16),
        ("unread-reference", "{{b.id}}"),
    ],
)
def test_items_that_are_written_out_are_looked_at_like_arguments(code: str, value: str) -> None:
    metadata: Json = {"query": "Invite the board", "planner": "llm/m"}
    steps: Json = [
        {"id": "a", "tool": "act", "for_each": ["x", value], "args": {"to": "${item}"}},
        {"id": "b", "tool": "act", "args": {}},
    ]
    (found,) = problems(code, steps, TOOLS, metadata=metadata)
    assert found.pointer == "/steps/0/for_each/1"
