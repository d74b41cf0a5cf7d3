"""An extension of griffe, which reads the code for the documentation: how structs are constructed.

griffe knows the constructor of a dataclass. That of a `msgspec.Struct` is made alike: the fields of
its bases and its own, in the order in which they are written.
"""

from __future__ import annotations

from collections.abc import Iterator

from griffe import (
    Attribute,
    Class,
    Expr,
    ExprCall,
    ExprKeyword,
    Extension,
    Function,
    Module,
    Parameter,
    ParameterKind,
    Parameters,
)

STRUCT = "msgspec.Struct"


class StructSignatures(Extension):
    """Adds `__init__` to each struct of a package."""

    def on_package(self, *, pkg: Module, **_: object) -> None:
        """Add it to the structs of `pkg`."""
        for found in _classes(pkg):
            if _is_struct(found) and "__init__" not in found.members:
                found.set_member("__init__", _constructor(found))


def _classes(inside: Module | Class) -> Iterator[Class]:
    for member in inside.members.values():
        if isinstance(member, Module | Class) and not member.is_alias:
            if isinstance(member, Class):
                yield member
            yield from _classes(member)


def _lineage(found: Class) -> list[Class]:
    """Return the class and its bases in the package, the bases first."""
    return [*reversed(found.mro()), found]


def _is_struct(found: Class) -> bool:
    return any(
        isinstance(base, Expr) and base.canonical_path == STRUCT
        for each in _lineage(found)
        for base in each.bases
    )


def _constructor(found: Class) -> Function:
    fields = {
        name: member
        for each in _lineage(found)
        for name, member in each.members.items()
        if isinstance(member, Attribute) and _is_field(member)
    }
    own = Parameter("self", annotation=None, kind=ParameterKind.positional_or_keyword, default=None)
    parameters = (
        Parameter(
            name,
            annotation=member.annotation,
            kind=ParameterKind.positional_or_keyword,
            default=_default(member),
        )
        for name, member in fields.items()
    )
    return Function(
        "__init__", parent=found, parameters=Parameters(own, *parameters), returns="None"
    )


def _is_field(member: Attribute) -> bool:
    return (
        member.annotation is not None
        and "property" not in member.labels
        and "instance-attribute" in member.labels
    )


def _default(member: Attribute) -> str | Expr | None:
    value = member.value
    if not isinstance(value, ExprCall) or value.canonical_path != "msgspec.field":
        return value
    given = {each.name: each.value for each in value.arguments if isinstance(each, ExprKeyword)}
    factory = given.get("default_factory")
    return ExprCall(factory, []) if isinstance(factory, Expr) else given.get("default")
