"""The commands by name, and `toolplan --help`: printed without the libraries that commands need.

Whoever asks what there is waits for nothing but this. What it prints is what cyclopts prints of the
same commands; a test compares the two.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

COMMANDS: Final = {
    "ask": "Answer a question: plan, show the plan, run it, print the answer.",
    "plan": "Plan a question, and run nothing.",
    "check": "Check a plan.",
    "diff": "Show what differs between two plans or runs.",
    "convert": "Convert a plan to another dialect.",
    "run": "Run a plan.",
    "submit": "Give a plan to workers.",
    "worker": "Run the plans that others submit.",
    "runs": "List the runs.",
    "approve": "Approve the plan of a run that waits.",
    "cancel": "Cancel a run.",
    "resume": "Resume a run.",
    "show": "Show a plan, or a run, as a tree.",
    "tools": "List the tools.",
    "login": "Sign in to an MCP server.",
    "logout": "Sign out of an MCP server.",
    "schema": "Print the JSON Schema of plans.",
    "test": "Compare the plans of questions with what is expected.",
    "policy": "Write a policy, or show what one decides about a plan.",
    "explain": "Explain the code of a problem or an error.",
    "init": "Write first files: tools, settings, an MCP configuration, a plan test.",
    "doctor": "Check what is installed and configured.",
    "studio": "Open the page on which plans are approved and watched.",
    "mcp": "Serve planning and running to MCP clients.",
    "demo": "Serve the demo's tools: MCP, or a REST API.",
}
ABOUT: Final = (
    "Turns a question into a plan of tool calls, checks all of it before anything runs, "
    "shows it, and runs exactly that plan."
)
SERVERS: Final = ("demo", "mcp", "studio", "worker")
"""Commands that serve until they are ended: they print nothing on standard output by themselves."""

_EXITS: Final = "Exit: 0 fine, 1 failed or no plan, 2 usage, 3 storage."
_DEBUG: Final = "--debug shows the tracebacks of faults in your own tools."
EPILOGUE: Final = (
    f"Every command but {', '.join(SERVERS[:-1])} and {SERVERS[-1]} has --json. {_DEBUG} {_EXITS}"
)
SERVER_EPILOGUE: Final = f"{_DEBUG} {_EXITS}"

COMPLETION: Final = "--install-completion"
COMPLETION_SUMMARY: Final = "Install completion for the shell: bash, zsh or fish."

_OPTIONS: Final = {
    "--help (-h)": "Display this message and exit.",
    COMPLETION: COMPLETION_SUMMARY,
    "--version": "Display application version.",
}
_ROUND: Final = "╭╮╰╯─│"
_ASCII: Final = "++++-|"  # for output that is not UTF
_WIDTH: Final = 80
_LEAST_WIDTH: Final = 40
_MOST_OF_A_NAME: Final = 0.35
"""The share of the width that the names of commands may take."""


def front_page(width: int, *, is_ascii: bool = False) -> str:
    """Return the help of the program, `width` columns wide, with a final line break."""
    width = max(width, _LEAST_WIDTH)
    left, right, low_left, low_right, across, side = _ASCII if is_ascii else _ROUND
    rows = {name: COMMANDS[name] for name in sorted(COMMANDS)} | _OPTIONS
    names = min(max(map(len, rows)), math.ceil(width * _MOST_OF_A_NAME))
    lines = ["Usage: toolplan COMMAND", "", *_wrapped(ABOUT, width), ""]
    lines.append(f"{left}{f'{across} Commands '.ljust(width - 2, across)}{right}")
    for name, summary in rows.items():
        texts = _wrapped(summary, width - names - 6)
        for shown, text in zip_longest(_broken(name, names), texts, fillvalue=""):
            lines.append(f"{side} {shown:{names}}  {text:{width - names - 6}} {side}")
    lines.append(f"{low_left}{across * (width - 2)}{low_right}")
    lines += ["", *_wrapped(EPILOGUE, width)]
    return "\n".join(lines) + "\n"


def print_front_page() -> None:
    """Print the help of the program on standard output."""
    is_ascii = not (sys.stdout.encoding or "").lower().startswith("utf")
    sys.stdout.write(front_page(_width(), is_ascii=is_ascii))


def _wrapped(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def _broken(name: str, width: int) -> Iterator[str]:
    """Yield `name` in lines of `width` columns; all but the first are indented."""
    yield name[:width]
    for at in range(width, len(name), width - 2):
        yield f"  {name[at : at + width - 2]}"


def _width() -> int:
    """Return the width of the terminal; 80 where there is none."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal():
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _WIDTH
    except (OSError, ValueError):  # standard output is a file, or no file at all
        return _WIDTH
