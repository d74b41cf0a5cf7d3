"""Functions and tool objects as their authors write them, without a word for planners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import toolplan
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox
from toolplan_sql import sql_tool


@dataclass
class Customer:
    """A row of `list_customers`."""

    id: str
    name: str
    country: str


def get_weather(city: str, units: Literal["metric", "imperial"] = "metric") -> dict[str, float]:
    """Get the current weather for a city."""
    return {"temperature": 12.0 if units == "metric" else 53.6, "wind": float(len(city))}


def list_books(author: str) -> list[dict[str, str]]:
    """List the books of an author."""
    return [{"title": f"The collected works of {author}"}]


def get_balance(account_id: str) -> float:
    """Return the balance of a bank account in euros."""
    return float(len(account_id))


def convert_currency(amount: float, from_currency: str, to_currency: str) -> float:
    """Convert an amount of money from one currency to another."""
    return amount * len(to_currency) / len(from_currency)


def list_customers(
    country: str | None = None, plan: Literal["free", "pro"] | None = None
) -> list[Customer]:
    """List customers, optionally of one country or plan."""
    return [Customer("c17", "Ada Moss", country or plan or "Norway")]


def _text(description: str, **more: Json) -> dict[str, Json]:
    return {"type": "string", "description": description, **more}


def _object(name: str, description: str, required: list[Json], **arguments: Json) -> Json:
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": {**arguments}, "required": required},
    }


_STATES: Final[list[Json]] = ["open", "closed", "all"]
_PRIORITIES: Final[list[Json]] = ["low", "medium", "high"]
_STATUSES: Final[list[Json]] = ["pending", "shipped", "returned"]
_LISTED: Final[list[Json]] = [
    _object(
        "send_email",
        "Send an email message.",
        ["to", "subject", "body"],
        to=_text("Email address of the recipient", format="email"),
        subject=_text("Subject line"),
        body=_text("Plain text body"),
    ),
    _object(
        "search_flights",
        "Search for available flights between two airports on a given date.",
        ["origin", "destination", "date"],
        origin=_text("Departure city or airport"),
        destination=_text("Arrival city or airport"),
        date=_text("Departure date (YYYY-MM-DD)", format="date"),
    ),
    _object(
        "list_issues",
        "List issues in a repository.",
        ["repo"],
        repo=_text("owner/name of the repository"),
        state={"type": "string", "enum": _STATES, "default": "open"},
        labels={"type": "array", "items": {"type": "string"}},
    ),
    _object(
        "create_ticket",
        "Create a support ticket.",
        ["title"],
        title=_text("Short summary of the problem"),
        priority={"type": "string", "enum": _PRIORITIES, "default": "medium"},
    ),
    _object(
        "list_orders",
        "List the orders of a customer.",
        ["customer_id"],
        customer_id=_text("The customer's ID"),
        since=_text("Only orders placed on or after this day", format="date"),
        status={"type": "string", "enum": _STATUSES},
    ),
]


def plain_tools() -> Toolbox:
    """Return the ten tools, and the one that computes."""
    functions = (get_weather, list_books, get_balance, convert_currency, list_customers)
    own = Toolbox([*map(toolplan.tool, functions), sql_tool()])
    return own.with_tools(*Toolbox.from_json(_LISTED).values())
