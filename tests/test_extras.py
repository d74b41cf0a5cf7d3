"""How a missing extra is installed: what messages advise works, and each extra exists."""

import importlib.metadata
import json
import re
import shlex
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolplan import Diagnostic, Severity, ToolplanError, compile_plan, dialects
from toolplan.base import extras
from toolplan.base.extras import extra_of, install_command
from toolplan.dialects import known_dialect
from toolplan.planners import Attempt, Draft
from toolplan.planners.llm._feedback import feedback
from toolplan.schema.tool import Toolbox, ToolObjectError
from toolplan.tools.modules import load_module_tools
from toolplan_demo import TOOLS

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]
TEXTS = [
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted((ROOT / "packages").glob("*/src/**/*.py")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "packages").glob("*/README.md")),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]


def installed(monkeypatch: pytest.MonkeyPatch, direct_url: object) -> None:
    """Let toolplan be installed as `direct_url` says, with the extras of the project."""
    requires = [f'{library} ; extra == "{name}"' for name in EXTRAS for library in EXTRAS[name]]

    def read_text(_: str) -> str | None:
        return None if direct_url is None else json.dumps(direct_url)

    def get_all(_: str) -> list[str]:
        return [*EXTRAS]

    def distribution(_: str) -> SimpleNamespace:
        return SimpleNamespace(
            read_text=read_text,
            requires=["pydantic>=2", *requires],
            metadata=SimpleNamespace(get_all=get_all),
        )

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)


def test_from_a_clone_the_clone_is_installed_with_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "a clone"
    folder.mkdir()
    installed(monkeypatch, {"url": folder.as_uri(), "dir_info": {"editable": True}})
    install = [sys.executable, "-m", "pip", "install", "-e"]
    assert shlex.split(install_command("prices")) == [*install, f"{folder}[prices]"]
    beside = ["-e", f"{folder}/packages/offline"]
    assert shlex.split(install_command("offline")) == [*install, f"{folder}[offline]", *beside]
    assert (ROOT / "packages" / "offline" / "pyproject.toml").is_file()


@pytest.mark.parametrize(
    "direct_url",
    [
        None,
        {"url": "file:///gone/toolplan.whl", "archive_info": {}},
        {"url": "file:///gone", "dir_info": {"editable": True}},
        ["nonsense"],
    ],
)
@pytest.mark.parametrize("extra", ["prices", "keyring", "workers", "offline"])
def test_without_a_clone_the_libraries_are_installed(
    monkeypatch: pytest.MonkeyPatch, direct_url: object, extra: str
) -> None:
    installed(monkeypatch, direct_url)
    command = install_command(extra)
    assert shlex.split(command) == [sys.executable, "-m", "pip", "install", *EXTRAS[extra]]
    assert "toolplan[" not in command


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("toolplan_sql", "sql"),
        ("genai_prices.types", "prices"),
        ("toolplan_langgraph", "langgraph"),
        ("pytest", "dev"),
        ("numpy", None),
    ],
)
def test_a_library_has_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, module: str, extra: str | None
) -> None:
    installed(monkeypatch, None)
    assert extra_of(module) == extra


def test_a_module_that_needs_the_library_of_an_extra_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "toolplan_sql", None)
    (tmp_path / "needs_it.py").write_text("import toolplan_sql\n", "utf-8")
    with pytest.raises(ToolObjectError, match="'toolplan_sql'") as raised:
        load_module_tools("needs_it:TOOLS", tmp_path)
    assert install_command("sql") in raised.value.with_help


def test_a_plan_with_sql_names_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"toolplan": 1, "steps": [{"id": "a", "tool": "sql", "args": {}}]}'

    def help_() -> str:
        found = compile_plan(text, tools=Toolbox(TOOLS.values())).diagnostics
        return next(each.help or "" for each in found if each.code == "unknown-tool")

    assert "toolplan-sql" not in help_()
    monkeypatch.setattr(extras, "find_spec", dict[str, object]().get)
    command = install_command("sql")
    assert help_() == f"It comes with the package toolplan-sql. Install it: {command}"
    problem = Diagnostic("unknown-tool", Severity.ERROR, "There is no tool 'sql'.", help=help_())
    assert feedback(Attempt(Draft(text), (problem,))).count(sys.executable) == 0


@pytest.mark.parametrize("name", ["clear", "kirha", "state"])
def test_a_dialect_of_a_distribution_that_is_missing_names_the_command(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert known_dialect(name).name == name
    monkeypatch.setattr(dialects, "DIALECTS", {})
    with pytest.raises(ToolplanError, match="needs the package toolplan-adapters") as raised:
        known_dialect(name)
    assert raised.value.code == "missing-extra"
    assert install_command("adapters") in str(raised.value.help)


def test_each_extra_that_is_named_exists() -> None:
    """A4, A17: no text names an extra that the project does not have."""
    for path in TEXTS:
        if "decisions" in path.parts:  # what was chosen before may name what is gone
            continue
        text = path.read_text("utf-8")
        named: list[str] = [
            *re.findall(r"toolplan\[([\w,-]+)\]", text),
            *re.findall(r"\.\[([\w,-]+)\]'", text),
            *re.findall(r"\.whl\[([\w,-]+)\]", text),
            *re.findall(r"extra\s+`([\w-]+)`", text),
        ]
        assert {name for each in named for name in each.split(",")} <= {*EXTRAS}, path


def test_no_text_asks_a_package_index_for_toolplan() -> None:
    """No index need have it: a clone, a wheel, or the libraries of the extra."""
    for path in TEXTS:
        assert not re.search(r"pip install '?toolplan", path.read_text("utf-8")), path
