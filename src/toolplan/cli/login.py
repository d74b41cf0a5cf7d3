"""`toolplan login` and `toolplan logout`."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toolplan.app.settings import home
from toolplan.cli.options import JsonFlag
from toolplan.cli.terminal import CommandError, err, note, print_json
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
    bool,
    Parameter(help="Print the address, and open no browser. It comes back to this machine."),
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
