"""All modules of the package, and of the distributions beside it."""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


def every_module() -> Iterator[ModuleType]:
    """Yield every module of ours but those that run when they are loaded."""
    sources = [str(ROOT / "src"), *map(str, ROOT.glob("packages/*/src"))]
    for found in pkgutil.walk_packages(sources):
        if found.name.rpartition(".")[2] != "__main__":
            yield importlib.import_module(found.name)
