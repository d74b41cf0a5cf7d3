"""`toolplan show`: a file wins over a run, and the beginning of a run's name is enough."""

import asyncio
import re
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.calls import Call
from toolplan import Journal, compile_plan, run
from toolplan_demo import TOOLS

PLAN = '{"toolplan": 1, "steps": [{"id": "f", "tool": "facilities_list", "args": {}}]}'
RUNS = ("7f5a" + "0" * 28, "7f5b" + "0" * 28, "e" * 32)
WAYS = "Name a file, or -, or a run that `toolplan runs` lists."


@pytest.fixture
def runs(home: Path) -> tuple[str, ...]:
    """Runs that the journal keeps."""
    plan = compile_plan(PLAN, tools=TOOLS).plan
    assert plan is not None
    with closing(Journal(home / "runs.sqlite")) as journal:
        for name in RUNS:
            asyncio.run(run(plan, TOOLS, journal=journal, run_id=name))
    return RUNS


@pytest.mark.parametrize("start", ["e", "ee", "e" * 32, "7f5a", "7f5b0"])
def test_the_start_of_a_runs_name_is_enough(runs: tuple[str, ...], call: Call, start: str) -> None:
    (name,) = [each for each in runs if each.startswith(start)]
    said = call("show", start, code=0)
    assert f"run {name}: succeeded" in said.out


def test_a_file_wins_over_a_run(
    runs: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / runs[2]).write_text(PLAN, "utf-8")
    said = call("show", runs[2])
    assert "facilities_list" in said.out
    assert "succeeded" not in said.out
    (tmp_path / "ee").mkdir()  # a folder is no plan
    assert f"run {runs[2]}: succeeded" in call("show", "ee").out


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("zz", "unknown-run", "There is no run 'zz'. zz: No such file or directory."),
        ("EE", "unknown-run", "There is no run 'EE'."),
        ("e" * 33, "unknown-run", "There is no run 'eee"),
        ("7f5", "unknown-run", "Several runs begin with '7f5'. 7f5: No such file or directory."),
        ("plan.jsn", "unreadable-file", "plan.jsn: No such file or directory."),
        ("deep/plan", "unreadable-file", "deep/plan: No such file or directory."),
        (".", "unreadable-file", ".: Is a directory."),
        ("", "usage", "The name of a file or a run is empty."),
        ("x" * 5_000, "unknown-run", "File name too long."),
    ],
)
def test_what_is_neither_names_both_ways(call: Call, name: str, code: str, message: str) -> None:
    said = call("show", name, code=2)
    assert f"error[{code}]" in said.err
    assert message in said.err
    assert WAYS in said.err


def test_what_is_neither_is_reported_where_no_run_was_ever_kept(home: Path, call: Call) -> None:
    said = call("show", "zz", code=2)
    assert "There is no run 'zz'." in said.err
    assert WAYS in said.err
    assert not (home / "runs.sqlite").exists()  # who mistypes a file makes no journal


def test_a_journal_that_cannot_be_used_is_reported(home: Path, call: Call) -> None:
    (home / "runs.sqlite").write_bytes(b"this is no database" * 100)
    assert "error[journal-damaged]" in call("show", "ee", code=3).err


def test_a_run_is_shown_with_states_times_results_and_answer(
    runs: tuple[str, ...], call: Call
) -> None:
    said = call("show", runs[2])
    assert re.search(r"facilities_list\(\)  succeeded in \d+ ms", said.out)
    assert re.search(r"\d+ facilities|\d+ rows were found by facilities_list", said.out)
    assert "F1 " in said.out
    named = call("show", runs[2], "--tools", "toolplan_demo:TOOLS")
    found = re.search(r"\d+ facilities were found \[f\]\.", named.out)
    assert found is not None
    document = call("show", runs[2], "--json", "--tools", "toolplan_demo:TOOLS").json
    assert document["answer"]["headline"] == found[0]


def test_a_run_is_drawn_with_the_states_of_its_steps(runs: tuple[str, ...], call: Call) -> None:
    drawing, flowchart = (call("show", runs[2], f"--{form}").out for form in ("svg", "mermaid"))
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert 'class="succeeded"' in drawing
    assert "succeeded in" in drawing
    assert flowchart.startswith("flowchart TD\n")
    assert "class s0 succeeded" in flowchart
