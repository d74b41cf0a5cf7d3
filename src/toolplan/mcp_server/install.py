"""Puts toolplan into a client's configuration, in front of the servers that are there.

Each client keeps its servers in a file of its own, whose entries are converted to toolplan's. The
servers move to `clients/CLIENT/mcp.json` in the user's data folder. The client's file as it was
stands beside it, so that `uninstall` puts it back byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import platformdirs
from msgspec import Struct

from toolplan.app.settings import VARIABLE, home
from toolplan.base.errors import ToolplanError
from toolplan.mcp_server._documents import Added, BrokenFile, Document, JsonDocument, TomlDocument
from toolplan.mcp_server._terminal_command import own_command
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolObjectError
from toolplan.storage.shared_file import try_lock, write_whole
from toolplan.tools.mcp.servers import read_servers

_CODE: Final = "{config}/Code/User"
_CLINE: Final = f"{_CODE}/globalStorage/saoudrizwan.claude-dev/settings"
_FILTERS: Final = (
    "disabledTools", "includeTools", "excludeTools", "enabled_tools", "disabled_tools",
)  # fmt: skip
_GATHERED: Final = frozenset((
    "headers", "http_headers", "env_http_headers", "bearer_token_env_var", "env", "env_vars",
))  # fmt: skip
_NOT_COPIED: Final = frozenset((
    *_FILTERS, *_GATHERED,
    # how the client shows its servers, waits for them or approves
    "type", "disabled", "enabled", "required", "description", "gallery", "version",
    "trust", "autoApprove", "alwaysAllow",
    "timeout", "networkTimeout", "initTimeout", "startup_timeout_sec", "startup_timeout_ms",
))  # fmt: skip
_OPENED: Final = re.compile(r"\$\{[^}]*\}?")
_SHORT: Final = re.compile(r"\$([A-Za-z_]\w*)", re.ASCII)
_NAMED: Final = re.compile(r"\$\{([A-Za-z_]\w*)\}", re.ASCII)
OWN: Final = "toolplan"
"""The name of the entry in a client's configuration."""
_MOST_BYTES: Final = 20_000_000
_REPAIR: Final = "Repair that, and call this again."


class Client(Struct, frozen=True):
    """A client, as its documentation describes it.

    Attributes:
        name: what commands call it.
        user: its file for all projects; `~` is the home folder, `{config}` the platform's folder
            for configurations.
        project: its file in a project's folder; empty if it has none.
        home: a variable that names another folder for the user's file.
        table: the object that has its servers.
        variable: how an entry names the environment's variable `NAME`; empty if it cannot.
        short: whether `$NAME` names one, too.
        urls: the fields with an address, each with its transport.
        type: what an entry of a process must have as `type`; empty if nothing.
    """

    name: str
    user: str
    project: str = ""
    home: str = ""
    table: str = "mcpServers"
    variable: str = ""
    short: bool = False
    urls: tuple[tuple[str, str], ...] = (("url", "http"),)
    type: str = ""

    def path(self, project: Path | None) -> Path:
        """Return the file of the user, or that of the folder `project`."""
        if project is not None:
            return project / self.project
        folder, _, name = self.user.rpartition("/")
        config = str(platformdirs.user_config_path(roaming=True))
        return Path(os.environ.get(self.home) or folder.format(config=config)).expanduser() / name

    def document(self, text: str) -> Document:
        """Return what stands in the client's file."""
        read = TomlDocument if self.user.endswith(".toml") else JsonDocument
        return read(text, self.table)


_ALL: Final = (
    Client(
        "claude-code", "~/.claude.json", ".mcp.json",
        home="CLAUDE_CONFIG_DIR", variable="${NAME}",
    ),
    Client("claude-desktop", "{config}/Claude/claude_desktop_config.json"),
    Client("cline", f"{_CLINE}/cline_mcp_settings.json", urls=(("url", "sse"),)),
    Client(
        "codex", "~/.codex/config.toml", ".codex/config.toml",
        home="CODEX_HOME", table="mcp_servers",
    ),
    Client("cursor", "~/.cursor/mcp.json", ".cursor/mcp.json", variable="${env:NAME}"),
    Client(
        "gemini", "~/.gemini/settings.json", ".gemini/settings.json",
        variable="${NAME}", short=True, urls=(("httpUrl", "http"), ("url", "sse")),
    ),
    Client(
        "vscode", f"{_CODE}/mcp.json", ".vscode/mcp.json",
        table="servers", variable="${env:NAME}", type="stdio",
    ),
    Client(
        "windsurf", "~/.codeium/windsurf/mcp_config.json",
        variable="${env:NAME}", urls=(("serverUrl", "http"), ("url", "http")),
    ),
)  # fmt: skip
CLIENTS: Final = {each.name: each for each in _ALL}
"""All clients by name."""


class Stays(Exception):
    """A server stays in the client's own configuration; the text says why."""


