"""Tools by name: what `--tools` takes.

A JSON file of tool objects is enough to plan and check; `module:attribute` names tools that can be
called.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final, cast

from toolplan.diagnostics import did_you_mean, near
from toolplan.tools import Tool, Toolbox, ToolObjectError, plain_functions

MAX_FILE_BYTES: Final = 20_000_000
_KINDS: Final = {"mcpServers": "mcp", "openapi": "openapi", "swagger": "openapi"}
_ATTRIBUTE: Final = re.compile(
    r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*(\.\w+)*(\.\*)?|\*)"
)
_ALL: Final = "*"
_MEMBERS: Final = "toolplan.sources.members"


def load_tools(spec: str, folder: Path | None = None) -> Toolbox:
    """Return the tools that `spec` names.

    `spec` is the path of a JSON file of tool objects (a list, or what MCP's `tools/list` answers),
    or `module:attribute`, where the attribute is a `Toolbox`, a `Tool`, an iterable of tools, or a
    function without arguments that gives one of these. `module:*` is a whole module, and
    `module:attribute.*` an object with its methods (`toolplan.toolbox_of`). Paths and modules are
    also looked for in `folder`, by default the current one, which becomes importable by that.

    Raises:
        ToolObjectError: there are no such tools; the text says where it looked and the way out.
    """
    where = Path.cwd() if folder is None else folder
    path = where / Path(spec).expanduser()
    if path.is_file():
        return _from_file(path, spec)
    if named := _ATTRIBUTE.fullmatch(spec):
        return _from_module(named["module"], named["name"], where)
    if path.is_dir():
        raise ToolObjectError(f"{spec!r} is a folder; name a JSON file in it.")
    if path.suffix or "/" in spec or "\\" in spec:
        raise ToolObjectError(f"There is no file {spec!r} in {str(where)!r}.")
    raise ToolObjectError(
        f"{spec!r} is neither a file nor 'module:attribute', such as 'toolplan.demo:TOOLS'."
    )


def document_kind(spec: str, folder: Path | None = None) -> str:
    """Say what `spec` is: `mcp`, an MCP configuration; `openapi`, an OpenAPI document; else ``.

    A file that cannot be read is told by whoever reads it.
    """
    path = (Path.cwd() if folder is None else folder) / Path(spec).expanduser()
    if not path.is_file():
        return ""
    if path.suffix.lower() in (".yaml", ".yml"):
        return "openapi"
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return ""
        document: object = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return ""
    if isinstance(document, dict):
        return next((kind for key, kind in _KINDS.items() if key in document), "")
    return ""


def _from_file(path: Path, spec: str) -> Toolbox:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ToolObjectError(f"{spec!r} is larger than {MAX_FILE_BYTES} bytes.")
        items: object = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ToolObjectError(f"{spec!r} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ToolObjectError(f"{spec!r} is not UTF-8 text (byte {error.start}).") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ToolObjectError(f"{spec!r} is not JSON: {error.msg} at {place}.") from error
    except (ValueError, RecursionError) as error:
        raise ToolObjectError(f"{spec!r} is not JSON that can be read: {error}.") from error
    _refuse_other_documents(items, spec)
    try:
        return Toolbox.from_json(items)
    except ToolObjectError as error:
        raise ToolObjectError(f"{spec!r}: {error}") from error


def load_attribute(spec: str, folder: Path | None = None) -> object:
    """Return what `module:attribute` names; modules are also looked for in `folder`.

    Raises:
        ToolObjectError: there is no such thing.
    """
    named = _ATTRIBUTE.fullmatch(spec)
    if named is None or named["name"].endswith(_ALL):
        raise ToolObjectError(f"{spec!r} is not 'module:attribute'.")
    return _attribute(named["module"], named["name"], Path.cwd() if folder is None else folder)


def _refuse_other_documents(document: object, spec: str) -> None:
    """Refuse what has to be opened before its tools can be called."""
    ways = {
        "mcp": "an MCP configuration; toolplan.sources.mcp.connected opens it",
        "openapi": "an OpenAPI document; toolplan.sources.openapi.openapi_toolbox reads it",
    }
    for key, kind in _KINDS.items():
        if isinstance(document, dict) and key in document:
            raise ToolObjectError(f"{spec!r} is {ways[kind]}.")


def _from_module(module_name: str, attribute: str, folder: Path) -> Toolbox:
    spec = f"{module_name}:{attribute}"
    if attribute == _ALL:
        return _members(_import(module_name, folder))
    if attribute.endswith(_ALL):
        found = _attribute(module_name, attribute.removesuffix(f".{_ALL}"), folder)
        return _members(_made_by(found, spec) if inspect.isclass(found) else found)
    found = _attribute(module_name, attribute, folder)
    if callable(found) and not isinstance(found, Tool | Toolbox):
        found = _made_by(found, spec)
    return _toolbox(found, spec)


def _members(source: object) -> Toolbox:
    # reading type hints takes longer to import than all else here, and few name tools so
    return cast("Toolbox", importlib.import_module(_MEMBERS).toolbox_of(source))


def _attribute(module_name: str, attribute: str, folder: Path) -> object:
    found: object = _import(module_name, folder)
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            hint = did_you_mean(near(part, (n for n in dir(found) if not n.startswith("_"))))
            message = f"The module {module_name!r} has no {attribute!r}."
            raise ToolObjectError(f"{message} {hint}" if hint else message) from None
    return found


def _import(name: str, folder: Path) -> ModuleType:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise ToolObjectError(
                f"There is no module {missing!r}, neither installed nor in {str(folder)!r}."
            ) from error
        raise ToolObjectError(
            f"The module {name!r} needs {missing!r}, which is not installed."
        ) from error
    except (Exception, SystemExit) as error:  # a module may do anything when it is imported
        raise ToolObjectError(
            f"The module {name!r} fails when it is imported: {_told(error)}"
        ) from error


def _made_by(function: Callable[..., object], spec: str) -> object:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError) as error:
        raise ToolObjectError(
            f"{spec!r} is a function that needs arguments; make it a tool with @toolplan.tool."
        ) from error
    try:
        return function()
    except (Exception, SystemExit) as error:  # code of someone else
        raise ToolObjectError(f"{spec!r} fails when it is called: {_told(error)}") from error


def _toolbox(found: object, spec: str) -> Toolbox:
    if isinstance(found, Toolbox):
        return found
    tools = _listed(found)
    if tools is None:
        if inspect.iscoroutine(found):
            found.close()
        raise ToolObjectError(f"{spec!r} {_no_tools(found)}")
    try:
        return Toolbox(tools)
    except ToolObjectError as error:
        raise ToolObjectError(f"{spec!r}: {error}") from error


def _listed(found: object) -> list[Tool] | None:
    if isinstance(found, Tool):
        return [found]
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        return None
    listed = list(cast("Iterable[object]", found))
    tools = [each for each in listed if isinstance(each, Tool)]
    return tools if len(tools) == len(listed) else None


def _no_tools(found: object) -> str:
    """Say what `found` is, which gives no tools."""
    name = type(found).__name__
    kind = f"of type {name}"
    if isinstance(found, list | tuple):
        items = cast("Sequence[object]", found)
        if functions := plain_functions(items):
            return f"holds {functions}"
        others = {type(each).__name__ for each in items} - {"Tool"}
        kind = f"a {name} that holds {', '.join(sorted(others))}"
    return f"is {kind}; it must be a Toolbox, a Tool, or an iterable of tools."


def _told(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else f"{type(error).__name__}."
