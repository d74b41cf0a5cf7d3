"""The commands: their help and completion, and how a call of one ends.

Errors of usage are reported like errors and faults of tools.
"""

from __future__ import annotations

import inspect
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Final, Literal

import cyclopts
from cyclopts.completion.detect import ShellDetectionError, detect_shell

from toolplan.app.settings import file_fault
from toolplan.base import event_loop, own_code, threads
from toolplan.base.errors import ToolplanError, sentence
from toolplan.base.extensions import EntryPoint, Extensions, described
from toolplan.base.extras import check_beside, own_version
from toolplan.cli import terminal
from toolplan.cli.terminal import CommandError, Exit, note, out
from toolplan.plan.diagnostics import near
from toolplan.show.printable import printable

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
    "hints": "Propose hints for tools, for a person to review.",
    "login": "Sign in to an MCP server.",
    "logout": "Sign out of an MCP server.",
    "schema": "Print the JSON Schema of plans, or of what a command prints.",
    "test": "Compare the plans of questions with what is expected.",
    "eval": "Measure how good plans are, by model and by prompt.",
    "policy": "Write a policy, or show what one decides about a plan.",
    "explain": "Explain the code of a problem or an error.",
    "init": "Write first files: tools, settings, an MCP configuration, a plan test.",
    "doctor": "Check what is installed and configured.",
    "studio": "Open the page on which plans are approved and watched.",
    "mcp": "Serve planning and running to MCP clients.",
    "install": "Put toolplan in front of the MCP servers of a client.",
    "uninstall": "Put the configuration of a client back as it was.",
    "demo": "Serve the demo's tools: MCP, or a REST API.",
}
ABOUT: Final = (
    "Turns a question into a plan of tool calls, checks all of it before anything runs, "
    "shows it, and runs exactly that plan."
)
BESIDE: Final = ("demo", "studio", "submit", "worker")
"""Commands of distributions beside the core, which are listed where these are missing, too."""
SERVERS: Final = ("demo", "mcp", "studio", "worker")
"""Commands that serve until they are ended: they print nothing on standard output by themselves."""

_MODULES: Final = {
    "ask": "ask plan run resume",
    "clients": "mcp install uninstall login logout",
    "init": "init doctor",
    "runs": "runs approve cancel",
    "schema": "schema explain",
    "check": "check policy",
    "show": "show diff convert",
    "test": "test eval",
    "tools": "tools hints",
}
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names.split()}
"""The module of each command, which is loaded when the command runs."""

_EXITS: Final = "Exit: 0 fine, 1 failed or no plan, 2 usage, 3 storage."
_DEBUG: Final = "--debug shows the tracebacks of faults in your own tools."
EPILOGUE: Final = (
    f"Every command but {', '.join(SERVERS[:-1])} and {SERVERS[-1]} has --json. {_DEBUG} {_EXITS}"
)
SERVER_EPILOGUE: Final = f"{_DEBUG} {_EXITS}"

COMPLETION: Final = "--install-completion"
COMPLETION_SUMMARY: Final = "Install completion for the shell: bash, zsh or fish."
Shell = Annotated[
    Literal["bash", "zsh", "fish"] | None,
    cyclopts.Parameter(
        name="SHELL", help="The shell; by default the one that this is called from."
    ),
]
_START: Final = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }"
"""Starts completion in zsh where nothing has; a new `.zshrc` starts none."""
_LAST_THREADS_S: Final = 5.0  # for threads that are no daemons, when calls were given up
LOGGER: Final = logging.getLogger("toolplan.tools")
"""Gets a record with the exception for each call of a tool that raises one."""
_MOST: Final = 20


def _shown(default: object) -> str | None:
    """Return a default as the help shows it: nothing where there is none."""
    return None if default is None or default is False or default == () else str(default)


