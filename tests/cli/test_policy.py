"""`toolplan policy init | check`, and `--policy`."""

import json
from pathlib import Path

import pytest

from tests.cli.calls import Call
from tests.flows.mails import OBJECTS, step

TEXT = '[sinks.send]\nto = { needs = "trusted", else = "refuse" }\n'


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOOLPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("tools.json").write_text(json.dumps(OBJECTS), "utf-8")
    steps = [step("mails", "inbox"), step("sent", "send", to="${mails[0].sender}", body="hi")]
    Path("plan.json").write_text(json.dumps({"toolplan": 1, "steps": steps}), "utf-8")
    Path("mine.toml").write_text(TEXT, "utf-8")
    return tmp_path


def test_a_draft_is_printed_and_can_be_used(files: Path, call: Call) -> None:
    draft = call("policy", "init", "--tools", "tools.json", code=0)
    Path("draft.toml").write_text(draft.out, "utf-8")
    words = ("policy", "check", "plan.json", "--tools", "tools.json", "--policy", "draft.toml")
    said = call(*words, code=0)
    assert "mails[0].sender (inbox)" in said.out
    assert "untrusted-argument" in said.err


def test_standing_approvals_are_listed(files: Path, call: Call) -> None:
    text = "[unasked.send]\nuntil = 2100-01-31\nargs.to = 'any'\n[unasked.delete]\n"
    Path("standing.toml").write_text(text, "utf-8")
    words = ("policy", "check", "plan.json", "--tools", "tools.json", "--policy", "standing.toml")
    said = call(*words)
    assert "Runs unasked until 2100-01-31: send, within the bounds of to." in said.out
    assert "Runs unasked: delete, without arguments." in said.out
    assert call(*words, "--json").json["unasked"] == {
        "send": {"args": {"to": {}}, "until": "2100-01-31"},
        "delete": {"args": {}},
    }


def test_a_refused_flow_stops_each_command(files: Path, call: Call) -> None:
    named = ("--tools", "tools.json", "--policy", "mine.toml")
    for words in (("check", "plan.json"), ("run", "plan.json"), ("policy", "check", "plan.json")):
        said = call(*words, *named)
        assert said.code != 0
        assert "flow-refused" in said.out + said.err
    assert call("check", "plan.json", "--tools", "tools.json").code == 0


def test_the_policy_beside_the_settings_is_used(files: Path, call: Call) -> None:
    home = files / "home"
    home.mkdir()
    (home / "toolplan.policy.toml").write_text(TEXT, "utf-8")
    said = call("policy", "check", "plan.json", "--tools", "tools.json", "--json", code=1)
    assert said.json["valid"] is False
    assert said.json["flows"][0] == {
        "step": "sent",
        "pointer": "/steps/1/args/to",
        "kind": "argument",
        "needs": "trusted",
        "label": "untrusted",
        "sources": [{"step": "mails", "tool": "inbox", "path": "[0].sender"}],
        "verdict": "refuse",
    }


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("check", "plan.json", "--policy", "bad.toml"), "bad.toml:2: 'sure' is nothing that can"),
        (("policy", "check"), "PLAN is missing"),
        (("policy", "init", "plan.json"), "takes no plan"),
    ],
)
def test_what_cannot_be_used_is_a_usage_error(
    call: Call, words: tuple[str, ...], expected: str
) -> None:
    Path("bad.toml").write_text(TEXT.replace("trusted", "sure"), "utf-8")
    said = call(*words, "--tools", "tools.json", code=2)
    assert expected in said.err
