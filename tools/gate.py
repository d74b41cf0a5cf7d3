"""The size gate: the limits that keep a module readable.

Run as `python tools/gate.py src packages tests benchmarks tools`. It prints each breach and exits 1
if there is any: a module of more than 500 lines, a function of more than 60, a class that has more
than 400 lines together with its base classes, an import of our own inside a function, and in `src`
a docstring of a function that does not begin with a verb.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

MAX_MODULE: Final = 500
MAX_FUNCTION: Final = 60
MAX_CLASS: Final = 400
BESIDE: Final = ("adapters", "demo", "langgraph", "offline", "openapi", "sql", "studio", "workers")
OURS: Final = ("toolplan", *(f"toolplan_{each}" for each in BESIDE), "tests", "benchmarks", "tools")
NO_VERBS: Final = frozenset({
    "a", "all", "an", "as", "each", "false", "how", "if", "it", "no", "none", "nothing", "that",
    "the", "this", "true", "what", "when", "where", "whether", "which",
})  # fmt: skip
"""Words with which no sentence begins that says what a function does."""


class Class(NamedTuple):
    """A class as written: where it is, its own lines, and the full names of its bases."""

    path: Path
    line: int
    lines: int
    bases: tuple[str, ...]


def breaches(path: Path) -> Iterator[str]:
    """Yield what is wrong with the module at `path`, a line each."""
    text = path.read_text(encoding="utf-8")
    lines = text.count("\n")
    if lines > MAX_MODULE:
        yield f"{path}: {lines} lines; the limit is {MAX_MODULE}: split it by what it is about"
    for node in _nodes(path):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = _length(node)
        if length > MAX_FUNCTION:
            place = f"{path}:{node.lineno}: {node.name}"
            yield f"{place} has {length} lines; the limit is {MAX_FUNCTION}"
        if "src" in path.parts and not _begins_with_verb(node):
            yield f"{path}:{node.lineno}: the docstring of {node.name} begins with no verb"
        for inner in ast.walk(node):
            if any(name.partition(".")[0] in OURS for name in _imported(inner)):
                yield f"{path}:{node.lineno}: {node.name} imports our own code inside itself"


def _begins_with_verb(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether the docstring may begin with a verb; properties and rules are described."""
    text = ast.get_docstring(function)
    named = " ".join(map(ast.unparse, function.decorator_list))
    if not text or "property" in named or named.startswith("rule("):
        return True
    first = text.split()[0].rstrip(",;:.")
    return first.istitle() and first.isalpha() and first.lower() not in NO_VERBS


def large_classes(paths: Iterable[Path]) -> Iterator[str]:
    """Yield each class that is too large, its base classes of ours counted with it.

    Doubles in tests may extend a class of ours that is just within the limit.
    """
    modules = [_Module.read(path) for path in paths]
    classes = {name: found for module in modules for name, found in module.classes()}
    # a base may come by way of a package that exports it again
    homes = {
        f"{module.name}.{name}": home for module in modules for name, home in module.names.items()
    }
    for name, found in classes.items():
        counted = {name, *_ancestors(name, classes, homes)}
        total = sum(classes[each].lines for each in counted)
        if total > MAX_CLASS and "tests" not in found.path.parts:
            bases = f", {len(counted) - 1} base classes included" if len(counted) > 1 else ""
            yield (
                f"{found.path}:{found.line}: {name.rpartition('.')[2]} has {total} lines{bases};"
                f" the limit is {MAX_CLASS}: split it by what it is about"
            )


class _Module(NamedTuple):
    path: Path
    name: str
    names: Mapping[str, str]
    """The full names of what it imports, by the names that it uses."""

    @staticmethod
    def read(path: Path) -> _Module:
        parts = path.with_suffix("").parts
        inner = parts[parts.index("src") + 1 :] if "src" in parts else parts
        name = ".".join(inner).removesuffix(".__init__")
        names = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in _nodes(path)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        return _Module(path, name, names)

    def classes(self) -> Iterator[tuple[str, Class]]:
        for node in _nodes(self.path):
            if isinstance(node, ast.ClassDef):
                written = [ast.unparse(base).partition("[")[0] for base in node.bases]
                bases = tuple(self.names.get(base, f"{self.name}.{base}") for base in written)
                yield (
                    f"{self.name}.{node.name}",
                    Class(self.path, node.lineno, _length(node), bases),
                )


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """Return the nodes of the module at `path`: reading it is most of the work here."""
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def _ancestors(name: str, classes: Mapping[str, Class], homes: Mapping[str, str]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for base in classes[waiting.pop()].bases:
            while base not in classes and base in homes:
                base = homes[base]
            if base in classes and base not in found:
                found.add(base)
                waiting.append(base)
    return found


def _length(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def main(folders: list[str]) -> int:
    """Check every module below `folders`; return the exit code."""
    paths = [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))]
    found = [breach for path in paths for breach in breaches(path)]
    found += large_classes(paths)
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    gc.disable()  # every tree is kept; to look through them for garbage takes a third of the time
    sys.exit(main(sys.argv[1:]))
