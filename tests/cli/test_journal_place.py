"""Where the journal of a command is: its option, the variable, the settings, the user's folder."""

from pathlib import Path

import pytest

from tests.cli.calls import Call
from toolplan.events import RunStarted
from toolplan.plan.path import Json
from toolplan.storage.journal import RunRecord, open_journal

QUESTION = "Which carriers have the highest contamination rates?"


def runs_of(call: Call, *options: str) -> list[str]:
    return [entry["run"] for entry in call("runs", "--json", *options).json["runs"]]


def test_an_option_comes_before_the_variable_and_that_before_the_settings(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    names = ("option", "variable", "settings", "default")
    files = {
        "option": tmp_path / "option.sqlite",
        "variable": tmp_path / "new folder" / "variable.sqlite",
        "settings": home / "kept" / "settings.sqlite",
        "default": home / "runs.sqlite",
    }
    for name in names:
        journal = open_journal(files[name])
        plan: Json = {"toolplan": 1, "steps": []}
        journal.accept(name, "d", RunRecord(plan, [], None), [RunStarted(name, "d", (), 1.0)])
        journal.close()
    assert runs_of(call) == ["default"]
    (home / "toolplan.toml").write_text('[runs]\njournal = "kept/settings.sqlite"\n')
    assert runs_of(call) == ["settings"]
    monkeypatch.setenv("TOOLPLAN_JOURNAL", str(files["variable"]))
    assert runs_of(call) == ["variable"]
    assert runs_of(call, "--journal", str(files["option"])) == ["option"]
    for words in (("show", "opt"), ("diff", "opt", "opt")):
        assert call(*words).code != 0
        assert call(*words, "--journal", str(files["option"])).code == 0


def test_a_run_is_kept_shown_and_compared_where_the_option_says(tmp_path: Path, call: Call) -> None:
    place = ("--journal", str(tmp_path / "mine.sqlite"))
    assert call("ask", QUESTION, "--today", "2025-10-12", *place).code == 0
    (run,) = runs_of(call, *place)
    assert runs_of(call) == []
    assert run in call("show", run, "--json", *place).out
    assert call("resume", run).code != 0
    assert call("resume", run, *place).out == call("resume", run[:8], *place).out != ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[runs]\njournal = 1\n", "[runs] cannot be used: Expected `str`"),
        (
            "[runs]\nruns_journal = 'x'\n",
            "[runs] cannot be used: Object contains unknown field `runs_journal`",
        ),
        ("runs = 1\n", "'runs' is not a table"),
    ],
)
def test_a_setting_that_is_no_place_is_named(
    home: Path, call: Call, text: str, expected: str
) -> None:
    (home / "toolplan.toml").write_text(text)
    said = call("runs")
    assert "error[bad-settings]" in said.err
    assert expected in said.err
    assert said.code == 2
