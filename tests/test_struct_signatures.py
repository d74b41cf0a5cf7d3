"""The documentation shows how structs are constructed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import pydoc
from pathlib import Path

import griffe
import pytest
from msgspec import Struct

import toolplan
from tools.struct_signatures import StructSignatures

STRUCTS = [
    name
    for name in toolplan.__all__
    if inspect.isclass(found := getattr(toolplan, name)) and issubclass(found, Struct)
]


def test_python_knows_how_to_construct_each_struct_and_shows_its_help() -> None:
    found = 0
    for module in pkgutil.walk_packages(toolplan.__path__, "toolplan."):
        if module.name.rpartition(".")[2] == "__main__":
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(value) and issubclass(value, Struct):
                assert inspect.signature(value) is not None
                found += 1
    assert found > 400
    for name in STRUCTS:
        assert name in pydoc.render_doc(getattr(toolplan, name))


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
