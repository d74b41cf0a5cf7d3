"""MCP: `toolplan mcp`, `install`, `uninstall`, `login` and `logout`."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter
from msgspec import to_builtins

from toolplan.app._open import open
from toolplan.app.settings import home
from toolplan.app.wait import run_to_end
from toolplan.cli import options
from toolplan.cli.options import JsonFlag
from toolplan.cli.terminal import CommandError, err, note, print_json
from toolplan.mcp_server import DEFAULT_PORT, CannotServe, http_token, serve
from toolplan.mcp_server.clients import CLIENTS, Client
from toolplan.mcp_server.http.guard import is_loopback
from toolplan.mcp_server.install import install, uninstall
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.schema.tool import ToolObjectError
from toolplan.show.printable import printable
from toolplan.tools.mcp.servers import Server, read_servers
from toolplan.tools.mcp.sign_ins import SignIns
from toolplan.tools.mcp.signing_in import sign_in, sign_out

ServerArgument = Annotated[str, Parameter(help="The name of a server in the file.")]
ServersOption = Annotated[
    tuple[str, ...], Parameter(help="The MCP configuration that names the server. Repeatable.")
]
NoBrowserFlag = Annotated[
    bool, Parameter(help="Print the address, and open no browser. It comes back to this machine.")
]


def login_command(
    server: ServerArgument,
    *,
    tools: ServersOption,
    no_browser: NoBrowserFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Sign in to the MCP server that the configuration calls SERVER.

    A browser opens where you sign in. The sign-in is kept in the system's
    key ring, or in a file that only you can read, and renewed by itself.
    """
    found, sign_ins = named_server(server, tools)

    def show(url: str) -> None:
        note("Sign in at:")
        err().print(printable(url), soft_wrap=True)  # a line, so that it can be copied
        if not no_browser:
            webbrowser.open(url)

    signed_in = sign_in(server, found, sign_ins, show)
    if as_json:
        fields = {} if signed_in is None else signed_in._asdict()
        print_json({"server": server, "signed_in": signed_in is not None, **fields})
    elif signed_in is None:
        note(f"The server {server} asks for no sign-in: its tools can be used as they are.")
    else:
        where = signed_in.issuer or "its own address"
        note(printable(f"Signed in to {server} at {where}. Kept in {signed_in.kept_in}."))


def logout_command(
    server: ServerArgument, *, tools: ServersOption, as_json: JsonFlag = False
) -> None:
    """Sign out of the MCP server that the configuration calls SERVER.

    The sign-in is deleted here, and revoked where the server offers that.
    """
    found, sign_ins = named_server(server, tools)
    was_signed_in = sign_out(server, found, sign_ins)
    if as_json:
        print_json({"server": server, "was_signed_in": was_signed_in})
    else:
        note(f"Signed out of {server}." if was_signed_in else f"There was no sign-in to {server}.")


def named_server(name: str, tools: Sequence[str]) -> tuple[Server, SignIns]:
    """Return the server called `name` in the files `tools`, and the sign-ins of this user.

    Raises:
        CommandError: a file cannot be read, or not exactly one of them has such a server.
    """
    try:
        found = {file: read_servers(Path(file), os.environ) for file in tools}
    except ToolObjectError as error:
        help_ = "Fix the configuration; docs/mcp.md says what it may hold."
        raise CommandError("bad-tools", str(error), error.help or help_) from None
    having = [file for file, servers in found.items() if name in servers]
    if len(having) == 1:
        return found[having[0]][name], SignIns(home(), having[0])
    files = " and ".join(having or found)
    if having:
        message = f"{files} each have a server {name!r}."
        raise CommandError("usage", message, "Name one of the files.")
    known = [server for servers in found.values() for server in servers]
    help_ = did_you_mean(near(name, known)) or f"Known: {', '.join(known) or 'none'}."
    raise CommandError("unknown-server", f"There is no server {name!r} in {files}.", help_)


_NAMES: Final = ", ".join(CLIENTS)
FromOption = Annotated[
    tuple[str, ...],
    Parameter(name="--from", help="Another client, whose servers are read, too. Not changed."),
]
ClientArgument = Annotated[str, Parameter(name="CLIENT", help=f"{_NAMES}.")]
ProjectFlag = Annotated[bool, Parameter(help="The client's file in this folder, not the user's.")]


