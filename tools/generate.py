"""Writes pages that are derived: `docs/rules`, `docs/json-output.md`, and the index of decisions.

`python tools/generate.py` writes them; with `--check` it says which are not current and exits 1.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Final

from toolplan.base.error_pages import ERROR_PAGES
from toolplan.cli._commands import COMMANDS, SERVERS
from toolplan.cli.schema import EXCEPT, OUTPUTS, UNSTABLE, forms
from toolplan.compiler.rules import RULES, SYNTAX_PAGES
from toolplan.plan.diagnostics import Severity
from toolplan.plan.path import Json

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "rules"
DECISIONS: Final = ROOT / "docs" / "decisions"
_TITLE: Final = re.compile(r"^# (?:(?P<number>\d{4}): )?(?P<title>.+)$", re.MULTILINE)
OUTPUT_PAGE: Final = ROOT / "docs" / "json-output.md"
_WIDTH: Final = 80  # of a line, without the key before it
WARNINGS: Final = frozenset({"noise", "confusable-id", "undeclared-dependency"})
_ERRORS_HEAD: Final = "| code | what it says | how to fix it |\n|---|---|---|"


_OUTPUT_HEAD: Final = """\
# What `--json` prints

Programs may rely on the forms below: tests compare what each command prints with its schema, and a
field that comes or goes is in the changelog. Objects have no other fields than those listed, but
for what is yours or a tool's (arguments, rows, outputs, annotations, schemas). Fields that are not
in `required` are absent where they say nothing: `complete` and `partial` where no list may be a
part, `calls_in_doubt` where no call is in doubt, `calls_waiting` where none waits.

`toolplan schema COMMAND` prints the schema of a command's output, `toolplan schema error` that of
errors, `toolplan schema` that of plans. This page is made of the same schemas:
`python tools/generate.py`.

Where there is no result, standard output is empty and the **last line of standard error** is an
`error`; `ask` and `plan` print a `clarification` or a `refusal` on standard output instead where
they have no plan, and exit 1. A run that failed, waits or is in doubt is printed like one that
succeeded, with its `status`; the exit code is 1. `ask --plan-only` and `show` of a file print a
`plan`; `resume` prints `sent` and `submit` prints `submitted` where workers have the run.
"""


def output_page() -> str:
    """Return the page of what commands print as JSON, and of which of it is stable."""
    rows = ["| command | forms | stable |\n|---|---|---|"]
    for name in (*sorted(COMMANDS), "error"):
        shown = UNSTABLE.get(name) or ", ".join(
            f"[{form}](#{form})" for form in OUTPUTS.get(name, ())
        )
        if name in SERVERS:
            shown, stable = "prints nothing by itself", "no `--json`"
        elif name == "schema":
            shown, stable = "a JSON Schema", "yes"
        elif name in UNSTABLE:
            stable = "no"
        else:
            stable = f"yes, but for {EXCEPT[name]}" if name in EXCEPT else "yes"
        command = "any command, on standard error" if name == "error" else f"`{name}`"
        rows.append(f"| {command} | {shown} | {stable} |")
    parts = [_OUTPUT_HEAD, "\n".join(rows) + "\n"]
    for name, schema in sorted(forms().items()):
        parts.append(f"## {name}\n\n```json\n{_laid_out(schema)}\n```\n")
    return "\n".join(parts)


def _laid_out(value: Json, indent: str = "") -> str:
    """Return `value` as JSON, on one line where there is room."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent + line) <= _WIDTH or not isinstance(value, dict | list):
        return line
    inner, opening, closing = f"{indent}  ", *("{}" if isinstance(value, dict) else "[]")
    parts = (
        [f"{json.dumps(key)}: {_laid_out(each, inner)}" for key, each in value.items()]
        if isinstance(value, dict)
        else [_laid_out(each, inner) for each in value]
    )
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{closing}"


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
    expected[OUTPUT_PAGE] = output_page()
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
