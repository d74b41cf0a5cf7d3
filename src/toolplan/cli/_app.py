"""The call of a command, and how each reports errors."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Final

from toolplan import release
from toolplan.cli import _ending, _faults, _library, _plain_call, _terminal
from toolplan.cli import _front_page as front_page
from toolplan.cli._terminal import Exit
from toolplan.errors import ToolplanError

_BETWEEN_COLLECTIONS: Final = 200_000
"""Objects that are made before garbage is looked for: loading modules makes many, all of them kept.

With the usual 700 a tenth of a short command is spent looking. A server keeps the usual number: its
runs leave cycles with large outputs in them.
"""


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
        code = _run(words, debug=debug)
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
    if arguments is None and "toolplan.cli._faults" in sys.modules:  # else nothing was loaded
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
    if words in ([], ["-h"], ["--help"]):
        return front_page.print_front_page()
    if words == ["--version"]:
        print(release.own_version())
        return None
    if words[0] not in front_page.SERVERS:
        gc.set_threshold(_BETWEEN_COLLECTIONS)
    # none of this is for the front page, and most calls need no library
    with _faults.faults_reported(debug=debug, as_json="--json" in words):
        call = _read_plainly(words)
        if call is not None:
            return call()
        return _library.run_words(words)


def _read_plainly(words: list[str]) -> Callable[[], object] | None:
    """Return the call that the words are, None where they need the library."""
    name, *rest = words
    if name not in front_page.COMMANDS:
        return None
    command = getattr(import_module(f"toolplan.cli.{name}"), f"{name}_command")
    return _plain_call.plain_call(command, rest)
