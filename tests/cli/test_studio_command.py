"""What `toolplan studio` says: its help, and what it refuses."""

import pytest

from tests.cli.calls import Call


def test_the_help_names_every_option_of_the_docs(call: Call) -> None:
    said = call("studio", "--help", code=0)
    options = ("--port", "--no-open", "--link", "--host", "--origin", "--user-header", "--tools")
    for option in options:
        assert option in said.out
    assert "TOOLPLAN_STUDIO_TOKEN" in said.out


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ([], "http://127.0.0.1:8321/#token="),
        (["--host", "::1", "--port", "9000"], "http://[::1]:9000/#token="),
        (["--origin", "https://plans.example/"], "https://plans.example/#token="),
    ],
)
def test_a_link_leads_to_the_running_studio(call: Call, options: list[str], address: str) -> None:
    said = call("studio", "--link", *options)
    assert (said.code, said.out) == (0, "")
    assert address in said.err


@pytest.mark.parametrize(
    ("options", "token", "words"),
    [
        (["--link", "--port", "0"], None, "--link needs the port"),
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
