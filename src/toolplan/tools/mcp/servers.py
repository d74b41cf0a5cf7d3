"""MCP servers as the usual configuration names them: `{"mcpServers": {name: {…}}}`."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias, cast
from urllib.parse import SplitResult, urlsplit, urlunsplit

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.plan.path import Json
from toolplan.schema.tool import ToolObjectError
from toolplan.tools.secrets import MASK, names_a_variable, resolved, sounds_secret
from toolplan.tools.tool_files import parse_json, read_json_file

MAX_CONFIG_BYTES: Final = 1_000_000
MAX_SERVERS: Final = 100

SERVER_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Valid names of servers: `server.tool` is then a tool's name in every dialect."""

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_STDIO_FIELDS: Final = ("command", "args", "env", "cwd")
_HTTP_FIELDS: Final = ("url", "headers", "oauth")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_IGNORED: Final = frozenset(  # fields of other clients; they approve nothing here
    {"alwaysAllow", "autoApprove", "description", "icon", "name", "timeout"}
)

Transport: TypeAlias = Literal[  # spellings of clients from whose files servers are taken
    "stdio", "http", "streamable-http", "streamable_http", "streamableHttp", "sse"
]


class _Entry(BaseModel):
    """An object of a configuration, held to the types of its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @classmethod
    def read(cls, value: object, place: str) -> Self:
        """Return the entry in `value`; a field that is null is not there."""
        if not isinstance(value, dict):
            raise ToolObjectError(f"{place} must be an object.")
        fields = cast("dict[str, object]", value)
        try:
            return cls(**{name: each for name, each in fields.items() if each is not None})
        except ValidationError as error:
            found: Any = error.errors(include_url=False, include_input=False, include_context=False)
        name = ".".join(map(str, found[0]["loc"]))
        if found[0]["type"] != "extra_forbidden":
            raise ToolObjectError(f"{place}.{name}: {found[0]['msg']}.")
        known = [each.alias or name for name, each in cls.model_fields.items()]
        hint = did_you_mean(near(name, known)) or f"Known are {', '.join(known)}."
        raise ToolObjectError(f"{place}: the field {name!r} is not known. {hint}")


class OAuth(_Entry):
    """Settings for the tokens of a server.

    Attributes:
        grant: a person signs in (`authorization_code`), or a machine does (`client_credentials`).
        issuer: the authorization server that the client is known to; "" is the one that the
            server names.
        client_id: of a client that the authorization server knows; "" for none.
        client_secret: of that client; "" for none.
        client_metadata_url: an https address that describes the client, and is its id; "" for none.
        scope: the requested scope, words with spaces between; "" is the one the server asks for.
        redirect_port: the port of 127.0.0.1 to which the browser returns; 0 is any free one.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    issuer: str = ""
    client_id: str = ""
    client_secret: str = Field(default="", repr=False)
    client_metadata_url: str = ""
    scope: str = ""
    redirect_port: int = Field(default=0, ge=0, le=65_535)


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that is started as a process of its own, and spoken to over its input and output.

    Attributes:
        command: the program: a name on the PATH, or a path.
        args: its arguments.
        env: variables that it gets besides the harmless ones (PATH, HOME …); nothing else of the
            environment reaches it.
        cwd: the folder that it is started in; None is the current one.
        written_env: `env` as the file says it, with `${NAME}` for what came from the environment.
        secrets: texts that may never be shown.
        timeout_s: seconds for each call; None is the source's.
        disabled_tools: its tools that are not offered, by its own names.
        idle_s: seconds without a call after which it is stopped until the next one; 0 is never,
            None the source's.
    """

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    written_env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    timeout_s: float | None = None
    disabled_tools: tuple[str, ...] = ()
    idle_s: float | None = None


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server that is spoken to over HTTP.

    Attributes:
        url: its address.
        headers: sent with each request.
        transport: streamable HTTP, or the older SSE.
        secrets: texts that may never be shown.
        timeout_s: seconds for each call; None is the source's.
        oauth: settings for its tokens, where the entry has them.
        disabled_tools: its tools that are not offered, by its own names.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    transport: Literal["streamable-http", "sse"] = "streamable-http"
    secrets: tuple[str, ...] = field(default=(), repr=False)
    timeout_s: float | None = None
    oauth: OAuth | None = None
    disabled_tools: tuple[str, ...] = ()

    @property
    def has_own_header(self) -> bool:
        """Whether `headers` have credentials already, so that no sign-in is used."""
        return any(name.lower() == "authorization" for name in self.headers)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server object of the SDK that lives in this process: for tests, and for one's own.

    Attributes:
        server: an `mcp.server.Server` or `MCPServer`.
        timeout_s: seconds for each call; None is the source's.
        disabled_tools: its tools that are not offered, by its own names.
    """

    server: object
    timeout_s: float | None = None
    disabled_tools: tuple[str, ...] = ()


