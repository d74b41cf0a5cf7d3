"""The checks of `toolplan doctor`: whether installed and configured parts work."""

from __future__ import annotations

import platform
import socket
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from enum import Enum
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from toolplan.app._toolset import Toolset, open_toolbox, open_tools
from toolplan.app.settings import (
    POLICY_FILE,
    Settings,
    home,
    journal_at,
    journal_place,
    policy_of,
    read_settings,
)
from toolplan.app.workers import stranded_texts
from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import KINDS, EntryPoint, Extensions
from toolplan.base.extras import extras, install_command, own_version
from toolplan.compiler.rules import all_rules
from toolplan.compiler.rules._all import guarded_rules
from toolplan.dialects._base import guarded_dialect
from toolplan.planners.guarded import guarded_factory
from toolplan.policy import Policy, Vouched
from toolplan.providers import configured_models
from toolplan.providers._endpoint import guarded_provider
from toolplan.schema.tool import Toolbox
from toolplan.show.printable import count_text
from toolplan.storage.journal import Store
from toolplan.tools.named import guarded_source, guarded_tool

_RULES: Final = "toolplan.rules"
_GUARDS: Final[Mapping[str, Callable[[EntryPoint, object], object]]] = {
    "toolplan.dialects": guarded_dialect,
    _RULES: guarded_rules,
    "toolplan.sources": guarded_source,
    "toolplan.tools": guarded_tool,
    "toolplan.planners": guarded_factory,
    "toolplan.models": guarded_provider,
}
TRIALS: Final[Mapping[str, Callable[[], object]]] = Extensions("toolplan.doctor")
"""One operation of each extra, by its name."""
_CONNECT_S: Final = 3.0
_MOST_NAMED: Final = 3
_PORTS: Final = {"http": 80, "https": 443}


class State(Enum):
    """The state of a checked thing."""

    FINE = "fine"
    ABSENT = "absent"
    """It is not there, and nothing that is configured needs it."""
    FAULTY = "faulty"
    """It is configured, and does not work."""


class Finding(NamedTuple):
    """The result of one check. No text of it holds a secret."""

    subject: str
    state: State
    text: str
    help: str | None = None


def check_up(tools: Sequence[str] = ()) -> Iterator[Finding]:
    """Check the installation, the settings and `tools`, each as `--tools` takes it.

    Extensions of other packages are loaded, and toolboxes of the settings are opened. Nothing on
    the network is asked but what is configured: servers of tools, and the addresses of models and
    services, to which a connection is opened and closed again.
    """
    yield Finding("python", State.FINE, f"{platform.python_version()}, {sys.executable}")
    yield Finding("toolplan", State.FINE, own_version())
    yield from _extras()
    yield from _extensions()
    settings = yield from _settings()
    yield from _found("model", _models(settings), "bad-settings")  # reported with the settings
    yield from _found("journal", _journal(settings))
    if not tools:
        yield Finding("tools", State.ABSENT, "None are named.", "Name them: --tools TOOLS.")
    faults = set[str]()
    for spec in tools:
        subject, opening = f"tools {spec}", open_tools(spec, settings, _ignore)
        for finding in _found(subject, _tools(subject, opening, settings)):
            if finding.state is State.FAULTY:
                faults.add(finding.text)
            yield finding
    if len(tools) > 1:
        try:
            with open_tools(tools, settings, _ignore) as opened:
                together = _together("all tools, together", opened.tools, settings)
        except ToolplanError as error:
            together = _faulty("all tools, together", error)
        if together.text not in faults:  # a source that does not open is one fault
            yield together
    for name in settings.table("toolboxes"):
        subject, opening = f"toolbox {name}", open_toolbox(name, settings, _ignore)
        yield from _found(subject, _tools(subject, opening, settings))


