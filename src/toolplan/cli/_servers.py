"""The one server of an MCP configuration that a command is for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from toolplan.app._home import home
from toolplan.cli._terminal import CommandError
from toolplan.diagnostics import did_you_mean, near
from toolplan.sources.mcp.servers import Server, read_servers
from toolplan.sources.mcp.sign_ins import SignIns
from toolplan.tools import ToolObjectError

ServerArgument: TypeAlias = Annotated[str, Parameter(help="The name of a server in the file.")]
ServersOption: TypeAlias = Annotated[
    str, Parameter(name="--tools", help="The MCP configuration that names the server.")
]


def named_server(name: str, tools: str) -> tuple[Server, SignIns]:
    """Return the server called `name` in the file `tools`, and the sign-ins of this user.

    Raises:
        CommandError: the file cannot be read, or has no such server.
    """
    try:
        servers = read_servers(Path(tools), os.environ)
    except ToolObjectError as error:
        help_ = "Fix the configuration; docs/mcp.md says what it may hold."
        raise CommandError("bad-tools", str(error), error.help or help_) from None
    if name not in servers:
        hint = did_you_mean(near(name, servers)) or f"It has: {', '.join(servers) or 'none'}."
        raise CommandError("unknown-server", f"{tools} has no server {name!r}.", hint)
    return servers[name], SignIns(home(), tools)
