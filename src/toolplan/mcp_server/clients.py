"""MCP clients: where each keeps its servers, and how its entries are read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import platformdirs
from msgspec import Struct

from toolplan.mcp_server._documents import Document, JsonDocument, TomlDocument
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolObjectError
from toolplan.tools.mcp.servers import read_servers


class Client(Struct, frozen=True):
    """A client, as its documentation describes it.

    Attributes:
        name: its name in commands.
        user: its file for all projects; `~` is the home folder, `{config}` the platform's folder
            for configurations.
        project: its file in a project's folder; empty if it has none.
        home: a variable that names another folder for the user's file.
        table: the object that has its servers.
        variable: how an entry names the environment's variable `NAME`; empty if it cannot.
        short: whether `$NAME` names one, too.
        urls: the fields with an address, each with its transport.
        type: the required `type` of an entry of a process; empty for none.
        skills: its folders of skills, in the home folder and in a project; None if it reads none.
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
    skills: tuple[str, str] | None = None

    def skill(self, project: Path | None) -> Path | None:
        """Return the file of the skill `toolplan`, of the user or in the folder `project`."""
        if self.skills is None:
            return None
        user, in_project = self.skills
        own = os.environ.get(self.home) if self.name == "claude-code" else None
        folder = Path(own, "skills") if own else Path.home() / user
        return (folder if project is None else project / in_project) / "toolplan" / "SKILL.md"

    def path(self, project: Path | None) -> Path:
        """Return the file of the user, or that of the folder `project`."""
        if project is not None:
            return project / self.project
        folder, _, name = self.user.rpartition("/")
        config = str(platformdirs.user_config_path(roaming=True))
        return Path(os.environ.get(self.home) or folder.format(config=config)).expanduser() / name

    def document(self, text: str) -> Document:
        """Parse the client's file."""
        read = TomlDocument if self.user.endswith(".toml") else JsonDocument
        return read(text, self.table)


_CODE: Final = "{config}/Code/User"
_CLINE: Final = f"{_CODE}/globalStorage/saoudrizwan.claude-dev/settings"

_ALL: Final = (
    Client(
        "claude-code", "~/.claude.json", ".mcp.json",
        home="CLAUDE_CONFIG_DIR", variable="${NAME}", skills=(".claude/skills", ".claude/skills"),
    ),
    Client("claude-desktop", "{config}/Claude/claude_desktop_config.json"),
    Client("cline", f"{_CLINE}/cline_mcp_settings.json", urls=(("url", "sse"),)),
    Client(
        "codex", "~/.codex/config.toml", ".codex/config.toml",
        home="CODEX_HOME", table="mcp_servers", skills=(".agents/skills", ".agents/skills"),
    ),
    Client(
        "cursor", "~/.cursor/mcp.json", ".cursor/mcp.json",
        variable="${env:NAME}", skills=(".cursor/skills", ".cursor/skills"),
    ),
    Client(
        "gemini", "~/.gemini/settings.json", ".gemini/settings.json",
        variable="${NAME}", short=True, urls=(("httpUrl", "http"), ("url", "sse")),
        skills=(".gemini/skills", ".gemini/skills"),
    ),
    Client(
        "vscode", f"{_CODE}/mcp.json", ".vscode/mcp.json",
        table="servers", variable="${env:NAME}", type="stdio",
        skills=(".copilot/skills", ".github/skills"),
    ),
    Client(
        "windsurf", "~/.codeium/windsurf/mcp_config.json",
        variable="${env:NAME}", urls=(("serverUrl", "http"), ("url", "http")),
    ),
)  # fmt: skip
CLIENTS: Final = {each.name: each for each in _ALL}
"""All clients by name."""

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