Server: TypeAlias = StdioServer | HttpServer | LocalServer


class _ServerEntry(_Entry):
    """The entry of one server, as it is written."""

    command: str | None = None
    args: list[str] = Field(default_factory=list[str])
    env: dict[str, str] = Field(default_factory=dict[str, str])
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    oauth: object = None
    transport: Transport | None = None
    type: Transport | None = None
    timeout_s: float | None = Field(default=None, gt=0, le=86_400)
    idle_s: float | None = Field(default=None, ge=0)
    disabled: bool | None = None
    disabled_tools: list[str] = Field(default_factory=list[str], alias="disabledTools")


class Command(Struct, frozen=True):
    """The command that would start a server; `digest` (SHA-256, hex) changes with the command."""

    server: str
    line: str
    digest: str


def read_servers(document: str | Path, environment: Mapping[str, str]) -> dict[str, Server]:
    """Return the servers that a configuration names, without those that are `disabled`.

    Values of `env` and `headers` may name variables of `environment`: `${NAME}`.

    Args:
        document: a path, or the JSON text itself.
        environment: where `${NAME}` is looked up; nothing else is.

    Raises:
        ToolObjectError: it cannot be read; the message says where, and holds no value from the
            environment.
    """
    source = repr(str(document)) if isinstance(document, Path) else "The MCP configuration"
    if isinstance(document, Path):
        root = read_json_file(document, source, MAX_CONFIG_BYTES)
    else:
        root = parse_json(document, source)
    named = _fields(root).get("mcpServers")
    if not isinstance(named, dict):
        raise ToolObjectError(f'{source} has no object "mcpServers".')
    entries = cast("dict[str, object]", named)
    if len(entries) > MAX_SERVERS:
        raise ToolObjectError(f"{source} names {len(entries)} servers; {MAX_SERVERS} is the most.")
    return {
        name: _read_server(name, entry, environment)
        for name, entry in entries.items()
        if _fields(entry).get("disabled") is not True  # of others, `_ServerEntry` takes false
    }


def commands(servers: Mapping[str, Server]) -> list[Command]:
    """Return the commands that would be started, in the order of `servers`, to be shown beforehand.

    A line shows everything that decides what runs: variables as the file names them, with stars
    for a secret in the file itself.
    """
    found: list[Command] = []
    for name, server in servers.items():
        if isinstance(server, StdioServer):
            parts = [server.command, [*server.args], dict(server.written_env), server.cwd]
            digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
            variables = [f"{n}={_shown_value(n, v)}" for n, v in server.written_env.items()]
            run = shlex.join([server.command, *_shown_args(server.args)])
            folder = "" if server.cwd is None else f"cd {shlex.quote(server.cwd)} && "
            found.append(Command(name, folder + " ".join([*variables, run]), digest))
    return found