def _extras() -> Iterator[Finding]:
    for extra in extras():
        subject, help_ = f"extra {extra.name}", install_command(extra.name)
        if missing := [name for name, found in extra.libraries.items() if found is None]:
            text = f"not installed: {', '.join(missing)}"
            yield Finding(subject, State.ABSENT, text, f"Install it: {help_}")
            continue
        text = ", ".join(f"{name} {found}" for name, found in extra.libraries.items())
        try:  # that it is installed does not say that it works
            said = str(TRIALS[extra.name]()) if extra.name in TRIALS else "\n"
        except Exception as error:  # a version of a library may break anything
            text = f"{text}: it does not work: {str(error) or type(error).__name__}"
            yield Finding(subject, State.FAULTY, text, f"Install it anew: {help_}")
        else:
            yield Finding(subject, State.FINE, text if "\n" in said else f"{text}; {said}")


def _extensions() -> Iterator[Finding]:
    """Load what other packages add to toolplan."""
    for group, guard in _GUARDS.items():
        offered = Extensions[object](group, guard)
        packages: dict[str, str] = {}
        for entry in offered.entries():
            if not entry.is_ours:
                packages.setdefault(entry.name, entry.package)
        faults = 0
        for name, package in packages.items():
            found = Finding(f"{KINDS[group]} {name}", State.FINE, f"of the package {package}")
            fault = _fault_of(found.subject, partial(offered.__getitem__, name))
            faults += fault is not None
            yield fault or found
        if group == _RULES and packages and not faults:
            yield from filter(None, [_fault_of("rules", all_rules)])


def _settings() -> Generator[Finding, None, Settings]:
    """Look at all tables of the settings, and the policy; return those that could be read."""
    try:
        settings = read_settings(home())
    except ToolplanError as error:
        yield _faulty("settings", error)
        settings = Settings(environment={})
    else:
        reads = (
            lambda: (settings.limits, settings.retention(), settings.effects, settings.thresholds),
            lambda: settings.models,
        )
        faults = [fault for read in reads if (fault := _fault_of("settings", read))]
        yield from faults
        if not faults and settings.path is not None and settings.path.exists():
            yield Finding("settings", State.FINE, settings.place)
        elif not faults:
            text = f"There is no {settings.place}; defaults apply."
            yield Finding("settings", State.ABSENT, text)
    path = home() / POLICY_FILE
    if path.exists():
        fault = _fault_of("policy", partial(policy_of, None, settings.path or path))
        yield fault or Finding("policy", State.FINE, str(path))
    else:
        yield Finding("policy", State.ABSENT, f"There is no {path}; nothing is restricted.")
    return settings


def _models(settings: Settings) -> Iterator[Finding]:
    models = settings.models
    if not models.models:
        text = "None is named; questions are planned without one."
        yield Finding("model", State.ABSENT, text, "Name one: TOOLPLAN_MODEL=ollama:mistral.")
        return
    for each in configured_models(models.models, keys=models.keys, addresses=models.addresses):
        subject = f"model {each.name}"
        if each.fault is not None:
            yield Finding(subject, State.FAULTY, each.fault.reason, each.fault.help)
        else:
            yield _reached(subject, each.url)


def _journal(settings: Settings) -> Iterator[Finding]:
    place = journal_place(settings)
    journal = journal_at(place)
    if journal is None:
        yield Finding("journal", State.ABSENT, f"There is no {place}; the first run makes it.")
        return
    with closing(journal):
        latest = journal.runs(1)
        for entry in latest:
            journal.load(entry.run)
        workers = [*_workers(journal)]
    text = f"{journal.place}: {'the latest run' if latest else 'no run'} can be read"
    yield Finding("journal", State.FINE, f"{text}. {' '.join(journal.notes)}".rstrip(". "))
    yield from workers


