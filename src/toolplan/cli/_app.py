"""The commands by name, and what every one of them does with errors."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Final

from cyclopts import (
    App,
    CycloptsError,
    MissingArgumentError,
    Parameter,
    UnusedCliTokensError,
)

from toolplan.cli import _terminal
from toolplan.cli._terminal import CommandError, Exit

_COMMANDS: Final = {
    "ask": "Answer a question: plan, show, run, say what was found.",
    "plan": "Give the plan for a question, and run nothing.",
    "check": "Say all that is wrong with a plan.",
    "convert": "Write a plan in another dialect.",
    "run": "Run a plan.",
    "runs": "List the runs.",
    "resume": "Go on with a run.",
    "show": "Show a plan, or a run, as a tree.",
    "tools": "List the tools.",
    "explain": "Say what a code means, and the way out.",
    "mcp": "Offer planning and running to MCP clients.",
    "demo": "Serve the demo domain: MCP, or a REST API.",
}


def _shown(default: object) -> str | None:
    """Return a default as the help shows it: where none is meant, nothing."""
    return None if default is None or default is False or default == () else str(default)


def _app() -> App:
    app = App(
        name="toolplan",
        help=(
            "Turns a question into a plan of tool calls, checks all of it before anything runs, "
            "shows it, and runs exactly that plan."
        ),
        version=lambda: version("toolplan"),
        help_epilogue=(
            "Every command has --json. Exit: 0 fine, 1 failed or no plan, 2 usage, 3 storage."
        ),
        help_format="plaintext",
        result_action="return_value",
        default_parameter=Parameter(show_default=_shown),
    )
    for name, summary in _COMMANDS.items():
        # a name of a module, not the module: it is imported when its command runs
        app.command(f"toolplan.cli.{name}:{name}_command", name=name, help=summary)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code.

    0: fine. 1: the plan or the run failed, or there is no plan. 2: usage or configuration.
    3: storage. 130: interrupted. 141: whoever read the output went away.
    """
    words = sys.argv[1:] if arguments is None else arguments
    _terminal.prepare_streams()
    try:
        code = _app()(words, exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except CommandError as error:
        code = _terminal.tell(error, as_json="--json" in words)
    except CycloptsError as error:
        code = _terminal.tell(_usage(error, words), as_json="--json" in words)
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        _terminal.abandon_output()
        code = Exit.NO_READER
    except OSError as error:
        _terminal.abandon_output()
        reason = error.strerror or type(error).__name__
        full = CommandError("storage", f"The system said: {reason}.", None, Exit.STORAGE)
        code = _terminal.tell(full, as_json="--json" in words)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: CycloptsError, words: list[str]) -> CommandError:
    """Say what is wrong with the words of the call, and where it is told how they go."""
    command = words[0] if words and words[0] in _COMMANDS else ""
    help_ = f"`toolplan {command} --help` shows how." if command else "`toolplan --help` shows how."
    message = str(error)
    if isinstance(error, UnusedCliTokensError) and command in ("ask", "plan"):
        help_ = "Put the question in quotes."
    elif isinstance(error, MissingArgumentError) and error.argument is not None:
        message = f"{error.argument.name.removeprefix('--').upper()} is missing."
        if error.argument.name == "--tools":
            message = "--tools is missing: a plan is run with the tools that it names."
    return CommandError("usage", message, help_, Exit.USAGE)
