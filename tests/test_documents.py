"""The documents say what is so: their snippets run, and what should be named is named."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from toolplan import compile_plan
from toolplan.cli._commands import COMMANDS
from toolplan.dialects import DIALECTS
from toolplan_demo import TOOLS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
COMMAND_LINE = (ROOT / "docs/command-line.md").read_text("utf-8")


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of `language` in a Markdown text."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", blocks(README, "python"), ids=range(len(blocks(README, "python"))))
def test_the_snippets_of_the_readme_run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


GUIDES = {
    f"{path.stem}-{at}": code
    for path in sorted((ROOT / "docs").glob("*.md"))
    for at, code in enumerate(blocks(path.read_text("utf-8"), "python"))
}


@pytest.mark.parametrize("name", GUIDES)
def test_the_snippets_of_the_guides_run(name: str) -> None:
    """F000-11, F000-43, F002-2, F004-1 to F004-15: also those for who comes from elsewhere."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", GUIDES[name]],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("coming-from-*.md")))
def test_who_comes_from_elsewhere_is_shown_an_example(page: Path) -> None:
    assert f"{page.stem}-0" in GUIDES


def test_the_page_of_the_command_line_names_every_command() -> None:
    for command in COMMANDS:
        assert f"toolplan {command}" in COMMAND_LINE


def test_every_link_of_a_document_leads_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_column_of_a_table_has_a_heading() -> None:
    """Only the corner of a table may be empty, where its rows have names of their own."""
    table = re.compile(r"^\|(.+)\|\n\|(?: *:?-+:? *\|)+$", re.MULTILINE)
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for head in table.findall(document.read_text("utf-8")):
            _, *others = [each.strip() for each in re.split(r"(?<!\\)\|", head)]
            assert others, f"{document.name}: {head}"
            assert all(others), f"{document.name}: {head}"


def test_the_pages_of_the_rules_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/generate.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_every_behaviour_of_the_seeds_has_a_test_or_what_took_its_place() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/behaviours.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("text", blocks(README, "json"), ids=range(len(blocks(README, "json"))))
def test_the_plans_of_the_readme_pass_the_check(text: str) -> None:
    compiled = compile_plan(text, tools=TOOLS)
    assert compiled.diagnostics == ()
    assert compiled.plan is not None


def test_the_page_of_the_command_line_names_every_dialect() -> None:
    for name in DIALECTS:
        assert f"`{name}`" in COMMAND_LINE


def test_the_readme_leads_to_every_page() -> None:
    """A newcomer who reads nothing but the README can find each page from it."""
    for page in (ROOT / "docs").glob("*.md"):
        if page.name != "index.md":
            assert f"](docs/{page.name})" in README


def test_every_test_that_a_page_names_exists() -> None:
    """Who reads what is promised can run the test that shows it."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    named = {
        each
        for page in pages
        for each in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text("utf-8"))
    }
    assert len(named) > 50
    for file, name in sorted(named):
        assert (ROOT / file).exists(), file
        assert re.search(rf"^ *(async )?def {name}\(", (ROOT / file).read_text("utf-8"), re.M), name
