"""Tools of Python modules: `module:attribute`, `module:*` and `module:attribute.*`."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import sysconfig
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Final, cast

from toolplan import (
    extras,
    own_code,
    sources,  # what reads type hints is loaded where it is used
)
from toolplan.diagnostics import did_you_mean, near
from toolplan.sources._base import OpenedTools, SourceContext, ToolSource
from toolplan.tools import Tool, Toolbox, ToolObjectError

_OURS: Final = ("toolplan.", "toolplan_")
_ATTRIBUTE: Final = re.compile(
    r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*(\.\w+)*(\.\*)?|\*)"
)
_ALL: Final = "*"
_FORM: Final = "Give MODULE:ATTRIBUTE, as in toolplan_demo:TOOLS."
_INSIGHTS: Final = "INSIGHTS"


class ModuleSource:
    """Tools that Python code makes.

    `module:attribute` is a `Toolbox`, a `Tool`, an iterable of tools, or a function without
    arguments that returns one of these. `module:*` is a whole module, and `module:attribute.*` an
    object with its methods (`toolplan.toolbox_of`).
    """

    takes_base_url = False
    help = "Fix the module, or name another attribute of it: --tools MODULE:ATTRIBUTE."

    def recognises(self, spec: str, folder: Path) -> bool:
        """Return whether `spec` is written like one of these, and is not a file."""
        return _ATTRIBUTE.fullmatch(spec) is not None and not (folder / spec).is_file()

    @contextmanager
    def open(self, spec: str, context: SourceContext) -> Generator[OpenedTools]:
        """Yield the tools; the insights are the `INSIGHTS` of the module.

        Raises:
            ToolObjectError: there are no such tools.
        """
        tools = load_module_tools(spec, context.folder)
        module = sys.modules.get(spec.partition(":")[0])
        yield OpenedTools(tools, insights_in(getattr(module, _INSIGHTS, ())))


def load_module_tools(spec: str, folder: Path) -> Toolbox:
    """Return the tools that `spec` names; modules are also looked for in `folder`.

    `folder` becomes importable.

    Raises:
        ToolObjectError: there are no such tools.
    """
    named = _ATTRIBUTE.fullmatch(spec)
    if named is None:
        raise ToolObjectError(f"{spec!r} is not 'module:attribute'.", _FORM)
    module_name, attribute = named["module"], named["name"]
    if attribute == _ALL:
        return sources.toolbox_of(_import(module_name, folder))
    if attribute.endswith(_ALL):
        found = _attribute(module_name, attribute.removesuffix(f".{_ALL}"), folder)
        return sources.toolbox_of(_made_by(found, spec) if inspect.isclass(found) else found)
    found = _attribute(module_name, attribute, folder)
    if callable(found) and not isinstance(found, Tool | Toolbox):
        found = _made_by(found, spec)
    return _toolbox(found, spec)


def insights_in(found: object) -> tuple[Callable[..., object], ...]:
    """Return `found` if it is a tuple of functions, as the insights of a module are; else none."""
    return cast("tuple[Callable[..., object], ...]", found) if isinstance(found, tuple) else ()


def load_attribute(spec: str, folder: Path | None = None) -> object:
    """Return what `module:attribute` names; modules are also looked for in `folder`.

    Raises:
        ToolObjectError: there is no such thing.
    """
    named = _ATTRIBUTE.fullmatch(spec)
    if named is None or named["name"].endswith(_ALL):
        raise ToolObjectError(f"{spec!r} is not 'module:attribute'.", _FORM)
    return _attribute(named["module"], named["name"], Path.cwd() if folder is None else folder)


def _attribute(module_name: str, attribute: str, folder: Path) -> object:
    found: object = _import(module_name, folder)
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            hint = did_you_mean(near(part, (n for n in dir(found) if not n.startswith("_"))))
            message = f"The module {module_name!r} has no {attribute!r}."
            raise ToolObjectError(
                f"{message} {hint}" if hint else message,
                f"Name what it has, or all of its tools: --tools '{module_name}:*'.",
            ) from None
    return found


def _add_to_path(folder: str) -> None:
    """Put `folder` before the installed packages, but behind Python's own library.

    A file `csv.py` beside the user's tools must not take the place of Python's module.
    """
    installed = sysconfig.get_path("purelib")
    if folder not in sys.path:
        sys.path.insert(
            sys.path.index(installed) if installed in sys.path else len(sys.path), folder
        )


def _import(name: str, folder: Path) -> ModuleType:
    if not name.startswith(_OURS):
        _add_to_path(str(folder))
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        extra = None if "." in missing else extras.extra_of(missing)
        if extra is None and (name == missing or name.startswith(f"{missing}.")):
            raise ToolObjectError(
                f"There is no module {missing!r}, neither installed nor in {str(folder)!r}.",
                "Check the name, start toolplan in the folder of the module, or install it.",
            ) from error
        raise ToolObjectError(
            f"The module {name!r} needs {missing!r}, which is not installed."
            if name != missing
            else f"The module {name!r} is not installed.",
            f"Install it beside toolplan: {sys.executable} -m pip install …"
            if extra is None
            else f"Install it: {extras.install_command(extra)}",
        ) from error
    except (Exception, SystemExit) as error:  # a module may do anything when it is imported
        raise ToolObjectError(
            f"The module {name!r} fails when it is imported: {_shown(error)}",
            f"Fix it{_place(error)}.",
        ) from error


def _made_by(function: Callable[..., object], spec: str) -> object:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError) as error:
        raise ToolObjectError(
            f"{spec!r} is a function that needs arguments.",
            "Make it a tool: write @toolplan.tool above it.",
        ) from error
    try:
        return function()
    except (Exception, SystemExit) as error:  # code of someone else
        raise ToolObjectError(
            f"{spec!r} fails when it is called: {_shown(error)}", f"Fix it{_place(error)}."
        ) from error


def _toolbox(found: object, spec: str) -> Toolbox:
    if isinstance(found, Toolbox):
        return found
    tools = _listed(found)
    if tools is None:
        if inspect.iscoroutine(found):
            found.close()
        raise ToolObjectError(
            f"{spec!r} {_no_tools(found)}",
            "Decorate functions with @toolplan.tool, and name the module: --tools 'MODULE:*'.",
        )
    try:
        return Toolbox(tools)
    except ToolObjectError as error:
        raise ToolObjectError(f"{spec!r}: {error}", error.help) from error


def _listed(found: object) -> list[Tool] | None:
    if isinstance(found, Tool):
        return [found]
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        return None
    listed = list(cast("Iterable[object]", found))
    tools = [each for each in listed if isinstance(each, Tool)]
    return tools if len(tools) == len(listed) else None


def _no_tools(found: object) -> str:
    """Return what `found` is, which gives no tools."""
    name = type(found).__name__
    kind = f"of type {name}"
    if isinstance(found, list | tuple):
        items = cast("Sequence[object]", found)
        if functions := own_code.plain_functions(items):
            return f"holds {functions}"
        others = {type(each).__name__ for each in items} - {"Tool"}
        kind = f"a {name} that holds {', '.join(sorted(others))}"
    return f"is {kind}; it must be a Toolbox, a Tool, or an iterable of tools."


def _shown(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else f"{type(error).__name__}."


def _place(error: BaseException) -> str:
    fault = own_code.own_fault(error)
    return "" if fault is None else f" at {fault.place}; --debug shows the traceback"


SOURCE: Final[ToolSource] = ModuleSource()
