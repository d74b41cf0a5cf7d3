"""What Python prints of an error that nobody catches."""

from __future__ import annotations

import ast
import re
import traceback
from pathlib import Path
from typing import Final

import pytest

import toolplan
from toolplan.base.errors import ToolplanError
from toolplan.cli.terminal import CommandError
from toolplan.schema.tool import OutcomeUnknown, ToolError
from toolplan.tools.mcp.source import SignInNeeded

APP: Final = Path(__file__).parents[1] / "src" / "toolplan" / "app"


def printed(error: ToolplanError) -> list[str]:
    return "".join(traceback.format_exception_only(error)).splitlines()


def test_code_and_help_stand_below_the_message() -> None:
    error = ToolplanError("running-loop", "A loop is running.", "Write `await app.ask(…)`.")
    assert printed(error) == [
        "toolplan.base.errors.ToolplanError: A loop is running.",
        "help: Write `await app.ask(…)`. [running-loop]",
    ]
    assert str(error) == "A loop is running."


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (ToolplanError("usage", "No.", "Look."), "help: Look. [usage]"),
        (CommandError("bad-plan", "No.", "Look."), "help: Look. [bad-plan]"),
        (ToolError("No.", "Look."), "help: Look. [tool-error]"),
        (OutcomeUnknown("No.", "Look."), "help: Look. [outcome-unknown]"),
        (SignInNeeded("No.", "Look."), "help: Look. [sign-in-needed]"),
    ],
)
def test_every_kind_of_error_has_its_own_code_there(error: ToolplanError, note: str) -> None:
    assert printed(error)[-1] == note
    assert f"[{error.code}]" in note


def test_an_error_without_help_has_its_message_alone() -> None:
    assert printed(ToolplanError("usage", "No.")) == ["toolplan.base.errors.ToolplanError: No."]


def test_messages_of_the_app_name_no_options_of_the_command_line() -> None:
    """They are read in Python, too, where `today=` is an argument."""
    messages = [
        ast.unparse(node.args[1])
        for path in APP.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "ToolplanError"
        and len(node.args) > 1
    ]
    assert messages
    assert [each for each in messages if re.search(r"--[a-z]", each)] == []


def test_the_package_lists_its_public_names_only() -> None:
    assert [name for name in dir(toolplan) if not name.startswith("__")] == sorted(toolplan.__all__)
