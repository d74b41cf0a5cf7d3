"""What tools have given is known the next time, where they do not say what they give."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.calls import Call

MODULE = '''
from typing import Any

import toolplan


@toolplan.tool(effects="read")
def search(word: str) -> Any:
    """Finds things."""
    return {"rows": [{"id": word, "n": 1}]}


@toolplan.tool(effects="read")
def look(id: str) -> dict[str, str]:
    """Looks at a thing."""
    return {"id": id}
'''


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "unsaid_tools.py").write_text(MODULE, "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return "unsaid_tools:toolbox"


def plan(path: str) -> str:
    steps = [
        {"id": "s", "tool": "search", "args": {"word": "a"}},
        {"id": "l", "tool": "look", "args": {"id": f"${{s.{path}}}"}},
    ]
    return json.dumps({"toolplan": 1, "steps": steps})


def test_results_are_learned_and_used_for_warnings(call: Call, tools: str, tmp_path: Path) -> None:
    (tmp_path / "unsaid_tools.py").write_text(MODULE + "\n\ntoolbox = [search, look]\n", "utf-8")
    file = tmp_path / "plan.json"
    file.write_text(plan("row[0].id"), "utf-8")
    before = call("check", str(file), "--tools", tools, "--json")
    assert (before.json["diagnostics"], before.json["unchecked_references"]) == ([], 1)

    file.write_text(plan("rows[0].id"), "utf-8")
    assert call("run", str(file), "--tools", tools).code == 0
    assert call("check", str(file), "--tools", tools, "--json").json["diagnostics"] == []

    file.write_text(plan("row[0].id"), "utf-8")
    after = call("check", str(file), "--tools", tools, "--json")
    assert [(d["code"], d["severity"]) for d in after.json["diagnostics"]] == [
        ("learned-output", "warning")
    ]
    assert "1 earlier result" in after.json["diagnostics"][0]["message"]
    assert after.code == 0, "what was seen is not all that may be"
