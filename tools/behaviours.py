"""Writes docs/behaviours.md: which test shows which behaviour of the seed systems.

`python tools/behaviours.py` writes it; with `--check` it says what is wrong and exits 1: the page
is not current, or a behaviour has neither a test nor a line that says what took its place.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "docs" / "behaviours.toml"
PAGE: Final = ROOT / "docs" / "behaviours.md"
SHOWN: Final = 3
"""So many tests at most are named for one behaviour."""

_HEAD: Final = "| behaviour | what it is | tests |\n|---|---|---|\n"
_SYSTEMS: Final = {
    "F000": "The Clear AI planner, as its users know it",
    "F001": "The deterministic orchestrator",
    "F002": "The kirha planner",
    "F003": "The Clear AI planner, its blueprint",
    "F004": "The LangGraph strategy",
}

_NUMBER = re.compile(
    r"\b(?P<system>F00[0-4])-(?P<first>\d+)"
    r"(?:\s*(?:to|…|\.\.\.?)\s*(?:(?P=system)-)?(?P<last>\d+))?"
)


class Behaviour(NamedTuple):
    """One of them: what it is, and what took its place, if it is not kept."""

    number: str
    text: str
    instead: str | None


def behaviours() -> list[Behaviour]:
    """Return all behaviours, in the order of their systems."""
    read = tomllib.loads(SOURCE.read_text("utf-8"))
    found: list[Behaviour] = []
    for system in sorted(read):
        for number, said in sorted(read[system].items(), key=lambda item: int(item[0])):
            text, instead = (
                (said, None) if isinstance(said, str) else (said["text"], said["instead"])
            )
            found.append(Behaviour(f"{system}-{number}", text, instead))
    return found


def shown_by() -> dict[str, list[str]]:
    """Return the tests that carry each number, as `path::name`."""
    found = defaultdict[str, dict[str, None]](dict)
    folders = [ROOT / "tests", *sorted((ROOT / "packages").glob("*/tests"))]
    for path in [each for folder in folders for each in sorted(folder.rglob("test_*.py"))]:
        place = path.relative_to(ROOT).as_posix()
        for name, text in _tests(path):
            for number in _numbers(text):
                found[number][f"{place}::{name}" if name else place] = None
    return {number: list(places) for number, places in found.items()}


def _tests(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each test with its text, and what stands outside of tests without a name."""
    text = path.read_text("utf-8")
    lines = text.splitlines()
    outside = set(range(len(lines)))
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith(
            "test_"
        ):
            continue
        first = min((each.lineno for each in node.decorator_list), default=node.lineno) - 1
        last = node.end_lineno or node.lineno
        outside -= set(range(first, last))
        yield node.name, "\n".join(lines[first:last])
    yield "", "\n".join(line for at, line in enumerate(lines) if at in outside)


def _numbers(text: str) -> Iterator[str]:
    for found in _NUMBER.finditer(text):
        first = int(found["first"])
        for number in range(first, int(found["last"] or first) + 1):
            yield f"{found['system']}-{number}"


def page(known: list[Behaviour], tests: dict[str, list[str]]) -> str:
    """Return the text of the page."""
    parts = [
        "# The behaviours of the seed systems\n\n"
        "toolplan unites five systems. What each of them does or promises has a number, and here\n"
        "stands which test shows it, or what took its place and why. `C-…` are the resolutions of\n"
        "contradictions among them. `python tools/behaviours.py` makes this page of\n"
        "`docs/behaviours.toml` and of the tests.\n"
    ]
    system = ""
    for each in known:
        if not each.number.startswith(f"{system}-"):
            system = each.number.partition("-")[0]
            parts.append(f"\n## {system}: {_SYSTEMS[system]}\n\n{_HEAD}")
        shown = each.instead or ", ".join(_link(test) for test in tests[each.number][:SHOWN])
        more = len(tests.get(each.number, ())) - SHOWN
        rest = f" and {more} more" if more > 0 and not each.instead else ""
        parts.append(f"| {each.number} | {each.text} | {shown}{rest} |\n")
    return "".join(parts)


def _link(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{name or Path(path).name}](../{path})"


def main(arguments: list[str]) -> int:
    """Write the page, or check it; give the exit code."""
    known, tests = behaviours(), shown_by()
    bare = [each.number for each in known if not each.instead and each.number not in tests]
    names = {each.number for each in known}
    unknown = sorted(number for number in tests if number not in names)
    for number in bare:
        sys.stdout.write(f"{number}: no test carries it\n")
    for number in unknown:
        sys.stdout.write(f"{number}: there is no such behaviour ({tests[number][0]})\n")
    if bare or unknown:
        return 1
    text = page(known, tests)
    if "--check" in arguments:
        if not PAGE.exists() or PAGE.read_text("utf-8") != text:
            sys.stdout.write("docs/behaviours.md is not current: python tools/behaviours.py\n")
            return 1
        return 0
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
