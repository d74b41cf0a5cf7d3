"""Tools by name: what `--tools` and `toolplan.open` take."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from toolplan.base.extensions import Extensions
from toolplan.base.extras import check_beside
from toolplan.schema.tool import Tool, ToolObjectError
from toolplan.tools._base import ToolSource
from toolplan.tools._guarded import guarded_source, guarded_tool
from toolplan.tools.tool_files import json_in, path_of

SOURCES: Final = Extensions[ToolSource]("toolplan.sources", guarded_source)
"""The sources of installed packages and our own, by name."""

ADDED: Final = Extensions[Tool]("toolplan.tools", guarded_tool)
"""The tools that installed packages add to every toolbox, by name."""

_OTHERS: Final = ""
_ORDER: Final = ("json", _OTHERS, "python", "openapi", "mcp")
"""The order in which sources are asked.

Those of other packages come before `python`, which recognises any `a:b`, and before `openapi` and
`mcp`, which take long to load.
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
    for name in sorted(SOURCES, key=_place):
        if SOURCES[name].recognises(spec, where):
            return name, SOURCES[name]
    path = path_of(spec, where)
    if path.is_file() and path.suffix != ".py":
        if _may_be_openapi(spec, where):
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


def _may_be_openapi(spec: str, folder: Path) -> bool:
    """Return whether a file that no source recognises is one for toolplan-openapi."""
    if path_of(spec, folder).suffix.lower() in (".yaml", ".yml"):
        return True
    document = json_in(spec, folder)
    return isinstance(document, dict) and ("openapi" in document or "swagger" in document)


def _place(name: str) -> int:
    return _ORDER.index(name if name in _ORDER else _OTHERS)
