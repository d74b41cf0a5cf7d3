"""The commands by name, and how each reports errors."""

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
from toolplan.cli._terminal import Exit
from toolplan.errors import ToolplanError

_COMMANDS: Final = {
    "ask": "Answer a question: plan, show the plan, run it, print the answer.",
    "plan": "Plan a question, and run nothing.",
    "check": "Check a plan.",
    "convert": "Convert a plan to another dialect.",
    "run": "Run a plan.",
    "runs": "List the runs.",
    "resume": "Resume a run.",
    "show": "Show a plan, or a run, as a tree.",
    "tools": "List the tools.",
    "explain": "Explain the code of a problem.",
    "mcp": "Serve planning and running to MCP clients.",
    "demo": "Serve the demo's tools: MCP, or a REST API.",
}


def _shown(default: object) -> str | None:
    """Return a default as the help shows it: nothing where there is none."""
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
    3: storage. 130: interrupted. 141: the reader of the output has gone.
    """
    words = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in words
    _terminal.prepare_streams()
    try:
        code = _app()(words, exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except ToolplanError as error:
        code = _terminal.report(error, as_json=as_json)
    except CycloptsError as error:
        code = _terminal.report(_usage(error, words), as_json=as_json)
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        _terminal.abandon_output()
        code = Exit.NO_READER
    except OSError as error:
        _terminal.abandon_output()
        reason = error.strerror or type(error).__name__
        failed = ToolplanError("storage", f"The system reports: {reason}.")
        code = _terminal.report(failed, as_json=as_json)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: CycloptsError, words: list[str]) -> ToolplanError:
    """Return what is wrong with the words of the call, and where the help is."""
    command = words[0] if words and words[0] in _COMMANDS else ""
    help_ = f"See `toolplan {command} --help`." if command else "See `toolplan --help`."
    message = str(error)
    if isinstance(error, UnusedCliTokensError) and command in ("ask", "plan"):
        help_ = "Put the question in quotes."
    elif isinstance(error, MissingArgumentError) and error.argument is not None:
        message = f"{error.argument.name.removeprefix('--').upper()} is missing."
        if error.argument.name == "--tools":
            message = "--tools is missing: a plan needs the tools that it names."
    return ToolplanError("usage", message, help_)
