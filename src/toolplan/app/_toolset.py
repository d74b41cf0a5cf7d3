"""The tools of an app or a command: their names, how they are opened, learned schemas."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

import toolplan
from toolplan import providers
from toolplan.app.resume import ADVICE, metadata_of
from toolplan.app.settings import LABELS, LEARNED, Settings, home, source_tables
from toolplan.base.errors import ToolplanError
from toolplan.events import Run
from toolplan.plan.model import Plan
from toolplan.plan.path import Json
from toolplan.schema.tool import Effects, Tool, Toolbox, ToolObjectError, tools_of_page
from toolplan.tools import extract as extraction
from toolplan.tools import learned
from toolplan.tools._base import OpenedTools, SourceContext
from toolplan.tools.named import (
    ADDED,
    GIVEN,
    Accept,
    NamedSource,
    combined,
    distinct,
    labels_of,
    source_of,
)


def with_learned(tools: Toolbox, path: Path, note: Callable[[str], None]) -> Toolbox:
    """Return `tools` with the schemas learned so far, kept at `path`."""
    if not path.exists() or not any(map(_declares_nothing, tools.values())):
        return tools
    found = {**tools}
    try:
        with learned.LearnedSchemas(path) as schemas:
            for tool in filter(_declares_nothing, tools.values()):
                if (known := schemas.schema(learned.tool_digest(tool))) is not None:
                    found[tool.name] = replace(tool, learned=known)
    except learned.LearnedError as error:
        note(error.with_help)
        return tools
    return Toolbox(found.values())


def learnable(plan: Plan, tools: Toolbox) -> bool:
    """Return whether `plan` calls a tool that declares no output schema."""
    return any(step.tool in tools and _declares_nothing(tools[step.tool]) for step in plan.steps)


def learn_from(
    plan: Plan, run: Run, tools: Toolbox, path: Path, note: Callable[[str], None]
) -> None:
    """Learn from the results of `run`."""
    if not learnable(plan, tools):
        return
    try:
        with learned.LearnedSchemas(path) as schemas:
            learned.learn(schemas, plan, run, tools)
    except learned.LearnedError as error:
        note(error.with_help)


def _declares_nothing(tool: Tool) -> bool:
    return tool.raw_output is None and tool.compute_output is None


ToolItem: TypeAlias = (
    str | os.PathLike[str] | ModuleType | Tool | Toolbox | Callable[..., object] | dict[str, Any]
)
ToolsArgument: TypeAlias = ToolItem | Iterable[ToolItem] | Mapping[str, Any] | None
EffectsArgument: TypeAlias = Sequence[str] | Mapping[str, str]

DEMO: Final = "toolplan_demo:TOOLS"
_DEMO_NOTE: Final = "Tools: the demo (waste management, sample data). Your own: --tools."
_NO_TOOLS_OF_CONTRACTS: Final = (
    " Contracts bring no tools: name those of their agents with --tools."
)
_HELP: Final = (
    "Give a JSON file of tool objects, an MCP configuration, an OpenAPI document, or"
    " MODULE:ATTRIBUTE, as in toolplan_demo:TOOLS."
)


class Toolset(OpenedTools, frozen=True):
    """Open tools of all sources together."""

    insights: tuple[Callable[..., Any], ...] = ()
    advice: Mapping[str, Json] = MappingProxyType({})
    """what the tools were opened with, so that a resumed run can open them again"""
    pin: Accept | None = None
    """pins the tools as they are now, and returns the lock files; None: they cannot change"""


@contextmanager
def open_tools(
    tools: ToolsArgument,
    settings: Settings,
    note: Callable[[str], None],
    effects: EffectsArgument = (),
    base_url: str | None = None,
    contracts: Sequence[str] = (),
    reading: Callable[[], providers.Model] | None = None,
    ask: Callable[[str], bool | None] | None = None,
    *,
    learns: bool = True,
    grace_s: float | None = None,
    accepts: bool = False,
) -> Generator[Toolset]:
    """Yield the tools that `tools` is or names, the demo's where it is None; then close them.

    Tools that installed packages add to every toolbox are added, and `extract` where there is a
    model for it, which `reading` returns. Labels of `effects` come before those of the settings,
    and these before the source's own. With `learns` tools have the schemas learned here.
    """
    if tools is None:
        note(_DEMO_NOTE + (_NO_TOOLS_OF_CONTRACTS if contracts else ""))
    asked = effect_labels(effects)
    labels = {**settings.effects, **asked}
    tables = {name: settings.table(name) for name in ("sources", *source_tables())}
    context = SourceContext(
        Path.cwd(), os.environ, {**tables, "effects": dict(labels)},
        settings.path or Path("toolplan.toml"), home(), base_url, note, ask or (lambda _: None),
        grace_s, accepts,
    )  # fmt: skip
    try:
        specs, given = _sources(DEMO if tools is None else tools, context.folder)
        with ExitStack() as opening:
            opened = _opened(specs, context, base_url, opening)
            advice: dict[str, Json] = {}
            if given is not None:
                opened.append(NamedSource("the list", (GIVEN,), OpenedTools(given)))
            else:
                advice["tools"] = specs[0] if len(specs) == 1 else [*specs]
                advice |= {} if base_url is None else {"base_url": base_url}
            # no order of the sources may change what is planned
            opened.sort(key=lambda each: (each.labels, each.spec))
            yield _Opening(opened, advice, labels, asked, context, reading, learns).toolset()
    except ToolObjectError as error:
        code = error.code if error.code != "tool-object" else "bad-tools"
        raise ToolplanError(code, str(error), error.help or _HELP) from error


def _opened(
    specs: Sequence[str], context: SourceContext, base_url: str | None, opening: ExitStack
) -> list[NamedSource]:
    """Open the sources; `base_url` is for the only one of an OpenAPI document."""
    sources = [source_of(spec, context.folder)[1] for spec in specs]
    if base_url is not None and sum(source.takes_base_url for source in sources) != 1:
        raise ToolplanError(
            "usage",
            "base_url is for the tools of one OpenAPI document.",
            "Leave it out, name one document, or write base_url in [openapi.NAME] of the settings.",
        )
    found: list[NamedSource] = []
    for spec, source in zip(specs, sources, strict=True):
        takes = replace(context, base_url=base_url if source.takes_base_url else None)
        try:
            opened = opening.enter_context(source.open(spec, takes))
        except ToolObjectError as error:
            raise ToolObjectError(str(error), error.help or source.help, error.code) from error
        found.append(NamedSource(spec, labels_of(spec, context.folder), opened))
    return found


class _Opening(Struct, frozen=True):
    """Open sources, joined into one toolset."""

    sources: list[NamedSource]
    advice: dict[str, Json]
    labels: Mapping[str, Effects]
    asked: Mapping[str, Effects]
    context: SourceContext
    reading: Callable[[], providers.Model] | None
    learns: bool

    def toolset(self) -> Toolset:
        """Return the tools of all sources, with those of packages, labels and learned schemas."""
        opened, pin = combined(self.sources)
        tools, advice = opened.tools, self.advice
        extract = () if self.reading is None else (extraction.extract_tool(self.reading),)
        for more in (*ADDED.values(), *extract):
            if more.name not in tools and not tools.full_names(more.name):
                tools = tools.with_tools(more)
        for name in self.labels:
            if any(full not in self.labels for full in tools.full_names(name)):
                message = f"effects: {tools.ambiguity(name)}"
                raise ToolplanError("bad-effects", message, "Give each of them its label.")
        missing = [
            f"effects: there is no tool {each!r}." for each in self.asked if each not in tools
        ]
        if missing and self.context.grace_s is None:
            raise ToolplanError("bad-effects", missing[0], "`toolplan tools` lists the tools.")
        if known := {tool: label for tool, label in self.labels.items() if tool in tools}:
            tools = tools.labelled(known)
            effects: Json = {tool: label.value for tool, label in known.items()}
            advice = {**advice, "effects": effects}
        if self.learns:
            tools = with_learned(tools, self.context.data / LEARNED, self.context.note)
        faults = (*opened.faults, *missing)
        own: dict[str, Any] = asdict(
            replace(opened, tools=tools, faults=faults, late=self._late, has_news=self._has_news)
        )
        return Toolset(**own, advice=advice, pin=pin)

    def _has_news(self) -> bool:
        asked = (each.opened for each in self.sources if each.opened.late is not None)
        return any(each.has_news is None or each.has_news() for each in asked)

    def _late(self) -> Toolset | None:
        """Return the tools with those that came late; a failure of a source is a fault of it."""
        is_new = False
        for at, each in enumerate(self.sources):  # each is kept before the next one is asked
            try:
                found = None if each.opened.late is None else each.opened.late()
            except (ToolplanError, OSError) as error:
                fault = f"Late tools of {each.spec} are not used: {error}"
                faults = each.opened.faults
                found = None if fault in faults else replace(each.opened, faults=(*faults, fault))
            if found is not None:
                self.sources[at], is_new = replace(each, opened=found), True
        return self.toolset() if is_new else None


@contextmanager
def open_toolbox(name: str, settings: Settings, note: Callable[[str], None]) -> Generator[Toolset]:
    """Yield the tools of the toolbox `name` of the settings, the same on each machine."""
    with open_tools(settings.toolbox(name), settings, note, learns=False) as opened:
        yield replace(opened, advice={"toolbox": name})


def reopening(plan: Json) -> tuple[tuple[str, ...], dict[str, str], str | None]:
    """Return the tools, the labels of effects and the base URL that a journal's plan ran with."""
    match metadata_of(plan).get(ADVICE):
        case {"tools": str() | list() as named, **more}:
            labels, url = more.get("effects"), more.get("base_url")
            kept = labels if isinstance(labels, dict) else {}
            return (
                (named,) if isinstance(named, str) else tuple(map(str, named)),
                {tool: str(label) for tool, label in kept.items()},
                url if isinstance(url, str) else None,
            )
        case _:
            return (), {}, None


