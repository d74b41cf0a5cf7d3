"""`toolplan login`."""

from __future__ import annotations

import webbrowser
from typing import Annotated

from cyclopts import Parameter

from toolplan.cli._servers import ServerArgument, ServersOption, named_server
from toolplan.cli.options import JsonFlag
from toolplan.cli.terminal import Exit, err, note, print_json
from toolplan.render.printable import printable
from toolplan.sources.mcp.signing_in import sign_in

NoBrowserFlag = Annotated[
    bool,
    Parameter(
        name="--no-browser",
        help="Print the address, and open no browser. It comes back to this machine.",
    ),
]


def login_command(
    server: ServerArgument,
    *,
    tools: ServersOption,
    no_browser: NoBrowserFlag = False,
    as_json: JsonFlag = False,
) -> int:
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
    return Exit.FINE.value
