"""OpenAPI documents as a source of tools: their toolbox, opened by the user's settings."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, ValidationError

from toolplan.plan.path import Json
from toolplan.schema.paging import next_link
from toolplan.schema.tool import Arguments, Tool, Toolbox, ToolError, ToolObjectError
from toolplan.schema.tool_call import current_call, report_page
from toolplan.tools import OpenedTools, SourceContext, ToolSource
from toolplan.tools.tool_files import json_in, path_of
from toolplan_openapi._addresses import Guard, Origin, origin_of
from toolplan_openapi._document import Fault, read_with_faults
from toolplan_openapi._http import (
    ClientCredentials,
    Credentials,
    Transport,
    chosen,
    read_credentials,
    read_headers,
)
from toolplan_openapi._messages import answer_of, request_of
from toolplan_openapi._operations import Operation, Operations, read_openapi
from toolplan_openapi._transport import HttpLimits, HttpTransport

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_NO_CREDENTIALS: Final[tuple[Mapping[str, Credentials], Credentials]] = ({}, Credentials())
_FROM_A_FILE: Final = "Give base_url: the document does not say on which host the service is."


class OpenApiToolbox(Toolbox):
    """The tools of a document; `faults` are the parts of it that could not be used.

    `blocked` has the hosts of its servers to which no call will be made, and the reasons.

    `async with` keeps connections open from one call to the next.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        faults: Iterable[Fault],
        transport: Transport,
        blocked: Iterable[str] = (),
    ) -> None:
        """Hold `tools`, which send through `transport`."""
        super().__init__(tools)
        self.faults = tuple(faults)
        self.blocked = tuple(blocked)
        self._transport = transport

    async def __aenter__(self) -> OpenApiToolbox:
        """Keep connections open from now on."""
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        """Close them."""
        await self._transport.__aexit__(*raised)


class _Server(Struct, frozen=True):
    """The origin of an operation, and the prefix of its path."""

    origin: Origin
    prefix: str

    @classmethod
    def at(cls, url: str) -> _Server:
        """Return the server at an absolute URL; a ValueError where it cannot be one."""
        origin, parts = origin_of(url)
        if parts.query or parts.fragment:
            raise ValueError("it has a query or a fragment")
        return cls(origin, _prefix(parts.path))


def openapi_toolbox(
    document: Json,
    *,
    base_url: str | None = None,
    auth: Mapping[str, str | ClientCredentials] = _NOTHING,
    environment: Mapping[str, str] = _NOTHING,
    allow_hosts: Iterable[str] = (),
    limits: HttpLimits | None = None,
    transport: Transport | None = None,
    trusted: bool | Collection[str] = False,
    headers: Mapping[str, str] = _NOTHING,
) -> OpenApiToolbox:
    """Return the operations of an OpenAPI document (3.0 or 3.1) as tools.

    Args:
        document: the document, as JSON.
        base_url: the URL of the service, in place of the one that the document gives. Written with
            `localhost` or an address, it allows that host.
        auth: by security scheme of the document, the name of the environment variable that holds
            its token, key, or `NAME:PASSWORD`; or how a machine gets a token. It is sent to the
            service's own origin only.
        environment: the variables and their values.
        allow_hosts: names or addresses of hosts on this machine or in its network that may be
            asked. Others that resolve there are blocked.
        limits: bounds on one call; None for the default ones.
        transport: sends requests; by default HTTP, guarded as described above.
        trusted: whether hints count that say less than the method; else each is a fault, but for
            the operations named here, whose effects the user states.
        headers: headers of each request to the service's own origin, by name; `${NAME}` in a value
            is a variable of `environment`. No argument is made of a parameter that is one of them.

    Raises:
        RemoteReference: a part of the document is outside of it. Nothing was fetched.
        ToolObjectError: it is no such document, has no operation that can be used, a credential is
            missing, or an argument is not valid.
    """
    always = read_headers(headers, environment)
    read = _usable(document, headers)
    base = _base(base_url, read)
    known = read_credentials(read.schemes, auth, environment, always)
    guard = Guard.made(allow_hosts, None if base is None else base.origin)
    sender = HttpTransport(guard, limits or HttpLimits()) if transport is None else transport
    # a server stated by a single operation must not attract the credentials
    home = _located(read.server, base)
    faults = dict.fromkeys((*read.faults, *_claims(read, trusted)))
    tools: list[Tool] = []
    hosts: dict[str, None] = {}
    for operation in read.operations:
        server = _located(operation.server, base)
        tool = operation.tool.believed() if trusted is True else operation.tool
        if isinstance(server, Fault):
            faults[server] = None
            tools.append(replace(tool, source=read.title))
            continue
        hosts[server.origin.host] = None
        is_home = isinstance(home, _Server) and server.origin == home.origin
        added = chosen(operation.security, *((known, always) if is_home else _NO_CREDENTIALS))
        tools.append(_with_call(tool, operation, server, added, sender))
    blocked = [why for host in hosts if transport is None and (why := guard.objects(host))]
    return OpenApiToolbox(tools, faults, sender, blocked)


