"""Without a distribution beside the core, what needs it names the command that installs it."""

import sys
from pathlib import Path

import pytest

from tests.cli.calls import Call
from toolplan.base import extensions
from toolplan.base.extensions import EntryPoint, entry_points
from toolplan.base.extras import install_command
from toolplan.dialects import DIALECTS
from toolplan.tools.named import SOURCES

ENTRY_POINTS = entry_points(tuple(sys.path))
SERVICE = '{"openapi": "3.1.0", "paths": {}}'


def only_ours(_: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points as if the core were all that is installed."""
    return tuple(each for each in ENTRY_POINTS if each.is_ours)


@pytest.fixture
def core_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the core be all that is installed, for what was read before as well."""
    monkeypatch.setattr(extensions, "entry_points", only_ours)
    for offered in (DIALECTS, SOURCES):
        assert "python" in offered or "toolplan" in offered  # what is installed is read
        monkeypatch.delitem(vars(offered), "_offers")


@pytest.mark.parametrize("words", [(), ("--http", "--port", "8000"), ("--json",)])
@pytest.mark.parametrize("name", ["demo", "studio"])
def test_the_command_names_it(
    name: str, words: tuple[str, ...], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extensions, "entry_points", only_ours)
    said = call(name, *words, code=2)
    assert f"The command {name!r} needs the package toolplan-{name}" in said.err
    assert install_command(name) in said.err


def test_the_tools_used_by_default_name_it(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toolplan_demo", None)
    said = call("plan", "Get facilities in Berlin", code=2)
    assert "The module 'toolplan_demo' is not installed." in said.err
    assert install_command("demo") in said.err


@pytest.mark.usefixtures("core_alone")
@pytest.mark.parametrize(
    "words",
    [("worker", "office"), ("submit", "p.json", "office"), ("runs", "--journal", "postgres://h/d")],
)
def test_what_needs_workers_names_them(words: tuple[str, ...], call: Call) -> None:
    said = call(*words, code=2)
    assert "needs the package toolplan-workers, which is not installed" in said.err
    assert install_command("workers") in said.err


@pytest.mark.usefixtures("core_alone")
@pytest.mark.parametrize("name", ["shop.json", "shop.yaml"])
def test_a_document_of_openapi_names_it(name: str, tmp_path: Path, call: Call) -> None:
    (tmp_path / name).write_text(SERVICE, "utf-8")
    said = call("tools", "--tools", str(tmp_path / name), code=2)
    assert f"{name}' needs the package toolplan-openapi" in " ".join(said.err.split())
    assert install_command("openapi") in said.err


@pytest.mark.usefixtures("core_alone")
def test_a_table_of_openapi_in_the_settings_names_it(home: Path, call: Call) -> None:
    (home / "toolplan.toml").write_text('[openapi.shop]\nbase_url = "http://localhost"', "utf-8")
    said = call("tools", code=2)
    assert "[openapi] needs the package toolplan-openapi" in " ".join(said.err.split())
    assert install_command("openapi") in said.err


@pytest.mark.usefixtures("core_alone")
def test_the_dialect_arazzo_names_it(tmp_path: Path, call: Call) -> None:
    (tmp_path / "plan.yaml").write_text("arazzo: 1.0.1", "utf-8")
    said = call("convert", str(tmp_path / "plan.yaml"), "--from", "arazzo", "--to", "toolplan")
    assert said.code == 2
    assert "The dialect 'arazzo' needs the package toolplan-openapi" in " ".join(said.err.split())
