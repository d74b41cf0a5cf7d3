"""The commands, their help, their completion, and what is wrong with the words of a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import (
    App,
    CycloptsError,
    MissingArgumentError,
    Parameter,
    UnusedCliTokensError,
    ValidationError,
)
from cyclopts.completion.detect import ShellDetectionError, detect_shell

from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import EntryPoint, Extensions, described
from toolplan.base.extras import check_beside
from toolplan.base.release import own_version
from toolplan.cli.terminal import CommandError, note, out
from toolplan.plan.diagnostics import near

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
    "cancel": "approve",
    "convert": "show",
    "diff": "show",
    "eval": "test",
    "explain": "schema",
    "hints": "tools",
    "logout": "login",
    "plan": "ask",
    "policy": "check",
    "resume": "run",
    "uninstall": "install",
}
"""Modules of commands that have another name."""

_EXITS: Final = "Exit: 0 fine, 1 failed or no plan, 2 usage, 3 storage."
_DEBUG: Final = "--debug shows the tracebacks of faults in your own tools."
EPILOGUE: Final = (
    f"Every command but {', '.join(SERVERS[:-1])} and {SERVERS[-1]} has --json. {_DEBUG} {_EXITS}"
)
SERVER_EPILOGUE: Final = f"{_DEBUG} {_EXITS}"

COMPLETION: Final = "--install-completion"
COMPLETION_SUMMARY: Final = "Install completion for the shell: bash, zsh or fish."


def _shown(default: object) -> str | None:
    """Return a default as the help shows it: nothing where there is none."""
    return None if default is None or default is False or default == () else str(default)


def commands(called: str = "") -> App:
    """Return the commands, each of which is loaded when it is needed.

    Other packages add commands by entry points of the group `toolplan.commands`. The one that is
    `called` is loaded at once, so that its faults name its package.

    Raises:
        ToolplanError: the package of the command that is called is missing, or cannot be loaded.
    """
    app = App(
        name="toolplan",
        help=ABOUT,
        version=own_version,
        help_epilogue=EPILOGUE,
        help_format="plaintext",
        result_action="return_value",
        default_parameter=Parameter(show_default=_shown, negative=()),
    )
    offered = Extensions[Callable[..., object]]("toolplan.commands", _guarded)
    packages = {each.name: each for each in reversed(offered.entries())}
    for name in dict.fromkeys((*COMMANDS, *packages)):
        command: str | Callable[..., object]
        if name in COMMANDS and name not in BESIDE:
            command = f"toolplan.cli.{_MODULES.get(name, name)}:{name}_command"
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


def run_words(words: Sequence[str]) -> object:
    """Run a command; return its exit code, or what else it returns.

    Raises:
        ToolplanError: the words of the call are wrong, or the command failed.
    """
    app = commands(words[0] if words else "")
    try:
        return app(list(words), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise _usage(error, words, app) from None


def _usage(error: CycloptsError, words: Sequence[str], app: App) -> ToolplanError:
    """Return what is wrong with the words of the call, and where the help is."""
    command = words[0] if words and words[0] in app else ""
    help_ = f"See `toolplan {command} --help`." if command else "See `toolplan --help`."
    message = str(error)
    if isinstance(error, UnusedCliTokensError):
        unused = " ".join(error.unused_tokens or ())
        message = f"These words are too many: {unused!r}."
        if command in ("ask", "plan"):
            help_ = "Put the question in quotes."
    elif isinstance(error, ValidationError) and error.app is not None:
        option = str(error.exception_message).partition("=")[0]
        if option.startswith("-"):  # as `refuse_options` says
            names = [
                name for each in error.app.assemble_argument_collection() for name in each.names
            ]
            meant = near(option, names)
            hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
            message = f"Unknown option: {option}.{hint}"
    elif isinstance(error, MissingArgumentError) and error.argument is not None:
        name, kind = error.argument.name, error.argument.field_info.kind
        is_option = kind is inspect.Parameter.KEYWORD_ONLY
        message = f"{name if is_option else name.removeprefix('--').upper()} is missing."
    return ToolplanError("usage", message, help_)


Shell = Annotated[
    Literal["bash", "zsh", "fish"] | None,
    Parameter(name="SHELL", help="The shell; by default the one that this is called from."),
]

_START: Final = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }"
"""Starts completion in zsh where nothing has; a new `.zshrc` starts none."""


def install_completion(shell: Shell = None, /) -> None:
    """Install completion for the shell: bash, zsh or fish.

    A script is written to the folder of the shell, and for bash and zsh a line that loads it is
    added to ~/.bashrc or ~/.zshrc. Call it again after an upgrade.
    """
    try:
        wanted = shell or detect_shell()
        if wanted == "powershell":
            raise ShellDetectionError
        path = commands().install_completion(shell=wanted)
        if wanted == "zsh":
            _start_in_zsh(path)
    except ShellDetectionError:
        raise CommandError(
            "usage", "The shell is not known.", "Name it: toolplan --install-completion bash."
        ) from None
    out().print(f"wrote {path}", soft_wrap=True)
    note("Open a new shell to use it.")


def _start_in_zsh(script: Path) -> None:
    """Have `.zshrc` start completion at its end, where it is what loads `script`."""
    startup = Path.home() / ".zshrc"
    try:
        text = startup.read_text("utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return
    if str(script.parent) in text and _START not in text:
        ending = "" if text.endswith("\n") else "\n"
        text += f"{ending}# toolplan: start completion where nothing has\n{_START}\n"
        startup.write_text(text, "utf-8", errors="surrogateescape")
