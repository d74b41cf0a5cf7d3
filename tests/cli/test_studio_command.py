"""What `toolplan studio` says: its help, and what it refuses."""

from __future__ import annotations

import pytest

from tests.cli.calls import Call


def test_the_help_names_every_option_of_the_docs(call: Call) -> None:
    said = call("studio", "--help")
    assert said.code == 0
    for option in ("--port", "--no-open", "--host", "--origin", "--user-header", "--tools"):
        assert option in said.out
    assert "TOOLPLAN_STUDIO_TOKEN" in said.out


@pytest.mark.parametrize(
    ("options", "token", "words"),
    [
        (["--host", "0.0.0.0"], None, "TOOLPLAN_STUDIO_TOKEN"),
        (["--host", "0.0.0.0"], "short", "TOOLPLAN_STUDIO_TOKEN"),
        (["--port", "70000"], None, "70000"),
        (["--origin", "plans.example"], None, "plans.example"),
        (["--user-header", "X User"], None, "X User"),
        (["--tools", "nowhere.json"], None, "nowhere.json"),
        (["--policy", "nowhere.toml"], None, "nowhere.toml"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_sentence(
    call: Call, monkeypatch: pytest.MonkeyPatch, options: list[str], token: str | None, words: str
) -> None:
    monkeypatch.delenv("TOOLPLAN_STUDIO_TOKEN", raising=False)
    if token is not None:
        monkeypatch.setenv("TOOLPLAN_STUDIO_TOKEN", token)
    said = call("studio", "--no-open", *options)
    assert said.code != 0
    assert words in said.err
    assert "Traceback" not in said.err
    assert not said.out
