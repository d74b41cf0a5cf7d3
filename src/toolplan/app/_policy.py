"""The user's policy: a file that is named, or the one beside `toolplan.toml`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from toolplan import flows
from toolplan.errors import ToolplanError
from toolplan.flows import Policy, PolicyError

FILE: Final = "toolplan.policy.toml"

PolicyArgument: TypeAlias = Policy | Mapping[str, object] | str | os.PathLike[str] | None
"""A policy, its document, or the path of its file; None for the file beside `toolplan.toml`."""


def policy_of(given: PolicyArgument, settings: Path | None) -> Policy:
    """Return the policy that is `given`; else that beside the file `settings`, or an empty one.

    Raises:
        ToolplanError: it cannot be read (`bad-policy`); the message has the line.
    """
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
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text (byte {error.start})"
    raise PolicyError(f"{file}: {reason}.", (), "Name a policy: --policy FILE.")
