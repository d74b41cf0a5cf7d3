"""The documentation shows how structs are constructed."""

from __future__ import annotations

import copy
import inspect
import pydoc
from pathlib import Path
from typing import get_type_hints

import griffe
import pytest
from msgspec import Struct
from rich.pretty import pretty_repr

import toolplan
from tests.modules import every_module
from toolplan.plan.diagnostics import Edit
from toolplan.plan.model import Literal
from toolplan.planners import Draft
from toolplan.policy import Policy
from tools.struct_signatures import StructSignatures

STRUCTS = [
    name
    for name in toolplan.__all__
    if inspect.isclass(found := getattr(toolplan, name)) and issubclass(found, Struct)
]


def test_python_knows_how_to_construct_each_struct_and_shows_its_help() -> None:
    found = 0
    for module in every_module():
        for value in vars(module).values():
            if inspect.isclass(value) and issubclass(value, Struct):
                assert inspect.signature(value) is not None
                found += 1
    assert found > 400
    for name in STRUCTS:
        assert name in pydoc.render_doc(getattr(toolplan, name))


def functions_of(kind: object) -> list[object]:
    """Return a function, or the functions of a class."""
    found = [*vars(kind).values()] if inspect.isclass(kind) else [kind]
    return [each for each in found if inspect.isfunction(each)]


def test_python_knows_the_types_of_public_functions() -> None:
    public = {name: functions_of(getattr(toolplan, name)) for name in toolplan.__all__}
    assert sum(map(len, public.values())) > 50
    for name, functions in public.items():
        for function in functions:
            assert get_type_hints(function) is not None, name


@pytest.fixture(scope="module")
def package() -> griffe.Object:
    source = Path(__file__).parents[1] / "src"
    extensions = griffe.load_extensions(StructSignatures)
    loaded = griffe.load("toolplan", search_paths=[source], extensions=extensions)
    assert isinstance(loaded, griffe.Object)
    return loaded


@pytest.mark.parametrize("name", STRUCTS)
def test_the_constructor_of_a_struct_is_known(name: str, package: griffe.Object) -> None:
    struct = getattr(toolplan, name)
    found = package[f"{struct.__module__.removeprefix('toolplan.')}.{struct.__name__}"]
    own, *parameters = found.parameters
    assert own.name == "self"
    said = inspect.signature(struct).parameters
    assert [each.name for each in parameters] == list(said)
    assert [each.default is not None for each in parameters] == [
        each.default is not inspect.Parameter.empty for each in said.values()
    ]


@pytest.mark.parametrize("one", [Draft("a"), Policy(), Edit("/a", 1), Literal({"a": [1]})])
def test_what_is_equal_is_not_unequal(one: object) -> None:
    again = copy.deepcopy(one)
    assert one == again
    assert (one != again) is False
    assert one != object()


def test_a_policy_prints_what_it_says_and_not_where_it_is_written() -> None:
    policy = Policy(allow=("a",), text="as written", file="policy.toml")
    for shown in (repr(policy), pretty_repr(policy)):
        assert "'a'" in shown
        assert "as written" not in shown
        assert "policy.toml" not in shown
    assert policy == Policy(allow=("a",))
