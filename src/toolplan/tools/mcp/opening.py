"""MCP configurations as a source of tools: shows started commands, and refuses changed tools.

Which commands and which changed tools were shown to the user is kept in the data folder.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, cast

from toolplan.base.shown import counted
from toolplan.plan.path import Json
from toolplan.schema.tool import Toolbox, ToolObjectError
from toolplan.storage.shared_file import locked, write_whole
from toolplan.tools._base import OpenedTools, ServerStatus, SourceContext, ToolSource, claim_lines
from toolplan.tools.mcp._listing import Listed, Listing
from toolplan.tools.mcp._wire import name_of
from toolplan.tools.mcp.notices import Notice, ServerLost, ToolsChanged
from toolplan.tools.mcp.servers import (
    Command,
    HttpServer,
    Server,
    commands,
    is_machine,
    place_of,
    read_servers,
)
from toolplan.tools.mcp.sign_ins import SignIns
from toolplan.tools.mcp.source import McpSource, connected
from toolplan.tools.modules import insights_in, load_attribute
from toolplan.tools.pins import FILE_NAME, Pin, Pins, RefusedTool
from toolplan.tools.replies import json_object
from toolplan.tools.tool_files import json_in, path_of

_MOST_NAMES: Final = 4
_SHOWN: Final = "shown.json"
_MOST_SHOWN: Final = 10_000
IDLE_S: Final = 3_600.0
"""Seconds without a call after which a client's server is stopped until the next call."""
COMMANDS: Final = "commands"
"""The kind, in `shown`, of the commands that start servers."""


class McpToolSource:
    """The servers of an MCP configuration, `{"mcpServers": {…}}`.

    New tools are pinned in `toolplan.lock.json` beside the configuration. A tool that differs from
    its pin can be planned with, but not called, until it is accepted. The claims of a server
    about its tools can only raise their effects, until a person accepts them or `[sources.SERVER]`
    of the settings says `trusted = true`. `"toolplan": {"insights": "module:attribute"}` names
    functions that find insights.
    """

    takes_base_url = False
    help = "Fix the configuration; docs/mcp.md says what it may hold."

    def recognises(self, spec: str, folder: Path) -> bool:
        """Return whether `spec` is a JSON file with `mcpServers`."""
        document = json_in(spec, folder)
        return isinstance(document, dict) and "mcpServers" in document

    @contextmanager
    def open(self, spec: str, context: SourceContext) -> Generator[OpenedTools]:
        """Yield the tools of the servers, and end the servers afterwards.

        Raises:
            ToolObjectError: the configuration cannot be read, or no server can be used.
        """
        path = path_of(spec, context.folder)
        insights: tuple[Callable[..., object], ...] = ()
        match json_in(spec, context.folder):
            case {"toolplan": {"insights": str(named)}} if named.endswith("*"):
                raise ToolObjectError(
                    f"{path.name}: 'insights' names one attribute, not {named!r}."
                )
            case {"toolplan": {"insights": str(named)}}:
                insights = insights_in(load_attribute(named, context.folder))
            case _:
                pass
        servers = read_servers(path, context.environment)
        if misplaced := [name for name in servers if context.table_of(name).headers]:
            raise ToolObjectError(
                f"{context.settings_path}: [sources.{misplaced[0]}.headers] is for an OpenAPI"
                " document.",
                f"Write them into {path.name}, as `headers` of the server.",
            )
        _show(commands(servers), context)
        sign_ins, lock = SignIns(context.data, spec), path.with_name(FILE_NAME)
        reported: set[str] = set()
        with connected(
            servers,
            on_event=partial(_report, context.note),
            sign_ins=sign_ins,
            trusted=[name for name in servers if context.table_of(name).trusted],
            idle_s=0.0 if context.grace_s is None else IDLE_S,
        ) as source:

            def opened(tools: Toolbox) -> OpenedTools:
                left_out = (f"{e.server}.{e.tool} is left out: {e.reason}" for e in source.refused)
                faults = (*source.faults.values(), *left_out)
                for fault in dict.fromkeys(faults):
                    if fault not in reported:
                        context.note(fault)
                reported.update(faults)
                seen = shown(context.data, str(lock.resolve()))
                pinned = _pinned(tools, path, lock, context)
                changed = sum(isinstance(tool, RefusedTool) for tool in pinned.values())
                since = f", {changed} changed since" if changed else ""
                return OpenedTools(
                    pinned,
                    insights,
                    partial(_accept, tools, lock, seen),
                    faults,
                    servers=tuple(_statuses(servers, source, sign_ins, tools)),
                    pins=f"{len(tools)} pinned in {lock}{since}",
                    late=lambda: None if (n := source.late_toolbox()) is None else opened(n),
                    has_news=lambda: source.has_news,
                )

            known = {} if context.grace_s is None else _known(servers, Pins.load(lock))
            yield opened(source.toolbox(context.grace_s, known))


def _known(servers: Mapping[str, Server], pins: Pins) -> dict[str, Listing]:
    """Return the pinned listing of each server whose configuration is unchanged."""
    found: dict[str, Listing] = {}
    for name, server in servers.items():
        own = {key: pin for key, pin in pins.pins.items() if key.startswith(f"{name}.")}
        identity = next((pin.server for pin in own.values()), dict[str, Json]())
        is_same = place_of(server).items() <= identity.items()
        if is_same and all(pin.server == identity for pin in own.values()):
            tools = {
                name_of(pin.tool): Listed(key.removeprefix(f"{name}."), pin.tool, pin.digest)
                for key, pin in own.items()
                if name_of(pin.tool) not in server.disabled_tools
            }
            found[name] = Listing(tools, (), identity)
    return found


