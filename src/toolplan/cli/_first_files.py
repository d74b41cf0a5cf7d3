"""What `toolplan init` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from toolplan.app.settings import FILE as SETTINGS

TOOLS: Final = "books.py"
SERVERS: Final = "mcp.json"
TESTS: Final = "books.plans.yaml"

_TOOLS: Final = '''\
"""Tools of a small library: change them, or put your own in their place."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

import toolplan


@dataclass
class Book:
    """A row of the results. Plans are checked against its fields before anything runs."""

    title: str
    author: str
    year: int
    lent_to: str | None = None


BOOKS = [Book("Notes", "Ada", 1843), Book("Sketch", "Ada", 1842), Book("Compilers", "Grace", 1952)]
Author = Annotated[str, Field(json_schema_extra={"x-cue": ["by"]})]  # as in "books by Ada"


@toolplan.tool(effects="read", hints={"x-entity": "book", "x-verb": "list"})
def books_list(author: Author | None = None) -> list[Book]:
    """List books, all or those of one author."""
    return [book for book in BOOKS if author in (None, book.author)]


@toolplan.tool(effects="write")
def lend_book(title: str, to: str) -> Book:
    """Lend a book to a person. A plan that calls this is shown, and runs when it is approved."""
    for book in BOOKS:
        if book.title == title:
            book.lent_to = to
            return book
    raise toolplan.ToolError(f"There is no book {title!r}.")
'''
_SETTINGS: Final = """\
# Read where the variable TOOLPLAN_HOME names this folder; toolplan also keeps its runs there.

# A model, for questions that need one. Without a model questions are planned from the tools' hints.
# toolplan_model = ["ollama:mistral"]

[limits]
concurrency = 8  # the most calls at the same time
timeout = 60  # the most seconds of each try of a call

[retention]
older_than = "30d"  # `toolplan runs --prune` removes older runs
keep = 100
"""
_TESTS: Final = """\
# toolplan test books.plans.yaml
tools: books:*
tests:
  - question: List books by Ada
    expect:
      plan:
        steps:
          - {id: books, tool: books_list, args: {author: Ada}}
  - question: List books
    expect: {tools: [books_list], forbidden: [lend_book], max_calls: 1}
  - question: Sing
    expect: {no_plan: true}
"""


def first_files(command: list[str]) -> Mapping[str, str]:
    """Return the text of each file by name; `command` starts toolplan, for the MCP server."""
    program, *words = command
    server = {"command": program, "args": [*words, "demo", "--mcp"]}
    servers = json.dumps({"mcpServers": {"demo": server}}, indent=2)
    return {TOOLS: _TOOLS, SETTINGS: _SETTINGS, SERVERS: f"{servers}\n", TESTS: _TESTS}
