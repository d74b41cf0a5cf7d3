"""The distributions beside the core: one version with it, and its public names only."""

import ast
import importlib
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = sorted(each.parent for each in ROOT.glob("packages/*/pyproject.toml"))
each_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the modules and names of the core that a module of the distribution imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", each.name) for each in node.names)


@each_folder
def test_the_version_is_that_of_the_core_and_pinned_to_it(folder: Path) -> None:
    core, ours = project(ROOT), project(folder)
    assert ours["name"] == f"toolplan-{folder.name}"
    assert ours["version"] == core["version"]
    assert f"toolplan=={core['version']}" in ours["dependencies"]
    extras = core["optional-dependencies"]
    assert extras[folder.name] == [f"toolplan-{folder.name}=={core['version']}"]
    (everything,) = extras["all"]
    assert folder.name in everything.partition("[")[2].rstrip("]").split(",")


@each_folder
def test_only_public_names_are_imported_from_the_core(folder: Path) -> None:
    modules = sorted((folder / "src" / f"toolplan_{folder.name}").rglob("*.py"))
    assert modules
    for path in modules:
        for module, name in imported(path):
            if module.partition(".")[0] != "toolplan":
                continue
            assert not any(part.startswith("_") for part in module.split(".")), (path, module)
            assert not name.startswith("_"), (path, module, name)
            home = importlib.import_module(module)
            public = getattr(home, "__all__", None)
            is_module = hasattr(home, "__path__") and find_spec(f"{module}.{name}") is not None
            assert public is None or name in public or is_module, (path, module, name)
