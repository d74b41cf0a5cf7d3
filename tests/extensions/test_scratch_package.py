"""A package adds a rule, a dialect, a tool, a source, a planner and commands by entry points alone.

The package is a folder on the path of a process of its own, with the files that an installer
writes. Each thing is used through the command line and through `toolplan.open`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(300)  # processes start slowly on a busy machine

ENTRY_POINTS = """
[toolplan.rules]
scratch = scratch_toolplan:greeted_twice

[toolplan.dialects]
scratch = scratch_toolplan:DIALECT

[toolplan.tools]
twice = scratch_toolplan:twice

[toolplan.sources]
scratch = scratch_toolplan:SOURCE

[toolplan.planners]
scratch = scratch_toolplan:planner

[toolplan.commands]
greet = scratch_toolplan:greet_command
explain = scratch_toolplan:greet_command
text = scratch_toolplan:TEXT
gone = scratch_toolplan:gone_command
"""
METADATA = "Metadata-Version: 2.1\nName: scratch\nVersion: 1.0\n"
GREETED = {"s1": "Hello, Hello, Ada"}
TEXT = 'DO greet name="Ada"\nDO greet name=@s0\nEND\n'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder with the package, as an installer leaves it."""
    package = tmp_path / "site/scratch_toolplan"
    about = tmp_path / "site/scratch-1.0.dist-info"
    package.mkdir(parents=True)
    about.mkdir()
    source = Path(__file__).with_name("scratch.py").read_text("utf-8")
    (package / "__init__.py").write_text(source, "utf-8")
    (about / "METADATA").write_text(METADATA, "utf-8")
    (about / "entry_points.txt").write_text(ENTRY_POINTS, "utf-8")
    files = ("scratch_toolplan/__init__.py", "scratch-1.0.dist-info/METADATA")
    (about / "RECORD").write_text("".join(f"{name},,\n" for name in files), "utf-8")
    return tmp_path / "site"


def python(site: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, which finds the package."""
    paths = os.pathsep.join((str(site), os.environ.get("PYTHONPATH", "")))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=site.parent,
        env={**os.environ, "PYTHONPATH": paths, "TOOLPLAN_HOME": str(site.parent / "home")},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def command(site: Path, *arguments: str, stdin: str = "") -> str:
    """Run the command line, and return what it prints on standard output."""
    ran = python(site, "-m", "toolplan", *arguments, stdin=stdin)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def script(site: Path, text: str) -> Any:
    """Run a script that prints JSON, and return it read."""
    ran = python(site, "-c", "import asyncio, json, toolplan\n" + text)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout)


def test_the_command_line_knows_the_dialect(site: Path) -> None:
    options = ("--from", "scratch", "--to", "toolplan", "--json")
    converted = json.loads(command(site, "convert", "-", *options, stdin=TEXT))
    assert [step["tool"] for step in converted["steps"]] == ["greet", "greet"]
    back = command(site, "convert", "-", "--to", "scratch", stdin=json.dumps(converted))
    assert back == TEXT
    assert "scratch" in command(site, "check", "--help")


def test_the_command_line_knows_the_rule_the_source_and_the_tool(site: Path) -> None:
    options = ("--dialect", "scratch", "--tools", "scratch://one", "--json")
    checked = json.loads(command(site, "check", "-", *options, stdin=TEXT))
    assert [each["code"] for each in checked["diagnostics"]] == ["greeted-twice"]
    assert "greet once" in command(site, "explain", "greeted-twice")
    listed = command(site, "tools", "--tools", "scratch://one")
    assert "greet" in listed
    assert "twice" in listed


def test_the_settings_have_a_table_for_the_source(site: Path) -> None:
    (site.parent / "home").mkdir(mode=0o700)
    (site.parent / "home" / "toolplan.toml").write_text('[scratch]\nowner = "Ada"', "utf-8")
    said = python(site, "-m", "toolplan", "tools", "--tools", "scratch://one")
    assert said.returncode == 0
    assert "scratch://one has one tool, for Ada." in said.stderr


def test_the_command_line_asks_the_planner(site: Path) -> None:
    options = ("--planner", "scratch", "--tools", "scratch://one", "--json")
    assert json.loads(command(site, "ask", "Greet Ada", *options))["output"] == GREETED


def test_the_command_line_has_the_commands(site: Path) -> None:
    assert command(site, "greet", "Ada", "--times", "2") == "Hello, Hello, Ada\n"
    assert "A command of the package scratch." in command(site, "--help")
    assert "--times" in command(site, "greet", "--help")
    assert "cycle" in command(site, "explain", "cycle")  # a name of ours is not taken
    unknown = python(site, "-m", "toolplan", "greet", "Ada", "--time", "2")
    assert unknown.returncode == 2
    assert "Did you mean --times? " in f"{unknown.stderr} ".replace("\n", " ")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("text", "is a value of type str, not a function"),
        ("gone", "cannot be loaded: AttributeError"),
    ],
)
def test_an_unusable_command_names_its_package(site: Path, name: str, reason: str) -> None:
    said = python(site, "-m", "toolplan", name)
    assert said.returncode == 2
    assert reason in " ".join(said.stderr.split())
    assert "scratch" in said.stderr


APP = """
steps = []

async def main():
    async with toolplan.open("scratch://one", planner="scratch") as app:
        asked = await app.ask("Greet Ada", eager=EAGER, on_step=lambda step: steps.append(step.id))
        checked = app.check(asked.proposal.text, dialect="scratch")
        print(json.dumps({
            "output": asked.run.output, "steps": steps, "tools": "greet" in app.tools,
            "codes": [each.code for each in checked.diagnostics],
        }))

asyncio.run(main())
"""


@pytest.mark.parametrize("eager", [False, True])
def test_an_app_uses_all_of_them_and_streams_the_dialect(site: Path, eager: bool) -> None:
    assert script(site, APP.replace("EAGER", str(eager))) == {
        "output": GREETED,
        "steps": ["s0", "s1"],
        "tools": True,
        "codes": ["greeted-twice"],
    }


MODEL = """
from scratch_toolplan import ScratchModel

async def main():
    async with toolplan.open("scratch://one", model=ScratchModel(), planner="llm") as app:
        asked = await app.ask("Greet Ada")
        print(json.dumps({"dialect": asked.proposal.dialect, "output": asked.run.output}))

asyncio.run(main())
"""


def test_a_reply_of_a_model_is_read_in_the_dialect(site: Path) -> None:
    assert script(site, MODEL) == {"dialect": "scratch", "output": GREETED}