def _usable(document: Json, headers: Iterable[str]) -> Operations:
    read = read_openapi(document, headers)
    if not read.operations:
        reason = str(read.faults[0]) if read.faults else "Its 'paths' hold none."
        raise ToolObjectError(f"The document has no operation that can be used. {reason}")
    return read


def _base(base_url: str | None, read: Operations) -> _Server | None:
    if base_url is None:
        return None
    try:
        base = _Server.at(base_url)
    except ValueError as error:
        raise ToolObjectError(
            f"The base URL cannot be used: {error}.",
            "Give an address such as --base-url http://localhost:8000, or base_url in"
            " [openapi.NAME] of the settings.",
        ) from None
    # a base URL that ends as all paths begin would repeat that part (C-35); "/" leaves it out
    is_twice = base.prefix and all(
        each.path.startswith(f"{base.prefix}/") for each in read.operations
    )
    return _Server(base.origin, "/") if is_twice else base


def _located(stated: str, base: _Server | None) -> _Server | Fault:
    """Return where the server `stated` is, or why that is not known."""
    is_absolute = "://" in stated
    if base is None and not is_absolute:
        return Fault("/servers", _FROM_A_FILE)
    try:
        if base is None:
            return _Server.at(stated)
        if base.prefix or is_absolute:
            return _Server(base.origin, base.prefix.rstrip("/"))
        return _Server(base.origin, _prefix(urlsplit(stated).path))
    except ValueError as error:
        return Fault("/servers", f"The server {stated[:200]!r} cannot be used: {error}.")


def _prefix(path: str) -> str:
    stripped = path.strip("/")
    if any(segment in (".", "..") for segment in stripped.split("/")):
        raise ValueError("its path has '.' or '..' in it")
    return f"/{stripped}" if stripped else ""


def _claims(read: Operations, trusted: bool | Collection[str]) -> Iterator[Fault]:
    """Yield a fault for each ignored hint that claims fewer effects than the HTTP method."""
    accepted = () if isinstance(trusted, bool) else trusted
    for each in read.operations:
        claim, name = each.tool.claim, each.tool.name
        if claim is not None and trusted is not True and name not in accepted:
            yield Fault(
                each.pointer,
                f"Its hint that {claim} does not count: {each.method} says more. If it is true,"
                f' write `{name} = "{claim.effects.value}"` in [effects] of the settings, or'
                " `trusted = true` in [sources.NAME], with NAME the name of the document.",
            )


