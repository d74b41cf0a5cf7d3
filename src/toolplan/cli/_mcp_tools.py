"""Tools of MCP servers: what is started is shown, and what has changed is not called."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

from toolplan.cli._home import home
from toolplan.cli._terminal import CommandError, Exit, note
from toolplan.render.printable import printable
from toolplan.sources.mcp import connected
from toolplan.sources.mcp.notices import Notice, ServerLost, ToolsChanged
from toolplan.sources.mcp.servers import Command, commands, read_servers
from toolplan.sources.pins import Change, Pins, SourcedTool
from toolplan.tools import Toolbox, ToolObjectError

LOCK: Final = "toolplan.lock.json"
_SEEN: Final = "servers.json"
_MOST_NAMES: Final = 4


@contextmanager
def open_document(path: Path, base_url: str | None) -> Generator[Toolbox]:
    """Yield the tools of the servers that the configuration at `path` names; end them behind it.

    New tools are pinned in `toolplan.lock.json` beside the configuration. One that is not what was
    pinned can be planned with and called no more, until `toolplan tools --accept`.

    Raises:
        ToolObjectError: the configuration cannot be read, or no server can be used.
    """
    del base_url
    servers = read_servers(path, os.environ)
    _show(commands(servers))
    with connected(servers, on_event=_report) as source:
        tools = source.toolbox()
        for fault in source.faults.values():
            note(printable(fault))
        for refused in source.refused:
            note(printable(f"{refused.server}.{refused.tool} is left out: {refused.reason}"))
        yield pinned(tools, path)


def pinned(tools: Toolbox, path: Path) -> Toolbox:
    """Return `tools` with those refused that have changed since they were pinned; pin the new ones.

    Raises:
        ToolObjectError: the lock file cannot be read.
    """
    pins = Pins.load(lock_of(path))
    found = pins.compare(tools)
    _tell_changes(found.changed, path)
    if found.new:
        try:
            pins.accept(tools, found.new).save()
        except OSError as error:
            note(f"The tools cannot be pinned: {error.strerror or error}.")
    return pins.guarded(tools)


def _tell_changes(changes: Sequence[Change], path: Path) -> None:
    """Tell what has changed; what is the same change of many tools, once."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for change in changes:
        alike.setdefault(change.lines, []).append(change.tool)
    for lines, names in alike.items():
        shown = ", ".join(names[:_MOST_NAMES])
        if len(names) > _MOST_NAMES:
            shown += f" and {len(names) - _MOST_NAMES} more"
        note(printable(f"Changed, and not used until accepted: {shown}"))
        for line in lines:
            note(f"  {printable(line)}")
    if changes:
        one = f" {printable(changes[0].tool)}" if len(changes) == 1 else ""
        note(f"  toolplan tools{one} --tools {path} --accept")


def accept(tools: Toolbox, path: Path, name: str | None) -> None:
    """Pin the tools of the configuration at `path` as they are, or the one called `name`.

    Raises:
        CommandError: there is no such tool, or the lock file cannot be written.
    """
    lock = lock_of(path)
    sourced = {each: tool for each, tool in tools.items() if isinstance(tool, SourcedTool)}
    try:
        Pins.load(lock).accept(sourced, None if name is None else [name]).save()
    except ToolObjectError as error:
        raise CommandError("unknown-tool", str(error)) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CommandError("storage", f"{lock}: {reason}.", None, Exit.STORAGE) from None
    note(f"Accepted, and pinned in {lock}.")


def lock_of(path: Path) -> Path:
    """Return the lock file that belongs to the configuration at `path`."""
    return path.parent / LOCK


def _show(started: Sequence[Command]) -> None:
    """Show each command that was not shown before; remember that it was."""
    seen = home() / _SEEN
    try:
        known = cast("object", json.loads(seen.read_text("utf-8")))
    except (OSError, ValueError):
        known = []
    shown = (
        {each for each in cast("list[object]", known) if isinstance(each, str)}
        if isinstance(known, list)
        else set[str]()
    )
    new = [each for each in started if each.digest not in shown]
    for each in new:
        note(printable(f"Starts the MCP server {each.server!r}: {each.line}"))
    if new:
        digests = sorted(shown | {each.digest for each in new})
        try:
            seen.parent.mkdir(parents=True, exist_ok=True)
            seen.write_text(json.dumps(digests), "utf-8")
        except OSError:
            pass  # then it is shown again


def _report(notice: Notice) -> None:
    match notice:
        case ServerLost(server=server, reason=reason):
            note(printable(f"The MCP server {server!r} is gone: {reason}"))
        case ToolsChanged(server=server, changed=changed, gone=gone) if changed or gone:
            names = ", ".join((*changed, *gone))
            note(printable(f"The MCP server {server!r} has changed these tools: {names}"))
        case _:
            pass