def converted(client: Client, name: str, entry: Json) -> dict[str, Json]:
    """Return the entry of a server as toolplan's own configuration has it.

    Raises:
        Stays: toolplan cannot start it as the client does.
    """
    if not isinstance(entry, dict):
        raise Stays("it is no object")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        raise Stays("it is disabled")
    if filters := [key for key in _FILTERS if entry.get(key)]:
        raise Stays(f"{filters[0]} says which of its tools may be used")
    urls = dict(client.urls)
    if len(urls.keys() & entry.keys()) > 1:
        raise Stays("it has two addresses")
    found: dict[str, Json] = {}
    for key, value in entry.items():
        if key in urls:
            found |= {"url": _text(client, value), "transport": entry.get("type", urls[key])}
        elif key == "tool_timeout_sec":
            found["timeout_s"] = value
        elif key not in _NOT_COPIED:
            found[key] = _text(client, value)
    headers, env = _headers_and_env(client, entry)
    found |= {"headers": headers} if headers else {}
    found |= {"env": env} if env else {}
    named = dict.fromkeys(_NAMED.findall(json.dumps(found)), "set")
    try:
        read_servers(json.dumps({"mcpServers": {name: found}}), named)
    except ToolObjectError as error:
        raise Stays(str(error).removeprefix(f"mcpServers.{name}")) from None
    return found


def _headers_and_env(
    client: Client, entry: Mapping[str, Json]
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return headers and variables of an entry, which Codex writes in several fields."""
    headers: dict[str, Json] = {}
    env: dict[str, Json] = {}
    for key in sorted(_GATHERED & entry.keys()):
        match key, entry[key]:
            case (("headers" | "http_headers"), dict() as named):
                headers |= {each: _text(client, text) for each, text in named.items()}
            case "env_http_headers", dict() as named:
                headers |= {each: f"${{{variable}}}" for each, variable in named.items()}
            case "bearer_token_env_var", str() as variable:
                headers["Authorization"] = f"Bearer ${{{variable}}}"
            case "env", dict() as named:
                env |= {each: _text(client, text) for each, text in named.items()}
            case "env_vars", list() as listed:
                env |= {str(each): f"${{{each}}}" for each in listed}
            case _:
                raise Stays(f"its {key} cannot be read")
    return headers, env


def variables(entry: Json) -> list[str]:
    """Return the names of the environment's variables that a converted entry reads."""
    return list(dict.fromkeys(_NAMED.findall(json.dumps(entry))))


def own_entry(
    client: Client, command: list[str], environment: Mapping[str, str], named: list[str]
) -> dict[str, Json]:
    """Return the one entry that a client gets, which starts `command`.

    `named` are variables that the servers behind it read, and that the client has to hand on.
    """
    entry: dict[str, Json] = {"type": client.type} if client.type else {}
    entry |= {"command": command[0], "args": [*command[1:]]}
    env: dict[str, Json] = {**environment}
    if client.variable:
        env |= {name: client.variable.replace("NAME", name) for name in named}
    if env:
        entry["env"] = env
    if client.user.endswith(".toml") and named:
        entry["env_vars"] = [*named]
    return entry


def _text(client: Client, value: Json) -> Json:
    """Return a value with the environment's variables named as toolplan names them."""
    if isinstance(value, list):
        return [_text(client, each) for each in value]
    if not isinstance(value, str):
        return value
    start, _, end = client.variable.partition("NAME")

    def own(opened: re.Match[str]) -> str:
        name = opened[0].removeprefix(start).removesuffix(end)
        if not client.variable or f"{start}{name}{end}" != opened[0] or not name.isidentifier():
            raise Stays(f"it says {opened[0]!r}, which only the client can read")
        return f"${{{name}}}"

    text = _OPENED.sub(own, value)
    return _SHORT.sub(r"${\1}", text) if client.short else text


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
    found = {other.name: from_client(other) for other in others}
    with _opened(client, project) as file:
        now = file.changeable()
        before = file.original(now)
        document = file.document(before)
        moved, stays = _movable(client, document)
        servers = dict(moved)
        for other, (entries, staying) in found.items():
            stays |= {f"{name} of {other}": reason for name, reason in staying.items()}
            for name, entry in entries.items():
                if servers.setdefault(name, entry) != entry:
                    said = f"{name!r} is another server in {other}"
                    raise BrokenFile(said, "Give one of the two another name.")
        if OWN in document.servers:
            said = f"it has a server {OWN!r} already"
            raise BrokenFile(said, "Remove that one, or give it another name.")
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
            # the client's file is the last: after a crash before it, everything can be done again
            _write(file.before, before)
            write_whole(file.after, after)
            write_whole(file.servers, text)
            file.replace(now, after)
        return Installed(file.path, after != now, file.servers, tuple(servers), stays)


def uninstall(client: Client, *, project: Path | None = None) -> Installed:
    """Put the file of `client` back as it was; what was changed in it since stays.

    Raises:
        ToolplanError: the file cannot be read or changed; then nothing is.
    """
    with _opened(client, project) as file:
        now = file.changeable()
        if not file.after.is_file():
            return Installed(file.path, False, file.servers)
        moved, stays = _movable(client, file.document(_content(file.before)))
        file.replace(now, file.original(now))
        file.after.unlink()
        file.before.unlink(missing_ok=True)
        if set(file.servers_behind()) <= set(moved):
            file.servers.unlink(missing_ok=True)
        return Installed(file.path, True, file.servers, tuple(moved), stays)


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
    """Yield the file of a client; what is wrong with it is raised as an error of toolplan."""
    if project is not None and not client.project:
        said = f"{client.name} has no configuration in projects."
        raise ToolplanError("client-file", said, "Leave out --project.")
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
    """A client's file, and the folder with what belongs to it.

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
        """Return the content without toolplan, with what was changed in it since `install`."""
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
