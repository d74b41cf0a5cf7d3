"""Writes what is derived: the pages of `docs/rules` from the code, the index of `docs/decisions`.

`python tools/generate.py` writes them; with `--check` it says which are not current and exits 1.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from toolplan.diagnostics import Severity
from toolplan.error_pages import ERROR_PAGES
from toolplan.rules import RULES, SYNTAX_PAGES

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "rules"
DECISIONS: Final = ROOT / "docs" / "decisions"
_TITLE: Final = re.compile(r"^# (?:(?P<number>\d{4}): )?(?P<title>.+)$", re.MULTILINE)
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


def decisions() -> str:
    """Return the index of the decisions, one line for each page.

    Raises:
        ValueError: a page does not begin with `# NUMBER: title`, with the number of its file.
    """
    lines = list[str]()
    for path in sorted(DECISIONS.glob("[0-9]*.md")):
        found = _TITLE.match(path.read_text("utf-8"))
        number = path.name[:4]
        if found is None or found["number"] != number:
            raise ValueError(f"docs/decisions/{path.name} must begin with '# {number}: TITLE'.")
        lines.append(f"- [{number}]({path.name}): {found['title']}\n")
    return (
        "# Decisions\n\n"
        "What was chosen against something: the choice, the reason, the price.\n"
        "`python tools/generate.py` makes this list.\n\n"
    ) + "".join(lines)


def _one_line(page: str) -> str:
    means, _, fix = page.partition("\n\nHow to fix: ")
    return f"{means} | {fix[0].upper()}{fix[1:]}"


def main(arguments: list[str]) -> int:
    """Write the pages, or check them; give the exit code."""
    expected = {FOLDER / name: text for name, text in pages().items()}
    expected[DECISIONS / "README.md"] = decisions()
    gone = sorted(set(FOLDER.glob("*.md")) - expected.keys())
    stale = gone + [
        path
        for path, text in expected.items()
        if not path.exists() or path.read_text("utf-8") != text
    ]
    if "--check" in arguments:
        sys.stdout.writelines(f"{path.relative_to(ROOT)} is not current\n" for path in stale)
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in gone:
        path.unlink()
    for path, text in expected.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
