"""The user's data folder, and the files in it: the journal, the policy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

import platformdirs

from toolplan import policy as flows
from toolplan.app.settings import Settings, file_fault, read_settings
from toolplan.base.errors import ToolplanError
from toolplan.policy import Policy, PolicyError
from toolplan.storage.journal import Place, Store, is_address, open_journal

VARIABLE: Final = "TOOLPLAN_HOME"
JOURNAL: Final = "runs.sqlite"
MEMORY: Final = "memory.sqlite"
LEARNED: Final = "learned.sqlite"


def home() -> Path:
    """Return the folder of `TOOLPLAN_HOME`, else the platform's folder for a user's data."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("toolplan", appauthor=False)


def journal_place(settings: Settings, given: Place | None = None) -> Path | str:
    """Return where the journal is: a file, or the address of a database.

    It is what is given, else what is set, else the file in the user's folder.
    """
    place = settings.journal if given is None else given
    if place is None:
        return home() / JOURNAL
    return str(place) if is_address(place) else Path(place).expanduser()


def user_journal(given: str | None = None) -> Path | str:
    """Return where the journal of a command is; `given` is its option."""
    return journal_place(read_settings(home()), given)


def journal_at(place: Path | str) -> Store | None:
    """Open the journal at `place`; None where it is a file that does not exist."""
    if isinstance(place, Path) and not place.exists():
        return None
    return open_journal(place)


FILE: Final = "toolplan.policy.toml"

PolicyArgument: TypeAlias = Policy | Mapping[str, object] | str | os.PathLike[str] | None
"""A policy, its document, or the path of its file; None for the file beside `toolplan.toml`."""


def policy_of(given: PolicyArgument, settings: Path | None) -> Policy:
    """Return the policy that is `given`; else that beside the file `settings`, or an empty one."""
    match given:
        case Policy():
            return given
        case Mapping():
            return Policy.from_json(given)
        case None:
            beside = None if settings is None else settings.with_name(FILE)
            return Policy() if beside is None or not beside.exists() else read_policy(beside)
        case str() | os.PathLike():
            return read_policy(given)
        case _:
            raise ToolplanError(
                "usage",
                f"policy= is a value of type {type(given).__name__}.",
                "Give a toolplan.Policy, a mapping, or the path of a file.",
            )


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Return the policy in a TOML file.

    Raises:
        ToolplanError: it cannot be read (`bad-policy`); the message has the line.
    """
    file = Path(path)
    try:
        return flows.parse_policy(file.read_text("utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        help_ = "Name a policy: --policy FILE."
        raise PolicyError(f"{file}: {file_fault(error)}.", (), help_) from None
