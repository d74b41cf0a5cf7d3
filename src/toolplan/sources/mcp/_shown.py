"""What was shown to the user: commands of servers, and changed tools. Kept in the data folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from toolplan.storage.shared_file import locked, write_whole

_COMMANDS: Final = "servers.json"
_CHANGES: Final = "changes.json"
_MOST: Final = 10_000


def shown_commands(data: Path) -> frozenset[str]:
    """Return the digests of the commands that were shown."""
    found = _read(data / _COMMANDS)
    listed = cast("list[object]", found) if isinstance(found, list) else []
    return frozenset(each for each in listed if isinstance(each, str))


def keep_commands(data: Path, digests: Iterable[str]) -> None:
    """Keep that commands were shown; where it cannot be written, they are shown again."""
    with suppress(OSError):
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(data / _COMMANDS):
            known = sorted({*shown_commands(data), *digests})
            write_whole(data / _COMMANDS, json.dumps(known))


def shown_changes(data: Path, lock: Path) -> Mapping[str, str]:
    """Return the digests of the changed tools that were shown beside the pins in `lock`."""
    found = _table(_read(data / _CHANGES)).get(str(lock.resolve()))
    return {name: text for name, text in _table(found).items() if isinstance(text, str)}


def keep_changes(data: Path, lock: Path, digests: Mapping[str, str]) -> None:
    """Keep which changed tools were shown last beside the pins in `lock`."""
    with suppress(OSError):
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(data / _CHANGES):
            known = _table(_read(data / _CHANGES))
            kept = {**known, str(lock.resolve()): dict(digests)}
            write_whole(data / _CHANGES, json.dumps(dict([*kept.items()][-_MOST:])))


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _table(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
