"""`toolplan install CLIENT…` and `toolplan uninstall CLIENT…`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter
from msgspec import to_builtins

from toolplan.cli.options import JsonFlag
from toolplan.cli.terminal import CommandError, note, print_json
from toolplan.mcp_server.clients import CLIENTS, Client
from toolplan.mcp_server.install import install, uninstall
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.show.printable import printable

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
        bool,
        Parameter(help="Tell the client's model when and how to write plans, in a SKILL.md."),
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
    *client: ClientArgument,
    project: ProjectFlag = False,
    as_json: JsonFlag = False,
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
