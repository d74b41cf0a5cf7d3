"""Puts toolplan into a client's configuration, in front of the servers that are there.

The servers move to `clients/CLIENT/mcp.json` in the user's data folder. The client's file as it
was stands beside it, so that `uninstall` puts it back byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from toolplan.app.settings import VARIABLE, home
from toolplan.base.errors import ToolplanError
from toolplan.mcp_server._documents import Added, BrokenFile, Document, JsonDocument
from toolplan.mcp_server._reports import own_command
from toolplan.mcp_server._server import EXAMPLE, INSTRUCTIONS
from toolplan.mcp_server.clients import Client, Stays, converted, own_entry, variables
from toolplan.plan.path import Json
from toolplan.storage.shared_file import try_lock, write_whole

OWN: Final = "toolplan"
"""The name of the entry in a client's configuration."""

SKILL: Final = f"""---
name: toolplan
description: Use for tasks of several tool calls, for loops over tools, and for large results.
---

{INSTRUCTIONS}

A plan is one JSON object. It is checked whole; a problem names its place and what would fit.

```json
{json.dumps(EXAMPLE, indent=2)}
```

- `search` first: it returns the signatures of the tools that match.
- `${{id.path}}` is a part of the result of an earlier step, `[*]` each element of a list.
- `for_each` makes one call for each element; `${{item}}` and `${{index}}` are its own. A step with
  `when` runs only if the value fits.
- The tool `sql` computes over results: `"tables": {{"orders": "${{orders.data}}"}}`. Text has the
  columns `text`, `item` and `index`.
- `output` names what you need. The rest stays: `runs` reads it by path, and a later plan refers to
  it by `${{run:NAME.step.path}}`.
- After a failed run give the corrected plan with `use`: calls that were made are not repeated.
- Effects wait for a person. Show the effects and the link or command of the error, then call
  `runs` with the name of the run.
"""
"""The skill for assistants: when to write a plan, and how."""

_MOST_BYTES: Final = 20_000_000
_REPAIR: Final = "Repair that, and call this again."


class Installed(Struct, frozen=True):
    """The result for a client's file.

    Attributes:
        path: the client's file.
        changed: whether it was written.
        servers: the configuration of the servers behind toolplan.
        moved: the names of servers that toolplan starts now, or that are back.
        stays: servers that the client still starts itself, each with the reason.
        skill: the file of the skill that was written or removed, if there is one.
    """

    path: Path
    changed: bool
    servers: Path
    moved: tuple[str, ...] = ()
    stays: Mapping[str, str] = {}
    skill: Path | None = None


def install(
    client: Client,
    *,
    project: Path | None = None,
    others: Sequence[Client] = (),
    skill: bool = False,
    dry: bool = False,
) -> Installed:
    """Move the servers of `client` behind one entry that starts toolplan.

    A second time, servers that were added since move, too. The files of `others` are read, and
    their servers stand behind toolplan as well; they are not changed. With `skill` a file tells
    the client's model when and how to write plans.

    Raises:
        ToolplanError: a file cannot be read or changed; then nothing is.
    """
    found = {other.name: from_client(other) for other in others}
    with _opened(client, project) as file:
        now = file.changeable()
        told = file.write_skill(dry=True) if skill else None
        before = file.original(now)
        document = file.document(before)
        moved, stays = _movable(client, document)
        servers = dict(moved)
        for other, (entries, staying) in found.items():
            stays |= {f"{name} of {other}": reason for name, reason in staying.items()}
            for name, entry in entries.items():
                if servers.setdefault(name, entry) != entry:
                    message = f"{name!r} is another server in {other}"
                    raise BrokenFile(message, "Give one of the two another name.")
        if OWN in document.servers:
            message = f"it has a server {OWN!r} already"
            raise BrokenFile(message, "Remove that one, or give it another name.")
        if not servers:
            help = f"Add servers to {client.name}, or take those of another client: --from CLIENT."
            raise BrokenFile("it has no server that toolplan can start", help)
        named = [*dict.fromkeys(each for entry in servers.values() for each in variables(entry))]
        command = [*own_command(), "mcp", "--tools", str(file.servers)]
        environment = {VARIABLE: str(home().absolute())} if os.environ.get(VARIABLE) else {}
        entry = own_entry(client, command, environment, named)
        after = document.edited(moved, {OWN: Added(entry)}).encode()
        if not dry:
            text = json.dumps({"mcpServers": {**file.servers_behind(), **servers}}, indent=2)
            file.kept.mkdir(mode=0o700, parents=True, exist_ok=True)
            if told is not None:
                file.write_skill()
            # the client's file is the last: after a crash before it, everything can be done again
            _write(file.before, before)
            write_whole(file.after, after)
            write_whole(file.servers, text)
            file.replace(now, after)
        return Installed(file.path, after != now, file.servers, tuple(servers), stays, told)