def place_of(server: Server) -> dict[str, Json]:
    """Return a description of `server`, without secrets: a part of the identity that pins hold."""
    match server:
        case StdioServer():
            return {
                "transport": "stdio",
                "command": server.command,
                "args": [*_shown_args(server.args)],
                "env": {name: _shown_value(name, v) for name, v in server.written_env.items()},
            }
        case HttpServer():
            # without user, password and the values of the query
            parts = _parts(server.url)
            names = [each.partition("=")[0] for each in parts.query.split("&") if each]
            query = "&".join(f"{name}={MASK}" for name in names)
            shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query, fragment="")
            return {"transport": server.transport, "url": urlunsplit(shown)}
        case LocalServer():
            return {"transport": "local"}


def is_machine(server: HttpServer) -> bool:
    """Return whether a machine signs in to `server`, not a person."""
    return server.oauth is not None and server.oauth.grant == "client_credentials"


def is_safe(url: str, *, near_loopback: bool) -> bool:
    """Return whether a token may be sent to `url`: over TLS, or on this machine.

    An address on this machine is fine only for a server that is on it too (`near_loopback`): a
    server elsewhere may not have this machine asked.
    """
    parts = _parts(url)
    if parts.hostname in _LOOPBACK:
        return near_loopback and parts.scheme in ("http", "https")
    return parts.scheme == "https" and bool(parts.hostname)


def is_loopback(url: str) -> bool:
    """Return whether `url` is on this machine."""
    return is_safe(url, near_loopback=True) and not is_safe(url, near_loopback=False)


