"""`toolplan init [FOLDER]`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from toolplan.app.settings import FILE as SETTINGS
from toolplan.cli.options import JsonFlag
from toolplan.cli.plan_file import writing
from toolplan.cli.terminal import CommandError, Exit, out, print_json

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


FolderArgument = Annotated[
    Path, Parameter(name="FOLDER", help="Where to write; it is made where it does not exist.")
]
_NEXT: Final = (
    'toolplan ask "List books by Ada" --tools "books:*"',
    f"toolplan test {TESTS}",
    f"toolplan tools --tools {SERVERS}",
    'toolplan doctor --tools "books:*"',
)
_SETTINGS_NEED: Final = "The settings are read where TOOLPLAN_HOME names their folder:"


def init_command(folder: FolderArgument = Path(), /, *, as_json: JsonFlag = False) -> int:
    """Write first files into FOLDER: tools, settings, an MCP configuration, a plan test.

    Each works as it is written. No file is overwritten: where one exists, nothing is written.
    """
    files = {folder / name: text for name, text in first_files(_program()).items()}
    if there := [str(path) for path in files if path.exists() or path.is_symlink()]:
        raise CommandError(
            "file-exists",
            f"Nothing was written: there is already {', '.join(there)}.",
            "Move it away, or name another folder: toolplan init FOLDER.",
        )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            with path.open("x", encoding="utf-8") as file:  # never over a file made meanwhile
                file.write(text)
    _print(folder, list(files), as_json=as_json)
    return Exit.FINE.value


def _program() -> list[str]:
    """Return the words that start this toolplan from anywhere."""
    found, own = shutil.which("toolplan"), Path(sys.executable).with_name("toolplan")
    if found is not None and Path(found).absolute() == own:
        return ["toolplan"]
    return [sys.executable, "-m", "toolplan"]


def _print(folder: Path, files: list[Path], *, as_json: bool) -> None:
    home = f"export TOOLPLAN_HOME={folder.absolute()}"
    if as_json:
        print_json({"files": [str(path) for path in files], "next": [*_NEXT, home]})
        return
    console = out()
    for path in files:
        console.print(f"wrote {path}", soft_wrap=True)
    console.print("\nNext:" if folder == Path() else f"\nNext, in {folder}:", soft_wrap=True)
    for line in _NEXT:
        console.print(f"    {line}", soft_wrap=True)
    console.print(f"{_SETTINGS_NEED}\n    {home}", soft_wrap=True)
