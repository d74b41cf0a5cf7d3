"""Whole modules and objects as toolboxes: each public function is a tool."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType, ModuleType
from typing import Final, cast

from toolplan.diagnostics import did_you_mean, near
from toolplan.sources.python import NOTHING, Function, Provider, StatedEffects, tool
from toolplan.tools import Tool, Toolbox, ToolObjectError

_UNSTATED: Final[Mapping[str, StatedEffects]] = MappingProxyType({})


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
        effects: what the calls may change: one word for all, or one for each name of a function.
            Not stating it means unknown, which is treated as destructive.
        only: the names of the functions that are wanted.
        inject: parameters that are not arguments, as for `toolplan.tool`, wherever one of that name
            is taken.

    Raises:
        ToolObjectError: there is nothing that can be called, a name is unknown, or a function
            cannot be described.
    """
    _check_source(source)
    found = dict(_members(source))
    stated: Mapping[str, StatedEffects]
    stated = dict.fromkeys(found, effects) if isinstance(effects, str) else effects
    for name in (*(only or ()), *stated):
        if name not in found:
            raise ToolObjectError(
                f"{_named(source)} has no public function {name!r}.",
                did_you_mean(near(name, found)) or f"It has: {', '.join(found) or 'none'}.",
            )
    if only is None:
        decorated = {name for name, member in found.items() if isinstance(member, Tool)}
        named: set[str] = set() if isinstance(effects, str) else {*effects}
        only = decorated | named if decorated else found
    tools = [
        _tool(member, f"{prefix}{name}", stated.get(name), inject)
        for name, member in found.items()
        if name in only
    ]
    if not tools:
        raise ToolObjectError(
            f"{_named(source)} has no public function.",
            "Write a function without an underscore in front of its name, or @toolplan.tool above"
            " one.",
        )
    return Toolbox(tools)


def _check_source(source: object) -> None:
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


def _tool(
    member: Tool | Function,
    name: str,
    effects: StatedEffects | None,
    inject: Mapping[str, Provider],
) -> Tool:
    if isinstance(member, Tool):
        return member
    taken = inspect.signature(member).parameters
    given = {each: provide for each, provide in inject.items() if each in taken}
    return tool(name=name, effects=effects, inject=given)(member)


def _members(source: ModuleType | object) -> Iterator[tuple[str, Tool | Function]]:
    """Yield what `source` offers by name, in the order of definition."""
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
    seen: set[str] = set()
    for owner in reversed(type(source).__mro__[:-1]):
        for name in vars(owner):
            if name.startswith("_") or name in seen:
                continue
            member: object = getattr(source, name, None)
            if isinstance(member, Tool):
                seen.add(name)
                yield name, member
            elif inspect.isroutine(member):
                seen.add(name)
                yield name, cast("Function", member)


def _named(source: object) -> str:
    if isinstance(source, ModuleType):
        return f"The module {source.__name__!r}"
    return f"An object of {type(source).__name__!r}"
