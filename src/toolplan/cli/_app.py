"""The call of a command, and how each reports errors."""

from __future__ import annotations

import sys

from toolplan.cli import _commands, _ending, _faults, terminal
from toolplan.cli.terminal import Exit
from toolplan.errors import ToolplanError


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
    terminal.prepare_streams()
    try:
        code = _run(words, debug=debug)
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
        reason = error.strerror or type(error).__name__
        failed = ToolplanError("storage", f"The system reports: {reason}.")
        code = terminal.report(failed, as_json=as_json)
    status = code if isinstance(code, int) else 0
    if arguments is None:
        _ending.end_process(status)
    sys.exit(status)


def _options(words: list[str]) -> list[str]:
    """Return the words that may be options: those before `--`."""
    return words[: words.index("--")] if "--" in words else words


def _run(words: list[str], *, debug: bool) -> object:
    """Run a command; return its exit code, or what else it returns.

    Raises:
        ToolplanError: the words of the call are wrong, or the command failed.
    """
    with _faults.faults_reported(debug=debug, as_json="--json" in words):
        return _commands.run_words(words)
