"""The commands as cyclopts reads them: their help, their completion, and what is wrong with words.

Calls that are plain are read without it (`toolplan.cli._plain_call`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, get_type_hints

import cyclopts
from cyclopts import (
    App,
    ArgumentCollection,
    CycloptsError,
    MissingArgumentError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from toolplan.cli._front_page import (
    ABOUT,
    COMMANDS,
    COMPLETION,
    COMPLETION_SUMMARY,
    EPILOGUE,
    SERVER_EPILOGUE,
    SERVERS,
)
from toolplan.cli._parameter import Parameter, declaration
from toolplan.diagnostics import near
from toolplan.errors import ToolplanError
from toolplan.release import own_version


def _shown(default: object) -> str | None:
    """Return a default as the help shows it: nothing where there is none."""
    return None if default is None or default is False or default == () else str(default)


def commands() -> App:
    """Return the commands, each of which is loaded when it is needed."""
    app = App(
        name="toolplan",
        help=ABOUT,
        version=own_version,
        help_epilogue=EPILOGUE,
        help_format="plaintext",
        result_action="return_value",
        default_parameter=cyclopts.Parameter(show_default=_shown),
    )
    for name, summary in COMMANDS.items():
        app.command(
            f"{__name__}:{name}_command",  # `__getattr__` below
            name=name,
            help=summary,
            help_epilogue=SERVER_EPILOGUE if name in SERVERS else EPILOGUE,
        )
    app.command(
        "toolplan.cli._completion:install_completion", name=COMPLETION, help=COMPLETION_SUMMARY
    )
    return app


def __getattr__(name: str) -> Callable[..., object]:
    """Return the command that is called `name` in its module: `ask_command`."""
    module = name.removesuffix("_command")
    if module not in COMMANDS:
        raise AttributeError(name)
    return declared(getattr(import_module(f"toolplan.cli.{module}"), name))


def declared(command: Callable[..., object]) -> Callable[..., object]:
    """Return `command` with its parameters declared as cyclopts has it."""
    hints = {
        name: _declared(hint) for name, hint in get_type_hints(command, include_extras=True).items()
    }

    @wraps(command)
    def call(*arguments: object, **options: object) -> object:
        return command(*arguments, **options)

    own = inspect.signature(command)
    parameters = [each.replace(annotation=hints[each.name]) for each in own.parameters.values()]
    call.__annotations__ = hints
    vars(call)["__signature__"] = own.replace(parameters=parameters)
    return call


def _declared(hint: object) -> object:
    kind, said = declaration(hint)
    return hint if said is None else Annotated[kind, _parameter(said)]


def _parameter(said: Parameter) -> cyclopts.Parameter:
    options: dict[str, Any] = {"name": said.name} if said.name else {}
    return cyclopts.Parameter(
        help=said.help,
        negative=(),
        validator=said.validator,
        allow_leading_hyphen=said.allow_leading_hyphen,
        **options,
    )


def run_words(words: Sequence[str]) -> object:
    """Run a command; return its exit code, or what else it returns.

    Raises:
        ToolplanError: the words of the call are wrong, or the command failed.
    """
    try:
        return commands()(list(words), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise _usage(error, words) from None


def _usage(error: CycloptsError, words: Sequence[str]) -> ToolplanError:
    """Return what is wrong with the words of the call, and where the help is."""
    command = words[0] if words and words[0] in COMMANDS else ""
    help_ = f"See `toolplan {command} --help`." if command else "See `toolplan --help`."
    message = str(error)
    if isinstance(error, UnusedCliTokensError):
        unused = " ".join(error.unused_tokens or ())
        message = f"These words are too many: {unused!r}."
        if command in ("ask", "plan"):
            help_ = "Put the question in quotes."
    elif isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        message = _unknown_option(option, error.argument_collection)
    elif isinstance(error, ValidationError) and error.app is not None:
        option = str(error.exception_message)
        if option.startswith("-"):  # as `refuse_options` says
            message = _unknown_option(option, error.app.assemble_argument_collection())
    elif isinstance(error, MissingArgumentError) and error.argument is not None:
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
    meant = [names[name] for name in near(option.lstrip("-"), names)]
    hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
    return f"Unknown option: {option}.{hint}"
