"""Writes what is derived from the code: the pages of `docs/rules`.

`python tools/generate.py` writes them; with `--check` it says which are not current and exits 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from toolplan.diagnostics import Severity
from toolplan.error_pages import ERROR_PAGES
from toolplan.rules import RULES, SYNTAX_PAGES

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "rules"
WARNINGS: Final = frozenset({"noise", "confusable-id", "undeclared-dependency"})
_ERRORS_HEAD: Final = "| code | what it says | how to fix it |\n|---|---|---|"


def pages() -> dict[str, str]:
    """Return the text of every page of `docs/rules`, by file name."""
    severities = {
        **{code: Severity.WARNING if code in WARNINGS else Severity.ERROR for code in SYNTAX_PAGES},
        **{rule.code: rule.severity for rule in RULES},
    }
    texts = {**SYNTAX_PAGES, **{rule.code: rule.text for rule in RULES}}
    written = {
        f"{code}.md": f"# {code}\n\n*{severities[code].value}*\n\n{page}\n"
        for code, page in texts.items()
    }
    rows = [
        f"| [{code}]({code}.md) | {severities[code].value} | {page.partition(chr(10))[0]} |"
        for code, page in texts.items()
    ]
    head = (
        "# The codes\n\n"
        "What `toolplan explain CODE` prints; `python tools/generate.py` makes it.\n\n"
        "| code | severity | what it says |\n|---|---|---|\n"
    )
    errors = [f"| {code} | {_one_line(page)} |" for code, page in ERROR_PAGES.items()]
    body = [*rows, "\n## The codes of errors\n", _ERRORS_HEAD, *errors]
    return {"README.md": head + "".join(f"{row}\n" for row in body), **written}


def _one_line(page: str) -> str:
    means, _, fix = page.partition("\n\nHow to fix: ")
    return f"{means} | {fix[0].upper()}{fix[1:]}"


def main(arguments: list[str]) -> int:
    """Write the pages, or check them; give the exit code."""
    expected = pages()
    present = {path.name for path in FOLDER.glob("*.md")} if FOLDER.exists() else set[str]()
    stale = sorted(present - expected.keys()) + [
        name
        for name, text in expected.items()
        if name not in present or (FOLDER / name).read_text("utf-8") != text
    ]
    if "--check" in arguments:
        sys.stdout.writelines(f"docs/rules/{name} is not current\n" for name in stale)
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in present - expected.keys():
        (FOLDER / name).unlink()
    for name, text in expected.items():
        (FOLDER / name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
