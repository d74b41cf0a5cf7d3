"""Where runs are kept and what the user has set: the folder that `TOOLPLAN_HOME` names."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

import platformdirs

from toolplan.app.known_settings import unknown_setting
from toolplan.cli._terminal import CommandError, Exit
from toolplan.storage.journal import Journal, JournalError
from toolplan.tools import Effects

VARIABLE: Final = "TOOLPLAN_HOME"
JOURNAL: Final = "runs.sqlite"
SETTINGS: Final = "toolplan.toml"

_LABELS: Final = tuple(label.value for label in Effects)
_EXAMPLE: Final = 'Its table [effects] has lines such as `send_mail = "write"`.'
_MEND: Final = "Mend the file, or move it away."
_ANOTHER_PROCESS: Final = frozenset(("journal-taken", "approval-used"))


def home() -> Path:
    """Return the folder: that of `TOOLPLAN_HOME`.

    Else the one of the platform for a user's data.
    """
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("toolplan", appauthor=False)


@contextmanager
def storage() -> Generator[None]:
    """Tell what is wrong with the journal as a command does.

    Raises:
        CommandError: the journal cannot be used, or has no such run.
    """
    try:
        yield
    except JournalError as error:
        code = Exit.STORAGE
        if error.code == "unknown-run":
            code = Exit.USAGE
        elif error.code in _ANOTHER_PROCESS:
            code = Exit.FAILED
        raise CommandError(error.code, str(error), error.help or None, code) from None


def open_journal() -> Journal:
    """Open the journal; it is made where there is none.

    Raises:
        CommandError: it cannot be opened.
    """
    folder = home()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CommandError(
            "journal-unavailable",
            f"The folder {folder} cannot be made: {reason}.",
            f"Name another one: {VARIABLE}=FOLDER.",
            Exit.STORAGE,
        ) from None
    with storage():
        return Journal(folder / JOURNAL)


def existing_journal() -> Journal | None:
    """Open the journal if there is one.

    Raises:
        CommandError: it cannot be opened.
    """
    return open_journal() if (home() / JOURNAL).exists() else None


def labels_of(options: Sequence[str]) -> dict[str, Effects]:
    """Read `TOOL=LABEL` of `--effects`.

    Raises:
        CommandError: one is no such thing.
    """
    found: dict[str, Effects] = {}
    for option in options:
        tool, _, label = option.rpartition("=")
        if not tool or label not in _LABELS:
            raise CommandError(
                "bad-effects",
                f"--effects {option!r} is no label.",
                f"Write TOOL=LABEL; labels are {', '.join(_LABELS)}.",
            )
        found[tool] = Effects(label)
    return found


def settings_labels() -> dict[str, Effects]:
    """Return the labels in the table `[effects]` of the user's settings; none where there are none.

    Raises:
        CommandError: the settings cannot be read.
    """
    path, table = settings_table("effects")
    found: dict[str, Effects] = {}
    for tool, label in table.items():
        if not isinstance(label, str) or label not in _LABELS:
            raise bad_settings(
                path, f"the label of {tool!r} is none of {', '.join(_LABELS)}", _EXAMPLE
            )
        found[tool] = Effects(label)
    return found


def settings_table(name: str) -> tuple[Path, dict[str, object]]:
    """Return a table of the user's settings, empty where there is none, and where it stands.

    Raises:
        CommandError: the settings cannot be read, or say something that nobody reads.
    """
    path = home() / SETTINGS
    try:
        settings = tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return path, {}
    except OSError as error:
        raise bad_settings(path, error.strerror or type(error).__name__, _MEND) from None
    except ValueError as error:  # no TOML, or no UTF-8
        raise bad_settings(path, str(error), _MEND) from None
    if (unknown := unknown_setting(settings)) is not None:
        raise bad_settings(path, unknown.reason, unknown.help)
    table: object = settings.get(name, {})
    if not isinstance(table, dict):
        raise bad_settings(path, f"{name!r} is no table", f"Write [{name}] on a line of its own.")
    return path, cast("dict[str, object]", table)


def bad_settings(path: Path, reason: str, example: str) -> CommandError:
    """Return the error for settings that cannot be used; `example` says what can."""
    return CommandError("bad-settings", f"{path}: {reason}.", example)
