"""Tools by name: what `--tools` and `toolplan.open` take."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, cast

from msgspec.structs import replace

from toolplan.base.errors import ToolplanError
from toolplan.base.extensions import EntryPoint, Extensions, described
from toolplan.base.extras import check_beside
from toolplan.schema.tool import Tool, Toolbox, ToolObjectError
from toolplan.tools._base import OpenedTools, SourceContext, ToolSource
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


def source_of(spec: str, folder: Path | None = None) -> tuple[str, ToolSource]:
    """Return the name and the source of the tools that `spec` names.

    Paths and modules are looked for in `folder`, by default the current one.

    Raises:
        ToolObjectError: there are no such tools; the message says where it looked.
    """
    where = Path.cwd() if folder is None else folder
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
        return "json", SOURCES["json"]  # which says what is wrong with the file
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
