"""The size gate: what keeps a module readable, held by a command.

Run as `python tools/gate.py src tests benchmarks tools`. It prints each breach and exits 1 if there
is any: a module of more than 500 lines, a function of more than 60, an import of our own inside a
function.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MAX_MODULE: Final = 500
MAX_FUNCTION: Final = 60
OURS: Final = ("toolplan", "tests", "benchmarks", "tools")


def breaches(path: Path) -> Iterator[str]:
    """Yield what is wrong with the module at `path`, a line each."""
    text = path.read_text(encoding="utf-8")
    lines = text.count("\n")
    if lines > MAX_MODULE:
        yield f"{path}: {lines} lines; {MAX_MODULE} is the most: split it by what it is about"
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > MAX_FUNCTION:
            place = f"{path}:{node.lineno}: {node.name}"
            yield f"{place} has {length} lines; {MAX_FUNCTION} is the most"
        for inner in ast.walk(node):
            if any(name.partition(".")[0] in OURS for name in _imported(inner)):
                yield f"{path}:{node.lineno}: {node.name} imports our own code inside itself"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def main(folders: list[str]) -> int:
    """Check every module below `folders`; give the exit code."""
    found = [
        breach
        for folder in folders
        for path in sorted(Path(folder).rglob("*.py"))
        for breach in breaches(path)
    ]
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
