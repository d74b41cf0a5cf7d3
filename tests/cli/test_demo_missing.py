"""Without the distribution toolplan-demo, what needs it names the command that installs it."""

from __future__ import annotations

import sys

import pytest

from tests.cli.calls import Call
from toolplan import extensions
from toolplan.extensions import EntryPoint
from toolplan.extras import install_command


@pytest.mark.parametrize("words", [(), ("--http", "--port", "8000"), ("--json",)])
def test_the_command_names_it(
    words: tuple[str, ...], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: tuple[str, ...]) -> tuple[EntryPoint, ...]:
        return ()

    monkeypatch.setattr(extensions, "entry_points", none)
    said = call("demo", *words)
    assert said.code == 2
    assert "The command 'demo' needs the package toolplan-demo" in said.err
    assert install_command("demo") in said.err


def test_the_tools_that_are_used_by_default_name_it(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "toolplan_demo", None)
    said = call("plan", "Get facilities in Berlin")
    assert said.code == 2
    assert "The module 'toolplan_demo' is not installed." in said.err
    assert install_command("demo") in said.err
