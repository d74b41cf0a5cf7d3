"""Whole modules and objects as toolboxes, and by name: `module:attribute`, `module:*`."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import sysconfig
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Final, cast

from msgspec.structs import replace

from toolplan.base import extras, own_code
from toolplan.plan.diagnostics import did_you_mean, near
from toolplan.schema.tool import Effects, Tool, Toolbox, ToolObjectError
from toolplan.tools._base import OpenedTools, SourceContext, ToolSource
from toolplan.tools.python import NOTHING, Function, Provider, StatedEffects, tool

_OURS: Final = ("toolplan.", "toolplan_")
_ATTRIBUTE: Final = re.compile(
    r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*(\.\w+)*(\.\*)?|\*)"
)
_UNSTATED: Final[Mapping[str, StatedEffects]] = MappingProxyType({})


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
        yield OpenedTools(tools, insights_in(getattr(module, "INSIGHTS", ())))


def load_module_tools(spec: str, folder: Path) -> Toolbox:
    """Return the tools that `spec` names; modules are also looked for in `folder`.

    `folder` becomes importable.

    Raises:
        ToolObjectError: there are no such tools.
    """
    found = load_attribute(spec, folder)
    if spec.endswith("*"):
        return toolbox_of(_made_by(found, spec) if inspect.isclass(found) else found)
    if callable(found) and not isinstance(found, Tool | Toolbox):
        found = _made_by(found, spec)
    if isinstance(found, Toolbox):
        return found
    if inspect.iscoroutine(found):
        found.close()
    if isinstance(found, str | bytes) or not isinstance(found, Tool | Iterable):
        raise ToolObjectError(
            f"{spec!r} is of type {type(found).__name__}; it must be a Toolbox, a Tool, or an"
            " iterable of tools.",
            "Decorate functions with @toolplan.tool, and name the module: --tools 'MODULE:*'.",
        )
    try:
        return Toolbox([found] if isinstance(found, Tool) else cast("Iterable[Tool]", found))
    except ToolObjectError as error:
        raise ToolObjectError(f"{spec!r}: {error}", error.help) from error


def insights_in(found: object) -> tuple[Callable[..., object], ...]:
    """Return `found` if it is a tuple of functions, as the insights of a module are; else none."""
    return cast("tuple[Callable[..., object], ...]", found) if isinstance(found, tuple) else ()


def load_attribute(spec: str, folder: Path) -> object:
    """Return the object of `module:attribute`, or the whole before a `*`; as `load_module_tools`.

    Raises:
        ToolObjectError: there is no such thing.
    """
    named = _ATTRIBUTE.fullmatch(spec)
    if named is None:
        help_ = "Give MODULE:ATTRIBUTE, as in toolplan_demo:TOOLS."
        raise ToolObjectError(f"{spec!r} is not 'module:attribute'.", help_)
    module, name = named["module"], named["name"].removesuffix("*").removesuffix(".")
    if not module.startswith(_OURS) and str(folder) not in sys.path:
        # before the installed packages, but behind Python's own library: a file `csv.py` beside the
        # user's tools must not take the place of Python's module
        installed, path = sysconfig.get_path("purelib"), sys.path
        path.insert(path.index(installed) if installed in path else len(path), str(folder))
    importlib.invalidate_caches()
    try:
        found: object = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _missing(module, error.name or module, folder) from error
    except (Exception, SystemExit) as error:  # a module may do anything when it is imported
        raise _failure(f"The module {module!r} fails when it is imported", error) from error
    for part in filter(None, name.split(".")):
        try:
            found = getattr(found, part)
        except AttributeError:
            hint = did_you_mean(near(part, (n for n in dir(found) if not n.startswith("_"))))
            message = f"The module {module!r} has no {name!r}."
            raise ToolObjectError(
                f"{message} {hint}" if hint else message,
                f"Name what it has, or all of its tools: --tools '{module}:*'.",
            ) from None
    return found


def _missing(name: str, missing: str, folder: Path) -> ToolObjectError:
    extra = None if "." in missing else extras.extra_of(missing)
    if extra is None and (name == missing or name.startswith(f"{missing}.")):
        return ToolObjectError(
            f"There is no module {missing!r}, neither installed nor in {str(folder)!r}.",
            "Check the name, start toolplan in the folder of the module, or install it.",
        )
    needed = "" if name == missing else f" needs {missing!r}, which"
    help_ = f"Install it beside toolplan: {sys.executable} -m pip install …"
    if extra is not None:
        help_ = f"Install it: {extras.install_command(extra)}"
    return ToolObjectError(f"The module {name!r}{needed} is not installed.", help_)


def _failure(what: str, error: BaseException) -> ToolObjectError:
    """Return the error for third-party code that fails, with the place in it."""
    text = str(error).strip().partition("\n")[0]
    shown = f"{type(error).__name__}: {text}" if text else f"{type(error).__name__}."
    fault = own_code.own_fault(error)
    place = "" if fault is None else f" at {fault.place}; --debug shows the traceback"
    return ToolObjectError(f"{what}: {shown}", f"Fix it{place}.")


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
    except (Exception, SystemExit) as error:  # third-party code
        raise _failure(f"{spec!r} fails when it is called", error) from error


def toolbox_of(
    source: ModuleType | object,
    *,
    prefix: str = "",
    effects: StatedEffects | Mapping[str, StatedEffects] = _UNSTATED,
    only: Collection[str] | None = None,
    inject: Mapping[str, Provider] = NOTHING,
) -> Toolbox:
    """Return the tools that a module or an object offers.

    Where some functions are decorated with `@toolplan.tool`, these are the tools, and others only
    where `only` or `effects` names them. Else these are of a module the public functions that are
    defined in it; of an object its public methods, called on that object. The names that `__all__`
    of a module lists are the public ones, else those without an underscore in front.

    Args:
        source: the module, or the object; not a class, for its methods need an object.
        prefix: put before each name.
        effects: the changes calls may make: one for each name of a function, or one word for all
            that do not state it themselves. Not stating it means unknown, which is treated as
            destructive.
        only: the names of the functions that are wanted.
        inject: parameters that are not arguments, as for `toolplan.tool`, wherever one of that name
            is taken.

    Raises:
        ToolObjectError: there is nothing that can be called, a name is unknown, or a function
            cannot be described.
    """
    found = dict(_members(source))
    is_module = isinstance(source, ModuleType)
    shown = f"module {source.__name__!r}" if is_module else f"object of {type(source).__name__!r}"
    stated: Mapping[str, StatedEffects] = {} if isinstance(effects, str) else effects
    for name in (*(only or ()), *stated):
        if name not in found:
            raise ToolObjectError(
                f"The {shown} has no public function {name!r}.",
                did_you_mean(near(name, found)) or f"It has: {', '.join(found) or 'none'}.",
            )
    if only is None:
        decorated = {name for name, member in found.items() if isinstance(member, Tool)}
        only = decorated | {*stated} if decorated else found
    word = effects if isinstance(effects, str) else None
    tools = [
        _tool(member, f"{prefix}{name}", stated.get(name), word, inject)
        for name, member in found.items()
        if name in only
    ]
    if not tools:
        raise ToolObjectError(
            f"The {shown} has no public function.",
            "Write a function without an underscore in front of its name, or @toolplan.tool above"
            " one.",
        )
    return Toolbox(tools)


def _tool(
    member: Tool | Function,
    name: str,
    stated: StatedEffects | None,
    word: StatedEffects | None,
    inject: Mapping[str, Provider],
) -> Tool:
    """Return a tool of `name`; its effects are those `stated` for it, its own, or `word`."""
    if not isinstance(member, Tool):
        taken = inspect.signature(member).parameters
        given = {each: provide for each, provide in inject.items() if each in taken}
        return tool(name=name, effects=stated or word, inject=given)(member)
    effects = stated or (word if member.effects is Effects.UNKNOWN else None) or member.effects
    if effects not in tuple(Effects):
        labels = f"The labels are {', '.join(Effects)}."
        raise ToolObjectError(f"Tool {name!r}: effects={effects!r:.100} is not a label.", labels)
    if (name, effects) == (member.name, member.effects):
        return member
    return replace(member, name=name, effects=Effects(effects))


def _members(source: ModuleType | object) -> Iterator[tuple[str, Tool | Function]]:
    """Yield the tools and functions of `source` by name, in the order of definition."""
    if inspect.isclass(source):
        raise ToolObjectError(
            f"{source.__name__!r} is a class: its methods need an object; give one of it.",
            "Make one in the module, and name it.",
        )
    if type(source).__module__ == "builtins" and not inspect.ismodule(source):
        raise ToolObjectError(
            f"A value of type {type(source).__name__} has no functions that can be tools.",
            "Give a module, or an object of a class of yours.",
        )
    if isinstance(source, ModuleType):
        listed: object = getattr(source, "__all__", None)
        for name, member in vars(source).items():
            is_own = getattr(member, "__module__", None) == source.__name__
            public = name in cast("list[str]", listed) if listed else not name.startswith("_")
            if isinstance(member, Tool) and public:
                yield member.name, member
            elif inspect.isfunction(member) and public and (is_own or listed):
                yield name, member
        return
    # of a base class first; a name stands once
    owners = reversed(type(source).__mro__[:-1])
    for name in dict.fromkeys(name for owner in owners for name in vars(owner)):
        member = None if name.startswith("_") else getattr(source, name, None)
        if isinstance(member, Tool) or inspect.isroutine(member):
            yield name, cast("Tool | Function", member)


SOURCE: Final[ToolSource] = ModuleSource()
