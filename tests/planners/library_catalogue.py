"""A second domain, known to the planner by hints alone: a public library.

Nothing under `planners/` was written for it.
"""

from __future__ import annotations

from typing import Final

from toolplan.path import Json
from toolplan.tools import Toolbox
from toolplan_sql import sql_tool

Node = dict[str, Json]

_TOWNS: Final[list[Json]] = ["Bath", "York", "Leeds", "Saint Ives"]
_GENRES: Final[list[Json]] = ["crime", "poetry", "history", "science fiction", "travel"]

_TITLE: Final[Node] = {"type": "string", "x-kind": "name", "x-cue": ["called", "titled"]}
_GENRE: Final[Node] = {
    "type": "string",
    "x-kind": "name",
    "x-gazetteer": _GENRES,
    "x-synonyms": ["category"],
}
_PAGES: Final[Node] = {
    "type": "integer",
    "x-unit": "pages",
    "x-synonyms": ["length", "page count", "long"],
}
_AVAILABLE: Final[Node] = {
    "type": "boolean",
    "x-synonyms": ["availability"],
    "x-values": {
        "true": ["available", "on the shelf", "in stock"],
        "false": ["unavailable", "checked out", "out of stock"],
    },
}
_TOWN: Final[Node] = {
    "type": "string",
    "x-kind": "place",
    "x-gazetteer": _TOWNS,
    "x-synonyms": ["town"],
    "x-cue": ["in", "located in"],
}
_STATE: Final[Node] = {
    "type": "string",
    "enum": ["open", "returned", "overdue", "lost"],
    "x-synonyms": ["status"],
    "x-values": {
        "returned": ["brought back"],
        "overdue": ["late", "past due"],
        "lost": ["missing"],
    },
}
_LEVEL: Final[Node] = {
    "type": "string",
    "enum": ["child", "adult", "senior"],
    "x-values": {"child": ["junior", "young"], "senior": ["retired"]},
    "x-synonyms": ["level", "membership"],
}


def _ref(entity: str, many: bool = True) -> Node:
    one: Node = {"type": "string"}
    shape: Node = {"anyOf": [one, {"type": "array", "items": one}]} if many else dict(one)
    return {**shape, "x-ref": f"{entity}.id"}


def _own(entity: str, pattern: str) -> Node:
    return {"type": "string", "pattern": pattern, "x-ref": f"{entity}.id"}


def _dates(field: str) -> Node:
    day: Node = {"type": "string", "format": "date", "x-field": field}
    return {"since": {**day, "x-role": "range.start"}, "until": {**day, "x-role": "range.end"}}


def _limit() -> Node:
    return {"limit": {"type": "integer", "minimum": 1, "x-role": "limit"}}


def _rows(entity: str, columns: Node) -> Node:
    row: Node = {
        "type": "object",
        "x-entity": entity,
        "properties": columns,
        "required": [*columns],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"items": {"type": "array", "items": row}, "total": {"type": "integer"}},
        "required": ["items", "total"],
    }


def _one(entity: str, columns: Node) -> Node:
    row: Node = {"type": "object", "x-entity": entity, "properties": columns}
    return {"type": "object", "properties": {"record": row}, "required": ["record"]}


def _tool(
    name: str,
    entity: str,
    verb: str,
    arguments: Node,
    output: Node,
    *,
    nouns: tuple[str, ...] = (),
    required: tuple[str, ...] = (),
    order: str | None = None,
    effects: str = "read",
) -> Node:
    schema: Node = {
        "type": "object",
        "properties": arguments,
        "required": [*required],
        "additionalProperties": False,
        "x-entity": entity,
        "x-verb": verb,
        "x-synonyms": [*nouns],
    }
    if order is not None:
        schema["x-order"] = order
    return {
        "name": name,
        "description": name,
        "input_schema": schema,
        "output_schema": output,
        "annotations": {"effects": effects},
    }


_BRANCH: Final[Node] = {
    "id": _own("branch", "^B[0-9]+$"),
    "name": {"type": "string", "x-kind": "name"},
    "town": _TOWN,
    "seats": {"type": "integer", "x-synonyms": ["size", "seat"]},
}
_BOOK: Final[Node] = {
    "id": _own("book", "^K[0-9]+$"),
    "title": _TITLE,
    "genre": _GENRE,
    "pages": _PAGES,
    "available": _AVAILABLE,
    "branch_id": _ref("branch", False),
}
_MEMBER: Final[Node] = {
    "id": _own("member", "^M[0-9]+$"),
    "level": _LEVEL,
    "town": {**_TOWN, "x-synonyms": ["home town"]},
    "joined": {"type": "string", "format": "date"},
}
_LOAN: Final[Node] = {
    "id": _own("loan", "^L[0-9]+$"),
    "book_id": _ref("book", False),
    "member_id": _ref("member", False),
    "state": _STATE,
    "lent_on": {"type": "string", "format": "date"},
    "fee_eur": {"type": "number", "x-unit": "EUR", "x-synonyms": ["fee", "charge"]},
}

OBJECTS: Final[list[Node]] = [
    _tool(
        "branches",
        "branch",
        "list",
        {"town": _TOWN, "branch_ids": _ref("branch"), **_limit()},
        _rows("branch", _BRANCH),
        nouns=("library", "reading room"),
    ),
    _tool(
        "books",
        "book",
        "list",
        {
            "genre": _GENRE,
            "available": _AVAILABLE,
            "branch_id": {"type": "string", "x-ref": "branch.id"},
            "book_ids": _ref("book"),
            "min_pages": {
                "type": "integer",
                "x-role": "min",
                "x-field": "pages",
                "x-unit": "pages",
            },
            **_limit(),
        },
        _rows("book", _BOOK),
        nouns=("title", "volume"),
    ),
    _tool(
        "book",
        "book",
        "get",
        {"id": {"type": "string", "x-ref": "book.id"}},
        _one("book", _BOOK),
        nouns=("title", "volume"),
        required=("id",),
    ),
    _tool(
        "members",
        "member",
        "list",
        {"level": _LEVEL, "town": _TOWN, "member_ids": _ref("member"), **_dates("joined")},
        _rows("member", _MEMBER),
        nouns=("reader", "borrower"),
    ),
    _tool(
        "loans",
        "loan",
        "list",
        {
            "state": _STATE,
            "book_id": _ref("book"),
            "member_id": _ref("member"),
            **_dates("lent_on"),
            **_limit(),
        },
        _rows("loan", _LOAN),
        nouns=("borrowing", "checkout"),
        order="lent_on desc",
    ),
    _tool(
        "lend",
        "loan",
        "create",
        {
            "book_id": {**_ref("book", False), "x-cue": ["of"]},
            "member_id": {**_ref("member", False), "x-cue": ["to", "for"]},
            "lent_on": {"type": "string", "format": "date"},
        },
        _one("loan", _LOAN),
        nouns=("borrowing", "checkout"),
        required=("book_id", "member_id"),
        effects="write",
    ),
    _tool(
        "forget_loan",
        "loan",
        "delete",
        {"id": {"type": "string", "x-ref": "loan.id"}},
        {"type": "object", "properties": {"done": {"type": "boolean"}}},
        nouns=("borrowing", "checkout"),
        required=("id",),
        effects="destructive",
    ),
]


def library() -> Toolbox:
    """Return the tools of the library, and the one that computes."""
    return Toolbox.from_json(OBJECTS).with_tools(sql_tool())
