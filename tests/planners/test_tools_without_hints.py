"""Tools without hints: one call where one tool alone fits all words, a question where not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

import pytest

import toolplan
from benchmarks.plain_tools.__main__ import Verdict, check
from toolplan.demo import demo_tools
from toolplan.planners import Clarification, Draft, GroundedPlanner, Proposal, Question, Refusal
from toolplan.planners.grounded.unhinted.proposal import MODEL_HELP
from toolplan.sources.sql import sql_tool
from toolplan.tools import Effects, Tool, Toolbox

TODAY = "2026-11-20"


def get_weather(city: str, units: Literal["metric", "imperial"] = "metric") -> dict[str, float]:
    """Get the current weather for a city."""
    return {"temperature": float(len(city + units))}


def search_movies(
    title: str | None = None, director: str | None = None, limit: int = 10
) -> list[str]:
    """Search for movies."""
    return [f"{title} {director}"][:limit]


def get_order_status(order_id: int) -> str:
    """Return the status of an order."""
    return f"{order_id} is sent"


def cancel_order(order_id: int) -> str:
    """Cancel an order."""
    return f"{order_id} is cancelled"


def transfer_money(from_account: str, to_account: str, amount: float) -> str:
    """Transfer money between accounts."""
    return f"{amount} {from_account} {to_account}"


def get_distance(origin: str, destination: str) -> float:
    """Distance between two cities."""
    return float(len(origin + destination))


def list_events(since: date | None = None, until: date | None = None) -> list[str]:
    """List the events of the calendar."""
    return [f"{since} {until}"]


def create_event(title: str, start: datetime, end: datetime) -> str:
    """Create an event in the calendar."""
    return f"{title} {start} {end}"


def read_mailbox(user: str, tags: list[str] | None = None) -> list[str]:
    """Read the mails of a user."""
    return [user, *(tags or ())]


def fetch(url: str) -> str:
    """Fetch a page."""
    return url


def get_profile(email: str, verified: bool = False) -> str:
    """Get the profile behind an address."""
    return f"{email} {verified}"


TOOLS = Toolbox(
    map(
        toolplan.tool,
        (
            get_weather, search_movies, get_order_status, cancel_order, transfer_money,
            get_distance, list_events, create_event, read_mailbox, fetch, get_profile,
        ),
    )
)  # fmt: skip


def proposed(text: str, tools: Toolbox = TOOLS) -> Proposal:
    return GroundedPlanner().plan(Question(text, TODAY), tools)


@pytest.mark.parametrize(
    ("text", "tool", "args"),
    [
        ("What's the weather in Berlin?", "get_weather", {"city": "Berlin"}),
        ("weather for new york", "get_weather", {"city": "new york"}),
        (
            "imperial weather in Rome please",
            "get_weather",
            {"city": "Rome", "units": "imperial"},
        ),
        ("movies by Ursula K. Le Guin", "search_movies", {"director": "Ursula K. Le Guin"}),
        ('3 movies titled "Alien"', "search_movies", {"title": "Alien", "limit": 3}),
        ("what is the status of my order 17?", "get_order_status", {"order_id": 17}),
        ("please cancel order 17", "cancel_order", {"order_id": 17}),
        ("Hi, could you please cancel order 17?", "cancel_order", {"order_id": 17}),
        ("I'd like you to cancel my order 17", "cancel_order", {"order_id": 17}),
        ("I want to cancel order 17", "cancel_order", {"order_id": 17}),
        (
            "Transfer money from A1 to A2, amount 20.5",
            "transfer_money",
            {"from_account": "A1", "to_account": "A2", "amount": 20.5},
        ),
        (
            "distance to Rome from Oslo",
            "get_distance",
            {"origin": "Oslo", "destination": "Rome"},
        ),
        ("events next week", "list_events", {"since": "2026-11-23", "until": "2026-11-29"}),
        ("events since 3 May 2026", "list_events", {"since": "2026-05-03"}),
        (
            'mailbox of user ada tagged "work" and "urgent"',
            "read_mailbox",
            {"user": "ada", "tags": ["work", "urgent"]},
        ),
        ("fetch https://example.com/a?b=1.", "fetch", {"url": "https://example.com/a?b=1"}),
        ("profile of bob@example.com", "get_profile", {"email": "bob@example.com"}),
    ],
)
def test_one_tool_that_alone_fits_all_words_is_proposed(
    text: str, tool: str, args: dict[str, Any]
) -> None:
    found = proposed(text)
    assert isinstance(found, Draft), found
    document = json.loads(found.text)
    (step,) = document["steps"]
    assert (step["tool"], step["args"]) == (tool, args)
    assert f"assumed: {tool} is meant" in document["metadata"]["notes"][0]
    provenance = document["metadata"]["provenance"]
    words = text.split()
    for name in args:
        reason = provenance[f"/steps/0/args/{name}"]
        first, last = reason["words"]
        assert reason["text"].split() == [
            word.rstrip(".,?") if at == last else word
            for at, word in enumerate(words[first : last + 1], first)
        ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("weather", 'Please also give "city": get_weather requires it.'),
        ("cancel the order", 'Please also give "order_id": cancel_order requires it.'),
        ("distance of Oslo", 'Which does "Oslo" belong to: origin or destination?'),
        ("movies of Kubrick", 'I did not understand: "Kubrick".'),
        ("weather in Berlin tomorrow", 'I did not understand: "tomorrow".'),
        ("weather in Berlin and Rome", 'I did not understand: "Rome".'),
        ("weather from Berlin", 'I did not understand: "Berlin".'),
        ("best movies by Kubrick", 'I did not understand: "best".'),
        ("movies not by Kubrick", 'I did not understand: "not".'),
        ("how many movies by Kubrick", 'I did not understand: "how", "many".'),
        ('create an event titled "Lunch" tomorrow', 'I did not understand: "tomorrow".'),
        ("stocks of Apple", "No tool fits these words."),
    ],
)
def test_what_is_not_certain_is_asked(text: str, said: str) -> None:
    found = proposed(text)
    assert isinstance(found, Clarification), found
    assert said in found.question


@pytest.mark.parametrize("text", ["stocks of Apple", "weather in Berlin tomorrow"])
def test_where_nothing_fits_the_reply_names_how_to_use_a_model(text: str) -> None:
    found = proposed(text)
    assert isinstance(found, Clarification)
    assert MODEL_HELP in found.question
    assert "lists" not in found.question


@pytest.mark.parametrize(
    "text",
    [
        "order 17",
        "was order 17 cancelled?",
        "should I cancel order 17?",
        "Can I cancel order 17?",
        "do not cancel order 17",
        "did you cancel order 17?",
        "don't cancel order 17",
        "never cancel order 17",
        "cancel order 17 and order 18",
        "cancelled order 17",
        "money from A1 to A2, amount 20",
        "delete order 17",
        "who can cancel order 17?",
        "the transfer of money from A1 to A2, amount 20",
    ],
)
def test_a_tool_with_effects_is_never_chosen_on_weak_evidence(text: str) -> None:
    assert not isinstance(proposed(text), Draft)


def test_values_are_not_assigned_by_elimination_where_a_label_names_an_effect() -> None:
    tools = TOOLS.labelled({"transfer_money": Effects.WRITE})
    text = "transfer money A1 to A2, amount 20"
    assert isinstance(proposed(text, tools), Clarification)


def test_two_tools_that_fit_are_both_named() -> None:
    again = Tool("find_weather", "Find weather.", get_schema("city"))
    found = proposed("weather in Berlin", Toolbox([*TOOLS.values(), again]))
    assert isinstance(found, Clarification)
    assert "get_weather(city, units), find_weather(city)" in found.question


def get_schema(*names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": [*names],
    }


def test_only_a_tool_that_is_labelled_as_reading_is_found_by_its_description() -> None:
    described = Tool(
        "get_conditions", "Temperature and wind in a city.", get_schema("city"), None, Effects.READ
    )
    found = proposed("temperature in Berlin", Toolbox([described]))
    assert isinstance(found, Draft)
    unlabelled = Tool("get_conditions", "Temperature in a city.", get_schema("city"))
    assert isinstance(proposed("temperature in Berlin", Toolbox([unlabelled])), Clarification)


def test_a_refusal_of_the_hints_stays() -> None:
    assert isinstance(proposed("erase the movies"), Refusal | Clarification)
    plain = Toolbox([toolplan.tool(get_weather)])
    assert isinstance(proposed("delete everything", plain), Refusal)


def test_plain_tools_beside_hinted_ones_are_proposed_and_hinted_ones_explain() -> None:
    tools = demo_tools(date(2025, 10, 12), 50).with_tools(toolplan.tool(get_weather))
    found = proposed("weather in Berlin", tools)
    assert isinstance(found, Draft)
    asked = proposed("purple shipments", tools)
    assert isinstance(asked, Clarification)
    assert asked.unexplained == ("purple",)


def test_forty_questions_to_ten_plain_tools() -> None:
    checked = check()
    assert len(checked) == 40
    assert [each for each in checked if each.verdict is Verdict.WRONG] == []
    assert sum(each.verdict is Verdict.CALLED for each in checked) >= 20


@dataclass
class Customer:
    id: str
    name: str
    country: str


@dataclass
class Order:
    id: str
    customer_id: str
    total: float


@toolplan.tool(effects="read")
def list_customers(country: str | None = None) -> list[Customer]:
    """List customers."""
    return [Customer("c1", "Ada", country or "Norway")]


@toolplan.tool(effects="read")
def list_orders(customer_id: str | None = None) -> list[Order]:
    """List orders."""
    return [Order("o1", customer_id or "c1", 3)]


def delete_customer(customer_id: str) -> None:
    """Delete a customer."""


CUSTOMERS = Toolbox([list_customers, list_orders, toolplan.tool(delete_customer), sql_tool()])


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (
            "orders of customers in Germany",
            [
                ("list_customers", {"country": "Germany"}),
                ("list_orders", {"customer_id": "${item}"}),
            ],
        ),
        ("orders of customer c1", [("list_orders", {"customer_id": "c1"})]),
        ("customers in Norway", [("list_customers", {"country": "Norway"})]),
    ],
)
def test_an_identity_leads_to_the_tool_that_lists_such_things(
    text: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    found = proposed(text, CUSTOMERS)
    assert isinstance(found, Draft), found
    steps = json.loads(found.text)["steps"]
    assert [(step["tool"], step["args"]) for step in steps] == calls


def test_rows_of_a_kind_are_counted_by_their_identity() -> None:
    found = proposed("how many orders does customer c1 have", CUSTOMERS)
    assert isinstance(found, Draft), found
    first, second = json.loads(found.text)["steps"]
    assert first["args"] == {"customer_id": "c1"}
    assert second["args"]["sql"] == "SELECT count(*) AS orders FROM orders"


@pytest.mark.parametrize(
    "text", ["orders of Ada", "delete the customers in Germany", "remove customers", "customer Ada"]
)
def test_a_name_is_no_identity_and_no_effect_follows_from_inferred_hints(text: str) -> None:
    assert not isinstance(proposed(text, CUSTOMERS), Draft)


def get_person(name: str) -> dict[str, str]:
    """Return the person with this name."""
    return {"name": name}


def save_person(person: dict[str, str]) -> bool:
    """Store a person."""
    return bool(person)


PEOPLE = Toolbox(
    [toolplan.tool(effects="read")(get_person), toolplan.tool(effects="write")(save_person)]
)


@pytest.mark.parametrize(
    "text",
    [
        "Save person", "Save the person", "Please save person", "save person", "Person save",
        "Email person", "Fire person", "Add person", "Archive person", "Update person",
        "Drop person",
    ],
)  # fmt: skip
def test_a_demand_is_no_name(text: str) -> None:
    proposal = GroundedPlanner().plan(Question(text, TODAY), PEOPLE)
    assert not isinstance(proposal, Draft)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Person Ann", "Ann"), ("Ann person", "Ann"), ("Person called Save", "Save"),
        ('get person "Save"', "Save"), ("Find person Grace", "Grace"),
    ],
)  # fmt: skip
def test_a_name_stays_one(text: str, name: str) -> None:
    proposal = GroundedPlanner().plan(Question(text, TODAY), PEOPLE)
    assert isinstance(proposal, Draft)
    (step,) = json.loads(proposal.text)["steps"]
    assert (step["tool"], step["args"]) == ("get_person", {"name": name})


def test_a_verb_of_a_tool_without_hints_is_not_said_to_be_beyond_all_tools() -> None:
    tools = demo_tools(date(2026, 11, 20), rows=5).with_tools(toolplan.tool(effects="write")(lend))
    proposal = GroundedPlanner().plan(Question("Lend Notes", TODAY), tools)
    assert isinstance(proposal, Clarification)
    assert "lend(title, to)" in proposal.question


def lend(title: str, to: str) -> str:
    """Lend a book to somebody."""
    return f"{title} {to}"


def sql(statement: str) -> str:
    """Run a statement in a database of one's own."""
    return statement


def test_a_tool_of_ones_own_that_is_called_sql_is_not_used_to_compute() -> None:
    tools = Toolbox(each for each in demo_tools(date(2026, 11, 20), rows=5).values())
    own = Toolbox([*(t for t in tools.values() if t.name != "sql"), toolplan.tool(sql)])
    proposal = GroundedPlanner().plan(Question("How many shipments are there?", TODAY), own)
    assert isinstance(proposal, Clarification)