def _with_call(
    tool: Tool,
    operation: Operation,
    server: _Server,
    credentials: Credentials | None,
    transport: Transport,
) -> Tool:
    needed = " or ".join("+".join(each) for each in operation.security)

    async def call(arguments: Arguments) -> Json:
        if credentials is None:
            raise ToolError(
                f"{operation.method} {operation.path} needs credentials for {needed}, and none are "
                f"given for {server.origin}. Name an environment variable in auth."
            )
        attended = current_call()
        key = None if attended is None else attended.key
        for is_last in (not credentials.tokens, True):
            ready = await credentials.ready(transport)
            request = request_of(operation, server.origin, server.prefix, ready, arguments, key)
            response = await transport.send(request)
            if is_last or response.status != HTTPStatus.UNAUTHORIZED:
                break
            for each in credentials.tokens:  # the service did nothing: it wants another token
                each.refused(ready)
        answer = answer_of(request, response, operation.media)
        report_page(next_link(response.headers))
        if operation.omitted and isinstance(answer, dict):
            return {k: each for k, each in answer.items() if k not in operation.omitted}
        return answer

    # an approval covers the server: the same tool elsewhere is another tool
    where: dict[str, Json] = {
        "method": operation.method,
        "path": operation.path,
        "server": f"{server.origin}{server.prefix}",
    }
    source = server.origin.authority
    return replace(tool, annotations={"openapi": where}, call=call, source=source)


class ServiceSettings(BaseModel):
    """The settings of one service: see `toolplan_openapi`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    base_url: str | None = None
    auth: dict[str, str | ClientCredentials] = {}
    allow_hosts: list[str] = []


class OpenApiToolSource:
    """The operations of an OpenAPI document, in JSON or YAML.

    The table `[openapi.NAME]` of the settings, with NAME the name of the file without its ending,
    may give `base_url`, `auth` (by security scheme, the name of the variable that holds a
    credential, or a client of OAuth2) and `allow_hosts`; `[sources.NAME.headers]` gives headers.
    """

    takes_base_url = True
    help = "Fix the document, or its settings; docs/openapi.md says what they may hold."

    def recognises(self, spec: str, folder: Path) -> bool:
        """Return whether `spec` is a YAML file, or a JSON file with `openapi` or `swagger`."""
        path = path_of(spec, folder)
        if path.suffix.lower() in (".yaml", ".yml"):
            return path.is_file()
        document = json_in(spec, folder)
        return isinstance(document, dict) and ("openapi" in document or "swagger" in document)

    @contextmanager
    def open(self, spec: str, context: SourceContext) -> Generator[OpenedTools]:
        """Yield the operations of the document as tools.

        Raises:
            ToolObjectError: the document, or the settings for it, cannot be used.
        """
        path = path_of(spec, context.folder)
        settings = _settings(path.stem, context)
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ToolObjectError(
                f"{str(path)!r} cannot be read: {error}.",
                "Check the path, and that you may read the file; it must be UTF-8 text.",
            ) from None
        document, unfit = read_with_faults(text)
        address = context.base_url or settings.base_url
        tools = openapi_toolbox(
            document,
            base_url=address,
            auth=settings.auth,
            environment=context.environment,
            allow_hosts=settings.allow_hosts,
            trusted=context.table_of(path.stem).trusted or context.settings.get("effects", {}),
            headers=context.table_of(path.stem).headers,
        )
        faults = [f"{path.name}: {fault}" for fault in (*unfit, *tools.faults)]
        for fault in faults:
            context.note(fault)
        yield OpenedTools(tools, faults=(*faults, *tools.blocked), address=address)


def _settings(name: str, context: SourceContext) -> ServiceSettings:
    services = context.settings.get("openapi", {})
    try:
        return ServiceSettings.model_validate(services.get(name, {}))
    except ValidationError as error:
        # of a table that is no text either, the fault of the table is clearer
        first = min(error.errors(), key=lambda each: each["loc"][-1] == "str")
        place = ".".join(map(str, ("openapi", name, *first["loc"])))
        raise ToolObjectError(
            f"{context.settings_path}: {place}: {first['msg']}.",
            f"Fix [openapi.{name}] there; docs/openapi.md shows one.",
        ) from None


SOURCE: Final[ToolSource] = OpenApiToolSource()
