"""Tools by name, as for `--tools` and `toolplan.open`: one source or several at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import EntryPoint, Extensions, described
from toolplan.base.extras import check_beside
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.schema.tool import Tool, Toolbox, ToolObjectError
from toolplan.tools._base import OpenedTools, SourceContext, ToolSource, plain_name
from toolplan.tools.tool_files import json_in, path_of


def guarded_source(entry: EntryPoint, offered: object) -> ToolSource:
    """Return the source that a package offers, with a guard around it."""
    entry.instance(offered, "recognises open", texts="help", flags="takes_base_url")
    return _Guarded(entry, cast("ToolSource", offered))


def guarded_tool(entry: EntryPoint, offered: object) -> Tool:
    """Return the tool that a package adds to every toolbox; `offered` may be its function."""
    if isinstance(offered, Tool):
        found = offered
    elif callable(offered):
        found = entry.returned(entry.call(offered), Tool, by=entry.value)
    else:
        raise entry.wrong(f"is {described(offered)}, not a Tool")
    if found.name != entry.name:
        raise entry.wrong(f"has another name: {found.name!r}")
    if found.has_effects:
        raise entry.wrong("may change something, and a tool that every toolbox has only reads")
    return replace(found, source="builtin")


class _Guarded:
    def __init__(self, entry: EntryPoint, inner: ToolSource) -> None:
        self._entry = entry
        self._inner = inner
        self.takes_base_url = inner.takes_base_url
        self.help = inner.help

    def recognises(self, spec: str, folder: Path) -> bool:
        found = self._entry.call(self._inner.recognises, spec, folder)
        return self._entry.returned(found, bool, by="recognises")

    @contextmanager
    def open(self, spec: str, context: SourceContext) -> Generator[OpenedTools]:
        raised: list[BaseException] = []
        try:
            manager = cast("object", self._inner.open(spec, context))
            if not isinstance(manager, AbstractContextManager):
                raise self._entry.wrong(
                    "returned from `open` what is no context manager",
                    "Decorate its `open` with `@contextlib.contextmanager`.",
                )
            with cast("AbstractContextManager[object]", manager) as opened:
                found = self._entry.returned(opened, OpenedTools, by="open")
                self._entry.returned(found.tools, Toolbox, by="open")
                try:
                    yield found
                except BaseException as error:
                    raised.append(error)
                    raise
        except ToolplanError:
            raise
        except Exception as error:
            if any(error is each for each in raised):
                raise  # it is of what uses the tools
            if isinstance(error, FileNotFoundError) and error.filename is not None:
                name = str(error.filename)
                fault = f"There is no file {name!r}, which the {self._entry.label} opens."
                raise ToolObjectError(fault, self.help or None) from error
            raise self._entry.fault(error) from error


SOURCES: Final = Extensions[ToolSource]("toolplan.sources", guarded_source)
"""The sources of installed packages and our own, by name."""

ADDED: Final = Extensions[Tool]("toolplan.tools", guarded_tool)
"""The tools that installed packages add to every toolbox, by name."""

_ORDER: Final = ("json", "", "python", "openapi", "mcp")
"""The order in which sources are asked.