def _statuses(
    servers: Mapping[str, Server], source: McpSource, sign_ins: SignIns, tools: Toolbox
) -> Iterator[ServerStatus]:
    """Yield the status of each server, with the user who is signed in to it."""
    counts = Counter(tool.source for tool in tools.values())
    for name, server in servers.items():
        if name in source.sign_ins_wanted:
            yield ServerStatus(name, f"not signed in. {sign_ins.login_command(name)}", False)
        elif (fault := source.faults.get(name)) is not None:
            yield ServerStatus(name, fault, False)
        else:
            text = counted(counts[name], "tool")
            if (found := sign_ins.standing(server)) is not None:
                text += f", {found.text}"
            elif isinstance(server, HttpServer) and is_machine(server):
                text += ", signed in as a machine"
            yield ServerStatus(name, text)


def _accept(tools: Toolbox, lock: Path, seen: Mapping[str, str], name: str | None) -> Path:
    """Pin all tools, or the one called `name`, as an earlier command has shown them."""
    with locked(lock):
        pins = Pins.load(lock)
        accepted = pins.accept(tools, None if name is None else [name])
        changed = (each.name for each in pins.changed(tools) if name in (None, each.name))
        unseen = [repr(tool) for tool in changed if seen.get(tool) != Pin.of(tools[tool]).digest]
        if unseen:
            raise ToolObjectError(
                f"Nothing was accepted: {', '.join(unseen)} had not been shown like this before.",
                "Look at the changes above, and run the command again.",
            )
        accepted.save()
    return lock


def _pinned(tools: Toolbox, path: Path, lock: Path, context: SourceContext) -> Toolbox:
    """Return `tools` with those refused that differ from their pins; pin the new ones."""
    try:
        pins, new = Pins.pin_new(lock, tools)
    except OSError as error:
        context.note(f"The tools cannot be pinned: {error.strerror or error}.")
        pins, new = Pins.load(lock), ()
    if new:
        which = new[0] if len(new) == 1 else f"{len(new)} tools"
        context.note(
            f"Pinned for the first time in {lock}: {which}. A tool that changes is refused until"
            " accepted."
        )
    pins = _answered(pins, tools, path, context)
    changed, where = pins.changed(tools), str(lock.resolve())
    # the same change of many tools is reported once
    alike: dict[tuple[str, ...], list[str]] = {}
    for change in changed:
        alike.setdefault(change.lines, []).append(change.name)
    for lines, names in alike.items():
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        listed = ", ".join(names[:_MOST_NAMES])
        context.note(f"Changed, and not used until accepted: {listed}{more}")
        for line in lines:
            context.note(f"  {line}")
    if changed and not context.accepts:
        one = f" {changed[0].name}" if len(changed) == 1 else ""
        context.note(f"  toolplan tools{one} --tools {path} --accept")
    digests = {each.name: Pin.of(each).digest for each in changed}
    if digests != shown(context.data, where):
        keep_shown(context.data, where, digests)
    return pins.guarded(tools)


def _answered(pins: Pins, tools: Toolbox, path: Path, context: SourceContext) -> Pins:
    """Ask once for each server whether its claims about its tools count; return the pins."""
    waiting: dict[str, list[str]] = {}
    for name in () if context.accepts else pins.claims(tools):
        waiting.setdefault(tools[name].source, []).append(name)
    for server, names in waiting.items():
        answer = context.ask("\n".join(claim_lines([tools[name] for name in names])))
        if answer is None:
            which = f"{names[0]!r}" if len(names) == 1 else f"{len(names)} of its tools"
            context.note(
                f"The MCP server {server!r} says that {which} only read or may be"
                " repeated. That counts when it is accepted:"
                f" toolplan tools --tools {path} --accept"
            )
            continue
        with locked(pins.path):
            pins = Pins.load(pins.path).accept(tools, names, believed=answer)
            try:
                pins.save()
            except OSError as error:
                context.note(f"The answer cannot be kept: {error.strerror or error}.")
        if not answer:
            context.note(
                "They need an approval, as tools that may change something."
                f" toolplan tools --tools {path} --accept takes its word later."
            )
    return pins


def _show(started: Sequence[Command], context: SourceContext) -> None:
    """Show each command that was not shown before, and remember that it was."""
    before = shown(context.data, COMMANDS)
    new = [each for each in started if each.digest not in before]
    for each in new:
        context.note(f"Starts the MCP server {each.server!r}: {each.line}")
    if new:
        keep_shown(context.data, COMMANDS, {each.digest: each.server for each in new})


def _report(note: Callable[[str], None], notice: Notice) -> None:
    match notice:
        case ServerLost(server=server, reason=reason):
            note(f"The MCP server {server!r} is gone: {reason}")
        case ToolsChanged(server=server, changed=changed, gone=gone) if changed or gone:
            names = ", ".join((*changed, *gone))
            note(f"The MCP server {server!r} has changed these tools: {names}")
        case _:
            pass


def shown(data: Path, what: str) -> dict[str, str]:
    """Return the digests, by name, of shown items: of commands, or of tools beside a lock."""
    found = _read(data / _SHOWN).get(what)
    table = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    return {name: text for name, text in table.items() if isinstance(text, str)}


def keep_shown(data: Path, what: str, digests: Mapping[str, str]) -> None:
    """Record shown items; where the record cannot be written, they are shown again."""
    path = data / _SHOWN
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(path):
            known = _read(path)
            # a tool that is no longer changed is shown again when it changes again
            before = shown(data, what) if what == COMMANDS else {}
            known = {**known, what: {**before, **digests}}
            write_whole(path, json.dumps(dict([*known.items()][-_MOST_SHOWN:])))


def _read(path: Path) -> dict[str, object]:
    try:
        return json_object(path.read_bytes())
    except OSError:
        return {}


SOURCE: Final[ToolSource] = McpToolSource()
