"""Puts toolplan into a client's configuration, in front of the servers that are there.

The servers move to `clients/CLIENT/mcp.json` in the user's data folder. The client's file as it
was stands beside it, so that `uninstall` puts it back byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from toolplan.app.home import VARIABLE, home
from toolplan.errors import ToolplanError
from toolplan.mcp_server._documents import Added, BrokenFile, Document, JsonDocument
from toolplan.mcp_server._terminal_command import own_command
from toolplan.mcp_server.clients import Client, Stays, converted, own_entry, variables
from toolplan.path import Json
from toolplan.storage.shared_file import try_lock

OWN: Final = "toolplan"
"""What the entry in a client's configuration is called."""

_BEFORE: Final = "before"
_AFTER: Final = "after"
_SERVERS: Final = "mcp.json"
_MOST_BYTES: Final = 20_000_000


class Installed(Struct, frozen=True):
    """What was done with a client's file.

    Attributes:
        path: the client's file.
        changed: whether it was written.
        servers: the configuration of the servers behind toolplan.
        moved: the names of servers that toolplan starts now, or that are back.
        stays: servers that the client still starts itself, each with the reason.
    """

    path: Path
    changed: bool
    servers: Path
    moved: tuple[str, ...] = ()
    stays: Mapping[str, str] = {}


def install(
    client: Client,
    *,
    project: Path | None = None,
    others: Sequence[Client] = (),
    dry: bool = False,
) -> Installed:
    """Move the servers of `client` behind one entry that starts toolplan.

    A second time, servers that were added since move, too. The files of `others` are read, and
    their servers stand behind toolplan as well; they are not changed.

    Raises:
        ToolplanError: a file cannot be read or changed; then nothing is.
    """
    path = _path(client, project)
    kept = _kept(client, path)
    now = _read(path)
    before = _uninstalled(client, path, kept, now) if _is_installed(kept) else now
    document = _document(client, path, before or b"")
    moved, stays = _movable(client, document)
    servers = dict(moved)
    for other in others:
        found, staying = from_client(other)
        stays |= {f"{name} of {other.name}": reason for name, reason in staying.items()}
        _add_servers(servers, found, other, path)
    if OWN in document.servers:
        raise ToolplanError(
            "client-file",
            f"{path} was not changed: it has a server {OWN!r} already.",
            "Remove that one, or give it another name.",
        )
    if not servers:
        raise ToolplanError(
            "client-file",
            f"{path} was not changed: it has no server that toolplan can start.",
            f"Add servers to {client.name}, or take those of another client: --from CLIENT.",
        )
    place = kept / _SERVERS
    named = [*dict.fromkeys(each for entry in servers.values() for each in variables(entry))]
    command = [*own_command(), "mcp", "--tools", str(place)]
    entry = own_entry(client, command, _environment(), named)
    with _refusing(path):
        after = document.edited(moved, {OWN: Added(entry)}).encode()
    done = Installed(path, after != now, place, tuple(servers), stays)
    if dry:
        return done
    text = json.dumps({"mcpServers": {**_servers_in(place), **servers}}, indent=2)
    with _refusing(path):
        kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        # the client's file is the last: after a crash before it, everything can be done again
        for file, content in ((_BEFORE, before), (_AFTER, after), (_SERVERS, text.encode())):
            _write(kept / file, content)
        _replace(path, now, after)
    return done


def uninstall(client: Client, *, project: Path | None = None) -> Installed:
    """Put the file of `client` back as it was; what was changed in it since stays.

    Raises:
        ToolplanError: the file cannot be read or changed; then nothing is.
    """
    path = _path(client, project)
    kept = _kept(client, path)
    place, now = kept / _SERVERS, _read(path)
    if not _is_installed(kept):
        return Installed(path, False, place)
    document = _document(client, path, _bytes(kept / _BEFORE) or b"")
    moved, stays = _movable(client, document)
    after = _uninstalled(client, path, kept, now)
    with _refusing(path):
        _replace(path, now, after)
        (kept / _AFTER).unlink()
        (kept / _BEFORE).unlink(missing_ok=True)
        if set(_servers_in(place)) <= set(moved):
            place.unlink(missing_ok=True)
    return Installed(path, True, place, tuple(moved), stays)


def from_client(
    client: Client, project: Path | None = None
) -> tuple[dict[str, Json], dict[str, str]]:
    """Return the servers of a client that toolplan can start, and why it cannot start others.

    Raises:
        ToolplanError: the client's file cannot be read.
    """
    path = _path(client, project)
    kept = _kept(client, path)
    found = _bytes(path)
    if _is_installed(kept):
        found = _uninstalled(client, path, kept, found)
    return _movable(client, _document(client, path, found or b""))


