"""The documentation as a site: it builds without a warning, and loads nothing from elsewhere."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from packages.sql.tests.sql_support import run
from toolplan import Toolbox, compile_plan
from toolplan.cli._commands import COMMANDS
from toolplan.plan.path import Json
from toolplan_demo import TOOLS
from toolplan_sql import sql_tool

ROOT = Path(__file__).parents[1]
_FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
_OUTSIDE = re.compile(r'<(?:script|img|iframe|link)\b[^>]*?(?:src|href)="(?:https?:)?//[^"]*"')


PAGED: dict[str, Json] = {
    "name": "orders_list",
    "annotations": {"readOnlyHint": True},
    "input_schema": {
        "type": "object",
        "properties": {"limit": {"type": "integer"}, "page": {"type": "integer"}},
    },
    "output_schema": {
        "type": "object",
        "properties": {
            "data": {"type": "array", "items": {"type": "object"}},
            "total": {"type": "integer"},
        },
        "required": ["data"],
    },
}
"""The tool of which the page on plans says that it gives a list in pages; the demo has none."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    ended = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "WARNING" not in ended.stderr
    return folder


@pytest.mark.timeout(300)
def test_every_page_is_there_and_loads_nothing_from_elsewhere(site: Path) -> None:
    for name in ("index", "install", "tutorial", "plan-language", "python", "rules/index"):
        assert (site / f"{name}.html").is_file()
    for command in COMMANDS:
        assert f"toolplan {command}" in (site / f"commands/{command}.html").read_text("utf-8")
    for page in site.rglob("*.html"):
        outside = [
            tag for tag in _OUTSIDE.findall(page.read_text("utf-8")) if 'rel="canonical"' not in tag
        ]
        assert outside == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text("utf-8"))
    for script in (site / "assets/javascripts").glob("*.js"):
        assert script.is_file()


@pytest.mark.timeout(300)
def test_public_names_and_decisions_are_listed(site: Path) -> None:
    python = (site / "python.html").read_text("utf-8")
    for name in ("compile_plan", "App", "Journal", "ToolplanError"):
        assert f">{name}<" in python or f"{name}" in python
    assert "0250-the-engine.html" in (site / "decisions/index.html").read_text("utf-8")


def test_the_plans_of_the_language_pass_their_check() -> None:
    text = (ROOT / "docs/plan-language.md").read_text("utf-8")
    plans = [code for language, _, code in _FENCE.findall(text) if language == "json"]
    assert len(plans) == 6
    tools = TOOLS.with_tools(sql_tool()).with_tools(*Toolbox.from_json([PAGED]).values())
    for plan in plans:
        assert compile_plan(plan, tools=tools).diagnostics == ()


def test_the_result_of_sql_is_as_the_page_says() -> None:
    text = (ROOT / "docs/plan-language.md").read_text("utf-8")
    before, _, behind = text.partition("\ngives `")
    args = json.loads(_FENCE.findall(before)[-1][2])["steps"][0]["args"]
    said = json.loads(behind.partition("`")[0])
    assert run(args["sql"], args["tables"]) == said["data"]
    assert said["count"] == len(said["data"])


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("page", "count"), [("tutorial", 10), ("plan-tests", 3)])
def test_the_page_is_what_happens(page: str, count: int, tmp_path: Path) -> None:
    """Every file is written as shown, and every command prints each line that is shown."""
    text = (ROOT / f"docs/{page}.md").read_text("utf-8")
    # A file of the same length that is written in the same second has stale compiled code.
    environment = {**os.environ, "COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": "1"}
    commands = 0
    for language, title, code in _FENCE.findall(text):
        if title:
            (tmp_path / title).write_text(code, "utf-8")
        elif language == "console":
            line, *shown = code.splitlines()
            ended = subprocess.run(
                [sys.executable, "-m", *shlex.split(line.removeprefix("$"))],
                cwd=tmp_path,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            printed = ended.stdout + ended.stderr
            assert "Traceback" not in printed
            for each in shown:
                assert each in printed, f"{line}:\n{printed}"
            commands += 1
    assert commands == count


def test_what_the_readme_and_the_tutorial_write_is_json() -> None:
    text = (ROOT / "docs/tutorial.md").read_text("utf-8")
    for language, _, code in _FENCE.findall(text):
        if language == "json":
            assert json.loads(code)["toolplan"] == 1