def effect_labels(effects: EffectsArgument) -> dict[str, Effects]:
    """Read `TOOL=LABEL` texts, or a mapping of tools to labels."""
    given: object = effects
    if isinstance(given, Mapping):
        table = cast("Mapping[object, object]", given)
        texts = [f"{tool}={label}" for tool, label in table.items()]
    else:
        listed = cast("Sequence[object]", given) if isinstance(given, list | tuple) else [given]
        texts = [*map(str, listed)]
    found: dict[str, Effects] = {}
    for text in texts:
        tool, _, label = text.rpartition("=")
        if not tool or label not in LABELS:
            help_ = f"Write TOOL=LABEL; the labels are {', '.join(LABELS)}."
            raise ToolplanError("bad-effects", f"effects {text!r} is not a label.", help_)
        if found.setdefault(tool, Effects(label)) != label:
            message = f"effects: {tool!r} is given {found[tool].value!r} and {label!r}."
            raise ToolplanError("bad-effects", message, "Give it one label.")
    return found


def _sources(tools: object, folder: Path) -> tuple[list[str], Toolbox | None]:
    """Return the names of sources, each once, and the tools given as objects, if any."""
    if isinstance(tools, Toolbox):
        return [], tools
    is_function = callable(tools) and not inspect.isclass(tools)
    is_document = isinstance(tools, Mapping)  # texts in it are foreign, and name no source
    if isinstance(tools, Mapping):
        tools = _members(cast("Mapping[object, object]", tools))
    elif is_function or isinstance(tools, Tool) or _spec(tools) is not None:
        tools = [tools]
    if isinstance(tools, bytes) or not isinstance(tools, Iterable):
        message = f"A value of type {type(cast('object', tools)).__name__} is no tools"
        raise ToolObjectError(f"{message}; give a text, a module, or a list of tools.")
    specs: list[str] = []
    given: list[Tool] = []
    for each in cast("Iterable[object]", tools):
        if (spec := None if is_document else _spec(each)) is not None:
            specs.append(spec)
        elif isinstance(each, Toolbox):
            given += each.values()
        elif isinstance(each, Mapping):
            given.append(Tool.from_json(dict(cast("Mapping[str, Json]", each))))
        elif callable(each) and not isinstance(each, Tool):
            given.append(toolplan.tool(each))
        else:
            given.append(cast("Tool", each))  # the toolbox refuses what is none
    return distinct(specs, folder), Toolbox(given) if given or not specs else None


def _spec(tools: object) -> str | None:
    match tools:
        case str():
            return tools
        case os.PathLike():
            return os.fspath(cast("os.PathLike[str]", tools))
        case ModuleType(__name__=name):
            return f"{name}:*"
        case _:
            return None


def _members(given: Mapping[object, object]) -> Iterable[object]:
    """Return the tools of a tool object, of a list as MCP gives it, or of a dict of tools."""
    if isinstance(given.get("tools"), list):
        return cast("list[object]", tools_of_page(cast("Mapping[str, object]", given)))
    name = given.get("name")
    if isinstance(name, str):
        return [given]
    if "mcpServers" in given or "openapi" in given:
        message = "A document with servers is read from a file."
        raise ToolObjectError(message, "Give the path of the file.")
    if not given or not all(isinstance(each, Mapping) or callable(each) for each in given.values()):
        what = "has values that are no tools" if given else "is empty"
        if "name" in given:
            what = f"is no tool: its 'name' is {name!r}"
        help_ = "Give a tool object, or a dict of functions or tool objects."
        raise ToolObjectError(f"This dict {what}.", help_)
    return [
        {"name": name, **cast("Mapping[str, object]", each)} if isinstance(each, Mapping) else each
        for name, each in given.items()
    ]