def uninstall(client: Client, *, project: Path | None = None) -> Installed:
    """Put the file of `client` back as it was; later changes in it stay.

    Raises:
        ToolplanError: the file cannot be read or changed; then nothing is.
    """
    with _opened(client, project) as file:
        now = file.changeable()
        if not file.after.is_file():
            return Installed(file.path, False, file.servers)
        moved, stays = _movable(client, file.document(_content(file.before)))
        removed = file.remove_skill()
        file.replace(now, file.original(now))
        file.after.unlink()
        file.before.unlink(missing_ok=True)
        if set(file.servers_behind()) <= set(moved):
            file.servers.unlink(missing_ok=True)
        return Installed(file.path, True, file.servers, tuple(moved), stays, removed)


def from_client(
    client: Client, project: Path | None = None
) -> tuple[dict[str, Json], dict[str, str]]:
    """Return the servers of a client that toolplan can start, and why it cannot start others.

    Raises:
        ToolplanError: the client's file cannot be read.
    """
    with _opened(client, project) as file:
        return _movable(client, file.document(file.original(_content(file.path))))


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


@contextmanager
def _opened(client: Client, project: Path | None) -> Generator[_ClientFile]:
    """Yield the file of a client; its faults are raised as errors of toolplan."""
    if project is not None and not client.project:
        message = f"{client.name} has no configuration in projects."
        raise ToolplanError("client-file", message, "Leave out --project.")
    file = _ClientFile(client, project)
    with _refusing(file.path):
        yield file


@contextmanager
def _refusing(path: Path | str) -> Generator[None]:
    try:
        yield
        return
    except UnicodeDecodeError:
        said, help = "it is not UTF-8", _REPAIR
    except BrokenFile as error:
        said, help = str(error), error.help or _REPAIR
    except OSError as error:
        said, help = error.strerror or type(error).__name__, _REPAIR
        path = error.filename or path
    raise ToolplanError("client-file", f"{path} was not changed: {said}.", help)


class _ClientFile:
    """A client's file, and its folder in the user's data.

    `before` and `after` are the file before and after `install`, `servers` is the configuration of
    the servers that moved. Its methods raise `BrokenFile` and `OSError`.
    """

    def __init__(self, client: Client, project: Path | None) -> None:
        self._client = client
        self.path = client.path(project).absolute()
        name = client.name
        if self.path != client.path(None).absolute():
            name += f"-{hashlib.sha256(str(self.path).encode()).hexdigest()[:12]}"
        self.kept = home().absolute() / "clients" / name
        self.before, self.after = self.kept / "before", self.kept / "after"
        self.servers = self.kept / "mcp.json"
        self._skill = client.skill(project)
        self._kept_skill = self.kept / "SKILL.md"

    def write_skill(self, *, dry: bool = False) -> Path:
        """Write the skill, or refuse to replace one that a person wrote or changed."""
        if self._skill is None:
            raise BrokenFile(f"{self._client.name} reads no skills", "Leave out --skill.")
        with _refusing(self._skill):
            if self._skill.is_symlink():
                raise BrokenFile(f"it is a link to {self._skill.readlink()}")
            if _content(self._skill) not in (None, _content(self._kept_skill), SKILL.encode()):
                raise BrokenFile("toolplan did not write it", "Move it, or leave out --skill.")
            if not dry:
                self._skill.parent.mkdir(parents=True, exist_ok=True)
                write_whole(self._kept_skill, SKILL)
                write_whole(self._skill, SKILL, mode=0o644)
        return self._skill

    def remove_skill(self) -> Path | None:
        """Remove the skill that `write_skill` wrote, unless a person has changed it since."""
        kept = _content(self._kept_skill)
        if self._skill is None or kept is None or _content(self._skill) != kept:
            return None
        self._skill.unlink()
        self._kept_skill.unlink()
        folder = self._skill.parent
        if not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()
        return self._skill

    def changeable(self) -> bytes | None:
        """Return the content, None if there is no file; one that must not be changed is refused."""
        path = self.path
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
        return _content(path)

    def original(self, now: bytes | None) -> bytes | None:
        """Return the content without toolplan, with changes made in it since `install`."""
        if not self.after.is_file():
            return now
        before = _content(self.before)
        if now is None or now == _content(self.after):
            return before
        document, was = self.document(now), self.document(before)
        moved, _ = _movable(self._client, was)
        back = {
            name: Added(was.servers[name], was.source_of(name))
            for name in moved
            if name not in document.servers
        }
        is_new = self._client.table not in was.data
        own = {OWN} & document.servers.keys()
        return document.edited(own, back, drop_empty=is_new).encode()

    def document(self, content: bytes | None) -> Document:
        """Read `content` in the client's format."""
        return self._client.document((content or b"").decode())

    def servers_behind(self) -> dict[str, Json]:
        """Return the servers of toolplan's own configuration; a person may have added some."""
        with _refusing(self.servers):
            content = _content(self.servers)
            return {} if content is None else JsonDocument(content.decode(), "mcpServers").servers

    def replace(self, now: bytes | None, content: bytes | None) -> None:
        """Write the client's file, if it is still as it was read."""
        if _content(self.path) != now:
            raise BrokenFile("it is in use: it has changed meanwhile")
        if content != now:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _write(self.path, content)


def _content(path: Path) -> bytes | None:
    """Return the content of a file, None if there is none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(content) > _MOST_BYTES:
        raise BrokenFile(f"it has more than {_MOST_BYTES} bytes")
    return content


def _write(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
        write_whole(path, content, mode=mode)
