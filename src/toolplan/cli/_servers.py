"""The one server of an MCP configuration that a command is for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from toolplan.app.home import home
from toolplan.cli.terminal import CommandError
from toolplan.diagnostics import did_you_mean, near
from toolplan.sources.mcp.servers import Server, read_servers
from toolplan.sources.mcp.sign_ins import SignIns
from toolplan.tools import ToolObjectError

ServerArgument: TypeAlias = Annotated[str, Parameter(help="The name of a server in the file.")]
ServersOption: TypeAlias = Annotated[
    tuple[str, ...],
    Parameter(name="--tools", help="The MCP configuration that names the server. Repeatable."),
]


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
        raise CommandError(
            "usage", f"{files} each have a server {name!r}.", "Name one of the files."
        )
    known = [server for servers in found.values() for server in servers]
    raise CommandError(
        "unknown-server",
        f"No server {name!r} is in {files}."
        if len(found) > 1
        else f"{files} has no server {name!r}.",
        did_you_mean(near(name, known)) or f"Known: {', '.join(known) or 'none'}.",
    )