def _parts(url: str) -> SplitResult:
    """Return the parts of `url`; none where it is no address."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _fields(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _read_server(name: str, entry: object, environment: Mapping[str, str]) -> Server:
    place = f"mcpServers.{name}"
    if SERVER_NAME.fullmatch(name) is None:
        raise ToolObjectError(
            f"A server cannot be called {name!r}: its tools are called SERVER.TOOL, so it takes a"
            " letter first, then at most 63 letters, digits, '_' and '-'."
        )
    fields = {key: each for key, each in _fields(entry).items() if key not in _IGNORED}
    written = _ServerEntry.read(fields if isinstance(entry, dict) else entry, place)
    stated = written.transport or written.type
    if stated is None and written.command is written.url is None:
        raise ToolObjectError(f"{place}: a server takes either 'command' (stdio) or 'url' (HTTP).")
    which, own, others, read = "HTTP", "url", _STDIO_FIELDS, _http
    if stated == "stdio" or (stated is None and written.command is not None):
        which, own, others, read = "stdio", "command", _HTTP_FIELDS, _stdio
    misplaced = [f", not {each!r}" for each in others if each in written.model_fields_set]
    if getattr(written, own) is None or misplaced:
        raise ToolObjectError(
            f"{place}: a server over {which} takes {own!r}{''.join(misplaced[:1])}; 'command' is"
            " for one over stdio, 'url' for one over HTTP."
        )
    return read(written, environment, place)


def _stdio(entry: _ServerEntry, environment: Mapping[str, str], place: str) -> StdioServer:
    command = entry.command or ""
    if not command.strip():
        raise ToolObjectError(f"{place}.command must be a text that is not empty.")
    _check_shown(command, f"{place}.command")
    _check_shown(entry.cwd or "", f"{place}.cwd")
    for argument in entry.args:
        _check_shown(argument, f"{place}.args")
    values, secrets = _resolved(entry.env, environment, f"{place}.env")
    return StdioServer(
        command,
        tuple(entry.args),
        values,
        entry.cwd,
        entry.env,
        secrets,
        entry.timeout_s,
        tuple(entry.disabled_tools),
        entry.idle_s,
    )


def _http(entry: _ServerEntry, environment: Mapping[str, str], place: str) -> HttpServer:
    url = entry.url or ""
    _check_shown(url, f"{place}.url")
    if _parts(url).scheme not in ("http", "https") or not _parts(url).hostname:
        raise ToolObjectError(f"{place}.url must be an http or https address.")
    headers, secrets = _resolved(entry.headers, environment, f"{place}.headers")
    for name, value in headers.items():
        if not (_HEADER_NAME.fullmatch(name) and value.isascii() and value.isprintable()):
            raise ToolObjectError(f"{place}.headers.{name} is not a header that can be sent.")
    words = (word for value in headers.values() for word in (value, *value.split()))
    oauth = None if entry.oauth is None else _oauth(entry.oauth, environment, f"{place}.oauth")
    hidden = (*secrets, *words, *([oauth.client_secret] if oauth and oauth.client_secret else []))
    transport = "sse" if (entry.transport or entry.type) == "sse" else "streamable-http"
    disabled = tuple(entry.disabled_tools)
    server = HttpServer(url, headers, transport, hidden, entry.timeout_s, oauth, disabled)
    if oauth is not None and server.has_own_header:
        raise ToolObjectError(f"{place} takes 'oauth' or the header 'Authorization', not both.")
    if oauth is not None and not is_safe(url, near_loopback=True):
        raise ToolObjectError(f"{place}.url must be https: a token is sent there.")
    return server


def _oauth(value: object, environment: Mapping[str, str], place: str) -> OAuth:
    read = OAuth.read(value, place)
    if read.client_secret and not names_a_variable(read.client_secret):
        raise ToolObjectError(
            f"{place}.client_secret must name a variable of the environment, as ${{NAME}}: a secret"
            " does not belong in a file."
        )
    values: dict[str, str] = {}
    for name, text in read:
        if name in ("client_id", "client_secret"):
            values[name], _ = resolved(text, environment, f"{place}.{name}")
            if text and not values[name]:
                raise ToolObjectError(f"{place}.{name} is empty: its variable holds nothing.")
        elif isinstance(text, str) and names_a_variable(text):
            raise ToolObjectError(f"{place}.{name} cannot name a variable.")
    address = _parts(read.client_metadata_url)
    fault = ""
    if read.grant == "client_credentials" and not (read.client_id and read.client_secret):
        fault = ": client_credentials needs 'client_id' and 'client_secret'."
    elif read.client_secret and not read.client_id:
        fault = ": 'client_secret' needs 'client_id'."
    elif read.client_id and not read.issuer:
        fault = ": 'client_id' needs 'issuer', the one authorization server that it is sent to."
    elif read.client_metadata_url and read.client_id:
        fault = " takes 'client_id' or 'client_metadata_url', not both."
    elif read.client_metadata_url and (address.scheme != "https" or address.path in ("", "/")):
        fault = ".client_metadata_url must be https, with a path."
    if fault:
        raise ToolObjectError(f"{place}{fault}")
    return read.model_copy(update=values)


def _resolved(
    written: Mapping[str, str], environment: Mapping[str, str], place: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    values: dict[str, str] = {}
    secrets: list[str] = []
    for name, text in written.items():
        values[name], found = resolved(text, environment, f"{place}.{name}")
        if not name or "=" in name or "\0" in name:
            raise ToolObjectError(f"{place}: {name!r} cannot be a name: empty, or with = or NUL.")
        if "\0" in values[name]:
            raise ToolObjectError(f"{place}: the value of {name!r} has a NUL character in it.")
        secrets.extend(found)
        if found or sounds_secret(name):
            secrets.append(values[name])
    return values, tuple(secrets)


def _check_shown(text: str, place: str) -> None:
    """Refuse a variable in a text that everybody on the machine can see."""
    if names_a_variable(text):
        raise ToolObjectError(
            f"{place}: variables are read only in 'env' and 'headers', which are not shown;"
            " what stands here is shown to everyone on the machine."
        )
    if "\0" in text:
        raise ToolObjectError(f"{place} holds a NUL character.")


def _shown_args(args: tuple[str, ...]) -> Iterator[str]:
    """Yield `args` with stars for the value of an option like `--api-key`."""
    hides_next = False
    for arg in args:
        option, equals, _ = arg.partition("=")
        is_secret = option.startswith("-") and sounds_secret(option)
        if hides_next and not arg.startswith("-"):
            yield MASK
        else:
            yield f"{option}={MASK}" if is_secret and equals else arg
        hides_next = is_secret and not equals


def _shown_value(name: str, written: str) -> str:
    return MASK if sounds_secret(name) and not names_a_variable(written) else written
