"""How an option or an argument of a command is declared, without the library that reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

from msgspec import Struct


class Parameter(Struct, frozen=True, kw_only=True):
    """What a command says of one of its parameters, beside its type.

    Attributes:
        name: the option, or its names; without one the parameter is an argument.
        help: what the help says of it.
        validator: gets the type and the value; a ValueError refuses the value.
        allow_leading_hyphen: whether `-` is a value.
    """

    name: str | tuple[str, ...] = ()
    help: str = ""
    validator: Callable[[Any, Any], None] | None = None
    allow_leading_hyphen: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The names with hyphens; none where the parameter is an argument."""
        names = (self.name,) if isinstance(self.name, str) else self.name
        return tuple(name for name in names if name.startswith("-"))


def declaration(hint: object) -> tuple[object, Parameter | None]:
    """Return the type in the hint of a parameter, and what the command says of it, if it does."""
    if get_origin(hint) is not Annotated:
        return hint, None
    kind, *rest = get_args(hint)
    return kind, next((each for each in rest if isinstance(each, Parameter)), None)