def _workers(journal: Store) -> Iterator[Finding]:
    """Look which workers share the journal, and which runs have none."""
    runs = journal.worker_runs()
    if runs is None:
        return
    worked = runs.worked()
    counts = [f"{worked.count(queue)} for {queue}" for queue in sorted({*worked})]
    text = ", ".join(counts) or "None takes runs of this journal."
    yield Finding("workers", State.FINE if counts else State.ABSENT, text)
    synchronous, standbys = runs.replication()
    if synchronous or not standbys:
        waits = f"Commits wait for standbys: {synchronous}."
        text = waits if synchronous else "No standby is connected."
        yield Finding("replication", State.FINE, text)
    else:  # a failover can lose acknowledged commits
        text = f"Commits do not wait for the {standbys} standbys:"
        help_ = "Set synchronous_standby_names on the server; see docs/workers.md."
        lost = f"{text} a failover may lose the latest calls."
        yield Finding("replication", State.ABSENT, lost, help_)
    if fenced := runs.fenced():
        text = f"{len(fenced)} runs were open when the database moved: {', '.join(fenced)}."
        help_ = "Look at each, then: `toolplan resume --after-failover`."
        yield Finding("failover", State.FAULTY, text, help_)
    for text, help_ in stranded_texts(runs.stranded(), worked):
        yield Finding("workers", State.FAULTY, text, help_)


def _tools(
    subject: str, opening: AbstractContextManager[Toolset], settings: Settings
) -> Iterator[Finding]:
    with opening as opened:
        tools = [tool for tool in opened.tools.values() if tool.source != "builtin"]
        for server in opened.servers:
            state = State.FINE if server.is_usable else State.FAULTY
            yield Finding(f"server {server.name}", state, server.text)
        refused = [f"{tool.name}: {tool.unusable}" for tool in tools if tool.unusable]
        shown = {server.text for server in opened.servers}
        for text in dict.fromkeys((*opened.faults, *refused)):
            if text not in shown:
                yield Finding(subject, State.FAULTY, text)
        pins = f", {opened.pins}" if opened.pins else ""
        usable = count_text(len(tools) - len(refused), "tool")
        yield Finding(subject, State.FINE, f"{usable}{pins}")
        yield _together(f"{subject}, together", Toolbox(tools), settings)
        if opened.address is not None:
            yield _reached(subject, opened.address)


def _together(subject: str, tools: Toolbox, settings: Settings) -> Finding:
    """Report the combined abilities of the tools: to read private data, be misled, and send."""
    try:
        policy = policy_of(None, settings.path)
    except ToolplanError:  # which was reported with the policy
        policy = Policy()
    abilities = Vouched(policy, tools).abilities
    able: list[str] = []
    for what, names in abilities.items():
        more = len(names) - _MOST_NAMED
        shown = ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        able += [f"{what} ({shown})"] if names else []
    text, help_ = ", ".join(able) or "nothing reads or sends", None
    if len(able) == len(abilities) and not policy.secret:
        help_ = "Text of a stranger could send private data: say in a policy what is [secret]."
    return Finding(subject, State.FINE, text, help_)


def _found(subject: str, findings: Iterator[Finding], known: str = "") -> Iterator[Finding]:
    """Yield `findings`, and an error among them as a fault, unless it has the code `known`."""
    try:
        yield from findings
    except ToolplanError as error:
        if error.code != known:
            yield _faulty(subject, error)


def _ignore(_: str) -> None:
    """Ignore a note: faults are found in the opened parts."""


def _fault_of(subject: str, action: Callable[[], object]) -> Finding | None:
    """Return the fault of `subject` where `action` fails; None where it works."""
    try:
        action()
    except ToolplanError as error:
        return _faulty(subject, error)
    return None


def _faulty(subject: str, error: ToolplanError) -> Finding:
    return Finding(subject, State.FAULTY, str(error), error.help or "Fix it, or move it away.")


def _reached(subject: str, url: str) -> Finding:
    """Open a connection to the host of `url`, and close it; nothing is sent."""
    parts = urlsplit(url)
    shown = f"{parts.scheme}://{parts.hostname}"
    try:
        port = parts.port or _PORTS.get(parts.scheme, 0)
        if parts.scheme in getproxies() and not proxy_bypass(parts.hostname or ""):
            return Finding(subject, State.FINE, f"{shown} is behind a proxy, and was not asked")
        with socket.create_connection((parts.hostname, port), timeout=_CONNECT_S):
            return Finding(subject, State.FINE, f"{shown}:{port} answers")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        text = f"{shown} does not answer: {reason}."
        return Finding(subject, State.FAULTY, text, "Check the address, and start the service.")