def _add_servers(
    servers: dict[str, Json], found: Mapping[str, Json], other: Client, path: Path
) -> None:
    """Add the servers of another client.

    Raises:
        ToolplanError: one has the name of a server that is not the same.
    """
    for name, entry in found.items():
        if servers.setdefault(name, entry) != entry:
            raise ToolplanError(
                "client-file",
                f"{path} was not changed: {name!r} is another server in {other.name}.",
                "Give one of the two another name.",
            )


def _movable(client: Client, document: Document) -> tuple[dict[str, Json], dict[str, str]]:
    moved: dict[str, Json] = {}
    stays: dict[str, str] = {}
    for name, entry in document.servers.items():
        try:
            if name != OWN:
                moved[name] = converted(client, name, entry)
        except Stays as reason:
            stays[name] = str(reason)
    return moved, stays


def _uninstalled(client: Client, path: Path, kept: Path, now: bytes | None) -> bytes | None:
    """Return the client's file as it was before, with what was changed in it since."""
    before, after = _bytes(kept / _BEFORE), _bytes(kept / _AFTER)
    if now is None or now == after:
        return before
    document = _document(client, path, now)
    was = _document(client, kept / _BEFORE, before or b"")
    moved, _ = _movable(client, was)
    back = {
        name: Added(was.servers[name], was.source_of(name))
        for name in moved
        if name not in document.servers
    }
    with _refusing(path):
        is_new = client.table not in was.data
        return document.edited({OWN} & document.servers.keys(), back, drop_empty=is_new).encode()


def _document(client: Client, path: Path, content: bytes) -> Document:
    with _refusing(path):
        return client.document(content.decode())


def _path(client: Client, project: Path | None) -> Path:
    if project is not None and not client.project:
        raise ToolplanError(
            "client-file",
            f"{client.name} has no configuration in projects.",
            "Leave out --project.",
        )
    return client.path(project).absolute()


def _kept(client: Client, path: Path) -> Path:
    """Return the folder for what belongs to the client's file at `path`."""
    folder = home().absolute() / "clients"
    if path == client.path(None).absolute():
        return folder / client.name
    return folder / f"{client.name}-{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"


def _is_installed(kept: Path) -> bool:
    return (kept / _AFTER).is_file()


def _environment() -> dict[str, str]:
    return {VARIABLE: str(home().absolute())} if os.environ.get(VARIABLE) else {}


def _servers_in(place: Path) -> dict[str, Json]:
    """Return the servers of toolplan's own configuration; a person may have added some."""
    content = _bytes(place)
    if content is None:
        return {}
    with _refusing(place):
        return JsonDocument(content.decode(), "mcpServers").servers


def _read(path: Path) -> bytes | None:
    """Return the client's file, None if there is none.

    Raises:
        ToolplanError: it must not be changed: a link, read-only, or in use.
    """
    with _refusing(path):
        if path.is_symlink():
            raise BrokenFile(f"it is a link to {path.readlink()}")
        if not path.exists():
            return None
        if not path.is_file():
            raise BrokenFile("it is no file")
        if not path.stat().st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
            raise BrokenFile("it is read-only")
        if path.with_name(f"{path.name}.lock").exists():
            raise BrokenFile("it is in use: the client has locked it")
        release = try_lock(path)
        if release is None:
            raise BrokenFile("it is in use: another program has locked it")
        release()
    return _bytes(path)


def _bytes(path: Path) -> bytes | None:
    with _refusing(path):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        if len(content) > _MOST_BYTES:
            raise BrokenFile(f"it has more than {_MOST_BYTES} bytes")
        return content


def _replace(path: Path, now: bytes | None, content: bytes | None) -> None:
    """Write the client's file, if it is still as it was read."""
    if _bytes(path) != now:
        raise BrokenFile("it is in use: it has changed meanwhile")
    if content != now:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, content)


def _write(path: Path, content: bytes | None) -> None:
    """Write a file whole, with the mode that it has; a new one can be read by its owner only."""
    if content is None:
        path.unlink(missing_ok=True)
        return
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, name)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


@contextmanager
def _refusing(path: Path) -> Generator[None]:
    """Raise what is wrong with a file as an error of toolplan."""
    try:
        yield
    except (BrokenFile, UnicodeDecodeError) as error:
        said = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
    except OSError as error:
        said = error.strerror or type(error).__name__
    else:
        return
    raise ToolplanError(
        "client-file", f"{path} was not changed: {said}.", "Repair that, and call this again."
    )
