"""The call of a command, and how each reports errors."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from toolplan.cli import _terminal
from toolplan.cli._front_page import (
    ABOUT,
    COMMANDS,
    COMPLETION,
    COMPLETION_SUMMARY,
    EPILOGUE,
    SERVER_EPILOGUE,
    SERVERS,
    print_front_page,
)
from toolplan.cli._terminal import Exit
from toolplan.errors import ToolplanError
from toolplan.release import own_version

if TYPE_CHECKING:
    from cyclopts import (
        App,
        ArgumentCollection,
        CycloptsError,
        UnknownOptionError,
        UnusedCliTokensError,
        ValidationError,
    )


def _shown(default: object) -> str | None:
    """Return a default as the help shows it: nothing where there is none."""
    return None if default is None or default is False or default == () else str(default)


def commands() -> App:
    """Return the commands, as cyclopts reads them."""
    library: Any = import_module("cyclopts")  # not for the front page, which needs no commands
    app: App = library.App(
        name="toolplan",
        help=ABOUT,
        version=own_version,
        help_epilogue=EPILOGUE,
        help_format="plaintext",
        result_action="return_value",
        default_parameter=library.Parameter(show_default=_shown),
    )
    for name, summary in COMMANDS.items():
        # a name of a module, not the module: it is imported when its command runs
        app.command(
            f"toolplan.cli.{name}:{name}_command",
            name=name,
            help=summary,
            help_epilogue=SERVER_EPILOGUE if name in SERVERS else EPILOGUE,
        )
    app.command(
        "toolplan.cli._completion:install_completion", name=COMPLETION, help=COMPLETION_SUMMARY
    )
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code.

    0: fine. 1: the plan or the run failed, or there is no plan. 2: usage or configuration.
    3: storage. 130: interrupted. 141: the reader of the output has gone.
    """
    words = sys.argv[1:] if arguments is None else [*arguments]
    as_json = "--json" in words
    debug = "--debug" in _options(words)
    if debug:
        words.remove("--debug")
    _terminal.prepare_streams()
    try:
        code = _call(words, debug=debug)
        sys.stdout.flush()
    except ToolplanError as error:
        code = _terminal.report(error, as_json=as_json)
    except SystemExit as ended:  # the reader of the words ends an interrupted command so
        code = ended.code
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
    status = code if isinstance(code, int) else 0
    if arguments is None and "toolplan.event_loop" in sys.modules:  # else nothing has run
        ending: Any = import_module("toolplan.cli._ending")
        ending.end_process(status)
    sys.exit(status)


def _options(words: list[str]) -> list[str]:
    """Return the words that may be options: those before `--`."""
    return words[: words.index("--")] if "--" in words else words


def _call(words: list[str], *, debug: bool) -> object:
    """Run a command; return its exit code, or what else it returns.

    Raises:
        ToolplanError: the words of the call are wrong, or the command failed.
    """
    if words in ([], ["-h"], ["--help"]):
        return print_front_page()
    if words == ["--version"]:
        print(own_version())
        return None
    app = commands()
    library: Any = import_module("cyclopts")
    faults: Any = import_module("toolplan.cli._faults")  # as the commands: not for the front page
    try:
        with faults.faults_reported(debug=debug, as_json="--json" in words):
            return app(words, exit_on_error=False, print_error=False)
    except library.CycloptsError as error:
        raise _usage(error, words) from None


def _usage(error: CycloptsError, words: list[str]) -> ToolplanError:
    """Return what is wrong with the words of the call, and where the help is."""
    command = words[0] if words and words[0] in COMMANDS else ""
    help_ = f"See `toolplan {command} --help`." if command else "See `toolplan --help`."
    message = str(error)
    library: Any = import_module("cyclopts")
    if isinstance(error, library.UnusedCliTokensError):
        unused = " ".join(cast("UnusedCliTokensError", error).unused_tokens or ())
        message = f"These words are too many: {unused!r}."
        if command in ("ask", "plan"):
            help_ = "Put the question in quotes."
    elif isinstance(error, library.UnknownOptionError):
        unknown = cast("UnknownOptionError", error)
        option = unknown.token.keyword or unknown.token.value
        message = _unknown_option(option, unknown.argument_collection)
    elif isinstance(error, library.ValidationError) and error.app is not None:
        option = str(cast("ValidationError", error).exception_message)
        if option.startswith("-"):  # as `refuse_options` says
            message = _unknown_option(option, error.app.assemble_argument_collection())
    elif isinstance(error, library.MissingArgumentError) and error.argument is not None:
        message = f"{error.argument.name.removeprefix('--').upper()} is missing."
        if error.argument.name == "--tools":
            needed = (
                "name the MCP configuration that has the server"
                if command in ("login", "logout")
                else "a plan needs the tools that it names"
            )
            message = f"--tools is missing: {needed}."
    return ToolplanError("usage", message, help_)


def _unknown_option(word: str, known: ArgumentCollection) -> str:
    """Return a sentence on an unknown option, with those of the command that are like it."""
    option = word.partition("=")[0]
    names = {name.lstrip("-"): name for each in known for name in each.names}
    diagnostics: Any = import_module("toolplan.diagnostics")  # not for `toolplan --help`
    meant = [names[name] for name in diagnostics.near(option.lstrip("-"), names)]
    hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
    return f"Unknown option: {option}.{hint}"
