"""The tools of an app or a command: what names them, and how they are opened."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

import toolplan
from toolplan import extract as extraction
from toolplan import providers
from toolplan.app.home import LEARNED, home
from toolplan.app.learned import with_learned
from toolplan.app.settings import LABELS, Settings, source_tables
from toolplan.errors import ToolplanError
from toolplan.path import Json
from toolplan.sources._base import OpenedTools, ServerStatus, SourceContext, not_asked
from toolplan.sources.combined import (
    GIVEN,
    Accept,
    NamedSource,
    combined,
    distinct,
    labels_of,
)
from toolplan.sources.named import ADDED, source_of
from toolplan.tools import Effects, Tool, Toolbox, ToolObjectError

ToolItem: TypeAlias = (
    str | os.PathLike[str] | ModuleType | Tool | Toolbox | Callable[..., object] | dict[str, Any]
)
ToolsArgument: TypeAlias = ToolItem | Iterable[ToolItem] | Mapping[str, Any] | None
EffectsArgument: TypeAlias = Sequence[str] | Mapping[str, str]

DEMO: Final = "toolplan_demo:TOOLS"
ADVICE: Final = "run_with"
"""The metadata of a plan that has run: what its tools were opened with."""
_DEMO_NOTE: Final = "Tools: the demo (waste management, sample data). Your own: --tools."
_DEMO_FOR_CONTRACTS: Final = (
    "Tools: the demo (waste management, sample data). Contracts bring no tools: name those of"
    " their agents with --tools."
)
_A_DICT: Final = "Give a tool object, or a dict whose values are functions or tool objects."
_HELP: Final = (
    "Give a JSON file of tool objects, an MCP configuration, an OpenAPI document, or"
    " MODULE:ATTRIBUTE, as in toolplan_demo:TOOLS."
)


class Toolset(Struct, frozen=True):
    """Open tools.

    Attributes:
        tools: the tools.
        insights: functions that find sentences in what the tools return.
        advice: what the tools were opened with, so that a resumed run can open them again.
        accept: pins the tools as they are now, and returns the lock files; None where tools cannot
            change by themselves.
        faults: which servers or operations cannot be used, and why.
        address: the URL of the service, where the user has set it.
        servers: the servers that were asked for tools, and who is signed in to them.
        pins: where the tools are pinned, as a clause; empty where they cannot change.
        late: returns the tools again where a slow server has answered or failed since, else None.
    """

    tools: Toolbox
    insights: tuple[Callable[..., Any], ...]
    advice: Mapping[str, Json]
    accept: Accept | None = None
    faults: tuple[str, ...] = ()
    address: str | None = None
    servers: tuple[ServerStatus, ...] = ()
    pins: str = ""
    late: Callable[[], Toolset | None] = lambda: None


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
) -> Generator[Toolset]:
    """Yield the tools that `tools` is or names, the demo's where it is None; then close them.

    `contracts` are those that are named; they have no tools of their own.

    Tools that installed packages add to every toolbox are added, and `extract` where there is a
    model for it, which `reading` returns. Labels of `effects` come before those of the settings,
    and these before the source's own. With `learns` tools have the schemas that were learned here.

    Raises:
        ToolplanError: there are no such tools, or a label is wrong.
    """
    if tools is None:
        note(_DEMO_FOR_CONTRACTS if contracts else _DEMO_NOTE)
    asked = effect_labels(effects)
    labels = {**settings.effects, **asked}
    context = SourceContext(
        Path.cwd(),
        os.environ,
        {
            **{name: settings.table(name) for name in ("sources", *source_tables())},
            "effects": dict(labels),
        },
        settings.path or Path("toolplan.toml"),
        home(),
        base_url,
        note,
        ask or not_asked,
        grace_s,
    )
    try:
        specs, given = _sources(DEMO if tools is None else tools, context.folder)
        with ExitStack() as opening:
            opened = _opened(specs, context, base_url, opening)
            if given is not None:
                opened.append(NamedSource("the list", (GIVEN,), OpenedTools(_given(given))))
            advice: dict[str, Json] = {}
            if given is None:
                advice["tools"] = specs[0] if len(specs) == 1 else [*specs]
                if base_url is not None:
                    advice["base_url"] = base_url
            # no order of the sources may change what is planned
            opened.sort(key=lambda each: (each.labels, each.spec))
            how = advice, labels, asked, context, reading, learns
            yield _toolset(opened, partial(_labelled, *how))
    except ToolObjectError as error:
        code = error.code if error.code != "tool-object" else "bad-tools"
        raise ToolplanError(code, str(error), error.help or _HELP) from error


def _opened(
    specs: Sequence[str], context: SourceContext, base_url: str | None, opening: ExitStack
) -> list[NamedSource]:
    """Open the sources; `base_url` is for the only one of an OpenAPI document.

    Raises:
        ToolplanError: `base_url` is for none of them, or might be for several.
        ToolObjectError: one cannot be opened.
    """
    sources = [source_of(spec, context.folder)[1] for spec in specs]
    if base_url is not None and sum(source.takes_base_url for source in sources) != 1:
        raise _no_address()
    found: list[NamedSource] = []
    for spec, source in zip(specs, sources, strict=True):
        takes = replace(context, base_url=base_url if source.takes_base_url else None)
        try:
            opened = opening.enter_context(source.open(spec, takes))
        except ToolObjectError as error:
            raise ToolObjectError(str(error), error.help or source.help, error.code) from error
        found.append(NamedSource(spec, labels_of(spec, context.folder), opened))
    return found


def _toolset(
    opened: list[NamedSource], labelled: Callable[[OpenedTools, Accept | None], Toolset]
) -> Toolset:
    def late() -> Toolset | None:
        found = [each.opened.late and each.opened.late() for each in opened]
        for at, each in enumerate(found):
            if each is not None:
                opened[at] = replace(opened[at], opened=each)
        return _toolset(opened, labelled) if any(found) else None

    return replace(labelled(*combined(opened)), late=late)


@contextmanager
def open_toolbox(name: str, settings: Settings, note: Callable[[str], None]) -> Generator[Toolset]:
    """Yield the tools of the toolbox `name` of the settings, the same on each machine.

    Raises:
        ToolplanError: there is no such toolbox, or its tools cannot be opened.
    """
    with open_tools(settings.toolbox(name), settings, note, learns=False) as opened:
        yield replace(opened, advice={"toolbox": name})


def reopening(plan: Json) -> tuple[tuple[str, ...], dict[str, str], str | None]:
    """Return the tools, the labels of effects and the base URL that a journal's plan ran with."""
    metadata = plan.get("metadata") if isinstance(plan, dict) else None
    advice = metadata.get(ADVICE) if isinstance(metadata, dict) else None
    match advice:
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
    """Read `TOOL=LABEL` texts, or a mapping of tools to labels.

    Raises:
        ToolplanError: one is not a label.
    """
    given: object = [effects] if isinstance(effects, str) else effects
    match given:
        case Mapping():
            table = cast("Mapping[object, object]", given)
            pairs = [(str(tool), str(label)) for tool, label in table.items()]
        case list() | tuple():
            texts = map(str, cast("Sequence[object]", given))
            pairs = [(tool, label) for tool, _, label in (each.rpartition("=") for each in texts)]
        case _:
            pairs = [("", str(given))]
    found: dict[str, Effects] = {}
    for tool, label in pairs:
        if not tool or label not in LABELS:
            raise ToolplanError(
                "bad-effects",
                f"effects {f'{tool}={label}' if tool else label!r} is not a label.",
                f"Write TOOL=LABEL; the labels are {', '.join(LABELS)}.",
            )
        found[tool] = Effects(label)
    return found