def commands(called: str = "") -> cyclopts.App:
    """Return the commands, each of which is loaded when it is needed.

    Other packages add commands by entry points of the group `toolplan.commands`. The one that is
    `called` is loaded at once, so that its faults name its package.

    Raises:
        ToolplanError: the package of the command that is called is missing, or cannot be loaded.
    """
    app = cyclopts.App(
        name="toolplan",
        help=ABOUT,
        version=own_version,
        help_epilogue=EPILOGUE,
        help_format="plaintext",
        result_action="return_value",
        default_parameter=cyclopts.Parameter(show_default=_shown, negative=()),
    )
    offered = Extensions[Callable[..., object]]("toolplan.commands", _guarded)
    packages = {each.name: each for each in reversed(offered.entries())}
    for name in dict.fromkeys((*COMMANDS, *packages)):
        command: str | Callable[..., object]
        if name in COMMANDS and name not in BESIDE:
            command = f"toolplan.cli.{_MODULE_OF[name]}:{name}_command"
        elif name != called:
            command = packages[name].value if name in packages else _missing
        else:
            if name not in offered:
                check_beside("command", name)
            command = offered[name]
        app.command(
            command,
            name=name,
            help=COMMANDS.get(name) or f"A command of the package {packages[name].package}.",
            help_epilogue=SERVER_EPILOGUE if name in SERVERS else EPILOGUE,
        )
    app.command(
        "toolplan.cli._commands:install_completion", name=COMPLETION, help=COMPLETION_SUMMARY
    )
    return app


def _missing() -> None:
    """Stand for a command whose distribution is not installed, in the list of commands."""


def _guarded(entry: EntryPoint, found: object) -> Callable[..., object]:
    """Return the command that another package offers."""
    if not callable(found):
        raise entry.wrong(f"is {described(found)}, not a function")
    return found


def _usage(error: cyclopts.CycloptsError, words: Sequence[str], app: cyclopts.App) -> ToolplanError:
    """Return the fault in the words of a call, and where the help is."""
    command = words[0] if words and words[0] in app else ""
    help_ = f"See `toolplan {command} --help`." if command else "See `toolplan --help`."
    message = str(error)
    if isinstance(error, cyclopts.UnusedCliTokensError):
        unused = " ".join(error.unused_tokens or ())
        message = f"These words are too many: {unused!r}."
        if command in ("ask", "plan"):
            help_ = "Put the question in quotes."
    elif isinstance(error, cyclopts.ValidationError) and error.app is not None:
        option = str(error.exception_message).partition("=")[0]
        if option.startswith("-"):  # as `refuse_options` says
            names = [
                name for each in error.app.assemble_argument_collection() for name in each.names
            ]
            meant = near(option, names)
            hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
            message = f"Unknown option: {option}.{hint}"
    elif isinstance(error, cyclopts.MissingArgumentError) and error.argument is not None:
        name, kind = error.argument.name, error.argument.field_info.kind
        is_option = kind is inspect.Parameter.KEYWORD_ONLY
        message = f"{name if is_option else name.removeprefix('--').upper()} is missing."
    return ToolplanError("usage", message, help_)


