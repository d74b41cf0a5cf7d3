"""`toolplan policy init | check`, and `--policy`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.flows.mails import OBJECTS, step
from toolplan.cli import main

TEXT = '[sinks.send]\nto = { needs = "trusted", else = "refuse" }\n'


def call(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code if isinstance(ended.value.code, int) else 0


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOOLPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("tools.json").write_text(json.dumps(OBJECTS), "utf-8")
    steps = [step("mails", "inbox"), step("sent", "send", to="${mails[0].sender}", body="hi")]
    Path("plan.json").write_text(json.dumps({"toolplan": 1, "steps": steps}), "utf-8")
    Path("mine.toml").write_text(TEXT, "utf-8")
    return tmp_path


def test_a_draft_is_printed_and_can_be_used(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("policy", "init", "--tools", "tools.json") == 0
    Path("draft.toml").write_text(capsys.readouterr().out, "utf-8")
    words = ("policy", "check", "plan.json", "--tools", "tools.json", "--policy", "draft.toml")
    assert call(*words) == 0
    said = capsys.readouterr()
    assert "mails[0].sender (inbox)" in said.out
    assert "untrusted-argument" in said.err


def test_a_refused_flow_stops_each_command(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = ("--tools", "tools.json", "--policy", "mine.toml")
    for words in (("check", "plan.json"), ("run", "plan.json"), ("policy", "check", "plan.json")):
        assert call(*words, *named) != 0
        assert "flow-refused" in "".join(capsys.readouterr())
    assert call("check", "plan.json", "--tools", "tools.json") == 0


def test_the_policy_beside_the_settings_is_used(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = files / "home"
    home.mkdir()
    (home / "toolplan.policy.toml").write_text(TEXT, "utf-8")
    assert call("policy", "check", "plan.json", "--tools", "tools.json", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["valid"] is False
    assert document["flows"][0] == {
        "step": "sent",
        "pointer": "/steps/1/args/to",
        "kind": "argument",
        "needs": "trusted",
        "label": "untrusted",
        "sources": [{"step": "mails", "tool": "inbox", "path": "[0].sender"}],
        "verdict": "refuse",
    }


def test_what_cannot_be_used_says_the_line_and_the_way_out(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.toml").write_text(TEXT.replace("trusted", "sure"), "utf-8")
    named = ("--tools", "tools.json", "--policy", "bad.toml")
    assert call("check", "plan.json", *named) == 2
    assert "bad.toml:2: 'sure' is nothing that can be needed." in capsys.readouterr().err
    assert call("policy", "check", "--tools", "tools.json") == 2
    assert "PLAN is missing" in capsys.readouterr().err
    assert call("policy", "init", "plan.json", "--tools", "tools.json") == 2
    assert "takes no plan" in capsys.readouterr().err