def _sources(tools: object, folder: Path) -> tuple[list[str], object]:
    """Return what names sources, each once, and the tools that are given as objects, if any."""
    if (spec := _spec(tools)) is not None:
        return [spec], None
    if isinstance(tools, Mapping | bytes) or not isinstance(tools, Iterable):
        return [], cast("object", tools)
    listed = [*cast("Iterable[object]", tools)]
    specs = [spec for each in listed if (spec := _spec(each)) is not None]
    if not specs:
        return [], listed
    given: list[object] = []
    for each in (each for each in listed if _spec(each) is None):
        given += each.values() if isinstance(each, Toolbox) else [each]
    return distinct(specs, folder), given or None


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


def _given(tools: object) -> Toolbox:
    """Return tools that are given as objects."""
    if isinstance(tools, Toolbox):
        return tools
    if isinstance(tools, Tool):
        return Toolbox([tools])
    if isinstance(tools, Mapping):
        tools = _members(cast("Mapping[object, object]", tools))
    elif callable(tools) and not inspect.isclass(tools):
        tools = [tools]
    if isinstance(tools, bytes) or not isinstance(tools, Iterable):
        kind = type(cast("object", tools)).__name__
        raise ToolObjectError(
            f"A value of type {kind} is no tools; give a text, a module, or a list of tools."
        )
    found: list[Tool] = []
    for each in cast("Iterable[object]", tools):
        if isinstance(each, Mapping):
            found.append(Tool.from_json(dict(cast("Mapping[str, Json]", each))))
        elif callable(each) and not isinstance(each, Tool):
            found.append(toolplan.tool(each))
        else:
            found.append(cast("Tool", each))  # the toolbox refuses what is none
    return Toolbox(found)