def install_completion(shell: Shell = None, /) -> None:
    """Install completion for the shell: bash, zsh or fish.

    A script is written to the folder of the shell, and for bash and zsh a line that loads it is
    added to ~/.bashrc or ~/.zshrc. Call it again after an upgrade.
    """
    try:
        wanted = shell or detect_shell()
        if wanted == "powershell":
            raise ShellDetectionError
        script = commands().install_completion(shell=wanted)
    except ShellDetectionError:
        raise CommandError(
            "usage", "The shell is not known.", "Name it: toolplan --install-completion bash."
        ) from None
    startup = Path.home() / ".zshrc"
    if wanted == "zsh" and startup.exists():
        text = startup.read_text("utf-8", errors="surrogateescape")
        if str(script.parent) in text and _START not in text:  # it is what loads the script
            ending = "" if text.endswith("\n") else "\n"
            text += f"{ending}# toolplan: start completion where nothing has\n{_START}\n"
            startup.write_text(text, "utf-8", errors="surrogateescape")
    out().print(f"wrote {script}", soft_wrap=True)
    note("Open a new shell to use it.")


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code.

    0: fine. 1: the plan or the run failed, or there is no plan. 2: usage or configuration.
    3: storage. 130: interrupted. 141: the reader of the output has gone.
    """
    words = sys.argv[1:] if arguments is None else [*arguments]
    as_json = "--json" in words
    if debug := "--debug" in (words[: words.index("--")] if "--" in words else words):
        words.remove("--debug")
    terminal.prepare_streams()
    try:
        with faults_reported(debug=debug, as_json=as_json):
            app = commands(words[0] if words else "")
            try:
                code = app(words, exit_on_error=False, print_error=False)
            except cyclopts.CycloptsError as error:
                raise _usage(error, words, app) from None
        sys.stdout.flush()
    except ToolplanError as error:
        code = terminal.report(error, as_json=as_json)
    except SystemExit as ended:  # the reader of the words ends an interrupted command so
        code = ended.code
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        terminal.abandon_output()
        code = Exit.NO_READER
    except OSError as error:
        terminal.abandon_output()
        failed = ToolplanError("storage", f"The system reports: {file_fault(error)}.")
        code = terminal.report(failed, as_json=as_json)
    status = code if isinstance(code, int) else 0
    if arguments is None:
        end_process(status)
    sys.exit(status)


def end_process(code: int) -> None:
    """End the process with `code` where calls that were given up could keep it from ending."""
    if not event_loop.was_given_up():
        return
    until, main = time.monotonic() + _LAST_THREADS_S, threading.main_thread()
    for thread in threading.enumerate():  # the end of the process waits for all but daemons
        if thread is not main and not thread.daemon:
            thread.join(max(0.0, until - time.monotonic()))
    alive = [each for each in threading.enumerate() if each is not main and not each.daemon]
    hung = sum(threads.hung_calls().values()) + event_loop.left_behind() + len(alive)
    if hung:
        terminal.note(f"Calls that were given up and end with this process: {hung}.")
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


@contextmanager
def faults_reported(*, debug: bool, as_json: bool) -> Generator[None]:
    """Print the faults of the user's own code after the command: its view may be live until then.

    With `debug` it prints their tracebacks, else where they are, and those of tools only.
    """
    found: dict[tuple[str, str], own_code.OwnFault] = {}

    def keep(record: logging.LogRecord) -> bool:
        """Keep a fault, once for each place."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, ToolplanError) or len(found) >= _MOST:
            return True
        if (fault := own_code.own_fault(error)) is not None:
            name = str(record.args[0]) if isinstance(record.args, tuple) else ""
            found.setdefault((name, fault.place), fault)
        return True

    level = LOGGER.level
    LOGGER.addFilter(keep)
    LOGGER.setLevel(logging.DEBUG)
    try:
        yield
    except ToolplanError as error:
        cause: BaseException | None = error
        while isinstance(cause, ToolplanError):
            cause = cause.__cause__
        if debug and cause is not None and (fault := own_code.own_fault(cause)) is not None:
            note(_lines(fault), wrap=False)
        raise
    finally:
        LOGGER.removeFilter(keep)
        LOGGER.setLevel(level)
        for (tool, place), fault in found.items():
            if debug:
                note(f"In the tool {printable(tool)}:\n{_lines(fault)}", wrap=False)
            elif not as_json:
                text = f"In the tool {tool}, {place}: {sentence(fault.error)}"
                note(printable(f"{text} --debug shows the traceback."))


def _lines(fault: own_code.OwnFault) -> str:
    lines = [(line, line.lstrip(" ")) for line in fault.trace.splitlines()]
    return "\n".join(" " * (len(line) - len(text)) + printable(text) for line, text in lines)
