"""Every code of an error that the source can raise has a page."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from toolplan.base.error_pages import ERROR_PAGES
from toolplan.compiler.rules import RULES, SYNTAX_PAGES

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src" / "toolplan"
FILES: Final = sorted([*SOURCE.rglob("*.py"), *ROOT.glob("packages/*/src/**/*.py")])
CODE: Final = re.compile(r"[a-z]+(-[a-z]+)+|usage|storage")
KINDS: Final = ("locked", "full", "read-only", "unavailable", "damaged", "newer")
OTHERS: Final = frozenset(f"{store}-{kind}" for store in ("journal", "memory") for kind in KINDS)
"""Codes that are put together from two parts."""
NAMES: Final = ("code", "_code", "CODE")


def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in FILES}


def last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def error_classes(parsed: list[ast.Module]) -> set[str]:
    found, before = {"ToolplanError"}, 0
    classes = [each for tree in parsed for each in ast.walk(tree) if isinstance(each, ast.ClassDef)]
    while len(found) > before:
        before = len(found)
        found |= {each.name for each in classes if found & {last_name(b) for b in each.bases}}
    return found


def in_calls(tree: ast.AST, callables: set[str]) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node.func) in callables:
            yield from node.args[:1] + node.args[2:3]
            yield from (each.value for each in node.keywords if each.arg == "code")


def in_class(tree: ast.ClassDef) -> Iterator[ast.expr]:
    """Yield what is a code in the class of an error: its attribute, a default, what it passes."""
    yield from in_calls(tree, {"__init__"})
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(last_name(each) in NAMES for each in targets):
                yield node.value
        elif isinstance(node, ast.arguments):
            named = [*node.args[len(node.args) - len(node.defaults) :], *node.kwonlyargs]
            for parameter, default in zip(named, [*node.defaults, *node.kw_defaults], strict=True):
                if parameter.arg == "code" and default is not None:
                    yield default


def in_tuples(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the first of a tuple of code, message and help."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and len(node.elts) == 3 and isinstance(node.ctx, ast.Load):
            yield node.elts[0]


def raised() -> set[str]:
    parsed = trees()
    errors = error_classes([*parsed.values()])
    found = set(OTHERS)
    for path, tree in parsed.items():
        room = path.relative_to(SOURCE).parts[0] if path.is_relative_to(SOURCE) else ""
        places = [*in_calls(tree, errors | ({"Failure"} if room == "providers" else set()))]
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name in errors:
                places += in_class(node)
        if room == "app":
            places += in_tuples(tree)
        found |= {
            each.value
            for place in places
            for each in ast.walk(place)
            if isinstance(each, ast.Constant)
            and isinstance(each.value, str)
            and CODE.fullmatch(each.value)
        }
    return found


def test_every_code_that_is_raised_has_a_page() -> None:
    codes = raised()
    assert {"usage", "no-model", "outcome-unknown", "sign-in-needed", "llm-auth"} <= codes
    known = {*ERROR_PAGES, *SYNTAX_PAGES, *(rule.code for rule in RULES)}
    assert not codes - known


def test_every_page_is_of_a_code_that_is_used() -> None:
    files = [path for path in FILES if path.name != "error_pages.py"]
    texts = "\n".join(path.read_text("utf-8") for path in files)
    assert [code for code in ERROR_PAGES.keys() - OTHERS if f'"{code}"' not in texts] == []


@pytest.mark.parametrize("code", ERROR_PAGES)
def test_a_page_says_what_the_code_means_and_what_to_do(code: str) -> None:
    means, _, fix = ERROR_PAGES[code].partition("\n\nHow to fix: ")
    assert means[0].isupper()
    assert means.endswith(".")
    assert fix.endswith(".")
    assert len(means) < 120