def install_command(
    *client: ClientArgument,
    from_: FromOption = (),
    project: ProjectFlag = False,
    skill: Annotated[
        bool, Parameter(help="Tell the client's model when and how to write plans, in a SKILL.md.")
    ] = False,
    dry_run: Annotated[bool, Parameter(help="Say what would change.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Put toolplan in front of the MCP servers of a client.

    One entry takes their place in the client's file; they move to a
    configuration that toolplan reads. A server that only the client can start
    stays. `toolplan uninstall CLIENT` puts the file back byte for byte.
    """
    others = _known(from_)
    place = Path.cwd() if project else None
    done = {
        each.name: install(each, project=place, others=others, skill=skill, dry=dry_run)
        for each in _known(client)
    }
    if as_json:
        print_json(to_builtins(done, enc_hook=str))
        return
    for name, each in done.items():
        state = "would change" if dry_run else "written"
        note(f"{name}: {each.path} {state if each.changed else 'is as it should be'}.")
        if each.moved:
            note(printable(f"  Behind toolplan: {', '.join(each.moved)}, in {each.servers}."))
        if each.skill is not None:
            note(printable(f"  Skill: {each.skill} {state}."))
        for server, reason in each.stays.items():
            note(printable(f"  {server} stays where it is: {reason}."))
        if each.moved and each.changed and not dry_run:
            note("  What its servers say of their tools counts once you accept it:")
            note(f"    toolplan tools --tools {each.servers} --accept", wrap=False)


def uninstall_command(
    *client: ClientArgument, project: ProjectFlag = False, as_json: JsonFlag = False
) -> None:
    """Put the configuration of a client back as it was before `toolplan install`.

    What the client or you have changed in it since stays changed.
    """
    place = Path.cwd() if project else None
    done = {each.name: uninstall(each, project=place) for each in _known(client)}
    if as_json:
        print_json(to_builtins(done, enc_hook=str))
        return
    for name, each in done.items():
        message = "is as it was before" if each.changed else "has nothing of toolplan"
        note(f"{name}: {each.path} {message}.")
        if each.skill is not None:
            note(printable(f"  Skill: {each.skill} removed."))


def _known(names: Sequence[str]) -> list[Client]:
    for name in names:
        if name not in CLIENTS:
            hint = did_you_mean(near(name, CLIENTS)) or f"There are {_NAMES}."
            raise CommandError("usage", f"There is no client {name!r}.", hint)
    return [CLIENTS[name] for name in dict.fromkeys(names)]


GRACE_S: Final = 1.0
"""Seconds to wait after the latest answer, times the share of servers that are missing."""

BEARER: Final = "TOOLPLAN_MCP_TOKEN"


HostOption = Annotated[
    str, Parameter(help="The address to listen on; all but loopback need TOOLPLAN_MCP_TOKEN.")
]
ElicitFlag = Annotated[
    bool,
    Parameter(
        help="Let clients ask their user for approvals. A client that lies can approve by itself."
    ),
]
StudioOption = Annotated[
    str,
    Parameter(help="Where `toolplan studio` is: clients may open its page of a run that waits."),
]
ValuesFlag = Annotated[
    bool,
    Parameter(help="Run what only reads first; each call with effects then waits with its values."),
]


def mcp_command(
    opening: options.PlannerOptions = options.PlannerOptions(),
    limits: options.RunLimits = options.RunLimits(),
    *,
    journal: options.JournalOption = None,
    http: Annotated[bool, Parameter(help="Streamable HTTP instead of stdio.")] = False,
    host: HostOption = "127.0.0.1",
    port: options.PortOption = DEFAULT_PORT,
    approve_values: ValuesFlag = False,
    elicit: ElicitFlag = False,
    studio: StudioOption = "http://127.0.0.1:8321",
) -> None:
    """Serve all tools to MCP clients through three: search, run and runs.

    A client can run a plan or one call, and look at runs. A plan that changes
    something waits for a person: the client gets its digest, and
    `toolplan resume RUN` asks for the approval. With --approve-values what
    only reads runs, and each call with effects waits with its values. With --http clients send
    a token: that of the variable TOOLPLAN_MCP_TOKEN, or the one in mcp.token of the data folder.
    """
    with open(**vars(opening), journal=journal, on_note=note, grace=GRACE_S) as app:
        how: dict[str, Any] = {**vars(limits), "elicit": elicit, "studio": studio}
        if approve_values:
            how["approve"] = "values"
        if http:
            how |= {"transport": "http", "host": host, "port": port, "token": _token(host)}
        try:
            run_to_end(serve(app, **how, on_ready=lambda url: note(f"Listening: {url}")))
        except CannotServe as error:
            help_ = f"{error.help or ''} A token is read from {BEARER}.".strip()
            raise CommandError(error.code, error.message, help_) from None


def _token(host: str) -> str | None:
    """Return the token that clients send; a new one is shown once."""
    given = os.environ.get(BEARER) or None
    if given is not None or not is_loopback(host):
        return given
    token, path, is_new = http_token()
    if is_new:
        note(f"Authorization: Bearer {token}", wrap=False)
    note(f"Clients send the token in {path}.", wrap=False)
    return token
