"""`toolplan.open`: an app with the defaults of the command line."""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from msgspec.structs import replace

from toolplan import providers
from toolplan.app._arguments import check_arguments
from toolplan.app._planning import planning
from toolplan.app._setup import User
from toolplan.app._toolset import (
    EffectsArgument,
    ToolsArgument,
    Toolset,
    open_toolbox,
    open_tools,
)
from toolplan.app.app import App
from toolplan.app.home import PolicyArgument, home, journal_place, policy_of
from toolplan.app.settings import FILE, Settings, read_settings
from toolplan.base.errors import ToolplanError
from toolplan.compiler.rules import Rule
from toolplan.plan.model import Limits
from toolplan.plan.path import Json, copied
from toolplan.planners import Planner
from toolplan.schema.tool import Arguments, Tool, Toolbox
from toolplan.show.printable import printable
from toolplan.storage.journal import Store

logger = logging.getLogger("toolplan")


def open(
    tools: ToolsArgument = None,
    *,
    toolbox: str | None = None,
    model: str | Sequence[str] | providers.Model | None = None,
    planner: str | Planner = "auto",
    journal: str | os.PathLike[str] | Store | None = None,
    policy: PolicyArgument = None,
    settings: str | os.PathLike[str] | Mapping[str, object] | Settings | None = None,
    base_url: str | None = None,
    effects: EffectsArgument = (),
    weeks: Literal["rolling", "calendar"] = "rolling",
    contracts: Sequence[str] = (),
    limits: Limits = Limits(),
    rules: Sequence[Rule] | None = None,
    on_note: Callable[[str], None] | None = None,
    on_claim: Callable[[str], bool | None] | None = None,
    grace: float | None = None,
    clock: Callable[[], float] = time.time,
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
) -> App:
    """Open tools, a planner and a journal, with the defaults of the command line.

    Args:
        tools: what `--tools` takes; a module, tool, function or tool object; or a list. None: demo.
        toolbox: instead of tools, the name of a table [toolboxes.NAME] of the settings.
        model: a model, or names of models in the order of asking. None: those of the settings.
        planner: `auto`, the name of a planner, or a planner.
        journal: where runs are kept: a file, `postgres://…`, or a journal. None: the user's own.
        policy: a policy, or its file. None: `toolplan.policy.toml` beside the settings.
        settings: the folder of `toolplan.toml`, or its content. None: the user's own.
        base_url: the address of the service of an OpenAPI document.
        effects: `TOOL=LABEL` or a mapping: what tools change, whatever their source says.
        weeks: whether *last week* is the last 7 days, or Monday to Sunday.
        contracts: files and folders of contracts: which agent does what, and needs what.
        limits: the largest plans and runs.
        rules: what plans are checked by. None: the rules of all installed packages.
        on_note: called with each sentence for the user. None: the log `toolplan`, level INFO.
        on_claim: returns whether a source's claim counts. None: such tools need an approval.
        grace: seconds for late servers, times their share of all; `App.refresh` has the rest.
        clock: seconds since the epoch.
        new_id: returns the name of a run.
    """
    check_arguments(limits=limits, toolbox=toolbox, contracts=contracts, rules=rules, weeks=weeks)
    check_arguments(journal=journal, on_note=on_note, clock=clock, new_id=new_id, grace=grace)
    known, note = _settings(settings), _printing(on_note)
    policy, zone = policy_of(policy, known.path), known.models.zone
    how = planning(planner, model, known, home(), weeks, contracts, policy, note)
    with ExitStack() as opening:
        given = open_toolbox(toolbox, known, note) if toolbox else open_tools(
            tools, known, note, effects, base_url, contracts, how.reading, on_claim, grace_s=grace
        )  # fmt: skip
        opened = opening.enter_context(given)
        user = _user(opened, known, how.tracker, toolbox, opening.pop_all())
    return App(
        _in_zone(opened.tools, zone), how.planner, insights=opened.insights,
        policy=policy, limits=limits, rules=rules, attempts=how.attempts, model=how.model,
        user=user, journal=journal if isinstance(journal, Store) else journal_place(known, journal),
        on_note=note, clock=clock, new_id=new_id,
    )  # fmt: skip


def _printing(on_note: Callable[[str], None] | None) -> Callable[[str], None]:
    report = logger.info if on_note is None else on_note
    return lambda sentence: report(printable(sentence))


def _user(
    opened: Toolset,
    known: Settings,
    tracker: providers.UsageTracker,
    toolbox: str | None,
    resources: ExitStack,
) -> User:
    learns = None if toolbox else home()  # other machines do not know what is learned here
    late, faults = partial(_late, opened, known.models.zone), opened.faults
    return User(known, learns, opened.advice, tracker, toolbox or "", faults, resources, late)


def _late(opened: Toolset, zone: str) -> tuple[Toolbox, tuple[str, ...]] | None:
    found = opened.late and opened.late()
    return None if found is None else (_in_zone(found.tools, zone), found.faults)


def _in_zone(tools: Toolbox, zone: str) -> Toolbox:
    return Toolbox(_with_zone(each, zone) for each in tools.values()) if zone else tools


def _with_zone(tool: Tool, zone: str) -> Tool:
    """Return `tool` with this `zone` by default, where it is a package's and takes one."""
    own = tool.call
    if tool.source != "builtin" or own is None or "zone" not in tool.signature.inputs:
        return tool
    schema: Any = copied(tool.raw_input)
    schema["properties"]["zone"]["default"] = zone

    async def call(arguments: Arguments) -> Json:
        return await own({"zone": zone, **arguments})

    return replace(tool, raw_input=schema, call=call)


def _settings(given: object) -> Settings:
    match given:
        case Settings():
            return given
        case Mapping():
            return Settings(cast("Mapping[str, object]", given))
        case None:
            return read_settings(home())
        case str() | os.PathLike() if given != "" and Path(cast("str", given)).is_dir():
            return read_settings(Path(cast("str", given)))
        case _:
            said = f"settings={given!r:.200} is no folder."
            raise ToolplanError("bad-settings", said, f"Give the folder of {FILE}.")