Those of other packages, in the place of "", come before `python`, which recognises any `a:b`, and
before `openapi` and `mcp`, which take long to load.
"""
_FILES: Final = (".json", ".yaml", ".yml", ".toml", ".py")


def source_of(spec: str, where: Path) -> tuple[str, ToolSource]:
    """Return the name and the source of the tools that `spec` names.

    Paths and modules are looked for in `where`.

    Raises:
        ToolObjectError: there are no such tools; the message says where it looked.
    """
    if not spec.strip():
        raise ToolObjectError("The name of the tools is empty.")
    for name in sorted(SOURCES, key=lambda each: _ORDER.index(each if each in _ORDER else "")):
        if SOURCES[name].recognises(spec, where):
            return name, SOURCES[name]
    path = path_of(spec, where)
    if path.is_file() and path.suffix != ".py":
        document = json_in(spec, where)
        is_openapi = isinstance(document, dict) and bool({"openapi", "swagger"} & {*document})
        if is_openapi or path.suffix.lower() in (".yaml", ".yml"):
            check_beside("source", "openapi", f"The document {spec!r}")
        return "json", SOURCES["json"]  # which reports the fault of the file
    if path.is_file():
        help_ = f"Name its module: --tools '{path.stem}:*'."
        raise ToolObjectError(f"{spec!r} is a file of Python code.", help_)
    fault = f"{spec!r} is neither a file nor 'module:attribute', such as 'toolplan_demo:TOOLS'."
    if path.is_dir():
        fault = f"{spec!r} is a folder; name a JSON file in it."
    elif path.suffix or "/" in spec or "\\" in spec:
        fault = f"There is no file {spec!r} in {str(where)!r}."
    if spec.replace(".", "_").isidentifier() and path.suffix not in _FILES:
        fault += f" A whole module is named as '{spec}:*'."
    raise ToolObjectError(fault)


GIVEN: Final = "python"
"""The label of tools that are given as objects beside other sources."""

Accept: TypeAlias = Callable[[str | None], tuple[Path, ...]]


class NamedSource(Struct, frozen=True):
    """An open source.

    Attributes:
        spec: the text that names it, for messages.
        labels: possible prefixes of its tools, the shortest first.
        opened: its tools.
    """

    spec: str
    labels: tuple[str, ...]
    opened: OpenedTools


def distinct(specs: Sequence[str], folder: Path) -> list[str]:
    """Return each source once, in an order that does not depend on the order of `specs`."""
    found: dict[str, str] = {}
    for spec in sorted(specs, reverse=True):
        path = path_of(spec, folder)
        found[str(path.resolve()) if path.is_file() else spec] = spec
    return [found[identity] for identity in sorted(found)]


def labels_of(spec: str, folder: Path) -> tuple[str, ...]:
    """Return the possible prefixes of the names of the tools of `spec`, the shortest first.

    >>> labels_of("shop.office:TOOLS", Path())
    ('office', 'office.TOOLS', 'shop.office.TOOLS')
    """
    path = path_of(spec, folder)
    if path.is_file():
        path = path.resolve()
        outer, inner = [*path.parent.parts[1:]], [plain_name(path.stem)]
    else:
        module, _, attribute = spec.partition(":")
        *outer, last = module.split(".")
        inner = [plain_name(last)]
        if plain_name(attribute):
            inner.append(f"{inner[0]}.{plain_name(attribute)}")
    while outer:
        inner.append(f"{plain_name(outer.pop())}.{inner[-1]}")
    return tuple(inner)


def combined(sources: Sequence[NamedSource]) -> tuple[OpenedTools, Accept | None]:
    """Return all tools of `sources`, and a function that accepts them; None where none can change.

    A name that tools of several sources share is not in the toolbox: each of them gets the
    label of its source and a point before its name.

    Raises:
        ToolObjectError: two tools would still have one name.
    """
    places = _places(sources)
    opened = [source.opened for source in sources]
    tools = opened[0].tools
    if len(sources) > 1:
        found = ((name, source.opened.tools[own]) for name, (source, own) in places.items())
        tools = Toolbox(
            tool if name == tool.name else replace(tool, name=name, short_name=tool.name)
            for name, tool in found
        )

    def accept(name: str | None) -> tuple[Path, ...]:
        if name is None:
            return tuple(each.accept(None) for each in opened if each.accept is not None)
        if name not in places:
            unknown = f"There is no tool {name!r}. {did_you_mean(near(name, places)) or ''}"
            raise ToolObjectError(tools.ambiguity(name) or unknown.strip())
        source, own_name = places[name]
        if source.opened.accept is None:
            raise ToolObjectError(f"{name!r} is of {source.spec!r}, which is not pinned.")
        return (source.opened.accept(own_name),)

    addresses = [each.address for each in opened if each.address is not None]
    together = OpenedTools(
        tools,
        tuple(insight for each in opened for insight in each.insights),
        None,
        tuple(fault for each in opened for fault in each.faults),
        addresses[0] if len(addresses) == 1 else None,
        tuple(server for each in opened for server in each.servers),
        "; ".join(each.pins for each in opened if each.pins),
    )
    return together, None if all(each.accept is None for each in opened) else accept


def _places(sources: Sequence[NamedSource]) -> dict[str, tuple[NamedSource, str]]:
    """Return the source of each tool and its name there, by its name in the toolbox."""
    kept: dict[int, tuple[NamedSource, str]] = {}  # a tool that two sources share is one tool
    for source in sources:
        for name, tool in source.opened.tools.items():
            kept.setdefault(id(tool), (source, name))
    times = Counter(name for _, name in kept.values())
    labels = _labels({source.spec: source.labels for source, n in kept.values() if times[n] > 1})
    found: dict[str, tuple[NamedSource, str]] = {}
    for place in kept.values():
        source, own = place
        name = f"{labels[source.spec]}.{own}" if times[own] > 1 else own
        other = found.setdefault(name, place)
        if other is not place:
            raise ToolObjectError(
                f"Two tools are named {name!r}: {other[1]!r} of {other[0].spec!r} and"
                f" {own!r} of {source.spec!r}.",
                "Rename one of them, or the file that it comes from.",
            )
    return found


def _labels(known: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the shortest labels that distinguish the sources that share their shortest one."""
    found: dict[str, str] = {}
    for spec, labels in known.items():
        alike = [each for each in known.values() if each[0] == labels[0]]
        for depth in range(max(map(len, alike))):
            found[spec] = labels[min(depth, len(labels) - 1)]
            if len({each[min(depth, len(each) - 1)] for each in alike}) == len(alike):
                break
    return found
