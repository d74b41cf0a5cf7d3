"""`toolplan logout`."""

from __future__ import annotations

from toolplan.cli._servers import ServerArgument, ServersOption, named_server
from toolplan.cli.options import JsonFlag
from toolplan.cli.terminal import Exit, note, print_json
from toolplan.sources.mcp.signing_in import sign_out


def logout_command(
    server: ServerArgument, *, tools: ServersOption, as_json: JsonFlag = False
) -> int:
    """Sign out of the MCP server that the configuration calls SERVER.

    The sign-in is deleted here, and revoked where the server offers that.
    """
    found, sign_ins = named_server(server, tools)
    was_signed_in = sign_out(server, found, sign_ins)
    if as_json:
        print_json({"server": server, "was_signed_in": was_signed_in})
    else:
        note(f"Signed out of {server}." if was_signed_in else f"Nobody was signed in to {server}.")
    return Exit.FINE.value