def _members(given: Mapping[object, object]) -> Iterable[object]:
    """Return the tools of a tool object, of a list as MCP gives it, or of a dict of tools."""
    if isinstance(listed := given.get("tools"), list):
        return cast("list[object]", listed)
    if isinstance(name := given.get("name"), str):
        return [given]
    if "name" in given and not callable(name) and not isinstance(name, Mapping):
        raise ToolObjectError(f"The 'name' of a tool is text, not {name!r}.", _A_DICT)
    if "mcpServers" in given or "openapi" in given:
        raise ToolObjectError(
            "A document with servers is read from a file.", "Give the path of the file."
        )
    if not given or not all(isinstance(each, Mapping) or callable(each) for each in given.values()):
        raise ToolObjectError(
            "This dict has values that are no tools." if given else "This dict is empty.",
            _A_DICT,
        )
    return [
        {"name": name, **cast("Mapping[str, object]", each)} if isinstance(each, Mapping) else each
        for name, each in given.items()
    ]


def _labelled(
    advice: dict[str, Json],
    labels: Mapping[str, Effects],
    asked: Mapping[str, Effects],
    context: SourceContext,
    reading: Callable[[], providers.Model] | None,
    learns: bool,
    opened: OpenedTools,
    accept: Accept | None,
) -> Toolset:
    tools = opened.tools
    extract = () if reading is None else (extraction.extract_tool(reading),)
    for more in (*ADDED.values(), *extract):
        if more.name not in tools and not tools.full_names(more.name):
            tools = tools.with_tools(more)
    for name in labels:
        if any(full not in labels for full in tools.full_names(name)):
            raise ToolplanError(
                "bad-effects", f"effects: {tools.ambiguity(name)}", "Give each of them its label."
            )
        if name in asked and name not in tools:
            raise ToolplanError(
                "bad-effects",
                f"effects: there is no tool {name!r}.",
                "`toolplan tools` lists the tools.",
            )
    known = {tool: label for tool, label in labels.items() if tool in tools}
    if known:
        tools = tools.labelled(known)
        effects: dict[str, Json] = {tool: label.value for tool, label in known.items()}
        advice = {**advice, "effects": effects}
    if learns:
        tools = with_learned(tools, context.data / LEARNED, context.note)
    return Toolset(
        tools,
        opened.insights,
        advice,
        accept,
        opened.faults,
        opened.address,
        opened.servers,
        opened.pins,
    )


def _no_address() -> ToolplanError:
    return ToolplanError(
        "usage",
        "base_url is for the tools of one OpenAPI document.",
        "Leave it out, name one document, or write base_url in [openapi.NAME] of the settings.",
    )
