"""The distribution: one version with the core, and the core's public names only."""

from __future__ import annotations

import ast
import importlib
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCE = Path(__file__).parents[1] / "src" / "toolplan_offline"


def project(folder: Path) -> dict[str, object]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the modules and names of the core that a module of the distribution imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", each.name) for each in node.names)


def test_the_version_is_that_of_the_core_and_pinned_to_it() -> None:
    core, ours = project(ROOT), project(SOURCE.parents[1])
    assert ours["version"] == core["version"]
    assert f"toolplan=={core['version']}" in list(map(str, ours["dependencies"]))  # type: ignore[call-overload]
    extras = core["optional-dependencies"]
    assert isinstance(extras, dict)
    assert extras["offline"] == [f"toolplan-offline=={core['version']}"]


def test_only_public_names_are_imported_from_the_core() -> None:
    modules = sorted(SOURCE.rglob("*.py"))
    assert modules
    for path in modules:
        for module, name in imported(path):
            if module.partition(".")[0] != "toolplan":
                continue
            assert not any(part.startswith("_") for part in module.split(".")), (path, module)
            public = getattr(importlib.import_module(module), "__all__", None)
            assert public is None or name in public, (path, module, name)
            assert not name.startswith("_"), (path, module, name)
